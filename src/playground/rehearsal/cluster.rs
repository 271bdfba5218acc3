//! The embedded cluster as clients in virtual time see it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::requests;
use super::turn::Turn;
use crate::domain::raft::{ClusterTime, Fault, NodeId};
use crate::domain::{KeyEvent, KeyRange, KeyValue, LeaseId, Revision, Term};
use crate::embedded::{Ask, Board, Cluster, Finished, LeaseQuestion, RequestId, Told};
use crate::mvcc::{Request, Store, Watch};
use crate::playground::stage;
use crate::playground::{ClientId, client};
use crate::recipe::{Answer, Call, CallId, Failure, Input, WatchId};

#[cfg(test)]
mod tests;
mod turns;

use turns::Ending;

/// The cluster with the clients' calls and watches.
pub struct Embedded {
    cluster: Cluster,
    /// Where each client is connected to, as a place among the nodes.
    lines: BTreeMap<ClientId, usize>,
    /// Who stays there, whatever becomes of it.
    loyal: BTreeSet<ClientId>,
    open: HashMap<RequestId, Open>,
    /// When calls are given up.
    late: BTreeSet<(ClusterTime, RequestId)>,
    watches: BTreeMap<ClientId, Following>,
    /// The revision of each node's store, as far as watches were told of it.
    told: BTreeMap<NodeId, Revision>,
    ready: Vec<(ClientId, Input)>,
    /// Whose connection is cut, and what these clients learn when they have waited long enough.
    cut: BTreeSet<ClientId>,
    in_vain: BTreeMap<(ClusterTime, u64), (ClientId, Input)>,
    waits: u64,
    /// The calls that members answer when a turn has come.
    served: BTreeMap<u64, Served>,
    turns: u64,
    leases: i64,
}

struct Open {
    by: By,
    call: Call,
    node: NodeId,
    /// When it is given up; what a member asks is not.
    late: Option<ClusterTime>,
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Client(ClientId, CallId),
    /// A member, for the turn with this number.
    Turn(u64),
    Nobody,
}

/// A turn that somebody at a member waits for.
struct Served {
    /// Who, and by which call; none when he hung up before his key was there.
    caller: Option<(ClientId, CallId)>,
    node: NodeId,
    turn: Turn,
    ending: Option<Ending>,
}

/// What the judge reads of the store.
#[derive(Debug)]
pub enum Read {
    /// Changes, whole revisions in order.
    Changes(Vec<(Revision, KeyEvent)>),
    /// The keys as they are at a revision: what came before is compacted.
    Listed {
        /// Which.
        revision: Revision,
        /// All keys of the range.
        keys: Vec<KeyValue>,
    },
}

struct Following {
    id: WatchId,
    watch: Watch,
    next: Revision,
    node: NodeId,
}

