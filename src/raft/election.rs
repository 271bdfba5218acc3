//! Who leads: election timeouts (§5.2), pre-vote (Ongaro's thesis §9.6), loyalty to a leader
//! that lives (thesis §4.2.3), and check-quorum (thesis §6.2).
//!
//! ```text
//!             timeout, could win                  majority votes
//!   follower ─────────────────────► candidate ──────────────────► leader
//!     │  ▲ ▲                            │                           │
//!     │  │ └── a leader, higher term ───┘                           │
//!     │  └───── higher term, or no majority heard for a timeout ────┘
//!     └─► pre-candidate: asks first, and raises no term while it may not win
//! ```
//!
//! noraft counts votes and knows the roles but the pre-candidate's. It calls off nothing by
//! itself: without check-quorum a leader that nobody hears stays one in its own eyes.

use std::collections::BTreeSet;
use std::time::Duration;

use noraft::{LogPosition, Role};

use super::lead::Lead;
use super::message::Message;
use super::node::Node;
use super::world::World;
use super::{Machine, convert};
use crate::domain::raft::{NodeId, RaftRole};
use crate::domain::{RaftIndex, Term};

/// The votes a node gathers, or would.
#[derive(Debug)]
pub(super) struct Ballot {
    /// Whether it only asks if it could win.
    pub(super) pre_vote: bool,
    pub(super) term: Term,
    pub(super) granted: BTreeSet<NodeId>,
    pub(super) refused: BTreeSet<NodeId>,
}

impl Ballot {
    /// A node's vote is its own.
    fn new(pre_vote: bool, term: Term, own: NodeId) -> Self {
        Self { pre_vote, term, granted: BTreeSet::from([own]), refused: BTreeSet::new() }
    }

    fn count(&mut self, from: NodeId, granted: bool) {
        if granted {
            self.refused.remove(&from);
            self.granted.insert(from);
        } else if !self.granted.contains(&from) {
            self.refused.insert(from);
        }
    }
}

impl<M: Machine> Node<M> {
    pub(super) fn role(&self) -> RaftRole {
        match self.raft.role() {
            Role::Follower if self.ballot.as_ref().is_some_and(|ballot| ballot.pre_vote) => RaftRole::PreCandidate,
            Role::Follower => RaftRole::Follower,
            Role::Candidate => RaftRole::Candidate,
            Role::Leader => RaftRole::Leader,
        }
    }

    /// Sets the timer: a leader's for its next heartbeat, if it has followers; a voter's for an
    /// election, drawn anew each time so that votes seldom split (§5.2). A node without a vote
    /// waits for nothing.
    pub(super) fn set_timer(&mut self, world: &mut World<M>) {
        let rules = world.rules;
        let after = if self.raft.role().is_leader() {
            self.raft.peers().next().map(|_| rules.heartbeat)
        } else {
            let may_stand = self.has_vote() || self.is_stranded();
            may_stand.then(|| self.chance.between(rules.election_min, rules.election_max))
        };
        self.timer = after.map(|after| world.alarm(after));
    }

    /// The timer has gone off: a leader sends a heartbeat, a voter wants to stand for election.
    pub(super) fn timed_out(&mut self, world: &mut World<M>) {
        self.timer = None;
        if self.raft.role().is_leader() {
            self.raft.handle_election_timeout();
            return;
        }
        self.go_back(world);
        if self.has_vote() {
            if world.rules.pre_vote && convert::voters(self.raft.config()).count() > 1 {
                self.ask_before_standing(world);
            } else {
                self.stand(world);
            }
        }
    }

    fn stand(&mut self, world: &mut World<M>) {
        self.raft.handle_election_timeout();
        self.observe(world);
    }

    /// Pre-vote (thesis §9.6): a node that was cut off would come back with a high term and
    /// depose a leader whose followers are content. It asks first whether they would vote for
    /// it, and keeps its term until a majority would.
    fn ask_before_standing(&mut self, world: &mut World<M>) {
        let term = Term(self.term().0 + 1);
        self.leader = None;
        self.ballot = Some(Ballot::new(true, term, self.id));
        let last = self.raft.log().last_position();
        let others: Vec<_> = convert::voters(self.raft.config()).filter(|voter| *voter != self.id).collect();
        for voter in others {
            self.outbox.letter(voter, Message::PreVote { term, last });
        }
        self.set_timer(world);
    }

    /// Whether it hears of a leader, or leads and is heard, and so takes no part in an election
    /// of another (thesis §4.2.3, §9.6).
    fn is_loyal(&self, world: &World<M>) -> bool {
        match &self.lead {
            Some(_) => self.hears_majority(world),
            None => self.leader.is_some() && world.now.since(self.heard) < world.rules.election_min,
        }
    }

