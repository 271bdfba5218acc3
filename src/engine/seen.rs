//! What is known of the members, from what they answered and from what was done to them, as a
//! picture. Knows neither processes nor sockets.

use super::poll::Answer;
use crate::domain::MemberId;
use crate::domain::raft::{
    ClusterTime, Life, NetworkPicture, NodeId, NodePicture, RaftPicture, RaftRole, TermRecord, Told,
};

/// The terms that are remembered.
const TERMS: usize = 32;

/// What is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    nodes: Vec<Node>,
    terms: Vec<TermRecord>,
}

/// What is known of one member.
#[derive(Clone, Debug, Default)]
struct Node {
    id: NodeId,
    life: Life,
    /// When it was started last.
    since: ClusterTime,
    /// What it answered last.
    answer: Option<Answer>,
}

impl Node {
    /// Its last answer, if it gave that since it was started.
    fn fresh(&self) -> Option<&Answer> {
        self.answer.as_ref().filter(|answer| answer.at >= self.since)
    }
}

impl Seen {
    /// So many members that were just started.
    pub fn new(members: usize) -> Self {
        let ids = (1..).take(members).map(NodeId);
        Self { nodes: ids.map(|id| Node { id, ..Node::default() }).collect(), terms: Vec::new() }
    }

    /// Whether a member runs; `None` when there is no such member.
    pub fn life(&self, id: NodeId) -> Option<Life> {
        self.nodes.iter().find(|node| node.id == id).map(|node| node.life)
    }

    /// Remembers whether a member runs.
    pub fn lives(&mut self, id: NodeId, life: Life, now: ClusterTime) {
        if let Some(node) = self.nodes.iter_mut().find(|node| node.id == id) {
            if node.life == Life::Killed {
                node.since = now;
            }
            node.life = life;
        }
    }

    /// The id a member reported.
    pub fn member(&self, id: NodeId) -> Option<MemberId> {
        self.nodes.iter().find(|node| node.id == id)?.answer.as_ref().map(|answer| answer.member)
    }

    /// Whether all members have answered and know a leader.
    pub fn all_led(&self) -> bool {
        self.nodes.iter().all(|node| node.fresh().is_some_and(|answer| answer.status.leader.is_some()))
    }

    /// Who said last that it leads, of those that run.
    pub fn leader(&self) -> Option<NodeId> {
        let leads = |node: &&Node| node.life == Life::Up && role(node) == RaftRole::Leader;
        let term = |node: &&Node| node.answer.as_ref().map(|answer| answer.status.term);
        self.nodes.iter().filter(leads).max_by_key(term).map(|node| node.id)
    }

    /// Takes in what a member answered.
    pub fn take(&mut self, answer: Answer) {
        let leader = answer.status.leader.and_then(|leader| self.node_of(leader, &answer));
        self.take_term(&answer, leader);
        if let Some(node) = self.nodes.iter_mut().find(|node| node.id == answer.node) {
            node.answer = Some(answer);
        }
    }

    fn take_term(&mut self, Answer { at, status, .. }: &Answer, leader: Option<NodeId>) {
        let newest = self.terms.last_mut();
        if newest.as_ref().is_none_or(|newest| newest.term < status.term) {
            if let Some(newest) = newest {
                newest.ended = Some(*at);
            }
            let (candidates, votes) = (Vec::new(), Vec::new());
            self.terms.push(TermRecord { term: status.term, began: *at, candidates, votes, leader: None, ended: None });
            let surplus = self.terms.len().saturating_sub(TERMS);
            self.terms.drain(..surplus);
        }
        if let Some(newest) = self.terms.last_mut().filter(|newest| newest.term == status.term)
            && newest.leader.is_none()
        {
            newest.leader = leader.map(|leader| (leader, *at));
        }
    }

    /// The member of an id, by what members answered, `answer` included.
    fn node_of(&self, id: MemberId, answer: &Answer) -> Option<NodeId> {
        let known = self.nodes.iter().filter_map(|node| node.answer.as_ref());
        known.chain([answer]).find(|known| known.member == id).map(|known| known.node)
    }

    /// The picture of this moment.
    pub fn picture(&self, now: ClusterTime, network: NetworkPicture) -> RaftPicture {
        RaftPicture {
            told: Told::Status,
            now,
            network,
            nodes: self.nodes.iter().map(|node| self.node(node)).collect(),
            terms: self.terms.clone(),
            ..RaftPicture::default()
        }
    }

