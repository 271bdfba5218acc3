//! The queue lock without its best idea: every waiter watches the whole queue.
//!
//! ```text
//!   /lock/mylock/1a     deleted ─► all of them are told, and each lists the queue again:
//!   /lock/mylock/2e     one of them holds,
//!   /lock/mylock/05     the others wait on, for nothing
//! ```
//!
//! It is correct, and each handover costs as many events and lists as there are waiters: a herd that is
//! woken though only one of it can pass.

use super::queue::{Manner, Queue};
use super::six_steps::list;
use super::{Call, Standing};
use crate::domain::{Key, KeyRange, LeaseId};

/// A client of a lock whose waiters watch all of it.
pub type Herd = Queue<ByPrefix>;

/// Keys named by the lease; a look at the whole queue, and a watch of it.
#[derive(Clone, Copy, Debug)]
pub struct ByPrefix;

impl Herd {
    /// A client of the lock `name`, which puts `value` into its keys.
    pub fn new(name: &[u8], value: Vec<u8>) -> Self {
        Self::by(ByPrefix, name, value)
    }
}

impl Manner for ByPrefix {
    fn name(&mut self, lease: LeaseId) -> String {
        lease.to_string()
    }

    fn look(&self, _own: &Standing, queue: Key) -> Call {
        list(&queue)
    }

    fn waits_by(&self, _ahead: &Key, queue: &Key) -> KeyRange {
        KeyRange::prefix(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{beliefs, calls, deleted, put, watches};
    use super::super::{Activity as _, Answer, Belief, Input, Recipe as _};
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyValue, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);

    fn listed(keys: &[(&str, i64)]) -> Answer {
        let kv = |&(key, created): &(&str, i64)| KeyValue {
            key: key.into(),
            create_revision: Revision(created),
            ..KeyValue::default()
        };
        Answer::Listed { revision: Revision(20), keys: keys.iter().map(kv).collect() }
    }

    #[test]
    fn a_waiter_is_woken_by_any_end_and_lists_each_time() {
        let mut client = Herd::new(b"/a", Vec::new());
        let (id, _) = calls(&client.step(NOW, Input::Leased(LEASE))).remove(0);
        let created = Answer::Created { revision: Revision(10), created: Revision(10), lease: LEASE };
        let (id, call) = calls(&client.step(NOW, Input::Answer(id, Ok(created)))).remove(0);
        assert_eq!(call, Call::List { range: KeyRange::prefix(b"/a/") });
        let queue = [("/a/1", 8), ("/a/1a", 10), ("/a/2", 9), ("/a/3", 11)];
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(&queue))));
        let (watch, range, from) = watches(&commands).remove(0);
        assert_eq!((range, from), (KeyRange::prefix(b"/a/"), Revision(21)));
        assert_eq!(client.standing().ahead, Some("/a/2".into()), "it still knows whose end it needs");

        let put = Input::Changed { watch, revision: Revision(21), event: put("/a/4") };
        assert!(client.step(NOW, put).is_empty(), "who comes changes nothing");
        let behind = Input::Changed { watch, revision: Revision(22), event: deleted("/a/3") };
        let (id, call) = calls(&client.step(NOW, behind)).remove(0);
        assert!(matches!(call, Call::List { .. }), "although it was behind");
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(&queue[..3]))));
        let (watch, ..) = watches(&commands).remove(0);
        let first = Input::Changed { watch, revision: Revision(23), event: deleted("/a/1") };
        let (id, _) = calls(&client.step(NOW, first)).remove(0);
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(&[("/a/1a", 10)]))));
        assert_eq!(beliefs(&commands), [Belief::Holding]);
    }
}
