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

use super::message::Message;
use super::node::Node;
use super::replication::Lead;
use super::world::World;
use super::{Machine, convert};
use crate::domain::Term;
use crate::domain::raft::{NodeId, RaftRole};

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
        self.outbox.letter(from, Message::Raft { message, entries: Vec::new(), round: 0, forced: false });
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
        for (_, entry) in self.log.range(crate::domain::RaftIndex(self.commit().0 + 1), self.log.last()) {
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
