//! The lines around every screen: who and where we are, which screens there are, how fresh
//! things are.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, columns_of};
use super::empty;
use super::text::{duration, escape_text, grouped, quantity, width};
use super::theme::{Role, Theme};
use crate::domain::{Millis, Timestamp};
use crate::event::LinkState;
use crate::input::{Action, Screen, Target};
use crate::model::{Facts, Model, cluster};
use crate::{lang, say};

/// The columns that the endpoint and the number of members may claim.
const PLACE: usize = 30;

/// The columns that the context's name may claim.
const CONTEXT: usize = 20;

/// Draws the line of identity: link state, cluster, leader, term, revision, raft index.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let theme = canvas.theme;
    // The link and the time go on while the screen is paused.
    let (live, shown) = (model.live(), model.shown());
    let mut left = vec![theme.span("lockscope", Role::Title), Span::raw("  ")];
    match &model.ui.replay {
        Some(replay) => {
            left.extend(super::replay::header_words(replay, theme));
            if !live.link.is_live() {
                left.push(Span::raw("  "));
                left.extend(link_words(live, live.now(), theme));
            }
        }
        None => left.extend(link_words(live, live.now(), theme)),
    }
    left.extend(model.ui.recording.iter().flat_map(|recording| super::replay::recording_words(recording, theme)));
    if model.is_paused() {
        let missed = model.missed_while_paused();
        let missed = grouped(missed);
        left.push(theme.span(format!("  {}", say!("PAUSED +{missed}", missed)), Role::Warning));
    }
    left.extend(demo_words(model, theme));
    let read_only = (model.ui.read_only.is_some() && !model.is_replay())
        .then(|| theme.span(format!("  {}", say!("READ-ONLY")), Role::Warning));
    let room = area.width.saturating_sub(2);
    // The place gets its due before the raft index and the term do.
    // Where a demo's members listen is of no interest beside how they are.
    let due = if model.ui.demo.is_some() { 0 } else { columns_of(&Line::from(place(live, PLACE, theme))) };
    let behind = |wide| {
        let words = context_words(model, wide, theme).into_iter().chain(read_only.clone());
        left.iter().cloned().chain(words).collect::<Vec<_>>()
    };
    let wide = behind(true);
    let fits = columns_of(&Line::from(wide.clone())) + 2 + due <= room;
    let mut left = if fits { wide } else { behind(false) };
    let must = columns_of(&Line::from(left.clone()));
    let right = right_line(shown, room.saturating_sub(must + 2 + due), theme);
    let spare = room.saturating_sub(must + 2 + columns_of(&right));
    left.extend(place(live, usize::from(spare), theme));
    canvas.line(area.x + 1, area.y, room, &Line::from(left));
    canvas.line_right(area.x, area.right().saturating_sub(1), area.y, &right);
}

/// `  prod`: whose settings these are. A demo and a recording are nobody's. A name whose endpoints come
/// from somewhere else does not say where the cluster is: `prod!`, and with room the reason.
fn context_words<'a>(model: &Model, wide: bool, theme: &Theme) -> Vec<Span<'a>> {
    let is_elsewhere = model.ui.demo.is_some() || model.is_replay();
    let Some(name) = model.ui.context.as_ref().filter(|_| !is_elsewhere) else { return Vec::new() };
    let from = model.ui.endpoints_from.as_deref();
    let role = if from.is_some() { Role::Warning } else { Role::Title };
    let mut words = vec![Span::raw("  "), theme.sentence(escape_text(name).into_owned(), CONTEXT, role)];
    words.extend(from.map(|from| {
        let whole = || format!(" {}", say!("(endpoints from {source})", source = escape_text(from)));
        theme.span(if wide { whole() } else { "!".to_owned() }, role)
    }));
    words
}

/// ` DEMO ×0.50 FROZEN`: that this is the demo, and how the clock of its cluster runs.
fn demo_words<'a>(model: &Model, theme: &Theme) -> Vec<Span<'a>> {
    let demo = model.ui.demo.map(|_| theme.span(format!("  {}", say!("DEMO")), Role::Title));
    let pace = model.live().raft.iter().flat_map(|picture| super::raft::pace(picture, theme));
    let mut words: Vec<Span<'a>> = demo.into_iter().chain(pace).collect();
    if let Some(first) = words.first_mut().filter(|_| model.ui.demo.is_none()) {
        *first = Span::styled(format!(" {}", first.content), first.style);
    }
    words
}

