//! What a client leaves in the store, for who tidies up behind it.
//!
//! What hangs on a lease goes with it, so of that the lease is enough. What hangs on nothing, such
//! as the key of a client that puts first and takes a lease later, is known by the revisions that
//! the client's puts made. Of a put that was not answered, the key and its value have to do.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use crate::domain::escape::escape;
use crate::domain::{Key, KeyValue, LeaseId, Revision};
use crate::recipe::{Answer, Call, Failure};

/// How many revisions of one client are known: the first and the latest.
const KEPT: usize = 4096;

/// How many of its leases, and of its doubtful puts: the latest. Older leases have mostly run out.
const LATEST: usize = 64;

/// What a client leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Leases that were granted and not revoked; most of them have run out.
    pub leases: VecDeque<LeaseId>,
    /// The longest that any lease of it was granted for.
    longest: Duration,
    /// The revisions that its puts without a lease made.
    made: BTreeSet<Revision>,
    /// Puts without a lease that were never answered.
    doubtful: VecDeque<(Key, Vec<u8>)>,
}

/// What a call leaves, for who tidies up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// A lease.
    Lease,
    /// One lease less.
    NoLease(LeaseId),
    /// A key with this value, which hangs on nothing.
    Key(Key, Vec<u8>),
    /// Nothing, or what goes with a lease.
    Nothing,
}

impl Leaves {
    /// What this call leaves if it is done.
    pub fn of(call: &Call) -> Self {
        match call {
            Call::Grant { .. } => Self::Lease,
            Call::Revoke(lease) => Self::NoLease(*lease),
            Call::Create { key, value, lease } | Call::Put { key, value, lease } if lease.is_none() => {
                Self::Key(key.clone(), value.clone())
            }
            _ => Self::Nothing,
        }
    }
}

impl Left {
    /// Takes in what became of a call.
    pub fn note(&mut self, leaves: Leaves, answer: &Result<Answer, Failure>) {
        match (leaves, answer) {
            (_, Ok(Answer::Granted { lease, ttl })) => {
                self.longest = self.longest.max(*ttl);
                if self.leases.len() == LATEST {
                    self.leases.pop_front();
                }
                self.leases.push_back(*lease);
            }
            (Leaves::NoLease(lease), Ok(_) | Err(Failure::LeaseGone)) => self.leases.retain(|left| *left != lease),
            (Leaves::Key(..), Ok(Answer::Put(revision))) => self.make(*revision),
            // Of an older key it is somebody else's, or one of the doubtful.
            (Leaves::Key(..), Ok(Answer::Created { revision, created, .. })) if revision == created => {
                self.make(*created);
            }
            (Leaves::Key(key, value), Err(Failure::Unanswered)) => {
                let put = (key, value);
                if !self.doubtful.contains(&put) {
                    if self.doubtful.len() == LATEST {
                        self.doubtful.pop_front();
                    }
                    self.doubtful.push_back(put);
                }
            }
            _ => {}
        }
    }

    /// Takes in what another client left.
    pub fn extend(&mut self, other: Self) {
        self.leases.extend(other.leases);
        self.longest = self.longest.max(other.longest);
        self.made.extend(other.made);
        self.doubtful.extend(other.doubtful);
    }

    /// Whether a key that hangs on nothing is known to be its own.
    pub fn has(&self, kv: &KeyValue) -> bool {
        let is_doubtful = |(key, value): &(Key, Vec<u8>)| *key == kv.key && *value == kv.value;
        self.made.contains(&kv.create_revision) || self.doubtful.iter().any(is_doubtful)
    }

    /// Whether there can be keys of it that hang on nothing.
    pub fn has_keys(&self) -> bool {
        !self.made.is_empty() || !self.doubtful.is_empty()
    }

    /// Whether nothing is left.
    pub fn is_nothing(&self) -> bool {
        self.leases.is_empty() && !self.has_keys()
    }

    /// This, told as what remains below a prefix; none when it is nothing.
    pub fn remains(&self, prefix: &Key) -> Option<Remains> {
        (!self.is_nothing()).then(|| Remains {
            prefix: prefix.clone(),
            leases: self.leases.len(),
            longest: self.longest,
            keys: self.has_keys(),
        })
    }

    fn make(&mut self, revision: Revision) {
        // A put anew keeps the revision that created the key, so the first counts longest.
        let second = self.made.iter().nth(1).copied();
        if let Some(second) = second.filter(|_| self.made.len() == KEPT) {
            self.made.remove(&second);
        }
        self.made.insert(revision);
    }
}

