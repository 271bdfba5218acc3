//! The nodes of an embedded cluster as a ring, with their timers and the messages on their way.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::ring::{self, Dot, Edge, Spot};
use super::words;
use crate::domain::raft::{Flight, Life, NodeId, NodePicture, RaftPicture, RaftRole, Told};
use crate::input::{Pane, Target};
use crate::model::raft;
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::text::{grouped, lasting};
use crate::view::theme::{Role, Theme};
use crate::view::widget::gauge::gauge;
use crate::view::widget::panel::Panel;

/// The cells of a timer's bar.
const BAR: u16 = 8;
/// Up to so many nodes all pairs have a line; of more only those that matter.
const FEW: usize = 3;
/// The forms of a node's label that tell more than its name and role.
const RICH: usize = 6;
/// So many messages are drawn at most: more would hide each other.
const MOST: usize = 64;

/// Draws the ring as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, selected: Option<NodeId>, focused: bool) {
    let theme = canvas.theme;
    let glyphs = theme.glyphs;
    let count = grouped(picture.in_flight);
    let (call, reply, lost) = (glyphs.call, glyphs.reply, glyphs.lost);
    let data = say!("{call} call {reply} reply {lost} lost", call, reply, lost);
    // What the signs mean is worth more than how many there are.
    // Of messages a real etcd tells nothing, not even that there are none.
    let told = picture.told == Told::All;
    let data = if told { data } else { say!("messages are not told").to_owned() };
    let count = if area.width < 54 || !told { String::new() } else { format!(" {}", say!("{count} in flight", count)) };
    let title = vec![theme.span(say!("Cluster"), Role::Title), Span::raw(count)];
    let inner = Panel::new(Line::from(title)).data(theme.span(data, Role::Muted)).focused(focused).draw(canvas, area);
    canvas.hit_pane(area, Pane::Nodes, u16::try_from(picture.nodes.len()).unwrap_or(u16::MAX), picture.nodes.len());
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let nodes = in_ring(picture);
    let spots: Vec<Spot<'_>> = nodes.iter().map(|node| spot(picture, node, selected, theme)).collect();
    ring::draw(canvas, inner, &spots, &edges(picture, &nodes), &dots(picture, &nodes, theme));
}

/// The nodes in the order of the ring: whoever led last on top, where its lines are longest, the
/// others behind it by their ids. So the ring turns when a leader is elected, and not before.
fn in_ring(picture: &RaftPicture) -> Vec<&NodePicture> {
    let led = picture.terms.iter().filter_map(|record| Some((record.term, record.leader?.0)));
    let newest = led.filter(|(_, id)| raft::node(picture, *id).is_some()).max().map(|(_, id)| id);
    let first = newest.or_else(|| raft::leader(picture).map(|node| node.id));
    let at = picture.nodes.iter().position(|node| Some(node.id) == first).unwrap_or_default();
    let mut nodes: Vec<&NodePicture> = picture.nodes.iter().collect();
    nodes.rotate_left(at);
    nodes
}

/// Whether what moves by itself is drawn: with reduced motion only while the clock stands still.
const fn moves(picture: &RaftPicture, theme: &Theme) -> bool {
    theme.motion || picture.paused
}