    fn node(&self, node: &Node) -> NodePicture {
        let picture = NodePicture { id: node.id, life: node.life, role: role(node), ..NodePicture::default() };
        let Some(answer) = &node.answer else { return picture };
        let status = &answer.status;
        let led = self.terms.iter().find(|record| record.term == status.term).and_then(|record| record.leader);
        let leads_since = led.filter(|&(id, _)| id == node.id && picture.role == RaftRole::Leader).map(|(_, at)| at);
        let leader = node.fresh().and(status.leader).and_then(|leader| self.node_of(leader, answer));
        NodePicture {
            member: answer.member,
            learner: status.learner,
            term: status.term,
            leader,
            commit: status.raft_index,
            applied: status.applied_index,
            revision: answer.revision,
            leads_since,
            ..picture
        }
    }
}

/// A member's role by its own last words; one that was started since has none but follower.
fn role(node: &Node) -> RaftRole {
    match node.fresh() {
        Some(answer) if answer.status.leader == Some(answer.member) => RaftRole::Leader,
        _ => RaftRole::Follower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RaftIndex, Revision, Status, Term};

    /// What the member says who takes this one for the leader; their ids are ten times as large.
    fn answer(node: u64, at: u64, term: u64, leader: Option<u64>) -> Answer {
        let status = Status {
            leader: leader.map(|leader| MemberId(10 * leader)),
            term: Term(term),
            raft_index: RaftIndex(at),
            applied_index: RaftIndex(at - 1),
            ..Status::default()
        };
        let (node, member) = (NodeId(node), MemberId(10 * node));
        Answer { node, at: ClusterTime(at), member, revision: Revision(3), status }
    }

    /// Three members, the second of which leads term 2.
    fn led() -> Seen {
        let mut seen = Seen::new(3);
        for (node, at) in [(2, 5), (1, 6), (3, 7)] {
            assert!(!seen.all_led());
            seen.take(answer(node, at, 2, Some(2)));
        }
        seen
    }

    fn picture(seen: &Seen) -> RaftPicture {
        seen.picture(ClusterTime(100), NetworkPicture::default())
    }

    #[test]
    fn a_picture_says_what_members_said_and_that_it_is_not_all() {
        let seen = led();
        assert!(seen.all_led());
        assert_eq!((seen.leader(), seen.member(NodeId(3))), (Some(NodeId(2)), Some(MemberId(30))));
        let picture = picture(&seen);
        assert_eq!((picture.told, picture.now, picture.nodes.len()), (Told::Status, ClusterTime(100), 3));
        let node = &picture.nodes[1];
        assert_eq!((node.role, node.leads_since), (RaftRole::Leader, Some(ClusterTime(5))));
        assert_eq!((node.commit, node.applied, node.revision), (RaftIndex(5), RaftIndex(4), Revision(3)));
        assert_eq!(picture.nodes[0].leader, Some(NodeId(2)));
        assert!(picture.nodes.iter().all(|node| node.log.is_empty() && node.last == RaftIndex(0)));
    }

    #[test]
    fn a_killed_leader_leads_nobody_and_is_none_when_it_comes_again() {
        let mut seen = led();
        seen.lives(NodeId(2), Life::Killed, ClusterTime(10));
        assert_eq!((seen.leader(), picture(&seen).nodes[1].life), (None, Life::Killed));
        seen.lives(NodeId(2), Life::Up, ClusterTime(20));
        assert_eq!((seen.leader(), picture(&seen).nodes[1].role), (None, RaftRole::Follower));
        assert!(!seen.all_led());
        seen.take(answer(2, 21, 2, None));
        assert_eq!(picture(&seen).nodes[1].leader, None);
    }

    #[test]
    fn one_that_stood_still_is_what_it_was() {
        let mut seen = led();
        seen.lives(NodeId(2), Life::Paused, ClusterTime(10));
        assert_eq!((seen.leader(), picture(&seen).nodes[1].role), (None, RaftRole::Leader));
        seen.lives(NodeId(2), Life::Up, ClusterTime(20));
        assert_eq!(seen.leader(), Some(NodeId(2)));
    }

    #[test]
    fn terms_are_those_that_were_seen_with_the_times_they_were() {
        let mut seen = led();
        seen.take(answer(1, 30, 4, None));
        seen.take(answer(2, 31, 2, Some(2)));
        seen.take(answer(3, 32, 4, Some(1)));
        seen.take(answer(1, 33, 4, Some(1)));
        let terms: Vec<_> = picture(&seen)
            .terms
            .iter()
            .map(|record| (record.term.0, record.began.0, record.leader, record.ended))
            .collect();
        let led = |node, at| Some((NodeId(node), ClusterTime(at)));
        assert_eq!(terms, [(2, 5, led(2, 5), Some(ClusterTime(30))), (4, 30, led(1, 32), None)]);
        assert_eq!(seen.leader(), Some(NodeId(1)), "the other has not heard of the newer term");
        for term in 5..100 {
            seen.take(answer(1, 30 + term, term, None));
        }
        assert_eq!(picture(&seen).terms.len(), TERMS);
    }
}
