//! Calls and watches as one client after another would make them, in virtual time.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::*;
use crate::domain::{Key, KeyValue, LeaderKey};
use crate::embedded::Config;
use crate::playground::stage::Cluster as _;
use crate::recipe::Part;

/// Clients who have leases on a cluster that has a leader.
struct Scene {
    cluster: Embedded,
    leases: BTreeMap<ClientId, LeaseId>,
    calls: u64,
    learnt: Vec<(ClientId, Input)>,
}

const A: ClientId = ClientId(1);
const B: ClientId = ClientId(2);
const C: ClientId = ClientId(3);

/// Longer than anything takes that is not waited for.
const LONG: Duration = Duration::from_secs(4);

impl Scene {
    fn new() -> Self {
        Self::keeping(None)
    }

    /// On a cluster that compacts by itself, if there is a number of revisions that it keeps.
    fn keeping(kept: Option<u64>) -> Self {
        let config = Config { delay: Duration::from_millis(2), ..Config::default() };
        let cluster = Embedded::new(Cluster::keeping(config, kept.and_then(NonZeroU64::new)));
        let mut scene = Self { cluster, leases: BTreeMap::new(), calls: 0, learnt: Vec::new() };
        scene.pass(LONG);
        for client in [A, B, C] {
            let granted = scene.call(client, Call::Grant { ttl: Duration::from_mins(10) });
            let Ok(Answer::Granted { lease, .. }) = granted else { panic!("{granted:?}") };
            scene.leases.insert(client, lease);
        }
        scene
    }

    fn now(&self) -> ClusterTime {
        self.cluster.inner().now()
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now() + time;
        while let Some(next) = self.cluster.next().filter(|next| *next <= end) {
            self.learnt.extend(self.cluster.advance(next));
        }
        self.learnt.extend(self.cluster.advance(end));
    }

    fn ask(&mut self, client: ClientId, call: Call) -> CallId {
        self.calls += 1;
        let id = CallId { part: Part::Lock, number: self.calls };
        self.cluster.ask(self.now(), client, id, call);
        id
    }

    /// What the call was answered, if it was.
    fn answer(&mut self, client: ClientId, id: CallId) -> Option<Result<Answer, Failure>> {
        let answers = |(to, input): &(ClientId, Input)| match input {
            Input::Answer(to_call, answer) if (*to, *to_call) == (client, id) => Some(answer.clone()),
            _ => None,
        };
        let found: Vec<_> = self.learnt.iter().filter_map(answers).collect();
        assert!(found.len() < 2, "a call is answered once: {found:?}");
        found.into_iter().next()
    }

    fn call(&mut self, client: ClientId, call: Call) -> Result<Answer, Failure> {
        let id = self.ask(client, call);
        self.pass(LONG);
        self.answer(client, id).expect("it is answered in time")
    }

    fn lock(&mut self, client: ClientId) -> CallId {
        let lease = self.leases[&client];
        self.ask(client, Call::Lock { name: "/n".into(), lease })
    }

    fn campaign(&mut self, client: ClientId, value: &[u8]) -> CallId {
        let lease = self.leases[&client];
        self.ask(client, Call::Campaign { name: "/n".into(), lease, value: value.into() })
    }

    fn key(&self, client: ClientId) -> Key {
        Key::from(&*format!("/n/{}", self.leases[&client]))
    }

    fn held(&self, client: ClientId) -> Answer {
        Answer::Locked { key: self.key(client) }
    }

    /// The keys of the queue in its order, as the leader has them.
    fn queue(&self) -> Vec<KeyValue> {
        let leader = self.cluster.inner().leader().expect("there is one");
        let store = self.cluster.inner().store(leader);
        let listed = requests::list(&store.read().unwrap(), &KeyRange::prefix(b"/n/"));
        let Ok(Answer::Listed { mut keys, .. }) = listed else { panic!("{listed:?}") };
        keys.sort_by_key(|kv| kv.create_revision);
        keys
    }

