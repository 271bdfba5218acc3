//! The swim lanes: one a client and one for each resource, on the run's clock.
//!
//! Only the lanes that can be seen are drawn, and of each only the stretches and marks in the
//! span of time that is shown.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::words;
use crate::domain::play::ResourcePicture;
use crate::domain::raft::ClusterTime;
use crate::input::{Pane, Target};
use crate::model::Play;
use crate::model::play::{Doing, Fate, Group, Lane, Marked, Stretch, Write};
use crate::model::ui::play::{LABEL, Span as Stretched};
use crate::model::ui::{PlayUi, Ui};
use crate::say;
use crate::view::canvas::{Canvas, columns_of};
use crate::view::list::position;
use crate::view::text::{cluster_clock, escape_text, lasting, quantity, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::strip::Strip;

/// The rows of the panel beside its lanes: frame, scale and legend.
const BESIDE: u16 = 4;
/// The most resources that have a lane.
const RESOURCES: usize = 3;
/// The columns of a client's name.
const NAME: usize = 11;
/// The same with the space behind it.
const NAMED: u16 = 12;
/// The columns of a label, without the frame and the selection's mark.
const WORDS: u16 = LABEL - 3;

/// The rows that all lanes would take.
pub fn wanted_rows(play: &Play) -> u16 {
    let lanes = play.clients().len().max(1) + headings(play).count() + play.resources().len().min(RESOURCES);
    u16::try_from(lanes).unwrap_or(u16::MAX).saturating_add(BESIDE)
}

/// Draws the panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    let columns = PlayUi::columns(area.width);
    let span = ui.play.span(play, columns);
    let focused = ui.focused() == Pane::Lanes;
    let resources = &play.resources()[..play.resources().len().min(RESOURCES)];
    // A screen with little room shows what the clients do before what they write.
    let inner_rows = area.height.saturating_sub(BESIDE);
    let lanes = play.clients().len().max(1) + headings(play).count();
    let spare = inner_rows.saturating_sub(u16::try_from(lanes).unwrap_or(u16::MAX));
    let of_resources = u16::try_from(resources.len()).unwrap_or(0).min(spare.max(inner_rows / 2));
    let capacity = inner_rows - of_resources;
    let clients = play.clients();
    let window = window(play, ui, usize::from(capacity));
    let seen = position(&window, clients.len());
    let title = title(play, usize::from(area.width / 2), theme);
    let room = area.width.saturating_sub(columns_of(&title) + 7);
    let inner =
        Panel::new(title).data(time_words(play, ui, span, &seen, room, theme)).focused(focused).draw(canvas, area);
    canvas.hit_pane(area, Pane::Lanes, u16::try_from(window.len()).unwrap_or(capacity), clients.len());
    if inner.height < 2 || columns < 4 {
        return;
    }
    let x = area.x + LABEL;
    let marked = ui.play.marked(play).and_then(|at| span.place(at));
    scale(canvas, Rect { x, width: columns, height: 1, ..inner }, span, marked);
    let mut y = inner.y + 1;
    if clients.is_empty() {
        canvas.text(inner.x + 1, y, inner.width.saturating_sub(1), say!("no client plays; a adds one"), Role::Muted);
        y += 1;
    }
    let selected = ui.play.client(play);
    let first = window.start;
    for (at, client) in window.filter_map(|at| Some((at, play.in_row(at)?))) {
        let heading = headings(play).find(|group| group.start == at || (at == first && overlaps(group, &(at..at + 1))));
        if let Some(group) = heading {
            draw_heading(canvas, Rect { y, height: 1, ..inner }, group);
            y += 1;
        }
        let row = Rect { y, height: 1, ..inner };
        let lane = play.lane(client.id);
        let (word, role) = words::state(client, lane);
        let label = Line::from(vec![
            theme.sentence(format!("{:<NAME$} ", client.id.to_string()), NAME + 1, Role::Text),
            theme.span(word, role),
        ]);
        canvas.line(row.x + 1, y, WORDS, &label);
        draw_lane(canvas, x, y, lane, Shown { play, span, columns, marked });
        if selected == Some(client.id) {
            canvas.text(row.x, y, 1, theme.glyphs.selection, Role::Text);
            canvas.select(Rect { x: row.x + 1, width: NAMED, ..row });
        }
        canvas.hit(row, Target::Client(client.id));
        y += 1;
    }
    let legend = inner.bottom().saturating_sub(1);
    for resource in &resources[..usize::from(of_resources)] {
        if y >= legend {
            break;
        }
        canvas.line(inner.x + 1, y, WORDS, &resource_label(resource, theme));
        draw_writes(canvas, x, y, play.writes(&resource.name), Shown { play, span, columns, marked });
        y += 1;
    }
    if y <= legend {
        draw_legend(canvas, Rect { y: legend, height: 1, ..inner }, play);
    }
}

