//! Carries out what an operator confirmed, and finds out what came of it.
//!
//! ```text
//! look ──► is it what was shown? ──► note the intent ──► send ──► look again ──► note the result
//!   │              │ no                     │ cannot        │
//!   └► not sent    └► changed, gone         └► not sent     ├► refused: certainly nothing was done
//!                                                           └► lost: look until it is sure, or unknown
//! ```
//!
//! An answer that is lost on the way leaves open whether the write was done, or is done yet. Then
//! only a look can tell, and what it does not tell stays unknown: nothing is called done that was
//! not seen. A release is one transaction that compares the `create_revision`, so it can be tried
//! again and never hits a newer lock of the same name (etcd issue 22082). etcd has nothing of the
//! kind for a revoke, for the lead and for alarms: those are sent once.
//!
//! **How narrow a revoke is guarded.** The leader is asked for the keys of the lease, and a read
//! of the quorum for their `create_revision`s, right before the revoke is sent. What hangs itself on
//! the lease between that and the revoke goes with it: as a rule a millisecond, and at most as
//! long as the call and the line of the audit log take.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{debug, warn};

use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Key, MemberId, Revision};
use crate::port::pool::Connected;
use crate::port::{Client, Clock, Etcd, Pool, PortError};

mod audit;
mod send;
mod sight;
#[cfg(test)]
mod tests;
mod who;

pub use audit::{AuditError, AuditLog};
pub use sight::leased;
pub use who::Who;

use audit::Pending;
use send::Sent;
use sight::{Before, Sight};

/// From one look to the next while it is open what came of a write.
const AGAIN: Duration = Duration::from_millis(250);

/// How many times the time of one call a look may take in all: a killed leader is replaced within
/// it, and a request that waits in a server is given up (etcd `ServerConfig.ReqTimeout`: 7 s).
const LOOKS: u32 = 2;

/// Carries out writes on one cluster. Clones share its connections and its audit log.
#[derive(Clone, Debug)]
pub struct Operator {
    pool: Pool,
    clock: Clock,
    read_only: bool,
    audit: Option<AuditLog>,
}

/// What came of a write, and what there is to say beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What came of it.
    pub result: WriteResult,
    /// What is worth knowing beside it, a line each: that an answer was lost and a look told
    /// instead, that an alarm will come back.
    pub notes: Vec<String>,
    /// Why the audit log lacks its line. With [`WriteResult::NotSent`] that is why.
    pub unlogged: Option<AuditError>,
}

impl From<WriteResult> for Outcome {
    fn from(result: WriteResult) -> Self {
        Self { result, notes: Vec::new(), unlogged: None }
    }
}

impl Operator {
    /// Who writes to the cluster of this pool.
    pub const fn new(pool: Pool, clock: Clock) -> Self {
        Self { pool, clock, read_only: false, audit: None }
    }

    /// The same, refusing everything when the settings say so.
    #[must_use]
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The same, with a line in this log before and after every write.
    #[must_use]
    pub fn audited(mut self, audit: Option<AuditLog>) -> Self {
        self.audit = audit;
        self
    }

    /// Carries out what was confirmed. It ends by itself: every call has a deadline, and so has
    /// the looking afterwards. Dropping the future while it runs leaves open what came of it; the
    /// audit log then says so.
    pub async fn carry_out(&self, confirmed: &Confirmed) -> Outcome {
        if self.read_only {
            return not_sent("it is read-only here: nothing is written to the cluster");
        }
        let write = &confirmed.write;
        let (client, before) = match self.look_before(confirmed).await {
            Ok(looked) => looked,
            Err(Stop::Result(result)) => return result.into(),
            Err(Stop::Failed(error)) => return not_sent(&send::right(write, &error)),
            Err(Stop::Late(after)) => {
                return not_sent(&format!("the cluster did not answer within {} s", after.as_secs()));
            }
        };
        if let Some(result) = before.settles(confirmed) {
            return result.into();
        }
        let pending = match &self.audit {
            None => None,
            Some(log) => match log.intend(&self.clock, &client, confirmed, &before).await {
                Ok(pending) => Some(pending),
                Err(error) => {
                    let outcome = not_sent(&error.to_string());
                    return Outcome { unlogged: Some(error), ..outcome };
                }
            },
        };
        debug!(?write, endpoint = client.endpoint(), "writing");
        let sent = send::send(&client, write).await;
        debug!(?write, ?sent, "sent");
        let outcome = self.follow_up(&client, confirmed, sent).await;
        self.conclude(pending, outcome).await
    }

    /// Connects to where the write has to go, and looks at what is there.
    async fn look_before(&self, confirmed: &Confirmed) -> Result<(Client, Before), Stop> {
        let limit = self.call() * LOOKS;
        let looking = async {
            let client = self.target(&confirmed.write).await?;
            let before = Before::look(&client, &confirmed.write).await?;
            Ok((client, before))
        };
        timeout(limit, looking).await.unwrap_or(Err(Stop::Late(limit)))
    }

    /// The connection that a write has to go through: any for most, the leader's to move the lead.
    async fn target(&self, write: &Write) -> Result<Client, Stop> {
        let connected = self.connect(None).await.map_err(Stop::Failed)?;
        let Write::MoveLeader { to } = write else { return Ok(connected.client) };
        let (_, members) = connected.client.members().await?;
        self.pool.learn(&members);
        if members.iter().all(|member| member.id != *to) {
            return Err(Stop::Result(WriteResult::Gone));
        }
        // Where the member did not say, asking it again tells whether it knows none or may not be asked.
        let leader = match connected.leader() {
            Some(leader) => Some(leader),
            None => connected.client.status().await?.1.leader,
        };
        let Some(leader) = leader else {
            let endpoint = connected.client.endpoint().into();
            return Err(Stop::Failed(PortError::NoLeader { doing: "ask who leads".into(), endpoint }));
        };
        let leader = members.iter().find(|member| member.id == leader);
        match leader {
            Some(leader) => Ok(self.pool.member(leader).await?),
            None => Ok(connected.client),
        }
    }