    fn names(&self) -> Vec<Key> {
        self.queue().into_iter().map(|kv| kv.key).collect()
    }

    /// With a lock that A holds, and B and C wait for in this order.
    fn queued_up() -> (Self, [CallId; 3]) {
        Self::new().queue_up()
    }

    fn queue_up(self) -> (Self, [CallId; 3]) {
        let mut scene = self;
        let calls = [A, B, C].map(|client| {
            let id = scene.lock(client);
            scene.pass(LONG);
            id
        });
        assert_eq!(scene.answer(A, calls[0]), Some(Ok(scene.held(A))));
        assert_eq!(scene.names(), [A, B, C].map(|client| scene.key(client)));
        (scene, calls)
    }

    fn unlock(&mut self, client: ClientId) {
        let key = self.key(client);
        assert_eq!(self.call(client, Call::Unlock { key }), Ok(Answer::Deleted));
    }
}

#[test]
fn a_lock_goes_round_in_the_order_of_the_queue() {
    let (mut scene, [_, second, third]) = Scene::queued_up();
    scene.unlock(A);
    assert_eq!((scene.answer(B, second), scene.answer(C, third)), (Some(Ok(scene.held(B))), None));
    scene.unlock(A);
    assert_eq!(scene.answer(C, third), None, "a key that is gone gives nothing back");
    scene.unlock(B);
    assert_eq!(scene.answer(C, third), Some(Ok(scene.held(C))));
}

#[test]
fn who_abandons_a_call_crashes_or_is_cut_leaves_the_queue() {
    for how in 0..3 {
        let (mut scene, [_, second, third]) = Scene::queued_up();
        match how {
            0 => scene.cluster.abandon(B, second),
            1 => scene.cluster.forget(B),
            _ => scene.cluster.cut(B, true),
        }
        scene.pass(LONG);
        assert_eq!(scene.names(), [A, C].map(|client| scene.key(client)), "{how}");
        let told = (how == 2).then_some(Err(Failure::Unanswered));
        assert_eq!((scene.answer(B, second), scene.answer(C, third)), (told, None), "{how}");
        scene.unlock(A);
        assert_eq!(scene.answer(C, third), Some(Ok(scene.held(C))), "{how}");
    }
}

#[test]
fn a_call_that_is_abandoned_at_once_leaves_no_key() {
    let mut scene = Scene::new();
    let id = scene.lock(A);
    scene.cluster.abandon(A, id);
    scene.pass(LONG);
    assert_eq!((scene.answer(A, id), scene.names()), (None, Vec::new()));
    assert!(scene.cluster.served.is_empty());
}

#[test]
fn who_waits_at_a_member_that_is_killed_is_told_and_stays_in_the_queue() {
    let (mut scene, [_, second, third]) = Scene::queued_up();
    let node = scene.cluster.node(B);
    assert_ne!(node, scene.cluster.node(C));
    scene.cluster.fault(scene.now(), Fault::Kill(node)).unwrap();
    scene.pass(LONG);
    assert_eq!((scene.answer(B, second), scene.answer(C, third)), (Some(Err(Failure::Unanswered)), None));
    assert_eq!(scene.names(), [A, B, C].map(|client| scene.key(client)), "a dead member deletes nothing");
    let again = scene.lock(B);
    scene.unlock(A);
    assert_eq!(
        (scene.answer(B, again), scene.answer(C, third)),
        (Some(Ok(scene.held(B))), None),
        "it has kept its place"
    );
}

#[test]
fn a_paused_member_answers_when_it_goes_on_unless_its_caller_has_left() {
    for leaves in [false, true] {
        let (mut scene, [_, second, _]) = Scene::queued_up();
        let node = scene.cluster.node(B);
        scene.cluster.fault(scene.now(), Fault::Pause(node)).unwrap();
        scene.unlock(A);
        assert_eq!(scene.answer(B, second), None);
        if leaves {
            let lease = scene.leases[&B];
            assert_eq!(scene.call(B, Call::KeepAlive(lease)), Err(Failure::Unanswered));
            assert_eq!(scene.answer(B, second), Some(Err(Failure::Unanswered)), "it went with the connection");
        }
        scene.cluster.fault(scene.now(), Fault::Resume(node)).unwrap();
        scene.pass(LONG);
        let expected = if leaves { Some(Err(Failure::Unanswered)) } else { Some(Ok(scene.held(B))) };
        assert_eq!(scene.answer(B, second), expected);
        assert_eq!(scene.names().contains(&scene.key(B)), !leaves);
    }
}