/// What a lane is drawn in.
#[derive(Clone, Copy)]
struct Shown<'a> {
    play: &'a Play,
    span: Stretched,
    columns: u16,
    /// The column of the marked moment.
    marked: Option<u16>,
}

impl Shown<'_> {
    /// The columns up to now; behind them nothing has happened yet.
    fn past(self) -> u16 {
        let now = self.play.now();
        match self.span.place(now) {
            Some(column) => column + 1,
            None if now < self.span.start => 0,
            None => self.columns,
        }
    }

    /// The column of a moment, at the edges for what lies beyond them.
    fn column(self, at: ClusterTime) -> u16 {
        self.span.place(at).unwrap_or(if at < self.span.start { 0 } else { self.columns })
    }

    /// Whether the present is among what is shown.
    fn has_present(self) -> bool {
        self.play.now() <= self.span.end && self.play.now() >= self.span.start
    }
}

fn title<'a>(play: &'a Play, columns: usize, theme: &Theme) -> Line<'a> {
    let count = quantity(play.clients().len(), "client");
    let locks = play.groups().iter().filter(|group| group.takes_lock).count();
    if locks > 1 {
        return Line::from(vec![
            theme.span(quantity(locks, "lock"), Role::Title),
            Span::raw(say!(", {clients}", clients = count)),
        ]);
    }
    let name = play.groups().iter().find(|group| group.takes_lock).map_or(&play.picture().lock, |group| &group.lock);
    let what = if locks == 0 && !play.clients().is_empty() { String::new() } else { say!("Lock ").to_owned() };
    let room = columns.saturating_sub(width(&count) + 2 + width(&what)).max(8);
    Line::from(vec![
        theme.span(what, Role::Title),
        theme.key(name, room, Role::Text),
        Span::raw(say!(", {clients}", clients = count)),
    ])
}

/// The rows that are shown of the lanes when there is room for so many, with a heading above each
/// group where there are several.
fn window(play: &Play, ui: &Ui, room: usize) -> Range<usize> {
    let len = play.clients().len();
    let mut rows = room;
    loop {
        let window = ui.play.clients.window(rows, len);
        let headings = headings(play).filter(|group| overlaps(group, &window)).count();
        if window.len() + headings <= room.max(2) || rows <= 1 {
            return window;
        }
        rows -= 1;
    }
}

/// The groups that have a heading.
fn headings(play: &Play) -> impl Iterator<Item = &Group> {
    play.groups().iter().filter(|_| play.groups().len() > 1)
}

fn overlaps(group: &Group, window: &Range<usize>) -> bool {
    group.start < window.end && group.start + group.len > window.start
}

fn draw_heading(canvas: &mut Canvas<'_>, row: Rect, group: &Group) {
    let theme = canvas.theme;
    let count = quantity(group.len, "client");
    let room = usize::from(row.width).saturating_sub(width(&count) + 4).max(8);
    let line =
        Line::from(vec![theme.key(&group.lock, room, Role::Title), theme.span(format!("  {count}"), Role::Muted)]);
    canvas.line(row.x + 1, row.y, row.width.saturating_sub(1), &line);
}

