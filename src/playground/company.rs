//! All that takes part in a run on a real cluster: the clients, the journal, the judge.
//!
//! ```text
//!   Client ─┐
//!   Client ─┼─ notes (bounded) ─► judge ─► Tally ─► View: pictures, a look at the books
//!   Journal ┘
//!      ▲
//!   Control: orders, such as a pause, or more clients
//! ```
//!
//! Orders are followed by the clients' tasks. Only the revocation of a lease is made by the
//! company itself, on a connection of its own: it is done to a client and not by it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::caretaker::Caretaker;
use super::dial::{Dial, Limited};
use super::journal::Journal;
use super::left::Remains;
use super::publish::{Desk, Title, View};
use super::resource::Ledgers;
use super::tally::Happening;
use super::{Cast, ClientId, Note, Seen, Tally};
use crate::domain::escape::escape;
use crate::domain::play::{Done, Expected, Narration, Order, PlayPicture};
use crate::domain::{Key, KeyRange, Term};
use crate::pace::Clock;

mod troupe;

use troupe::{Crew, Surroundings, Troupe, resume_panic};

/// Notes that wait for the judge; beyond them clients wait.
const NOTES: usize = 1024;

/// How many of them the judge takes in at once.
const AT_ONCE: usize = 64;

/// How long the judge waits for the rest of the evidence when the clients are gone.
const REST: Duration = Duration::from_secs(2);

/// A company on a cluster. When it is dropped everything ends, without the farewell.
pub struct Company {
    troupe: Arc<Troupe>,
    leave: CancellationToken,
    journal: JoinHandle<()>,
    judge: JoinHandle<()>,
    /// What the judge knows.
    open: watch::Receiver<Open>,
    notes: mpsc::Sender<Note>,
    all: DropGuard,
    /// What all its keys begin with.
    prefix: Key,
}

/// How a run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// What everybody's times follow from.
    pub seed: u64,
    /// The term that the cluster was in when its clock began, for who started it.
    pub term: Option<Term>,
    /// Whether keys of others may be there already.
    pub join: bool,
}

/// What there is when a company has ended.
#[derive(Debug)]
pub struct Stopped {
    /// What came of the run.
    pub tally: Tally,
    /// What could not be taken away; none when nothing is left behind.
    pub remains: Option<Remains>,
}

/// Why a company does not begin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StartError {
    /// Somebody else's keys are there.
    #[error(
        "keys of another run, or of somebody else, are below {prefix}: {keys}{more}. Wait until they are gone, or \
         begin among them with --join",
        more = if *.more > 0 { format!(" and {more} more") } else { String::new() }
    )]
    Taken {
        /// What the keys of the run begin with, escaped.
        prefix: String,
        /// The first of those that are there, escaped.
        keys: String,
        /// How many there are beside these.
        more: usize,
    },
    /// The journal or the judge has ended.
    #[error("the run ended before it began")]
    Ended,
}

/// Orders to a company, from wherever. Clones give orders to the same one.
#[derive(Clone)]
pub struct Control {
    troupe: Weak<Troupe>,
    view: View,
}

/// How far the evidence has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    /// Whether the store was read.
    read: bool,
    /// How many times a client took a lock that were not judged yet.
    pending: usize,
    /// How many moments there were.
    moments: u64,
}

impl Company {
    /// Reads the store, then lets the clients of `cast` begin; `dial` tells each how to connect, and
    /// the journal and the company itself, which have the number 0.
    ///
    /// It returns when the clients have begun, so not before the cluster answers.
    ///
    /// # Errors
    /// When there are keys already below the prefix of the cast, unless the run is to join them.
    pub async fn start<D: Dial>(
        cast: &Cast,
        begin: Begin,
        dial: impl Fn(u32) -> D + Send + Sync + 'static,
        clock: &Clock,
    ) -> Result<Self, StartError> {
        let (notes, read) = mpsc::channel(NOTES);
        let all = CancellationToken::new();
        let leave = all.child_token();
        let mut tally = Tally::new(cast.clients.iter().map(|(id, habits)| (*id, habits)), &cast.resources);
        if let Some(term) = begin.term {
            tally.begins(term);
        }
        let view = View::new(Desk { tally, ..Desk::default() }, Title::of(cast), clock.clone());
        let (judged, mut open) = watch::channel(Open::default());
        let judge = tokio::spawn(judge(view.clone(), read, judged));
        let range = KeyRange::prefix(&cast.prefix);
        let journal = Journal::new(dial(0), clock.clone(), range.clone(), notes.clone());
        let journal = tokio::spawn({
            let ended = all.clone();
            async move {
                tokio::select! {
                    // The end first, then the work.
                    biased;
                    () = ended.cancelled() => {}
                    () = journal.run() => {}
                }
            }
        });
        let all = all.drop_guard();
        open.wait_for(|open| open.read).await.map_err(|_| StartError::Ended)?;
        if !begin.join {
            view.look(|tally| is_free(tally, &cast.prefix))?;
        }
        let care = Box::new(Caretaker::new(dial(0), range));
        let around = Surroundings {
            clock: clock.clone(),
            notes: notes.clone(),
            ledgers: Ledgers::new(&cast.resources),
            view: view.clone(),
            leave: leave.clone(),
            seed: begin.seed,
        };
        let limit = Limited::limit();
        let hire = Box::new(move |crew: &mut Crew, id: ClientId, habits| {
            around.hire(crew, id, habits, Limited::new(dial(id.0), limit.clone()));
        });
        let model = cast.clients.iter().find(|(_, habits)| habits.lock() == cast.lock);
        let troupe = Troupe {
            view,
            crew: Mutex::default(),
            hire,
            care,
            model: model.map(|(_, habits)| habits.clone()),
            notes: notes.downgrade(),
        };
        for (id, habits) in &cast.clients {
            (troupe.hire)(&mut troupe.crew(), *id, habits.clone());
        }
        Ok(Self { troupe: Arc::new(troupe), leave, journal, judge, open, notes, all, prefix: cast.prefix.clone() })
    }