#[test]
fn an_election_is_won_led_and_resigned() {
    let mut scene = Scene::new();
    let leads = |scene: &Scene| scene.queue().into_iter().next().map(|kv| (kv.key, kv.value));
    let (first, second) = (scene.campaign(A, b"one"), scene.campaign(B, b"two"));
    scene.pass(LONG);
    let (winner, other, waits) = match (scene.answer(A, first), scene.answer(B, second)) {
        (Some(Ok(Answer::Elected(key))), None) => (key, B, second),
        (None, Some(Ok(Answer::Elected(key)))) => (key, A, first),
        other => panic!("{other:?}"),
    };
    let candidates = scene.queue();
    assert_eq!((winner.created, &winner.key), (candidates[0].create_revision, &candidates[0].key));
    let proclaim = |leader: &LeaderKey| Call::Proclaim { leader: leader.clone(), value: b"news".into() };
    assert!(matches!(scene.call(C, proclaim(&winner)), Ok(Answer::Put(_))));
    assert_eq!(leads(&scene), Some((winner.key.clone(), b"news".to_vec())));
    assert_eq!(scene.call(C, Call::Resign { leader: winner.clone() }), Ok(Answer::Deleted));
    assert!(matches!(scene.answer(other, waits), Some(Ok(Answer::Elected(key))) if key.key == scene.key(other)));
    assert_eq!(scene.call(C, proclaim(&winner)), Err(Failure::Refused), "it leads no more");
    let again = scene.campaign(other, b"more");
    scene.pass(LONG);
    assert!(matches!(scene.answer(other, again), Some(Ok(Answer::Elected(_)))));
    assert_eq!(leads(&scene), Some((scene.key(other), b"more".to_vec())), "what it says now");
}

#[test]
fn a_lease_that_is_gone_is_told_at_once_or_when_the_turn_comes() {
    let (mut scene, [_, second, third]) = Scene::queued_up();
    let lease = scene.leases[&B];
    assert_eq!(scene.call(A, Call::Revoke(lease)), Ok(Answer::Revoked));
    assert_eq!(scene.answer(B, second), None, "nobody looks before the turn has come");
    let again = scene.lock(B);
    scene.pass(LONG);
    assert_eq!(scene.answer(B, again), Some(Err(Failure::LeaseGone)));
    scene.unlock(A);
    assert_eq!(
        (scene.answer(B, second), scene.answer(C, third)),
        (Some(Err(Failure::LeaseGone)), Some(Ok(scene.held(C))))
    );
}

#[test]
fn a_client_that_is_cut_off_is_answered_nothing_and_what_it_asked_for_is_done() {
    let mut scene = Scene::new();
    let put = |key: &str| Call::Put { key: key.into(), value: Vec::new(), lease: LeaseId::NONE };
    scene.cluster.watch(scene.now(), A, WatchId(1), KeyRange::prefix(b"/n/"), Revision(1));
    let under_way = scene.ask(A, put("/n/x"));
    scene.cluster.cut(A, true);
    let in_vain = scene.ask(A, put("/n/y"));
    scene.cluster.watch(scene.now(), A, WatchId(2), KeyRange::prefix(b"/n/"), Revision(1));
    scene.pass(LONG);
    for id in [under_way, in_vain] {
        assert_eq!(scene.answer(A, id), Some(Err(Failure::Unanswered)));
    }
    assert_eq!(scene.names(), ["/n/x".into()], "the first was on its way");
    for watch in [WatchId(1), WatchId(2)] {
        assert!(scene.learnt.contains(&(A, Input::WatchLost(watch))), "{watch:?}");
    }
    assert!(!scene.learnt.iter().any(|(_, input)| matches!(input, Input::Changed { .. })));
    scene.cluster.cut(A, false);
    assert!(matches!(scene.call(A, put("/n/z")), Ok(Answer::Put(_))));
}