/// What the lanes show: which of them, how much time, and whether they follow the run; the last
/// stays longest where there is little room.
fn time_words<'a>(play: &Play, ui: &Ui, span: Stretched, seen: &str, room: u16, theme: &Theme) -> Line<'a> {
    let how = if ui.play.follows() {
        theme.span(format!("{} {}", say!("follow"), theme.glyphs.lane.now), Role::Text)
    } else {
        let at = ui.play.marked(play).unwrap_or(span.end);
        theme.span(say!("at {time}, F follows", time = cluster_clock(at)), Role::Warning)
    };
    let mut spans = vec![how];
    let column = say!("{length} a column", length = lasting(Duration::from_micros(span.column)));
    for part in [seen.to_owned(), column].into_iter().filter(|part| !part.is_empty()) {
        let with = theme.span(format!("{part}  "), Role::Muted);
        let taken = columns_of(&Line::from(spans.clone())) + columns_of(&Line::from(with.clone()));
        if taken <= room {
            spans.insert(spans.len() - 1, with);
        }
    }
    Line::from(spans)
}

/// Draws the times above the lanes, and an arrow above the marked moment.
fn scale(canvas: &mut Canvas<'_>, area: Rect, span: Stretched, marked: Option<u16>) {
    /// The columns from one time to the next, at least.
    const APART: u64 = 10;
    const NICE: [u64; 20] = [
        20_000,
        50_000,
        100_000,
        200_000,
        500_000,
        1_000_000,
        2_000_000,
        5_000_000,
        10_000_000,
        20_000_000,
        30_000_000,
        60_000_000,
        120_000_000,
        300_000_000,
        600_000_000,
        1_200_000_000,
        1_800_000_000,
        3_600_000_000,
        7_200_000_000,
        21_600_000_000,
    ];
    let least = span.column.saturating_mul(APART);
    let step = NICE.into_iter().find(|&step| step >= least).unwrap_or(least);
    let first = span.start.0.div_ceil(step);
    for nth in first.. {
        let at = ClusterTime(nth.saturating_mul(step));
        let Some(column) = span.place(at).filter(|&column| column < area.width) else { break };
        let text = format!("{}{}", canvas.theme.glyphs.lane.tick, tick(at, step));
        let room = area.width - column;
        if usize::from(room) > text.chars().count() {
            canvas.text(area.x + column, area.y, room, &text, Role::Muted);
        }
    }
    if let Some(column) = marked.filter(|&column| column < area.width) {
        canvas.text(area.x + column, area.y, 1, canvas.theme.glyphs.descending, Role::Warning);
    }
}

fn tick(at: ClusterTime, step: u64) -> String {
    let secs = at.0 / 1_000_000;
    match step {
        0..100_000 => format!("{secs}.{:02}s", at.0 % 1_000_000 / 10_000),
        100_000..1_000_000 => format!("{secs}.{}s", at.0 % 1_000_000 / 100_000),
        _ if secs < 60 => format!("{secs}s"),
        _ => {
            let clock = cluster_clock(at);
            clock.split_once('.').map_or(clock.clone(), |(whole, _)| whole.to_owned())
        }
    }
}

fn draw_lane(canvas: &mut Canvas<'_>, x: u16, y: u16, lane: Option<&Lane>, shown: Shown<'_>) {
    let theme = canvas.theme;
    // The arrow of what goes on has the column behind the last one.
    let mut strip = Strip::new(shown.columns + 1);
    strip.ground(0..shown.past(), theme.glyphs.lane.nothing, theme.style(Role::Muted));
    if let Some(lane) = lane {
        draw_stretches(&mut strip, lane.stretches(), shown, theme);
        draw_marks(&mut strip, lane, shown, theme);
    }
    if let Some(column) = shown.marked {
        strip.pierce(column, theme.glyphs.frame.down, theme.style(Role::Warning));
    }
    strip.draw(canvas, x, y);
}

