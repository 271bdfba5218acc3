//! How soon those that watch learn of what changed.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::domain::play::Sight;
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, Revision};
use crate::playground::LockOf;

/// Of how many keys the last change is known; of more, of those that were heard of last.
const KEPT: usize = 4096;

/// Of longer values nothing is told.
const LONGEST: usize = 1024;

/// The last change of each key that somebody watches.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    last: BTreeMap<Key, Change>,
    /// In the order of their first change.
    order: VecDeque<Key>,
}

#[derive(Clone, Debug)]
struct Change {
    at: ClusterTime,
    /// None when the key went.
    value: Option<Vec<u8>>,
}

impl Sightings {
    /// The store changed so.
    pub fn changed<'a>(
        &mut self,
        at: ClusterTime,
        changes: &[(Revision, KeyEvent)],
        locks: impl Iterator<Item = &'a LockOf>,
    ) {
        let watched: Vec<_> = locks.filter(|lock| matches!(lock, LockOf::Watched(_))).map(LockOf::name).collect();
        if watched.is_empty() {
            return;
        }
        for (_, event) in changes.iter().filter(|(_, event)| watched.iter().any(|name| event.key().starts_with(name))) {
            let value = match event {
                KeyEvent::Put(kv) if kv.value.len() > LONGEST => continue,
                KeyEvent::Put(kv) => Some(kv.value.clone()),
                KeyEvent::Delete { .. } => None,
            };
            let key = event.key();
            if self.last.insert(key.clone(), Change { at, value }).is_none() {
                self.order.push_back(key.clone());
                if self.order.len() > KEPT
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.last.remove(&oldest);
                }
            }
        }
    }

    /// A client whose life began then sees this: how long after the change that was; none when it
    /// is not about a change that it could have watched.
    pub fn saw(&self, at: ClusterTime, began: Option<ClusterTime>, sight: &Sight) -> Option<Duration> {
        let change = self.last.get(sight.key())?;
        let seen = match sight {
            Sight::Appeared(_, value) | Sight::Changed(_, value) => Some(value),
            Sight::Went(_) => None,
        };
        // What another one was told is not known here yet: the client was quicker.
        if change.value.as_ref() != seen {
            return Some(Duration::ZERO);
        }
        // What was there before it began it has read, and not watched.
        began.is_some_and(|began| began < change.at).then(|| at.since(change.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::KeyValue;

    fn at(millis: u64) -> ClusterTime {
        ClusterTime(millis * 1000)
    }

    fn put(key: &str, value: &str) -> (Revision, KeyEvent) {
        let (key, value) = (key.into(), value.as_bytes().to_vec());
        (Revision(1), KeyEvent::Put(KeyValue { key, value, ..KeyValue::default() }))
    }

    #[test]
    fn a_sight_is_timed_from_the_change_and_what_was_only_read_is_not() {
        let mut sights = Sightings::default();
        let locks = [LockOf::Watched("/s/".into()), LockOf::Queue("/a".into())];
        sights.changed(at(100), &[put("/s/web", "up"), put("/a/1", "me")], locks.iter());
        let appeared = Sight::Appeared("/s/web".into(), b"up".to_vec());
        assert_eq!(sights.saw(at(130), Some(at(0)), &appeared), Some(Duration::from_millis(30)));
        assert_eq!(sights.saw(at(900), Some(at(800)), &appeared), None, "it came later and read");
        let went = (Revision(2), KeyEvent::Delete { key: "/s/web".into(), previous: None });
        sights.changed(at(1_000), &[went], locks.iter());
        assert_eq!(sights.saw(at(1_005), Some(at(0)), &Sight::Went("/s/web".into())), Some(Duration::from_millis(5)));
        let other = Sight::Appeared("/a/1".into(), b"me".to_vec());
        assert_eq!(sights.saw(at(1_000), Some(at(0)), &other), None, "nobody watches there");
    }

    #[test]
    fn of_very_many_keys_the_latest_are_kept() {
        let mut sights = Sightings::default();
        let locks = [LockOf::Watched("/s/".into())];
        for n in 0..KEPT + 10 {
            sights.changed(at(1), &[put(&format!("/s/{n}"), "up")], locks.iter());
        }
        assert_eq!((sights.last.len(), sights.order.len()), (KEPT, KEPT));
        assert_eq!(sights.saw(at(2), Some(at(0)), &Sight::Appeared("/s/3".into(), b"up".to_vec())), None);
    }
}
