//! Which locks and which leases are listed, and in which order.
//!
//! Made from the facts when they changed: at once while there are few, and at most twice a
//! second when there are many, since looking at each of 100,000 locks for every event would
//! cost more than taking the event in.

use std::cmp::Ordering;

use super::Filter;
use crate::domain::{LeaseId, Millis, Timestamp};
use crate::input::Sort;
use crate::model::{Checkup, Facts, KeyView, LockIx, LockView, Severity, TtlState};

/// Up to this many, a list is always up to date.
const FEW: usize = 2_000;
/// With more, it is made anew this long after the last time.
const PAUSE: Millis = Millis(500);

/// A list of rows with what it was made from.
#[derive(Clone, Debug)]
pub struct Order<T> {
    rows: Vec<T>,
    /// How many there would be without the filter.
    total: usize,
    /// How many of the rows are locks that nobody has.
    free: usize,
    made: Option<Made>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    /// The version of the facts.
    version: u64,
    at: Timestamp,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), total: 0, free: 0, made: None }
    }
}

impl<T: Copy> Order<T> {
    /// The listed rows in their order.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// How many rows there are.
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing is listed.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows there would be without the filter.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// What is listed in a row.
    pub fn get(&self, row: usize) -> Option<T> {
        self.rows.get(row).copied()
    }

    /// Has the list made anew at the next occasion: something else than the facts changed.
    pub const fn spoil(&mut self) {
        self.made = None;
    }

    /// When the list is to be made anew of so many things of this version; `None` while it is
    /// up to date.
    pub fn due(&self, version: u64, among: usize) -> Option<Timestamp> {
        match self.made {
            None => Some(Timestamp(0)),
            Some(made) if made.version == version => None,
            Some(made) if among <= FEW => Some(made.at),
            Some(made) => Some(made.at + PAUSE),
        }
    }

    fn set(&mut self, rows: Vec<T>, total: usize, version: u64, at: Timestamp) {
        self.rows = rows;
        self.total = total;
        self.made = Some(Made { version, at });
    }
}

/// How the list of locks is made.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    /// Which are shown.
    pub filter: &'a Filter,
    /// Whether registrations and other leased keys are shown too.
    pub all: bool,
    /// The order.
    pub sort: Sort,
    /// Whether the order is turned round.
    pub reversed: bool,
    /// What is wrong with them.
    pub checkup: &'a Checkup,
}

impl Listing<'_> {
    /// The version of what the list depends on: only times left change without a key changing.
    pub const fn version(&self, facts: &Facts) -> u64 {
        match self.sort {
            Sort::Ttl => facts.version(),
            // Both only grow, so their sum does not come back.
            Sort::Weight => facts.keys_version() + self.checkup.version(),
            _ => facts.keys_version(),
        }
    }
}

impl Listing<'_> {
    /// What a lock is sorted by; smallest first.
    fn rank(&self, facts: &Facts, lock: &LockView<'_>) -> i64 {
        match self.sort {
            Sort::Weight => -weight(facts, lock, self.checkup.diagnosis().severity(lock.name())),
            sort => rank(lock, sort),
        }
    }
}

/// How much a lock matters: first how bad its findings are, then for how long how many are blocked.
fn weight(facts: &Facts, lock: &LockView<'_>, severity: Option<Severity>) -> i64 {
    const STEP: i64 = 1 << 61;
    let worst = match severity {
        Some(Severity::Error) => 2,
        Some(Severity::Warn) => 1,
        // What is worth knowing makes a lock no more urgent.
        Some(Severity::Info) | None => 0,
    };
    let held = lock.held_since().map_or(0, |since| facts.now().since(since.at).0.max(0));
    let waiters = i64::try_from(lock.waiter_count()).unwrap_or(i64::MAX);
    worst * STEP + waiters.saturating_mul(held + 1).min(STEP - 1)
}

impl Order<LockIx> {
    /// Makes the list of locks.
    pub fn list_locks(&mut self, facts: &Facts, at: Timestamp, listing: Listing<'_>) {
        let (mut total, mut free) = (0, 0);
        let mut keyed = Vec::new();
        for lock in facts.locks().filter(|lock| (listing.all || lock.layout().is_lock()) && lock.is_listed()) {
            total += 1;
            if listing.filter.is_empty() || shows(listing.filter, &lock) {
                free += usize::from(lock.free_since().is_some());
                keyed.push((listing.rank(facts, &lock), lock.name(), lock.ix()));
            }
        }
        // What the column is sorted by turns round; equal locks keep the order of their names.
        keyed.sort_unstable_by(|(rank, name, ix), (other, other_name, other_ix)| {
            let by_name = name.cmp(other_name).then(ix.cmp(other_ix));
            let turned = |order: Ordering| if listing.reversed { order.reverse() } else { order };
            match listing.sort {
                Sort::Name => turned(by_name),
                _ => turned(rank.cmp(other)).then(by_name),
            }
        });
        self.set(keyed.into_iter().map(|(.., ix)| ix).collect(), total, listing.version(facts), at);
        self.free = free;
    }

    /// How many of the listed locks nobody has.
    pub const fn free(&self) -> usize {
        self.free
    }
}

/// Whether a filter shows a lock: by its name, or by the lease of its holder.
fn shows(filter: &Filter, lock: &LockView<'_>) -> bool {
    let holder = if filter.may_be_lease() { lock.holder() } else { None };
    let lease = holder.map(|holder| holder.lease().to_string());
    filter.shows([Some(lock.name()), lease.as_deref().map(str::as_bytes)].into_iter().flatten())
}

/// The same by what is seen of the lock alone.
fn rank(lock: &LockView<'_>, sort: Sort) -> i64 {
    let most_first = |count: u64| -i64::try_from(count).unwrap_or(i64::MAX);
    match sort {
        Sort::Wait => most_first(lock.waiter_count() as u64),
        Sort::Name | Sort::Weight => 0,
        Sort::Held => lock.held_since().map_or(i64::MAX, |since| since.at.0),
        Sort::Ttl => match lock.holder().map(|holder| holder.ttl()) {
            Some(TtlState::Live { remaining, .. }) => remaining.0,
            Some(TtlState::Overdue { by, .. }) => -by.0,
            Some(TtlState::Gone) => i64::MAX - 4,
            Some(TtlState::Unpolled | TtlState::Unknown) => i64::MAX - 3,
            Some(TtlState::NoLease) => i64::MAX - 2,
            None => i64::MAX - 1,
        },
        Sort::Handovers => most_first(lock.handovers().iter().map(|&count| u64::from(count)).sum()),
    }
}

impl Order<LeaseId> {
    /// Makes the list of leases: those with keys in the order of their first keys, so that the
    /// leases of one lock stand together; then those without.
    pub fn list_leases(&mut self, facts: &Facts, at: Timestamp, filter: &Filter) {
        let mut keyed = Vec::new();
        for lease in facts.leases().ids().filter_map(|id| facts.lease(id)) {
            let keys = lease.keys();
            let shown = filter.is_empty() || {
                let (written, listed) = (lease.id.to_string(), lease.id.unsigned_hex());
                let ids = [written.as_bytes(), listed.as_bytes()];
                filter.shows(ids.into_iter().chain(keys.iter().map(KeyView::key)))
            };
            if shown {
                keyed.push((keys.is_empty(), keys.first().map(KeyView::key), lease.id));
            }
        }
        keyed.sort_unstable();
        self.set(keyed.into_iter().map(|(.., id)| id).collect(), facts.leases().len(), facts.version(), at);
    }
}
