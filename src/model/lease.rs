//! Leases: what hangs on each, which are listed, which members lack some, and whose time is up first.

mod course;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::domain::{LeaseId, MemberId, Millis, Term, Timestamp};
use crate::event::LeaseTtl;

use super::few::Few;
use super::keyspace::KeyIx;
use super::lock::{LockIx, Since};
use super::tails::Tails;

use course::FOREVER;
pub use course::{Course, Renewal, Stale, TtlState};

/// How long a lease without keys is kept when nobody lists it, and how many of them.
const IDLE: Millis = Millis(60_000);
const MOST_IDLE: usize = 10_000;

/// Of so many leases that were stolen from it is looked when they are gone.
const MOST_STOLEN: usize = 10_000;

/// One lease.
#[derive(Clone, Debug, Default)]
pub(super) struct Lease {
    /// The keys that hang on it.
    pub keys: Few<KeyIx>,
    /// Whether the cluster listed it last time.
    pub listed: bool,
    /// What the polls showed, once there was one.
    pub course: Option<Box<Course>>,
}

/// All leases, with the order in which their time is up.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    known: HashMap<LeaseId, Lease>,
    ends: BTreeSet<(Timestamp, LeaseId)>,
    /// Leases that lost their last key and that nobody lists, with when.
    idle: VecDeque<(Timestamp, LeaseId)>,
    missing: BTreeMap<MemberId, Missing>,
    /// Leases whose lock somebody took by a put over its key, with the locks: they are asked until
    /// they are known to be gone, although nothing hangs on them any more.
    stolen_from: HashMap<LeaseId, Vec<LockIx>>,
    tails: Tails,
}

/// What a member does not know of the leases that others know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The leases, in rising order.
    pub leases: Vec<LeaseId>,
    /// Since when some are missing.
    pub since: Since,
}

impl Leases {
    /// How many leases are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no lease is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// How many of an id's last digits no two known leases share.
    pub const fn digits(&self) -> usize {
        self.tails.digits()
    }

    /// The ids of all known leases, in no order that means anything.
    pub fn ids(&self) -> impl Iterator<Item = LeaseId> {
        self.known.keys().copied()
    }

    /// Whether this lease is known.
    pub fn contains(&self, id: LeaseId) -> bool {
        self.known.contains_key(&id)
    }

    /// How much time a lease has.
    pub fn ttl(&self, id: LeaseId, now: Timestamp) -> TtlState {
        if id.is_none() {
            return TtlState::NoLease;
        }
        self.course(id).map_or(TtlState::Unpolled, |course| course.state(now))
    }

    /// Whether it is kept alive.
    pub fn renewal(&self, id: LeaseId, now: Timestamp) -> Renewal {
        self.course(id).map_or(Renewal::Unknown, |course| course.renewal(now))
    }

    /// What the last poll showed, where that is too old to say something of now.
    pub fn stale(&self, id: LeaseId, now: Timestamp) -> Option<Stale> {
        self.course(id)?.stale(now)
    }

    /// When its time is up by the last poll.
    pub fn expected_end(&self, id: LeaseId) -> Option<Timestamp> {
        self.course(id).filter(|course| course.granted > 0 && course.remaining < FOREVER).map(Course::end)
    }

    /// The leases whose time is up first, with when.
    pub fn soonest(&self) -> impl Iterator<Item = (Timestamp, LeaseId)> {
        self.ends.iter().copied()
    }

    /// How much time it was granted; `None` before it was asked, and when it is gone.
    pub fn granted(&self, id: LeaseId) -> Option<Millis> {
        self.course(id).filter(|course| course.granted > 0).map(Course::granted_time)
    }

    /// When it last had its full time, by the last poll: granted, renewed, or refreshed by a new
    /// leader. Up to a second early.
    pub fn full_at(&self, id: LeaseId) -> Option<Timestamp> {
        self.course(id).filter(|course| course.is_counted()).map(Course::full_at)
    }

    /// Whether its last answer was low, and one more would say that nobody renews it.
    pub(super) fn is_doubtful(&self, id: LeaseId) -> bool {
        self.course(id).is_some_and(Course::is_doubtful)
    }

    /// Whether it was ever seen to be renewed.
    pub fn was_renewed(&self, id: LeaseId) -> bool {
        self.course(id).is_some_and(|course| course.renewed_at.is_some())
    }

