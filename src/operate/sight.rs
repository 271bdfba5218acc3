//! What is there: before a write, to compare it with what was shown, and after it.

use std::collections::BTreeMap;

use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Alarm, AlarmKind, Key, KeyRange, KeyValue, LeaseId, MemberId, Revision};
use crate::port::{Client, Etcd, Op, OpDone, PortError, Range, TimeToLive, Txn, Want};

/// How many keys one transaction asks for: etcd takes 128 operations unless told otherwise
/// (`--max-txn-ops`).
const AT_ONCE: usize = 100;

/// What a write would be done to, right before it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// The keys that would go, without their values, in the order of their names. For a release it
    /// is the key of that name, whatever its create_revision.
    pub keys: Vec<KeyValue>,
    /// The time of the lease that would be revoked; `None` when it is another write.
    pub ttl: Option<TimeToLive>,
    /// For a release, the key that is first in the lock's queue.
    pub holder: Option<Key>,
    /// The member that leads, where that matters.
    pub leader: Option<MemberId>,
    /// The alarms that are raised, where that matters.
    pub alarms: Vec<Alarm>,
}

impl Before {
    /// Looks at what the write would be done to, with the quorum's consent.
    pub async fn look(client: &Client, write: &Write) -> Result<Self, PortError> {
        let nothing = Self::default();
        match write {
            Write::MoveLeader { .. } => Ok(Self { leader: client.status().await?.1.leader, ..nothing }),
            Write::Disarm(_) => Ok(Self { alarms: client.alarms().await?, ..nothing }),
            Write::Revoke { .. } | Write::Release { .. } => Self::of_keys(client, write).await,
        }
    }

    pub async fn of_keys(etcd: &impl Etcd, write: &Write) -> Result<Self, PortError> {
        match write {
            Write::Revoke { lease } => {
                let (ttl, keys) = leased(etcd, *lease).await?;
                Ok(Self { keys, ttl: Some(ttl), ..Self::default() })
            }
            Write::Release { lock, key, .. } => {
                let (_, keys) = read(etcd, std::slice::from_ref(key)).await?;
                let queue = [lock.as_bytes(), b"/"].concat();
                let holder = if key.as_bytes().starts_with(&queue) {
                    let first = Range { want: Want::Keys, ..Range::first_created(KeyRange::prefix(&queue)) };
                    etcd.range(first).await?.keys.into_iter().next().map(|first| first.key)
                } else {
                    keys.first().map(|held| held.key.clone())
                };
                Ok(Self { keys, holder, ..Self::default() })
            }
            Write::MoveLeader { .. } | Write::Disarm(_) => Ok(Self::default()),
        }
    }

    /// What came of a write that need not, or must not, be sent.
    pub fn settles(&self, confirmed: &Confirmed) -> Option<WriteResult> {
        let done = || WriteResult::Done { revision: Revision(0), gone: Vec::new() };
        match &confirmed.write {
            Write::Revoke { .. } if self.ttl.as_ref().is_some_and(is_gone) => Some(WriteResult::Gone),
            Write::Release { .. } if self.keys.is_empty() => Some(WriteResult::Gone),
            Write::Revoke { .. } => {
                let now = self.created();
                let mut shown = confirmed.shown.clone();
                shown.sort_unstable();
                (now != shown).then_some(WriteResult::Changed { now })
            }
            Write::Release { create_revision, .. } => {
                let now = self.created();
                let same = now.iter().all(|(_, created)| created == create_revision);
                (!same).then_some(WriteResult::Changed { now })
            }
            Write::MoveLeader { to } => (self.leader == Some(*to)).then(done),
            Write::Disarm(kind) => (!is_raised(&self.alarms, *kind)).then_some(WriteResult::Gone),
        }
    }

    fn created(&self) -> Vec<(Key, Revision)> {
        self.keys.iter().map(|kv| (kv.key.clone(), kv.create_revision)).collect()
    }
}

/// What a look after a write shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// Whether the cluster is as the write would leave it.
    pub so: bool,
    /// The revision of the look; 0 where the call does not tell.
    pub revision: Revision,
    /// What is there instead when it is not so.
    pub there: String,
}

