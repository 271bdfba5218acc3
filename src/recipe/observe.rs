//! Watches an election and knows who leads: `Observe` of etcd's `client/v3/concurrency`.
//!
//! ```text
//!   /election/2e   created at 7   leads: appeared
//!   /election/1a   created at 9   a candidate
//!   /election/2e   put            a proclamation: changed
//!   /election/2e   deleted        went, and /election/1a appeared
//! ```
//!
//! Who leads is the oldest key, whatever was put last.

use super::follow::{Eye, Follower, Keys};
use super::queue::below;
use crate::domain::{Key, KeyValue};

/// A client that observes an election.
pub type Observe = Follower<Leader>;

/// Looks at the oldest key.
#[derive(Clone, Copy, Debug)]
pub struct Leader;

impl Observe {
    /// A client that observes the election `name`.
    pub fn new(name: &[u8]) -> Self {
        Self::by(Leader, &below(name))
    }
}

impl Eye for Leader {
    fn sees<'keys>(&self, keys: &'keys Keys, _changed: Option<&Key>) -> Vec<&'keys KeyValue> {
        keys.values().min_by_key(|kv| kv.create_revision).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{calls, deleted, sights, value, watches};
    use super::super::{Answer, Input, Recipe as _};
    use super::*;
    use crate::domain::play::Sight;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyEvent, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);

    #[test]
    fn it_tells_of_the_oldest_key_only() {
        let mut client = Observe::new(b"/e");
        let (id, _) = calls(&client.step(NOW, Input::Start)).remove(0);
        let keys = vec![value("/e/1a", 9, "two"), value("/e/2e", 7, "one")];
        let commands = client.step(NOW, Input::Answer(id, Ok(Answer::Listed { revision: Revision(20), keys })));
        assert_eq!(sights(&commands), [Sight::Appeared("/e/2e".into(), b"one".to_vec())]);
        let (watch, ..) = watches(&commands).remove(0);
        let mut change = |event| sights(&client.step(NOW, Input::Changed { watch, revision: Revision(22), event }));
        let put = |key, created, text| KeyEvent::Put(value(key, created, text));
        assert_eq!(change(put("/e/2e", 7, "one #1")), [Sight::Changed("/e/2e".into(), b"one #1".to_vec())]);
        assert!(change(put("/e/1a", 9, "two #1")).is_empty(), "a candidate's value is nothing yet");
        assert!(change(put("/e/00", 21, "three")).is_empty());
        let next = Sight::Appeared("/e/1a".into(), b"two #1".to_vec());
        assert_eq!(change(deleted("/e/2e")), [Sight::Went("/e/2e".into()), next]);
        change(deleted("/e/00"));
        assert_eq!(change(deleted("/e/1a")), [Sight::Went("/e/1a".into())], "and then nobody does");
    }
}
