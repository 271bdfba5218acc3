//! What a recording that is to be shared does not tell: values.
//!
//! Keys stay as they are, for they make the locks. What a layout reads out of values, such as a
//! holder's name, is another one afterwards.

use std::borrow::Cow;
use std::fmt::Write as _;

use rustls::SupportedCipherSuite;
use rustls::crypto::hash::Hash;
use rustls::crypto::ring;

use crate::domain::play::{Happening, Sight};
use crate::domain::{KeyEvent, KeyValue, Redaction};
use crate::event::{Observation, Past};

/// Does to values what a [`Redaction`] says.
pub enum Redactor {
    /// Nothing.
    None,
    /// Leaves values out.
    Values,
    /// Hashes them.
    Hash(Hasher),
}

/// The hash, which is HMAC-SHA-256 (RFC 2104), cut to 128 bits.
pub struct Hasher {
    hash: &'static dyn Hash,
    key: [u8; BLOCK],
}

/// The block of SHA-256 in bytes.
const BLOCK: usize = 64;
/// Bytes of the hash that are told.
const TOLD: usize = 16;

impl Redactor {
    /// One with a key of its own, where there is a need for one.
    ///
    /// # Errors
    /// When the system gives no random bytes for it.
    pub fn new(redaction: Redaction) -> Result<Self, String> {
        match redaction {
            Redaction::None => Ok(Self::None),
            Redaction::Values => Ok(Self::Values),
            Redaction::Hash => {
                let mut key = [0; BLOCK];
                let filled = ring::default_provider().secure_random.fill(&mut key[..BLOCK / 2]);
                filled.map_err(|_| "the system gives no random bytes".to_owned())?;
                let SupportedCipherSuite::Tls13(suite) = ring::cipher_suite::TLS13_AES_128_GCM_SHA256 else {
                    return Err("there is no SHA-256".to_owned());
                };
                Ok(Self::Hash(Hasher { hash: suite.common.hash_provider, key }))
            }
        }
    }

    /// What may be written of an observation.
    pub fn apply<'a>(&self, what: &'a Observation) -> Cow<'a, Observation> {
        if matches!(self, Self::None) {
            return Cow::Borrowed(what);
        }
        let mut what = Cow::Borrowed(what);
        if tells_values(&what) {
            self.values(what.to_mut());
        }
        what
    }

    fn values(&self, what: &mut Observation) {
        match what {
            Observation::Listed(page) | Observation::Past { part: Past::Listed(page), .. } => {
                page.keys.iter_mut().for_each(|kv| self.key_value(kv));
            }
            Observation::Watched(changes)
            | Observation::Filled(changes)
            | Observation::Past { part: Past::Changes { changes, .. }, .. } => {
                for change in changes {
                    match &mut change.event {
                        KeyEvent::Put(kv) | KeyEvent::Delete { previous: Some(kv), .. } => self.key_value(kv),
                        KeyEvent::Delete { previous: None, .. } => {}
                    }
                }
            }
            Observation::Play(picture) => {
                for moment in &mut picture.moments {
                    if let Happening::Saw(Sight::Appeared(_, value) | Sight::Changed(_, value)) = &mut moment.what {
                        self.value(value);
                    }
                }
            }
            _ => {}
        }
    }

    fn key_value(&self, kv: &mut KeyValue) {
        self.value(&mut kv.value);
    }

    fn value(&self, value: &mut Vec<u8>) {
        match self {
            // That there is none is all that is known of it.
            _ if value.is_empty() => {}
            Self::None => {}
            Self::Values => value.fill(b'*'),
            Self::Hash(hasher) => *value = hasher.hash(value),
        }
    }
}

/// Whether there are values in it. Every kind is named, so that nobody adds one and forgets this.
fn tells_values(what: &Observation) -> bool {
    match what {
        Observation::Listed(_) | Observation::Watched(_) | Observation::Filled(_) => true,
        Observation::Past { part, .. } => match part {
            Past::Listed(_) | Past::Changes { .. } => true,
            Past::Begun { .. } | Past::Compacted { .. } | Past::Ended { .. } => false,
        },
        Observation::Play(picture) => picture.moments.iter().any(|at| matches!(at.what, Happening::Saw(_))),
        Observation::Link(_)
        | Observation::Cluster(_)
        | Observation::Scope(_)
        | Observation::Progress(_)
        | Observation::WatchLost(_)
        | Observation::FillEnded { .. }
        | Observation::Denied(_)
        | Observation::LeaseList(_)
        | Observation::LeasesMissing { .. }
        | Observation::LeaseTtl(_)
        | Observation::LeasesPolled(_)
        | Observation::Members(_)
        | Observation::Status { .. }
        | Observation::Alarms(_)
        | Observation::Raft(_)
        | Observation::FaultDone(..)
        | Observation::OrderDone(..)
        | Observation::LeaseKeys(..)
        | Observation::WriteDone(_) => false,
    }
}