    /// The leases that hang on nothing that is known, each with the time it was granted and
    /// whether a renewal is missing by the last poll; those that were asked.
    pub fn keyless(&self) -> impl Iterator<Item = (LeaseId, Millis, bool)> {
        self.known.iter().filter(|(_, lease)| lease.keys.is_empty()).filter_map(|(&id, lease)| {
            let course = lease.course.as_deref().filter(|course| course.is_counted())?;
            Some((id, course.granted_time(), course.is_low()))
        })
    }

    /// The leases that more than one known key hangs on, in no order that means anything.
    pub fn shared(&self) -> impl Iterator<Item = LeaseId> {
        self.known.iter().filter(|(_, lease)| lease.keys.len() > 1).map(|(&id, _)| id)
    }

    /// What members do not know of the leases that others know, those that lack any.
    pub fn missing(&self) -> impl Iterator<Item = (MemberId, &Missing)> {
        self.missing.iter().map(|(&member, missing)| (member, missing))
    }

    /// Takes in which leases a member lacks; returns whether they are others than before.
    pub(super) fn set_missing(&mut self, at: Timestamp, member: MemberId, leases: Vec<LeaseId>) -> bool {
        if leases.is_empty() {
            return self.missing.remove(&member).is_some();
        }
        let since = self.missing.get(&member).map_or(Since { at, exact: false }, |known| known.since);
        let missing = Missing { leases, since };
        self.missing.insert(member, missing.clone()).is_none_or(|before| before != missing)
    }

    /// Whether it was polled yet.
    pub fn is_polled(&self, id: LeaseId) -> bool {
        self.course(id).is_some()
    }

    /// When it was polled last.
    pub fn polled_at(&self, id: LeaseId) -> Option<Timestamp> {
        self.course(id).map(|course| course.polled_at)
    }

    /// How many keys are known to hang on it.
    pub(super) fn key_count(&self, id: LeaseId) -> usize {
        self.known.get(&id).map_or(0, |lease| lease.keys.len())
    }

    /// The keys that are known to hang on it, in no order that means anything.
    pub(super) fn keys(&self, id: LeaseId) -> impl Iterator<Item = KeyIx> {
        self.known.get(&id).into_iter().flat_map(|lease| lease.keys.iter())
    }

    /// Hangs a key on a lease; returns whether the lease is new.
    pub(super) fn hang(&mut self, id: LeaseId, key: KeyIx) -> bool {
        if id.is_none() {
            return false;
        }
        let (lease, is_new) = self.know(id);
        lease.keys.insert(key);
        is_new
    }

    /// Takes a key off a lease. A lease that nobody lists is kept for a while without keys,
    /// because sessions put and delete keys all the time; a list or a poll may say more.
    pub(super) fn unhang(&mut self, at: Timestamp, id: LeaseId, key: KeyIx) {
        let Some(lease) = self.known.get_mut(&id) else { return };
        lease.keys.remove(&key);
        if lease.keys.is_empty() && !lease.listed {
            self.idle.push_back((at, id));
        }
    }

    /// Notes that somebody took a lock from this lease by a put over its key.
    pub(super) fn note_theft(&mut self, id: LeaseId, lock: LockIx) {
        if self.stolen_from.len() < MOST_STOLEN || self.stolen_from.contains_key(&id) {
            self.know(id);
            let locks = self.stolen_from.entry(id).or_default();
            if !locks.contains(&lock) {
                locks.push(lock);
            }
        }
    }

    /// The locks that were taken from a lease that is gone now.
    pub(super) fn take_stolen_from(&mut self, id: LeaseId) -> Vec<LockIx> {
        self.stolen_from.remove(&id).unwrap_or_default()
    }

