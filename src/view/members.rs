//! The members of the cluster: who leads, how far each is, how large, how well, and who led
//! before.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::empty;
use super::layout::{bottom, top};
use super::list::List;
use super::text::{bytes, clock, duration, escape_text, grouped, padded};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use super::widget::table::{Cell, Column, Row, table};
use crate::domain::raft::Told;
use crate::domain::{MemberId, Millis, Timestamp};
use crate::event::NoStatus;
use crate::input::{Pane, Target};
use crate::model::{Cluster, Facts, LeaderChange, MemberFacts, cluster};
use crate::{lang, say};

/// What etcd has no call for, so that nobody looks for it here.
const UNTOLD: &str = "etcd's API tells no votes, log entries or messages; an embedded cluster does.";
/// What an embedded cluster shows on another screen.
const TOLD: &str = "Enter shows votes, messages, timers and logs; K kills the selected member, P isolates it.";
/// What can be done to real etcds that this program started.
const PLAYED: &str =
    "K kills the selected member or starts it, P isolates it, H heals; p pauses it on the Raft screen.";
/// How many entries a member may be behind before it is worth a warning: more than are in
/// flight at any busy moment.
const LAGGING: u64 = 1_000;
/// From this age on an answer is old: members are asked every few seconds.
const SILENT: Millis = Millis(15_000);
/// A database this full, in percent of its quota, is worth a warning.
const NEARLY_FULL: i64 = 80;
/// The columns of a label among the details.
const LABEL: usize = 10;

const COLUMNS: [Column; 10] = [
    Column::new("MEMBER").at_least(8).at_most(32).fills(),
    Column::new("ROLE").at_most(11),
    Column::new("TERM").right().drop(4),
    Column::new("RAFT INDEX").right().drop(2),
    Column::new("APPLIED").right().drop(1),
    Column::new("LAG").right(),
    Column::new("DB").right(),
    Column::new("IN USE").right().drop(3),
    Column::new("QUOTA").right().drop(0),
    Column::new("LATENCY").right(),
];

/// Draws the screen. `live_now` is the time that goes on while the screen is paused.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, live_now: Timestamp, list: &List<'_>) {
    let members = facts.cluster.members();
    let table_rows =
        u16::try_from(members.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(5, area.height.max(5) / 2 + 1);
    let (table_area, rest) = top(area, table_rows);
    draw_table(canvas, table_area, facts, list);
    if members.is_empty() {
        let inner = Rect { x: table_area.x + 1, width: table_area.width.saturating_sub(2), ..rest };
        empty::draw(canvas, inner, facts, live_now, "");
        return;
    }
    let selected = list.selected.and_then(|at| members.get(at)).or(members.first());
    let detail_rows = 8.min(rest.height / 2);
    let (detail_area, rest) = top(rest, detail_rows);
    if let Some(selected) = selected {
        draw_details(canvas, detail_area, facts, selected);
    }
    let (changes_area, note_area) = bottom(rest, u16::from(rest.height > 4));
    draw_changes(canvas, changes_area, facts);
    if note_area.height == 0 {
        return;
    }
    let note = match facts.raft.as_deref().map(|picture| picture.told) {
        Some(Told::All) => TOLD,
        Some(Told::Status) => PLAYED,
        None => UNTOLD,
    };
    let note = Line::from(canvas.theme.sentence(
        lang::text(note),
        usize::from(note_area.width.saturating_sub(2)),
        Role::Muted,
    ));
    canvas.line(note_area.x + 1, note_area.y, note_area.width.saturating_sub(1), &note);
}

/// Draws the table of members as a panel; also the strip below other screens.
pub fn draw_table(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, list: &List<'_>) {
    let theme = canvas.theme;
    let cluster = &facts.cluster;
    let members = cluster.members();
    let alarms = cluster.alarms();
    let panel =
        Panel::new(vec_line(vec![theme.span(say!("Members"), Role::Title), Span::raw(format!(" {}", members.len()))]));
    let panel = match alarms.first() {
        Some(alarm) => panel.data(theme.span(format!("{} {}", theme.glyphs.warning, alarm.kind.name()), Role::Error)),
        None => panel.data(theme.span(led_for(cluster, facts.now()), Role::Muted)),
    };
    let inner = panel.focused(list.focused).draw(canvas, area);
    let capacity = inner.height.saturating_sub(1);
    canvas.hit_pane(area, Pane::Members, capacity, members.len());
    let window = list.window(usize::from(capacity), members.len());
    let rows: Vec<Row<'_>> = window
        .map(|at| Row { selected: list.selected == Some(at), ..row(cluster, &members[at], facts.now(), theme) })
        .collect();
    table(canvas, inner, &COLUMNS, &rows);
}

