//! Members of the cluster and what each says of itself.

use serde::{Deserialize, Serialize};

use super::{MemberId, Millis, RaftIndex, Revision, Term};

/// A member as the cluster's membership lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The member's id.
    pub id: MemberId,
    /// Its name; empty while it has not started yet.
    pub name: String,
    /// Where it says it serves clients.
    pub client_urls: Vec<String>,
    /// Where it speaks Raft with its peers.
    pub peer_urls: Vec<String>,
    /// Whether it is a learner: it gets the log and has no vote.
    pub learner: bool,
}

/// What a member answers to `Maintenance.Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The URL that was asked.
    pub endpoint: String,
    /// The server's version, such as `3.5.30`.
    pub version: String,
    /// Whom this member takes for the leader; `None` when it knows none.
    pub leader: Option<MemberId>,
    /// Its Raft term.
    pub term: Term,
    /// The revision its store has reached; 0 when that is not known.
    #[serde(default, skip_serializing_if = "is_not_known")]
    pub revision: Revision,
    /// The last index it knows to be committed.
    pub raft_index: RaftIndex,
    /// The last index it applied to its store; 3.4 and later.
    pub applied_index: RaftIndex,
    /// Size of the backend file in bytes.
    pub db_size: i64,
    /// Bytes of it in use; the rest comes back with a defragmentation.
    pub db_in_use: i64,
    /// The backend quota in bytes, from etcd 3.6 on.
    pub db_quota: Option<i64>,
    /// Whether it is a learner.
    pub learner: bool,
    /// Errors it reports itself, such as `NOSPACE` or `etcdserver: no leader`.
    pub errors: Vec<String>,
    /// How long the answer took.
    pub latency: Millis,
}

/// An alarm that is raised on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Alarm {
    /// The member it is raised for.
    pub member: MemberId,
    /// Which alarm.
    pub kind: AlarmKind,
}

/// The kinds of alarm etcd knows (`etcdserverpb.AlarmType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// The backend quota is used up: writes and lease grants fail, deletes still work.
    NoSpace,
    /// The members' stores differ.
    Corrupt,
    /// An alarm this version of lockscope does not know, with its number.
    Other(i32),
}

impl AlarmKind {
    /// The name as etcd prints it.
    pub fn name(self) -> String {
        match self {
            Self::NoSpace => "NOSPACE".into(),
            Self::Corrupt => "CORRUPT".into(),
            Self::Other(number) => format!("ALARM {number}"),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out by reference")]
const fn is_not_known(revision: &Revision) -> bool {
    revision.0 == 0
}
