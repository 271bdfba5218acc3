//! What wants attention: the diagnosis, a line for each thing it is about.
//!
//! Findings about one lock share a row: what is the matter in words and since when comes first,
//! the codes of the rules last, where there is room. The worst comes first. What is too long goes
//! on below for the selected lock, and for others where rows are to spare.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Key, Timestamp, Value};
use crate::input::{Pane, Target};
use crate::model::findings::{Case, Subject};
use crate::model::{Diagnosis, Facts, Finding, MemberFacts, Severity};
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::list::position;
use crate::view::text::{
    Cut, cut_end, duration, escape, fit_bytes, grouped, named, quantity, sentence, split_at_width, width,
};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::ttl::whole_seconds;

/// The fewest columns of a name.
const ABOUT: usize = 8;
/// How far the second line of a row stands in.
const INDENT: usize = 4;
/// From this many columns on a line says what the matter is called before it says what it is.
const NAMED: usize = 70;
/// The most columns of that name.
const CODE: usize = 20;

/// One line: what is known of one lock, member or lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How bad the worst of it is.
    pub severity: Severity,
    /// What it is about, in bytes as the cluster has it.
    pub about: Key,
    /// The codes of the rules that found it, the worst first.
    pub codes: Vec<&'static str>,
    /// What is the matter, with the numbers, and since when.
    pub text: String,
    /// Where a click leads.
    pub target: Option<Target>,
}

impl Note {
    /// The code of the worst of it.
    fn code(&self) -> Option<&'static str> {
        self.codes.first().copied()
    }
}

/// What wants attention, by the diagnosis of these facts.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// The facts.
    pub facts: &'a Facts,
    /// What is wrong with them.
    pub diagnosis: &'a Diagnosis,
}

