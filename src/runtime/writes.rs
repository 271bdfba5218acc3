//! The writes a person confirmed, carried out beside the session, and the questions their dialogs
//! ask first.
//!
//! ```text
//!   session ── confirmed ──► write task ── Operator ──► etcd
//!           ── lease ──────► look task ───────────────► etcd
//!           ◄─ what came of it, what hangs on the lease ─┘
//! ```
//! One write at a time. A session that ends while one is carried out waits for its outcome, or
//! says that it is not known.

use std::io::{self, Write as _};
use std::iter;
use std::time::Duration;

use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::clock::Clock;
use super::signals::{Signals, Told};
use crate::domain::LeaseId;
use crate::domain::write::{Confirmed, Write, WriteId, WriteResult};
use crate::event::{Observation, OnLease, Stamped, WriteDone};
use crate::model::ui::Notice;
use crate::operate::{Operator, leased};
use crate::port::{Client, Pool, PortError};
use crate::view::text::{escape_text, in_english};

/// Questions that wait to be asked; a dialog has one.
const QUESTIONS: usize = 4;
/// Answers that wait to be taken in.
const ANSWERS: usize = 4;
/// How many times the time of one call a look may take: it connects, asks and reads.
const LOOKS: u32 = 2;
/// How many times the time of one call a session that ends waits for a write: as long as the
/// operator looks after it when its answer was lost.
const WAITS: u32 = 3;

/// How long tasks that are broken off may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// The session's end.
pub(super) struct Writes {
    keys_of: mpsc::Sender<LeaseId>,
    confirmed: mpsc::Sender<(WriteId, Confirmed)>,
    observed: mpsc::Receiver<Stamped<Observation>>,
    /// How long an end waits for a write.
    patience: Duration,
    /// What was confirmed last.
    last: Option<Write>,
    tasks: JoinSet<()>,
}

/// How a session is left, as far as its last write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// It is known, and was told, what came of it.
    Knowing,
    /// Nobody knows, which was said.
    Unknown,
    /// Nobody knows, for the signal of this number said not to wait.
    Told(i32),
}

impl Writes {
    /// Starts the tasks that do it, on the cluster of this pool.
    pub fn start(pool: &Pool, operator: Operator, clock: Clock) -> Self {
        let (keys_of, questions) = mpsc::channel(QUESTIONS);
        let (confirmed, writes) = mpsc::channel(1);
        let (tell, observed) = mpsc::channel(ANSWERS);
        let mut tasks = JoinSet::new();
        let call = pool.settings().command_timeout;
        let tells = Tells { tell, clock };
        tasks.spawn(look(pool.clone(), call, questions, tells.clone()));
        tasks.spawn(write(operator, writes, tells));
        Self { keys_of, confirmed, observed, patience: call * WAITS, last: None, tasks }
    }

    /// Asks for all keys of a lease. When too much is asked already, it is left out: dialogs ask
    /// again.
    pub fn ask(&self, lease: LeaseId) {
        if self.keys_of.try_send(lease).is_err() {
            tracing::debug!(%lease, "the question what hangs on a lease is left out");
        }
    }

    /// Has a write carried out.
    ///
    /// # Errors
    /// What is to be told of it when it is not: another one is not over yet.
    pub fn carry_out(&mut self, id: WriteId, confirmed: Confirmed) -> Result<(), Box<WriteDone>> {
        let write = confirmed.write.clone();
        self.confirmed.try_send((id, confirmed)).map_err(|failed| {
            let (id, confirmed) = failed.into_inner();
            Box::new(not_sent(id, confirmed, "the write before it is not over yet"))
        })?;
        self.last = Some(write);
        Ok(())
    }

    /// The write that was confirmed last, which is the one that is not over when any is.
    pub const fn under_way(&self) -> Option<&Write> {
        self.last.as_ref()
    }

    /// The next answer; never, when there is nobody who carries out writes. Nothing is lost when
    /// this is dropped.
    pub async fn observe(writes: Option<&mut Self>) -> Stamped<Observation> {
        if let Some(writes) = writes
            && let Some(observed) = writes.observed.recv().await
        {
            return observed;
        }
        std::future::pending().await
    }

    /// Ends the tasks. First it waits for what comes of the write that was not over when the
    /// session was, if there is one, says it on standard error and gives it to `observe`; when it
    /// takes too long or somebody wants to leave, it says that nobody knows, and the command that
    /// tells.
    pub async fn finish(
        mut self,
        running: Option<(WriteId, String)>,
        signals: &mut Signals,
        observe: impl FnMut(&Stamped<Observation>),
    ) -> Left {
        let left = match running {
            Some((id, look)) => {
                let left = self.wait_for(id, signals, observe).await;
                if left != Left::Knowing {
                    say(&format!("lockscope: to see what came of it: {look}"));
                }
                left
            }
            None => Left::Knowing,
        };
        // What is broken off notes in the audit log that its outcome is unknown.
        if timeout(ENDING, self.tasks.shutdown()).await.is_err() {
            say("lockscope: the disk does not take the last line of the audit log");
        }
        left
    }

