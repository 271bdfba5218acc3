//! From when on something counts as a finding. Where a configuration file says nothing else, the
//! numbers are these; what cannot be set is a constant of its rule.

use crate::domain::Millis;

use super::long_hold::SHORT;

/// From when on something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// A lock that is held for longer while others wait is held long, whatever is usual for it.
    pub long_hold: Millis,
    /// So many times its own median hold is long, too.
    pub long_hold_medians: u32,
    /// Others that wait for longer than this behind a client that renews are worth knowing of, where
    /// it is not known how long such a hold lasts.
    pub kept_waiting: Millis,
    /// A lease of more time than this blocks others for long when its client crashes.
    pub long_ttl: Millis,
    /// For how long it is told that somebody fell out of a queue.
    pub dropped_for: Millis,
    /// A lock that is usually held is to be free for this long at least before that is told.
    pub free_for: Millis,
    /// From so many leases of one TTL on that have no keys and are not renewed, they are told.
    pub keyless: u32,
    /// From so many on it is a warning.
    pub keyless_many: u32,
    /// For so long a holder is told of that lost its lease.
    pub lost_holder: Millis,
    /// For so long a change of the leader is told.
    pub leader_change: Millis,
    /// A cluster without a leader for longer than this is in trouble; an election is over sooner.
    pub leaderless: Millis,
    /// A member that gives no answer for so long is unreachable; one that was late once is not.
    pub silent: Millis,
    /// A link that is down for so long is no matter of one member that went.
    pub link_lost: Millis,
    /// A member that lacks what others had so long ago lags.
    pub lag: Millis,
    /// So many entries behind the others is a lag, however soon it came.
    pub lag_entries: u64,
    /// A backend that fills so much of its quota is nearly full, in percent.
    pub near_quota: i64,
    /// A live holder that others wait behind for longer than this may not know that it holds.
    pub stuck: Millis,
    /// So many times the longest hold that was seen is too long to be work.
    pub stuck_longest: i64,
}

impl Thresholds {
    /// The same for a single look: what is so has to count at once, as nobody knows since when.
    #[must_use]
    pub const fn at_one_look(self) -> Self {
        Self { leaderless: Millis(0), silent: Millis(0), link_lost: Millis(0), ..self }
    }

    /// The same for watching so long: others that wait behind a client that renews for nearly all of
    /// that time are worth knowing of, although they would be told later elsewhere.
    #[must_use]
    pub fn while_watched(self, length: Millis) -> Self {
        Self { kept_waiting: self.kept_waiting.min(seen_through(length)), ..self }
    }

    /// When watching for so long is too short to tell of others that wait behind a client that
    /// renews: how long it takes.
    pub fn too_short_for_waits(&self, watched: Millis) -> Option<Millis> {
        let least = self.kept_waiting.max(SHORT);
        (seen_through(watched) < least).then(|| Millis(least.0 + least.0 / 5))
    }
}

/// What of a time of watching is left for what was there at first, which is known a moment after
/// the beginning only.
const fn seen_through(watched: Millis) -> Millis {
    Millis(watched.0 - watched.0 / 6)
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            long_hold: Millis(15 * 60_000),
            long_hold_medians: 5,
            kept_waiting: Millis(20_000),
            long_ttl: Millis(5 * 60_000),
            dropped_for: Millis(5 * 60_000),
            free_for: Millis(60_000),
            keyless: 10,
            keyless_many: 100,
            lost_holder: Millis(60_000),
            leader_change: Millis(2 * 60_000),
            leaderless: Millis(5_000),
            silent: Millis(3_000),
            link_lost: Millis(2_000),
            lag: Millis(5_000),
            lag_entries: 10_000,
            near_quota: 80,
            stuck: Millis(10 * 60_000),
            stuck_longest: 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_watches_for_a_short_time_is_told_of_waits_as_long_as_that_but_of_no_short_ones() {
        let usual = Thresholds::default();
        for (watched, kept_waiting, takes) in
            [(5, 4_167, Some(12_000)), (12, 10_000, None), (18, 15_000, None), (60, 20_000, None)]
        {
            let watched = Millis::from_secs(watched);
            let then = usual.while_watched(watched);
            assert_eq!(
                (then.kept_waiting.0, then.too_short_for_waits(watched).map(|takes| takes.0)),
                (kept_waiting, takes)
            );
        }
        assert_eq!(usual.too_short_for_waits(Millis(13_001)), Some(Millis(24_000)));
        assert!((12_000..30_000).all(|ms| usual.while_watched(Millis(ms)).too_short_for_waits(Millis(ms)).is_none()));
    }
}
