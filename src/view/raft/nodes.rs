//! The nodes of an embedded cluster as a table: role, term, how far each log is; and in a few
//! lines what holds for the cluster: votes, quorum, rules, network.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::words;
use crate::domain::RaftIndex;
use crate::domain::raft::{NodeId, NodePicture, RaftPicture, Told};
use crate::input::Target;
use crate::model::raft::{self, Ballot, Vote};
use crate::say;
use crate::view::canvas::{Canvas, columns_of};
use crate::view::text::{cluster_clock, grouped, lasting, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::table::{Cell, Column, Row, table};

/// What one is to know of all this.
pub const PLAYGROUND: &str = "a playground; for anything real point lockscope at etcd";

/// And of real etcds that were started to be played on.
pub const REAL: &str = "a playground: their data goes with it";

/// The columns of which every cluster tells something; a real etcd nothing of the others.
const OF_STATUS: [usize; 7] = [0, 1, 2, 6, 8, 9, 11];

const COLUMNS: [Column; 12] = [
    Column::new("NODE").at_least(4),
    Column::new("ROLE").at_least(9).at_most(22),
    Column::new("TERM").right(),
    Column::new("VOTED").drop(3),
    Column::new("MATCH").right().drop(9),
    Column::new("NEXT").right().drop(8),
    Column::new("LAG").right(),
    Column::new("LAST").right().drop(7),
    Column::new("COMMIT").right().drop(6),
    Column::new("APPLIED").right().drop(5),
    Column::new("SNAPSHOT").right().drop(2),
    Column::new("REVISION").right().drop(4),
];

/// How many rows the panel wants: the table, and all that holds for the cluster.
pub fn wanted_rows(picture: &RaftPicture) -> u16 {
    u16::try_from(picture.nodes.len() + raft::ballots(picture).len().max(1) + 11).unwrap_or(u16::MAX)
}

/// Draws table and lines as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, selected: Option<NodeId>) {
    let theme = canvas.theme;
    let title = vec![theme.span(say!("Members"), Role::Title), Span::raw(format!(" {}", picture.nodes.len()))];
    let inner = Panel::new(Line::from(title)).data(leads(picture, theme)).draw(canvas, area);
    let rows: Vec<Row<'_>> = picture.nodes.iter().map(|node| row(picture, node, selected, theme)).collect();
    let table_rows = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX).min(inner.height);
    let table_area = Rect { height: table_rows, ..inner };
    // Columns close to each other: eight numbers are compared, none is long.
    let columns = COLUMNS.map(|column| Column { gap: if inner.width < 60 { 1 } else { 2 }, ..column });
    match picture.told {
        Told::All => table(canvas, table_area, &columns, &rows),
        Told::Status => table(canvas, table_area, &OF_STATUS.map(|at| columns[at]), &rows),
    };
    let columns = usize::from(inner.width.saturating_sub(2));
    let left = inner.bottom().saturating_sub(table_area.bottom());
    let lines = summary(picture, columns, usize::from(left), theme);
    for (y, line) in (table_area.bottom()..inner.bottom()).zip(&lines) {
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), line);
    }
}

/// Who leads since when.
fn leads<'a>(picture: &RaftPicture, theme: &Theme) -> Line<'a> {
    match raft::leader(picture) {
        Some(leader) => {
            let node = leader.id;
            let said = match leader.leads_since {
                Some(at) => say!("{node} leads since {time}", node, time = cluster_clock(at)),
                None => say!("{node} leads", node),
            };
            Line::from(theme.span(format!("{} {said}", theme.glyphs.leader), Role::Muted))
        }
        None => Line::from(theme.span(say!("no leader"), Role::Error)),
    }
}

