//! One client's lane: what it did in which stretch of time, and what happened to it at which
//! moment.
//!
//! ```text
//!             Enqueued           Acquired        Released, Lost, GaveUp
//!   nothing ───────────► waiting ────────► holding ─────────────────────► nothing
//!                          │                  │ Dropped: the store took its key
//!                          │ Dropped          ▼
//!                          └──► nothing     stale ──► nothing, once it knows
//!
//!   Crashed leads to away from everywhere, Returned back to nothing; between Paused and
//!   Resumed all of this goes on unseen below paused, but for stale: who sleeps through the end
//!   of its lease is wrong from then on, not from when it wakes.
//! ```

use std::collections::VecDeque;

use crate::domain::Revision;
use crate::domain::play::{Belief, ClientPicture, Happening, Life, Moment};
use crate::domain::raft::ClusterTime;

/// A client's lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// What lasted, oldest first; they do not overlap.
    stretches: VecDeque<Stretch>,
    /// What happened in a moment, oldest first.
    marks: VecDeque<Mark>,
    /// What it would be seen to do if it were not paused.
    doing: Option<Doing>,
    paused: bool,
    /// Whether its key was dropped since it began to wait.
    dropped: bool,
    /// Whether its last write was refused and it does nothing since.
    fenced: bool,
    /// The token of what it holds; of two locks that of the one that it took first.
    held: Option<Revision>,
}

/// A stretch of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began.
    pub from: ClusterTime,
    /// When it ended; none while it lasts.
    pub to: Option<ClusterTime>,
    /// What the client does in it.
    pub doing: Doing,
    /// The fencing token, for one who holds.
    pub token: Option<Revision>,
}

/// What a client does for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Its key stands in the queue.
    Waiting,
    /// It holds.
    Holding,
    /// It believes that it holds, and the store has dropped its key.
    Stale,
    /// It stands still, whatever else it does, unless it is stale.
    Paused,
    /// It crashed and is not back.
    Away,
}

/// A mark on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: ClusterTime,
    /// What.
    pub what: Marked,
}

/// What is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The store passed the lock on to it at this revision.
    First(Revision),
    /// Its key went against its will: at this revision, when that is known.
    Gone(Option<Revision>),
    /// It crashed.
    Crashed,
    /// A resource refused its write with this token.
    Refused(Revision),
    /// A resource took its write although it came too late.
    Damaged(Revision),
    /// Something else was done to it.
    Suffered,
    /// It was told of a change.
    Saw,
    /// It put something that others are told of.
    Put,
}

impl Lane {
    /// The stretches, oldest first.
    pub const fn stretches(&self) -> &VecDeque<Stretch> {
        &self.stretches
    }

    /// The marks, oldest first.
    pub const fn marks(&self) -> &VecDeque<Mark> {
        &self.marks
    }

    /// What it does, or would be seen to do if it were not paused.
    pub const fn doing(&self) -> Option<Doing> {
        self.doing
    }

    /// Whether it holds one lock and waits for a second one, given that it believes to wait.
    pub fn has_first(&self) -> bool {
        self.doing == Some(Doing::Holding)
    }

    /// Whether the store passed the lock on to it and it has not held since.
    pub fn is_first(&self) -> bool {
        let Some(Mark { at, what: Marked::First(_) }) = self.marks.back() else { return false };
        let waits_since = |last: &Stretch| match last.to {
            Some(to) => to,
            None if last.doing == Doing::Waiting => last.from,
            None => ClusterTime(u64::MAX),
        };
        self.stretches.back().is_none_or(|last| waits_since(last) <= *at)
    }

