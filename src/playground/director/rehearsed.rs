//! A run in virtual time with its director.

use std::time::Duration;

use super::{Act, Director};
use crate::domain::play::Happening;
use crate::domain::raft::ClusterTime;
use crate::playground::Rehearsal;

/// The director looks up so often.
const TICK: Duration = Duration::from_millis(20);

/// And so often at the cluster.
const LOOK: Duration = Duration::from_millis(100);

/// A run in virtual time that somebody leads through a scenario.
pub struct Directed {
    run: Rehearsal,
    director: Director,
    /// The first moment that the director does not know yet.
    next: u64,
    look: ClusterTime,
}

impl Directed {
    /// This run, led by this director.
    pub const fn new(run: Rehearsal, director: Director) -> Self {
        Self { run, director, next: 0, look: ClusterTime(0) }
    }

    /// Goes on until then.
    pub fn run(&mut self, until: ClusterTime) {
        loop {
            self.take_in();
            self.act();
            let now = self.run.now();
            if now >= until {
                return;
            }
            let due = self.director.next().filter(|due| *due > now);
            let to = [Some(until), due, Some(now + TICK)].into_iter().flatten().min().unwrap_or(until);
            self.run.run(to);
        }
    }

    /// Ends the run; what came of it, and who judged it.
    pub fn stop(mut self) -> (crate::playground::Tally, Director) {
        self.take_in();
        self.look();
        (self.run.stop(), self.director)
    }

    /// The run, to look at.
    pub const fn inner(&self) -> &Rehearsal {
        &self.run
    }

    fn take_in(&mut self) {
        let (moments, first) = self.run.tally().moments_since(self.next);
        self.next = first + moments.len() as u64;
        for moment in moments {
            self.director.see(moment);
        }
        if self.director.needs_cluster() && self.run.now() >= self.look {
            self.look();
        }
    }

    fn look(&mut self) {
        if self.director.needs_cluster() {
            self.look = self.run.now() + LOOK;
            self.director.look(self.run.cluster().picture());
        }
    }

    fn act(&mut self) {
        let now = self.run.now();
        if self.director.next().is_none_or(|due| due > now) {
            return;
        }
        self.look();
        for act in self.director.act(now) {
            let done = match act {
                Act::Order(order) => self.run.order(order).map(drop),
                Act::Fault(fault) => {
                    let done = self.run.fault(fault);
                    if done.is_ok() {
                        self.run.note(Happening::Fault(fault));
                    }
                    done
                }
                Act::Tell(number) => {
                    self.run.note(Happening::Told(number));
                    Ok(())
                }
            };
            // What cannot be done leaves no moment, and no expectation rests on it.
            if let Err(why) = done {
                tracing::debug!(%why, "the scenario wanted something that cannot be done");
            }
        }
    }
}