fn row<'a>(picture: &RaftPicture, node: &NodePicture, selected: Option<NodeId>, theme: &Theme) -> Row<'a> {
    let (_, word, role) = words::role(node, theme);
    let dash = || Cell::span(theme.span("-", Role::Muted));
    let index = |index: RaftIndex| Cell::new(grouped(index.0));
    let leader = raft::leader(picture);
    let progress = leader.and_then(|leader| leader.progress.iter().find(|of| of.node == node.id));
    let leads = leader.is_some_and(|leader| leader.id == node.id);
    let [matched, next, lag] = match (leader, progress) {
        // What it knows of itself needs no message.
        _ if leads => [index(node.last), index(RaftIndex(node.last.0.saturating_add(1))), dash()],
        // What it has committed is what a real etcd tells.
        (Some(leader), _) if picture.told == Told::Status => {
            let lag = leader.commit.0.saturating_sub(node.commit.0);
            [dash(), dash(), Cell::span(theme.span(grouped(lag), if lag > 0 { Role::Text } else { Role::Muted }))]
        }
        (Some(leader), Some(progress)) => {
            let lag = leader.last.0.saturating_sub(progress.matched.0);
            let lagging = theme.span(grouped(lag), if lag > 0 { Role::Text } else { Role::Muted });
            [index(progress.matched), index(progress.next), Cell::span(lagging)]
        }
        _ => [dash(), dash(), dash()],
    };
    let mut forms = vec![Line::from(theme.span(word, role))];
    if let Some(trouble) = words::trouble(picture, node, theme) {
        forms.insert(0, Line::from(vec![theme.span(format!("{word} "), role), trouble.clone()]));
        let mark = theme.span(theme.glyphs.warning, Role::Warning);
        forms.insert(1, Line::from(vec![theme.span(format!("{word} "), role), mark.clone()]));
        forms.insert(2, Line::from(vec![theme.span(word, role), mark]));
    }
    let snapshot = if node.snapshot.0 > 0 { index(node.snapshot) } else { dash() };
    let voted = node.voted_for.map_or_else(dash, |to| Cell::new(to.to_string()));
    let mut cells = vec![
        Cell::new(words::name(node, theme)),
        Cell::Forms(forms),
        Cell::new(grouped(node.term.0)),
        voted,
        matched,
        next,
        lag,
        index(node.last),
        index(node.commit),
        index(node.applied),
        snapshot,
        Cell::new(grouped(node.revision.0)),
    ];
    if picture.told == Told::Status {
        let mut at = 0..;
        cells.retain(|_| at.next().is_some_and(|at| OF_STATUS.contains(&at)));
    }
    Row { selected: selected == Some(node.id), target: Some(Target::Node(node.id)), ..Row::new(cells) }
}

/// What holds for the whole cluster, the most important first, in at most so many lines.
fn summary<'a>(picture: &RaftPicture, columns: usize, rows: usize, theme: &Theme) -> Vec<Line<'a>> {
    let told = picture.told == Told::All;
    let mut lines = if told { votes(picture, columns, theme) } else { Vec::new() };
    lines.extend(flow(facts(picture, columns, theme), columns));
    lines.extend(if told { legend(columns, theme) } else { Vec::new() });
    lines.truncate(rows);
    lines
}

/// A name with its value.
type Fact<'a> = [Span<'a>; 2];

fn facts<'a>(picture: &RaftPicture, columns: usize, theme: &Theme) -> Vec<Fact<'a>> {
    let fact = |name: &'static str, text: String| [label(name, theme), Span::raw(text)];
    let switch = |on: bool| if on { say!("on") } else { say!("off") }.to_owned();
    let (rules, network) = (&picture.rules, &picture.network);
    let commit = picture.nodes.iter().map(|node| node.commit.0).max().unwrap_or(0);
    let loss = format!("{}.{}%", network.loss / 10, network.loss % 10).replace(".0%", "%");
    let lossy = if network.loss > 0 { Role::Warning } else { Role::Text };
    let (quorum, voters) = (raft::quorum(picture), raft::voters(picture));
    let mut facts =
        vec![fact(say!("quorum"), say!("{quorum} of {voters}", quorum, voters)), fact(say!("commit"), grouped(commit))];
    // A narrow table has no room for it, and the log shows how far each has committed.
    if columns >= 44 {
        let applied: Vec<String> = picture.nodes.iter().map(|node| grouped(node.applied.0)).collect();
        facts.push(fact(say!("applied"), applied.join(" ")));
    }
    facts.push(fact(say!("heartbeat"), lasting(rules.heartbeat)));
    facts.push(fact(say!("election"), range(rules.election_min, rules.election_max)));
    // A real etcd runs on the system's own network.
    if picture.told == Told::All {
        facts.push(fact(say!("delay"), range(network.delay, network.delay.saturating_add(network.jitter))));
        facts.push([label(say!("loss"), theme), theme.span(loss, lossy)]);
    }
    facts.push([label(say!("cuts"), theme), cuts(picture, theme)]);
    facts.push(fact(say!("pre-vote"), switch(rules.pre_vote)));
    facts.push(fact(say!("check-quorum"), switch(rules.check_quorum)));
    facts
}

fn label<'a>(name: &str, theme: &Theme) -> Span<'a> {
    theme.span(format!("{name} "), Role::Muted)
}