    /// Whether its last write was refused and it did nothing since.
    pub const fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// Takes in what happened to the client.
    pub(super) fn take(&mut self, moment: &Moment, most: usize) {
        let at = moment.at;
        match &moment.what {
            // Who takes two locks holds the first while it waits for the second.
            Happening::Enqueued(_) if self.doing == Some(Doing::Holding) => {}
            Happening::Enqueued(_) => {
                (self.dropped, self.fenced) = (false, false);
                self.held = None;
                self.does(at, Some(Doing::Waiting), most);
            }
            Happening::First(revision) => self.mark(at, Marked::First(*revision), most),
            Happening::Acquired(token, _) | Happening::HasFirst(token, _) => {
                (self.dropped, self.fenced) = (false, false);
                self.held.get_or_insert(*token);
                self.does(at, Some(Doing::Holding), most);
            }
            Happening::Dropped(revision, _) => {
                (self.dropped, self.held) = (true, None);
                self.mark(at, Marked::Gone(Some(*revision)), most);
                match self.doing {
                    Some(Doing::Holding) => self.does(at, Some(Doing::Stale), most),
                    Some(Doing::Waiting) => self.does(at, None, most),
                    _ => {}
                }
            }
            Happening::Lost(_) => {
                // What the store did may have been seen already.
                if !self.dropped && matches!(self.doing, Some(Doing::Holding | Doing::Waiting)) {
                    self.mark(at, Marked::Gone(None), most);
                }
                (self.dropped, self.held) = (false, None);
                self.does(at, None, most);
            }
            Happening::Released(_) | Happening::GaveUp => {
                self.held = None;
                self.does(at, None, most);
            }
            Happening::Crashed(_) => {
                self.held = None;
                self.mark(at, Marked::Crashed, most);
                self.paused = false;
                self.does(at, Some(Doing::Away), most);
            }
            Happening::Expired(revision, _) => {
                if !self.dropped {
                    self.mark(at, Marked::Gone(Some(*revision)), most);
                }
            }
            Happening::Began | Happening::Returned | Happening::Stopped => {
                (self.paused, self.dropped, self.fenced, self.held) = (false, false, false, None);
                self.does(at, None, most);
            }
            Happening::Paused => self.pauses(at, true, most),
            Happening::Resumed => self.pauses(at, false, most),
            Happening::Suffered(_) => self.mark(at, Marked::Suffered, most),
            Happening::Damaged(token, _) => self.mark(at, Marked::Damaged(*token), most),
            Happening::Refused(token, _) => {
                self.fenced = true;
                self.mark(at, Marked::Refused(*token), most);
            }
            Happening::Saw(_) => self.mark(at, Marked::Saw, most),
            Happening::Wrote(_)
            | Happening::Circle(_)
            | Happening::Term(_)
            | Happening::Fault(_)
            | Happening::Told(_) => {}
        }
    }

    /// It put something that others are told of.
    pub(super) fn puts(&mut self, at: ClusterTime, most: usize) {
        self.mark(at, Marked::Put, most);
    }

    /// It believes to wait, and nothing of its own was seen to be dropped.
    pub(super) fn waits(&mut self, at: ClusterTime, most: usize) {
        if !self.dropped {
            self.does(at, Some(Doing::Waiting), most);
        }
    }

    /// Nobody knows what it did from here on.
    pub(super) fn forget(&mut self, at: ClusterTime, most: usize) {
        (self.paused, self.held) = (false, None);
        self.does(at, None, most);
    }

    /// Goes on from how a client is, when what it did before is not known.
    pub(super) fn go_on(&mut self, at: ClusterTime, client: &ClientPicture, most: usize) {
        self.paused = client.life == Life::Paused;
        let doing = match (client.life, client.belief) {
            (Life::Gone, _) => Some(Doing::Away),
            (Life::Stopped, _) | (_, Belief::Idle | Belief::Lost) => None,
            (_, Belief::Waiting) => Some(Doing::Waiting),
            (_, Belief::Holding) if client.place == Some(0) => Some(Doing::Holding),
            (_, Belief::Holding) => Some(Doing::Stale),
        };
        self.held = (doing == Some(Doing::Holding)).then_some(client.stake.created);
        self.does(at, doing, most);
    }

    /// Has no more than so many stretches and marks.
    pub(super) fn trim(&mut self, most: usize) {
        while self.stretches.len() > most {
            self.stretches.pop_front();
        }
        while self.marks.len() > most {
            self.marks.pop_front();
        }
    }

    fn pauses(&mut self, at: ClusterTime, paused: bool, most: usize) {
        self.paused = paused;
        self.does(at, self.doing, most);
    }

    /// From now on it does this.
    fn does(&mut self, at: ClusterTime, doing: Option<Doing>, most: usize) {
        self.doing = doing;
        let seen = if self.paused && doing != Some(Doing::Stale) { Some(Doing::Paused) } else { doing };
        let last = self.stretches.back_mut().filter(|last| last.to.is_none());
        if last.as_ref().map(|last| last.doing) == seen {
            return;
        }
        if let Some(last) = last {
            // Clients and store are told of by different ways: one may be a little late.
            last.to = Some(at.max(last.from));
        }
        if let Some(doing) = seen {
            let from = self.stretches.back().and_then(|last| last.to).map_or(at, |end| end.max(at));
            let token = self.held.filter(|_| doing == Doing::Holding);
            self.stretches.push_back(Stretch { from, to: None, doing, token });
        }
        self.trim(most);
    }