/// Puts so many revisions.
fn fill(scene: &mut Scene, client: ClientId, count: usize) {
    for _ in 0..count {
        let put = Call::Put { key: "/x".into(), value: Vec::new(), lease: LeaseId::NONE };
        assert!(matches!(scene.call(client, put), Ok(Answer::Put(_))));
    }
}

const SIX_MINUTES: Duration = Duration::from_mins(6);

#[test]
fn a_watch_of_what_is_compacted_is_lost_and_one_of_what_is_kept_is_not() {
    let mut scene = Scene::keeping(Some(5));
    scene.cluster.watch(scene.now(), A, WatchId(1), KeyRange::prefix(b"/x"), Revision(2));
    fill(&mut scene, B, 20);
    scene.pass(SIX_MINUTES);
    assert!(!scene.learnt.contains(&(A, Input::WatchLost(WatchId(1)))), "it was told all of it before");
    let kept = Revision(scene.cluster.revision().0 - 3);
    scene.cluster.watch(scene.now(), A, WatchId(2), KeyRange::prefix(b"/x"), Revision(2));
    scene.cluster.watch(scene.now(), B, WatchId(3), KeyRange::prefix(b"/x"), kept);
    scene.learnt.clear();
    scene.pass(LONG);
    let told: Vec<_> = scene.learnt.iter().filter(|(_, input)| matches!(input, Input::Changed { .. })).collect();
    assert!(scene.learnt.contains(&(A, Input::WatchLost(WatchId(2)))), "{:?}", scene.learnt);
    assert!(told.len() == 4 && told.iter().all(|(client, _)| *client == B), "{told:?}");
    fill(&mut scene, C, 1);
    let to_a = scene.learnt.iter().filter(|(to, input)| *to == A && matches!(input, Input::Changed { .. }));
    assert_eq!(to_a.count(), 0, "a watch that is lost tells nothing more");
}

#[test]
fn who_waits_at_a_member_that_slept_through_a_compaction_looks_again() {
    let (mut scene, [_, second, _]) = Scene::keeping(Some(5)).queue_up();
    scene.cluster.watch(scene.now(), B, WatchId(1), KeyRange::prefix(b"/x"), Revision(2));
    let node = scene.cluster.node(B);
    assert_ne!(node, scene.cluster.node(A));
    scene.cluster.fault(scene.now(), Fault::Pause(node)).unwrap();
    scene.unlock(A);
    fill(&mut scene, A, 20);
    scene.pass(SIX_MINUTES);
    assert_eq!(scene.answer(B, second), None);
    scene.cluster.fault(scene.now(), Fault::Resume(node)).unwrap();
    scene.pass(LONG);
    assert_eq!(scene.answer(B, second), Some(Ok(scene.held(B))), "the end of the key before it is compacted");
    assert!(scene.learnt.contains(&(B, Input::WatchLost(WatchId(1)))), "its watch missed something");
}

#[test]
fn a_judge_who_comes_too_late_reads_what_there_is() {
    let mut scene = Scene::keeping(Some(5));
    fill(&mut scene, A, 20);
    scene.pass(SIX_MINUTES);
    let now = scene.cluster.revision();
    let range = KeyRange::prefix(b"/x");
    let Read::Listed { revision, keys } = scene.cluster.changes(&range, Revision(2)) else { panic!("it is compacted") };
    assert_eq!((revision, keys.len()), (now, 1));
    let Read::Changes(changes) = scene.cluster.changes(&range, Revision(now.0 - 3)) else { panic!("that is kept") };
    assert_eq!(changes.len(), 4);
}