    async fn wait_for(
        &mut self,
        id: WriteId,
        signals: &mut Signals,
        mut observe: impl FnMut(&Stamped<Observation>),
    ) -> Left {
        say("lockscope: waiting for the outcome of the write that is being carried out; Ctrl-C leaves at once");
        let end = Instant::now() + self.patience;
        let (left, outcome) = loop {
            tokio::select! {
                // What came of it is worth more than leaving a moment earlier.
                biased;
                observed = timeout_at(end, self.observed.recv()) => match observed {
                    Ok(Some(observed)) => {
                        observe(&observed);
                        if let Observation::WriteDone(done) = observed.what && done.id == id {
                            let is_unknown = matches!(done.result, WriteResult::Unknown { .. });
                            break (if is_unknown { Left::Unknown } else { Left::Knowing }, told(*done));
                        }
                    }
                    Ok(None) => break (Left::Unknown, unknown("nobody carries it out any more")),
                    Err(_) => {
                        let why = format!("there was no answer within {} s", self.patience.as_secs());
                        break (Left::Unknown, unknown(&why));
                    }
                },
                signal = signals.next() => match signal {
                    // A terminal that is gone is in no hurry, and the audit log gets its outcome.
                    Told::GoOn => {}
                    Told::End(number) if number == SignalKind::hangup().as_raw_value() => {}
                    Told::End(number) => {
                        break (Left::Told(number), unknown("its answer was not waited for"));
                    }
                },
            }
        };
        say(&outcome);
        left
    }
}

fn unknown(why: &str) -> String {
    format!(
        "lockscope: UNKNOWN whether the write was done: {why}. It may have been done, or be done yet: look before it \
         is tried again"
    )
}

/// A write that is not carried out at all.
pub(super) fn not_sent(id: WriteId, confirmed: Confirmed, why: &str) -> WriteDone {
    let result = WriteResult::NotSent { why: why.to_owned() };
    WriteDone { id, write: confirmed.write, result, notes: Vec::new() }
}

/// What came of a write, for whoever does not look at a screen any more.
fn told(done: WriteDone) -> String {
    let notice = Notice::Written(Box::new((done.write, done.result)));
    let notes = done.notes.iter().map(|note| escape_text(note));
    let outcome = in_english(&notice.sentence()).into();
    let lines = iter::once(outcome).chain(notes).map(|line| format!("lockscope: {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Says a line to whoever is there to read it.
pub(super) fn say(line: &str) {
    // A standard error that is closed has nobody behind it.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Where what is learnt goes.
#[derive(Clone)]
struct Tells {
    tell: mpsc::Sender<Stamped<Observation>>,
    clock: Clock,
}

impl Tells {
    /// Tells the session something; whether it still listens.
    async fn tell(&self, what: Observation) -> bool {
        self.tell.send(Stamped { at: self.clock.now(), what }).await.is_ok()
    }
}

/// Carries out one write after another.
async fn write(operator: Operator, mut writes: mpsc::Receiver<(WriteId, Confirmed)>, tells: Tells) {
    while let Some((id, confirmed)) = writes.recv().await {
        let outcome = operator.carry_out(&confirmed).await;
        let mut notes = outcome.notes;
        notes.extend(outcome.unlogged.map(|error| error.to_string()));
        let done = WriteDone { id, write: confirmed.write, result: outcome.result, notes };
        if !tells.tell(Observation::WriteDone(Box::new(done))).await {
            return;
        }
    }
}

/// Answers what hangs on leases. The connection is kept for the next question.
async fn look(pool: Pool, call: Duration, mut questions: mpsc::Receiver<LeaseId>, tells: Tells) {
    let mut kept = None;
    let limit = call * LOOKS;
    while let Some(lease) = questions.recv().await {
        let asked = timeout(limit, keys_of(&pool, &mut kept, lease)).await;
        let answer = match asked {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => OnLease::NotTold(error.to_string()),
            Err(_) => OnLease::NotTold(format!("the cluster did not answer within {} s", limit.as_secs())),
        };
        if !tells.tell(Observation::LeaseKeys(lease, answer)).await {
            return;
        }
    }
}

/// Asks once. A connection that failed is not kept.
async fn keys_of(pool: &Pool, kept: &mut Option<Client>, lease: LeaseId) -> Result<OnLease, PortError> {
    let client = match kept.take() {
        Some(client) => client,
        None => connect(pool).await?,
    };
    let (ttl, keys) = leased(&client, lease).await?;
    *kept = Some(client);
    if ttl.granted <= 0 && ttl.remaining < 0 {
        return Ok(OnLease::Gone);
    }
    Ok(OnLease::Keys(keys.into_iter().map(|kv| (kv.key, kv.create_revision)).collect()))
}

async fn connect(pool: &Pool) -> Result<Client, PortError> {
    match pool.connect_any_but(None).await {
        Ok(connected) => Ok(connected.client),
        Err(mut failed) => Err(match failed.pop() {
            Some(failed) => failed.error,
            None => PortError::Unreachable { endpoint: "the cluster".into(), why: "no endpoint is given".into() },
        }),
    }
}