impl Attention<'_> {
    /// The line of a case.
    fn note(&self, (Case { subject, codes, alike, .. }, worst): (&Case, &Finding)) -> Note {
        let evidence = evidence(worst, self.facts);
        let text = if *alike == 0 {
            evidence
        } else {
            say!("one of {count}: {evidence}", count = grouped(alike + 1), evidence)
        };
        Note {
            severity: worst.severity,
            about: name(subject, self.facts),
            codes: codes.clone(),
            text,
            target: target(subject),
        }
    }

    /// Whether there are errors or warnings.
    pub fn is_urgent(&self) -> bool {
        self.diagnosis.count(Severity::Warn) > 0
    }

    /// What is said where nothing was found: that it is so, or why that means little.
    fn of_nothing(&self) -> (String, Role) {
        if !self.facts.link.listed {
            return (say!("not read yet").to_owned(), Role::Muted);
        }
        match self.pending() {
            Some(pending) => (pending, Role::Warning),
            None if !self.diagnosis.is_whole() => (say!("still looking").to_owned(), Role::Muted),
            None => (say!("nothing").to_owned(), Role::Muted),
        }
    }

    /// What may be over in a moment and is no finding so far, where nothing else is wrong: beside it
    /// nothing may read as if all were well.
    fn pending(&self) -> Option<String> {
        let facts = self.facts;
        if self.is_urgent() {
            return None;
        }
        let age = |since: Timestamp| duration(whole_seconds(facts.now().since(since)));
        if let Some(since) = facts.link.lost_since {
            return Some(say!("no connection for {age}", age = age(since)));
        }
        if facts.lead().is_some_and(|lead| lead.name.is_none()) {
            return Some(match facts.cluster.leaderless_since() {
                Some(since) => say!("no leader for {age}: an election may end it", age = age(since)),
                None => say!("no leader: an election may end it").to_owned(),
            });
        }
        let silent = facts.cluster.members().iter().filter_map(|member| member.silent_since);
        let (count, since) = (silent.clone().count(), silent.min()?);
        Some(say!("no answer from {members} for {age}", members = quantity(count, "member"), age = age(since)))
    }

    /// How many rows it wants for what is wrong, frame included.
    pub fn wanted_rows(&self) -> u16 {
        u16::try_from(self.diagnosis.wrong_count()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// How many rows it wants for everything, frame included.
    pub fn all_rows(&self) -> u16 {
        u16::try_from(self.diagnosis.case_count()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// How many of so many rows it could use in so many columns, frame included: what is only worth
    /// knowing, and what goes on below, take what nobody else needs.
    pub fn most_rows(&self, columns: u16, most: u16) -> u16 {
        let all = self.all_rows();
        if all >= most {
            return most;
        }
        let notes: Vec<Note> = (0..).map_while(|at| self.diagnosis.case(at)).map(|case| self.note(case)).collect();
        let columns = Columns::of(&notes, usize::from(columns.saturating_sub(4)));
        let long = notes.iter().filter(|note| columns.wants_more(note)).count();
        all.saturating_add(u16::try_from(long).unwrap_or(u16::MAX)).min(most)
    }

    /// The lines from `first` on, in an order in which the first `room` of them name every kind of
    /// trouble, where there is more of it than that.
    fn notes(&self, first: usize, room: usize) -> Vec<Note> {
        let is_crowded = self.diagnosis.wrong_count() > room;
        let case = |at| if is_crowded { self.diagnosis.case_naming(at) } else { self.diagnosis.case(at) };
        (first..first + room).map_while(case).map(|case| self.note(case)).collect()
    }
}

/// What a line is about, as bytes of the cluster.
fn name(subject: &Subject, facts: &Facts) -> Key {
    match subject {
        Subject::Lock(name) | Subject::Key(name) => named(name).into(),
        Subject::Member(id) => {
            facts.cluster.member(*id).map_or_else(|| id.to_string(), MemberFacts::label).as_str().into()
        }
        Subject::Lease(id) => {
            say!("lease {lease}", lease = client::short(facts.leases().digits(), *id, b"")).as_str().into()
        }
        Subject::Cluster => say!("cluster").into(),
    }
}

/// Where a click leads.
fn target(subject: &Subject) -> Option<Target> {
    match subject {
        Subject::Lock(name) => Some(Target::Lock(name.clone())),
        Subject::Member(id) => Some(Target::Member(*id)),
        Subject::Lease(id) => Some(Target::Lease(*id)),
        Subject::Key(_) | Subject::Cluster => None,
    }
}

/// Draws it as a panel; `top` of its rows are scrolled away. What is known of the selected lock goes
/// on below when it is too long for a line.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    attention: &Attention<'_>,
    top: usize,
    focused: bool,
    selected: Option<&[u8]>,
) {
    let theme = canvas.theme;
    let lines = usize::from(area.height.saturating_sub(2));
    let room = usize::from(area.width.saturating_sub(4));
    let all = attention.diagnosis.case_count();
    let first = top.min(all.saturating_sub(lines));
    let notes = attention.notes(first, lines);
    let columns = Columns::of(&notes, room);
    let opened = opened(&notes, lines.saturating_sub(all), columns, selected);
    let panel = Panel::new(title(attention, theme)).focused(focused);
    let mut data = Vec::new();
    if all > lines {
        data.push(say!("rows {rows}", rows = position(&(first..first + notes.len()), all)));
    }
    data.extend(attention.diagnosis.is_passing().then(|| say!("x dismisses what is over").to_owned()));
    let inner = panel.data(theme.span(data.join("  "), Role::Muted)).draw(canvas, area);
    canvas.hit_pane(area, Pane::Attention, u16::try_from(lines - opened.len()).unwrap_or(inner.height), all);
    if notes.is_empty() {
        let (words, role) = attention.of_nothing();
        let words = theme.sentence(words, usize::from(inner.width.saturating_sub(1)), role);
        canvas.line(inner.x + 1, inner.y, inner.width.saturating_sub(1), &Line::from(words));
        return;
    }
    let mut y = inner.top();
    for (at, note) in notes.iter().enumerate() {
        for line in note_lines(note, columns, opened.contains(&at), theme) {
            canvas.line(inner.x, y, inner.width, &line);
            if let Some(target) = &note.target {
                canvas.hit(Rect::new(inner.x, y, inner.width, 1), target.clone());
            }
            y += 1;
        }
    }
}

/// The rows that go on below in so many lines that are to spare: the selected lock's before all
/// others, then what is wrong, then what is only worth knowing.
fn opened(notes: &[Note], spare: usize, columns: Columns, selected: Option<&[u8]>) -> Vec<usize> {
    let is_selected =
        |note: &Note| matches!(&note.target, Some(Target::Lock(name)) if selected == Some(name.as_bytes()));
    let mut opened: Vec<usize> = (0..notes.len()).filter(|&at| columns.wants_more(&notes[at])).collect();
    opened.sort_by_key(|&at| (!is_selected(&notes[at]), notes[at].severity == Severity::Info));
    opened.truncate(spare);
    opened
}

/// What was found, in words; since when it is so, where the words tell no time.
fn evidence(finding: &Finding, facts: &Facts) -> String {
    let text = sentence(&finding.evidence);
    let tells_time = finding.evidence.values.iter().any(|(_, value)| matches!(value, Value::Length(_)));
    let Some(since) = finding.since.filter(|since| !tells_time && since.at <= facts.now()) else { return text };
    let age = duration(facts.now().since(since.at));
    if since.exact {
        say!("{evidence}; for {age}", evidence = text, age)
    } else {
        say!("{evidence}; for {age} at least", evidence = text, age)
    }
}

/// The columns that names get: what they want, up to a third.
fn about_room(notes: &[Note], room: usize) -> usize {
    let widest = notes.iter().map(|note| width(&escape(&note.about[..note.about.len().min(256)]))).max().unwrap_or(0);
    widest.min((room / 3).max(ABOUT))
}

/// How the room of a line is shared.
#[derive(Clone, Copy)]
struct Columns {
    /// What it is about.
    about: usize,
    /// What it is called, before the words; 0 where there is no room for that, and codes come last.
    code: usize,
    /// All of the line.
    room: usize,
}

impl Columns {
    fn of(notes: &[Note], room: usize) -> Self {
        let about = about_room(notes, room);
        let widest = notes.iter().filter_map(Note::code).map(width).max().unwrap_or(0);
        Self { about, code: if room >= NAMED { widest.min(CODE) } else { 0 }, room }
    }

    /// Where the words begin.
    const fn words(self) -> usize {
        self.about + 3 + if self.code > 0 { self.code + 2 } else { 0 }
    }

    /// Whether what is the matter does not fit beside the name.
    fn wants_more(self, note: &Note) -> bool {
        width(&note.text) > self.room.saturating_sub(self.words())
    }
}

/// `3 errors, 2 warnings, 1 info`: findings, of which several may share a row.
fn title<'t>(attention: &Attention<'_>, theme: &Theme) -> Line<'t> {
    let mut title = vec![theme.span(say!("Attention"), Role::Title)];
    let [errors, wrong, all] =
        [Severity::Error, Severity::Warn, Severity::Info].map(|it| attention.diagnosis.count(it));
    let counts = [
        (errors, "error", Severity::Error),
        (wrong - errors, "warning", Severity::Warn),
        (all - wrong, "info", Severity::Info),
    ];
    let mut gap = "  ";
    for (count, noun, severity) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        title.push(Span::raw(gap));
        title.push(theme.span(quantity(count, noun), role(severity)));
        gap = say!(", ");
    }
    if attention.diagnosis.case_count() > 0 {
        title.extend(attention.pending().map(|pending| theme.span(format!("  {pending}"), Role::Warning)));
    }
    Line::from(title)
}