fn draw_stretches(strip: &mut Strip, stretches: &VecDeque<Stretch>, shown: Shown<'_>, theme: &Theme) {
    let first = stretches.partition_point(|stretch| stretch.to.is_some_and(|to| to < shown.span.start));
    let seen = stretches.iter().skip(first).take_while(|stretch| stretch.from < shown.span.end);
    let mut labels = Vec::new();
    for stretch in seen {
        let (glyph, role, weight) = fill(stretch.doing, theme);
        let from = shown.column(stretch.from);
        let to = stretch.to.map_or_else(|| shown.past(), |to| shown.column(to)).max(from + 1).min(shown.columns);
        // Who holds now has the hue; what is over is only there to compare with.
        let is_over = stretch.to.is_some() && stretch.doing == Doing::Holding;
        let style = theme.style(if is_over { Role::Text } else { role });
        strip.stretch(from..to, glyph, style, weight);
        if stretch.to.is_none() && shown.has_present() && to <= shown.columns {
            strip.mark(to, theme.glyphs.lane.now, style, 0);
        }
        if let Some(token) = stretch.token.map(|token| token.to_string())
            && usize::from(to - from) >= token.len() + 2
        {
            labels.push((from + 1, token, style));
        }
    }
    for (column, token, style) in labels {
        // Cut out of a full bar.
        let style = if theme.glyphs.unicode { style.add_modifier(Modifier::REVERSED) } else { style };
        strip.write(column, &token, style);
    }
}

/// How a stretch is filled, and its weight.
const fn fill(doing: Doing, theme: &Theme) -> (&'static str, Role, u8) {
    let lane = &theme.glyphs.lane;
    match doing {
        Doing::Waiting => (lane.waiting, Role::Waiter, 1),
        Doing::Away => (lane.unknown, Role::Muted, 2),
        Doing::Holding => (lane.holding, Role::Holder, 3),
        Doing::Paused => (lane.paused, Role::Warning, 4),
        Doing::Stale => (lane.stale, Role::Error, 5),
    }
}

fn draw_marks(strip: &mut Strip, lane: &Lane, shown: Shown<'_>, theme: &Theme) {
    let glyphs = theme.glyphs;
    let marks = lane.marks();
    let first = marks.partition_point(|mark| mark.at < shown.span.start);
    let seen = || marks.iter().skip(first).map_while(|mark| Some((shown.span.place(mark.at)?, mark.what)));
    for (column, what) in seen() {
        let (glyph, role, weight) = match what {
            // The stretch that follows says it.
            Marked::First(_) => continue,
            Marked::Saw => (glyphs.lane.saw, Role::Text, 1),
            Marked::Put => (glyphs.lane.put, Role::Holder, 2),
            Marked::Suffered => (glyphs.warning, Role::Warning, 3),
            Marked::Crashed => (glyphs.warning, Role::Error, 4),
            Marked::Gone(_) => (glyphs.lost, Role::Error, 5),
            Marked::Damaged(_) => (glyphs.lane.damaged, Role::Error, 6),
            Marked::Refused(_) => (glyphs.refused, Role::Error, 7),
        };
        strip.mark(column, glyph, theme.style(role), weight);
    }
    for (column, what) in seen() {
        if let Marked::Gone(Some(revision)) = what
            && usize::from(shown.past().saturating_sub(column)) > revision.to_string().len()
        {
            strip.write(column + 1, &revision.to_string(), theme.style(Role::Error));
        }
    }
}

fn resource_label<'a>(resource: &ResourcePicture, theme: &Theme) -> Line<'a> {
    let (word, role) = if resource.fencing {
        (say!("max {token}", token = resource.highest), Role::Text)
    } else {
        (say!("unfenced").to_owned(), Role::Warning)
    };
    let room = usize::from(WORDS).saturating_sub(width(&word) + 1).max(4);
    let name = theme.sentence(escape_text(&resource.name).into_owned(), room, Role::Text);
    let gap = " ".repeat(room.min(NAME).saturating_sub(usize::from(columns_of(&Line::from(name.clone())))) + 1);
    Line::from(vec![name, Span::raw(gap), theme.span(word, role)])
}

