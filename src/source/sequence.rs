//! Puts what several watches tell into one order: whole revisions, growing.
//!
//! etcd tells each watch of a stream about its part of a revision in a message of its own. A
//! watch that keeps up is told under a lock, right when the revision is made, so the parts of
//! one revision lie next to each other on the stream and before those of the next (etcd
//! `watchable_store.go`, `notify`). A watch that falls behind, because the stream was full,
//! is told later, and a watch that starts in the past is told every 100 ms how far it came.
//! No message says that a revision is complete. So:
//!
//! * **One watch**: nothing is held. etcd never splits a revision of one watch when fragments
//!   are not asked for. This is the usual case: ranges that lie close together share a watch.
//! * **Several, and the server says how far it told**: from 3.4.25 and 3.5.8 on it can be asked,
//!   and answers behind everything it told when no watch is behind. A revision is complete
//!   when that is said; only if it is not for [`PATIENCE`], it goes out without.
//! * **Several, and the server is too old for that**: a revision is complete when a newer one
//!   is told, or when [`CALM`] has passed without another part of it. When a watch fell behind
//!   (its message has more than one revision, or a part came after its revision had been given
//!   out), every revision is held for [`CAREFUL`], longer than etcd needs to tell stragglers,
//!   until that has been quiet for a while.
//! * **Several, after a reconnect**: everything is held until the server says that all was
//!   told, or nothing comes any more.
//!
//! A part that comes too late in spite of all that is not given out: it is handed back, and
//! its range is read anew. So what goes out is always whole and in order; what it costs when
//! the server is overloaded is time, and at worst a new list.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Revision;
use crate::event::Change;

/// How long a revision waits for the server to say that it is complete, when it can.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How long a revision waits for another part when nothing is amiss, when it cannot.
pub const CALM: Duration = Duration::from_millis(10);
/// How long when a watch fell behind: etcd tries again after 10 ms and every 100 ms.
pub const CAREFUL: Duration = Duration::from_millis(300);
/// How long carefulness lasts after its last reason.
const CAREFUL_FOR: Duration = Duration::from_secs(5);
/// After a reconnect: how long nothing may come until all counts as told.
const QUIET: Duration = Duration::from_millis(400);
/// After a reconnect: when to stop waiting for quiet.
const CATCH_UP_AT_MOST: Duration = Duration::from_secs(5);

/// Holds changes until their revision is complete.
#[derive(Debug)]
pub struct Sequencer {
    alone: bool,
    server_tells: bool,
    /// Complete, in order.
    ready: Vec<Change>,
    /// Waiting for other parts, with the time of the last part.
    held: BTreeMap<Revision, Held>,
    /// Everything up to here was given out or is ready.
    told: Revision,
    careful_until: Option<Instant>,
    catching_up: Option<CatchUp>,
}

#[derive(Debug)]
struct Held {
    last_part: Instant,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct CatchUp {
    to: Revision,
    last_part: Instant,
    end: Instant,
}

impl Sequencer {
    /// Starts after the revision `told`; `alone` when the stream has one watch, `server_tells`
    /// when the server can be asked how far it told.
    pub fn new(told: Revision, alone: bool, server_tells: bool) -> Self {
        Self {
            alone,
            server_tells,
            ready: Vec::new(),
            held: BTreeMap::new(),
            told,
            careful_until: None,
            catching_up: None,
        }
    }

    /// The revision up to which everything was given out or is ready.
    pub fn told(&self) -> Revision {
        self.told
    }

    /// How many changes wait, ready ones included.
    pub fn waiting(&self) -> usize {
        self.ready.len() + self.held.values().map(|held| held.changes.len()).sum::<usize>()
    }

    /// Whether nothing is amiss and nothing is held.
    pub fn is_calm(&self) -> bool {
        self.held.is_empty() && self.careful_until.is_none() && self.catching_up.is_none()
    }

    /// Whether it would help to know how far the server told.
    pub fn wants_progress(&self) -> bool {
        self.server_tells && (!self.held.is_empty() || self.catching_up.is_some())
    }