/// `● LIVE`, `! RETRYING in 2s`, `○ CONNECTING`. A connection that is open while no member answers is
/// not called live.
fn link_words<'a>(facts: &Facts, now: Timestamp, theme: &Theme) -> Vec<Span<'a>> {
    match &facts.link.state {
        LinkState::Connecting => {
            vec![theme.span(format!("{} {}", theme.glyphs.waiter, say!("CONNECTING")), Role::Muted)]
        }
        LinkState::Live { .. } if is_silent(facts) => {
            vec![theme.span(format!("{} {}", theme.glyphs.warning, say!("NO ANSWER")), Role::Error)]
        }
        LinkState::Live { .. } => {
            vec![theme.span(theme.glyphs.holder, Role::Holder), theme.span(format!(" {}", say!("LIVE")), Role::Text)]
        }
        LinkState::Retrying { next_at, .. } => {
            let left = Millis(next_at.since(now).0.div_euclid(1_000) * 1_000);
            let words = match left.0 {
                1.. => say!("RETRYING in {left}", left = duration(left)),
                _ => say!("RETRYING now").to_owned(),
            };
            vec![theme.span(format!("{} {words}", theme.glyphs.warning), Role::Error)]
        }
    }
}

/// Whether every member failed to answer when it was asked last.
fn is_silent(facts: &Facts) -> bool {
    let members = facts.cluster.members();
    !members.is_empty() && members.iter().all(|member| member.error.is_some() && !member.is_up())
}

/// The endpoint and how many members answer, as far as there is room.
fn place<'a>(facts: &Facts, room: usize, theme: &Theme) -> Vec<Span<'a>> {
    let LinkState::Live { endpoint } = &facts.link.state else { return Vec::new() };
    let members = facts.cluster.members();
    let up = members.iter().filter(|member| member.is_up()).count();
    let count = if members.is_empty() { String::new() } else { format!(" ({up}/{})", members.len()) };
    let host = endpoint.split_once("://").map_or(endpoint.as_str(), |(_, host)| host);
    let room = room.saturating_sub(2 + count.len());
    if room < 8 {
        return Vec::new();
    }
    let role = if up < members.len() { Role::Warning } else { Role::Text };
    vec![Span::raw("  "), theme.sentence(escape_text(host).into_owned(), room, Role::Text), theme.span(count, role)]
}

/// Leader, term, revision and raft index: the last ones go first when room is short.
fn right_line<'a>(facts: &Facts, room: u16, theme: &Theme) -> Line<'a> {
    let cluster = &facts.cluster;
    let known = cluster.members().iter().any(|member| member.status.is_some());
    let lead = facts.lead();
    let leader = lead.as_ref().map(|lead| match &lead.name {
        Some(name) => {
            let name = theme.sentence(escape_text(name).into_owned(), 20, Role::Leader);
            let glyph = Span::styled(format!("{} ", theme.glyphs.leader), theme.style(Role::Leader));
            vec![glyph, name]
        }
        None => vec![theme.span(say!("no leader"), Role::Error)],
    });
    let fact = |label: &'static str, text: String| vec![theme.span(format!("{label} "), Role::Muted), Span::raw(text)];
    let mut parts = Vec::new();
    parts.extend(leader);
    if let Some(lead) = &lead {
        parts.push(fact(say!("term"), grouped(lead.term.0)));
    }
    if facts.link.revision.0 > 0 {
        parts.push(fact(say!("rev"), grouped(facts.link.revision.0)));
    }
    if known {
        parts.push(fact(say!("idx"), grouped(cluster.raft_index().0)));
    }
    loop {
        let line = joined(&parts);
        if columns_of(&line) <= room || parts.is_empty() {
            return line;
        }
        // The term goes before the revision does; the leader stays longest.
        let goes = if parts.len() == 3 { 1 } else { parts.len() - 1 };
        parts.remove(goes);
    }
}

fn joined<'a>(parts: &[Vec<Span<'a>>]) -> Line<'a> {
    let mut spans = Vec::new();
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.extend(part.iter().cloned());
    }
    Line::from(spans)
}