impl Embedded {
    /// This cluster, without clients.
    pub fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            lines: BTreeMap::new(),
            loyal: BTreeSet::new(),
            open: HashMap::new(),
            late: BTreeSet::new(),
            watches: BTreeMap::new(),
            told: BTreeMap::new(),
            ready: Vec::new(),
            cut: BTreeSet::new(),
            in_vain: BTreeMap::new(),
            waits: 0,
            served: BTreeMap::new(),
            turns: 0,
            leases: 0,
        }
    }

    /// A client stays at its member, whatever becomes of it.
    pub fn stays(&mut self, client: ClientId) {
        self.loyal.insert(client);
    }

    /// How many things it remembers: of calls, watches, turns, and what was not told yet.
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        let calls = self.open.len() + self.late.len() + self.served.len();
        let clients = self.lines.len() + self.loyal.len() + self.cut.len() + self.watches.len();
        calls + clients + self.told.len() + self.ready.len() + self.in_vain.len()
    }

    /// The cluster itself.
    pub const fn inner(&self) -> &Cluster {
        &self.cluster
    }

    /// Does something to it.
    pub fn fault(&mut self, now: ClusterTime, fault: Fault) -> Result<(), String> {
        self.move_on(now);
        self.cluster.fault(fault).map_err(|error| error.to_string())?;
        if let Fault::Kill(node) = fault {
            self.lose_watches(|following| following.node == node);
            self.break_off(node);
        }
        self.take_in(now);
        Ok(())
    }

    /// Somebody who is no client revokes a lease, at the leader if there is one.
    pub fn revoke(&mut self, now: ClusterTime, lease: LeaseId) {
        self.move_on(now);
        if let Some(node) = self.cluster.leader().or_else(|| self.cluster.nodes().first().copied()) {
            // Nobody waits for the answer.
            self.cluster.ask(node, Ask::Write(Arc::new(Request::Revoke { lease })));
            self.take_in(now);
        }
    }

    /// The revision of the node that is furthest.
    pub fn revision(&self) -> Revision {
        let of = |node| self.cluster.store(node).read().unwrap_or_else(PoisonError::into_inner).revision();
        self.cluster.nodes().into_iter().map(of).max().unwrap_or_default()
    }

    /// What changed in a range from a revision on, as the node knows it that is furthest. Of what
    /// is compacted nobody can tell; then it is what there is now.
    pub fn changes(&self, range: &KeyRange, from: Revision) -> Read {
        if self.told.values().all(|told| *told < from) {
            return Read::Changes(Vec::new());
        }
        let Some((&node, _)) = self.told.iter().max_by_key(|(_, told)| **told) else {
            return Read::Changes(Vec::new());
        };
        let store = self.cluster.store(node);
        let store = store.read().unwrap_or_else(PoisonError::into_inner);
        let batch = Watch { prev_kv: true, ..Watch::of(range.clone()) }.batch(&store, from);
        if let Ok(batch) = batch {
            return Read::Changes(batch.changes.iter().map(told).collect());
        }
        match requests::list(&store, range) {
            Ok(Answer::Listed { revision, keys }) => Read::Listed { revision, keys },
            _ => Read::Changes(Vec::new()),
        }
    }

    /// The term of the leader; 0 without one.
    pub fn led_term(&mut self) -> Term {
        let Some(leader) = self.cluster.leader() else { return Term(0) };
        let mut board = Board::default();
        self.cluster.update_board(leader, &mut board);
        board.term
    }

    fn node(&self, client: ClientId) -> NodeId {
        let nodes = self.cluster.nodes();
        let at = self.lines.get(&client).copied().unwrap_or(client.0 as usize);
        nodes[at % nodes.len().max(1)]
    }

    /// A client leaves a member that does not answer as it should, and its watch there, and with
    /// the connection the turns that it waits for.
    fn move_line(&mut self, client: ClientId, from: NodeId) {
        if self.node(client) == from && !self.loyal.contains(&client) {
            *self.lines.entry(client).or_insert(client.0 as usize) += 1;
            let at = self.watches.get(&client).map(|following| following.id);
            self.lose_watches(|following| Some(following.id) == at && following.node == from);
            for (client, id) in self.hang_up(|who, _, node| who == client && node == from) {
                self.ready.push((client, Input::Answer(id, Err(Failure::Unanswered))));
            }
        }
    }

    fn lose_watches(&mut self, is_lost: impl Fn(&Following) -> bool) {
        let lost = self.watches.extract_if(.., |_, following| is_lost(following));
        self.ready.extend(lost.map(|(client, following)| (client, Input::WatchLost(following.id))));
    }

    fn move_on(&mut self, to: ClusterTime) {
        self.cluster.advance(to);
        self.take_in(to);
    }

    /// Takes in what came to its end and what watches have to be told.
    fn take_in(&mut self, now: ClusterTime) {
        loop {
            let finished = self.cluster.take_finished();
            let is_quiet = finished.is_empty();
            for Finished { request, outcome } in finished {
                let Some(open) = self.open.remove(&request) else { continue };
                if let Some(late) = open.late {
                    self.late.remove(&(late, request));
                }
                let answer = outcome.map_err(|_| Failure::Unanswered).and_then(|told| self.answer(&open, told));
                self.deliver(&open, answer);
            }
            while let Some(&(at, request)) = self.late.first().filter(|(at, _)| *at <= now) {
                self.late.remove(&(at, request));
                if let Some(open) = self.open.remove(&request) {
                    self.deliver(&open, Err(Failure::Unanswered));
                }
            }
            while let Some(waited) = self.in_vain.first_entry().filter(|waited| waited.key().0 <= now) {
                self.ready.push(waited.remove());
            }
            let ended = self.tell_watches();
            // What a turn asked for may be refused at once.
            if is_quiet && ended.is_empty() {
                return;
            }
            for number in ended {
                if let Some(next) = self.served.get_mut(&number).map(|served| served.turn.look()) {
                    self.go_on(number, next);
                }
            }
        }
    }

    /// A client whose connection is cut will learn that it waits in vain.
    fn wait_in_vain(&mut self, until: ClusterTime, client: ClientId, learns: Input) {
        self.waits += 1;
        self.in_vain.insert((until, self.waits), (client, learns));
    }

    fn answer(&self, open: &Open, told: Told) -> Result<Answer, Failure> {
        let store = self.cluster.store(open.node);
        let read = || store.read().unwrap_or_else(PoisonError::into_inner);
        match (&open.call, told) {
            (call, Told::Response(response)) => requests::answer(call, response),
            (Call::KeepAlive(_), Told::Lease(lease)) => Ok(Answer::Renewed(lease.granted > 0)),
            (Call::Look { key, created, queue }, Told::Nothing) => requests::look(&read(), key, *created, queue),
            (Call::List { range }, Told::Nothing) => requests::list(&read(), range),
            _ => Err(Failure::Refused),
        }
    }

    fn deliver(&mut self, open: &Open, answer: Result<Answer, Failure>) {
        match open.by {
            By::Client(client, id) => {
                let is_lost = answer == Err(Failure::Unanswered);
                self.ready.push((client, Input::Answer(id, answer)));
                if is_lost {
                    self.move_line(client, open.node);
                }
            }
            By::Turn(number) => {
                if let Some(next) = self.served.get_mut(&number).map(|served| served.turn.answered(answer)) {
                    self.go_on(number, next);
                }
            }
            By::Nobody => {}
        }
    }

    /// Puts a call to the cluster at a member.
    fn send(&mut self, node: NodeId, by: By, call: Call, late: Option<ClusterTime>) {
        self.leases += 1;
        let ask = match (&call, requests::write(&call, LeaseId(FIRST_LEASE + self.leases))) {
            (_, Some(request)) => Ask::Write(Arc::new(request)),
            (Call::KeepAlive(lease), None) => Ask::Lease(LeaseQuestion::Renew(*lease)),
            (_, None) => Ask::Barrier,
        };
        let request = self.cluster.ask(node, ask);
        self.open.insert(request, Open { by, call, node, late });
        self.late.extend(late.map(|late| (late, request)));
    }

    /// Tells clients what they watch, and which turns have nobody to wait for any more.
    fn tell_watches(&mut self) -> Vec<u64> {
        let mut ended = Vec::new();
        for node in self.cluster.nodes() {
            let store = self.cluster.store(node);
            let store = store.read().unwrap_or_else(PoisonError::into_inner);
            let revision = store.revision();
            if self.told.insert(node, revision) == Some(revision) {
                continue;
            }
            let ready = &mut self.ready;
            self.watches
                .retain(|client, following| following.node != node || Self::tell(*client, following, &store, ready));
            ended.extend(self.ended(node, &store));
        }
        ended
    }

    /// Tells a client what changed; whether its watch goes on. It is lost when what comes next is
    /// compacted.
    fn tell(client: ClientId, following: &mut Following, store: &Store, to: &mut Vec<(ClientId, Input)>) -> bool {
        let Ok(batch) = following.watch.batch(store, following.next) else {
            to.push((client, Input::WatchLost(following.id)));
            return false;
        };
        following.next = batch.next;
        let changed = |change| {
            let (revision, event) = told(change);
            (client, Input::Changed { watch: following.id, revision, event })
        };
        to.extend(batch.changes.iter().map(changed));
        true
    }
}