fn vec_line(spans: Vec<Span<'_>>) -> Line<'_> {
    Line::from(spans)
}

/// Draws the members in few columns: name, index and lag, for a narrow strip.
pub fn draw_strip(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, list: &List<'_>) {
    const STRIP: [Column; 3] =
        [Column::new("MEMBER").at_least(6).fills(), Column::new("INDEX").right().drop(0), Column::new("LAG").right()];
    let theme = canvas.theme;
    let cluster = &facts.cluster;
    let members = cluster.members();
    let title = vec![theme.span(say!("Members"), Role::Title), Span::raw(format!(" {}", members.len()))];
    let inner = Panel::new(Line::from(title)).focused(list.focused).draw(canvas, area);
    let capacity = inner.height.saturating_sub(1);
    canvas.hit_pane(area, Pane::Members, capacity, members.len());
    let rows: Vec<Row<'_>> = list
        .window(usize::from(capacity), members.len())
        .map(|at| {
            let member = &members[at];
            let index = member.status.as_ref().map_or(0, |status| status.raft_index.0);
            let name = name_cell(cluster, member, theme);
            let cells = vec![name, Cell::new(grouped(index)), Cell::span(lag(cluster, member, theme))];
            let target = Some(Target::Member(member.member.id));
            Row { selected: list.selected == Some(at), target, ..Row::new(cells) }
        })
        .collect();
    table(canvas, inner, &STRIP, &rows);
}

fn row<'a>(cluster: &Cluster, facts: &'a MemberFacts, now: Timestamp, theme: &Theme) -> Row<'a> {
    let role = cluster.role(facts);
    let mut cells =
        vec![name_cell(cluster, facts, theme), Cell::span(theme.span(lang::text(role.name()), role_style(role)))];
    // What a silent member said last is shown dim, with its age where its latency was.
    let quiet = facts.error.is_some() || facts.answered_at.is_some_and(|at| now.since(at).0 > SILENT.0);
    let text = if quiet { Role::Muted } else { Role::Text };
    match &facts.status {
        None => cells.extend((0..8).map(|_| Cell::span(theme.span("-", Role::Muted)))),
        Some(status) => {
            cells.push(Cell::span(theme.span(grouped(status.term.0), text)));
            cells.push(Cell::span(theme.span(grouped(status.raft_index.0), text)));
            cells.push(Cell::span(theme.span(grouped(status.applied_index.0), text)));
            cells.push(Cell::span(lag(cluster, facts, theme)));
            let full =
                status.db_quota.is_some_and(|quota| quota > 0 && status.db_size / (quota / 100).max(1) >= NEARLY_FULL);
            cells.push(Cell::span(theme.span(bytes(status.db_size), if full { Role::Warning } else { text })));
            cells.push(Cell::span(theme.span(bytes(status.db_in_use), text)));
            let quota = status.db_quota.map_or_else(|| "-".into(), bytes);
            cells.push(Cell::span(theme.span(quota, if status.db_quota.is_some() { text } else { Role::Muted })));
            cells.push(Cell::span(latency(facts, status.latency, now, theme)));
        }
    }
    Row { target: Some(Target::Member(facts.member.id)), ..Row::new(cells) }
}

fn name_cell<'a>(cluster: &Cluster, facts: &'a MemberFacts, theme: &Theme) -> Cell<'a> {
    let (glyph, style) = look(cluster.role(facts), theme);
    let name = name(facts);
    let form = |columns| {
        Line::from(vec![theme.span(format!("{glyph} "), style), theme.sentence(name.clone(), columns, style)])
    };
    Cell::Forms(vec![form(64), form(24), form(14), form(6)])
}

/// A member's name; one that has not started has none yet.
pub fn name(facts: &MemberFacts) -> std::borrow::Cow<'_, str> {
    if facts.member.name.is_empty() { facts.member.id.to_string().into() } else { escape_text(&facts.member.name) }
}

/// The glyph of a part that a member plays, and what it means.
pub const fn look(role: cluster::Role, theme: &Theme) -> (&'static str, Role) {
    let glyphs = theme.glyphs;
    let glyph = match role {
        cluster::Role::Leader => glyphs.leader,
        cluster::Role::Learner => glyphs.learner,
        cluster::Role::Unreachable => glyphs.lost,
        cluster::Role::Follower => glyphs.holder,
        cluster::Role::Unknown => glyphs.waiter,
    };
    (glyph, role_style(role))
}

const fn role_style(role: cluster::Role) -> Role {
    match role {
        cluster::Role::Leader => Role::Leader,
        cluster::Role::Learner => Role::Learner,
        cluster::Role::Unreachable => Role::Error,
        cluster::Role::Follower => Role::Text,
        cluster::Role::Unknown => Role::Muted,
    }
}

fn lag<'a>(cluster: &Cluster, facts: &MemberFacts, theme: &Theme) -> Span<'a> {
    match cluster.lag(facts) {
        None => theme.span("-", Role::Muted),
        Some(lag) if lag >= LAGGING => theme.span(format!("{} {}", grouped(lag), theme.glyphs.warning), Role::Warning),
        Some(lag) => theme.span(grouped(lag), Role::Text),
    }
}