/// Draws the tabs, and on the right what the screen is about: a filter, or the open lock. Where
/// there is no room for both, the tabs stand as close as they can and have shorter names.
pub fn draw_tabs(
    canvas: &mut Canvas<'_>,
    area: Rect,
    screens: impl Iterator<Item = Screen>,
    open: Screen,
    right: &Line<'_>,
) {
    let theme = canvas.theme;
    let key = |screen| {
        let row = crate::input::keymap::BINDINGS.iter().find(|row| row.action == Action::Show(screen));
        row.and_then(|row| row.keys.first()).map(ToString::to_string).unwrap_or_default()
    };
    let tabs: Vec<(Screen, String)> = screens.map(|screen| (screen, key(screen))).collect();
    let wide: usize = tabs.iter().map(|(screen, key)| key.len() + width(lang::text(screen.name())) + 4).sum();
    let is_close = wide + 3 + usize::from(columns_of(right)) > usize::from(area.width);
    let close: usize = tabs.iter().map(|(screen, key)| key.len() + width(lang::text(screen.short_name())) + 2).sum();
    let is_closest = is_close && close > usize::from(area.width);
    let mut x = area.x + u16::from(!is_closest);
    for (screen, key) in tabs {
        let name = lang::text(match (is_close, is_closest) {
            (false, _) => screen.name(),
            (true, false) => screen.short_name(),
            (true, true) => screen.shortest_name(),
        });
        let start = x;
        let style = if screen == open { theme.style(Role::Title) } else { theme.style(Role::Muted) };
        let reversed = if screen == open { theme.style(Role::Selection) } else { Style::new() };
        let text = if is_close { format!("{key} {name} ") } else { format!(" {key} {name} ") };
        let line = Line::from(Span::styled(text, style.patch(reversed)));
        x += canvas.line(x, area.y, area.right().saturating_sub(x), &line);
        canvas.hit(Rect::new(start, area.y, x - start, 1), Target::Do(Action::Show(screen)));
        x += u16::from(!is_close);
    }
    let room = area.right().saturating_sub(x + 2);
    if columns_of(right) <= room {
        canvas.line_right(x + 1, area.right().saturating_sub(1), area.y, right);
    }
}

/// Draws how fresh things are and how much is watched.
pub fn draw_status(canvas: &mut Canvas<'_>, area: Rect, model: &Model, oldest: Option<Millis>) {
    let theme = canvas.theme;
    let facts = model.shown();
    let mut parts: Vec<(String, Role)> = Vec::new();
    if let Some(age) = oldest {
        let text = say!("TTLs at most {age} old", age = duration(super::widget::ttl::whole_seconds(age)));
        parts.push((text, if age.0 > super::widget::ttl::OLD.0 { Role::Warning } else { Role::Muted }));
    }
    parts.push((quantity(facts.leases().len(), "lease"), Role::Muted));
    parts.push((quantity(facts.keyspace().len(), "key"), Role::Muted));
    let silent = facts
        .cluster
        .members()
        .iter()
        .filter(|member| facts.cluster.role(member) == cluster::Role::Unreachable)
        .count();
    if silent > 0 {
        parts.push((say!("{members} unreachable", members = quantity(silent, "member")), Role::Warning));
    }
    let gaps = facts.link.new_gaps();
    if gaps > 0 {
        parts.push((quantity(gaps as usize, "gap"), Role::Warning));
    }
    let scope = empty::scope(&facts.link, 60, theme);
    parts.push((say!("watching {scope}", scope), Role::Muted));
    if !facts.link.denied.is_empty() {
        parts.push((say!("{count} denied", count = facts.link.denied.len()), Role::Error));
    }
    let mut spans: Vec<Span<'_>> = Vec::new();
    let mut left = usize::from(area.width.saturating_sub(2));
    for (text, role) in parts {
        let gap = if spans.is_empty() { String::new() } else { format!(" {} ", theme.glyphs.dot) };
        let Some(room) = left.checked_sub(width(&gap)).filter(|&room| room >= 12.min(width(&text))) else { break };
        let text = theme.sentence(text, room, role);
        left = room - width(&text.content);
        spans.push(theme.span(gap, Role::Muted));
        spans.push(text);
    }
    canvas.line(area.x + 1, area.y, area.width.saturating_sub(2), &Line::from(spans));
}