/// Draws the tokens of the writes to a resource, each where its write came; where there is no
/// room for all of them, those that went wrong first and then the newest.
fn draw_writes(canvas: &mut Canvas<'_>, x: u16, y: u16, writes: Option<&VecDeque<Write>>, shown: Shown<'_>) {
    let theme = canvas.theme;
    let mut strip = Strip::new(shown.columns + 1);
    strip.ground(0..shown.past(), theme.glyphs.lane.nothing, theme.style(Role::Muted));
    if let Some(writes) = writes {
        let first = writes.partition_point(|write| write.at < shown.span.start);
        let seen = || writes.iter().skip(first).map_while(|write| Some((shown.span.place(write.at)?, write)));
        for (column, write) in seen().filter(|(_, write)| write.fate != Fate::Taken) {
            let glyph = if write.fate == Fate::Refused { theme.glyphs.refused } else { theme.glyphs.lane.damaged };
            let token = write.token.to_string();
            let behind = column + u16::try_from(token.len()).unwrap_or(0);
            let column = if strip.write_apart(column, &token, theme.style(Role::Error)) { behind } else { column };
            strip.mark(column, glyph, theme.style(Role::Error), 2);
        }
        let accepted: Vec<_> = seen().filter(|(_, write)| write.fate == Fate::Taken).collect();
        let newest = accepted.last().map(|(_, write)| write.token);
        for (column, write) in accepted.into_iter().rev() {
            let role = if Some(write.token) == newest { Role::Holder } else { Role::Text };
            strip.write_apart(column, &write.token.to_string(), theme.style(role));
        }
    }
    if let Some(column) = shown.marked {
        strip.pierce(column, theme.glyphs.frame.down, theme.style(Role::Warning));
    }
    strip.draw(canvas, x, y);
}

/// Draws what the signs mean; where there is no room for all of them, the most telling ones.
fn draw_legend(canvas: &mut Canvas<'_>, area: Rect, play: &Play) {
    let theme = canvas.theme;
    let glyphs = theme.glyphs;
    let of = |doing: Doing, words: &'static str| {
        let (glyph, role, _) = fill(doing, theme);
        (glyph, role, words)
    };
    let of_locks = [
        of(Doing::Waiting, say!("waits")),
        of(Doing::Holding, say!("holds")),
        ("392", Role::Text, say!("token")),
        of(Doing::Paused, say!("paused")),
        of(Doing::Stale, say!("stale")),
        (glyphs.lost, Role::Error, say!("lost")),
        (glyphs.refused, Role::Error, say!("refused")),
        (glyphs.lane.damaged, Role::Error, say!("damage")),
    ];
    let of_watchers = [(glyphs.lane.put, Role::Holder, say!("puts")), (glyphs.lane.saw, Role::Text, say!("sees"))];
    let of_all = [of(Doing::Away, say!("away")), (glyphs.warning, Role::Warning, say!("done to it"))];
    let locks = play.groups().iter().any(|group| group.takes_lock) || play.clients().is_empty();
    let watchers = play.groups().iter().any(|group| !group.takes_lock);
    let signs =
        of_locks.into_iter().filter(|_| locks).chain(of_watchers.into_iter().filter(|_| watchers)).chain(of_all);
    let mut signs = signs.peekable();
    let mut x = area.x + 1;
    while let Some((glyph, role, words)) = signs.next() {
        let line = Line::from(vec![theme.span(glyph, role), theme.span(format!(" {words}"), Role::Muted)]);
        let columns = columns_of(&line);
        // What is left out is seen to be.
        let mark = if signs.peek().is_some() { 2 + 2 } else { 0 };
        if x + columns + mark > area.right() {
            canvas.text(x, area.y, area.right().saturating_sub(x), glyphs.ellipsis, Role::Muted);
            break;
        }
        canvas.line(x, area.y, columns, &line);
        x += columns + 2;
    }
}

/// How many lines the status has to say of a run: `137 events`.
pub fn count(play: &Play) -> String {
    quantity(usize::try_from(play.count()).unwrap_or(usize::MAX), "event")
}
