//! The cluster as one machine: nodes, network and clock, and the loop that lets one thing happen
//! after the other.
//!
//! Things that are due at one instant happen in the order in which they were set going. When all
//! of an instant has been taken in, each node applies and sends what came of it, in the order
//! of the nodes; with a network without delay that may make more things due at the same
//! instant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use noraft::{ClusterConfig, LogEntries, LogEntry, LogPosition};

use super::log::{Body, Entry, Log};
use super::message::Matter;
use super::node::Node;
use super::pending::Want;
use super::timer::Purpose;
use super::trace::Subject;
use super::view::NodeView;
use super::world::World;
use super::{Change, Config, Done, Failure, FaultError, Machine, Outcome, RequestId, convert};
use crate::domain::raft::{ClusterTime, Life, NodeId, Waypoint};
use crate::domain::{RaftIndex, Revision, Term};

/// Timers are not shorter than this, or an instant would never end.
const SHORTEST: Duration = Duration::from_millis(1);

/// A whole cluster: its nodes, the network between them, and its clock.
pub struct Cluster<M: Machine> {
    pub(super) nodes: BTreeMap<NodeId, Node<M>>,
    /// The numbers of those that were removed or never joined; they are not given again.
    former: BTreeSet<NodeId>,
    pub(super) world: World<M>,
    pub(super) make: Box<dyn Fn(NodeId) -> M + Send>,
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Letter,
    Alarm(NodeId, Purpose),
}

impl<M: Machine> Cluster<M> {
    /// A cluster whose nodes are all up, at time zero and without a leader. `make` gives the
    /// empty machine of a node.
    pub fn new(mut config: Config, make: impl Fn(NodeId) -> M + Send + 'static) -> Self {
        let rules = &mut config.rules;
        rules.heartbeat = rules.heartbeat.max(SHORTEST);
        rules.election_min = rules.election_min.max(SHORTEST);
        rules.election_max = rules.election_max.max(rules.election_min);
        let (nodes, former, world) = (BTreeMap::new(), BTreeSet::new(), World::new(config));
        let mut cluster = Self { nodes, former, world, make: Box::new(make) };
        let ids = (1..=config.nodes.max(1) as u64).map(NodeId);
        // All begin with the same first entry, which says who they are, as etcd's members do.
        let mut members = ClusterConfig::new();
        members.voters.extend(ids.clone().map(convert::to_raft));
        let first = LogEntries::from_iter(LogPosition::ZERO, [LogEntry::ClusterConfig(members)]);
        for id in ids {
            let log = noraft::Log::new(ClusterConfig::new(), first.clone());
            let raft = noraft::Node::restart(convert::to_raft(id), noraft::Term::ZERO, None, log);
            let mut log = Log::behind(RaftIndex(0), Term(0));
            log.push(Entry { term: Term(0), body: Arc::new(Body::Members(None)) });
            cluster.nodes.insert(id, Node::new(id, raft, log, (cluster.make)(id), config.seed));
        }
        cluster.settle();
        cluster
    }

    /// The time on the cluster's clock.
    pub const fn now(&self) -> ClusterTime {
        self.world.now
    }

    /// When the next thing happens, if nothing is done to the cluster: now, when a call left
    /// something to be sent.
    pub fn next_event(&self) -> Option<ClusterTime> {
        if self.nodes.values().any(|node| node.dirty) {
            return Some(self.world.now);
        }
        self.next().map(|(at, _)| at.max(self.world.now))
    }

    /// Lets all happen that is due until then, and sets the clock.
    pub fn advance(&mut self, to: ClusterTime) {
        loop {
            self.settle();
            match self.next() {
                Some((at, next)) if at <= to => self.happen(at, next),
                _ => break,
            }
        }
        self.world.now = self.world.now.max(to);
    }

    /// Lets exactly the next thing happen and sets the clock to it: what a call left to be sent is
    /// sent, or a message arrives, or a timer goes off. False when nothing ever will.
    pub fn step(&mut self) -> bool {
        if self.settle() {
            return true;
        }
        let Some((at, next)) = self.next() else { return false };
        self.happen(at, next);
        self.settle();
        true
    }