    /// Forgets the changes that are waiting and do not fit: their ranges are read anew.
    pub fn retain(&mut self, mut fits: impl FnMut(&Change) -> bool) {
        self.ready.retain(&mut fits);
        for held in self.held.values_mut() {
            held.changes.retain(&mut fits);
        }
    }

    /// Everything up to `revision` is known from a list: it is neither expected nor late.
    pub fn start_at(&mut self, revision: Revision) {
        self.told = self.told.max(revision);
    }

    /// Several watches were opened in the past and are told in turn: hold everything until all
    /// of them have come to `to`.
    pub fn catch_up(&mut self, to: Revision, now: Instant) {
        if !self.alone && to > self.told {
            self.catching_up = Some(CatchUp { to, last_part: now, end: now + CATCH_UP_AT_MOST });
        }
    }

    /// Takes in one message of one watch: changes in the order of their revisions.
    ///
    /// # Errors
    /// The changes whose revision was given out already; their ranges have to be read anew.
    pub fn take(&mut self, mut changes: Vec<Change>, now: Instant) -> Result<(), Vec<Change>> {
        let Some(last) = changes.last().map(|change| change.revision) else { return Ok(()) };
        if self.alone {
            let fresh = changes.partition_point(|change| change.revision <= self.told);
            let late = if fresh == 0 { Vec::new() } else { changes.drain(..fresh).collect() };
            self.told = self.told.max(last);
            if self.ready.is_empty() {
                self.ready = changes;
            } else {
                self.ready.append(&mut changes);
            }
            return if late.is_empty() { Ok(()) } else { Err(late) };
        }
        let first = changes[0].revision;
        let late = changes.partition_point(|change| change.revision <= self.told);
        if first != last || late > 0 {
            self.careful_until = Some(now + CAREFUL_FOR);
        } else if !self.server_tells && self.careful_until.is_none() && self.catching_up.is_none() {
            self.release(Revision(first.0 - 1));
        }
        if let Some(catching_up) = &mut self.catching_up {
            catching_up.last_part = now;
        }
        let late: Vec<_> = changes.drain(..late).collect();
        for change in changes {
            let held = self.held.entry(change.revision).or_insert_with(|| Held { last_part: now, changes: Vec::new() });
            held.last_part = now;
            held.changes.push(change);
        }
        if late.is_empty() { Ok(()) } else { Err(late) }
    }

    /// The server says that all watches were told everything up to `revision`.
    pub fn progress(&mut self, revision: Revision) {
        self.release(revision);
        self.told = self.told.max(revision);
        if self.catching_up.as_ref().is_some_and(|catching_up| catching_up.to <= revision) {
            self.catching_up = None;
        }
    }

    /// Takes out what is complete by now, in order; empty when nothing is.
    pub fn ready(&mut self, now: Instant) -> Vec<Change> {
        if self.careful_until.is_some_and(|end| end <= now) {
            self.careful_until = None;
        }
        match &self.catching_up {
            Some(catching_up) if catching_up.due() <= now => {
                self.catching_up = None;
                self.release(Revision(i64::MAX));
            }
            Some(_) => {}
            None => {
                let hold = self.hold();
                while let Some((&revision, held)) = self.held.first_key_value()
                    && held.last_part + hold <= now
                {
                    self.release(revision);
                }
            }
        }
        mem::take(&mut self.ready)
    }

    /// When to call [`Sequencer::ready`] again if nothing comes until then.
    pub fn wake(&self) -> Option<Instant> {
        match &self.catching_up {
            Some(catching_up) => Some(catching_up.due()),
            None => self.held.first_key_value().map(|(_, held)| held.last_part + self.hold()),
        }
    }

    fn hold(&self) -> Duration {
        match (self.server_tells, self.careful_until) {
            (true, _) => PATIENCE,
            (false, Some(_)) => CAREFUL,
            (false, None) => CALM,
        }
    }

