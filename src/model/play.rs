//! The run of simulated clients as it is known: how they are, what they did over time, what
//! happened.
//!
//! It is built from pictures ([`PlayPicture`]) alone, and each costs by the moments it brings: of
//! the clients only those are looked at closer that believe to wait while nothing of theirs stands
//! in a queue, as for a lock that has none. Over a day's run it stays as large as it is after the first
//! minutes: [`STRETCHES`] stretches and as many marks are shared out evenly among the lanes, each
//! of which loses its oldest for the newest ([`LEAST`] are left to each of very many); the last
//! [`HAPPENED`] moments are kept with their numbers, the last [`WRITES`] writes of each resource
//! and the last [`TOLD`] narrations. A lane whose client was removed is kept while there are no
//! more than [`REMOVED`] of them. What a picture has none of, there is none of: clients,
//! resources and expectations are those of the last one.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::play::{
    Belief, ClientId, ClientPicture, Expected, Happening, Life, Moment, Narration, PlayPicture, ResourcePicture, Sight,
};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, LeaseId, Revision};

mod lane;

pub use lane::{Doing, Lane, Mark, Marked, Stretch};

/// How many stretches all lanes together have, and how many marks.
pub const STRETCHES: usize = 65_536;
/// How many of each every lane has at least.
pub const LEAST: usize = 64;
/// How many moments are remembered.
pub const HAPPENED: usize = 5_000;
/// How many writes of a resource are remembered.
pub const WRITES: usize = 4_096;
/// How many narrations are remembered.
pub const TOLD: usize = 64;
/// How many lanes of clients that were removed are remembered.
pub const REMOVED: usize = 16;

/// What is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Play {
    /// The last picture, without its moments.
    picture: PlayPicture,
    lanes: BTreeMap<ClientId, Lane>,
    writes: Vec<Writes>,
    happened: VecDeque<Happened>,
    /// The number of the next moment.
    next: u64,
    /// How many moments nobody was told of.
    missed: u64,
    told: VecDeque<(usize, Narration)>,
    /// Who was seen to hold last.
    held_last: Option<ClientId>,
    groups: Vec<Group>,
    /// Which client stands in which row, and in which row each client stands.
    rows: Vec<(usize, usize)>,
    /// What a watcher was told of last: a key and its value.
    seen_last: Option<(Key, Vec<u8>)>,
}

/// The clients that take part in one lock, or in what else they do, one below the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub lock: Key,
    /// Its first row.
    pub start: usize,
    /// How many clients there are.
    pub len: usize,
    /// Whether they take a lock.
    pub takes_lock: bool,
}

/// A moment with what was known beside it. A write that was taken is none: there are many, and
/// the resource's lane has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// Its number in the run, from 0 on.
    pub number: u64,
    /// The moment.
    pub moment: Moment,
    /// The client's lease at that time; 0 when none is known.
    pub lease: LeaseId,
    /// What the client does from then on, if it is not paused.
    pub doing: Option<Doing>,
    /// Whether the client is told of its key only now that the key is the oldest, as by a server
    /// that queues for it.
    pub late: bool,
}

/// The writes to one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Its name, as moments have it.
    pub name: String,
    /// The last ones, oldest first.
    pub kept: VecDeque<Write>,
}

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// When it came.
    pub at: ClusterTime,
    /// The fencing token it came with.
    pub token: Revision,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was taken.
    Taken,
    /// It was taken although a later holder had written before.
    Damaged,
    /// It was refused.
    Refused,
}

impl Play {
    /// The last picture; its moments are in [`Play::happened`].
    pub const fn picture(&self) -> &PlayPicture {
        &self.picture
    }

    /// The moment of the last picture.
    pub const fn now(&self) -> ClusterTime {
        self.picture.now
    }

    /// The clients by their numbers.
    pub fn clients(&self) -> &[ClientPicture] {
        &self.picture.clients
    }

    /// The row of a client, where those of a lock stand together.
    pub fn row(&self, id: ClientId) -> Option<usize> {
        let at = self.picture.clients.binary_search_by_key(&id, |client| client.id).ok()?;
        self.rows.get(at).map(|&(_, row)| row)
    }

    /// The client in a row.
    pub fn in_row(&self, row: usize) -> Option<&ClientPicture> {
        self.picture.clients.get(self.rows.get(row)?.0)
    }

    /// The clients of each lock, the one that the run is about first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Whether there is more than one lock, so that each has to be named.
    pub fn has_locks(&self) -> bool {
        let pairs = || self.picture.clients.iter().any(|client| client.second.is_some());
        self.groups.iter().filter(|group| group.takes_lock).count() > 1 || pairs()
    }

