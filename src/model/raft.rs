//! Questions about the picture of an embedded cluster's Raft state, which keys and screen ask
//! alike: who leads, who is cut off, how the votes stand, what differs from the last picture.

use crate::domain::raft::{EntryKind, Life, LogCell, NodeId, NodePicture, RaftPicture, RaftRole, Trace, Waypoint};
use crate::domain::{RaftIndex, Term};

/// The node of an id.
pub fn node(picture: &RaftPicture, id: NodeId) -> Option<&NodePicture> {
    picture.nodes.iter().find(|node| node.id == id)
}

/// The node that leads: of several that think so the one in the highest term, since the others
/// have not heard of it yet (Raft §5.1).
pub fn leader(picture: &RaftPicture) -> Option<&NodePicture> {
    let leads = |node: &&NodePicture| node.role == RaftRole::Leader && node.life == Life::Up;
    picture.nodes.iter().filter(leads).max_by_key(|node| node.term)
}

/// The highest term of any node.
pub fn term(picture: &RaftPicture) -> Term {
    picture.nodes.iter().map(|node| node.term).max().unwrap_or_default()
}

/// How many nodes have a vote.
pub fn voters(picture: &RaftPicture) -> usize {
    picture.nodes.iter().filter(|node| !node.learner).count()
}

/// How many votes are a majority.
pub fn quorum(picture: &RaftPicture) -> usize {
    voters(picture) / 2 + 1
}

/// Whether two nodes cannot reach each other.
pub fn is_cut(picture: &RaftPicture, one: NodeId, other: NodeId) -> bool {
    picture.network.cuts.contains(&(one.min(other), one.max(other)))
}

/// Whether a node can reach no other.
pub fn is_isolated(picture: &RaftPicture, id: NodeId) -> bool {
    let mut others = picture.nodes.iter().filter(|node| node.id != id).peekable();
    others.peek().is_some() && others.all(|other| is_cut(picture, id, other.id))
}

/// The last index of any log.
pub fn last(picture: &RaftPicture) -> RaftIndex {
    picture.nodes.iter().map(|node| node.last).max().unwrap_or_default()
}

/// A node's entry at an index, if its picture reaches back so far.
pub fn cell(node: &NodePicture, index: RaftIndex) -> Option<&LogCell> {
    // The cells come in the order of their indices.
    node.log.binary_search_by_key(&index, |cell| cell.index).ok().map(|at| &node.log[at])
}

/// The first index any node's picture still has a cell of.
pub fn oldest_shown(picture: &RaftPicture) -> Option<RaftIndex> {
    picture.nodes.iter().filter_map(|node| node.log.first()).map(|cell| cell.index).min()
}

/// Whether entries are shown and this one no longer is.
pub fn is_forgotten(picture: &RaftPicture, index: RaftIndex) -> bool {
    oldest_shown(picture).is_some() && entry(picture, index).is_none()
}

/// In how many logs an entry is; `None` when the picture of one of them does not reach back so
/// far, so that nobody can tell.
pub fn copies(picture: &RaftPicture, index: RaftIndex, term: Term) -> Option<usize> {
    let has = |node: &NodePicture| match cell(node, index) {
        _ if index <= node.snapshot => Some(true),
        Some(own) => Some(own.term == term),
        None if index > node.last => Some(false),
        None => None,
    };
    let each = picture.nodes.iter().map(has).collect::<Option<Vec<bool>>>()?;
    Some(each.into_iter().filter(|&has| has).count())
}

/// The entry at an index as most know it: the leader's, or else that of the highest term.
pub fn entry(picture: &RaftPicture, index: RaftIndex) -> Option<&LogCell> {
    let known = picture.nodes.iter().filter_map(|node| cell(node, index));
    leader(picture).and_then(|leader| cell(leader, index)).or_else(|| known.max_by_key(|cell| cell.term))
}

/// The way of the request that became the entry at an index.
pub fn trace_of(picture: &RaftPicture, index: RaftIndex) -> Option<&Trace> {
    let term = entry(picture, index).filter(|cell| cell.kind == EntryKind::Request).map(|cell| cell.term);
    picture.traces.iter().rev().find(|trace| {
        trace.steps.iter().any(|step| match step.what {
            Waypoint::Proposed { term: proposed, index: at } => at == index && term.is_none_or(|term| term == proposed),
            _ => false,
        })
    })
}

/// How the votes for one candidate stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// Who stands.
    pub candidate: NodeId,
    /// For which term.
    pub term: Term,
    /// Whether it only asks if it could win.
    pub pre: bool,
    /// Each voter with its answer.
    pub votes: Vec<(NodeId, Vote)>,
    /// Whether it won.
    pub won: bool,
}

/// A voter's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// Yes.
    Granted,
    /// No.
    Refused,
    /// It was asked, or will be, and has not answered.
    Asked,
}