    async fn connect(&self, lost: Option<&str>) -> Result<Connected, PortError> {
        self.pool.connect_any_but(lost).await.map_err(|mut failed| match failed.len() {
            0 => PortError::Unreachable { endpoint: "the cluster".into(), why: "no endpoint is given".into() },
            _ => failed.swap_remove(0).error,
        })
    }

    fn call(&self) -> Duration {
        self.pool.settings().command_timeout
    }

    /// Finds out what came of what was sent.
    async fn follow_up(&self, client: &Client, confirmed: &Confirmed, sent: Sent) -> Outcome {
        match sent {
            Sent::Ended(result) => result.into(),
            Sent::Acknowledged(revision) => {
                let mut outcome = match self.look_until_sure(client, confirmed, false).await {
                    Ok(seen) => done(confirmed, seen.max(revision)),
                    Err(last) => WriteResult::Unknown {
                        why: format!(
                            "the cluster says that it is done, but the look afterwards does not show it: {last}"
                        ),
                    }
                    .into(),
                };
                if let (Write::Disarm(kind), WriteResult::Done { .. }) = (&confirmed.write, &outcome.result) {
                    outcome.notes.extend(sight::comes_back(*kind));
                }
                outcome
            }
            Sent::Lost(why) => {
                warn!(%why, "the answer to a write was lost");
                match self.look_until_sure(client, confirmed, true).await {
                    Ok(revision) => {
                        let mut outcome = done(confirmed, revision);
                        outcome.notes.push(format!("the answer was lost ({why}); that it is so was seen by a look"));
                        outcome
                    }
                    Err(last) => WriteResult::Unknown { why: format!("{why}; {last}") }.into(),
                }
            }
        }
    }

    /// Looks until the cluster is as the write would leave it; the revision of that look. Else
    /// says what the last look told. With `again`, a write that is guarded is sent again each time.
    async fn look_until_sure(&self, client: &Client, confirmed: &Confirmed, again: bool) -> Result<Revision, String> {
        let end = Instant::now() + self.call() * LOOKS;
        let mut client = Some(client.clone());
        let mut tried = None;
        let mut last = String::from("no look was possible");
        loop {
            let next = Instant::now() + AGAIN;
            match timeout_at(end, self.look_once(&mut client, &mut tried, confirmed, again)).await {
                Ok(Ok(Sight { so: true, revision, .. })) => return Ok(revision),
                Ok(Ok(Sight { there, .. })) => last = there,
                Ok(Err(error)) => last = format!("a look failed: {error}"),
                Err(_) => return Err(last),
            }
            if next >= end {
                return Err(last);
            }
            sleep_until(next).await;
        }
    }

    async fn look_once(
        &self,
        client: &mut Option<Client>,
        lost: &mut Option<String>,
        confirmed: &Confirmed,
        again: bool,
    ) -> Result<Sight, PortError> {
        let reached = match client.take() {
            Some(reached) => reached,
            None => self.connect(lost.as_deref()).await?.client,
        };
        *lost = Some(reached.endpoint().to_owned());
        if again && send::may_be_repeated(&confirmed.write) {
            // Its answer is not needed: the look below tells what it led to.
            let repeated = send::send(&reached, &confirmed.write).await;
            debug!(?repeated, "sent again under the same guard");
        }
        let sight = match confirmed.write {
            Write::MoveLeader { to } => self.look_at_leader(&reached, to).await?,
            _ => Sight::look(&reached, confirmed).await?,
        };
        *client = Some(reached);
        Ok(sight)
    }

    /// Whether the member that is to lead says itself that it does.
    async fn look_at_leader(&self, client: &Client, to: MemberId) -> Result<Sight, PortError> {
        let (_, members) = client.members().await?;
        let Some(member) = members.iter().find(|member| member.id == to) else {
            return Ok(Sight { so: false, revision: Revision(0), there: format!("member {to} is gone") });
        };
        let (header, status) = self.pool.member(member).await?.status().await?;
        let there = match status.leader {
            Some(leader) => format!("member {leader} leads"),
            None => "nobody leads at the moment".into(),
        };
        Ok(Sight { so: status.leader == Some(to), revision: header.revision, there })
    }

    async fn conclude(&self, pending: Option<Pending>, mut outcome: Outcome) -> Outcome {
        if let Some(pending) = pending
            && let Err(error) = pending.end(&outcome).await
        {
            warn!(%error, "the audit log lacks the result of a write");
            outcome.unlogged = Some(error);
        }
        outcome
    }
}

/// Why it did not come to sending anything.
#[derive(Debug)]
enum Stop {
    /// There is nothing to be done.
    Result(WriteResult),
    /// A call failed.
    Failed(PortError),
    /// All of them together took too long.
    Late(Duration),
}

impl From<PortError> for Stop {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

fn not_sent(why: &str) -> Outcome {
    WriteResult::NotSent { why: why.to_owned() }.into()
}

fn done(confirmed: &Confirmed, revision: Revision) -> Outcome {
    let gone: Vec<Key> = match &confirmed.write {
        Write::Release { key, .. } => vec![key.clone()],
        Write::Revoke { .. } => confirmed.shown.iter().map(|(key, _)| key.clone()).collect(),
        Write::MoveLeader { .. } | Write::Disarm(_) => Vec::new(),
    };
    WriteResult::Done { revision, gone }.into()
}