    /// Moves everything held up to `revision` to what is ready.
    fn release(&mut self, revision: Revision) {
        while let Some(first) = self.held.first_entry()
            && *first.key() <= revision
        {
            let (at, mut held) = first.remove_entry();
            self.told = self.told.max(at);
            self.ready.append(&mut held.changes);
        }
    }
}

impl CatchUp {
    fn due(&self) -> Instant {
        (self.last_part + QUIET).min(self.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Key, KeyEvent};

    fn change(revision: i64, watch: usize) -> Change {
        let key = Key::from(&*format!("/{watch}/k"));
        Change { revision: Revision(revision), event: KeyEvent::Delete { key, previous: None } }
    }

    fn revisions(changes: &[Change]) -> Vec<i64> {
        changes.iter().map(|change| change.revision.0).collect()
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[tokio::test(start_paused = true)]
    async fn one_watch_is_not_held_up() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), true, false);
        sequencer.take(vec![change(5, 1), change(7, 1)], now).unwrap();
        sequencer.take(vec![change(8, 1)], now).unwrap();
        assert_eq!(revisions(&sequencer.ready(now)), [5, 7, 8]);
        assert_eq!((sequencer.told(), sequencer.wake()), (Revision(8), None));
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_a_revision_go_out_together() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), false, false);
        sequencer.take(vec![change(5, 1)], now).unwrap();
        assert_eq!(sequencer.ready(now), []);
        sequencer.take(vec![change(5, 2)], now + ms(1)).unwrap();
        assert_eq!(sequencer.ready(now + CALM), [], "each part may be followed by another");
        assert_eq!(sequencer.wake(), Some(now + ms(1) + CALM));
        assert_eq!(revisions(&sequencer.ready(now + ms(1) + CALM)), [5, 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_newer_revision_completes_the_ones_before() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), false, false);
        sequencer.take(vec![change(5, 1)], now).unwrap();
        sequencer.take(vec![change(6, 2)], now).unwrap();
        assert_eq!(revisions(&sequencer.ready(now)), [5]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_says_is_complete_goes_out() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), false, true);
        assert!(!sequencer.wants_progress());
        sequencer.take(vec![change(5, 1)], now).unwrap();
        sequencer.take(vec![change(6, 1)], now).unwrap();
        assert_eq!(sequencer.ready(now + CAREFUL), [], "a newer revision says nothing about a watch that is behind");
        assert!(sequencer.wants_progress());
        sequencer.take(vec![change(5, 2), change(6, 2)], now).unwrap();
        sequencer.progress(Revision(5));
        assert_eq!(revisions(&sequencer.ready(now)), [5, 5]);
        assert_eq!(sequencer.wake(), Some(now + PATIENCE));
        sequencer.progress(Revision(9));
        assert_eq!(revisions(&sequencer.ready(now)), [6, 6]);
        assert_eq!((sequencer.told(), sequencer.wants_progress()), (Revision(9), false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_part_comes_back_and_makes_careful() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), false, false);
        sequencer.take(vec![change(5, 1)], now).unwrap();
        sequencer.take(vec![change(6, 1)], now).unwrap();
        assert_eq!(revisions(&sequencer.ready(now)), [5]);
        let late = sequencer.take(vec![change(5, 2), change(6, 2), change(7, 2)], now).unwrap_err();
        assert_eq!(revisions(&late), [5]);
        assert_eq!(sequencer.ready(now + ms(100)), []);
        sequencer.take(vec![change(6, 3)], now + ms(200)).unwrap();
        assert_eq!(revisions(&sequencer.ready(now + CAREFUL + ms(200))), [6, 6, 6, 7]);
        assert!(!sequencer.is_calm());
        sequencer.ready(now + CAREFUL_FOR);
        assert!(sequencer.is_calm());
    }

    #[tokio::test(start_paused = true)]
    async fn catching_up_ends_with_the_servers_word_or_with_quiet() {
        let now = Instant::now();
        for word in [true, false] {
            let mut sequencer = Sequencer::new(Revision(4), false, false);
            sequencer.catch_up(Revision(20), now);
            sequencer.take(vec![change(5, 1), change(20, 1)], now).unwrap();
            assert_eq!(sequencer.ready(now + ms(300)), []);
            sequencer.take(vec![change(6, 2), change(20, 2)], now + ms(300)).unwrap();
            let at = if word { now + ms(300) } else { now + ms(300) + QUIET };
            if word {
                sequencer.progress(Revision(20));
            } else {
                assert_eq!(sequencer.wake(), Some(at));
            }
            assert_eq!(revisions(&sequencer.ready(at)), [5, 6, 20, 20], "word: {word}");
            assert!(sequencer.catching_up.is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn catching_up_is_not_waited_for_without_end() {
        let now = Instant::now();
        let mut sequencer = Sequencer::new(Revision(4), false, false);
        sequencer.catch_up(Revision(1000), now);
        let mut at = now;
        for revision in 5.. {
            at += ms(100);
            sequencer.take(vec![change(revision, 1)], at).unwrap();
            if !sequencer.ready(at).is_empty() {
                break;
            }
        }
        assert_eq!(at, now + CATCH_UP_AT_MOST);
    }

    /// What watches are told: for each revision the watches it touches, and for each part how
    /// much later than the revision it comes.
    fn deliveries() -> impl Strategy<Value = Vec<(i64, usize, u64)>> {
        let part = (0..4_usize, prop_oneof![8 => Just(0_u64), 1 => 0..20_u64, 1 => 0..400_u64]);
        vec(vec(part, 1..4), 1..30).prop_map(|revisions| {
            let mut parts = Vec::new();
            for (revision, touched) in (1_i64..).zip(revisions) {
                for (watch, delay) in touched {
                    if !parts.iter().any(|&(at, other, _)| (at, other) == (revision, watch)) {
                        parts.push((revision, watch, delay));
                    }
                }
            }
            parts
        })
    }

    proptest! {
        /// Whatever comes when, what goes out is whole, in order and complete but for what is
        /// handed back as late.
        #[test]
        fn what_goes_out_is_whole_and_in_order(parts in deliveries(), pace in 0..10_u64) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            let start = runtime.block_on(async { Instant::now() });
            // a watch's own parts never overtake each other
            let mut timed: Vec<(u64, i64, usize)> = Vec::new();
            let mut last = [0; 4];
            for &(revision, watch, delay) in &parts {
                let at = (u64::try_from(revision).unwrap() * pace + delay).max(last[watch]);
                last[watch] = at;
                timed.push((at, revision, watch));
            }
            timed.sort_unstable();
            let mut sequencer = Sequencer::new(Revision(0), false, false);
            let (mut out, mut late) = (Vec::new(), Vec::new());
            let mut batches = Vec::new();
            for (at, revision, watch) in timed {
                let now = start + ms(at);
                while let Some(wake) = sequencer.wake().filter(|wake| *wake <= now) {
                    batches.push(sequencer.ready(wake));
                }
                if let Err(changes) = sequencer.take(vec![change(revision, watch)], now) {
                    late.extend(changes);
                }
                batches.push(sequencer.ready(now));
            }
            while let Some(wake) = sequencer.wake() {
                batches.push(sequencer.ready(wake));
            }
            batches.retain(|batch| !batch.is_empty());
            for batch in batches {
                let (first, last) = (batch[0].revision, batch[batch.len() - 1].revision);
                prop_assert!(out.last().is_none_or(|before: &Change| before.revision < first), "a revision is split");
                prop_assert!(batch.is_sorted_by_key(|change| change.revision) && first <= last);
                out.extend(batch);
            }
            let mut all: Vec<_> = out.iter().chain(&late).map(|change| (change.revision, change.event.key().clone())).collect();
            all.sort();
            let mut told: Vec<_> = parts.iter().map(|&(revision, watch, _)| change(revision, watch)).map(|change| (change.revision, change.event.key().clone())).collect();
            told.sort();
            prop_assert_eq!(all, told);
            if parts.iter().all(|&(_, _, delay)| delay == 0) {
                prop_assert!(late.is_empty(), "a server that keeps up makes nothing late");
            }
        }
    }
}
