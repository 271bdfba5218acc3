//! The embedded cluster: requests in etcd's terms over nodes in Raft's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::raft::{ClusterTime, Fault, NodeId, NodePicture, RaftPicture, RaftRole, TermRecord};
use crate::domain::{ClusterId, Member, MemberId, RaftIndex, Revision, Term};
use crate::raft::{self, Failure, FaultError, Outcome};

use super::ask::{Ask, Change, Refusal, RequestId, Told};
use super::replica::{Replica, SharedStore};
use super::roster::Roster;

/// What a cluster is built from. The same values and the same calls at the same times make the
/// same run.
pub type Config = raft::Config;

/// An etcd cluster without I/O.
pub struct Cluster {
    raft: raft::Cluster<Replica>,
    roster: Roster,
    stores: Stores,
    /// Nodes that ask to join, and the members each node knew when it was looked at last.
    known: HashMap<NodeId, (raft::Members, Arc<[Member]>)>,
    open: BTreeMap<raft::RequestId, Open>,
    /// Those by the members that were asked.
    open_at: BTreeMap<NodeId, BTreeSet<raft::RequestId>>,
    /// Those whose request to join has failed; they may join all the same.
    doubtful: BTreeSet<NodeId>,
    finished: Vec<Finished>,
    next: u64,
    /// The highest number a node had.
    highest: NodeId,
    seats_changed: bool,
}

/// The stores by their nodes; a node that starts anew finds its place again.
#[derive(Clone, Default)]
struct Stores(Arc<Mutex<BTreeMap<NodeId, SharedStore>>>);

impl Stores {
    fn of(&self, node: NodeId) -> SharedStore {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.entry(node).or_default().clone()
    }

    fn forget(&self, node: NodeId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&node);
    }
}

/// A request that is under way.
struct Open {
    request: RequestId,
    node: NodeId,
    /// Who joins by it.
    joins: Option<NodeId>,
}

/// A request that came to its end.
#[derive(Debug)]
pub struct Finished {
    /// Which.
    pub request: RequestId,
    /// What came of it.
    pub outcome: Result<Told, Refusal>,
}

/// What a member's services need to know of it at all times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// Its term.
    pub term: Term,
    /// Whom it takes for the leader.
    pub leader: Option<MemberId>,
    /// The last index it knows to be committed.
    pub commit: RaftIndex,
    /// The last index its store has taken in.
    pub applied: RaftIndex,
    /// The revision of its store.
    pub revision: Revision,
    /// Whether it is a learner.
    pub learner: bool,
    /// The members as it knows them, in the order of their nodes.
    pub members: Arc<[Member]>,
}

impl Cluster {
    /// A cluster at time zero whose nodes are all up; nobody leads yet. It forgets no revision
    /// before it is asked to.
    pub fn new(config: Config) -> Self {
        Self::keeping(config, None)
    }

    /// The same, which keeps so many of the latest revisions and every five minutes forgets those
    /// before (etcd's `--auto-compaction-retention` in the mode `revision`).
    pub fn keeping(config: Config, kept: Option<NonZeroU64>) -> Self {
        let stores = Stores::default();
        let grace = config.rules.election_max;
        let made = stores.clone();
        Self {
            raft: raft::Cluster::new(config, move |node| Replica::new(made.of(node), grace, kept)),
            roster: Roster::new(config.seed, config.nodes),
            stores,
            known: HashMap::new(),
            open: BTreeMap::new(),
            open_at: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            finished: Vec::new(),
            next: 0,
            highest: NodeId(config.nodes as u64),
            seats_changed: false,
        }
    }

    /// The time on the cluster's clock.
    pub fn now(&self) -> ClusterTime {
        self.raft.now()
    }

    /// When the next thing happens, if nothing is asked or done.
    pub fn next_event(&self) -> Option<ClusterTime> {
        self.raft.next_event()
    }

    /// Lets all happen that is due until then, and sets the clock.
    pub fn advance(&mut self, to: ClusterTime) {
        self.raft.advance(to);
        self.settle();
    }

    /// Lets exactly the next thing happen and sets the clock to it; false when nothing will.
    pub fn step(&mut self) -> bool {
        let stepped = self.raft.step();
        self.settle();
        stepped
    }

    /// Asks something at a member. The answer comes with [`Cluster::take_finished`].
    pub fn ask(&mut self, node: NodeId, ask: Ask) -> RequestId {
        self.next += 1;
        let request = RequestId(self.next);
        match self.pass_on(node, ask) {
            Ok(Some((under_way, joins))) => {
                self.open.insert(under_way, Open { request, node, joins });
                self.open_at.entry(node).or_default().insert(under_way);
            }
            Ok(None) => self.finish(request, Ok(Told::Nothing)),
            Err(refusal) => self.finish(request, Err(refusal)),
        }
        request
    }

