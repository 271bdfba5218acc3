//! Clients and a cluster in virtual time: what is due next happens next, and nobody waits.
//!
//! The same clients on the same cluster give the same run, to the last microsecond, and an hour
//! passes as fast as its events can be computed. Two things that are due at the same time
//! happen in the order in which they were asked for; what the cluster has to say comes first.

use std::collections::{BTreeMap, VecDeque};

use super::resource::Ledgers;
use super::skew::Skew;
use super::traffic::Traffic;
use super::{ClientId, Told, What};
use crate::domain::play::Ill;
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
    /// A client waits no more for the answer to a call: where it waits for its turn, the place in
    /// the queue is given up.
    fn abandon(&mut self, client: ClientId, call: CallId);
    /// A client is no more: nothing reaches it any longer. What it asked for may still be done.
    fn forget(&mut self, client: ClientId);
    /// A client's connection is cut: its watch is lost, and no call is answered, those under way
    /// included; or it is mended.
    fn cut(&mut self, client: ClientId, cut: bool);
}

/// Clients on a cluster.
#[derive(Debug)]
pub struct Stage<C, R> {
    /// The cluster.
    pub cluster: C,
    /// The clients.
    pub clients: BTreeMap<ClientId, R>,
    /// What holders write to.
    pub ledgers: Ledgers,
    now: ClusterTime,
    surroundings: BTreeMap<ClientId, Surroundings>,
    /// Timers by when they are due and when they were set; and the other way round.
    due: BTreeMap<(ClusterTime, u64), (ClientId, Timer)>,
    set: BTreeMap<(ClientId, Timer), Set>,
    sets: u64,
}

/// What a client stands in.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    skew: Skew,
    traffic: Traffic,
}

/// A timer that is set.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// When it goes off by the client's own clock.
    own: ClusterTime,
    /// Where it stands among those that are due.
    due: (ClusterTime, u64),
}

impl<C: Cluster, R: Recipe> Stage<C, R> {
    /// A stage with this cluster and nobody on it.
    pub fn new(cluster: C) -> Self {
        Self {
            cluster,
            clients: BTreeMap::new(),
            ledgers: Ledgers::default(),
            now: ClusterTime(0),
            surroundings: BTreeMap::new(),
            due: BTreeMap::new(),
            set: BTreeMap::new(),
            sets: 0,
        }
    }

    /// The time.
    pub const fn now(&self) -> ClusterTime {
        self.now
    }

    /// A client enters and begins; what it asks for is counted by `traffic`.
    pub fn enter(&mut self, id: ClientId, client: R, traffic: Traffic, told: &mut impl FnMut(Told)) {
        self.clients.insert(id, client);
        self.surroundings.insert(id, Surroundings { traffic, ..Surroundings::default() });
        self.tell(id, Input::Start, told);
    }

    /// Tells a client something now.
    pub fn tell(&mut self, id: ClientId, input: Input, told: &mut impl FnMut(Told)) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let Surroundings { skew, traffic } = self.surroundings.entry(id).or_default().clone();
            traffic.heard(&input);
            for command in client.step(skew.own(self.now), input) {
                traffic.asked(&command);
                inputs.extend(self.carry_out(id, command, told));
            }
        }
    }

    /// Does something to a client now. What somebody else does to its lease is not the stage's.
    pub fn suffer(&mut self, id: ClientId, ill: Ill, told: &mut impl FnMut(Told)) {
        if !self.clients.contains_key(&id) {
            return;
        }
        told(Told { at: self.now, client: id, what: What::Suffers(ill) });
        match ill {
            Ill::Pause => self.tell(id, Input::Pause, told),
            Ill::Resume => self.tell(id, Input::Resume, told),
            Ill::Crash => self.tell(id, Input::Crash, told),
            Ill::Heartbeat(every) => self.tell(id, Input::Heartbeat(every), told),
            Ill::Release => self.tell(id, Input::Release, told),
            Ill::Hold(length) => self.tell(id, Input::Hold(length), told),
            Ill::Remove => self.tell(id, Input::Stop, told),
            Ill::Cut => self.cluster.cut(id, true),
            Ill::Mend => self.cluster.cut(id, false),
            Ill::Skew(millis) => self.skew(id, Skew::of(millis)),
            Ill::Revoke => {}
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

    /// Does what a client wants; what it has to know at once.
    fn carry_out(&mut self, id: ClientId, command: Command, told: &mut impl FnMut(Told)) -> Option<Input> {
        let at = self.now;
        let mut say = |what| told(Told { at, client: id, what });
        match command {
            Command::Call(call, what) => self.cluster.ask(at, id, call, what),
            Command::Watch { watch, range, from } => self.cluster.watch(at, id, watch, range, from),
            Command::Unwatch(watch) => self.cluster.unwatch(id, watch),
            Command::Set(timer, own) => self.set(id, timer, own),
            Command::Report(standing) => say(What::Stands(standing)),
            Command::Write(token) => {
                return self.ledgers.write(token, |written| say(What::Wrote(written))).map(Input::Refused);
            }
            Command::Saw(sight) => say(What::Saw(sight)),
            Command::Abandon(call) => self.cluster.abandon(id, call),
            Command::Crashed => {
                self.forget(id);
                say(What::Crashed);
            }
            Command::Stopped => {
                self.forget(id);
                say(What::Stopped);
            }
        }
        None
    }

    fn set(&mut self, id: ClientId, timer: Timer, own: ClusterTime) {
        self.sets += 1;
        let skew = self.surroundings.get(&id).map_or(Skew::default(), |around| around.skew);
        let due = (skew.world(own), self.sets);
        if let Some(before) = self.set.insert((id, timer), Set { own, due }) {
            self.due.remove(&before.due);
        }
        self.due.insert(due, (id, timer));
    }

    /// A client's clock is set, and its timers go by it.
    fn skew(&mut self, id: ClientId, skew: Skew) {
        self.surroundings.entry(id).or_default().skew = skew;
        for (&of, set) in self.set.iter_mut().filter(|((client, _), _)| *client == id) {
            self.due.remove(&set.due);
            set.due.0 = skew.world(set.own);
            self.due.insert(set.due, of);
        }
    }

    fn forget(&mut self, id: ClientId) {
        self.cluster.forget(id);
        self.due.retain(|_, (client, _)| *client != id);
        self.set.retain(|(client, _), _| *client != id);
    }
}
