//! What a lock protects: ledgers that holders write to, with their fencing tokens.
//!
//! A ledger knows nothing of locks and leases. One that checks tokens refuses a write with a lower
//! token than one it has seen, and so takes no harm of a holder that is late (Kleppmann, "How to do
//! distributed locking", 2016). One that does not takes them all, and counts the damage.

use std::sync::{Arc, Mutex, PoisonError};

use super::cast::Protected;
use crate::domain::Revision;
use crate::domain::play::ResourcePicture;

/// A protected resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Its name.
    pub name: String,
    /// Whether it checks fencing tokens.
    pub fencing: bool,
    /// The highest token it has seen.
    pub highest: Revision,
    /// How many writes it took.
    pub accepted: u64,
    /// How many it refused.
    pub refused: u64,
    /// How many of those it took came with a lower token than one before.
    pub stale_accepted: u64,
}

/// What a ledger makes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It took it.
    Taken,
    /// It took it, though it had seen this higher token.
    Damaged(Revision),
    /// It refused it: it had seen this higher token.
    Refused(Revision),
}

impl Ledger {
    /// One that nobody has written to.
    pub fn new(Protected { name, fencing }: &Protected) -> Self {
        Self { name: name.clone(), fencing: *fencing, ..Self::default() }
    }

    /// Takes a write with this fencing token, or refuses it.
    pub fn write(&mut self, token: Revision) -> Verdict {
        let verdict = match token < self.highest {
            true if self.fencing => Verdict::Refused(self.highest),
            true => Verdict::Damaged(self.highest),
            false => Verdict::Taken,
        };
        self.count(token, verdict);
        verdict
    }

    /// Takes in what became of a write, for who keeps the books elsewhere.
    pub fn count(&mut self, token: Revision, verdict: Verdict) {
        self.highest = self.highest.max(token);
        match verdict {
            Verdict::Taken => self.accepted += 1,
            Verdict::Damaged(_) => {
                self.accepted += 1;
                self.stale_accepted += 1;
            }
            Verdict::Refused(_) => self.refused += 1,
        }
    }
}

impl From<&Ledger> for ResourcePicture {
    fn from(ledger: &Ledger) -> Self {
        Self {
            name: ledger.name.clone(),
            fencing: ledger.fencing,
            highest: ledger.highest,
            accepted: ledger.accepted,
            refused: ledger.refused,
            stale_accepted: ledger.stale_accepted,
        }
    }
}

/// What became of one write at one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The ledger, by its place among them.
    pub ledger: usize,
    /// The token it came with.
    pub token: Revision,
    /// What the ledger made of it.
    pub verdict: Verdict,
}

/// The ledgers of a run. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Ledgers(Arc<Mutex<Vec<Ledger>>>);

impl Ledgers {
    /// Those of a cast.
    pub fn new(protected: &[Protected]) -> Self {
        Self(Arc::new(Mutex::new(protected.iter().map(Ledger::new).collect())))
    }

    /// Writes to each of them. What became of it goes to `note` before anybody else writes, so
    /// that it is noted in the order in which it happened. The highest token by which one of
    /// them refused it, if one did.
    pub fn write(&self, token: Revision, mut note: impl FnMut(Written)) -> Option<Revision> {
        let mut ledgers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut higher = None;
        for (at, ledger) in ledgers.iter_mut().enumerate() {
            let verdict = ledger.write(token);
            note(Written { ledger: at, token, verdict });
            if let Verdict::Refused(by) = verdict {
                higher = higher.max(Some(by));
            }
        }
        higher
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(fencing: bool) -> Protected {
        Protected { name: "storage".into(), fencing }
    }

    #[test]
    fn a_fenced_ledger_refuses_what_is_older_than_what_it_has_seen() {
        let mut ledger = Ledger::new(&protected(true));
        let verdicts = [391, 391, 392, 391, 393].map(|token| ledger.write(Revision(token)));
        let refused = Verdict::Refused(Revision(392));
        assert_eq!(verdicts, [Verdict::Taken, Verdict::Taken, Verdict::Taken, refused, Verdict::Taken]);
        assert_eq!((ledger.highest, ledger.accepted, ledger.refused), (Revision(393), 4, 1));
        assert_eq!(ledger.stale_accepted, 0);
    }

    #[test]
    fn an_unfenced_one_takes_everything_and_is_damaged() {
        let mut ledger = Ledger::new(&protected(false));
        ledger.write(Revision(392));
        assert_eq!(ledger.write(Revision(391)), Verdict::Damaged(Revision(392)));
        assert_eq!((ledger.accepted, ledger.refused, ledger.stale_accepted), (2, 0, 1));
        assert_eq!(ledger.highest, Revision(392), "a late write makes nothing older");
    }

    #[test]
    fn every_ledger_gets_every_write() {
        let ledgers = Ledgers::new(&[protected(false), protected(true)]);
        let mut noted = Vec::new();
        assert_eq!(ledgers.write(Revision(7), |written| noted.push(written)), None);
        assert_eq!(ledgers.write(Revision(5), |written| noted.push(written)), Some(Revision(7)));
        let verdicts: Vec<_> = noted.iter().map(|written| (written.ledger, written.verdict)).collect();
        let late = [(0, Verdict::Damaged(Revision(7))), (1, Verdict::Refused(Revision(7)))];
        assert_eq!(verdicts[..2], [(0, Verdict::Taken), (1, Verdict::Taken)]);
        assert_eq!(verdicts[2..], late);
    }
}