    /// Puts it to Raft; `None` when that was all, else its number there and who joins by it.
    fn pass_on(&mut self, node: NodeId, ask: Ask) -> Result<Option<(raft::RequestId, Option<NodeId>)>, Refusal> {
        let under_way = match ask {
            Ask::Write(request) => self.raft.propose(node, request),
            Ask::Barrier => {
                let read = self.raft.read(node);
                self.raft.entitle(read, "linearizable read".to_owned());
                read
            }
            Ask::Lease(question) => self.raft.ask(node, question),
            Ask::Change(change) => return self.change(node, change).map(Some),
            Ask::Transfer(to) => {
                let leads = self.raft.node(node).is_some_and(|node| node.role() == RaftRole::Leader);
                if !leads {
                    return Err(Refusal::NotLeader);
                }
                self.raft.transfer(self.roster.node(to).ok_or(Refusal::BadTransferee)?)
            }
            Ask::WatchersTold { revision, watches } => {
                self.raft.told_at(node, revision, watches);
                return Ok(None);
            }
        };
        Ok(Some((under_way, None)))
    }

    fn change(&mut self, at: NodeId, change: Change) -> Result<(raft::RequestId, Option<NodeId>), Refusal> {
        let of = |member| self.roster.node(member).ok_or(Refusal::MemberNotFound);
        match change {
            Change::Promote(member) => Ok((self.raft.change(at, raft::Change::Promote(of(member)?)), None)),
            Change::Remove(member) => Ok((self.raft.change(at, raft::Change::Remove(of(member)?)), None)),
            Change::Add { peer_urls, learner } => {
                if self.roster.has_peer_url(&peer_urls, |node| !self.raft.is_removed(node)) {
                    return Err(Refusal::PeerUrlsExist);
                }
                let joins = self.roster.next(self.highest);
                self.raft.add_node(joins).map_err(|_| Refusal::Unhealthy)?;
                self.highest = joins;
                self.roster.seat(joins, peer_urls);
                self.seats_changed = true;
                let change = if learner { raft::Change::AddLearner(joins) } else { raft::Change::AddVoter(joins) };
                Ok((self.raft.change(at, change), Some(joins)))
            }
        }
    }

    /// Forgets the requests at a member that nobody waits for: what can be taken back is, and of
    /// the rest nobody hears. Only changes of the membership that a leader may know of are
    /// followed to their end.
    pub fn withdraw(&mut self, node: NodeId, is_gone: impl Fn(RequestId) -> bool) {
        let Some(here) = self.open_at.get(&node) else { return };
        let gone = |under_way: &&raft::RequestId| self.open.get(under_way).is_some_and(|open| is_gone(open.request));
        let gone: BTreeSet<_> = here.iter().filter(gone).copied().collect();
        if !gone.is_empty() {
            self.raft.withdraw(node, &gone);
            self.settle();
        }
    }

    /// Takes in what came to its end.
    fn settle(&mut self) {
        for done in self.raft.take_done() {
            let Some(open) = self.open.remove(&done.request) else { continue };
            if let Some(here) = self.open_at.get_mut(&open.node) {
                here.remove(&done.request);
            }
            let is_heard = !matches!(done.outcome, Outcome::Failed(Failure::Abandoned));
            let told = self.told(open.node, done.outcome);
            if is_heard {
                self.raft.answered(done.request, told.is_ok());
            }
            if let (Some(joins), Err(_)) = (open.joins, &told) {
                self.doubtful.insert(joins);
            }
            self.finish(open.request, told);
        }
        let raft = &mut self.raft;
        self.doubtful.retain(|&node| !raft.has_joined(node) && !raft.remove_node(node));
        let has_left = |&node: &NodeId| raft.node(node).is_none() || raft.bury(node);
        for node in self.roster.nodes().filter(has_left).collect::<Vec<_>>() {
            self.leave(node);
        }
    }

    /// Forgets a node that did not join, or left.
    fn leave(&mut self, node: NodeId) {
        self.roster.leave(node);
        self.stores.forget(node);
        self.known.remove(&node);
        self.open_at.remove(&node);
        self.seats_changed = true;
    }