impl Sight {
    /// Looks whether what was to go is gone, with the quorum's consent.
    pub async fn look(client: &Client, confirmed: &Confirmed) -> Result<Self, PortError> {
        match &confirmed.write {
            Write::Disarm(kind) => {
                let there = format!("the alarm {} is raised", kind.name());
                Ok(Self { so: !is_raised(&client.alarms().await?, *kind), revision: Revision(0), there })
            }
            _ => Self::of_keys(client, confirmed).await,
        }
    }

    pub async fn of_keys(etcd: &impl Etcd, confirmed: &Confirmed) -> Result<Self, PortError> {
        let shown: BTreeMap<&Key, Revision> = confirmed.shown.iter().map(|(key, created)| (key, *created)).collect();
        let keys: Vec<Key> = shown.keys().copied().cloned().collect();
        let (revision, found) = read(etcd, &keys).await?;
        // A key of the same name with another create_revision is a newer one: the shown one is gone.
        let left = found.iter().filter(|kv| shown.get(&kv.key) == Some(&kv.create_revision)).count();
        let lease = match &confirmed.write {
            Write::Revoke { lease } => Some(*lease),
            _ => None,
        };
        let alive = match lease {
            Some(lease) => !is_gone(&etcd.time_to_live(lease, false).await?),
            None => false,
        };
        let there = match (lease, left) {
            (Some(lease), _) if alive => {
                format!("at revision {revision} lease {lease} is there with {left} of its keys")
            }
            (_, left) => format!("at revision {revision} {left} of the keys are there"),
        };
        Ok(Self { so: left == 0 && !alive, revision, there })
    }
}

/// Whether etcd says of a lease that there is none (`lease_grpc.go`: granted 0, left -1).
pub(super) const fn is_gone(ttl: &TimeToLive) -> bool {
    ttl.granted <= 0 && ttl.remaining < 0
}

/// The time of a lease and all its keys with their revisions, without their values, in the order
/// of their names; wherever they are. The keys are the leader's answer, read again by the quorum.
///
/// # Errors
/// When a call fails, or a key of it may not be read.
pub async fn leased(etcd: &impl Etcd, lease: LeaseId) -> Result<(TimeToLive, Vec<KeyValue>), PortError> {
    let ttl = etcd.time_to_live(lease, true).await?;
    if is_gone(&ttl) {
        return Ok((ttl, Vec::new()));
    }
    // They were asked for, so they are told.
    let mut keys = read(etcd, ttl.keys.as_deref().unwrap_or_default()).await?.1;
    keys.retain(|kv| kv.lease == lease);
    keys.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok((ttl, keys))
}

/// Those of the keys that are there, all at one revision.
pub(super) async fn read(etcd: &impl Etcd, keys: &[Key]) -> Result<(Revision, Vec<KeyValue>), PortError> {
    let mut found = Vec::new();
    let mut at = None;
    for some in keys.chunks(AT_ONCE) {
        let ask = |key: &Key| Range { want: Want::Keys, revision: at, ..Range::of(KeyRange::single(key)) };
        let then = some.iter().map(|key| Op::Range(ask(key))).collect();
        let done = etcd.txn(Txn { then, ..Txn::default() }).await?;
        at.get_or_insert(done.header.revision);
        found.extend(done.answers.into_iter().flat_map(|answer| match answer {
            OpDone::Range(page) => page.keys,
            OpDone::Put(_) | OpDone::Delete(_) => Vec::new(),
        }));
    }
    Ok((at.unwrap_or_default(), found))
}

/// Whether an alarm of this kind is raised for any member.
fn is_raised(alarms: &[Alarm], kind: AlarmKind) -> bool {
    alarms.iter().any(|alarm| alarm.kind == kind)
}

/// What is to be known of an alarm that was disarmed.
pub(super) fn comes_back(kind: AlarmKind) -> Option<String> {
    match kind {
        AlarmKind::NoSpace => Some(
            "NOSPACE comes back with a next write unless space was freed before: compact, defragment every member, \
             then disarm"
                .into(),
        ),
        AlarmKind::Corrupt => Some("the members' stores may differ as before: disarming repairs none of them".into()),
        AlarmKind::Other(_) => None,
    }
}