/// What could not be taken away at the end of a run. The store may have dropped some of it by
/// itself: whoever is not answered does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// What the keys begin with.
    pub prefix: Key,
    /// How many leases, with what hangs on them.
    pub leases: usize,
    /// The longest that one of them was granted for.
    pub longest: Duration,
    /// Whether there can be keys that hang on no lease, and stay.
    pub keys: bool,
}

impl fmt::Display for Remains {
    /// In sentences, with when it goes by itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = escape(&self.prefix);
        let mut parted = "";
        if self.leases > 0 {
            let (leases, they, themselves) = match self.leases {
                1 => ("a lease".to_owned(), "it runs", "itself"),
                many => (format!("up to {many} leases"), "they run", "themselves"),
            };
            let longest = self.longest.as_secs();
            write!(
                f,
                "{leases} with keys below {prefix} could not be taken away: {they} out by {themselves}, at the latest \
                 {longest} s after the cluster has a leader and hears no more of the clients"
            )?;
            parted = "\n";
        }
        if self.keys {
            write!(
                f,
                "{parted}keys below {prefix} that hang on no lease could not be taken away, and stay until somebody \
                 deletes them"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(revision: i64) -> Answer {
        Answer::Put(Revision(revision))
    }

    fn puts() -> Leaves {
        Leaves::of(&Call::Put { key: "/a".into(), value: b"me".to_vec(), lease: LeaseId::NONE })
    }

    fn there(created: i64, value: &str) -> KeyValue {
        let value = value.as_bytes().to_vec();
        KeyValue { key: "/a".into(), value, create_revision: Revision(created), ..KeyValue::default() }
    }

    #[test]
    fn a_lease_is_left_until_it_is_known_to_be_gone() {
        let mut left = Left::default();
        let granted = |lease| Ok(Answer::Granted { lease: LeaseId(lease), ttl: Duration::from_secs(5) });
        left.note(Leaves::Nothing, &granted(1));
        left.note(Leaves::Nothing, &granted(2));
        left.note(Leaves::NoLease(LeaseId(1)), &Err(Failure::Unanswered));
        assert_eq!(left.leases, [LeaseId(1), LeaseId(2)]);
        left.note(Leaves::NoLease(LeaseId(1)), &Err(Failure::LeaseGone));
        left.note(Leaves::NoLease(LeaseId(2)), &Ok(Answer::Revoked));
        assert!(left.leases.is_empty());
    }

    #[test]
    fn what_remains_is_told_with_when_it_goes() {
        let mut left = Left::default();
        assert_eq!(left.remains(&"/t/".into()), None);
        for (lease, seconds) in [(1, 5), (2, 15), (3, 5)] {
            let ttl = Duration::from_secs(seconds);
            left.note(Leaves::Lease, &Ok(Answer::Granted { lease: LeaseId(lease), ttl }));
        }
        let told = |left: &Left| left.remains(&"/t/\u{1b}".into()).unwrap().to_string();
        assert_eq!(
            told(&left),
            "up to 3 leases with keys below /t/\\x1b could not be taken away: they run out by themselves, at the \
             latest 15 s after the cluster has a leader and hears no more of the clients"
        );
        left.leases.clear();
        left.note(puts(), &Ok(put(7)));
        assert!(told(&left).starts_with("keys below /t/\\x1b that hang on no lease"), "{}", told(&left));
    }

    #[test]
    fn a_key_is_its_own_by_the_revision_that_created_it() {
        let mut left = Left::default();
        assert!(!left.has_keys());
        left.note(puts(), &Ok(put(7)));
        for revision in 8..=5_000 {
            left.note(puts(), &Ok(put(revision)));
        }
        assert!(left.has(&there(7, "changed since")), "it was put anew five thousand times");
        assert!(left.has(&there(5_000, "me")), "somebody deleted it in between");
        assert!(!left.has(&there(6, "me")), "somebody else's");
    }

    #[test]
    fn of_a_put_without_an_answer_the_value_tells() {
        let mut left = Left::default();
        left.note(puts(), &Err(Failure::Unanswered));
        assert!(left.has(&there(9, "me")) && !left.has(&there(9, "you")));
        let created = Answer::Created { revision: Revision(9), created: Revision(3), lease: LeaseId::NONE };
        let mut left = Left::default();
        left.note(puts(), &Ok(created));
        assert!(!left.has(&there(3, "me")), "it was there before");
    }
}
