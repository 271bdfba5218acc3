//! A run in virtual time: clients on an embedded cluster, without a socket and without waiting.
//!
//! The same cast, cluster and seed give the same run, to the microsecond, and an hour passes in
//! seconds. Clients speak to their members without delay; what takes time is what takes time
//! inside the cluster.

use std::time::Duration;

use super::stage::Stage;
use super::{Cast, ClientId, Contender, Tally, Told};
use crate::chance::Chance;
use crate::domain::raft::{ClusterTime, Fault};
use crate::domain::{KeyRange, Revision, Term};
use crate::embedded::{self, Config};
use crate::recipe::Input;

mod cluster;
mod requests;
#[cfg(test)]
mod tests;
mod turn;

use cluster::Embedded;

/// How long clients may take to give up what they have.
const FAREWELL: Duration = Duration::from_secs(3);

/// A run that goes on as far as it is asked to.
pub struct Rehearsal {
    stage: Stage<Embedded, Contender>,
    tally: Tally,
    range: KeyRange,
    /// The first revision that the judge does not know yet.
    next: Revision,
    /// The leader's term when it was looked at last.
    term: Term,
}

impl Rehearsal {
    /// The clients of `cast` begin on a cluster that begins with them.
    pub fn new(cast: &Cast, cluster: Config, seed: u64) -> Self {
        let mut tally = Tally::new(cast.locks());
        tally.begins(Term(0));
        let stage = Stage::new(Embedded::new(embedded::Cluster::new(cluster)));
        let next = stage.cluster.revision().next();
        tally.listed(stage.cluster.revision(), &[]);
        let range = KeyRange::prefix(&cast.prefix);
        let mut run = Self { stage, tally, range, next, term: Term(0) };
        for (id, habits) in &cast.clients {
            let client = Contender::new(habits.clone(), Chance::new(seed, u64::from(id.0)));
            run.stage.enter(*id, client, &mut |told: Told| run.tally.told(&told));
        }
        run
    }

    /// The time on the cluster's clock.
    pub const fn now(&self) -> ClusterTime {
        self.stage.now()
    }

    /// Goes on until then.
    pub fn run(&mut self, until: ClusterTime) {
        while self.step(until) {}
    }

    /// Does something to the cluster now.
    ///
    /// # Errors
    /// In words, when it cannot be done; and what is done to a clock cannot: there is none.
    pub fn fault(&mut self, fault: Fault) -> Result<(), String> {
        self.stage.cluster.fault(self.stage.now(), fault)
    }

    /// Does something to a client now.
    pub fn tell(&mut self, client: ClientId, fault: Input) {
        let tally = &mut self.tally;
        self.stage.tell(client, fault, &mut |told: Told| tally.told(&told));
    }

    /// The cluster, to look at.
    pub const fn cluster(&self) -> &embedded::Cluster {
        self.stage.cluster.inner()
    }

    /// Lets the clients give up what they have; what came of it all.
    pub fn stop(mut self) -> Tally {
        self.tally.ends();
        let clients: Vec<_> = self.stage.clients.keys().copied().collect();
        for client in clients {
            self.tell(client, Input::Stop);
        }
        let end = self.stage.now() + FAREWELL;
        while !self.stage.clients.values().all(Contender::is_stopped) && self.step(end) {}
        self.tally
    }

    fn step(&mut self, until: ClusterTime) -> bool {
        let mut told = Vec::new();
        let stepped = self.stage.step(until, &mut |what| told.push(what));
        // The history first: what clients say rests on it.
        let changes = self.stage.cluster.changes(&self.range, self.next);
        if let Some((last, _)) = changes.last() {
            self.next = last.next();
            self.tally.changed(self.stage.now(), &changes);
        }
        let term = self.stage.cluster.led_term();
        if term > self.term {
            self.term = term;
            self.tally.terms_were(&self.stage.cluster.inner().picture().terms);
        }
        for told in told {
            self.tally.told(&told);
        }
        stepped
    }
}
