//! Clients that wait for each other.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Facts, Judging, Said, Scene, Verdict, point, span};
use crate::domain::play::ClientId;
use crate::domain::raft::ClusterTime;

/// A circle that lasts so long, or that comes to its end.
#[derive(Debug)]
pub(super) struct Deadlock {
    /// How long it has to last; none when it has to end.
    least: Option<Duration>,
    now: Option<(ClusterTime, BTreeSet<ClientId>)>,
    longest: Option<(ClusterTime, Duration, usize)>,
    ended: u64,
}

impl Deadlock {
    pub const fn new(least: Option<Duration>) -> Self {
        Self { least, now: None, longest: None, ended: 0 }
    }

    fn close(&mut self, at: ClusterTime) {
        if let Some((since, members)) = self.now.take() {
            self.ended += 1;
            let length = at.since(since);
            if self.longest.is_none_or(|(_, longest, _)| longest < length) {
                self.longest = Some((since, length, members.len()));
            }
        }
    }
}

impl Judging for Deadlock {
    fn seen(&mut self, at: ClusterTime, scene: &Scene) {
        let circle = circle(scene);
        if self.now.as_ref().map(|(_, members)| members) != circle.as_ref() {
            self.close(at);
            self.now = circle.map(|members| (at, members));
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let open = self.now.as_ref().map(|(since, members)| (*since, facts.now.since(*since), members.len()));
        let Some((since, length, members)) = self.longest.into_iter().chain(open).max_by_key(|(_, length, _)| *length)
        else {
            return Verdict::new(None, Said::new("no clients waited for each other in a circle"));
        };
        let said = |words| Said::new(words).with("n", members).with("time", point(since)).with("length", span(length));
        match self.least {
            Some(least) => {
                let evidence = said("{n} clients waited for each other from {time} on for {length}");
                Verdict::enough(length >= least, evidence)
            }
            None if self.ended > 0 => {
                let evidence = said("{n} clients waited for each other from {time} on for {length}; {m} ended");
                Verdict::new(true, evidence.with("m", self.ended))
            }
            None => {
                let evidence = said("{n} clients waited for each other from {time} on for {length}, and it goes on");
                Verdict::new(None, evidence)
            }
        }
    }
}

/// Clients each of which waits for what the next one holds.
fn circle(scene: &Scene) -> Option<BTreeSet<ClientId>> {
    let next = |client| {
        let lock = scene.waits_for(client)?;
        scene.holders().get(lock)?.first().copied().filter(|holder| *holder != client)
    };
    for start in scene.holders().values().flatten() {
        let mut met = BTreeSet::new();
        let mut at = *start;
        while met.insert(at) {
            match next(at) {
                Some(holder) => at = holder,
                None => break,
            }
        }
        if met.len() > 1 && next(*start).is_some() && at == *start {
            return Some(met);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Run, holds};
    use crate::domain::Revision;
    use crate::domain::play::Happening;
    use std::time::Duration;

    const ACQUIRED: Happening = Happening::Acquired(Revision(3), Duration::ZERO);
    const ENQUEUED: Happening = Happening::Enqueued(Revision(4));

    fn embraced(words: &str) -> Run {
        let mut run = Run::new(words, 2);
        run.tells_of(1_000, "/run/a", 1, ACQUIRED);
        run.tells_of(1_000, "/run/b", 2, ACQUIRED);
        run.tells_of(1_500, "/run/b", 1, ENQUEUED);
        assert_eq!(run.stands(), (None, "no clients waited for each other in a circle".into()));
        run.tells_of(2_000, "/run/a", 2, ENQUEUED);
        run
    }

    #[test]
    fn a_circle_lasts_until_one_lets_go() {
        let mut run = embraced("deadlock for 3s");
        run.reach(4_900);
        assert!(!holds(&run));
        run.reach(5_100);
        assert!(holds(&run));
        run.tells_of(5_100, "/run/a", 1, Happening::Released(Duration::ZERO));
        run.tells_of(5_100, "/run/a", 2, ACQUIRED);
        run.reach(9_000);
        assert_eq!(run.stands(), (Some(true), "2 clients waited for each other from 2.00 s on for 3.10 s".into()));
    }

    #[test]
    fn a_circle_that_goes_on_has_not_ended() {
        let mut run = embraced("deadlock ends");
        run.reach(9_000);
        assert!(!holds(&run));
        run.tells_of(9_000, "/run/a", 1, Happening::Released(Duration::ZERO));
        assert!(holds(&run));
    }

    #[test]
    fn of_a_pair_the_store_tells_that_it_has_the_first_and_the_rest_follows() {
        let mut run = Run::pairs("deadlock for 3s", [("/run/a", "/run/b"), ("/run/b", "/run/a")]);
        // Who is first may be known before the client knows that its key is there.
        run.tells_of(1_000, "/run/a", 1, Happening::First(Revision(2)));
        run.tells_of(1_000, "/run/a", 1, Happening::Enqueued(Revision(2)));
        run.tells_of(1_000, "/run/b", 2, Happening::Enqueued(Revision(3)));
        run.tells_of(1_000, "/run/b", 2, Happening::First(Revision(3)));
        run.reach(4_100);
        assert!(holds(&run), "{:?}", run.stands());
        run.tells_of(5_000, "/run/a", 1, Happening::GaveUp);
        run.tells_of(5_000, "/run/a", 2, Happening::First(Revision(5)));
        run.tells_of(5_000, "/run/b", 2, ACQUIRED);
        run.reach(9_000);
        assert_eq!(run.stands().1, "2 clients waited for each other from 1.00 s on for 4.00 s");
    }

    #[test]
    fn waiting_in_one_queue_is_no_circle() {
        let mut run = Run::new("deadlock for 1s", 3);
        run.tells(1_000, 1, ACQUIRED);
        run.tells(1_000, 2, ENQUEUED);
        run.tells(1_000, 3, ENQUEUED);
        run.reach(9_000);
        assert!(!holds(&run));
    }
}
