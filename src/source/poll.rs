//! Asks leases how long they live: in one burst, of the leader, some at a time.
//!
//! The leader is the one member that counts a lease's time; another passes the question on,
//! which costs several times as much.

use std::collections::HashSet;
use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, empty, iter};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::live::{Contact, Leadership};
use super::out::{NoReader, Out};
use super::silence::{Silence, is_silence};
use crate::domain::{LeaseId, Member, Millis};
use crate::event::{LeasePollCost, LeaseTtl, Observation};
use crate::port::{Client, Etcd, Pool, PortError, TimeToLive};

/// How many questions are under way at once.
pub(super) const IN_FLIGHT: usize = 16;

/// How long one answer may take: during an election the leader-to-be keeps questions for up
/// to 7 s, and the rest shall not wait for them.
pub(super) const ANSWER: Duration = Duration::from_secs(1);

/// How many leases of several wishes are asked in one burst at most. Those who wish keep to a
/// budget far below it, and ask again for what was left out.
const MOST: usize = 1_000;

/// How long one answer may take, and how often a question is asked that got none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    deadline: Duration,
    tries: u32,
}

impl Patience {
    /// A question that is not answered in time is given up.
    pub const fn once(deadline: Duration) -> Self {
        Self { deadline, tries: 1 }
    }

    /// A question that is not answered in time is asked once more.
    pub const fn twice(deadline: Duration) -> Self {
        Self { deadline, tries: 2 }
    }
}

/// Questions that are asked together.
pub(super) struct Burst {
    answers: BoxStream<'static, (LeaseId, Result<TimeToLive, PortError>)>,
    start: Instant,
    asked: u32,
    answered: u32,
    failed: u32,
    silence: Silence,
    gave_up: bool,
    why: Option<PortError>,
}

impl Burst {
    /// Asks each of `leases`, in this order.
    pub fn new(client: &Client, leases: Vec<LeaseId>, with_keys: bool, patience: Patience) -> Self {
        let client = client.with_deadline(patience.deadline);
        let asked = u32::try_from(leases.len()).unwrap_or(u32::MAX);
        let answers = iter(leases)
            .map(move |lease| {
                let client = client.clone();
                async move {
                    let mut answer = client.time_to_live(lease, with_keys).await;
                    for _ in 1..patience.tries {
                        if !matches!(answer, Err(PortError::Deadline { .. } | PortError::Unreachable { .. })) {
                            break;
                        }
                        answer = client.time_to_live(lease, with_keys).await;
                    }
                    (lease, answer)
                }
            })
            .buffer_unordered(IN_FLIGHT)
            .boxed();
        Self {
            answers,
            start: Instant::now(),
            asked,
            answered: 0,
            failed: 0,
            silence: Silence::default(),
            gave_up: false,
            why: None,
        }
    }

    /// The next answer, as they come; `None` when none is to come any more. When a few in a row got
    /// no answer the rest is not asked and counts as failed.
    pub async fn next(&mut self) -> Option<LeaseTtl> {
        loop {
            let (lease, came) = self.answers.next().await?;
            let is_enough = self.silence.is_enough_after(&came);
            match came {
                Ok(told) => {
                    self.answered += 1;
                    return Some(LeaseTtl {
                        lease,
                        granted: told.granted,
                        remaining: told.remaining,
                        keys: told.keys,
                        term: told.term,
                    });
                }
                Err(error) => {
                    self.failed += 1;
                    self.why.get_or_insert(error);
                }
            }
            if is_enough {
                self.failed = self.asked - self.answered;
                self.gave_up = true;
                self.answers = empty().boxed();
            }
        }
    }

    /// Whether nobody answers, or nobody any more, so that it says nothing of a lease that it was
    /// asked in vain.
    pub fn gave_up(&self) -> bool {
        self.gave_up || (self.answered == 0 && self.why.as_ref().is_some_and(is_silence))
    }

    /// What it cost until now, and why the first question that failed did.
    pub fn end(self) -> (LeasePollCost, Option<PortError>) {
        let took = Millis::from(self.start.elapsed());
        (LeasePollCost { asked: self.asked, failed: self.failed, took }, self.why)
    }
}

/// Serves wishes to ask leases until nobody reads: a `LeaseTtl` for each answer, then what the
/// burst cost. Wishes that come while one runs are asked together in the next.
pub(super) async fn serve(
    pool: Pool,
    contact: watch::Receiver<Option<Contact>>,
    leadership: watch::Receiver<Leadership>,
    mut wishes: mpsc::Receiver<Vec<LeaseId>>,
    out: Out,
) -> Result<Infallible, NoReader> {
    loop {
        let Some(mut leases) = wishes.recv().await else { std::future::pending().await };
        let most = leases.len().max(MOST);
        while let Ok(more) = wishes.try_recv() {
            leases.extend(more);
        }
        let leases = in_one_burst(leases, most);
        let leader = leader(&leadership.borrow());
        let at_leader = match &leader {
            Some(leader) => timeout(ANSWER, pool.member(leader)).await.ok().and_then(Result::ok),
            None => None,
        };
        let client = at_leader.or_else(|| contact.borrow().as_ref().map(|contact| contact.client.clone()));
        let cost = if let Some(client) = client {
            let mut burst = Burst::new(&client, leases, false, Patience::once(ANSWER));
            while let Some(ttl) = burst.next().await {
                out.tell(Observation::LeaseTtl(ttl)).await?;
            }
            burst.end().0
        } else {
            let asked = u32::try_from(leases.len()).unwrap_or(u32::MAX);
            LeasePollCost { asked, failed: asked, took: Millis::default() }
        };
        if let Some(leader) = leader.filter(|_| cost.failed > 0 && cost.failed == cost.asked) {
            pool.forget(leader.id);
        }
        out.tell(Observation::LeasesPolled(cost)).await?;
    }
}

/// The leases of several wishes, in the order they came, each once. No wish may drop another:
/// the answer about one lease may be what tells why a lock was lost.
fn in_one_burst(mut leases: Vec<LeaseId>, most: usize) -> Vec<LeaseId> {
    let mut known = HashSet::new();
    leases.retain(|lease| known.insert(*lease));
    leases.truncate(most);
    leases
}

fn leader(known: &Leadership) -> Option<Member> {
    known.members.iter().find(|member| Some(member.id) == known.leader).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_that_waited_are_asked_together_in_order_and_each_lease_once() {
        let asked = in_one_burst([3, 1, 2, 1, 4, 3].map(LeaseId).to_vec(), 9);
        assert_eq!(asked, [3, 1, 2, 4].map(LeaseId));
        let many = in_one_burst((0..5_000).map(LeaseId).collect(), MOST);
        assert_eq!((many.len(), many[0], many[MOST - 1]), (MOST, LeaseId(0), LeaseId(999)));
    }
}