    fn told(&self, node: NodeId, outcome: Outcome<Replica>) -> Result<Told, Refusal> {
        match outcome {
            Outcome::Applied { answer, .. } => Ok(Told::Response(answer)),
            Outcome::Answered(answer) => Ok(Told::Lease(answer)),
            Outcome::Readable { .. } | Outcome::Transferred => Ok(Told::Nothing),
            Outcome::Changed => {
                let known = self.raft.node(node).map(|node| node.members()).unwrap_or_default();
                Ok(Told::Members(self.roster.members(&known).into()))
            }
            Outcome::Refused(refusal) => Err(refused(refusal)),
            Outcome::Failed(failure) => Err(failed(failure)),
        }
    }

    fn finish(&mut self, request: RequestId, outcome: Result<Told, Refusal>) {
        self.finished.push(Finished { request, outcome });
    }

    /// The requests that came to their end since the last call, in that order.
    pub fn take_finished(&mut self) -> Vec<Finished> {
        mem::take(&mut self.finished)
    }

    /// Does something to the cluster. What is done to its clock is the driver's.
    ///
    /// # Errors
    /// When it cannot be done.
    pub fn fault(&mut self, fault: Fault) -> Result<(), FaultError> {
        let done = self.raft.fault(&fault);
        self.settle();
        done
    }

    /// The cluster as it is now; the speed of its clock is the driver's.
    pub fn picture(&self) -> RaftPicture {
        let mut picture = self.raft.picture();
        for NodePicture { id, member, .. } in &mut picture.nodes {
            *member = self.roster.member(*id);
        }
        picture
    }

    /// Its terms, as in the picture.
    pub fn terms(&self) -> Vec<TermRecord> {
        self.raft.terms()
    }

    /// The nodes that are members or about to be, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.roster.nodes().collect()
    }

    /// Whether nodes joined or left since this was asked last.
    pub fn membership_changed(&mut self) -> bool {
        mem::take(&mut self.seats_changed)
    }

    /// The cluster's id.
    pub const fn id(&self) -> ClusterId {
        self.roster.cluster
    }

    /// The id a node's API reports.
    pub fn member(&self, node: NodeId) -> MemberId {
        self.roster.member(node)
    }

    /// The store of a node, for reading.
    pub fn store(&self, node: NodeId) -> SharedStore {
        self.stores.of(node)
    }

    /// Says where a node serves clients.
    pub fn serve_at(&mut self, node: NodeId, url: String) {
        self.roster.serve_at(node, url);
        self.known.clear();
    }

    /// The leader of the highest term that runs.
    pub fn leader(&self) -> Option<NodeId> {
        self.raft.leader()
    }

    /// Brings what is known of a node up to date; whether anything is new.
    pub fn update_board(&mut self, node: NodeId, board: &mut Board) -> bool {
        let Some(view) = self.raft.node(node) else { return false };
        let leader = view.leader().map(|leader| self.roster.member(leader));
        let (term, commit, applied, learner) = (view.term(), view.commit(), view.applied(), view.is_learner());
        let known = view.members();
        let stale = self.known.get(&node).is_none_or(|(last, _)| *last != known);
        let same = (board.term, board.leader, board.commit, board.applied, board.learner)
            == (term, leader, commit, applied, learner);
        if same && !stale {
            return false;
        }
        let revision = crate::raft::Machine::revision(view.machine());
        if stale {
            let members = self.roster.members(&known).into();
            self.known.insert(node, (known, members));
        }
        let members = self.known.get(&node).map(|(_, members)| members.clone()).unwrap_or_default();
        *board = Board { term, leader, commit, applied, revision, learner, members };
        true
    }
}

fn refused(refusal: raft::Refusal) -> Refusal {
    match refusal {
        raft::Refusal::NoMember(_) | raft::Refusal::Removed(_) => Refusal::MemberNotFound,
        raft::Refusal::Member(_) => Refusal::PeerUrlsExist,
        raft::Refusal::NoLearner(_) => Refusal::NotLearner,
        raft::Refusal::LearnerLags(_) => Refusal::LearnerNotReady,
        raft::Refusal::TooManyLearners => Refusal::TooManyLearners,
        raft::Refusal::TooFewMembers => Refusal::NotEnoughStarted,
        raft::Refusal::Unhealthy | raft::Refusal::Busy => Refusal::Unhealthy,
        raft::Refusal::CannotLead(_) => Refusal::BadTransferee,
    }
}

fn failed(failure: Failure) -> Refusal {
    match failure {
        // As etcd has it: who waited for a leader in vain has waited too long.
        Failure::NoLeader | Failure::Timeout => Refusal::Timeout,
        Failure::LeaderLost => Refusal::LeaderLost,
        // Nobody hears the last.
        Failure::NodeDown | Failure::Abandoned => Refusal::Stopped,
        Failure::TransferAborted => Refusal::TransferTimeout,
    }
}

#[cfg(test)]
mod tests;
