//! Whose turn it was, how often it was passed on, and to whom.

use std::collections::BTreeMap;

use super::{Facts, Judging, Said, Scene, Thousandths, Verdict, locks, shown, times};
use crate::domain::Key;
use crate::domain::play::{ClientId, Happening, Moment};

/// Whoever took it had the oldest key.
#[derive(Debug)]
pub(super) struct Fifo(pub Option<Key>);

impl Judging for Fifo {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let (mut violations, mut judged, mut acquired, mut first) = (0, 0, 0, None);
        for (_, lock) in locks(facts.tally, self.0.as_ref()) {
            violations += lock.fifo_violations;
            judged += lock.judged;
            acquired += lock.acquired;
            first = first.or(lock.first_out_of_turn.as_ref());
        }
        match first {
            Some(first) => {
                let evidence = Said::new("{n} of {m} out of turn; {first}").with("n", violations).with("m", judged);
                Verdict::new(false, evidence.part("first", first.clone()))
            }
            // One that could not be looked up may have been out of turn.
            None => Verdict::new(
                (judged > 0 && judged == acquired).then_some(true),
                Said::new("{n} of {m} holders were looked up in the store's history: each was the oldest")
                    .with("n", judged)
                    .with("m", acquired),
            ),
        }
    }
}

/// No two believed at once that they held.
#[derive(Debug)]
pub(super) struct OneHolder(pub Option<Key>);

impl Judging for OneHolder {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let (mut doubles, mut acquired, mut first) = (0, 0, None);
        for (_, lock) in locks(facts.tally, self.0.as_ref()) {
            doubles += lock.double_holders;
            acquired += lock.acquired;
            first = first.or(lock.first_double.as_ref());
        }
        match first {
            Some(first) => {
                let words = if doubles == 1 { "{n} time in {holds}; {first}" } else { "{n} times in {holds}; {first}" };
                let evidence = Said::new(words).with("n", doubles).count("holds", acquired, "hold");
                Verdict::new(false, evidence.part("first", first.clone()))
            }
            None => Verdict::new(
                (acquired > 0).then_some(true),
                Said::new("{holds}, none began while another client believed it held").count("holds", acquired, "hold"),
            ),
        }
    }
}

/// Two believed at once that they held, so often.
#[derive(Debug)]
pub(super) struct DoubleHolders(pub Key, pub u64);

impl Judging for DoubleHolders {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let of = |of: fn(&crate::playground::tally::OfLock) -> u64| {
            locks(facts.tally, Some(&self.0)).map(|(_, lock)| of(lock)).sum::<u64>()
        };
        let (doubles, acquired) = (of(|lock| lock.double_holders), of(|lock| lock.acquired));
        let first = locks(facts.tally, Some(&self.0)).find_map(|(_, lock)| lock.first_double.as_ref());
        let evidence = match first {
            None => Said::new("{n} of {holds}"),
            Some(first) => Said::new("{n} of {holds}; {first}").part("first", first.clone()),
        };
        Verdict::enough(doubles >= self.1, evidence.with("n", doubles).count("holds", acquired, "hold"))
    }
}

/// It was passed on so often.
#[derive(Debug)]
pub(super) struct Handoffs(pub Key, pub u64);

impl Judging for Handoffs {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let handoffs = locks(facts.tally, Some(&self.0)).map(|(_, lock)| lock.handoffs).sum();
        let evidence = Said::new("{handoffs} of {name}").count("handoffs", handoffs, "handoff");
        Verdict::enough(handoffs >= self.1, evidence.with("name", shown(&self.0)))
    }
}

/// How often each client came to hold.
#[derive(Debug)]
struct Turns {
    lock: Key,
    /// With those that take part and never held.
    of: BTreeMap<ClientId, u64>,
}

impl Turns {
    fn new(lock: Key, scene: &Scene) -> Self {
        let of = scene.parts(&lock).map(|client| (client, 0)).collect();
        Self { lock, of }
    }

    fn see(&mut self, moment: &Moment) {
        let Some(client) = moment.client.filter(|_| moment.lock == self.lock) else { return };
        match moment.what {
            // Who joins later counts from then on.
            Happening::Began => drop(self.of.entry(client).or_default()),
            Happening::Acquired(..) => *self.of.entry(client).or_default() += 1,
            _ => {}
        }
    }
}