/// How long the last answer took, or how old it is.
fn latency<'a>(facts: &MemberFacts, latency: Millis, now: Timestamp, theme: &Theme) -> Span<'a> {
    let age = facts.answered_at.map(|at| now.since(at));
    match age {
        Some(age) if age.0 > SILENT.0 => {
            theme.span(say!("{about}{age} ago", about = theme.glyphs.about, age = duration(age)), Role::Muted)
        }
        _ => Span::raw(format!("{} ms", grouped(latency.0))),
    }
}

fn led_for(cluster: &Cluster, now: Timestamp) -> String {
    match (cluster.leader_facts(), cluster.leader_since()) {
        (Some(leader), Some(since)) => {
            say!("{leader} leads for >{length}", leader = name(leader), length = duration(now.since(since)))
        }
        (Some(leader), None) => say!("{leader} leads", leader = name(leader)),
        (None, _) => String::new(),
    }
}

fn draw_details(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, member: &MemberFacts) {
    let theme = canvas.theme;
    let title = vec![theme.span(name(member).into_owned(), Role::Title)];
    let inner =
        Panel::new(Line::from(title)).data(theme.span(member.member.id.to_string(), Role::Muted)).draw(canvas, area);
    let room = usize::from(inner.width.saturating_sub(12));
    let mut lines: Vec<(&str, Span<'_>)> = Vec::new();
    let error = member.error.as_ref().map(|error| match error {
        NoStatus::Unreachable(why) => why.clone(),
        NoStatus::Denied(why) => say!("not allowed: {why}", why),
    });
    if let Some(error) = &error {
        lines.push((say!("error"), theme.sentence(escape_text(error), room, Role::Error)));
    }
    if let Some(status) = &member.status {
        for error in &status.errors {
            lines.push((say!("reports"), theme.sentence(escape_text(error), room, Role::Error)));
        }
        let (size, in_use) = (bytes(status.db_size), bytes(status.db_in_use));
        let sizes = match status.db_quota {
            None => say!("{size}; the quota is told from 3.6 on, {in_use} in use", size, in_use),
            Some(quota) => say!("{size} of {quota}, {in_use} in use", size, quota = bytes(quota), in_use),
        };
        lines.push((say!("version"), Span::raw(escape_text(&status.version).into_owned())));
        lines.push((say!("database"), theme.sentence(sizes, room, Role::Text)));
    }
    for alarm in facts.cluster.alarms().iter().filter(|alarm| alarm.member == member.member.id) {
        lines.push((say!("alarm"), theme.span(alarm.kind.name(), Role::Error)));
    }
    lines.push((say!("clients"), theme.sentence(urls(&member.member.client_urls), room, Role::Text)));
    lines.push((say!("peers"), theme.sentence(urls(&member.member.peer_urls), room, Role::Text)));
    for (y, (label, text)) in (inner.top()..inner.bottom()).zip(lines) {
        canvas.line(
            inner.x + 1,
            y,
            inner.width.saturating_sub(1),
            &Line::from(vec![theme.span(padded(label, LABEL), Role::Muted), text]),
        );
    }
}

fn urls(urls: &[String]) -> String {
    if urls.is_empty() { say!("none told").into() } else { escape_text(&urls.join(", ")).into_owned() }
}

/// Who led when, the latest change first.
pub fn draw_changes(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
    let theme = canvas.theme;
    let cluster = &facts.cluster;
    let count = cluster.changes().count();
    let panel = Panel::new(theme.span(say!("Leader changes"), Role::Title));
    let panel = if count > 0 { panel.data(theme.span(count.to_string(), Role::Muted)) } else { panel };
    let inner = panel.draw(canvas, area);
    if count == 0 {
        let columns = inner.width.saturating_sub(1);
        canvas.text(inner.x + 1, inner.y, columns, say!("none since the start of lockscope"), Role::Muted);
    }
    for (y, change) in (inner.top()..inner.bottom()).zip(cluster.changes().rev()) {
        canvas.line(inner.x, y, inner.width, &change_line(change, cluster, facts.now(), theme));
    }
}

fn change_line<'a>(change: &LeaderChange, cluster: &Cluster, now: Timestamp, theme: &Theme) -> Line<'a> {
    let who = |id: Option<MemberId>| match id {
        None => say!("nobody").to_owned(),
        Some(id) => cluster.member(id).map_or_else(|| id.to_string(), |facts| name(facts).into_owned()),
    };
    let to = who(change.to);
    let role = if change.to.is_none() { Role::Error } else { Role::Leader };
    let before = say!("after {from}, term {term}", from = who(change.from), term = grouped(change.term.0));
    Line::from(vec![
        theme.span(clock(change.at, now, &theme.zone), Role::Muted),
        theme.span(format!(" {} {to}", theme.glyphs.leader), role),
        theme.span(format!(" {before}"), Role::Muted),
    ])
}