    /// Forgets leases without keys that nobody listed and nobody used for a while.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        while let Some(&(since, id)) = self.idle.front() {
            if since + IDLE > now && self.idle.len() <= MOST_IDLE {
                return;
            }
            self.idle.pop_front();
            let idle = self.known.get(&id).is_some_and(|lease| lease.keys.is_empty() && !lease.listed);
            if idle && !self.stolen_from.contains_key(&id) {
                self.forget(id);
            }
        }
    }

    /// Takes in the list of all leases; returns those that are new.
    pub(super) fn set_listed(&mut self, ids: &[LeaseId]) -> Vec<LeaseId> {
        for lease in self.known.values_mut() {
            lease.listed = false;
        }
        let mut fresh = Vec::new();
        for &id in ids {
            let (lease, is_new) = self.know(id);
            lease.listed = true;
            if is_new {
                fresh.push(id);
            }
        }
        // A lease with keys that a lagging member does not list is still one. Of one that was stolen from
        // the leader has to say that it is gone.
        let is_gone = |(id, lease): &(&LeaseId, &Lease)| {
            !lease.listed && lease.keys.is_empty() && !self.stolen_from.contains_key(*id)
        };
        let gone: Vec<LeaseId> = self.known.iter().filter(is_gone).map(|(&id, _)| id).collect();
        for id in gone {
            self.forget(id);
        }
        fresh
    }

    /// Takes in the answer to a poll; returns whether the lease exists.
    pub(super) fn set_ttl(&mut self, at: Timestamp, term: Term, answer: &LeaseTtl) -> bool {
        let exists = answer.granted > 0 || answer.remaining >= 0;
        let id = answer.lease;
        let Some(lease) = self.known.get_mut(&id) else { return exists };
        let keyless = lease.keys.is_empty();
        let former = lease.course.as_ref().map(|course| course.end());
        let course = match &mut lease.course {
            Some(course) => {
                course.next(at, term, answer);
                course
            }
            none => none.insert(Box::new(Course::first(at, term, answer))),
        };
        let end = (exists && course.remaining < FOREVER).then(|| course.end());
        if let Some(former) = former {
            self.ends.remove(&(former, id));
        }
        if let Some(end) = end {
            self.ends.insert((end, id));
        }
        if !exists && keyless {
            self.forget(id);
        }
        exists
    }

    /// The lease of this id, and whether it was not known before.
    fn know(&mut self, id: LeaseId) -> (&mut Lease, bool) {
        match self.known.entry(id) {
            Entry::Occupied(known) => (known.into_mut(), false),
            Entry::Vacant(place) => {
                self.tails.add(id);
                (place.insert(Lease::default()), true)
            }
        }
    }

    /// Forgets a lease that has no keys and is known to be gone.
    pub(super) fn forget(&mut self, id: LeaseId) {
        let Some(lease) = self.known.remove(&id) else { return };
        self.tails.remove(id);
        if let Some(course) = lease.course {
            self.ends.remove(&(course.end(), id));
        }
    }

    /// What the cluster said of a lease last, and when.
    pub(super) fn answer(&self, id: LeaseId) -> Option<(Timestamp, LeaseTtl)> {
        let Course { granted, remaining, polled_at, term, .. } = *self.course(id)?;
        Some((polled_at, LeaseTtl { lease: id, granted, remaining, keys: None, term }))
    }

    fn course(&self, id: LeaseId) -> Option<&Course> {
        self.known.get(&id)?.course.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const L: LeaseId = LeaseId(7);

    fn leases() -> Leases {
        let mut leases = Leases::default();
        leases.set_listed(&[L]);
        leases
    }

    fn poll(leases: &mut Leases, at: i64, term: u64, granted: i64, remaining: i64) -> bool {
        let answer = LeaseTtl { lease: L, granted, remaining, keys: None, term: Term(0) };
        leases.set_ttl(Timestamp(at), Term(term), &answer)
    }

    #[test]
    fn remaining_is_interpolated_and_its_age_told() {
        let mut leases = leases();
        poll(&mut leases, 10_000, 1, 60, 42);
        let state = leases.ttl(L, Timestamp(12_500));
        assert_eq!(state, TtlState::Live { granted: 60, polled: 42, remaining: Millis(39_500), age: Millis(2_500) });
        assert_eq!(leases.ttl(LeaseId(8), Timestamp(0)), TtlState::Unpolled);
        assert_eq!(leases.ttl(LeaseId::NONE, Timestamp(0)), TtlState::NoLease);
    }

    #[test]
    fn a_raise_is_a_renewal_unless_the_term_changed() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 60, 45);
        poll(&mut leases, 1_000, 3, 60, 59);
        assert_eq!(leases.renewal(L, Timestamp(3_000)), Renewal::Renewed { ago: Millis(3_000) });
        let mut leases = super::tests::leases();
        poll(&mut leases, 0, 3, 60, 45);
        poll(&mut leases, 1_000, 4, 60, 60);
        assert_eq!(leases.renewal(L, Timestamp(3_000)), Renewal::Unknown);
    }

    #[test]
    fn two_low_polls_say_that_nobody_renews() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 60, 35);
        assert_eq!(leases.renewal(L, Timestamp(0)), Renewal::Unknown);
        poll(&mut leases, 5_000, 3, 60, 30);
        assert_eq!(leases.renewal(L, Timestamp(5_000)), Renewal::NotRenewed { since: Millis(30_000) });
        poll(&mut leases, 6_000, 3, 60, 60);
        assert_eq!(leases.renewal(L, Timestamp(6_000)), Renewal::Renewed { ago: Millis(0) });
    }

    #[test]
    fn a_dead_client_stays_dead_when_a_new_leader_refreshes_its_lease() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 60, 35);
        poll(&mut leases, 5_000, 3, 60, 30);
        poll(&mut leases, 10_000, 4, 60, 60);
        assert_eq!(leases.renewal(L, Timestamp(10_000)), Renewal::NotRenewed { since: Millis(35_000) });
        poll(&mut leases, 20_000, 4, 60, 50);
        assert_eq!(leases.renewal(L, Timestamp(20_000)), Renewal::NotRenewed { since: Millis(45_000) });
        poll(&mut leases, 21_000, 4, 60, 60);
        assert_eq!(leases.renewal(L, Timestamp(21_000)), Renewal::Renewed { ago: Millis(0) });
    }

    #[test]
    fn a_renewal_from_before_a_new_leaders_refresh_says_nothing_for_ever() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 20, 10);
        poll(&mut leases, 1_000, 3, 20, 19);
        poll(&mut leases, 15_000, 4, 20, 19);
        assert!(matches!(leases.renewal(L, Timestamp(18_000)), Renewal::Renewed { .. }));
        poll(&mut leases, 22_000, 4, 20, 13);
        assert_eq!(leases.renewal(L, Timestamp(22_000)), Renewal::Unknown);
    }

    #[test]
    fn a_lease_kept_at_a_third_is_never_called_dead() {
        let mut leases = leases();
        for second in 0..60 {
            poll(&mut leases, second * 1_000, 1, 60, 60 - second % 20);
            assert!(!matches!(leases.renewal(L, Timestamp(second * 1_000)), Renewal::NotRenewed { .. }), "{second}");
        }
    }

    #[test]
    fn a_short_lease_that_is_kept_is_neither_called_dead_nor_overdue() {
        // Polled once a second, late by up to 0.9 s, and renewed as Go's client does: at the first
        // tick of half a second after a third of the time, and a little late.
        for (granted, every) in [(2_i64, 1_000_i64), (3, 1_000), (4, 1_500), (5, 2_000), (7, 2_500), (10, 3_500)] {
            let mut leases = leases();
            for second in 0..600_i64 {
                let now = second * 1_000 + second * 37 % 900;
                let renewed = now - now % every - (now / every % 3) * 100;
                let left = (granted * 1_000 - (now - renewed)).max(0) / 1_000;
                poll(&mut leases, now, 1, granted, left);
                let at = Timestamp(now + 900);
                assert!(!matches!(leases.renewal(L, at), Renewal::NotRenewed { .. }), "{granted}s at {now}: {left}");
                assert!(!matches!(leases.ttl(L, at), TtlState::Overdue { .. }), "{granted}s at {now}: {left}");
            }
        }
    }

    #[test]
    fn two_polls_within_a_moment_are_one() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 60, 20);
        poll(&mut leases, 40, 3, 60, 20);
        assert_eq!(leases.renewal(L, Timestamp(40)), Renewal::Unknown);
        poll(&mut leases, 1_000, 3, 60, 19);
        assert_eq!(leases.renewal(L, Timestamp(1_000)), Renewal::NotRenewed { since: Millis(41_000) });
    }

    #[test]
    fn a_client_that_renews_late_as_a_rule_is_called_dead_later() {
        let mut leases = leases();
        let left = |second: i64| 15 - second % 12;
        for second in 0..60 {
            poll(&mut leases, second * 1_000, 3, 15, left(second));
            let dead = matches!(leases.renewal(L, Timestamp(second * 1_000)), Renewal::NotRenewed { .. });
            assert!(!dead || second < 12, "{second}");
        }
        for (second, left) in [(72, 3), (73, 2), (74, 1)] {
            poll(&mut leases, second * 1_000, 3, 15, left);
        }
        poll(&mut leases, 75_000, 3, 15, 0);
        assert!(matches!(leases.renewal(L, Timestamp(75_000)), Renewal::NotRenewed { .. }));
    }

    #[test]
    fn an_old_poll_says_nothing_of_now() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 60, 30);
        poll(&mut leases, 1_000, 3, 60, 29);
        assert!(matches!(leases.renewal(L, Timestamp(20_000)), Renewal::NotRenewed { .. }));
        assert_eq!(leases.renewal(L, Timestamp(22_000)), Renewal::Unknown);
    }

    #[test]
    fn who_was_alive_at_an_old_poll_is_not_called_alive_now() {
        let mut leases = leases();
        poll(&mut leases, 0, 3, 15, 10);
        poll(&mut leases, 1_000, 3, 15, 14);
        assert_eq!((leases.renewal(L, Timestamp(11_000)), leases.stale(L, Timestamp(11_000))), {
            (Renewal::Renewed { ago: Millis(11_000) }, None)
        });
        assert_eq!(leases.renewal(L, Timestamp(26_000)), Renewal::Unknown);
        let stale = leases.stale(L, Timestamp(26_000)).unwrap();
        assert_eq!((stale.asked, stale.renewal), (Millis(25_000), Renewal::Renewed { ago: Millis(1_000) }));
        assert_eq!(stale.ttl.remaining(), Some(Millis(14_000)));
    }

    #[test]
    fn no_second_left_is_overdue_when_it_stays_so() {
        let mut leases = leases();
        for second in 0..10 {
            poll(&mut leases, second * 1_000, 1, 60, 0);
            assert!(matches!(leases.ttl(L, Timestamp(second * 1_000)), TtlState::Live { .. }), "{second}");
        }
        poll(&mut leases, 10_000, 1, 60, 0);
        let overdue = TtlState::Overdue { granted: 60, by: Millis(10_000), age: Millis(0) };
        assert_eq!(leases.ttl(L, Timestamp(10_000)), overdue);
    }

    #[test]
    fn overdue_unknown_and_gone_are_states_of_their_own() {
        let mut leases = leases();
        assert!(poll(&mut leases, 100_000, 1, 60, 0));
        assert!(poll(&mut leases, 130_000, 1, 60, -30));
        assert_eq!(
            leases.ttl(L, Timestamp(131_000)),
            TtlState::Overdue { granted: 60, by: Millis(31_000), age: Millis(1_000) }
        );
        assert!(poll(&mut leases, 140_000, 2, 60, FOREVER));
        assert_eq!(leases.ttl(L, Timestamp(141_000)), TtlState::Unknown);
        assert_eq!(leases.renewal(L, Timestamp(141_000)), Renewal::Unknown);
        assert!(!poll(&mut leases, 150_000, 2, 0, -1));
        assert!(!leases.contains(L), "a keyless lease that is gone is forgotten");
    }

    #[test]
    fn a_lease_that_was_stolen_from_counts_among_those_that_are_told_apart() {
        let (one, other) = (LeaseId(0x1_0001), LeaseId(0x2_0001));
        let mut leases = Leases::default();
        leases.set_listed(&[one]);
        leases.note_theft(other, LockIx(0));
        assert_eq!(leases.digits(), 8, "both end alike");
        leases.take_stolen_from(other);
        leases.forget(other);
        assert_eq!(leases.digits(), 4);
        leases.set_listed(&[one, other]);
        assert_eq!(leases.digits(), 8, "it was counted away no more often than it came");
    }

    #[test]
    fn the_soonest_end_comes_first_and_leaves_with_the_lease() {
        let mut leases = leases();
        leases.set_listed(&[L, LeaseId(8)]);
        poll(&mut leases, 0, 1, 60, 50);
        leases.set_ttl(
            Timestamp(0),
            Term(1),
            &LeaseTtl { lease: LeaseId(8), granted: 10, remaining: 4, keys: None, term: Term(0) },
        );
        let soonest: Vec<LeaseId> = leases.soonest().map(|(_, id)| id).collect();
        assert_eq!(soonest, [LeaseId(8), L]);
        leases.set_listed(&[L]);
        assert_eq!(leases.soonest().count(), 1);
    }
}
