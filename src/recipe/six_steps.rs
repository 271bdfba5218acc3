//! The lock in six steps, as articles describe it and people write it by hand.
//!
//! ```text
//!   1 prepare     choose a key, /lock/mylock/<uuid>; have a lease granted ─┐ the session's
//!   2 heartbeat   renew the lease, beside all that follows                ─┘
//!   3 put         put the key with the lease, note its revision
//!   4 compare     list the prefix: the smallest revision holds
//!     watch       all others wait for the end of the key before theirs, and compare again
//!   5 work
//!   6 release     delete the key
//! ```
//!
//! Each taking has a key of its own, so two threads of one session exclude each other. The whole
//! prefix is listed each time: of a thousand waiters each release makes one read a thousand keys.

use super::queue::{Manner, Queue};
use super::{Call, Standing};
use crate::chance::{Chance, mix};
use crate::domain::{Key, KeyRange, LeaseId};

/// A client of a lock in six steps.
pub type SixSteps = Queue<ByUuid>;

/// Keys named by a new UUID each time; a look at the whole queue.
#[derive(Clone, Debug)]
pub struct ByUuid(Chance);

impl SixSteps {
    /// A client of the lock `name`, which puts `value` into its keys and draws their names from
    /// `ids`.
    pub fn new(name: &[u8], value: Vec<u8>, ids: Chance) -> Self {
        Self::by(ByUuid(ids), name, value)
    }
}

impl Manner for ByUuid {
    /// A UUID of version 4. The lease goes into it too: clients of two programs that draw from
    /// the same seed are told apart by it.
    fn name(&mut self, lease: LeaseId) -> String {
        let high = self.0.up_to(u64::MAX) ^ mix(lease.0.cast_unsigned());
        let low = self.0.up_to(u64::MAX);
        uuid(high, low)
    }

    fn look(&self, _own: &Standing, queue: Key) -> Call {
        list(&queue)
    }
}

/// Reads all of a queue.
pub(super) fn list(queue: &Key) -> Call {
    Call::List { range: KeyRange::prefix(queue) }
}

