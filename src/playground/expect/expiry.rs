//! What comes when a holder's key goes with its lease.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Facts, Judging, Said, Scene, Verdict, point, span};
use crate::domain::Key;
use crate::domain::play::{Belief, ClientId, Happening, Moment};
use crate::domain::raft::ClusterTime;

/// Somebody who waits has it soon.
#[derive(Debug)]
pub(super) struct Changes {
    lock: Key,
    within: Duration,
    /// Whose key the store has first, and had before that one.
    first: Option<ClientId>,
    before: Option<ClientId>,
    /// Whoever held before a client that said that it holds, while the store's word on it is yet
    /// to come: clients and the store are heard in any order.
    overtaken: Option<ClientId>,
    /// Since when nobody holds whose key the store has.
    open: Option<ClusterTime>,
    soon: u64,
    slowest: Duration,
    late: Option<(ClusterTime, Duration)>,
    /// Keys of holders that went while nobody waited.
    unwanted: u64,
}

impl Changes {
    pub const fn new(lock: Key, within: Duration) -> Self {
        Self {
            lock,
            within,
            first: None,
            before: None,
            overtaken: None,
            open: None,
            soon: 0,
            slowest: Duration::ZERO,
            late: None,
            unwanted: 0,
        }
    }

    /// A key is gone that its client did not delete.
    fn gone(&mut self, at: ClusterTime, client: ClientId, scene: &Scene) {
        // The store may have told before who is the first instead.
        if self.before == Some(client) {
            self.before = None;
        } else if self.first == Some(client) {
            self.first = None;
        } else if self.overtaken != Some(client) {
            return;
        }
        if self.overtaken.take_if(|overtaken| *overtaken == client).is_some() {
            self.soon += 1;
        } else if scene.is_waited_for(&self.lock, client) {
            self.open.get_or_insert(at);
        } else {
            self.unwanted += 1;
        }
    }
}

impl Judging for Changes {
    fn see(&mut self, moment: &Moment, scene: &Scene) {
        let Some(client) = moment.client.filter(|_| moment.lock == self.lock) else { return };
        match moment.what {
            Happening::First(_) => {
                self.before = self.first.filter(|before| *before != client).or(self.before);
                self.first = Some(client);
            }
            Happening::Released(_) | Happening::GaveUp => {
                for first in [&mut self.first, &mut self.before, &mut self.overtaken] {
                    first.take_if(|first| *first == client);
                }
            }
            Happening::Expired(..) | Happening::Dropped(..) => self.gone(moment.at, client, scene),
            Happening::Acquired(..) => {
                let first = self.first.replace(client).filter(|first| *first != client);
                if self.open.is_none() {
                    self.overtaken = first.or(self.before);
                }
                if let Some(since) = self.open.take() {
                    let took = moment.at.since(since);
                    self.slowest = self.slowest.max(took);
                    if took <= self.within {
                        self.soon += 1;
                    } else {
                        self.late.get_or_insert((since, took));
                    }
                }
            }
            _ => {}
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let open = self.open.map(|since| (since, facts.now.since(since)));
        let late = self.late.or(open.filter(|(_, waits)| *waits > self.within));
        if let Some((since, took)) = late {
            let evidence = Said::new("the key that went at {time} had no successor for {length}");
            return Verdict::new(false, evidence.with("time", point(since)).with("length", span(took)));
        }
        let evidence = match self.soon {
            0 if self.unwanted > 0 => {
                Said::new("{keys} of holders went, while nobody waited").count("keys", self.unwanted, "key")
            }
            0 => Said::new("no holder's key went with its lease"),
            soon => Said::new("{keys} had a successor after {length} at most")
                .count("keys", soon, "such key")
                .with("length", span(self.slowest)),
        };
        Verdict::enough(self.soon > 0, evidence)
    }
}

/// Somebody goes on believing.
#[derive(Debug)]
pub(super) struct StaleBelief {
    lock: Key,
    least: Duration,
    stale: BTreeMap<ClientId, ClusterTime>,
    longest: Option<(ClientId, ClusterTime, Duration)>,
}

impl StaleBelief {
    pub const fn new(lock: Key, least: Duration) -> Self {
        Self { lock, least, stale: BTreeMap::new(), longest: None }
    }