/// Facts one after the other, as many in a line as there is room for.
fn flow(facts: Vec<Fact<'_>>, columns: usize) -> Vec<Line<'_>> {
    let mut lines: Vec<Vec<Span<'_>>> = vec![Vec::new()];
    let mut left = columns;
    for fact in facts {
        let wanted = usize::from(columns_of(&Line::from(fact.to_vec())));
        if wanted > left && left < columns {
            lines.push(Vec::new());
            left = columns;
        }
        if let Some(line) = lines.last_mut() {
            line.extend(fact);
            line.push(Span::raw("  "));
        }
        left = left.saturating_sub(wanted + 2);
    }
    lines.into_iter().map(Line::from).collect()
}

fn cuts<'a>(picture: &RaftPicture, theme: &Theme) -> Span<'a> {
    let cuts = &picture.network.cuts;
    let isolated: Vec<&NodePicture> = picture.nodes.iter().filter(|node| raft::is_isolated(picture, node.id)).collect();
    let pairs = cuts.iter().filter(|(one, other)| !isolated.iter().any(|node| [*one, *other].contains(&node.id)));
    let said: Vec<String> = isolated
        .iter()
        .map(|node| node.id.to_string())
        .chain(pairs.map(|(one, other)| format!("{one}-{other}")))
        .collect();
    if said.is_empty() { Span::raw(say!("none")) } else { theme.span(said.join(" "), Role::Warning) }
}

fn legend<'a>(columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let glyphs = theme.glyphs;
    let (granted, refused, asked) = (glyphs.granted, glyphs.refused, glyphs.asked);
    let votes = say!("{granted} granted  {refused} refused  {asked} no answer yet", granted, refused, asked);
    let sentences = [
        "",
        &votes,
        say!("MATCH: equal to the leader's log up to there"),
        say!("bars: time to the next election or heartbeat"),
    ];
    let fitting = sentences.into_iter().filter(|text| width(text) <= columns);
    fitting.map(|text| Line::from(theme.span(text.to_owned(), Role::Muted))).collect()
}

/// The votes of the current term, a candidate a line or more.
fn votes<'a>(picture: &RaftPicture, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let ballots = raft::ballots(picture);
    if ballots.is_empty() {
        let said = say!("no election is known in term {term}", term = raft::term(picture));
        return vec![Line::from(theme.sentence(said, columns, Role::Muted))];
    }
    ballots.iter().flat_map(|ballot| ballot_lines(ballot, columns, theme)).collect()
}

fn ballot_lines<'a>(ballot: &Ballot, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let term = ballot.term;
    let what = if ballot.pre { say!("pre-votes term {term}", term) } else { say!("votes term {term}", term) };
    let mut line = vec![label(&what, theme), Span::raw(ballot.candidate.to_string()), theme.span(":", Role::Muted)];
    let mut lines = Vec::new();
    for &(voter, vote) in &ballot.votes {
        let (glyph, role) = match vote {
            Vote::Granted => (theme.glyphs.granted, Role::Text),
            Vote::Refused => (theme.glyphs.refused, Role::Error),
            Vote::Asked => (theme.glyphs.asked, Role::Muted),
        };
        let said = [Span::raw(format!(" {voter}")), theme.span(glyph, role)];
        let taken = columns_of(&Line::from(line.clone())) + columns_of(&Line::from(said.to_vec()));
        if usize::from(taken) > columns && line.len() > 1 {
            lines.push(Line::from(std::mem::take(&mut line)));
            line.push(Span::raw("  "));
        }
        line.extend(said);
    }
    if ballot.won {
        line.push(theme.span(format!(" {}", theme.glyphs.leader), Role::Leader));
    }
    lines.push(Line::from(line));
    lines
}

/// Two lengths of time as a range: `150-300ms`.
fn range(from: std::time::Duration, to: std::time::Duration) -> String {
    let (from, to) = (lasting(from), lasting(to));
    let unit = |text: &str| text.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.').to_owned();
    if from == to {
        return to;
    }
    if unit(&from) == unit(&to) {
        format!("{}-{to}", from.trim_end_matches(char::is_alphabetic))
    } else {
        format!("{from}-{to}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ranges_name_their_unit_once() {
        let range = |from, to| range(Duration::from_micros(from), Duration::from_micros(to));
        assert_eq!(range(150_000, 300_000), "150-300ms");
        assert_eq!(range(150_000, 3_000_000), "150ms-3.0s");
        assert_eq!(range(5_000, 5_000), "5.0ms");
    }
}
