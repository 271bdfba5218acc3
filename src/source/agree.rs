//! Compares which leases the members know. Leases are part of the state that all members agree
//! on, so a lease that one knows and another does not, twice in some seconds, is a fault: its keys
//! go on one member and stay on the other.
//!
//! Each member tells of itself what it knows. A list of a hundred thousand leases is a few
//! megabytes, so they are compared seldom, and seldomer where that takes long.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::live::{Contact, Leadership};
use super::out::{NoReader, Out};
use crate::domain::{LeaseId, Member, MemberId};
use crate::event::Observation;
use crate::port::{Etcd, Pool};

/// How soon they are compared first, and how often then.
const FIRST: Duration = Duration::from_secs(5);
const EVERY: Duration = Duration::from_secs(30);
/// How often at least, however long it takes.
const SELDOMEST: Duration = Duration::from_mins(10);
/// When it is looked again at what differs: members take in grants one after another.
const AGAIN: Duration = Duration::from_secs(5);
/// How long a member may take to list its leases.
const ANSWER: Duration = Duration::from_secs(3);
/// How many missing leases are told of a member.
const MOST: usize = 1_000;

/// What each member that answers lacks of what another has, by member.
type Missing = BTreeMap<MemberId, Vec<LeaseId>>;

/// Compares until nobody reads: tells `LeasesMissing` when what a member lacks is another than
/// before.
pub(super) async fn keep_comparing(
    pool: Pool,
    contact: watch::Receiver<Option<Contact>>,
    leadership: watch::Receiver<Leadership>,
    out: Out,
) -> Result<Infallible, NoReader> {
    let mut told: HashMap<MemberId, Vec<LeaseId>> = HashMap::new();
    let mut life = None;
    let mut rest = FIRST;
    loop {
        sleep_until(out.beat.near(Instant::now() + rest)).await;
        rest = EVERY;
        let connected = contact.borrow().as_ref().map(|contact| contact.life);
        let Some(now) = connected else { continue };
        if life.replace(now) != Some(now) {
            // Whoever reads has forgotten the leases of the other store.
            told.clear();
        }
        let members = leadership.borrow().members.clone();
        if members.len() < 2 {
            continue;
        }
        let start = Instant::now();
        let mut missing = missing(&lists(&pool, &members).await);
        rest = (start.elapsed() * 99).clamp(EVERY, SELDOMEST);
        if missing.values().any(|leases| !leases.is_empty()) {
            sleep(AGAIN).await;
            missing = both(missing, &self::missing(&lists(&pool, &members).await));
        }
        for (member, leases) in missing {
            if told.get(&member).map_or(&[][..], Vec::as_slice) != leases {
                told.insert(member, leases.clone());
                out.tell(Observation::LeasesMissing { member, leases }).await?;
            }
        }
    }
}

/// The leases that each member knows; those that do not answer in time are left out.
async fn lists(pool: &Pool, members: &[Member]) -> Vec<(MemberId, HashSet<LeaseId>)> {
    let ask = |member: Member| async move {
        let client = pool.member(&member).await.ok()?;
        let leases = client.with_deadline(ANSWER).leases().await.ok()?;
        Some((member.id, leases.into_iter().collect()))
    };
    let asked: FuturesUnordered<_> = members.iter().cloned().map(|member| timeout(ANSWER, ask(member))).collect();
    asked.filter_map(|answer| std::future::ready(answer.ok().flatten())).collect().await
}

fn missing(lists: &[(MemberId, HashSet<LeaseId>)]) -> Missing {
    let of = |known: &HashSet<LeaseId>| {
        let others: HashSet<LeaseId> =
            lists.iter().flat_map(|(_, other)| other).copied().filter(|lease| !known.contains(lease)).collect();
        let mut leases: Vec<LeaseId> = others.into_iter().collect();
        leases.sort_unstable();
        leases
    };
    lists.iter().map(|(member, known)| (*member, of(known))).collect()
}

/// What was missing at both looks; of a member that answered only once nothing is told.
fn both(first: Missing, second: &Missing) -> Missing {
    let still = |(member, leases): (MemberId, Vec<LeaseId>)| {
        let again = second.get(&member)?;
        let leases = leases.into_iter().filter(|lease| again.binary_search(lease).is_ok()).take(MOST).collect();
        Some((member, leases))
    };
    first.into_iter().filter_map(still).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(of: &[&[i64]]) -> Vec<(MemberId, HashSet<LeaseId>)> {
        (1..).map(MemberId).zip(of.iter().map(|ids| ids.iter().copied().map(LeaseId).collect())).collect()
    }

    #[test]
    fn what_is_missing_at_two_looks_is_missing() {
        let first = missing(&lists(&[&[1, 2, 3], &[1, 2], &[1, 2, 3]]));
        assert_eq!(first[&MemberId(2)], [LeaseId(3)]);
        let grown = missing(&lists(&[&[1, 2, 3, 4], &[1, 2, 3], &[1, 2, 3]]));
        assert!(both(first.clone(), &grown).values().all(Vec::is_empty), "it was late, and another is new");
        assert_eq!(both(first.clone(), &first)[&MemberId(2)], [LeaseId(3)]);
        let silent = missing(&lists(&[&[1, 2, 3]]));
        assert_eq!(both(first, &silent).len(), 1, "who does not answer lacks nothing that is known");
    }
}
