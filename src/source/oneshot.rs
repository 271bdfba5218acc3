//! Asks once and is done: what commands like `ls` and `members` need.

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::discover::Finder;
use super::list::{Lister, Read};
use super::poll::{ANSWER, Burst, Patience};
use super::silence::is_silence;
use super::{SourceError, Watching, members};
use crate::domain::{Key, KeyRange, LeaseId};
use crate::event::{LeasePollCost, Observation, Stamped};
use crate::port::pool::Connected;
use crate::port::{Client, Clock, Etcd, Pool, PortError};

/// How many leases are asked for their keys before what they lead to is read: the keys read
/// name their leases, which then need not be asked.
const LEASES_AT_ONCE: usize = 512;

/// Connects to the first endpoint that answers.
///
/// # Errors
/// When none does, with every endpoint's reason.
pub async fn connect(pool: &Pool) -> Result<Connected, SourceError> {
    pool.connect_any().await.map_err(SourceError::NoEndpoint)
}

/// Reads everything that is to be watched, once: `Cluster`, `Scope` and `Listed`, `Denied` for
/// what may not be read, and when locks are to be found also `LeaseList` and a `LeaseTtl` with
/// keys for each lease that was asked.
///
/// When the member knows no leader it is read from what it has, which may be old.
///
/// # Errors
/// When a call fails for another reason than a missing permission.
pub async fn snapshot(
    connected: &Connected,
    watching: &Watching,
    clock: &Clock,
    sink: &mut impl FnMut(Stamped<Observation>),
) -> Result<(), SourceError> {
    let mut tell = |what| sink(Stamped { at: clock.now(), what });
    tell(Observation::Cluster(connected.header.cluster));
    match watching {
        Watching::Prefixes(_) => {
            let ranges = watching.ranges();
            tell(Observation::Scope(ranges.clone()));
            Ok(read(connected, ranges, &mut tell, |_| {}).await?)
        }
        Watching::Discover => discover(connected, &mut tell).await,
    }
}