    /// Would vote: the term is new, the log at least as up to date as its own (§5.4.1), and no
    /// leader is heard.
    pub(super) fn pre_vote_asked(&mut self, from: NodeId, asked: Term, last: LogPosition, world: &World<M>) {
        let mine = self.raft.log().last_position();
        let granted = asked > self.term() && last >= mine && !self.is_loyal(world);
        self.outbox.letter(from, Message::PreVoteReply { asked, term: self.term(), granted });
    }

    pub(super) fn pre_vote_answered(
        &mut self,
        from: NodeId,
        asked: Term,
        term: Term,
        granted: bool,
        world: &mut World<M>,
    ) {
        if term > self.term() {
            // A refusal in a later term is how a node learns that it is behind (§5.1).
            let (from, term) = (convert::to_raft(from), noraft::Term::new(term.0));
            self.hear(&noraft::Message::RequestVoteReply { from, term, vote_granted: false }, world);
            return;
        }
        let Some(ballot) = self.ballot.as_mut().filter(|ballot| ballot.pre_vote && ballot.term == asked) else {
            return;
        };
        ballot.count(from, granted);
        if convert::is_majority(self.raft.config(), |id| ballot.granted.contains(&id)) {
            self.ballot = None;
            self.stand(world);
        }
    }

    /// A candidate asks for the vote. Who hears a leader does not even look at the term, unless
    /// that leader wished the election; without check-quorum all follow the paper's first
    /// part, as a leader whom nobody hears could not be replaced otherwise.
    ///
    /// noraft says nothing when it votes for another. It is said here, so that it can be seen.
    pub(super) fn vote_asked(&mut self, from: NodeId, call: &noraft::Message, forced: bool, world: &mut World<M>) {
        let asked = convert::term(call.term());
        let is_ignored = world.rules.check_quorum && !forced && self.is_loyal(world);
        if !is_ignored {
            self.hear(call, world);
            let answer = self.raft.actions().send_messages.get(&convert::to_raft(from));
            match answer {
                Some(noraft::Message::RequestVoteReply { term, vote_granted, .. }) if *term == call.term() => {
                    if *vote_granted {
                        self.vote = Some((asked, from));
                        world.terms.votes(world.now, asked, self.id, from);
                    }
                    return;
                }
                // It told the candidate of a later term.
                Some(noraft::Message::RequestVoteReply { term, .. }) if *term > call.term() => return,
                _ => {}
            }
        }
        let (own, term) = (convert::to_raft(self.id), self.raft.current_term());
        let message = noraft::Message::RequestVoteReply { from: own, term, vote_granted: false };
        let committed = self.commit();
        self.outbox.letter(from, Message::Raft { message, entries: Vec::new(), round: 0, forced: false, committed });
    }

    /// Counts for the picture; noraft counts for itself.
    pub(super) fn count_vote(&mut self, from: NodeId, term: Term, granted: bool) {
        let is_refusal = !granted && term <= self.term();
        if let Some(ballot) = self.ballot.as_mut().filter(|ballot| !ballot.pre_vote)
            && (is_refusal || term == ballot.term)
        {
            ballot.count(from, granted);
        }
    }

    /// Looks at what noraft made of the last call: whether role or term are new, and which
    /// entries it appended of its own accord.
    pub(super) fn observe(&mut self, world: &mut World<M>) {
        self.forget_writes();
        let (role, term) = (self.raft.role(), self.term());
        let (was, was_term) = self.seen;
        if (role, term) != self.seen {
            self.seen = (role, term);
            if was.is_leader() {
                self.lose_lead(was_term, world);
            }
            if term != was_term {
                (self.leader, self.echo) = (None, 0);
            }
            self.ballot = None;
            if term != was_term && !role.is_follower() {
                self.vote = Some((term, self.id));
                world.terms.stands(world.now, term, self.id);
                self.ballot = role.is_candidate().then(|| Ballot::new(false, term, self.id));
            }
            if role.is_leader() {
                world.terms.won(world.now, term, self.id);
                let quorum = world.alarm(world.rules.election_max);
                self.lead = Some(Lead::new(world.now, quorum));
            }
        }
        if role.is_leader() {
            self.take_over_what_noraft_appended(world);
            self.follow_leader(self.id, world);
        }
    }

    /// It leads no more.
    fn lose_lead(&mut self, term: Term, world: &mut World<M>) {
        let Some(lead) = self.lead.take() else { return };
        self.leader = None;
        world.terms.ended(world.now, term);
        if lead.ready {
            self.machine.follow();
        }
        for (_, entry) in self.log.range(RaftIndex(self.commit().0 + 1), self.log.last()) {
            if let Some(request) = entry.body.request()
                && entry.term == term
            {
                let id = self.id;
                world.traces.stop(request, || format!("{id} lost the lead before it knew of a majority that has it"));
            }
        }
        // A leader that was removed hands over, so that nobody has to wait for a timeout (thesis
        // §4.2.2, §3.10).
        if !self.has_vote()
            && let Some(heir) = lead.most_advanced(self.raft.config())
        {
            self.outbox.letter(heir, Message::TimeoutNow { term });
        }
    }

