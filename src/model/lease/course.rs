//! The course of a lease's time to live: what is left, and whether somebody renews it.
//!
//! Renewals are in no watch. What can be known is the remaining time at each poll, and from
//! two polls whether it was raised in between. Between polls the remaining time is
//! interpolated and the age of the poll is told along with it.

use crate::domain::{Millis, Term, Timestamp};
use crate::event::LeaseTtl;

/// What etcd answers when a member that just became leader does not know the time yet:
/// the largest duration in seconds (lessor.go, `forever`).
pub(super) const FOREVER: i64 = 9_223_372_036;

/// A poll counts as raised when it is this much above what was left: etcd answers in whole
/// seconds.
const GRAIN: Millis = Millis(1_500);

/// After so many low polls in a row nobody renews the lease.
const FALLING: u8 = 2;

/// Polls that follow each other faster than this are one: the second shows nothing new.
const APART: Millis = Millis(500);

/// A client may be this late without being called dead. Go's renews at the first of its ticks,
/// half a second apart, that comes after a third of the time (client `lease.go`, `sendKeepAliveLoop`).
const LATE: Millis = Millis(1_000);

/// What a poll showed says something of now for at least this long.
const FRESH: Millis = Millis(10_000);

/// No second left is overdue only when it stays so for this long: etcd rounds towards zero, so it
/// may be nearly a second, and a lease of two seconds can be met at that again and again.
const SURELY: Millis = Millis(10_000);

/// What the polls of a lease showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    pub(super) granted: i64,
    pub(super) remaining: i64,
    pub(super) polled_at: Timestamp,
    pub(super) term: Term,
    pub(super) renewed_at: Option<Timestamp>,
    /// What was left when it was renewed last, where that was seen: how late its client is as a rule.
    renewed_with: Option<Millis>,
    low_polls: u8,
    low_at: Timestamp,
    /// Since when a lease is known not to be renewed whose time a new leader raised since.
    unrenewed_since: Option<Timestamp>,
    overdue_since: Option<Timestamp>,
}

/// How much time a lease has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlState {
    /// There is no lease.
    NoLease,
    /// It was not asked yet.
    Unpolled,
    /// It lives.
    Live {
        /// Seconds granted.
        granted: i64,
        /// Seconds left by the last poll.
        polled: i64,
        /// What is left now, interpolated; never below zero.
        remaining: Millis,
        /// How old the poll is.
        age: Millis,
    },
    /// Its time is up and it is not revoked: the leader is busy or there is no quorum.
    Overdue {
        /// Seconds granted.
        granted: i64,
        /// For how long.
        by: Millis,
        /// How old the poll is.
        age: Millis,
    },
    /// It does not exist any more.
    Gone,
    /// The member that was asked does not know: it became leader a moment ago.
    Unknown,
}

impl TtlState {
    /// What is left, when that is known.
    pub const fn remaining(self) -> Option<Millis> {
        match self {
            Self::Live { remaining, .. } => Some(remaining),
            Self::Overdue { .. } | Self::Gone => Some(Millis(0)),
            Self::NoLease | Self::Unpolled | Self::Unknown => None,
        }
    }
}

/// Whether a client keeps its lease alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Not enough polls to tell, or the last one is too old to say something of now.
    Unknown,
    /// Its time was seen to be raised.
    Renewed {
        /// How long ago.
        ago: Millis,
    },
    /// It falls: below three fifths in two polls, where kept leases never are. Clients renew
    /// after a third of the time; one that was seen to renew later is given as long.
    NotRenewed {
        /// For how long it has not been renewed.
        since: Millis,
    },
}

/// What the last poll showed, where that is too old to say something of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// How old it is.
    pub asked: Millis,
    /// How much time there was then.
    pub ttl: TtlState,
    /// Whether a client kept it alive then.
    pub renewal: Renewal,
}

impl Course {
    pub(super) fn first(at: Timestamp, term: Term, answer: &LeaseTtl) -> Self {
        let mut course = Self {
            granted: answer.granted,
            remaining: answer.remaining,
            polled_at: at,
            term,
            renewed_at: None,
            renewed_with: None,
            low_polls: 0,
            low_at: at,
            unrenewed_since: None,
            overdue_since: None,
        };
        course.note_level();
        course
    }

    pub(super) fn next(&mut self, at: Timestamp, term: Term, answer: &LeaseTtl) {
        let before = *self;
        self.granted = answer.granted;
        self.remaining = answer.remaining;
        self.polled_at = at;
        self.term = term;
        if self.was_raised(&before) {
            if before.term == term {
                self.note_renewal(&before);
            } else {
                // A new leader gives every lease its full time again (lessor.go, `Promote`). That
                // is no renewal, and a client that was dead before still is.
                self.unrenewed_since = before.is_falling().then(|| before.unrenewed_since());
            }
        }
        self.note_level();
    }