/// These bits as a UUID of version 4 and variant 1 (RFC 9562, sections 4.1 and 5.4).
fn uuid(high: u64, low: u64) -> String {
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    format!("{first:08x}-{second:04x}-{third:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{beliefs, calls, deleted, put, watches};
    use super::super::{Activity as _, Answer, Belief, Command, Failure, Input, Mistakes, Recipe as _, Timer, WatchId};
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyEvent, KeyValue, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);

    fn six_steps(mistakes: Mistakes) -> SixSteps {
        SixSteps::new(b"/a", b"me".to_vec(), Chance::new(7, 0)).with(mistakes)
    }

    fn listed(keys: &[(&Key, i64)]) -> Answer {
        let kv = |&(key, created): &(&Key, i64)| KeyValue {
            key: key.clone(),
            create_revision: Revision(created),
            // What was put anew: not what decides.
            mod_revision: Revision(100 - created),
            ..KeyValue::default()
        };
        Answer::Listed { revision: Revision(40), keys: keys.iter().map(kv).collect() }
    }

    /// A client that has put its key at revision 10 and listed the queue, with its key and what
    /// came of a list with these keys beside its own.
    fn looked(mistakes: Mistakes, others: &[(&str, i64)]) -> (SixSteps, Key, Vec<Command>) {
        let mut client = six_steps(mistakes);
        let (id, call) = calls(&client.step(NOW, Input::Leased(LEASE))).remove(0);
        let Call::Create { key, lease, .. } = call else { panic!("{call:?}") };
        let created = Answer::Created { revision: Revision(10), created: Revision(10), lease };
        let (id, call) = calls(&client.step(NOW, Input::Answer(id, Ok(created)))).remove(0);
        assert_eq!(call, list(&if mistakes.no_slash { "/a".into() } else { "/a/".into() }));
        let others: Vec<(Key, i64)> = others.iter().map(|(key, created)| (Key::from(*key), *created)).collect();
        let keys: Vec<_> = others.iter().map(|(key, created)| (key, *created)).chain([(&key, 10)]).collect();
        let commands = client.step(NOW, Input::Answer(id, Ok(listed(&keys))));
        (client, key, commands)
    }

    fn waiting(mistakes: Mistakes) -> (SixSteps, WatchId) {
        let (client, _, commands) = looked(mistakes, &[("/a/x", 8), ("/a/y", 9), ("/a/z", 12)]);
        let (watch, range, from) = watches(&commands).remove(0);
        assert_eq!((range, from), (KeyRange::single(b"/a/y"), Revision(41)), "the one before it, from the list on");
        (client, watch)
    }

    fn changed(client: &mut SixSteps, watch: WatchId, event: KeyEvent) -> Vec<Command> {
        client.step(NOW, Input::Changed { watch, revision: Revision(44), event })
    }

    #[test]
    fn each_taking_has_a_uuid_of_its_own() {
        let mut manner = ByUuid(Chance::new(7, 0));
        let names = [manner.name(LEASE), manner.name(LEASE), ByUuid(Chance::new(7, 0)).name(LeaseId(3))];
        assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
        for name in names {
            let lengths: Vec<_> = name.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12]);
            assert!(name.as_bytes()[14] == b'4' && b"89ab".contains(&name.as_bytes()[19]), "{name}");
        }
        assert_eq!(uuid(u64::MAX, u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid(0, 0), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn a_client_that_crashed_uses_no_name_again() {
        let mut client = six_steps(Mistakes::default());
        client.step(NOW, Input::Leased(LEASE));
        let before = client.standing().key.clone();
        client.reset();
        client.step(NOW, Input::Leased(LEASE));
        assert_ne!(client.standing().key, before);
    }

    #[test]
    fn the_smallest_create_revision_holds_whatever_was_put_anew_since() {
        let (client, key, commands) = looked(Mistakes::default(), &[("/a/0", 12), ("/a/z", 11)]);
        assert_eq!(beliefs(&commands), [Belief::Holding]);
        assert_eq!((&client.standing().key, client.standing().created), (&key, Revision(10)));
    }

    #[test]
    fn all_others_wait_for_the_key_before_theirs_and_list_again() {
        let (mut client, watch) = waiting(Mistakes::default());
        let commands = changed(&mut client, watch, deleted("/a/y"));
        assert_eq!((calls(&commands).remove(0).1, client.standing().belief), (list(&"/a/".into()), Belief::Waiting));
    }

    #[test]
    fn whose_own_key_is_not_listed_any_more_has_lost() {
        let (mut client, watch) = waiting(Mistakes::default());
        let (id, _) = calls(&changed(&mut client, watch, deleted("/a/y"))).remove(0);
        assert_eq!(beliefs(&client.step(NOW, Input::Answer(id, Ok(listed(&[]))))), [Belief::Lost]);
    }

    #[test]
    fn a_put_taken_for_an_end_is_found_out_by_the_second_list_and_only_by_that() {
        let (mut client, watch) = waiting(Mistakes { any_event: true, ..Mistakes::default() });
        assert_eq!(calls(&changed(&mut client, watch, put("/a/y"))).len(), 1);
        assert_eq!(client.standing().belief, Belief::Waiting);
        let both = Mistakes { any_event: true, no_recheck: true, ..Mistakes::default() };
        let (mut client, watch) = waiting(both);
        assert_eq!(beliefs(&changed(&mut client, watch, put("/a/y"))), [Belief::Holding]);
    }

    #[test]
    fn without_the_slash_it_queues_behind_another_lock() {
        let without = Mistakes { no_slash: true, ..Mistakes::default() };
        let (client, _, commands) = looked(without, &[("/ab/x", 9)]);
        assert_eq!(beliefs(&commands), [Belief::Waiting]);
        assert_eq!(client.standing().ahead, Some("/ab/x".into()));
    }

    const LATE: Mistakes = Mistakes { late_lease: true, no_recheck: false, any_event: false, no_slash: false };

    #[test]
    fn a_late_lease_is_attached_when_the_lock_is_held() {
        let (mut client, key, commands) = looked(LATE, &[]);
        assert_eq!(beliefs(&commands), [Belief::Holding]);
        let (id, call) = calls(&commands).remove(0);
        assert_eq!(call, Call::Put { key: key.clone(), value: b"me".to_vec(), lease: LEASE });
        client.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (again, same) = calls(&client.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert_eq!(same, call);
        client.step(NOW, Input::Answer(again, Ok(Answer::Put(Revision(50)))));
        assert!(calls(&client.step(NOW, Input::Timer(Timer::Again))).is_empty(), "once is enough");
        client.step(NOW, Input::Stop);
        assert!(client.is_closed(), "from here on the lease takes the key");
    }

    #[test]
    fn what_hangs_on_no_lease_is_deleted_at_the_end() {
        for end in [Input::Stop, Input::LeaseLost] {
            let (mut client, key, _) = looked(LATE, &[("/a/x", 9)]);
            let (id, call) = calls(&client.step(NOW, end)).remove(0);
            assert_eq!(call, Call::Delete { key, created: Revision(10) });
            assert!(!client.is_closed());
            client.step(NOW, Input::Answer(id, Ok(Answer::Deleted)));
            assert!(client.is_closed());
        }
    }

    #[test]
    fn what_may_hang_on_no_lease_yet_is_found_and_deleted_at_the_end() {
        let mut client = six_steps(LATE);
        let (id, call) = calls(&client.step(NOW, Input::Leased(LEASE))).remove(0);
        let Call::Create { ref key, lease: LeaseId::NONE, .. } = call else { panic!("{call:?}") };
        assert!(calls(&client.step(NOW, Input::Stop)).is_empty());
        client.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (id, same) = calls(&client.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert_eq!(same, call);
        let created = Answer::Created { revision: Revision(12), created: Revision(11), lease: LeaseId::NONE };
        let (_, call) = calls(&client.step(NOW, Input::Answer(id, Ok(created)))).remove(0);
        assert_eq!(call, Call::Delete { key: key.clone(), created: Revision(11) });
    }
}
