//! Bells that ring when a key of a range changes, so that whoever waits for one need not wake
//! for every change of the store.
//!
//! One task a member reads what changed and rings the bells that hang on it. A bell only says
//! from which revision on to look; what happened is read from the store by who was rung.
//!
//! ```text
//!   the store changes ──► run() ──► the bells on the key, and on ranges with the key
//!   no leader for long ─► run() ──► those who will not be served without one
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyRange, Revision};
use crate::server::door::Door;

/// How long a member may be without a leader before streams that want one are ended: three
/// election timeouts of etcd (`api/v3rpc/interceptor.go`, `maxNoLeaderCnt`). On the cluster's
/// clock, as elections are.
const LEADERLESS: Duration = Duration::from_secs(3);

/// The bells of one member.
#[derive(Debug)]
pub(super) struct Bells {
    hung: Mutex<Hung>,
    /// The revision up to which changes have been rung for.
    rung: AtomicI64,
    /// Whether there has been no leader for long.
    leaderless: watch::Sender<bool>,
}

/// Where the bells hang.
#[derive(Debug, Default)]
struct Hung {
    /// Those on one key.
    keys: HashMap<Key, Vec<Arc<Clapper>>>,
    /// Those on more.
    ranges: Vec<(KeyRange, Arc<Clapper>)>,
}

/// What is struck when a bell rings.
#[derive(Debug)]
struct Clapper {
    wake: Notify,
    /// The first revision that it rang for since it was last heard; [`SILENT`] without one.
    first: AtomicI64,
}

const SILENT: i64 = i64::MAX;

impl Clapper {
    fn strike(&self, revision: Revision) {
        if self.first.fetch_min(revision.0, Ordering::AcqRel) == SILENT {
            self.wake.notify_one();
        }
    }
}

/// One waiter's bell. It may hang on many ranges, and is taken down when it is dropped.
#[derive(Debug)]
pub(super) struct Bell {
    bells: Arc<Bells>,
    clapper: Arc<Clapper>,
    /// What it hangs on.
    ranges: Vec<KeyRange>,
}

impl Bells {
    /// The bells of the member behind `door`; none hangs yet.
    pub fn new(door: &Door) -> Self {
        Self {
            hung: Mutex::default(),
            rung: AtomicI64::new(door.store().revision().0),
            leaderless: watch::Sender::new(false),
        }
    }

    /// A bell that hangs nowhere yet.
    pub fn bell(self: &Arc<Self>) -> Bell {
        let clapper = Clapper { wake: Notify::new(), first: AtomicI64::new(SILENT) };
        Bell { bells: Arc::clone(self), clapper: Arc::new(clapper), ranges: Vec::new() }
    }

    /// Ends when the member has had no leader for long.
    pub async fn leaderless(&self) {
        // The sender lives as long as `self`, so that the wait can only end by the condition.
        let _ = self.leaderless.subscribe().wait_for(|leaderless| *leaderless).await;
    }