fn spot<'a>(picture: &RaftPicture, node: &NodePicture, selected: Option<NodeId>, theme: &Theme) -> Spot<'a> {
    let [title, name, short] = words::title(picture, node, theme);
    let term = |more: String| {
        let term = say!("term {term}", term = node.term);
        Line::from(vec![Span::raw(format!("  {term}")), theme.span(more, Role::Muted)])
    };
    let voted = node.voted_for.map_or(String::new(), |node| say!(", voted for {node}", node));
    let timer = timer(picture, node, theme);
    let bar = |lead: &str| {
        let mut spans = vec![theme.span(format!("  {lead}"), Role::Muted)];
        spans.extend(timer.iter().flatten().cloned());
        Line::from(spans)
    };
    let lead = if node.role == RaftRole::Leader { say!("heartbeat") } else { say!("election") };
    let lead = &*format!("{lead} ");
    // What has no room for its role has the table beside it to tell.
    let poor = [vec![short.clone()], vec![words::name(node, theme)]];
    let rich = match (&timer, node.life) {
        (_, Life::Killed) => {
            let kept = match picture.told {
                Told::All => say!(", log to {index} kept", index = node.last),
                Told::Status => say!(", data kept").to_owned(),
            };
            vec![vec![title, term(kept)], vec![name, term(format!(" {}", say!("kept")))]]
        }
        (None, _) => vec![vec![title, term(voted)], vec![name, term(String::new())]],
        (Some(timer), _) => {
            let number = [vec![Span::raw(" ")], timer[2..].to_vec()].concat();
            vec![
                vec![title, term(voted), bar(lead)],
                vec![name.clone(), term(String::new()), bar(lead)],
                vec![name.clone(), term(String::new()), bar("")],
                vec![name.clone(), bar("")],
                vec![short.clone(), bar("")],
                vec![Line::from([name.spans, number].concat())],
            ]
        }
    };
    // Forms of one number mean the same for every node: whoever has fewer repeats its poorest.
    let mut forms = rich;
    let last = forms.last().cloned().unwrap_or_default();
    forms.resize(RICH, last);
    forms.extend(poor);
    Spot { forms, selected: selected == Some(node.id), target: Some(Target::Node(node.id)) }
}

/// The bar of a node's timer with what is left of it: full part, empty part, number.
fn timer<'a>(picture: &RaftPicture, node: &NodePicture, theme: &Theme) -> Option<Vec<Span<'a>>> {
    let timer = node.timer.filter(|_| node.life == Life::Up && moves(picture, theme))?;
    let (whole, left) = (timer.due.since(timer.set), timer.due.since(picture.now));
    let [whole, part] = [whole, left].map(|length| u64::try_from(length.as_micros()).unwrap_or(u64::MAX));
    // A leader's runs down all the time; a follower's that is nearly out is an election to come.
    let low = node.role != RaftRole::Leader && part.saturating_mul(4) < whole;
    let role = if low { Role::Warning } else { Role::Text };
    let mut spans: Vec<Span<'a>> = gauge(part, whole, BAR, role, theme).into();
    let mark = if low { format!(" {}", theme.glyphs.warning) } else { String::new() };
    spans.push(theme.span(format!(" {}{mark}", lasting(left)), role));
    Some(spans)
}

/// The lines of the ring: between all pairs of a few nodes, and of many from the leader, along
/// messages, and where something is cut.
fn edges(picture: &RaftPicture, nodes: &[&NodePicture]) -> Vec<Edge> {
    let leader = raft::leader(picture).map(|node| node.id);
    let mut edges = Vec::new();
    for (from, one) in nodes.iter().enumerate() {
        for (to, other) in nodes.iter().enumerate().skip(from + 1) {
            let between =
                |flight: &Flight| [(flight.from, flight.to), (flight.to, flight.from)].contains(&(one.id, other.id));
            // Nothing leads to a node that is not there, or cut off from all others.
            let alone = |node: &NodePicture| node.life == Life::Killed || raft::is_isolated(picture, node.id);
            if alone(one) || alone(other) {
                continue;
            }
            let cut = raft::is_cut(picture, one.id, other.id);
            let leads = leader == Some(one.id) || leader == Some(other.id);
            if nodes.len() <= FEW || cut || leads || picture.flights.iter().any(between) {
                edges.push(Edge { from, to, cut });
            }
        }
    }
    edges
}