impl Hasher {
    fn hash(&self, value: &[u8]) -> Vec<u8> {
        let padded = |pad: u8, text: &[u8]| {
            let block = self.key.map(|byte| byte ^ pad);
            self.hash.hash(&[&block, text].concat())
        };
        let inner = padded(0x36, value);
        let outer = padded(0x5c, inner.as_ref());
        let mut text = String::with_capacity(2 * TOLD);
        for byte in outer.as_ref().iter().take(TOLD) {
            write!(text, "{byte:02x}").expect("writing to a String never fails");
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{KeyRange, Revision};
    use crate::event::{Change, ListPage};

    const SECRET: &[u8] = b"s3cret";

    fn put(value: &[u8]) -> Change {
        let kv = KeyValue { key: "/a/1".into(), value: value.to_vec(), ..KeyValue::default() };
        Change { revision: Revision(1), event: KeyEvent::Put(kv) }
    }

    fn changes() -> Observation {
        let gone = KeyEvent::Delete {
            key: "/a/1".into(),
            previous: Some(KeyValue { value: SECRET.to_vec(), ..KeyValue::default() }),
        };
        let gone = Change { revision: Revision(2), event: gone };
        Observation::Watched(vec![put(SECRET), gone, put(b"other"), put(b"")])
    }

    fn values(what: &Observation) -> Vec<Vec<u8>> {
        let Observation::Watched(changes) = what else { panic!("{what:?}") };
        let value = |change: &Change| match &change.event {
            KeyEvent::Put(kv) | KeyEvent::Delete { previous: Some(kv), .. } => kv.value.clone(),
            KeyEvent::Delete { .. } => panic!("no value"),
        };
        changes.iter().map(value).collect()
    }

    #[test]
    fn values_that_are_left_out_keep_their_length() {
        let told = Redactor::new(Redaction::Values).unwrap().apply(&changes()).into_owned();
        assert_eq!(values(&told), [&b"******"[..], b"******", b"*****", b""]);
        assert!(format!("{told:?}").contains("/a/1"), "keys stay");
    }

    #[test]
    fn equal_values_have_equal_hashes_in_one_recording_and_others_in_the_next() {
        let redactor = Redactor::new(Redaction::Hash).unwrap();
        let told = values(&redactor.apply(&changes()));
        assert_eq!(told[0], told[1]);
        assert_ne!(told[0], told[2]);
        assert_eq!((told[0].len(), told[3].len()), (32, 0));
        assert_eq!(values(&redactor.apply(&changes())), told);
        assert_ne!(values(&Redactor::new(Redaction::Hash).unwrap().apply(&changes()))[0], told[0]);
    }

    #[test]
    fn the_hash_is_that_of_rfc_4231() {
        // Test case 2: the key is "Jefe".
        let Redactor::Hash(mut hasher) = Redactor::new(Redaction::Hash).unwrap() else { panic!("no hash") };
        hasher.key = [0; BLOCK];
        hasher.key[..4].copy_from_slice(b"Jefe");
        assert_eq!(hasher.hash(b"what do ya want for nothing?"), b"5bdcc146bf60754e6a042426089575c7");
    }

    #[test]
    fn what_is_read_of_the_past_of_a_lock_tells_no_values_either() {
        let kv = KeyValue { key: "/a/1".into(), value: SECRET.to_vec(), ..KeyValue::default() };
        let range = KeyRange::prefix(b"/a/");
        let page = ListPage { range, revision: Revision(1), keys: vec![kv], first: true, last: true };
        let Observation::Watched(changes) = changes() else { panic!("no changes") };
        let parts = [Past::Listed(page.clone()), Past::Changes { changes: changes.clone(), alive: vec![] }];
        let past = parts.map(|part| Observation::Past { lock: "/a".into(), part });
        let now = [Observation::Listed(page), Observation::Filled(changes)];
        let secret = serde_json::to_string(std::str::from_utf8(SECRET).unwrap()).unwrap();
        for what in past.iter().chain(&now) {
            assert!(serde_json::to_string(what).unwrap().contains(&secret), "{what:?}");
            for redaction in [Redaction::Values, Redaction::Hash] {
                let told = serde_json::to_string(&*Redactor::new(redaction).unwrap().apply(what)).unwrap();
                assert!(!told.contains(&secret) && told.contains("/a/1"), "{told}");
            }
        }
    }

    #[test]
    fn without_a_wish_nothing_is_copied() {
        let what = changes();
        assert!(matches!(Redactor::new(Redaction::None).unwrap().apply(&what), Cow::Borrowed(_)));
    }
}
