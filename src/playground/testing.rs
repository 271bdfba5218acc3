//! A cluster for tests in virtual time: one store behind a network that is slow and forgetful.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::ClientId;
use super::stage::Cluster;
use crate::chance::Chance;
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyRange, Revision};
use crate::recipe::testing::{Store, Turn};
use crate::recipe::{Answer, Call, CallId, Failure, Input, WatchId};

/// The cluster.
#[derive(Debug)]
pub struct Town {
    /// The store, as everybody would see it who were there.
    pub store: Store,
    loss: u16,
    breaks: u16,
    chance: Chance,
    now: ClusterTime,
    /// What is on its way, by when it arrives; the number keeps equal times in order.
    ways: BTreeMap<(ClusterTime, u64), Way>,
    watches: BTreeMap<ClientId, Following>,
    /// Calls that wait at the store for their turns.
    turns: Vec<(ClientId, CallId, Turn)>,
    /// How many changes watches were woken for.
    announced: usize,
    sent: u64,
    cut: BTreeSet<ClientId>,
}

#[derive(Debug)]
enum Way {
    ToStore(ClientId, CallId, Call),
    ToClient(ClientId, Input),
    /// A watch is told what happened until then.
    Tell(ClientId, WatchId),
    /// The store notices that the caller of this has gone.
    HangUp(Turn),
}

#[derive(Debug)]
struct Following {
    watch: WatchId,
    range: KeyRange,
    next: Revision,
    telling: bool,
}

/// How long a call that is lost keeps its client waiting.
const PATIENCE: Duration = Duration::from_millis(1500);

impl Town {
    /// A cluster without faults.
    pub fn new(seed: u64) -> Self {
        Self {
            store: Store::default(),
            loss: 0,
            breaks: 0,
            chance: Chance::new(seed, 0),
            now: ClusterTime(0),
            ways: BTreeMap::new(),
            watches: BTreeMap::new(),
            turns: Vec::new(),
            announced: 0,
            sent: 0,
            cut: BTreeSet::new(),
        }
    }

    /// The same with faults: of a thousand calls `loss` are lost on the way there, as many on the
    /// way back, and as many stuck for long. Of a thousand times that a watch has to tell
    /// something, `breaks` times it breaks.
    pub fn faulty(self, loss: u16, breaks: u16) -> Self {
        Self { loss, breaks, ..self }
    }

    fn send(&mut self, way: Way) {
        let delay = self.chance.between(Duration::from_micros(200), Duration::from_millis(20));
        self.send_at(self.now + delay, way);
    }

    fn send_at(&mut self, at: ClusterTime, way: Way) {
        self.sent += 1;
        self.ways.insert((at, self.sent), way);
    }

    fn is_lost(&mut self) -> bool {
        self.chance.in_thousand(self.loss)
    }

