//! The stations of a way as lines: when, in which node's lane, and what happened in a sentence.

use std::time::Duration;

use ratatui::text::{Line, Span};

use crate::domain::raft::{NodeId, RaftPicture, Trace, TraceStep, Waypoint};
use crate::domain::{RaftIndex, Term};
use crate::model::raft;
use crate::view::text::{escape_text, exact_clock, grouped, lasting, width};
use crate::view::theme::{Role, Theme};
use crate::{lang, say};

/// The columns of the time since the first station.
const SINCE: usize = 7;

/// What the words of a way mean.
const LEGEND: [&str; 3] = [
    "appended: written to the log, in etcd the write-ahead log (WAL)",
    "committed: a majority of the voters has it in the log",
    "applied: done to the store, which is at that revision then",
];

/// A lane for each node.
struct Lanes {
    nodes: Vec<NodeId>,
    columns: usize,
}

/// The lines: a head, a station each, why it goes no further, and where the entry is by now.
pub fn lines<'a>(picture: &RaftPicture, trace: &Trace, columns: u16, theme: &Theme) -> Vec<Line<'a>> {
    let across = Lanes::of(picture, trace);
    let Some(first) = trace.steps.first() else {
        return vec![Line::from(theme.span(say!("nothing is known of its way"), Role::Muted))];
    };
    let clock = exact_clock(trace.steps.last().unwrap_or(first).at).len();
    let room = usize::from(columns).saturating_sub(clock + 1 + SINCE + 2 + across.width() + 1).max(12);
    let mut lines = vec![head(&across, clock, theme)];
    let mut has = Has::default();
    for step in &trace.steps {
        let since = step.at.since(first.at);
        let (sentence, role) = sentence(picture, step, &mut has);
        let mut spans = vec![
            theme.span(format!("{:>clock$} ", exact_clock(step.at)), Role::Muted),
            theme.span(format!("{:>SINCE$}  ", plus(since)), Role::Muted),
        ];
        spans.extend(across.row(step, theme));
        spans.push(Span::raw(" "));
        spans.push(theme.sentence(sentence, room, role));
        lines.push(Line::from(spans));
    }
    if let Some(why) = &trace.stopped {
        let said = format!("{} {}", theme.glyphs.lost, say!("goes no further: {why}", why = escape_text(why)));
        lines.push(Line::from(theme.sentence(said, usize::from(columns), Role::Error)));
    }
    if let Some((term, index)) = proposed(trace) {
        lines.push(Line::from(theme.sentence(by_now(picture, term, index), usize::from(columns), Role::Text)));
        lines.push(Line::default());
        lines
            .extend(LEGEND.map(|text| Line::from(theme.sentence(lang::text(text), usize::from(columns), Role::Muted))));
    }
    lines
}

fn plus(since: Duration) -> String {
    if since.is_zero() { String::new() } else { format!("+{}", lasting(since)) }
}

fn head<'a>(lanes: &Lanes, clock: usize, theme: &Theme) -> Line<'a> {
    let columns = lanes.columns;
    let names: Vec<String> = lanes.nodes.iter().map(|node| format!("{:<columns$}", node.to_string())).collect();
    let right = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(width(text))) + text;
    let left = format!("{} {}  ", right(say!("clock"), clock), right(say!("since"), SINCE));
    Line::from(vec![theme.span(left, Role::Muted), theme.span(names.concat(), Role::Title)])
}

impl Lanes {
    /// All nodes, and those that were there when the request was.
    fn of(picture: &RaftPicture, trace: &Trace) -> Self {
        let mut nodes: Vec<NodeId> = picture.nodes.iter().map(|node| node.id).collect();
        nodes.extend(trace.steps.iter().map(|step| step.node));
        nodes.sort_unstable();
        nodes.dedup();
        // More than a screen of them tell nothing.
        nodes.truncate(9);
        let widest = nodes.iter().map(|node| node.to_string().len()).max().unwrap_or(2);
        let columns = widest + if nodes.len() > 5 { 1 } else { 2 };
        Self { nodes, columns }
    }

    fn width(&self) -> usize {
        self.nodes.len() * self.columns
    }

    /// The lanes of one station: a mark in its node's lane, and an arrow to or from another.
    fn row<'a>(&self, step: &TraceStep, theme: &Theme) -> Vec<Span<'a>> {
        let glyphs = theme.glyphs;
        let place = |id| self.nodes.iter().position(|&node| node == id);
        let here = place(step.node);
        let (from, to) = match step.what {
            Waypoint::Forwarded { to } => (here, place(to)),
            Waypoint::Acknowledged { by } => (place(by), here),
            _ => (here, here),
        };
        let mut cells = vec![(" ", Role::Muted); self.width()];
        for lane in 0..self.nodes.len() {
            cells[lane * self.columns] = (glyphs.dot, Role::Muted);
        }
        if let (Some(from), Some(to)) = (from, to) {
            let (start, end) = (from * self.columns, to * self.columns);
            for cell in &mut cells[start.min(end)..start.max(end)] {
                *cell = (glyphs.frame.across, Role::Text);
            }
            cells[start] = (glyphs.holder, Role::Text);
            if start != end {
                cells[end] = (if end > start { glyphs.lane.now } else { glyphs.back }, Role::Text);
            }
        }
        if let (Some(here), Waypoint::Answered { ok: false }) = (here, step.what) {
            cells[here * self.columns] = (glyphs.lost, Role::Error);
        }
        cells.into_iter().map(|(glyph, role)| theme.span(glyph, role)).collect()
    }
}

