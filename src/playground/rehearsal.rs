//! A run in virtual time: clients on an embedded cluster, without a socket and without waiting.
//!
//! The same cast, cluster and seed give the same run, to the microsecond, and an hour passes in
//! seconds. Clients speak to their members without delay; what takes time is what takes time
//! inside the cluster.

use std::time::Duration;

use super::publish::{Desk, Title};
use super::resource::Ledgers;
use super::stage::Stage;
use super::tally::{Happening, OfClient};
use super::{Cast, ClientId, Contender, Habits, Tally, Told, whom};
use crate::chance::Chance;
use crate::domain::play::{Done, Expected, Ill, Narration, Order, PlayPicture};
use crate::domain::raft::{ClusterTime, Fault};
use crate::domain::{KeyRange, Revision, Term};
use crate::embedded::{self, Config};

mod cluster;
#[cfg(test)]
mod ill_tests;
mod requests;
#[cfg(test)]
mod tests;
mod turn;

use cluster::{Embedded, Read};

/// How long clients may take to give up what they have.
const FAREWELL: Duration = Duration::from_secs(3);

/// A run that goes on as far as it is asked to.
pub struct Rehearsal {
    stage: Stage<Embedded, Contender>,
    desk: Desk,
    title: Title,
    range: KeyRange,
    seed: u64,
    /// What those do that join.
    model: Option<Habits>,
    /// The first revision that the judge does not know yet.
    next: Revision,
    /// The leader's term when it was looked at last.
    term: Term,
}

impl Rehearsal {
    /// The clients of `cast` begin on a cluster that begins with them and keeps every revision.
    pub fn new(cast: &Cast, cluster: Config, seed: u64) -> Self {
        Self::on(embedded::Cluster::new(cluster), cast, seed)
    }

    /// The clients of `cast` begin on this cluster, at whose keys nobody was before.
    pub fn on(cluster: embedded::Cluster, cast: &Cast, seed: u64) -> Self {
        let mut tally = Tally::new(cast.clients.iter().map(|(id, habits)| (*id, habits)), &cast.resources);
        tally.begins(Term(0));
        let mut stage = Stage::new(Embedded::new(cluster));
        stage.ledgers = Ledgers::new(&cast.resources);
        let next = stage.cluster.revision().next();
        tally.listed(stage.cluster.revision(), &[]);
        let range = KeyRange::prefix(&cast.prefix);
        let model = cast.clients.iter().find(|(_, habits)| habits.lock() == cast.lock);
        let model = model.map(|(_, habits)| habits.clone());
        let (desk, title) = (Desk { tally, ..Desk::default() }, Title::of(cast));
        let mut run = Self { stage, desk, title, range, seed, model, next, term: Term(0) };
        for (id, habits) in &cast.clients {
            run.enter(*id, habits);
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

    /// Does what is ordered, now; what that was, and to whom.
    ///
    /// # Errors
    /// In words, what cannot be done and what can.
    #[expect(clippy::needless_pass_by_value, reason = "orders are given away, as to a company")]
    pub fn order(&mut self, order: Order) -> Result<Done, String> {
        let tally = &self.desk.tally;
        match order {
            Order::Client(whom, ill) => {
                let client = whom::meant(tally, self.title.lock(), whom)?;
                whom::possible(tally, client, ill)?;
                if ill == Ill::Revoke {
                    let lease = tally.clients().get(&client).map(OfClient::lease);
                    self.stage.cluster.revoke(self.stage.now(), lease.unwrap_or_default());
                }
                self.suffer(client, ill);
                Ok(Done::Client(client, ill))
            }
            Order::Add(count) => {
                let next = ClientId(tally.clients().keys().last().map_or(1, |last| last.0 + 1));
                let (habits, ids) = whom::joining(self.model.as_ref(), self.title.lock(), next, count)?;
                for id in &ids {
                    self.desk.tally.join(*id, &habits);
                    self.enter(*id, &habits);
                }
                Ok(Done::Joined(ids))
            }
        }
    }

    /// Tells the judge of something that is not a client's.
    pub fn note(&mut self, what: Happening) {
        self.desk.tally.note(self.stage.now(), what);
    }

    /// The run now, with what happened since the moment of this number.
    pub fn picture(&self, since: u64) -> PlayPicture {
        self.desk.picture(&self.title, self.stage.now(), since)
    }

    /// What the director has told last, and how what is expected stands.
    pub fn set_told(&mut self, narration: Option<Narration>, expectations: Vec<Expected>) {
        self.desk.narration = narration;
        self.desk.expectations = expectations;
    }

    /// The judge's books.
    pub const fn tally(&self) -> &Tally {
        &self.desk.tally
    }

    fn enter(&mut self, id: ClientId, habits: &Habits) {
        let client = Contender::new(habits.clone(), Chance::new(self.seed, u64::from(id.0)));
        let tally = &mut self.desk.tally;
        let traffic = tally.traffic(&habits.lock());
        if habits.stays {
            self.stage.cluster.stays(id);
        }
        self.stage.enter(id, client, traffic, &mut |told: Told| tally.told(&told));
    }

    fn suffer(&mut self, client: ClientId, ill: Ill) {
        let tally = &mut self.desk.tally;
        self.stage.suffer(client, ill, &mut |told: Told| tally.told(&told));
    }

    /// The cluster, to look at.
    pub const fn cluster(&self) -> &embedded::Cluster {
        self.stage.cluster.inner()
    }

    /// Lets the clients give up what they have; what came of it all.
    pub fn stop(mut self) -> Tally {
        self.desk.tally.ends();
        let clients: Vec<_> = self.stage.clients.keys().copied().collect();
        for client in clients {
            self.suffer(client, Ill::Remove);
        }
        let end = self.stage.now() + FAREWELL;
        while !self.stage.clients.values().all(Contender::is_stopped) && self.step(end) {}
        self.desk.tally
    }

    /// Lets the next thing happen, unless it is due after `until`; whether one did.
    pub fn step(&mut self, until: ClusterTime) -> bool {
        let mut told = Vec::new();
        let stepped = self.stage.step(until, &mut |what| told.push(what));
        let tally = &mut self.desk.tally;
        for told in &told {
            tally.foresees(told);
        }
        // The history first: what clients say rests on it.
        match self.stage.cluster.changes(&self.range, self.next) {
            Read::Changes(changes) => {
                if let Some((last, _)) = changes.last() {
                    self.next = last.next();
                    tally.changed(self.stage.now(), &changes);
                }
            }
            Read::Listed { revision, keys } => {
                self.next = revision.next();
                tally.listed(revision, &keys);
            }
        }
        let term = self.stage.cluster.led_term();
        if term > self.term {
            self.term = term;
            tally.terms_were(&self.stage.cluster.inner().picture().terms);
        }
        for told in told {
            tally.told(&told);
        }
        stepped
    }
}