fn note_lines<'a>(note: &Note, columns: Columns, goes_on: bool, theme: &Theme) -> Vec<Line<'a>> {
    let Columns { about: about_wide, code: code_wide, room } = columns;
    let glyph = match note.severity {
        Severity::Error => theme.glyphs.lost,
        Severity::Warn => theme.glyphs.warning,
        Severity::Info => " ",
    };
    let words = if note.severity > Severity::Info { Role::Text } else { Role::Muted };
    let told = usize::from(code_wide > 0);
    let about = fit_bytes(&note.about, about_wide, Cut::Middle, theme.glyphs.ellipsis).into_owned();
    let pad = about_wide.saturating_sub(width(&about));
    let mut first =
        vec![theme.span(glyph, role(note.severity)), theme.span(format!(" {about}{}  ", " ".repeat(pad)), Role::Text)];
    if code_wide > 0 {
        let code = cut_end(note.code().unwrap_or(""), code_wide, theme.glyphs.ellipsis).into_owned();
        let pad = code_wide.saturating_sub(width(&code));
        first.push(theme.span(format!("{code}{}  ", " ".repeat(pad)), role(note.severity)));
    }
    // It was escaped when it was put into words.
    let left = room.saturating_sub(columns.words());
    let (now, later) = if goes_on { split_at_width(&note.text, left) } else { (note.text.as_str(), "") };
    first.push(theme.sentence(now.trim_end().to_owned(), left, words));
    if later.is_empty() {
        first.extend(codes(note, told, left.saturating_sub(width(now)), theme));
        return vec![Line::from(first)];
    }
    let left = room.saturating_sub(INDENT);
    let mut second = vec![Span::raw(" ".repeat(INDENT)), theme.sentence(later.to_owned(), left, words)];
    second.extend(codes(note, told, left.saturating_sub(width(later)), theme));
    vec![Line::from(first), Line::from(second)]
}

/// The codes behind the words, but for those that were `told` before them, as far as there is room;
/// what is left out is counted.
fn codes<'a>(note: &Note, told: usize, room: usize, theme: &Theme) -> Option<Span<'a>> {
    let room = room.saturating_sub(2);
    let mut text = String::new();
    let codes = note.codes.get(told..).unwrap_or_default();
    for (at, code) in codes.iter().enumerate() {
        let rest = codes.len() - at;
        let gap = if text.is_empty() { "" } else { ", " };
        let behind = if rest > 1 { 3 } else { 0 };
        if width(&text) + gap.len() + width(code) + behind > room {
            if !text.is_empty() {
                text = format!("{text} +{rest}");
            }
            break;
        }
        text = format!("{text}{gap}{code}");
    }
    (!text.is_empty()).then(|| theme.span(format!("  {text}"), role(note.severity)))
}

/// The role of a severity.
pub const fn role(severity: Severity) -> Role {
    match severity {
        Severity::Error => Role::Error,
        Severity::Warn => Role::Warning,
        Severity::Info => Role::Muted,
    }
}
