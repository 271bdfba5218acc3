//! What the judge knows of one client.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::play::{Ill, Life};
use crate::domain::raft::ClusterTime;
use crate::domain::{LeaseId, Revision};
use crate::playground::{Habits, LockOf};
use crate::recipe::{Belief, Kind, Standing};

/// How many leases of one client are known to be its own: the latest.
const LEASES: usize = 8;

/// What is known of one client.
#[derive(Clone, Debug)]
pub struct OfClient {
    /// What it does.
    pub kind: Kind,
    /// What it takes part in.
    pub lock: LockOf,
    /// The second lock of one that takes two.
    pub second: Option<LockOf>,
    /// Whether it runs.
    pub life: Life,
    /// Whether it was removed for good.
    pub removed: bool,
    /// Whether its connection is cut.
    pub cut: bool,
    /// How far its clock is ahead, in milliseconds.
    pub skew_ms: i64,
    /// The length of its lease as it asks for it.
    pub ttl: Duration,
    /// The time between its heartbeats.
    pub heartbeat: Duration,
    /// How long it holds at most.
    pub hold: Duration,
    /// Where it stands, by its own word.
    pub standing: Standing,
    /// How often it held.
    pub holds: u64,
    /// How long it held in all, by holds that ended.
    pub held: Duration,
    /// Since when this life of it has taken part; none before it began.
    pub(super) began: Option<ClusterTime>,
    /// Whether it does not begin with the run.
    begins_later: bool,
    /// Since when it waits, or holds.
    pub(super) since: ClusterTime,
    /// The lease whose keys it let go of last, or left when it crashed.
    pub(super) asked: LeaseId,
    leases: VecDeque<LeaseId>,
    /// What created its key, by the store, where the server queues and its client is told last.
    pub(super) queued: Revision,
}

impl OfClient {
    pub(super) fn new(habits: &Habits) -> Self {
        Self {
            kind: habits.kind,
            lock: habits.lock(),
            second: habits.second.clone().map(LockOf::Queue),
            life: Life::Up,
            removed: false,
            cut: false,
            skew_ms: 0,
            ttl: habits.ttl,
            heartbeat: habits.heartbeat(),
            hold: habits.hold.longest,
            standing: Standing::default(),
            holds: 0,
            held: Duration::ZERO,
            began: None,
            begins_later: !habits.starts.is_zero(),
            since: ClusterTime(0),
            asked: LeaseId::NONE,
            leases: VecDeque::new(),
            queued: Revision(0),
        }
    }

    /// What created its key, by its own word or by the store's; 0 while nobody knows.
    pub fn created(&self) -> Revision {
        if self.standing.created > Revision(0) { self.standing.created } else { self.queued }
    }

    /// Whether it is told of its key only when its turn has come.
    pub(super) const fn is_queued_by_server(&self) -> bool {
        matches!(self.kind, Kind::LockApi | Kind::ElectionApi)
    }

    /// The lease that it has, or that it left when it crashed; 0 without one.
    pub fn lease(&self) -> LeaseId {
        if self.standing.lease.is_none() { self.asked } else { self.standing.lease }
    }

    /// Whether it is to begin some time after the run, and has not yet.
    pub(in crate::playground) const fn is_to_begin(&self) -> bool {
        self.begins_later && self.began.is_none()
    }

    /// Whether it waits, by its own word.
    pub fn waits(&self) -> bool {
        self.standing.belief == Belief::Waiting
    }

    /// Since when it waits, or holds.
    pub const fn since(&self) -> ClusterTime {
        self.since
    }

    /// This is its lease now; one that is long of the past.
    pub(super) fn learns_lease(&mut self, lease: LeaseId) -> Option<LeaseId> {
        if lease.is_none() || self.leases.contains(&lease) {
            return None;
        }
        self.leases.push_back(lease);
        if self.leases.len() > LEASES { self.leases.pop_front() } else { None }
    }

    /// This is done to it.
    pub(super) fn suffers(&mut self, ill: Ill) {
        match ill {
            Ill::Pause if self.life == Life::Up => self.life = Life::Paused,
            Ill::Resume if self.life == Life::Paused => self.life = Life::Up,
            Ill::Cut => self.cut = true,
            Ill::Mend => self.cut = false,
            Ill::Heartbeat(every) => self.heartbeat = every,
            Ill::Hold(length) => self.hold = length,
            Ill::Skew(millis) => self.skew_ms = millis,
            Ill::Remove => self.removed = true,
            _ => {}
        }
    }

    /// Its key of this revision and lease is gone: what it believes of that, unless it was itself
    /// that let go of it.
    pub(super) fn loses(&self, created: Revision, lease: LeaseId) -> Option<Belief> {
        let Standing { belief, created: own, lease: of, .. } = self.standing;
        let is_its_place = own == created || own == Revision(0) && !lease.is_none() && of == lease;
        match belief {
            _ if !lease.is_none() && lease == self.asked => None,
            Belief::Waiting | Belief::Holding if is_its_place => Some(belief),
            // It knew before the store did, or has begun anew since.
            _ => Some(Belief::Lost),
        }
    }
}