    /// What is due next; of what is due at once, what was set going first.
    fn next(&self) -> Option<(ClusterTime, Next)> {
        let letter = self.world.network.next().map(|key| (key, Next::Letter));
        let alarms = self.nodes.values().filter_map(|node| {
            let (key, purpose) = node.next_alarm()?;
            Some((key, Next::Alarm(node.id, purpose)))
        });
        alarms.chain(letter).min().map(|((at, _), next)| (at, next))
    }

    fn happen(&mut self, at: ClusterTime, next: Next) {
        self.world.now = self.world.now.max(at);
        match next {
            Next::Letter => {
                let Some(letter) = self.world.network.take().filter(|letter| !letter.lost) else { return };
                if let Some(node) = self.nodes.get_mut(&letter.to) {
                    node.deliver(letter.from, letter.message, &mut self.world);
                }
            }
            Next::Alarm(id, purpose) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.wake(purpose, &mut self.world);
                }
            }
        }
    }

    /// Ends an instant, unless something more is due at it. Whether there was something to do.
    fn settle(&mut self) -> bool {
        let mut has_acted = false;
        while self.nodes.values().any(|node| node.dirty) && self.next().is_none_or(|(at, _)| at > self.world.now) {
            for node in self.nodes.values_mut().filter(|node| node.dirty) {
                node.flush(&mut self.world);
            }
            self.let_go();
            has_acted = true;
        }
        has_acted
    }

    /// Keeps nothing but the numbers of those that learnt that they were removed.
    fn let_go(&mut self) {
        self.former.extend(self.nodes.extract_if(.., |_, node| node.gone).map(|(id, _)| id));
    }

    // ---- requests ----------------------------------------------------------------------------

    /// Proposes a command at a node, which passes it on to the leader. Answered when the machine of
    /// that node has taken it in. While no leader is known it waits.
    pub fn propose(&mut self, at: NodeId, command: M::Command) -> RequestId {
        let id = self.world.next_request();
        let body = Arc::new(Body::Request { id, command });
        self.world.traces.begin(id, || Subject::Command(Arc::clone(&body)));
        self.ask_at(at, id, Want::Matter(Matter::Propose(body)))
    }

    fn begin(&mut self, words: String) -> RequestId {
        let request = self.world.next_request();
        self.world.traces.begin(request, || Subject::Words(words));
        request
    }

    fn ask_at(&mut self, at: NodeId, request: RequestId, want: Want<M>) -> RequestId {
        match self.nodes.get_mut(&at) {
            Some(node) => {
                self.world.step(request, at, Waypoint::Received);
                node.ask(request, want, &mut self.world);
            }
            None => self.world.finish(request, at, Outcome::Failed(Failure::NodeDown)),
        }
        request
    }

    /// Asks for a linearizable read at a node (§8): answered when its machine may be read.
    pub fn read(&mut self, at: NodeId) -> RequestId {
        let request = self.begin("read".to_owned());
        self.ask_at(at, request, Want::Read)
    }

    /// Asks the leader's machine, through a node.
    pub fn ask(&mut self, at: NodeId, question: M::Question) -> RequestId {
        let request = self.world.next_request();
        self.ask_at(at, request, Want::Matter(Matter::Ask(question)))
    }

    /// Changes the membership, through a node.
    pub fn change(&mut self, at: NodeId, change: Change) -> RequestId {
        let request = self.begin(change.to_string());
        self.ask_at(at, request, Want::Matter(Matter::Change(change)))
    }

    /// Asks the leader to hand the lead over (thesis §3.10).
    pub fn transfer(&mut self, to: NodeId) -> RequestId {
        let request = self.begin(format!("move the lead to {to}"));
        let leader = self.leader();
        match leader.and_then(|leader| self.nodes.get_mut(&leader)) {
            Some(node) => node.hand_over(request, to, &mut self.world),
            None => self.world.finish(request, to, Outcome::Failed(Failure::NoLeader)),
        }
        request
    }

    /// Nobody waits for these requests at a node any more. They fail with
    /// [`Failure::Abandoned`], and what has not left the node is not sent: reads and questions
    /// are forgotten, commands that a leader may know of can still come into effect. Changes of
    /// the members that were passed on go their way, as somebody has to learn what came of them.
    pub fn withdraw(&mut self, at: NodeId, requests: &BTreeSet<RequestId>) {
        if let Some(node) = self.nodes.get_mut(&at) {
            node.withdraw(requests, &mut self.world);
        }
    }

    /// The requests that came to their end since the last call, in the order in which they did.
    pub fn take_done(&mut self) -> impl Iterator<Item = Done<M>> + use<M> {
        std::mem::take(&mut self.world.done).into_iter()
    }

    /// Tells what a request was about, for its trace; for a read, which has no words of its own.
    pub fn entitle(&mut self, request: RequestId, what: String) {
        self.world.traces.entitle(request, what);
    }

    /// A node told watches what the request that led to this revision changed.
    pub fn told_at(&mut self, node: NodeId, revision: Revision, watches: u32) {
        if let Some(request) = self.world.traces.at_revision(node, revision) {
            self.world.traces.told(self.world.now, request, node, watches);
        }
    }

    /// The client of a request has its answer.
    pub fn answered(&mut self, request: RequestId, ok: bool) {
        if let Some(node) = self.world.traces.origin(request) {
            self.world.step(request, node, Waypoint::Answered { ok });
        }
    }

    // ---- nodes -------------------------------------------------------------------------------

    /// Starts an empty node that knows of no other until a leader speaks to it. To be called
    /// before [`Change::AddLearner`] or [`Change::AddVoter`].
    pub fn add_node(&mut self, id: NodeId) -> Result<(), FaultError> {
        if self.nodes.contains_key(&id) || self.former.contains(&id) {
            return Err(FaultError::NodeExists(id));
        }
        let raft = noraft::Node::start(convert::to_raft(id));
        let log = Log::behind(RaftIndex(0), Term(0));
        self.nodes.insert(id, Node::new(id, raft, log, (self.make)(id), self.world.config.seed));
        Ok(())
    }

    /// Whether some node knows this one for a member by what is committed.
    pub fn has_joined(&self, id: NodeId) -> bool {
        let id = convert::to_raft(id);
        self.nodes.values().any(|node| node.membership.config.contains(id))
    }

    /// Takes back [`Cluster::add_node`] for one whose request to join failed, unless it may still
    /// join: no leader takes it in from now on, but one may have done so before. Whether it is
    /// gone.
    pub fn remove_node(&mut self, id: NodeId) -> bool {
        // Requests for it can be on their way still.
        self.world.dismissed.insert(id);
        let raft_id = convert::to_raft(id);
        let is_written = |node: &Node<M>| node.raft.config().contains(raft_id) || node.carries_members();
        if self.nodes.values().any(is_written) || self.world.network.carries_members() {
            return false;
        }
        self.world.network.go_down(id);
        self.nodes.remove(&id);
        self.former.insert(id);
        true
    }

    /// Whether it is committed that a node was removed, whether it knows that or not.
    pub fn is_removed(&self, id: NodeId) -> bool {
        self.former.contains(&id) || self.nodes.values().any(|node| node.membership.removed.contains(&id))
    }

    /// Lets go of a node that was removed while it was down. Whether it was.
    pub fn bury(&mut self, id: NodeId) -> bool {
        let is_removed = self.is_removed(id);
        let Some(node) = self.nodes.get_mut(&id).filter(|node| is_removed && node.life == Life::Killed) else {
            return false;
        };
        node.gone = true;
        self.let_go();
        true
    }

    /// The ids of all nodes that were not removed, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.nodes.keys().copied().collect()
    }

    /// A node, also one that is down. None when there never was one, or it was removed.
    pub fn node(&self, id: NodeId) -> Option<NodeView<'_, M>> {
        self.nodes.get(&id).map(NodeView::of)
    }

    /// The leader of the highest term that runs, as one who sees all nodes sees it.
    pub fn leader(&self) -> Option<NodeId> {
        let leaders = self.nodes.values().filter(|node| node.life == Life::Up && node.lead.is_some());
        leaders.max_by_key(|node| node.term()).map(|node| node.id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::domain::raft::{EntryKind, Fault, RaftRole};

    #[test]
    fn all_nodes_begin_with_who_they_are() {
        let cluster = three();
        for node in cluster.picture().nodes {
            assert_eq!((node.term, node.role, node.last), (Term(0), RaftRole::Follower, RaftIndex(1)));
            assert_eq!(node.log[0].kind, EntryKind::Members);
            assert!(node.timer.is_some());
        }
        assert_eq!(cluster.node(N2).unwrap().members().voters, [N1, N2, N3].into());
    }

    #[test]
    fn going_step_by_step_leads_where_going_at_once_does() {
        let run = |stepwise: bool| {
            let (mut cluster, leader) = led(Config { delay: Duration::ZERO, nodes: 5, ..Config::default() });
            for note in 0..5 {
                for at in cluster.nodes() {
                    cluster.propose(at, note);
                }
                let until = cluster.now() + millis(30);
                while stepwise && cluster.next_event().is_some_and(|next| next <= until) {
                    assert!(cluster.step());
                }
                cluster.advance(until);
                if note == 2 {
                    cluster.do_(Fault::Kill(leader));
                }
            }
            cluster.picture()
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn a_call_that_leaves_something_to_send_is_due_now() {
        let (mut cluster, leader) = led(Config::default());
        assert!(cluster.next_event().is_some_and(|next| next > cluster.now()));
        cluster.propose(leader, 1);
        assert_eq!(cluster.next_event(), Some(cluster.now()));
        cluster.advance(cluster.now());
        assert!(cluster.next_event().is_some_and(|next| next > cluster.now()));
    }

    #[test]
    fn a_cluster_in_which_nobody_runs_waits_for_nothing() {
        let mut cluster = three();
        for id in cluster.nodes() {
            cluster.do_(Fault::Kill(id));
        }
        while cluster.step() {}
        assert_eq!(cluster.next_event(), None);
        cluster.run(millis(1000));
        assert_eq!(cluster.leader(), None);
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let mut cluster = three();
        cluster.run(millis(100));
        cluster.advance(ClusterTime::default());
        assert_eq!(cluster.now(), ClusterTime(100_000));
    }

    #[test]
    fn the_leaders_machine_proposes_by_itself_and_the_others_do_not() {
        let (mut cluster, leader) = led(Config::default());
        cluster.run(millis(1100));
        assert!(cluster.nodes().into_iter().all(|id| cluster.notes(id) == [OWN]), "once, and all have it");
        let traces = cluster.picture().traces;
        assert!(matches!(traces.last().unwrap().steps[0].what, Waypoint::Proposed { .. }), "it came from no client");
        let leads = |id| cluster.node(id).unwrap().machine().leads.is_some();
        assert_eq!(cluster.nodes().into_iter().filter(|id| leads(*id)).collect::<Vec<_>>(), [leader]);
    }

    #[test]
    fn what_cannot_be_committed_is_not_proposed_without_end() {
        let rules = crate::domain::raft::Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, leader) = led(Config { rules, ..Config::default() });
        cluster.do_(Fault::Isolate(leader));
        let before = cluster.node(leader).unwrap().last();
        cluster.run(millis(2000));
        let grown = cluster.node(leader).unwrap().last().0 - before.0;
        assert!((8..=12).contains(&grown), "every tenth of a second, since a second after its election: {grown}");
    }

    #[test]
    fn timers_that_are_too_short_or_the_wrong_way_round_are_put_right() {
        let rules = crate::domain::raft::Rules {
            heartbeat: Duration::ZERO,
            election_min: millis(80),
            election_max: millis(10),
            ..Config::default().rules
        };
        let cluster = cluster(Config { rules, ..Config::default() });
        assert_eq!(cluster.picture().rules.heartbeat, SHORTEST);
        assert_eq!(cluster.picture().rules.election_max, millis(80));
    }
}