    fn longest(&self, now: ClusterTime) -> Option<(ClientId, ClusterTime, Duration)> {
        let open = self.stale.iter().map(|(client, since)| (*client, *since, now.since(*since)));
        self.longest.into_iter().chain(open).max_by_key(|(_, _, length)| *length)
    }
}

impl Judging for StaleBelief {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        let Some(client) = moment.client.filter(|_| moment.lock == self.lock) else { return };
        match moment.what {
            Happening::Dropped(_, Belief::Holding) => {
                self.stale.entry(client).or_insert(moment.at);
            }
            Happening::Lost(_)
            | Happening::Released(_)
            | Happening::GaveUp
            | Happening::Crashed(_)
            | Happening::Stopped
            | Happening::Acquired(..) => {
                self.longest = self.longest(moment.at);
                self.stale.remove(&client);
            }
            _ => {}
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        match self.longest(facts.now) {
            None => Verdict::new(None, Said::new("no holder's key went before it knew")),
            Some((client, since, length)) => {
                let evidence = Said::new("{client} from {time} on for {length}").with("client", client);
                let evidence = evidence.with("time", point(since)).with("length", span(length));
                Verdict::enough(length >= self.least, evidence)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Run, holds};
    use super::*;
    use crate::domain::Revision;

    const ACQUIRED: Happening = Happening::Acquired(Revision(3), Duration::ZERO);
    const ENQUEUED: Happening = Happening::Enqueued(Revision(4));
    const DROPPED: Happening = Happening::Dropped(Revision(5), Belief::Holding);

    #[test]
    fn a_successor_has_to_come_soon() {
        for (next, held) in [(3_900, true), (4_100, false)] {
            let mut run = Run::new("holder changes within 2s of expiry", 2);
            run.tells(0, 1, ACQUIRED);
            run.tells(500, 2, ENQUEUED);
            assert_eq!(run.stands(), (None, "no holder's key went with its lease".into()));
            run.tells(1_900, 1, DROPPED);
            assert_eq!(run.stands().0, None, "there is time yet");
            run.reach(4_000);
            assert_eq!(run.stands().0, Some(false), "nobody came");
            let mut run = Run::new("holder changes within 2s of expiry", 2);
            run.tells(0, 1, ACQUIRED);
            run.tells(500, 2, ENQUEUED);
            run.tells(1_900, 1, DROPPED);
            run.tells(next, 2, ACQUIRED);
            assert_eq!(holds(&run), held, "{:?}", run.stands());
        }
    }

    #[test]
    fn a_successor_may_be_heard_before_the_store() {
        for passes in [false, true] {
            let mut run = Run::new("holder changes within 2s of expiry", 3);
            run.tells(0, 1, ACQUIRED);
            run.tells(500, 2, ENQUEUED);
            run.tells(600, 3, ENQUEUED);
            if passes {
                run.tells(1_900, 2, Happening::First(Revision(5)));
            }
            run.tells(1_900, 2, ACQUIRED);
            run.tells(1_901, 1, DROPPED);
            run.reach(9_000);
            assert_eq!(run.stands(), (Some(true), "1 such key had a successor after 0 ms at most".into()), "{passes}");
        }
    }

    #[test]
    fn what_a_crashed_holder_leaves_counts_and_what_a_crashed_waiter_leaves_does_not() {
        let mut run = Run::new("holder changes within 2s of expiry", 3);
        run.tells(0, 1, ACQUIRED);
        run.tells(500, 2, ENQUEUED);
        run.tells(500, 3, ENQUEUED);
        run.tells(600, 2, Happening::Crashed(Belief::Waiting));
        run.tells(5_000, 2, Happening::Expired(Revision(9), Duration::ZERO));
        run.reach(9_000);
        assert_eq!(run.stands(), (None, "no holder's key went with its lease".into()));
        run.tells(9_000, 1, Happening::Crashed(Belief::Holding));
        run.tells(9_500, 1, Happening::Expired(Revision(12), Duration::ZERO));
        run.tells(9_510, 3, ACQUIRED);
        assert_eq!(run.stands(), (Some(true), "1 such key had a successor after 10 ms at most".into()));
    }

    #[test]
    fn nobody_is_missed_where_nobody_waits() {
        let mut run = Run::new("holder changes within 2s of expiry", 1);
        run.tells(0, 1, ACQUIRED);
        run.tells(1_000, 1, DROPPED);
        run.reach(9_000);
        assert_eq!(run.stands(), (None, "1 key of holders went, while nobody waited".into()));
    }

    #[test]
    fn a_belief_is_stale_until_the_client_knows() {
        let mut run = Run::new("stale belief for 1s", 1);
        run.tells(0, 1, ACQUIRED);
        run.tells(2_000, 1, DROPPED);
        run.reach(2_900);
        assert!(!holds(&run));
        run.tells(2_950, 1, Happening::Lost(Belief::Holding));
        run.reach(9_000);
        assert_eq!(run.stands(), (None, "client-1 from 2.00 s on for 950 ms".into()));
        run.tells(10_000, 1, DROPPED);
        run.reach(11_500);
        assert!(holds(&run));
    }
}
