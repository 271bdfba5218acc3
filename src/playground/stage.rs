//! Clients and a cluster in virtual time: what is due next happens next, and nobody waits.
//!
//! The same clients on the same cluster give the same run, to the last microsecond, and an hour
//! passes as fast as its events can be computed. Two things that are due at the same time
//! happen in the order in which they were asked for; what the cluster has to say comes first.

use std::collections::BTreeMap;

use super::{ClientId, Told, What};
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyRange, Revision};
use crate::recipe::{Call, CallId, Command, Input, Recipe, Timer, WatchId};

/// A cluster that lives in virtual time.
pub trait Cluster {
    /// When something happens in it next.
    fn next(&self) -> Option<ClusterTime>;
    /// Lets everything happen that is due until then; what clients learn by it, in order.
    fn advance(&mut self, to: ClusterTime) -> Vec<(ClientId, Input)>;
    /// A client makes a call.
    fn ask(&mut self, now: ClusterTime, client: ClientId, id: CallId, call: Call);
    /// A client wants to be told of changes; its earlier watch ends.
    fn watch(&mut self, now: ClusterTime, client: ClientId, watch: WatchId, range: KeyRange, from: Revision);
    /// A client wants to be told no more.
    fn unwatch(&mut self, client: ClientId, watch: WatchId);
    /// A client is no more: nothing reaches it any longer. What it asked for may still be done.
    fn forget(&mut self, client: ClientId);
}

/// Clients on a cluster.
#[derive(Debug)]
pub struct Stage<C, R> {
    /// The cluster.
    pub cluster: C,
    /// The clients.
    pub clients: BTreeMap<ClientId, R>,
    now: ClusterTime,
    /// Timers by when they are due and when they were set; and the other way round.
    due: BTreeMap<(ClusterTime, u64), (ClientId, Timer)>,
    set: BTreeMap<(ClientId, Timer), (ClusterTime, u64)>,
    sets: u64,
}

impl<C: Cluster, R: Recipe> Stage<C, R> {
    /// A stage with this cluster and nobody on it.
    pub fn new(cluster: C) -> Self {
        let (clients, due, set) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { cluster, clients, now: ClusterTime(0), due, set, sets: 0 }
    }

    /// The time.
    pub const fn now(&self) -> ClusterTime {
        self.now
    }

    /// A client enters and begins.
    pub fn enter(&mut self, id: ClientId, client: R, told: &mut impl FnMut(Told)) {
        self.clients.insert(id, client);
        self.tell(id, Input::Start, told);
    }

    /// Tells a client something now, such as a fault.
    pub fn tell(&mut self, id: ClientId, input: Input, told: &mut impl FnMut(Told)) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        for command in client.step(self.now, input) {
            self.carry_out(id, command, told);
        }
    }

    /// Lets the next thing happen, unless it is due after `until`; whether one did.
    pub fn step(&mut self, until: ClusterTime, told: &mut impl FnMut(Told)) -> bool {
        let timer = self.due.first_key_value().map(|(&(at, _), _)| at);
        let cluster = self.cluster.next();
        let Some(next) = [timer, cluster].into_iter().flatten().min().filter(|next| *next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        if cluster.is_some_and(|at| at <= self.now) {
            for (client, input) in self.cluster.advance(self.now) {
                self.tell(client, input, told);
            }
        } else if let Some((_, (client, timer))) = self.due.pop_first() {
            self.set.remove(&(client, timer));
            self.tell(client, Input::Timer(timer), told);
        }
        true
    }

    /// Lets everything happen that is due until then.
    pub fn run(&mut self, until: ClusterTime, told: &mut impl FnMut(Told)) {
        while self.step(until, told) {}
    }

    fn carry_out(&mut self, id: ClientId, command: Command, told: &mut impl FnMut(Told)) {
        match command {
            Command::Call(call, what) => self.cluster.ask(self.now, id, call, what),
            Command::Watch { watch, range, from } => self.cluster.watch(self.now, id, watch, range, from),
            Command::Unwatch(watch) => self.cluster.unwatch(id, watch),
            Command::Set(timer, at) => self.set(id, timer, at),
            Command::Report(standing) => told(Told { at: self.now, client: id, what: What::Stands(standing) }),
            Command::Abandon(_) | Command::Write(_) | Command::Saw(_) => {}
            Command::Crashed => {
                self.forget(id);
                told(Told { at: self.now, client: id, what: What::Crashed });
            }
            Command::Stopped => {
                self.forget(id);
                told(Told { at: self.now, client: id, what: What::Stopped });
            }
        }
    }

    fn set(&mut self, id: ClientId, timer: Timer, at: ClusterTime) {
        self.sets += 1;
        if let Some(before) = self.set.insert((id, timer), (at, self.sets)) {
            self.due.remove(&before);
        }
        self.due.insert((at, self.sets), (id, timer));
    }

    fn forget(&mut self, id: ClientId) {
        self.cluster.forget(id);
        self.due.retain(|_, (client, _)| *client != id);
        self.set.retain(|(client, _), _| *client != id);
    }
}