/// The elections of the current term, and the questions whether one could win the next.
pub fn ballots(picture: &RaftPicture) -> Vec<Ballot> {
    let term = term(picture);
    let record = picture.terms.iter().find(|record| record.term == term);
    let mut candidates: Vec<NodeId> = record.map(|record| record.candidates.clone()).unwrap_or_default();
    let stands = |node: &&NodePicture| node.role == RaftRole::Candidate && node.term == term;
    for node in picture.nodes.iter().filter(stands) {
        if !candidates.contains(&node.id) {
            candidates.push(node.id);
        }
    }
    let asked = || picture.nodes.iter().filter(|node| !node.learner).map(|node| node.id);
    let of_term = candidates.into_iter().map(|candidate| {
        let own = node(picture, candidate).filter(stands);
        let cast = |voter| record.and_then(|record| record.votes.iter().find(|(by, _)| *by == voter));
        let vote = |voter| match cast(voter) {
            Some((_, to)) if *to == candidate => Vote::Granted,
            _ if own.is_some_and(|own| own.granted.contains(&voter)) => Vote::Granted,
            Some(_) => Vote::Refused,
            None if own.is_some_and(|own| own.refused.contains(&voter)) => Vote::Refused,
            None => Vote::Asked,
        };
        let votes = asked().map(|voter| (voter, vote(voter))).collect();
        let won = record.and_then(|record| record.leader).is_some_and(|(leader, _)| leader == candidate);
        Ballot { candidate, term, pre: false, votes, won }
    });
    let asks = picture.nodes.iter().filter(|node| node.role == RaftRole::PreCandidate && node.life == Life::Up);
    let of_next = asks.map(|node| {
        let vote = |voter| match voter {
            voter if node.granted.contains(&voter) => Vote::Granted,
            voter if node.refused.contains(&voter) => Vote::Refused,
            _ => Vote::Asked,
        };
        let votes = asked().map(|voter| (voter, vote(voter))).collect();
        Ballot { candidate: node.id, term: Term(node.term.0.saturating_add(1)), pre: true, votes, won: false }
    });
    of_term.chain(of_next).collect()
}

/// In what a picture differs from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// In nothing.
    Nothing,
    /// In what moves by itself: the clock, timers, messages on their way.
    Motion,
    /// In what the nodes are, know and did.
    State,
    /// In how the clock runs, which every screen says.
    Clock,
}

/// How `after` differs from `before`.
pub fn difference(before: &RaftPicture, after: &RaftPicture) -> Difference {
    if (before.speed, before.paused, before.seed) != (after.speed, after.paused, after.seed) {
        return Difference::Clock;
    }
    let same_nodes = before.nodes.len() == after.nodes.len()
        && before.nodes.iter().zip(&after.nodes).all(|(before, after)| is_same_but_for_time(before, after));
    let same = same_nodes
        && before.rules == after.rules
        && before.network == after.network
        && before.terms == after.terms
        && before.traces == after.traces;
    match same {
        false => Difference::State,
        true if before == after => Difference::Nothing,
        true => Difference::Motion,
    }
}