    /// What a call comes to at the store; nothing while it waits for its turn.
    fn done(&mut self, at: ClusterTime, client: ClientId, id: CallId, call: &Call) -> Option<Result<Answer, Failure>> {
        if !call.is_patient() {
            return Some(self.store.ask(at, call));
        }
        match self.store.enqueue(at, call) {
            Ok(turn) if self.is_lost() || self.cut.contains(&client) => {
                self.send(Way::HangUp(turn));
                Some(Err(Failure::Unanswered))
            }
            Ok(turn) => {
                self.turns.push((client, id, turn));
                None
            }
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Answers those whose turn has come.
    fn take_turns(&mut self) {
        let store = &self.store;
        let come = self.turns.extract_if(.., |(.., turn)| store.answer(turn).is_some());
        for (client, id, turn) in come.collect::<Vec<_>>() {
            let answer = self.store.answer(&turn).ok_or(Failure::Unanswered);
            self.send(Way::ToClient(client, Input::Answer(id, answer)));
        }
    }

    /// Sends word to the watches that have something to tell and have not been sent it yet.
    fn wake(&mut self) {
        let news = &self.store.changes[self.announced..];
        self.announced = self.store.changes.len();
        let mut behind = Vec::new();
        for (client, following) in self.watches.iter_mut().filter(|(_, following)| !following.telling) {
            if news.iter().any(|(_, event)| following.range.contains(event.key())) {
                following.telling = true;
                behind.push((*client, following.watch));
            }
        }
        for (client, watch) in behind {
            self.send(Way::Tell(client, watch));
        }
    }

    fn tell(&mut self, client: ClientId, watch: WatchId, learnt: &mut Vec<(ClientId, Input)>) {
        let Some(following) = self.watches.get_mut(&client).filter(|following| following.watch == watch) else {
            return;
        };
        if self.chance.in_thousand(self.breaks) {
            self.watches.remove(&client);
            learnt.push((client, Input::WatchLost(watch)));
            return;
        }
        let changes = self.store.since(&following.range, following.next);
        following.next = self.store.revision.next();
        following.telling = false;
        learnt.extend(changes.into_iter().map(|(revision, event)| (client, Input::Changed { watch, revision, event })));
    }
}

impl Cluster for Town {
    fn next(&self) -> Option<ClusterTime> {
        let way = self.ways.first_key_value().map(|(&(at, _), _)| at);
        [way, self.store.next_expiry()].into_iter().flatten().min()
    }

    fn advance(&mut self, to: ClusterTime) -> Vec<(ClientId, Input)> {
        self.now = to;
        self.store.expire(to);
        let mut learnt = Vec::new();
        if self.ways.first_key_value().is_some_and(|(&(at, _), _)| at <= to)
            && let Some((_, way)) = self.ways.pop_first()
        {
            match way {
                Way::ToClient(client, input) => learnt.push((client, input)),
                Way::Tell(client, watch) => self.tell(client, watch, &mut learnt),
                Way::ToStore(client, id, call) => {
                    let answer = self.done(to, client, id, &call);
                    let is_cut = self.cut.contains(&client);
                    // Who waits for a turn learns in any case that its connection is gone.
                    if let Some(answer) = answer.filter(|_| call.is_patient() || !(self.is_lost() || is_cut)) {
                        self.send(Way::ToClient(client, Input::Answer(id, answer)));
                    }
                }
                Way::HangUp(turn) => self.store.hang_up(turn),
            }
        }
        self.take_turns();
        self.wake();
        learnt
    }

    fn ask(&mut self, now: ClusterTime, client: ClientId, id: CallId, call: Call) {
        self.now = now;
        let is_lost = self.is_lost() || self.cut.contains(&client);
        // Clients pass over a second answer to a call, so this one may come in any case, unless they
        // are ready to wait.
        if is_lost || !call.is_patient() {
            self.send_at(now + PATIENCE, Way::ToClient(client, Input::Answer(id, Err(Failure::Unanswered))));
        }
        if !is_lost {
            // Some calls are stuck for long and are done when their client has given them up.
            if self.chance.in_thousand(self.loss) {
                let late = self.chance.between(PATIENCE, PATIENCE * 4);
                self.send_at(now + late, Way::ToStore(client, id, call));
            } else {
                self.send(Way::ToStore(client, id, call));
            }
        }
    }

    fn watch(&mut self, now: ClusterTime, client: ClientId, watch: WatchId, range: KeyRange, from: Revision) {
        self.now = now;
        if self.cut.contains(&client) {
            return self.send_at(now + PATIENCE, Way::ToClient(client, Input::WatchLost(watch)));
        }
        let telling = !self.store.since(&range, from).is_empty();
        self.watches.insert(client, Following { watch, range, next: from, telling });
        if telling {
            self.send(Way::Tell(client, watch));
        }
    }

    fn unwatch(&mut self, client: ClientId, watch: WatchId) {
        if self.watches.get(&client).is_some_and(|following| following.watch == watch) {
            self.watches.remove(&client);
        }
    }

    fn abandon(&mut self, client: ClientId, call: CallId) {
        let answers =
            |way: &Way| matches!(way, Way::ToClient(to, Input::Answer(id, _)) if (*to, *id) == (client, call));
        self.ways.retain(|_, way| !answers(way));
        let waits = |(of, id, _): &mut (ClientId, CallId, Turn)| (*of, *id) == (client, call);
        for (.., turn) in self.turns.extract_if(.., waits).collect::<Vec<_>>() {
            self.send(Way::HangUp(turn));
        }
    }

    fn forget(&mut self, client: ClientId) {
        self.watches.remove(&client);
        self.ways.retain(|_, way| !matches!(way, Way::ToClient(to, _) | Way::Tell(to, _) if *to == client));
        for (.., turn) in self.turns.extract_if(.., |(of, ..)| *of == client).collect::<Vec<_>>() {
            self.send(Way::HangUp(turn));
        }
    }

    fn cut(&mut self, client: ClientId, cut: bool) {
        if !cut {
            self.cut.remove(&client);
        } else if self.cut.insert(client) {
            let answer = |way: &Way| match way {
                Way::ToClient(to, Input::Answer(id, Ok(_))) if *to == client => Some(*id),
                _ => None,
            };
            let lost: Vec<_> = self.ways.values().filter_map(answer).collect();
            self.ways.retain(|_, way| answer(way).is_none());
            for id in lost {
                let answer = Input::Answer(id, Err(Failure::Unanswered));
                self.send_at(self.now + PATIENCE, Way::ToClient(client, answer));
            }
            for (_, id, turn) in self.turns.extract_if(.., |(of, ..)| *of == client).collect::<Vec<_>>() {
                self.send(Way::HangUp(turn));
                let answer = Input::Answer(id, Err(Failure::Unanswered));
                self.send_at(self.now + PATIENCE, Way::ToClient(client, answer));
            }
            if let Some(following) = self.watches.remove(&client) {
                self.send(Way::ToClient(client, Input::WatchLost(following.watch)));
            }
        }
    }
}