    fn mark(&mut self, at: ClusterTime, what: Marked, most: usize) {
        let at = self.marks.back().map_or(at, |last| last.at.max(at));
        self.marks.push_back(Mark { at, what });
        self.trim(most);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::Key;
    use crate::domain::play::ClientId;

    const SECOND: u64 = 1_000_000;

    fn lane(moments: &[(u64, Happening)]) -> Lane {
        let mut lane = Lane::default();
        for (second, what) in moments {
            let at = ClusterTime(second * SECOND);
            lane.take(&Moment { at, lock: Key::default(), client: Some(ClientId(1)), what: what.clone() }, 100);
        }
        lane
    }

    fn told(lane: &Lane) -> String {
        let stretch = |stretch: &Stretch| {
            let to = stretch.to.map_or_else(String::new, |to| (to.0 / SECOND).to_string());
            format!("{:?} {}-{to}", stretch.doing, stretch.from.0 / SECOND)
        };
        lane.stretches().iter().map(stretch).collect::<Vec<_>>().join(", ")
    }

    fn acquired(token: i64) -> Happening {
        Happening::Acquired(Revision(token), Duration::from_secs(1))
    }

    #[test]
    fn a_turn_is_a_wait_and_a_hold() {
        let turn = [
            (1, Happening::Enqueued(Revision(7))),
            (3, Happening::First(Revision(9))),
            (4, acquired(7)),
            (8, Happening::Released(Duration::from_secs(4))),
        ];
        let lane = lane(&turn);
        assert_eq!(told(&lane), "Waiting 1-4, Holding 4-8");
        assert_eq!(lane.stretches()[1].token, Some(Revision(7)));
        assert_eq!(*lane.marks(), [Mark { at: ClusterTime(3 * SECOND), what: Marked::First(Revision(9)) }]);
    }

    #[test]
    fn who_takes_two_locks_holds_the_first_while_it_waits_for_the_second() {
        let pair = [
            (1, Happening::Enqueued(Revision(7))),
            (2, Happening::HasFirst(Revision(7), Duration::ZERO)),
            (3, Happening::Enqueued(Revision(9))),
            (6, acquired(7)),
            (8, Happening::Released(Duration::from_secs(2))),
        ];
        let lane = lane(&pair);
        assert_eq!(told(&lane), "Waiting 1-2, Holding 2-8");
        assert_eq!(lane.stretches()[1].token, Some(Revision(7)));
    }

    #[test]
    fn what_is_held_behind_the_stores_back_is_stale_until_it_is_known() {
        let zombie = [
            (1, Happening::Enqueued(Revision(7))),
            (2, acquired(7)),
            (4, Happening::Paused),
            (9, Happening::Dropped(Revision(12), Belief::Holding)),
            (11, Happening::Resumed),
            (12, Happening::Refused(Revision(7), Revision(11))),
            (13, Happening::Lost(Belief::Holding)),
        ];
        let lane = lane(&zombie);
        assert_eq!(told(&lane), "Waiting 1-2, Holding 2-4, Paused 4-9, Stale 9-13");
        let marks: Vec<_> = lane.marks().iter().map(|mark| mark.what).collect();
        assert_eq!(marks, [Marked::Gone(Some(Revision(12))), Marked::Refused(Revision(7))], "it is lost once");
        assert!(lane.is_fenced());
    }

    #[test]
    fn who_waits_for_nothing_is_not_seen_to_wait() {
        let lane =
            lane(&[(1, Happening::Enqueued(Revision(7))), (5, Happening::Dropped(Revision(9), Belief::Waiting))]);
        assert_eq!(told(&lane), "Waiting 1-5");
        let knows = [(1, Happening::Enqueued(Revision(7))), (5, Happening::Lost(Belief::Waiting))];
        assert_eq!(self::lane(&knows).marks()[0].what, Marked::Gone(None), "the store was not seen to do it");
    }

    #[test]
    fn a_crash_lasts_until_the_client_is_back() {
        let crash = [
            (2, acquired(7)),
            (3, Happening::Crashed(Belief::Holding)),
            (9, Happening::Expired(Revision(12), Duration::from_secs(6))),
            (10, Happening::Returned),
            (11, Happening::Enqueued(Revision(14))),
        ];
        let lane = lane(&crash);
        assert_eq!(told(&lane), "Holding 2-3, Away 3-10, Waiting 11-");
        let marks: Vec<_> = lane.marks().iter().map(|mark| mark.what).collect();
        assert_eq!(marks, [Marked::Crashed, Marked::Gone(Some(Revision(12)))]);
    }

    #[test]
    fn what_is_told_late_neither_overlaps_nor_runs_backwards() {
        let moments = [(5, acquired(7)), (4, Happening::Dropped(Revision(9), Belief::Holding)), (3, Happening::Paused)];
        let lane = lane(&moments);
        assert_eq!(told(&lane), "Holding 5-5, Stale 5-");
        assert!(lane.marks().iter().map(|mark| mark.at).is_sorted());
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut lane = Lane::default();
        for second in 0..100 {
            let moment = |what| Moment {
                at: ClusterTime(second * SECOND),
                lock: Key::default(),
                client: Some(ClientId(1)),
                what,
            };
            lane.take(&moment(Happening::Enqueued(Revision(7))), 8);
            lane.take(&moment(Happening::First(Revision(7))), 8);
            lane.take(&moment(acquired(7)), 8);
            lane.take(&moment(Happening::Released(Duration::ZERO)), 8);
        }
        assert_eq!((lane.stretches().len(), lane.marks().len()), (8, 8));
        assert_eq!(lane.stretches().back().unwrap().from, ClusterTime(99 * SECOND));
    }
}