/// Whether two pictures of a node differ in its timer, and in when a leader heard of it, only.
fn is_same_but_for_time(before: &NodePicture, after: &NodePicture) -> bool {
    let NodePicture { id, member, life, role, learner, term, voted_for, leader, timer: _, last, commit, .. } = before;
    let NodePicture { applied, snapshot, revision, log, granted, refused, progress, leads_since, .. } = before;
    let known = |progress: &[crate::domain::raft::Progress]| -> Vec<_> {
        progress.iter().map(|of| (of.node, of.matched, of.next)).collect()
    };
    (id, member, life, role, learner, term)
        == (&after.id, &after.member, &after.life, &after.role, &after.learner, &after.term)
        && (voted_for, leader, leads_since) == (&after.voted_for, &after.leader, &after.leads_since)
        && (last, commit, applied, snapshot) == (&after.last, &after.commit, &after.applied, &after.snapshot)
        && (revision, granted, refused) == (&after.revision, &after.granted, &after.refused)
        && known(progress) == known(&after.progress)
        && log == &after.log
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::raft::{ClusterTime, Progress, Speed, TermRecord, Timer};

    fn three() -> RaftPicture {
        let node = |id| NodePicture { id: NodeId(id), term: Term(4), ..NodePicture::default() };
        RaftPicture { nodes: (1..=3).map(node).collect(), ..RaftPicture::default() }
    }

    #[test]
    fn of_two_that_think_they_lead_the_one_in_the_higher_term_does() {
        let mut picture = three();
        assert_eq!(leader(&picture), None);
        picture.nodes[0].role = RaftRole::Leader;
        picture.nodes[2].role = RaftRole::Leader;
        picture.nodes[2].term = Term(5);
        assert_eq!(leader(&picture).map(|node| node.id), Some(NodeId(3)));
        picture.nodes[2].life = Life::Killed;
        assert_eq!(leader(&picture).map(|node| node.id), Some(NodeId(1)), "a dead node leads nobody");
        assert_eq!(term(&picture), Term(5));
    }

    #[test]
    fn a_node_is_isolated_when_all_its_pairs_are_cut() {
        let mut picture = three();
        picture.network.cuts = vec![(NodeId(1), NodeId(3))];
        assert!(is_cut(&picture, NodeId(3), NodeId(1)) && !is_isolated(&picture, NodeId(3)));
        picture.network.cuts.push((NodeId(2), NodeId(3)));
        assert!(is_isolated(&picture, NodeId(3)) && !is_isolated(&picture, NodeId(1)));
        picture.nodes.truncate(1);
        assert!(!is_isolated(&picture, NodeId(1)), "there is nobody to be cut off from");
    }

    #[test]
    fn copies_are_counted_only_where_every_log_is_shown_so_far_back() {
        let mut picture = three();
        let cells = |from: u64| (from..=9).map(|index| LogCell { index: RaftIndex(index), ..cell_of(4) }).collect();
        for (node, from) in picture.nodes.iter_mut().zip([5, 3, 5]) {
            (node.last, node.log) = (RaftIndex(9), cells(from));
        }
        assert_eq!(oldest_shown(&picture), Some(RaftIndex(3)));
        assert_eq!(copies(&picture, RaftIndex(6), Term(4)), Some(3));
        assert_eq!(copies(&picture, RaftIndex(4), Term(4)), None, "two have it and do not show it");
        picture.nodes[0].snapshot = RaftIndex(4);
        picture.nodes[2] = NodePicture { id: NodeId(3), ..NodePicture::default() };
        assert_eq!(copies(&picture, RaftIndex(4), Term(4)), Some(2), "in a snapshot, in a log, and not there");
    }

    fn cell_of(term: u64) -> LogCell {
        LogCell { index: RaftIndex(1), term: Term(term), kind: EntryKind::Request, what: String::new() }
    }

    #[test]
    fn learners_have_no_vote() {
        let mut picture = three();
        assert_eq!((voters(&picture), quorum(&picture)), (3, 2));
        picture.nodes[2].learner = true;
        assert_eq!((voters(&picture), quorum(&picture)), (2, 2));
    }

    #[test]
    fn votes_are_those_of_the_newest_term_and_of_who_asks_for_the_next() {
        let mut picture = three();
        picture.terms = vec![TermRecord {
            term: Term(4),
            began: ClusterTime(1),
            candidates: vec![NodeId(1), NodeId(2)],
            votes: vec![(NodeId(1), NodeId(1)), (NodeId(2), NodeId(2))],
            leader: None,
            ended: None,
        }];
        picture.nodes[0].role = RaftRole::Candidate;
        picture.nodes[0].granted = vec![NodeId(1)];
        picture.nodes[2].role = RaftRole::PreCandidate;
        picture.nodes[2].granted = vec![NodeId(3)];
        picture.nodes[2].refused = vec![NodeId(1)];
        let said: Vec<_> = ballots(&picture)
            .into_iter()
            .map(|ballot| (ballot.candidate.0, ballot.pre, ballot.votes.into_iter().map(|(_, vote)| vote).collect()))
            .collect::<Vec<(u64, bool, Vec<Vote>)>>();
        let (yes, no, open) = (Vote::Granted, Vote::Refused, Vote::Asked);
        assert_eq!(
            said,
            [(1, false, vec![yes, no, open]), (2, false, vec![no, yes, open]), (3, true, vec![no, open, yes])]
        );
    }

    #[test]
    fn a_difference_is_of_the_clock_of_the_state_or_of_motion() {
        let before = three();
        let differs = |change: &dyn Fn(&mut RaftPicture)| {
            let mut after = before.clone();
            change(&mut after);
            difference(&before, &after)
        };
        assert_eq!(differs(&|_| ()), Difference::Nothing);
        assert_eq!(differs(&|after| after.now = ClusterTime(5)), Difference::Motion);
        assert_eq!(differs(&|after| after.in_flight = 1), Difference::Motion);
        let timer = Timer { set: ClusterTime(1), due: ClusterTime(2) };
        assert_eq!(differs(&|after| after.nodes[1].timer = Some(timer)), Difference::Motion);
        assert_eq!(differs(&|after| after.nodes[1].term = Term(5)), Difference::State);
        assert_eq!(differs(&|after| after.nodes[1].life = Life::Killed), Difference::State);
        assert_eq!(differs(&|after| after.network.loss = 1), Difference::State);
        let heard = Progress { node: NodeId(2), ..PROGRESS };
        assert_eq!(differs(&|after| after.nodes[1].progress = vec![heard]), Difference::State);
        assert_eq!(differs(&|after| after.speed = Speed(100)), Difference::Clock);
        assert_eq!(differs(&|after| after.paused = true), Difference::Clock);
    }

    const PROGRESS: Progress =
        Progress { node: NodeId(1), matched: RaftIndex(1), next: RaftIndex(2), heard: ClusterTime(3) };

    #[test]
    fn when_a_leader_hears_of_a_node_only_time_has_passed() {
        let mut before = three();
        before.nodes[0].progress = vec![PROGRESS];
        let mut after = before.clone();
        after.nodes[0].progress = vec![Progress { heard: ClusterTime(9), ..PROGRESS }];
        assert_eq!(difference(&before, &after), Difference::Motion);
    }
}
