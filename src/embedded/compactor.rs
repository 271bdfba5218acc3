//! The leader's automatic compaction, so that history does not grow for ever: etcd's by revision
//! (`server/etcdserver/api/v3compactor/revision.go`, `--auto-compaction-mode=revision`).
//!
//! Every five minutes the leader proposes to compact at the current revision less what is to be
//! kept. Members agree on it by the log as on any request, so that they keep the same. The five
//! minutes are those of the cluster's clock, counted from its beginning as if all members were
//! started then; a member that does not lead lets them pass, and what got lost is made up for
//! five minutes later.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::domain::Revision;

/// etcd's `revInterval`.
const INTERVAL: Duration = Duration::from_mins(5);

/// When a member compacts next, and what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compactor {
    kept: NonZeroU64,
    /// Since the cluster began; none while the member does not lead.
    due: Option<Duration>,
}

impl Compactor {
    /// One that keeps so many of the latest revisions, at a member that does not lead.
    pub(super) const fn new(kept: NonZeroU64) -> Self {
        Self { kept, due: None }
    }

    /// The member leads from now on.
    pub(super) fn lead(&mut self, now: Duration) {
        self.due = Some(following(now));
    }

    /// It leads no more.
    pub(super) const fn follow(&mut self) {
        self.due = None;
    }

    /// When it has something to say next.
    pub(super) const fn next_due(&self) -> Option<Duration> {
        self.due
    }

    /// Where to compact now, by the revision of the store and where it was compacted before.
    pub(super) fn due(&mut self, now: Duration, revision: Revision, compacted: Revision) -> Option<Revision> {
        self.due.filter(|due| *due <= now)?;
        self.due = Some(following(now));
        let at = revision.0.checked_sub_unsigned(self.kept.get())?;
        (at > 0 && at > compacted.0).then_some(Revision(at))
    }
}

/// The next full five minutes.
fn following(now: Duration) -> Duration {
    let interval = INTERVAL.as_micros();
    let passed = u32::try_from(now.as_micros() / interval).unwrap_or(u32::MAX);
    INTERVAL.saturating_mul(passed.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Revision = Revision(-1);

    fn leading(kept: u64, since: Duration) -> Compactor {
        let mut compactor = Compactor::new(NonZeroU64::new(kept).unwrap());
        compactor.lead(since);
        compactor
    }

    #[test]
    fn every_five_minutes_all_but_the_latest_revisions_go() {
        let mut compactor = leading(100, Duration::from_secs(2));
        assert_eq!(compactor.next_due(), Some(INTERVAL));
        assert_eq!(compactor.due(INTERVAL.saturating_sub(Duration::from_micros(1)), Revision(500), NEVER), None);
        assert_eq!(compactor.due(INTERVAL, Revision(500), NEVER), Some(Revision(400)));
        assert_eq!(compactor.next_due(), Some(2 * INTERVAL));
    }

    #[test]
    fn a_short_history_is_kept_and_nothing_is_compacted_twice() {
        let mut compactor = leading(100, Duration::ZERO);
        assert_eq!(compactor.due(INTERVAL, Revision(100), NEVER), None);
        assert_eq!(compactor.due(2 * INTERVAL, Revision(101), NEVER), Some(Revision(1)));
        assert_eq!(compactor.due(3 * INTERVAL, Revision(101), Revision(1)), None);
        assert_eq!(compactor.due(4 * INTERVAL, Revision(400), Revision(350)), None, "somebody compacted more");
        assert_eq!(leading(u64::MAX, Duration::ZERO).due(INTERVAL, Revision(9), NEVER), None);
    }

    #[test]
    fn who_does_not_lead_lets_the_time_pass() {
        let mut compactor = leading(100, Duration::ZERO);
        compactor.follow();
        assert_eq!(compactor.next_due(), None);
        assert_eq!(compactor.due(INTERVAL, Revision(500), NEVER), None);
        compactor.lead(3 * INTERVAL);
        assert_eq!(compactor.next_due(), Some(4 * INTERVAL), "what was due meanwhile is not made up for at once");
    }
}