    /// Does what is ordered; what that was, and to whom.
    ///
    /// # Errors
    /// In words, what cannot be done and what can.
    pub async fn order(&self, order: Order) -> Result<Done, String> {
        self.troupe.order(order).await
    }

    /// Tells the judge of something that is not a client's, such as a fault of the cluster.
    pub fn note(&self, what: Happening) {
        self.troupe.view.note(what);
    }

    /// What the director has told last, and how what is expected stands, for pictures to show.
    pub fn set_told(&self, narration: Option<Narration>, expectations: Vec<Expected>) {
        self.troupe.view.set_told(narration, expectations);
    }

    /// The run now, with what happened since the moment of this number.
    pub fn picture(&self, since: u64) -> PlayPicture {
        self.troupe.view.picture(since)
    }

    /// Waits until the judge's books are so, which it looks up whenever something happened. False
    /// when the run ended before that.
    pub async fn until(&self, is_so: impl Fn(&Tally) -> bool) -> bool {
        let mut open = self.open.clone();
        loop {
            open.mark_unchanged();
            if self.troupe.view.look(&is_so) {
                return true;
            }
            if open.changed().await.is_err() {
                return false;
            }
        }
    }

    /// A look at the run from elsewhere.
    pub fn view(&self) -> View {
        self.troupe.view.clone()
    }

    /// Orders to it from elsewhere.
    pub fn control(&self) -> Control {
        Control { troupe: Arc::downgrade(&self.troupe), view: self.view() }
    }

    /// Lets the clients give up what they have, takes back what some of them could not, waits for
    /// the rest of the evidence, and ends.
    pub async fn stop(mut self) -> Stopped {
        // When nobody reads it the judge is gone, and so is what it would have told.
        let _ = self.notes.send(Note::End).await;
        self.leave.cancel();
        let (mut clients, mut left) = {
            let mut crew = self.troupe.crew();
            crew.over = true;
            (std::mem::take(&mut crew.clients), std::mem::take(&mut crew.left))
        };
        while let Some(ended) = clients.join_next().await {
            left.extend(resume_panic(ended).unwrap_or_default());
        }
        let left = self.troupe.care.tidy(left).await;
        let _ = tokio::time::timeout(REST, self.open.wait_for(|open| open.pending == 0)).await;
        let view = self.view();
        drop((self.all, self.notes, self.troupe));
        resume_panic(self.journal.await);
        resume_panic(self.judge.await);
        Stopped { tally: view.close(), remains: left.remains(&self.prefix) }
    }
}

impl Control {
    /// Does what is ordered; what that was, and to whom.
    ///
    /// # Errors
    /// In words, what cannot be done and what can; or that the run is over.
    pub async fn order(&self, order: Order) -> Result<Done, String> {
        match self.troupe.upgrade() {
            Some(troupe) => troupe.order(order).await,
            None => Err("the run is over".into()),
        }
    }

    /// A look at the run.
    pub const fn view(&self) -> &View {
        &self.view
    }
}

/// Whether nobody was there when the store was first read.
fn is_free(tally: &Tally, prefix: &Key) -> Result<(), StartError> {
    let (some, all) = tally.found();
    if all == 0 {
        return Ok(());
    }
    let keys: Vec<_> = some.iter().map(|key| escape(key)).collect();
    let (prefix, more) = (escape(prefix).into_owned(), all - keys.len());
    Err(StartError::Taken { prefix, keys: keys.join(", "), more })
}

/// Takes in what is noted until nobody notes any more.
async fn judge(view: View, mut notes: mpsc::Receiver<Note>, judged: watch::Sender<Open>) {
    let mut read = false;
    let mut batch = Vec::with_capacity(AT_ONCE);
    while notes.recv_many(&mut batch, AT_ONCE).await > 0 {
        let (pending, moments) = {
            let tally = &mut view.desk().tally;
            for note in batch.drain(..) {
                read |= matches!(note, Note::Store(_, Seen::Listed { .. }));
                take_in(tally, note);
            }
            (tally.pending(), tally.moments_since(u64::MAX).1)
        };
        let open = Open { read, pending, moments };
        judged.send_if_modified(|known| std::mem::replace(known, open) != open);
    }
}

fn take_in(tally: &mut Tally, note: Note) {
    match note {
        Note::End => tally.ends(),
        Note::Client(told) => tally.told(&told),
        Note::Store(at, Seen::Changed(changes)) => tally.changed(at, &changes),
        Note::Store(at, Seen::Term(term)) => tally.term_led(at, term),
        Note::Store(_, Seen::Listed { revision, keys }) => tally.listed(revision, &keys),
    }
}