fn dots<'a>(picture: &RaftPicture, nodes: &[&NodePicture], theme: &Theme) -> Vec<Dot<'a>> {
    if !moves(picture, theme) {
        return Vec::new();
    }
    let place = |id| nodes.iter().position(|node| node.id == id);
    let mut flights: Vec<&Flight> = picture.flights.iter().take(MOST).collect();
    flights.sort_by_key(|flight| (words::rank(flight), flight.id));
    let dot = |flight: &Flight| {
        let said = words::message(&flight.what);
        let (glyph, role, said) = match flight.lost {
            true => (theme.glyphs.lost, Role::Error, say!("lost: {message}", message = said)),
            false if words::is_reply(&flight.what) => (theme.glyphs.reply, Role::Text, said),
            false => (theme.glyphs.call, Role::Text, said),
        };
        let at = progress(flight, picture);
        // What is lost goes half of the way and no further.
        let at = if flight.lost { at.min(500) } else { at };
        let label = Line::from(theme.span(said, if flight.lost { Role::Error } else { Role::Muted }));
        Some(Dot { from: place(flight.from)?, to: place(flight.to)?, at, glyph, role, label })
    };
    flights.into_iter().filter_map(dot).collect()
}

/// How far a message is, in thousandths of its way.
fn progress(flight: &Flight, picture: &RaftPicture) -> u32 {
    let whole = flight.arrives.since(flight.sent).as_micros().max(1);
    let gone = picture.now.since(flight.sent).as_micros().min(whole);
    u32::try_from(gone * 1_000 / whole).unwrap_or(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::view::raft::sample;

    fn flight(sent: u64, arrives: u64) -> Flight {
        let what = crate::domain::raft::RaftMessage::Forward;
        let (sent, arrives) = (ClusterTime(sent), ClusterTime(arrives));
        Flight { id: 1, from: NodeId(1), to: NodeId(2), sent, arrives, lost: false, what }
    }

    #[test]
    fn a_message_is_as_far_as_the_clock_says() {
        let at = |now, sent, arrives| {
            let picture = RaftPicture { now: ClusterTime(now), ..RaftPicture::default() };
            progress(&flight(sent, arrives), &picture)
        };
        assert_eq!(at(100, 100, 200), 0);
        assert_eq!(at(150, 100, 200), 500);
        assert_eq!(at(900, 100, 200), 1_000, "late");
        assert_eq!(at(50, 100, 200), 0, "not yet sent");
        assert_eq!(at(100, 100, 100), 0, "without a delay");
    }

    #[test]
    fn many_nodes_have_only_the_lines_that_matter() {
        let mut picture = sample::picture();
        let edges = |picture: &RaftPicture| edges(picture, &in_ring(picture));
        assert_eq!(edges(&picture).len(), 3, "from the leader only, of four nodes");
        picture.network.cuts = vec![(NodeId(1), NodeId(3))];
        assert_eq!(edges(&picture).into_iter().find(|edge| edge.cut), Some(Edge { from: 1, to: 3, cut: true }));
        picture.nodes[2].life = Life::Killed;
        assert_eq!(edges(&picture).len(), 2, "nothing leads to a node that is not there");
    }

    #[test]
    fn the_ring_turns_when_a_leader_is_elected_and_not_before() {
        let mut picture = sample::picture();
        let order = |picture: &RaftPicture| in_ring(picture).iter().map(|node| node.id.0).collect::<Vec<_>>();
        assert_eq!(order(&picture), [2, 3, 4, 1]);
        picture.nodes[1].life = Life::Killed;
        picture.nodes[2].role = RaftRole::Candidate;
        assert_eq!(order(&picture), [2, 3, 4, 1]);
        let elected = (NodeId(3), ClusterTime(41_000_000));
        let term = crate::domain::Term(8);
        picture.terms.push(crate::domain::raft::TermRecord { term, leader: Some(elected), ..picture.terms[2].clone() });
        assert_eq!(order(&picture), [3, 4, 1, 2]);
        picture.nodes.clear();
        assert_eq!(order(&picture), [0; 0]);
    }
}
