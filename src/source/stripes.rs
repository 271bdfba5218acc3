//! A long past, read in several stretches at once.
//!
//! etcd hands a watch that is behind a thousand of its revisions every 100 ms, however many watches
//! are behind, and goes through all revisions since the oldest of them each time. So one watch
//! reads first; when it turns out to have more than one hand to fetch, several of them read the
//! next stretches at the same time, and are told one after the other. What is read ahead is
//! bounded by the length of a stretch.

use std::collections::VecDeque;
use std::time::Duration;

use futures::FutureExt;
use futures::future::select_all;

use super::fill::{Fill, Step};
use crate::domain::{KeyRange, Revision};
use crate::event::Change;
use crate::port::Etcd;

/// How many revisions etcd hands over at once (`watchable_store.go`, `watchBatchMaxRevs`).
const HANDFUL: usize = 1_000;
/// How many handfuls a stretch has.
const HANDFULS: i64 = 4;
/// How many changes of a stretch wait for their turn at most.
const MOST_AHEAD: usize = 10_000;
/// How many stretches are read at once.
const AT_ONCE: usize = 8;

/// What happened in a range, told in order.
pub(super) struct Stripes<'a, E: Etcd> {
    etcd: &'a E,
    range: KeyRange,
    to: Revision,
    server_tells: bool,
    ask: Duration,
    /// Where the next stretch begins.
    next: Revision,
    /// How long it is, in revisions of the store; `None` while one watch is enough.
    length: Option<i64>,
    open: VecDeque<Stretch<E>>,
}

struct Stretch<E: Etcd> {
    fill: Fill<E::Watch>,
    behind: Revision,
    through: Revision,
    told: Vec<Change>,
    /// How it ended.
    end: Option<Step>,
}

impl<'a, E: Etcd> Stripes<'a, E> {
    /// Asks for what happened in `range` behind `through` up to `to`.
    pub fn start(
        etcd: &'a E,
        range: KeyRange,
        through: Revision,
        to: Revision,
        server_tells: bool,
        ask: Duration,
    ) -> Self {
        Self { etcd, range, to, server_tells, ask, next: through, length: None, open: VecDeque::new() }
    }

    /// What comes next, in the order of revisions.
    pub async fn next(&mut self) -> Step {
        loop {
            self.open_stretches();
            let Some(front) = self.open.front_mut() else { return Step::Done };
            if !front.told.is_empty() {
                let changes = std::mem::take(&mut front.told);
                self.measure(&changes);
                return Step::Changes(changes);
            }
            if let Some(end) = front.end.take() {
                self.open.pop_front();
                match end {
                    Step::Done => continue,
                    end => return end,
                }
            }
            let reading = self.open.iter_mut().enumerate().filter(|(at, stretch)| stretch.may_read(*at == 0));
            let steps = reading.map(|(at, stretch)| async move { (at, stretch.fill.next().await) }.boxed());
            // The first one reads in any case, so there is something to wait for.
            let ((at, step), ..) = select_all(steps).await;
            if let Some(stretch) = self.open.get_mut(at) {
                stretch.take(step);
            }
        }
    }

    /// One watch that is handed a whole handful, of which one may be left out as known, has more to
    /// come: from here on several read.
    fn measure(&mut self, changes: &[Change]) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        let revisions = changes.chunk_by(|one, other| one.revision == other.revision).count();
        if self.length.is_none() && revisions + 1 >= HANDFUL && last.revision < self.to {
            self.length = Some((last.revision.0 - first.revision.0 + 1) * HANDFULS);
            self.next = last.revision;
            self.open.clear();
        }
    }

    fn open_stretches(&mut self) {
        let at_once = if self.length.is_some() { AT_ONCE } else { 1 };
        while self.open.len() < at_once && self.next < self.to {
            let through = self.length.map_or(self.to, |length| Revision(self.next.0 + length).min(self.to));
            let fill = Fill::start(self.etcd, self.range.clone(), self.next, through, self.server_tells, self.ask);
            self.open.push_back(Stretch { fill, behind: self.next, through, told: Vec::new(), end: None });
            self.next = through;
        }
    }
}

impl<E: Etcd> Stretch<E> {
    /// Whether it goes on: what is read ahead of its turn is bounded.
    const fn may_read(&self, is_first: bool) -> bool {
        self.end.is_none() && (is_first || self.told.len() < MOST_AHEAD)
    }

    fn take(&mut self, step: Step) {
        let Step::Changes(mut changes) = step else {
            self.end = Some(step);
            return;
        };
        let is_over = changes.last().is_some_and(|last| last.revision >= self.through);
        changes.retain(|change| self.behind < change.revision && change.revision <= self.through);
        self.told.append(&mut changes);
        if is_over {
            self.end = Some(Step::Done);
        }
    }
}
