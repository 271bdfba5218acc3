//! The playground as it is told and shown: simulated clients, what they believe, what happened
//! to them, and what can be done to them.
//!
//! Whoever lets clients play, whoever judges them and whoever draws them speaks these words. How
//! a client does what it does is not known here.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Key, LeaseId, Revision, Term};
use crate::domain::raft::{ClusterTime, Fault};

pub mod order;
pub mod picture;
mod said;
mod step;

pub use order::{Done, Ill, Order, Whom};
pub use picture::{ClientPicture, Expected, Life, Narration, PlayPicture, ResourcePicture, SecondPicture};
pub use said::{Gap, Said};
pub use step::{Belief, Step};

/// The number of a simulated client, from 1 on. One that crashed and came back has it still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u32);

impl fmt::Display for ClientId {
    /// The client's name, such as `client-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client-{}", self.0)
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// When, on the run's clock.
    pub at: ClusterTime,
    /// Where: the name of the lock, or of the resource; empty when it is about the cluster.
    pub lock: Key,
    /// To whom; none when it is about the cluster.
    pub client: Option<ClientId>,
    /// What.
    pub what: Happening,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A client began to take part in the run.
    Began,
    /// A client's key stands in the queue, created by this revision.
    Enqueued(Revision),
    /// The store passed the lock on: from this revision on the client's key is the first. The
    /// client may not know it yet.
    First(Revision),
    /// A client holds, by its own word, with this fencing token, after waiting so long.
    Acquired(Revision, Duration),
    /// Of two locks that it takes one after the other it has the first, by its own word, with this
    /// fencing token, after waiting so long. That it has both, [`Happening::Acquired`] says.
    HasFirst(Revision, Duration),
    /// It let go after holding so long.
    Released(Duration),
    /// It gave up waiting.
    GaveUp,
    /// It lost its lease or its key, as a holder or not, and knows it.
    Lost(Belief),
    /// The store dropped the client's key at this revision although the client did not ask for
    /// it: its lease ran out or was revoked. What it believed then; while it goes on believing
    /// that it holds, its belief is stale.
    Dropped(Revision, Belief),
    /// It crashed while it believed this.
    Crashed(Belief),
    /// The key that a crashed client left is gone, at this revision, so long after.
    Expired(Revision, Duration),
    /// It came back, as a new client.
    Returned,
    /// It ended in order.
    Stopped,
    /// It stands still, as in a long garbage collection.
    Paused,
    /// It goes on.
    Resumed,
    /// Something else was done to it.
    Suffered(Ill),
    /// A resource took its write with this fencing token.
    Wrote(Revision),
    /// A resource took its write although it had seen a higher token, this one: nobody checks
    /// tokens there, and what a later holder wrote is damaged.
    Damaged(Revision, Revision),
    /// A resource refused its write: it had seen a higher token, the second one.
    Refused(Revision, Revision),
    /// A client that watches learnt this.
    Saw(Sight),
    /// These wait for each other, each for what the next one holds and the last one for the first:
    /// none of them gets any further by itself.
    Circle(Vec<ClientId>),
    /// The cluster has a leader in this term.
    Term(Term),
    /// This was done to the cluster.
    Fault(Fault),
    /// The run tells the narration of this number, from 0 on.
    Told(usize),
}

/// What a client that watches a range learns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// A key appeared, with this value.
    Appeared(Key, #[serde(with = "super::bytes")] Vec<u8>),
    /// A key has another value.
    Changed(Key, #[serde(with = "super::bytes")] Vec<u8>),
    /// A key went.
    Went(Key),
}

impl Sight {
    /// The key.
    pub const fn key(&self) -> &Key {
        match self {
            Self::Appeared(key, _) | Self::Changed(key, _) | Self::Went(key) => key,
        }
    }
}

/// A client's key in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stake {
    /// The key; empty while it has none.
    pub key: Key,
    /// The lease of its session.
    pub lease: LeaseId,
    /// The revision that created the key: the fencing token of a holder. 0 until it is known.
    pub created: Revision,
    /// The key whose end it waits for.
    pub ahead: Option<Key>,
}