impl stage::Cluster for Embedded {
    fn next(&self) -> Option<ClusterTime> {
        let ready = (!self.ready.is_empty()).then(|| self.cluster.now());
        let late = self.late.first().map(|(at, _)| *at);
        let in_vain = self.in_vain.first_key_value().map(|((at, _), _)| *at);
        [ready, late, in_vain, self.cluster.next_event()].into_iter().flatten().min()
    }

    fn advance(&mut self, to: ClusterTime) -> Vec<(ClientId, Input)> {
        self.move_on(to);
        mem::take(&mut self.ready)
    }

    fn ask(&mut self, now: ClusterTime, client: ClientId, id: CallId, call: Call) {
        self.move_on(now);
        if self.cut.contains(&client) {
            return self.wait_in_vain(now + DEADLINE, client, Input::Answer(id, Err(Failure::Unanswered)));
        }
        let node = self.node(client);
        if !self.take_on(node, client, id, &call) {
            self.send(node, By::Client(client, id), call, Some(now + DEADLINE));
        }
        self.take_in(now);
    }

    fn watch(&mut self, now: ClusterTime, client: ClientId, watch: WatchId, range: KeyRange, from: Revision) {
        self.move_on(now);
        if self.cut.contains(&client) {
            return self.wait_in_vain(now + DEADLINE, client, Input::WatchLost(watch));
        }
        let node = self.node(client);
        let mut following = Following { id: watch, watch: Watch::of(range), next: from, node };
        let store = self.cluster.store(node);
        let store = store.read().unwrap_or_else(PoisonError::into_inner);
        let goes_on = Self::tell(client, &mut following, &store, &mut self.ready);
        drop(store);
        // It has one at most, and this is in the place of the one before.
        self.watches.remove(&client);
        if goes_on {
            self.watches.insert(client, following);
        }
    }