    /// A client's lane, once something happened to it.
    pub fn lane(&self, id: ClientId) -> Option<&Lane> {
        self.lanes.get(&id)
    }

    /// What the holders write to.
    pub fn resources(&self) -> &[ResourcePicture] {
        &self.picture.resources
    }

    /// The writes to a resource.
    pub fn writes(&self, name: &str) -> Option<&VecDeque<Write>> {
        self.writes.iter().find(|writes| writes.name == name).map(|writes| &writes.kept)
    }

    /// What happened, oldest first.
    pub const fn happened(&self) -> &VecDeque<Happened> {
        &self.happened
    }

    /// A moment by its number, while it is remembered.
    pub fn moment(&self, number: u64) -> Option<&Happened> {
        self.happened.binary_search_by_key(&number, |happened| happened.number).ok().map(|at| &self.happened[at])
    }

    /// How many moments there have been, remembered or not.
    pub const fn count(&self) -> u64 {
        self.next
    }

    /// How many of them nobody was told of.
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// The narrations so far, each with its number, oldest first.
    pub fn narrations(&self) -> impl DoubleEndedIterator<Item = &(usize, Narration)> {
        self.told.iter()
    }

    /// The narration that was told last.
    pub const fn narration(&self) -> Option<&Narration> {
        self.picture.narration.as_ref()
    }

    /// What is expected, and how it stands.
    pub fn expectations(&self) -> &[Expected] {
        &self.picture.expectations
    }

    /// Who holds the lock that the run is about: by the store, or else by its own word.
    pub fn holder(&self) -> Option<ClientId> {
        let of_lock = |client: &&ClientPicture| client.lock == self.picture.lock && client.takes_lock();
        let clients = || self.picture.clients.iter().filter(of_lock);
        let holds = clients().find(|client| client.place == Some(0));
        holds.or_else(|| clients().find(|client| client.belief == Belief::Holding)).map(|client| client.id)
    }

    /// Who holds, or held last: between two holders nobody does for a moment.
    pub fn last_holder(&self) -> Option<ClientId> {
        self.held_last.filter(|&id| self.row(id).is_some())
    }

    /// Whoever waits longest for the lock that the run is about.
    pub fn waiter(&self) -> Option<ClientId> {
        let of_lock = self.picture.clients.iter().filter(|client| client.lock == self.picture.lock);
        let queued = of_lock.filter_map(|client| Some((client.place.filter(|&place| place > 0)?, client.id)));
        queued.min().map(|(_, id)| id)
    }

    /// Takes in a picture.
    pub(super) fn take(&mut self, mut picture: PlayPicture) {
        let moments = std::mem::take(&mut picture.moments);
        if picture.before < self.next {
            // It is another run.
            *self = Self::default();
        }
        let is_gap = picture.before > self.next || self.lanes.is_empty();
        if is_gap {
            self.missed += picture.before - self.next;
            self.next = picture.before;
            let (at, most) = (self.picture.now, self.most());
            self.lanes.values_mut().for_each(|lane| lane.forget(at, most));
        }
        let before = std::mem::replace(&mut self.picture, picture);
        self.arrange();
        for moment in moments {
            self.happens(moment, &before);
        }
        if is_gap {
            self.go_on();
        }
        self.held_last = self.holder().or(self.held_last);
        self.see_waiting();
        self.forget_removed();
    }

    /// Has the clients of each lock stand together.
    fn arrange(&mut self) {
        let clients = &self.picture.clients;
        let mut of_lock: BTreeMap<&Key, Vec<usize>> = BTreeMap::new();
        for (at, client) in clients.iter().enumerate() {
            of_lock.entry(&client.lock).or_default().push(at);
        }
        let mut groups: Vec<(&Key, Vec<usize>)> = of_lock.into_iter().collect();
        groups.sort_by_key(|(lock, of)| (**lock != self.picture.lock, of.first().copied()));
        self.groups.clear();
        self.rows.clear();
        self.rows.resize(clients.len(), (0, 0));
        let mut row = 0;
        for (lock, of) in groups {
            let takes_lock = of.iter().any(|&at| clients[at].takes_lock());
            self.groups.push(Group { lock: lock.clone(), start: row, len: of.len(), takes_lock });
            for at in of {
                (self.rows[row].0, self.rows[at].1) = (at, row);
                row += 1;
            }
        }
    }

    /// A watcher is told of what somebody put.
    fn see(&mut self, at: ClusterTime, sight: &Sight) {
        let (Sight::Appeared(key, value) | Sight::Changed(key, value)) = sight else { return };
        // Each watcher is told of it, and one that joins of what has been there before.
        if self.seen_last.as_ref().is_some_and(|(last, seen)| last == key && seen == value) {
            return;
        }
        self.seen_last = Some((key.clone(), value.clone()));
        let whose = self.picture.clients.iter().find(|client| client.stake.key == *key);
        if let Some(id) = whose.filter(|client| !client.takes_lock()).map(|client| client.id) {
            let most = self.most();
            self.lane_mut(id).puts(at, most);
        }
    }