/// Each of its clients held it.
#[derive(Debug)]
pub(super) struct Everybody(Turns);

impl Everybody {
    pub fn new(lock: Key, scene: &Scene) -> Self {
        Self(Turns::new(lock, scene))
    }
}

impl Judging for Everybody {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        self.0.see(moment);
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let all = self.0.of.len() as u64;
        let without: Vec<_> = self.0.of.iter().filter(|(_, count)| **count == 0).map(|(client, _)| client).collect();
        let held = all - without.len() as u64;
        let evidence = match &*without {
            [] => Said::new("{n} of {clients} held it, {times} in all"),
            [first] => Said::new("{n} of {clients} held it, {times} in all; not {client}").with("client", first),
            [first, others @ ..] => Said::new("{n} of {clients} held it, {times} in all; not {client} and {m} more")
                .with("client", first)
                .with("m", others.len()),
        };
        let evidence = evidence.with("n", held).count("clients", all, "client");
        let evidence = evidence.part("times", times(self.0.of.values().sum()));
        Verdict::enough(all > 0 && without.is_empty(), evidence)
    }
}

/// How evenly they came to hold.
#[derive(Debug)]
pub(super) struct Fairness {
    turns: Turns,
    least: Thousandths,
}

impl Fairness {
    pub fn new(lock: Key, scene: &Scene, least: Thousandths) -> Self {
        Self { turns: Turns::new(lock, scene), least }
    }
}

impl Judging for Fairness {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        self.turns.see(moment);
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let counts = || self.turns.of.values().copied();
        let Some(index) = jain(counts()) else { return Verdict::new(None, Said::new("nobody held it")) };
        let (fewest, most) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
        let evidence = Said::new("{n}: {clients} held it {m} to {l} times").with("n", format_args!("{index:.3}"));
        let evidence = evidence.count("clients", self.turns.of.len() as u64, "client");
        Verdict::new(index >= self.least.value(), evidence.with("m", fewest).with("l", most))
    }
}

/// Jain's index of fairness; none when nobody had anything.
pub(super) fn jain(counts: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for count in counts {
        #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
        let count = count as f64;
        n += 1.0;
        sum += count;
        squares += count * count;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{Run, holds};
    use super::*;
    use crate::domain::Revision;

    fn acquired() -> Happening {
        Happening::Acquired(Revision(3), Duration::ZERO)
    }

    #[test]
    fn the_index_is_one_for_even_turns_and_one_in_n_for_one_client() {
        assert_eq!(jain([3, 3, 3].into_iter()), Some(1.0));
        assert_eq!(jain([5, 0, 0, 0].into_iter()), Some(0.25));
        assert_eq!(jain([0, 0].into_iter()), None);
        assert_eq!(jain([].into_iter()), None);
    }

    #[test]
    fn everybody_is_everybody_who_takes_part() {
        let mut run = Run::new("everybody holds", 2);
        run.tells(1_000, 1, acquired());
        assert_eq!(run.stands(), (None, "1 of 2 clients held it, 1 time in all; not client-2".into()));
        run.tells(2_000, 2, acquired());
        assert_eq!(run.stands().0, Some(true));
        // Who joins later counts too.
        run.tells(3_000, 3, Happening::Began);
        assert_eq!(run.stands().0, None);
    }

    #[test]
    fn turns_that_one_takes_alone_are_not_fair() {
        let mut run = Run::new("fairness >= 0.9", 2);
        assert_eq!(run.stands(), (None, "nobody held it".into()));
        for at in 0..4 {
            run.tells(at * 1_000, 1, acquired());
        }
        assert_eq!(run.stands(), (Some(false), "0.500: 2 clients held it 0 to 4 times".into()));
        for at in 4..8 {
            run.tells(at * 1_000, 2, acquired());
        }
        assert_eq!(run.stands().0, Some(true));
    }

    #[test]
    fn a_run_without_a_holder_keeps_no_promise() {
        for words in ["fifo", "one holder", "handoffs >= 1", "double holders >= 1", "everybody holds"] {
            let run = Run::new(words, 2);
            assert!(!holds(&run), "{words}");
        }
    }
}