    /// It knows of a leader, maybe itself. Requests that waited for one go on.
    pub(super) fn follow_leader(&mut self, leader: NodeId, world: &mut World<M>) {
        if self.leader == Some(leader) {
            return;
        }
        self.leader = Some(leader);
        self.reigns += 1;
        self.end_handover(leader, world);
        self.pass_on_what_waits(world);
    }

    /// Check-quorum (thesis §6.2): a leader that heard no majority for an election timeout
    /// steps down, so that its clients look for another.
    pub(super) fn check_quorum(&mut self, world: &mut World<M>) {
        if world.rules.check_quorum && !self.hears_majority(world) {
            self.step_down(world);
        } else {
            let again = world.alarm(world.rules.heartbeat);
            if let Some(lead) = &mut self.lead {
                lead.quorum = again;
            }
        }
    }

    fn hears_majority(&self, world: &World<M>) -> bool {
        self.lead.as_ref().is_some_and(|lead| {
            let timeout: Duration = world.rules.election_max;
            let is_heard = |id| id == self.id || lead.heard(id).is_some_and(|at| world.now.since(at) < timeout);
            convert::is_majority(self.raft.config(), is_heard)
        })
    }

    /// Becomes a follower in its own term. noraft has no call for that, so it is set up again
    /// from what a restart would find; what is applied stays applied.
    fn step_down(&mut self, world: &mut World<M>) {
        let (id, term, vote) = (self.raft.id(), self.raft.current_term(), self.raft.voted_for());
        self.raft = noraft::Node::restart(id, term, vote, self.raft.log().clone());
        self.observe(world);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::*;
    use super::super::{Config, Failure, Outcome};
    use super::*;
    use crate::domain::raft::{Fault, RaftMessage, Rules};

    fn rules(pre_vote: bool, check_quorum: bool) -> Config {
        Config { rules: Rules { pre_vote, check_quorum, ..Config::default().rules }, ..Config::default() }
    }

    fn term(cluster: &Cluster, id: NodeId) -> Term {
        cluster.node(id).unwrap().term()
    }

    #[test]
    fn the_first_leader_comes_with_the_first_timeout_and_any_node_can_be_it() {
        let leaders: BTreeSet<_> = (1..20)
            .map(|seed| {
                let mut cluster = cluster(Config { seed, ..Config::default() });
                let first = cluster.nodes.values().filter_map(|node| node.timer).map(|timer| timer.due).min().unwrap();
                assert!((100..=500).contains(&(first.0 / 1000)), "{first:?}");
                cluster.elected()
            })
            .collect();
        assert_eq!(leaders.len(), 3);
    }

    #[test]
    fn votes_and_their_term_are_written_down() {
        let (cluster, leader) = led(Config::default());
        let picture = cluster.picture();
        let record = picture.terms.last().unwrap();
        assert_eq!(record.leader.map(|(id, _)| id), Some(leader));
        assert_eq!(record.candidates, [leader]);
        assert!(record.votes.len() >= 2 && record.votes.iter().all(|(_, candidate)| *candidate == leader));
        for node in &picture.nodes {
            assert_eq!((node.term, node.voted_for, node.leader), (record.term, Some(leader), Some(leader)));
        }
    }

    #[test]
    fn a_killed_leader_is_replaced_in_a_later_term() {
        let (mut cluster, leader) = led(Config::default());
        let before = term(&cluster, leader);
        cluster.do_(Fault::Kill(leader));
        let next = cluster.elected();
        assert_ne!(next, leader);
        assert!(term(&cluster, next) > before);
        let ended = cluster.picture().terms.iter().find(|record| record.term == before).unwrap().ended;
        assert!(ended.is_some());
    }

    #[test]
    fn a_node_that_was_cut_off_keeps_its_term_with_pre_vote_and_deposes_nobody() {
        let (mut cluster, leader) = led(rules(true, false));
        let before = term(&cluster, leader);
        let away = cluster.other(leader);
        cluster.do_(Fault::Isolate(away));
        cluster.run(millis(3000));
        assert_eq!(cluster.node(away).unwrap().role(), RaftRole::PreCandidate);
        assert_eq!(term(&cluster, away), before);
        cluster.do_(Fault::Heal);
        cluster.run(millis(1000));
        assert_eq!((cluster.leader(), term(&cluster, leader)), (Some(leader), before));
        assert_eq!(cluster.node(away).unwrap().role(), RaftRole::Follower);
    }

    #[test]
    fn without_pre_vote_it_comes_back_with_a_high_term_and_deposes_the_leader() {
        let (mut cluster, leader) = led(rules(false, false));
        let before = term(&cluster, leader);
        let away = cluster.other(leader);
        cluster.do_(Fault::Isolate(away));
        cluster.run(millis(3000));
        assert_eq!(cluster.node(away).unwrap().role(), RaftRole::Candidate);
        assert!(term(&cluster, away).0 > before.0 + 3);
        cluster.do_(Fault::Heal);
        let next = cluster.elected();
        assert!(term(&cluster, next) > term(&cluster, leader).min(before));
    }

    #[test]
    fn who_hears_a_leader_listens_to_no_candidate_unless_both_rules_are_off() {
        for (pre_vote, check_quorum, is_deposed) in
            [(true, true, false), (true, false, false), (false, true, false), (false, false, true)]
        {
            let (mut cluster, leader) = led(rules(pre_vote, check_quorum));
            let before = term(&cluster, leader);
            let eager = cluster.other(leader);
            // Its call comes while the leader's last heartbeat is fresh everywhere.
            cluster.do_(Fault::Campaign(eager));
            cluster.run(millis(3));
            let others = cluster.nodes().into_iter().filter(|id| *id != eager);
            let has_moved = others.clone().any(|id| term(&cluster, id) > before);
            assert_eq!(has_moved, is_deposed, "pre-vote {pre_vote}, check-quorum {check_quorum}");
        }
    }

    #[test]
    fn a_leader_that_hears_no_majority_steps_down_after_an_election_timeout() {
        let (mut cluster, leader) = led(rules(true, true));
        let before = term(&cluster, leader);
        cluster.do_(Fault::Isolate(leader));
        cluster.run(millis(400));
        assert_eq!(cluster.node(leader).unwrap().role(), RaftRole::Leader);
        cluster.run(millis(200));
        let node = cluster.node(leader).unwrap();
        assert_ne!(node.role(), RaftRole::Leader);
        assert_eq!((node.term(), node.leader()), (before, None));
        assert_eq!(node.machine().leads, None);
    }

    #[test]
    fn without_check_quorum_it_stays_a_leader_in_its_own_eyes_until_it_hears_of_the_next() {
        let (mut cluster, leader) = led(rules(true, false));
        cluster.do_(Fault::Isolate(leader));
        cluster.run(millis(3000));
        assert_eq!(cluster.node(leader).unwrap().role(), RaftRole::Leader);
        assert_ne!(cluster.leader(), Some(leader), "the others have one of a later term");
        cluster.do_(Fault::Heal);
        cluster.run(millis(200));
        assert_eq!(cluster.node(leader).unwrap().role(), RaftRole::Follower);
    }

    #[test]
    fn stepping_down_loses_nothing_that_was_applied() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        let applied = cluster.nodes[&leader].applied;
        cluster.do_(Fault::Isolate(leader));
        let lost = cluster.propose(leader, 2);
        cluster.run(millis(1000));
        let node = cluster.node(leader).unwrap();
        assert_eq!((node.applied(), node.commit()), (applied, node.applied()));
        assert_eq!(cluster.notes(leader), [1]);
        let outcome = cluster.wait(lost, millis(6000));
        assert!(matches!(outcome, Some(Outcome::Failed(Failure::LeaderLost))), "{}", words(outcome.as_ref()));
    }

    #[test]
    fn a_vote_for_another_is_said_aloud() {
        let (mut cluster, leader) = led(Config { delay: millis(5), ..rules(false, true) });
        cluster.do_(Fault::Campaign(cluster.other(leader)));
        cluster.run(millis(7));
        let flights = cluster.picture().flights;
        let refusals =
            flights.iter().filter(|flight| matches!(flight.what, RaftMessage::VoteReply { granted: false, .. }));
        assert_eq!(refusals.count(), 2, "{flights:?}");
        cluster.run(millis(5));
        let candidate = cluster.other(leader);
        let picture = cluster.picture();
        let node = picture.nodes.iter().find(|node| node.id == candidate).unwrap();
        assert_eq!((node.granted.len(), node.refused.len()), (1, 2));
    }

    #[test]
    fn split_votes_end() {
        let config = Config { nodes: 5, delay: millis(30), ..rules(false, false) };
        for seed in 0..10 {
            let mut cluster = cluster(Config { seed, ..config });
            for id in cluster.nodes() {
                cluster.do_(Fault::Campaign(id));
            }
            cluster.run(millis(65));
            assert_eq!(cluster.leader(), None, "all stood at once, and each has its own vote only");
            cluster.elected();
        }
    }
}
