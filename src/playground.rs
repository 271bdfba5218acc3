//! Simulated clients that really do what lock clients do, on any cluster.
//!
//! A [`Contender`] is a pure machine that follows a recipe. It is driven by [`client`] as a task
//! that speaks to a real cluster through the port, or by [`stage`] in virtual time. What clients
//! say of themselves and what the store's history says are laid side by side in [`Tally`].

use crate::domain::play::{Ill, Sight};
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyEvent, KeyValue, Revision, Term};
use crate::recipe::Standing;

mod calls;
mod caretaker;
pub mod cast;
pub mod client;
pub mod company;
#[cfg(test)]
mod company_tests;
mod contender;
pub mod dial;
pub mod director;
pub mod expect;
mod habits;
mod journal;
mod left;
#[cfg(test)]
mod orders;
pub mod publish;
#[cfg(test)]
mod recipes_tests;
pub mod rehearsal;
pub mod resource;
pub mod scenario;
mod skew;
pub mod stage;
pub mod summary;
pub mod tally;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod traffic;
mod whom;

pub use crate::domain::play::ClientId;
/// What a client does, as its habits name it.
pub use crate::recipe::Kind;
pub use cast::Cast;
pub use company::{Begin, Company, Control, StartError, Stopped};
pub use contender::Contender;
pub use director::{Directed, Direction, Director};
pub use habits::{Habits, LockOf, Span};
pub use left::Remains;
pub use publish::View;
pub use rehearsal::Rehearsal;
use resource::Written;
pub use scenario::Scenario;
pub use summary::Summary;
pub use tally::{Spread, Tally};

/// What a client says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When, on the cluster's clock.
    pub at: ClusterTime,
    /// Who.
    pub client: ClientId,
    /// What.
    pub what: What,
}

/// What can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It stands here now.
    Stands(Standing),
    /// It crashed: it says and believes nothing any more.
    Crashed,
    /// It ended in order.
    Stopped,
    /// This was done to it.
    Suffers(Ill),
    /// It wrote to a resource.
    Wrote(Written),
    /// It learnt this of what it watches.
    Saw(Sight),
}

/// What the judge of a run is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A client says something.
    Client(Told),
    /// The store was looked at.
    Store(ClusterTime, Seen),
    /// The run is over; what comes now is only evidence.
    End,
}

/// What is seen of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Everything that was there at a revision.
    Listed {
        /// The revision.
        revision: Revision,
        /// The keys.
        keys: Vec<KeyValue>,
    },
    /// Changes, whole revisions in order.
    Changed(Vec<(Revision, KeyEvent)>),
    /// The term that an answer was given in.
    Term(Term),
}