    fn unwatch(&mut self, client: ClientId, watch: WatchId) {
        if self.watches.get(&client).is_some_and(|following| following.id == watch) {
            self.watches.remove(&client);
        }
    }

    fn forget(&mut self, client: ClientId) {
        self.watches.remove(&client);
        self.open.retain(|_, open| !matches!(open.by, By::Client(by, _) if by == client));
        self.ready.retain(|(to, _)| *to != client);
        self.in_vain.retain(|_, (to, _)| *to != client);
        self.hang_up(|who, _, _| who == client);
    }

    fn abandon(&mut self, client: ClientId, id: CallId) {
        self.hang_up(|who, call, _| (who, call) == (client, id));
    }

    fn cut(&mut self, client: ClientId, cut: bool) {
        if !cut {
            self.cut.remove(&client);
        } else if self.cut.insert(client) {
            let lost = self.watches.remove(&client).map(|following| (client, Input::WatchLost(following.id)));
            self.ready.extend(lost);
            let is_own = |open: &Open| matches!(open.by, By::Client(by, _) if by == client);
            let mut under_way: Vec<_> = self.open.extract_if(|_, open| is_own(open)).collect();
            under_way.sort_by_key(|(request, _)| *request);
            let late = self.cluster.now() + DEADLINE;
            for (request, open) in under_way {
                let By::Client(_, id) = open.by else { continue };
                let late = open.late.unwrap_or(late);
                self.late.remove(&(late, request));
                self.wait_in_vain(late, client, Input::Answer(id, Err(Failure::Unanswered)));
            }
            for (_, id) in self.hang_up(|who, _, _| who == client) {
                self.wait_in_vain(late, client, Input::Answer(id, Err(Failure::Unanswered)));
            }
        }
    }
}

/// The ids of leases begin here: long enough to look like one.
const FIRST_LEASE: i64 = 0x6c6f_636b_0000_0000;

/// As for clients on a real cluster.
const DEADLINE: Duration = client::DEADLINE;

fn told(change: &crate::mvcc::Change) -> (Revision, KeyEvent) {
    (change.revision, change.key_event())
}