async fn discover(connected: &Connected, tell: &mut impl FnMut(Observation)) -> Result<(), SourceError> {
    let client = &connected.client;
    let mut finder = Finder::default();
    let leases = match client.leases().await {
        Ok(leases) => leases,
        Err(PortError::Denied { user, why, .. }) => {
            tell(Observation::Scope(Vec::new()));
            tell(Observation::Denied(Finder::denied(user, &why)));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    tell(Observation::LeaseList(leases.clone()));
    finder.alive(&leases);
    finder.look_for_kubernetes(client).await?;
    let mut scope: Option<Vec<KeyRange>> = None;
    let mut denied = None;
    loop {
        let unknown = finder.unknown(LEASES_AT_ONCE);
        let mut burst = Burst::new(client, unknown.clone(), true, Patience::twice(client.deadline()));
        while let Some(ttl) = burst.next().await {
            finder.answered(&ttl);
            tell(Observation::LeaseTtl(ttl));
        }
        finder.asked(&unknown);
        match burst.end().1 {
            Some(PortError::Denied { user, why, .. }) => denied = Some(Finder::denied(user, &why)),
            // What was not asked cannot be found: better no answer than half of one.
            Some(error) => return Err(error.into()),
            None => {}
        }
        finder.count(client).await?;
        let ranges = finder.ranges();
        if scope.as_ref() != Some(&ranges) {
            tell(Observation::Scope(ranges.clone()));
            let old = scope.replace(ranges.clone()).unwrap_or_default();
            let new = ranges.into_iter().filter(|range| !old.contains(range)).collect();
            read(connected, new, tell, |lease| finder.seen(lease)).await?;
        }
        if finder.unknown(1).is_empty() {
            if let Some(denied) = denied {
                tell(Observation::Denied(denied));
            }
            return Ok(());
        }
    }
}

/// Reads where these keys of leases are, as finding locks would: `Listed` for each range. What may
/// not be read is passed over.
///
/// # Errors
/// When a call fails for another reason than a missing permission.
pub async fn follow(
    connected: &Connected,
    keys: &[Key],
    clock: &Clock,
    sink: &mut impl FnMut(Stamped<Observation>),
) -> Result<(), SourceError> {
    let mut finder = Finder::default();
    finder.found(keys);
    finder.count(&connected.client).await?;
    let mut tell = |what| {
        if !matches!(what, Observation::Denied(_)) {
            sink(Stamped { at: clock.now(), what });
        }
    };
    Ok(read(connected, finder.ranges(), &mut tell, |_| {}).await?)
}

/// Reads ranges and tells of them; `lease` gets the lease of every key.
async fn read(
    connected: &Connected,
    ranges: Vec<KeyRange>,
    tell: &mut impl FnMut(Observation),
    mut lease: impl FnMut(LeaseId),
) -> Result<(), PortError> {
    let database = connected.status.as_ref().map_or(0, |status| status.db_in_use);
    let mut lister = Lister::new(&connected.client, ranges, database, connected.is_leaderless());
    while let Some(read) = lister.next().await? {
        match read {
            Read::Page(page) => {
                page.keys.iter().for_each(|kv| lease(kv.lease));
                tell(Observation::Listed(page));
            }
            Read::Denied(denied) => tell(Observation::Denied(denied)),
        }
    }
    Ok(())
}

/// What came of asking leases how long they live.
#[derive(Clone, Debug)]
pub struct Polled {
    /// What it cost.
    pub cost: LeasePollCost,
    /// Why the first question that failed did.
    pub why: Option<PortError>,
}

impl Polled {
    /// Whether not one of them was answered, not even by a refusal: who is asked more will not
    /// answer either.
    pub fn is_silence(&self) -> bool {
        self.cost.failed == self.cost.asked && self.why.as_ref().is_some_and(is_silence)
    }
}

/// Asks leases how long they live, of the leader where it can be reached: a `LeaseTtl` each and
/// at the end `LeasesPolled`. An answer that does not come in a second, twice, is counted as failed;
/// after a few of these in a row the rest is not asked and counted so too.
pub async fn poll_leases(
    pool: &Pool,
    connected: &Connected,
    leases: &[LeaseId],
    with_keys: bool,
    clock: &Clock,
    sink: &mut impl FnMut(Stamped<Observation>),
) -> Polled {
    let mut tell = |what| sink(Stamped { at: clock.now(), what });
    let leader = leader(pool, connected).await;
    let client = leader.as_ref().unwrap_or(&connected.client);
    let mut burst = Burst::new(client, leases.to_vec(), with_keys, Patience::twice(ANSWER));
    while let Some(ttl) = burst.next().await {
        tell(Observation::LeaseTtl(ttl));
    }
    let (cost, why) = burst.end();
    tell(Observation::LeasesPolled(cost));
    Polled { cost, why }
}

/// A connection to the leader, unless the one there is goes to it or it cannot be reached.
async fn leader(pool: &Pool, connected: &Connected) -> Option<Client> {
    let leader = connected.leader().filter(|leader| *leader != connected.header.member)?;
    let (_, members) = connected.client.members().await.ok()?;
    let member = members.iter().find(|member| member.id == leader)?;
    pool.member(member).await.ok()
}

/// Asks for the members, and each of them about itself: `Members`, a `Status` each as they come,
/// and the `Alarms` those tell of when any member answered.
///
/// # Errors
/// When the members cannot be listed.
pub async fn poll_members(
    pool: &Pool,
    connected: &Connected,
    clock: &Clock,
    sink: &mut impl FnMut(Stamped<Observation>),
) -> Result<(), SourceError> {
    let mut tell = |what| sink(Stamped { at: clock.now(), what });
    let (_, members) = connected.client.members().await?;
    pool.learn(&members);
    tell(Observation::Members(members.clone()));
    let mut asked: FuturesUnordered<_> =
        members.iter().map(|member| async { (member.id, members::status(pool, member).await) }).collect();
    let mut errors: Option<Vec<String>> = None;
    while let Some((member, answer)) = asked.next().await {
        if let Ok(status) = &answer {
            errors.get_or_insert_default().extend(status.errors.iter().cloned());
        }
        tell(Observation::Status { member, answer });
    }
    if let Some(errors) = errors {
        tell(Observation::Alarms(members::alarms(&errors)));
    }
    Ok(())
}
