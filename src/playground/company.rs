//! All that takes part in a run on a real cluster: the clients, the journal, the judge.
//!
//! ```text
//!   Client ─┐
//!   Client ─┼─ notes (bounded) ─► judge ─► Tally
//!   Journal ┘
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client::Client;
use super::dial::Dial;
use super::journal::Journal;
use super::{Cast, ClientId, Contender, Note, Seen, Tally};
use crate::chance::Chance;
use crate::domain::{KeyRange, Term};
use crate::pace::Clock;
use crate::recipe::Input;

/// Notes that wait for the judge; beyond them clients wait.
const NOTES: usize = 1024;

/// What is done to a client and waits for it.
const FAULTS: usize = 8;

/// How long the judge waits for the rest of the evidence when the clients are gone.
const REST: Duration = Duration::from_secs(2);

/// A company on a cluster. When it is dropped everything ends, without the farewell.
#[derive(Debug)]
pub struct Company {
    clients: JoinSet<()>,
    faults: BTreeMap<ClientId, mpsc::Sender<Input>>,
    leave: CancellationToken,
    journal: JoinHandle<()>,
    judge: JoinHandle<Tally>,
    /// What the judge knows.
    open: watch::Receiver<Open>,
    notes: mpsc::Sender<Note>,
    all: DropGuard,
}

/// How far the evidence has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    /// Whether the store was read.
    read: bool,
    /// How many times a client took a lock that were not judged yet.
    pending: usize,
}

impl Company {
    /// Reads the store, then lets the clients of `cast` begin; `dial` tells each how to connect, and
    /// the journal, which has the number 0. A `began` term is the one the cluster was in when
    /// its clock began, for who started it.
    ///
    /// It returns when the clients have begun, so not before the cluster answers.
    pub async fn start<D: Dial>(
        cast: &Cast,
        seed: u64,
        dial: impl Fn(u32) -> D,
        clock: &Clock,
        began: Option<Term>,
    ) -> Self {
        let (notes, read) = mpsc::channel(NOTES);
        let all = CancellationToken::new();
        let leave = all.child_token();
        let mut tally = Tally::new(cast.locks());
        if let Some(term) = began {
            tally.begins(term);
        }
        let (judged, mut open) = watch::channel(Open::default());
        let judge = tokio::spawn(judge(tally, read, judged));
        let range = KeyRange::prefix(&cast.prefix);
        let journal = Journal::new(dial(0), clock.clone(), range, notes.clone());
        let ended = all.clone();
        let journal = tokio::spawn(async move {
            tokio::select! {
                // The end first, then the work.
                biased;
                () = ended.cancelled() => {}
                () = journal.run() => {}
            }
        });
        let mut company = Self {
            clients: JoinSet::new(),
            faults: BTreeMap::new(),
            leave,
            journal,
            judge,
            open: open.clone(),
            notes,
            all: all.drop_guard(),
        };
        // The judge is there as long as the company is.
        let _ = open.wait_for(|open| open.read).await;
        for (id, habits) in &cast.clients {
            let contender = Contender::new(habits.clone(), Chance::new(seed, u64::from(id.0)));
            let client = Client::new(*id, contender, dial(id.0), clock.clone(), company.notes.clone());
            let (faults, done) = mpsc::channel(FAULTS);
            company.faults.insert(*id, faults);
            company.clients.spawn(client.run(done, company.leave.clone()));
        }
        company
    }

    /// Does something to a client; whether it takes it.
    pub async fn fault(&self, client: ClientId, fault: Input) -> bool {
        match self.faults.get(&client) {
            Some(faults) => faults.send(fault).await.is_ok(),
            None => false,
        }
    }

    /// Lets the clients give up what they have, waits for the rest of the evidence, and ends.
    pub async fn stop(mut self) -> Tally {
        // When nobody reads it the judge is gone, and so is what it would have told.
        let _ = self.notes.send(Note::End).await;
        self.leave.cancel();
        while let Some(ended) = self.clients.join_next().await {
            resume_panic(ended);
        }
        let _ = tokio::time::timeout(REST, self.open.wait_for(|open| open.pending == 0)).await;
        drop((self.all, self.notes));
        resume_panic(self.journal.await);
        match self.judge.await {
            Ok(tally) => tally,
            Err(ended) => {
                resume_panic(Err(ended));
                Tally::default()
            }
        }
    }
}

/// Takes in what is noted until nobody notes any more.
async fn judge(mut tally: Tally, mut notes: mpsc::Receiver<Note>, judged: watch::Sender<Open>) -> Tally {
    let mut read = false;
    while let Some(note) = notes.recv().await {
        match note {
            Note::End => tally.ends(),
            Note::Client(told) => tally.told(&told),
            Note::Store(at, Seen::Changed(changes)) => tally.changed(at, &changes),
            Note::Store(at, Seen::Term(term)) => tally.term_led(at, term),
            Note::Store(_, Seen::Listed { revision, keys }) => {
                tally.listed(revision, &keys);
                read = true;
            }
        }
        let open = Open { read, pending: tally.pending() };
        judged.send_if_modified(|known| std::mem::replace(known, open) != open);
    }
    tally
}

fn resume_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(ended) = ended
        && ended.is_panic()
    {
        std::panic::resume_unwind(ended.into_panic());
    }
}
