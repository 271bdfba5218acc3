//! Watches a prefix and knows what is there: the users of a service, a cluster's monitor, whoever
//! reads a configuration.
//!
//! ```text
//!   /services/api/1   put     ─► appeared
//!   /services/api/2   put     ─► appeared
//!   /services/api/1   put     ─► changed, if the value is another one
//!   /services/api/2   deleted ─► went: released, or its lease has run out
//! ```

use super::follow::{Eye, Follower, Keys};
use crate::domain::{Key, KeyValue};

/// A client that watches all keys with a prefix.
pub type Watch = Follower<Everything>;

/// Looks at all keys.
#[derive(Clone, Copy, Debug)]
pub struct Everything;

impl Watch {
    /// A client that watches all keys with this prefix.
    pub fn new(prefix: &[u8]) -> Self {
        Self::by(Everything, prefix)
    }
}

impl Eye for Everything {
    fn sees<'keys>(&self, keys: &'keys Keys, changed: Option<&Key>) -> Vec<&'keys KeyValue> {
        match changed {
            Some(key) => keys.get(key).into_iter().collect(),
            None => keys.values().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::AGAIN;
    use super::super::testing::{calls, deleted, set, sights, value, watches};
    use super::super::{Activity as _, Answer, Call, Failure, Input, Recipe as _, Timer, WatchId};
    use super::*;
    use crate::domain::play::Sight;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyEvent, KeyRange, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);

    fn listed(revision: i64, keys: &[KeyValue]) -> Answer {
        Answer::Listed { revision: Revision(revision), keys: keys.to_vec() }
    }

    /// A client that follows, from revision 21 on, what is told of `/s/1` and `/s/2`.
    fn following() -> (Watch, WatchId) {
        let mut client = Watch::new(b"/s/");
        assert!(!client.needs_lease());
        let (id, call) = calls(&client.step(NOW, Input::Start)).remove(0);
        assert_eq!(call, Call::List { range: KeyRange::prefix(b"/s/") });
        let keys = [value("/s/1", 5, "one"), value("/s/2", 6, "two")];
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(20, &keys))));
        assert_eq!(sights(&commands), [appeared("/s/1", "one"), appeared("/s/2", "two")]);
        let (watch, range, from) = watches(&commands).remove(0);
        assert_eq!((range, from), (KeyRange::prefix(b"/s/"), Revision(21)));
        (client, watch)
    }

    fn appeared(key: &str, value: &str) -> Sight {
        Sight::Appeared(key.into(), value.into())
    }

    fn change(client: &mut Watch, watch: WatchId, event: KeyEvent) -> Vec<Sight> {
        sights(&client.step(NOW, Input::Changed { watch, revision: Revision(22), event }))
    }

    #[test]
    fn each_change_is_told_once() {
        let (mut client, watch) = following();
        let put = |key, created, text| KeyEvent::Put(value(key, created, text));
        assert_eq!(change(&mut client, watch, put("/s/3", 22, "three")), [appeared("/s/3", "three")]);
        let changed = Sight::Changed("/s/1".into(), b"other".to_vec());
        assert_eq!(change(&mut client, watch, put("/s/1", 5, "other")), [changed]);
        assert!(change(&mut client, watch, put("/s/1", 5, "other")).is_empty(), "the same value again");
        assert_eq!(change(&mut client, watch, deleted("/s/2")), [Sight::Went("/s/2".into())]);
        assert!(change(&mut client, WatchId(watch.0 + 1), deleted("/s/1")).is_empty(), "an old watch");
    }

    #[test]
    fn after_a_lost_watch_it_tells_what_is_different_now() {
        let (mut client, watch) = following();
        assert_eq!(set(&client.step(NOW, Input::WatchLost(watch)), Timer::Again), Some(NOW + AGAIN));
        let (id, _) = calls(&client.step(NOW, Input::Timer(Timer::Again))).remove(0);
        client.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (id, _) = calls(&client.step(NOW, Input::Timer(Timer::Again))).remove(0);
        // One went, one went and came back with another life, one came.
        let keys = [value("/s/2", 30, "two"), value("/s/3", 31, "three")];
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(40, &keys))));
        let (gone, back) = (Sight::Went("/s/1".into()), Sight::Went("/s/2".into()));
        assert_eq!(sights(&commands), [gone, back, appeared("/s/2", "two"), appeared("/s/3", "three")]);
    }

    #[test]
    fn who_comes_back_from_a_crash_learns_all_anew() {
        let (mut client, _) = following();
        client.reset();
        let (id, _) = calls(&client.step(NOW, Input::Start)).remove(0);
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(40, &[value("/s/1", 5, "one")]))));
        assert_eq!(sights(&commands), [appeared("/s/1", "one")]);
    }

    #[test]
    fn a_lease_is_nothing_to_it() {
        let (mut client, watch) = following();
        assert!(client.step(NOW, Input::LeaseLost).is_empty());
        assert_eq!(change(&mut client, watch, deleted("/s/1")).len(), 1);
    }
}