    /// Whether there is more time than was left by the poll before. A raise of less than the
    /// grain shows when a poll comes well after the other and names more seconds nevertheless.
    fn was_raised(&self, before: &Self) -> bool {
        let comparable = self.is_counted() && before.is_counted() && self.granted == before.granted;
        let apart = self.polled_at - before.polled_at;
        comparable && (self.end() - before.end() > GRAIN || self.remaining > before.remaining && apart >= APART)
    }

    fn note_renewal(&mut self, before: &Self) {
        self.renewed_at = Some(self.full_at());
        self.unrenewed_since = None;
        self.low_polls = 0;
        // Between polls that are far apart there may have been several.
        if (self.polled_at - before.polled_at).0 <= self.granted_time().0 / 3 {
            self.renewed_with = Some(before.end() - self.full_at());
        }
    }

    fn note_level(&mut self) {
        if self.unrenewed_since.is_some() {
            self.low_polls = FALLING;
        } else if !self.is_low() {
            self.low_polls = 0;
        } else if self.low_polls == 0 || self.polled_at - self.low_at >= APART {
            self.low_polls = self.low_polls.saturating_add(1);
            self.low_at = self.polled_at;
        }
        self.overdue_since = match self.overdue_since {
            _ if self.granted <= 0 || self.remaining > 0 => None,
            // It got more time since, and that is up too.
            Some(since) if self.remaining < 0 && self.end() - since > GRAIN => Some(self.end()),
            Some(since) => Some(since),
            None => Some(self.end()),
        };
    }

    /// Whether so little is left that a renewal is missing: below three fifths, and later than a
    /// client may be. Of a whole second that etcd leaves out nothing is known.
    pub(super) fn is_low(&self) -> bool {
        let granted = self.granted_time().0;
        let usual = (granted / 5 * 3).min(granted / 3 * 2 - LATE.0);
        let low = self.renewed_with.map_or(usual, |with| usual.min(with.0 - LATE.0));
        self.is_counted() && Millis::from_secs(self.remaining + 1).0 <= low
    }

    /// Whether one poll was low, and another would show that nobody renews it.
    pub(super) const fn is_doubtful(&self) -> bool {
        0 < self.low_polls && self.low_polls < FALLING
    }

    /// Whether two polls showed that nobody renews it.
    const fn is_falling(&self) -> bool {
        self.low_polls >= FALLING
    }

    /// Whether the last answer named a time that is counted down.
    pub(super) const fn is_counted(&self) -> bool {
        self.granted > 0 && self.remaining < FOREVER
    }

    const fn is_gone(&self) -> bool {
        self.granted <= 0 && self.remaining < 0
    }

    pub(super) const fn granted_time(&self) -> Millis {
        Millis::from_secs(self.granted)
    }

    /// When its time is up by the last poll.
    pub(super) fn end(&self) -> Timestamp {
        self.polled_at + Millis::from_secs(self.remaining)
    }

    /// When it had its full time: the last renewal, grant or refresh.
    pub(super) fn full_at(&self) -> Timestamp {
        self.overdue_since.unwrap_or(self.end()) - self.granted_time()
    }

    fn unrenewed_since(&self) -> Timestamp {
        self.unrenewed_since.unwrap_or(self.full_at())
    }

    /// Since when it is surely overdue.
    fn overdue_since(&self) -> Option<Timestamp> {
        self.overdue_since.filter(|&since| self.remaining < 0 || self.polled_at - since >= SURELY)
    }

    /// Whether the last poll still says something: a client that renews does so within a third of
    /// the time.
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.since(self.polled_at) <= FRESH.max(Millis(self.granted_time().0 / 3))
    }

    pub(super) fn state(&self, now: Timestamp) -> TtlState {
        let age = now.since(self.polled_at);
        if self.is_gone() {
            return TtlState::Gone;
        }
        if self.remaining >= FOREVER {
            return TtlState::Unknown;
        }
        match self.overdue_since() {
            Some(since) => TtlState::Overdue { granted: self.granted, by: now.since(since), age },
            None => {
                TtlState::Live { granted: self.granted, polled: self.remaining, remaining: self.end().since(now), age }
            }
        }
    }

    pub(super) fn renewal(&self, now: Timestamp) -> Renewal {
        if self.is_gone() || self.remaining >= FOREVER || !self.is_fresh(now) {
            return Renewal::Unknown;
        }
        if self.overdue_since().is_some() || self.is_falling() {
            let since = now.since(self.unrenewed_since());
            return Renewal::NotRenewed { since };
        }
        // What lives longer than that without a renewal got its time from a new leader.
        let lasts = self.granted_time().max(FRESH);
        let ago = self.renewed_at.map(|at| now.since(at)).filter(|ago| *ago <= lasts);
        ago.map_or(Renewal::Unknown, |ago| Renewal::Renewed { ago })
    }

    /// What the last poll showed, where that says nothing of now.
    pub(super) fn stale(&self, now: Timestamp) -> Option<Stale> {
        let at = self.polled_at;
        let tells = !self.is_gone() && self.remaining < FOREVER && !self.is_fresh(now);
        tells.then(|| Stale { asked: now.since(at), ttl: self.state(at), renewal: self.renewal(at) })
    }
}
