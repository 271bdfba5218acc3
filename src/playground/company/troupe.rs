//! The clients of a company: who they are, how one more comes to be, and what is done to them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::domain::play::{Done, Ill, Order};
use crate::pace::Clock;
use crate::playground::caretaker::Care;
use crate::playground::client::{Around, Client};
use crate::playground::dial::Dial;
use crate::playground::left::Left;
use crate::playground::publish::View;
use crate::playground::resource::Ledgers;
use crate::playground::tally::OfClient;
use crate::playground::{ClientId, Contender, Habits, Note, Told, What, whom};

/// What is done to a client and waits for it.
const ILLS: usize = 8;

/// The clients and what it takes to have more of them.
pub(super) struct Troupe {
    pub view: View,
    pub crew: Mutex<Crew>,
    pub hire: Hire,
    pub care: Box<dyn Care>,
    /// What those do that join.
    pub model: Option<Habits>,
    pub notes: mpsc::WeakSender<Note>,
}

/// Lets one more client begin.
pub(super) type Hire = Box<dyn Fn(&mut Crew, ClientId, Habits) + Send + Sync>;

#[derive(Default)]
pub(super) struct Crew {
    pub clients: JoinSet<Left>,
    ills: BTreeMap<ClientId, mpsc::Sender<Ill>>,
    /// What those left that ended.
    pub left: Left,
    /// Whether the run is over and nobody can join any more.
    pub over: bool,
}

impl Troupe {
    pub async fn order(&self, order: Order) -> Result<Done, String> {
        match order {
            Order::Add(count) => self.add(count).map(Done::Joined),
            Order::Client(whom, ill) => {
                let client = self.view.look(|tally| {
                    let client = whom::meant(tally, self.view.lock(), whom)?;
                    whom::possible(tally, client, ill).map(|()| client)
                })?;
                self.suffer(client, ill).await.map(|()| Done::Client(client, ill))
            }
        }
    }

    async fn suffer(&self, client: ClientId, ill: Ill) -> Result<(), String> {
        if ill == Ill::Revoke {
            let lease = self.view.look(|tally| tally.clients().get(&client).map(OfClient::lease));
            self.care.revoke(lease.unwrap_or_default()).await?;
            if let Some(notes) = self.notes.upgrade() {
                let told = Told { at: self.view.now(), client, what: What::Suffers(ill) };
                // When nobody reads it the run is over.
                let _ = notes.send(Note::Client(told)).await;
            }
            return Ok(());
        }
        let ills = self.crew().ills.get(&client).cloned();
        match ills {
            Some(ills) => ills.send(ill).await.map_err(|_| format!("{client} has ended")),
            None => Err(format!("there is no {client}")),
        }
    }

    fn add(&self, count: u16) -> Result<Vec<ClientId>, String> {
        let mut crew = self.crew();
        if crew.over {
            return Err("the run is over".into());
        }
        crew.reap();
        let (habits, ids) = {
            let tally = &mut self.view.desk().tally;
            let next = ClientId(tally.clients().keys().last().map_or(1, |last| last.0 + 1));
            let (habits, ids) = whom::joining(self.model.as_ref(), self.view.lock(), next, count)?;
            for id in &ids {
                tally.join(*id, &habits);
            }
            (habits, ids)
        };
        for id in &ids {
            (self.hire)(&mut crew, *id, habits.clone());
        }
        Ok(ids)
    }

    pub fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crew {
    /// Keeps what those left that have ended.
    fn reap(&mut self) {
        while let Some(ended) = self.clients.try_join_next() {
            self.left.extend(resume_panic(ended).unwrap_or_default());
        }
        self.ills.retain(|_, ills| !ills.is_closed());
    }
}

/// What all clients stand in.
pub(super) struct Surroundings {
    pub clock: Clock,
    pub notes: mpsc::Sender<Note>,
    pub ledgers: Ledgers,
    pub view: View,
    pub leave: CancellationToken,
    pub seed: u64,
}

impl Surroundings {
    pub fn hire<D: Dial>(&self, crew: &mut Crew, id: ClientId, habits: Habits, dial: D) {
        let around = Around {
            clock: self.clock.clone(),
            notes: self.notes.clone(),
            ledgers: self.ledgers.clone(),
            traffic: self.view.look(|tally| tally.traffic(&habits.lock())),
        };
        let contender = Contender::new(habits, Chance::new(self.seed, u64::from(id.0)));
        let client = Client::new(id, contender, dial, around);
        let (ills, done) = mpsc::channel(ILLS);
        crew.ills.insert(id, ills);
        crew.clients.spawn(client.run(done, self.leave.clone()));
    }
}

/// What a task ended with; its panic goes on here.
pub(super) fn resume_panic<T>(ended: Result<T, JoinError>) -> Option<T> {
    match ended {
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        ended => ended.ok(),
    }
}