    fn happens(&mut self, moment: Moment, before: &PlayPicture) {
        let most = self.most();
        let (mut lease, mut doing, mut is_late) = (LeaseId::NONE, None, false);
        if let Some(id) = moment.client {
            let known = [before.client(id), self.picture.client(id)].into_iter().flatten();
            lease = known.map(ClientPicture::lease).find(|lease| !lease.is_none()).unwrap_or_default();
            let lane = self.lane_mut(id);
            is_late = matches!(moment.what, Happening::Enqueued(_)) && lane.is_first();
            lane.take(&moment, most);
            doing = lane.doing();
        }
        if let Happening::Saw(sight) = &moment.what {
            self.see(moment.at, sight);
        }
        let write = match moment.what {
            Happening::Wrote(token) => Some((token, Fate::Taken)),
            Happening::Damaged(token, _) => Some((token, Fate::Damaged)),
            Happening::Refused(token, _) => Some((token, Fate::Refused)),
            _ => None,
        };
        if let Some((token, fate)) = write {
            self.note_write(&moment, Write { at: moment.at, token, fate });
        }
        if let (Happening::Told(number), Some(narration)) = (&moment.what, &self.picture.narration) {
            // Of several between two pictures the last one's words are known.
            self.told.retain(|(_, told)| told != narration);
            self.told.push_back((*number, narration.clone()));
            if self.told.len() > TOLD {
                self.told.pop_front();
            }
        }
        let number = self.next;
        self.next += 1;
        if matches!(moment.what, Happening::Wrote(_)) {
            return;
        }
        self.happened.push_back(Happened { number, moment, lease, doing, late: is_late });
        if self.happened.len() > HAPPENED {
            self.happened.pop_front();
        }
    }

    fn note_write(&mut self, moment: &Moment, write: Write) {
        let named = |resource: &&ResourcePicture| resource.name.as_bytes() == moment.lock.as_bytes();
        // Where there is one resource only, the lock that guards it is name enough.
        let resource = self.picture.resources.iter().find(named).or(self.picture.resources.first());
        let Some(name) = resource.map(|resource| &resource.name) else { return };
        let at = self.writes.iter().position(|writes| writes.name == *name);
        let at = at.unwrap_or_else(|| {
            self.writes.push(Writes { name: name.clone(), kept: VecDeque::new() });
            self.writes.len() - 1
        });
        let kept = &mut self.writes[at].kept;
        let at = kept.back().map_or(write.at, |last| last.at.max(write.at));
        kept.push_back(Write { at, ..write });
        if kept.len() > WRITES {
            kept.pop_front();
        }
    }

    /// How many stretches, and marks, a lane may have.
    fn most(&self) -> usize {
        (STRETCHES / self.lanes.len().max(1)).max(LEAST)
    }

    fn lane_mut(&mut self, id: ClientId) -> &mut Lane {
        let before = self.lanes.len();
        self.lanes.entry(id).or_default();
        if self.lanes.len() > before {
            let most = self.most();
            self.lanes.values_mut().for_each(|lane| lane.trim(most));
        }
        self.lanes.entry(id).or_default()
    }

    /// Goes on from how the clients are.
    fn go_on(&mut self) {
        let (at, clients) = (self.picture.now, std::mem::take(&mut self.picture.clients));
        for client in &clients {
            let most = self.most();
            self.lane_mut(client.id).go_on(at, client, most);
        }
        self.picture.clients = clients;
    }

    /// Who waits for a lock without a queue is not told to have enqueued.
    fn see_waiting(&mut self) {
        let (most, now) = (self.most(), self.picture.now);
        let waits = |client: &&ClientPicture| client.belief == Belief::Waiting && client.life == Life::Up;
        for client in self.picture.clients.iter().filter(waits) {
            if let Some(lane) = self.lanes.get_mut(&client.id).filter(|lane| lane.doing().is_none()) {
                lane.waits(now, most);
            }
        }
    }

    fn forget_removed(&mut self) {
        if self.lanes.len() <= self.picture.clients.len() + REMOVED {
            return;
        }
        let Self { lanes, picture, writes, .. } = self;
        let mut removed = lanes.len() - picture.clients.len();
        lanes.retain(|&id, _| {
            let goes = removed > REMOVED / 2 && picture.client(id).is_none();
            removed -= usize::from(goes);
            !goes
        });
        writes.retain(|writes| picture.resources.iter().any(|resource| resource.name == writes.name));
    }
}

#[cfg(test)]
mod tests;
