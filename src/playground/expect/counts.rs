//! What is only counted.

use super::{Facts, Judging, Said, Scene, Verdict, times};
use crate::domain::Key;
use crate::domain::play::{Happening, Moment};

/// Keys that went and that nobody deleted.
#[derive(Debug)]
pub(super) struct Expired {
    lock: Option<Key>,
    least: u64,
    /// Of clients that had crashed, and of others.
    crashed: u64,
    dropped: u64,
}

impl Expired {
    pub const fn new(lock: Option<Key>, least: u64) -> Self {
        Self { lock, least, crashed: 0, dropped: 0 }
    }
}

impl Judging for Expired {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        if is_of(self.lock.as_ref(), moment) {
            match moment.what {
                Happening::Expired(..) => self.crashed += 1,
                Happening::Dropped(..) => self.dropped += 1,
                _ => {}
            }
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let all = self.crashed + self.dropped;
        let evidence = Said::new("{keys}: {n} of clients that had crashed, {m} of others").count("keys", all, "key");
        let evidence = evidence.with("n", self.crashed).with("m", self.dropped);
        Verdict::enough(all >= self.least, evidence)
    }
}

/// Clients that noticed.
#[derive(Debug)]
pub(super) struct Lost {
    lock: Option<Key>,
    least: u64,
    seen: u64,
}

impl Lost {
    pub const fn new(lock: Option<Key>, least: u64) -> Self {
        Self { lock, least, seen: 0 }
    }
}

impl Judging for Lost {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        if is_of(self.lock.as_ref(), moment) && matches!(moment.what, Happening::Lost(_)) {
            self.seen += 1;
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let evidence = Said::new("a client noticed it {times}").part("times", times(self.seen));
        Verdict::enough(self.seen >= self.least, evidence)
    }
}

/// What a resource has to do with writes that come with an old token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stale {
    NeverTaken,
    Refused,
    Taken,
}

/// The writes to one resource.
#[derive(Debug)]
pub(super) struct Writes {
    resource: Key,
    should: Stale,
    taken: u64,
    damaging: u64,
    refused: u64,
}

impl Writes {
    pub fn new(resource: &str, should: Stale) -> Self {
        Self { resource: Key::from(resource), should, taken: 0, damaging: 0, refused: 0 }
    }
}

impl Judging for Writes {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        if moment.lock == self.resource {
            match moment.what {
                Happening::Wrote(_) => self.taken += 1,
                Happening::Damaged(..) => self.damaging += 1,
                Happening::Refused(..) => self.refused += 1,
                _ => {}
            }
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let Self { taken, damaging, refused, .. } = *self;
        let tried = damaging + refused;
        let evidence = match (taken, tried) {
            (0, 0) => Said::new("nobody wrote"),
            (_, 0) => Said::new("{writes}, none with an old token").count("writes", taken, "write"),
            _ => Said::new("{writes}; of {n} with an old token {m} taken, {l} refused")
                .count("writes", taken + tried, "write")
                .with("n", tried)
                .with("m", damaging)
                .with("l", refused),
        };
        let held = match self.should {
            Stale::NeverTaken if damaging > 0 => Some(false),
            Stale::NeverTaken | Stale::Refused => (refused > 0).then_some(true),
            Stale::Taken => (damaging > 0).then_some(true),
        };
        Verdict::new(held, evidence)
    }
}

fn is_of(lock: Option<&Key>, moment: &Moment) -> bool {
    lock.is_none_or(|lock| *lock == moment.lock)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{Run, holds};
    use super::*;
    use crate::domain::Revision;
    use crate::recipe::Belief;

    #[test]
    fn keys_that_their_clients_deleted_did_not_expire() {
        let mut run = Run::new("expired keys >= 2", 2);
        run.tells(1_000, 1, Happening::Released(Duration::ZERO));
        assert!(!holds(&run));
        run.tells(2_000, 1, Happening::Dropped(Revision(4), Belief::Holding));
        run.tells(2_000, 2, Happening::Expired(Revision(5), Duration::ZERO));
        assert_eq!(run.stands(), (Some(true), "2 keys: 1 of clients that had crashed, 1 of others".into()));
    }

    #[test]
    fn a_resource_that_was_not_put_to_the_test_has_not_passed_it() {
        for words in ["no stale write accepted by ledger", "stale write refused by ledger"] {
            let mut run = Run::new(words, 2);
            assert_eq!(run.stands(), (None, "nobody wrote".into()));
            run.writes(1_000, "ledger", Happening::Wrote(Revision(5)));
            assert_eq!(run.stands(), (None, "1 write, none with an old token".into()));
            run.writes(1_000, "blind", Happening::Refused(Revision(3), Revision(5)));
            assert!(!holds(&run), "another resource");
            run.writes(2_000, "ledger", Happening::Refused(Revision(3), Revision(5)));
            let evidence = "2 writes; of 1 with an old token 0 taken, 1 refused";
            assert_eq!(run.stands(), (Some(true), evidence.into()));
            run.writes(3_000, "ledger", Happening::Damaged(Revision(3), Revision(5)));
            let damaged = if words.starts_with("no") { Some(false) } else { Some(true) };
            assert_eq!(run.stands().0, damaged);
        }
    }

    #[test]
    fn damage_is_what_a_blind_resource_shows() {
        let mut run = Run::new("stale write accepted by ledger", 2);
        run.writes(2_000, "ledger", Happening::Refused(Revision(3), Revision(5)));
        assert!(!holds(&run));
        run.writes(3_000, "ledger", Happening::Damaged(Revision(3), Revision(5)));
        assert!(holds(&run));
    }

    #[test]
    fn a_loss_that_nobody_noticed_is_none() {
        let mut run = Run::new("lost leases >= 1", 2);
        run.tells(1_000, 1, Happening::Dropped(Revision(4), Belief::Holding));
        assert!(!holds(&run));
        run.tells(1_000, 1, Happening::Lost(Belief::Holding));
        assert!(holds(&run));
    }
}
