//! What can be done to simulated clients, as words that can be typed.
//!
//! One line is one order: `pause client-1`, `crash holder`, `skew client-2 -3s`, `add 3`. The
//! same words stand in scenarios and are taken from the dashboard's command line.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ClientId;

mod words;

pub use words::{LONGEST, MOST_ADDED, SHORTEST_HEARTBEAT, UnknownWhom, WORDS, Word};

/// Something done to the clients of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Something is done to one of them.
    Client(Whom, Ill),
    /// So many more join, as those of the lock that the run is about.
    Add(u16),
}

/// Whom it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// This client.
    Client(ClientId),
    /// Whoever holds, by the store, the lock that the run is about.
    Holder,
    /// Whoever waits for it longest.
    Waiter,
}

/// What is done to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ill {
    /// It stands still, as in a long garbage collection; the world goes on.
    Pause,
    /// It goes on.
    Resume,
    /// It ends without a word: nothing is released, no heartbeat follows. It comes back later.
    Crash,
    /// Its connection is cut: calls are not answered, watches are lost.
    Cut,
    /// Its connection is mended.
    Mend,
    /// It sends heartbeats this far apart from now on.
    Heartbeat(Duration),
    /// Its clock is so many milliseconds ahead from now on, or behind when less than 0.
    Skew(i64),
    /// It releases what it holds, or gives up waiting.
    Release,
    /// It holds this long from now on.
    Hold(Duration),
    /// Somebody else revokes its lease.
    Revoke,
    /// It ends in order and is gone for good.
    Remove,
}

/// What an order came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// This was done to this client, whoever was named.
    Client(ClientId, Ill),
    /// These joined.
    Joined(Vec<ClientId>),
}

impl Done {
    /// The order that asks for just this, whoever holds or waits by now.
    pub fn order(&self) -> Order {
        match self {
            Self::Client(client, ill) => Order::Client(Whom::Client(*client), *ill),
            Self::Joined(clients) => Order::Add(u16::try_from(clients.len()).unwrap_or(u16::MAX)),
        }
    }
}

impl Ill {
    /// The word that asks for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Crash => "crash",
            Self::Cut => "cut",
            Self::Mend => "mend",
            Self::Heartbeat(_) => "heartbeat",
            Self::Skew(_) => "skew",
            Self::Release => "release",
            Self::Hold(_) => "hold",
            Self::Revoke => "revoke",
            Self::Remove => "remove",
        }
    }
}