/// Who has the entry, as its leader knows by and by.
#[derive(Default)]
struct Has {
    acknowledged: Vec<NodeId>,
    committed: bool,
    leader: Option<NodeId>,
}

/// What happened at a station.
fn sentence(picture: &RaftPicture, step: &TraceStep, has: &mut Has) -> (String, Role) {
    let node = step.node;
    let said = match step.what {
        Waypoint::Received => say!("{node}'s API takes it in", node),
        Waypoint::Forwarded { to } => say!("passed on to {node}, its leader", node = to),
        Waypoint::Proposed { term, index } => {
            has.leader = Some(node);
            say!("proposed: entry {index} of term {term}", index, term)
        }
        Waypoint::Appended => {
            if has.leader == Some(node) && !has.acknowledged.contains(&node) {
                has.acknowledged.push(node);
            }
            say!("appended to {node}'s log (WAL)", node)
        }
        Waypoint::Acknowledged { by } => {
            let voter = |id: NodeId| raft::node(picture, id).is_none_or(|node| !node.learner);
            // The leader's own copy counts, whether or not that was told.
            let leader = has.leader.into_iter().filter(|leader| !has.acknowledged.contains(leader)).count();
            if !has.acknowledged.contains(&by) {
                has.acknowledged.push(by);
            }
            let count = has.acknowledged.iter().filter(|&&id| voter(id)).count() + leader;
            let (quorum, voters) = (raft::quorum(picture), raft::voters(picture));
            if count == quorum && voter(by) {
                say!("{node} has it: {count} of {voters}, a majority", node = by, count, voters)
            } else {
                say!("{node} has it: {count} of {voters}", node = by, count, voters)
            }
        }
        Waypoint::Committed if std::mem::replace(&mut has.committed, true) => {
            say!("{node} learns it is committed", node)
        }
        Waypoint::Committed => return (say!("committed: it will not be lost").into(), Role::Title),
        Waypoint::Applied { revision } => {
            say!("applied to {node}'s store: revision {revision}", node, revision = grouped(revision.0))
        }
        Waypoint::Compacted { snapshot } => {
            return (say!("compacted: in the snapshot to {index}", index = snapshot), Role::Text);
        }
        Waypoint::Answered { ok: true } => return (say!("the client has its answer").into(), Role::Title),
        Waypoint::Answered { ok: false } => return (say!("the client is told that it failed").into(), Role::Error),
        Waypoint::WatchersTold { watches } => match watches {
            1 => say!("1 watch told what changed").to_owned(),
            count => say!("{count} watches told what changed", count = grouped(count)),
        },
        Waypoint::Confirmed => say!("{node} still leads: it may be read", node),
    };
    (said, Role::Text)
}

fn proposed(trace: &Trace) -> Option<(Term, RaftIndex)> {
    trace.steps.iter().rev().find_map(|step| match step.what {
        Waypoint::Proposed { term, index } => Some((term, index)),
        _ => None,
    })
}

/// Where an entry is now: in which logs, in which snapshots.
fn by_now(picture: &RaftPicture, term: Term, index: RaftIndex) -> String {
    let nodes = |is: &dyn Fn(&crate::domain::raft::NodePicture) -> bool| {
        let names: Vec<String> = picture.nodes.iter().filter(|node| is(node)).map(|node| node.id.to_string()).collect();
        names.join(" ")
    };
    let logs = nodes(&|node| {
        index > node.snapshot
            && index <= node.last
            // What its picture does not reach back to is as it was.
            && raft::cell(node, index).is_none_or(|cell| cell.term == term)
    });
    let snapshots = nodes(&|node| index <= node.snapshot);
    match (logs.is_empty(), snapshots.is_empty()) {
        (true, true) => say!("entry {index} of term {term} is nowhere any more", index, term),
        (false, true) => say!("now in the log of {logs}", logs),
        (true, false) => say!("now in the snapshot of {snapshots}", snapshots),
        (false, false) => say!("now in the log of {logs} in the snapshot of {snapshots}", logs, snapshots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::canvas::columns_of;
    use crate::view::raft::sample;
    use crate::view::testing::{ascii, plain};

    fn written(columns: u16, theme: &Theme) -> Vec<String> {
        let picture = sample::picture();
        let trace = picture.traces.iter().find(|trace| trace.id == sample::PUT).unwrap();
        lines(&picture, trace, columns, theme).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_way_is_told_station_by_station() {
        insta::assert_snapshot!(written(96, &plain()).join("\n"));
    }

    #[test]
    fn no_line_is_wider_than_its_columns_and_ascii_is_ascii() {
        let picture = sample::picture();
        for trace in &picture.traces {
            for width in [60, 78, 120] {
                for line in lines(&picture, trace, width, &plain()) {
                    assert!(columns_of(&line) <= width, "{width}: {line}");
                }
            }
        }
        assert!(written(96, &ascii()).iter().all(|line| line.is_ascii()), "{:?}", written(96, &ascii()));
    }

    #[test]
    fn what_stops_a_request_is_told_last() {
        let picture = sample::picture();
        let trace = picture.traces.iter().find(|trace| trace.id == sample::STUCK).unwrap();
        let text: Vec<String> = lines(&picture, trace, 90, &plain()).iter().map(ToString::to_string).collect();
        assert_eq!(text.iter().filter(|line| line.starts_with("× goes no further: no quorum")).count(), 1, "{text:?}");
    }
}