    /// Rings until `ended` is cancelled, or cancels it when the member behind the door stops.
    pub async fn run(self: Arc<Self>, mut door: Door, ended: CancellationToken) {
        let clock = door.clock.clone();
        let mut without_leader: Option<ClusterTime> = None;
        loop {
            let (leader, revision) = {
                let board = door.board.borrow_and_update();
                (board.leader, board.revision)
            };
            if revision.0 > self.rung.load(Ordering::Acquire) {
                self.ring(&door);
            }
            without_leader = match leader {
                Some(_) => None,
                None => without_leader.or_else(|| Some(door.clock.now())),
            };
            let patience = without_leader.map(|since| since + LEADERLESS);
            let leaderless = patience.is_some_and(|end| end <= door.clock.now());
            self.leaderless.send_if_modified(|before| std::mem::replace(before, leaderless) != leaderless);
            let impatient = async {
                match patience {
                    Some(end) if !leaderless => clock.until(end).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                // The end first: nobody is rung for at a member that is killed. Then the board,
                // which may say that there is a leader again.
                biased;
                () = ended.cancelled() => return,
                changed = door.board.changed() => {
                    if changed.is_err() {
                        ended.cancel();
                        return;
                    }
                }
                () = impatient => {}
            }
        }
    }

    /// Rings for everything that changed and was not rung for.
    fn ring(&self, door: &Door) {
        let store = door.store();
        let next = Revision(self.rung.load(Ordering::Acquire)).next();
        let hung = self.lock();
        match store.touched(next) {
            Ok(touched) => touched.for_each(|(revision, key)| hung.strike(revision, key)),
            // A snapshot took the place of the store: whoever waits has to look for himself.
            Err(_) => hung.strike_all(next),
        }
        self.rung.store(store.revision().0, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Hung> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hung {
    fn strike(&self, revision: Revision, key: &Key) {
        let on_key = self.keys.get(key.as_bytes()).into_iter().flatten();
        let on_range = self.ranges.iter().filter(|(range, _)| range.contains(key)).map(|(_, clapper)| clapper);
        on_key.chain(on_range).for_each(|clapper| clapper.strike(revision));
    }

    fn strike_all(&self, revision: Revision) {
        let on_key = self.keys.values().flatten();
        let on_range = self.ranges.iter().map(|(_, clapper)| clapper);
        on_key.chain(on_range).for_each(|clapper| clapper.strike(revision));
    }
}

impl Bell {
    /// Hangs it on a range. What changed before is not rung for: look at the store afterwards.
    pub fn hang(&mut self, range: &KeyRange) {
        let mut hung = self.bells.lock();
        let clapper = Arc::clone(&self.clapper);
        if range.end.is_empty() {
            hung.keys.entry(range.start.clone()).or_default().push(clapper);
        } else {
            hung.ranges.push((range.clone(), clapper));
        }
        self.ranges.push(range.clone());
    }

    /// Takes it down from one range that it was hung on.
    pub fn take_down(&mut self, range: &KeyRange) {
        let Some(at) = self.ranges.iter().position(|hung| hung == range) else { return };
        self.ranges.swap_remove(at);
        let mut hung = self.bells.lock();
        if range.end.is_empty() {
            hung.take_from_key(&range.start, &self.clapper);
        } else if let Some(at) =
            hung.ranges.iter().position(|(other, clapper)| Arc::ptr_eq(clapper, &self.clapper) && other == range)
        {
            hung.ranges.swap_remove(at);
        }
    }

    /// Waits for its ring; [`Self::look_from`] says what it rang for.
    pub async fn rings(&self) {
        while self.clapper.first.load(Ordering::Acquire) == SILENT {
            self.clapper.wake.notified().await;
        }
    }

    /// The revision before which nothing happened that it would ring for and that was not
    /// looked at before. It is silent afterwards.
    pub fn look_from(&self) -> Revision {
        // In this order: what was rung for up to `rung` has struck the clapper before.
        let rung = self.bells.rung.load(Ordering::Acquire);
        let first = self.clapper.first.swap(SILENT, Ordering::AcqRel);
        Revision(first.min(rung + 1))
    }
}

impl Hung {
    fn take_from_key(&mut self, key: &Key, bell: &Arc<Clapper>) {
        let Some(on_key) = self.keys.get_mut(key.as_bytes()) else { return };
        if let Some(at) = on_key.iter().position(|clapper| Arc::ptr_eq(clapper, bell)) {
            on_key.swap_remove(at);
        }
        if on_key.is_empty() {
            self.keys.remove(key.as_bytes());
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut hung = self.bells.lock();
        for range in &self.ranges {
            if range.end.is_empty() {
                hung.take_from_key(&range.start, &self.clapper);
            }
        }
        if self.ranges.iter().any(|range| !range.end.is_empty()) {
            hung.ranges.retain(|(_, clapper)| !Arc::ptr_eq(clapper, &self.clapper));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::domain::raft::Speed;
    use crate::mvcc::{PutRequest, Request};
    use crate::server::grpc::testing::Behind;

    fn put(behind: &Behind, key: &str) {
        behind.apply(&Request::Put(PutRequest { key: key.into(), ..PutRequest::default() }));
    }

    #[tokio::test]
    async fn a_bell_rings_for_what_it_hangs_on() {
        let behind = Behind::new();
        let bells = Arc::new(Bells::new(&behind.door));
        let (mut on_key, mut on_range) = (bells.bell(), bells.bell());
        on_key.hang(&KeyRange::single(b"b"));
        on_range.hang(&KeyRange::prefix(b"a/"));
        for key in ["x", "a/1", "b", "a/2"] {
            put(&behind, key);
        }
        tokio::spawn(Arc::clone(&bells).run(behind.door.clone(), CancellationToken::new()));
        on_key.rings().await;
        assert_eq!(on_key.look_from(), Revision(4));
        on_range.rings().await;
        assert_eq!(on_range.look_from(), Revision(3));
        // Nothing since: there is nothing to see up to where was rung for.
        assert_eq!((on_key.look_from(), on_range.look_from()), (Revision(6), Revision(6)));
        put(&behind, "b");
        on_key.rings().await;
        assert_eq!(on_key.look_from(), Revision(6));
    }

    #[tokio::test]
    async fn a_bell_that_was_taken_down_is_silent() {
        let behind = Behind::new();
        let bells = Arc::new(Bells::new(&behind.door));
        let (mut gone, mut stays) = (bells.bell(), bells.bell());
        for range in [KeyRange::single(b"a"), KeyRange::prefix(b"a")] {
            gone.hang(&range);
            gone.take_down(&range);
            stays.hang(&range);
        }
        drop(bells.bell());
        tokio::spawn(Arc::clone(&bells).run(behind.door.clone(), CancellationToken::new()));
        put(&behind, "a");
        stays.rings().await;
        assert_eq!(gone.look_from(), Revision(3));
        drop((gone, stays));
        let hung = bells.lock();
        assert!(hung.keys.is_empty() && hung.ranges.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn being_without_a_leader_for_long_is_told_and_for_short_not() {
        let behind = Behind::new();
        let bells = Arc::new(Bells::new(&behind.door));
        tokio::spawn(Arc::clone(&bells).run(behind.door.clone(), CancellationToken::new()));
        let short = LEADERLESS * 9 / 10;
        for _ in 0..3 {
            let leader = behind.board.borrow().leader;
            behind.board.send_modify(|board| board.leader = None);
            assert!(tokio::time::timeout(short, bells.leaderless()).await.is_err());
            behind.board.send_modify(|board| board.leader = leader);
            tokio::task::yield_now().await;
        }
        behind.board.send_modify(|board| board.leader = None);
        let before = Instant::now();
        bells.leaderless().await;
        assert!(before.elapsed() >= LEADERLESS);
    }

    #[tokio::test(start_paused = true)]
    async fn on_a_slow_clock_being_without_a_leader_for_long_takes_longer() {
        let behind = Behind::new();
        behind.reins.set_speed(Speed::SLOWEST);
        let bells = Arc::new(Bells::new(&behind.door));
        tokio::spawn(Arc::clone(&bells).run(behind.door.clone(), CancellationToken::new()));
        behind.board.send_modify(|board| board.leader = None);
        let an_election = LEADERLESS * 10;
        assert!(tokio::time::timeout(an_election, bells.leaderless()).await.is_err());
        assert!(tokio::time::timeout(LEADERLESS * 11, bells.leaderless()).await.is_ok());
    }

    #[tokio::test]
    async fn a_member_that_stops_ends_everything() {
        let Behind { door, board, .. } = Behind::new();
        let bells = Arc::new(Bells::new(&door));
        let ended = CancellationToken::new();
        drop(board);
        bells.run(door, ended.clone()).await;
        assert!(ended.is_cancelled());
    }
}
