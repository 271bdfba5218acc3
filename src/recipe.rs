//! What lock clients do, as pure machines: no I/O, no clock, no chance.
//!
//! A machine is told what happened ([`Input`]) and says what it wants done ([`Command`]). Who
//! drives it makes the calls, keeps the watches and the timers, and decides what time it is: a
//! task that speaks to a real cluster, or a loop that lets an hour pass in a moment. So one
//! recipe runs in a workshop and in a test under all the orders of events there can be.
//!
//! ```text
//!             Leased, LeaseLost
//!   Session ───────────────────► Mutex, SixSteps, Herd      a key in a queue of one's own making;
//!   a lease, kept alive           └► Election, Pair           with values; two of them
//!                              ► LockApi, ElectionApi       the server queues
//!                              ► SingleKey                  whoever creates the key
//!                              ► Registration, Publish      nobody waits
//!               Start          ► Watch, Observe             without a lease
//! ```

use std::fmt::Debug;
use std::time::Duration;

use crate::domain::play::Sight;
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyEvent, KeyRange, LeaseId, Revision};

mod call;
mod election;
mod election_api;
mod follow;
mod herd;
mod kind;
mod late;
mod lock_api;
mod mistakes;
mod mutex;
mod observe;
mod pair;
mod place;
mod publish;
mod queue;
mod registration;
mod role;
mod served;
mod session;
mod single_key;
mod six_steps;
mod standing;
#[cfg(test)]
pub mod testing;
mod watch;
mod words;

pub use call::{Answer, Call, Failure};
pub use election::Election;
pub use election_api::ElectionApi;
pub use herd::Herd;
pub use kind::{Kind, UnknownKind};
pub use lock_api::LockApi;
pub use mistakes::Mistakes;
pub use mutex::Mutex;
pub use observe::Observe;
pub use pair::Pair;
pub use publish::Publish;
pub use registration::Registration;
pub use role::Role;
pub use session::Session;
pub use single_key::SingleKey;
pub use six_steps::SixSteps;
pub use standing::{Belief, Standing, Step};
pub use watch::Watch;

/// A machine that takes part in something by a recipe.
pub trait Recipe: Debug {
    /// Takes in what happened at `now`, by the client's own clock; returns what it wants done,
    /// in this order.
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command>;
}

/// A machine that takes part in one thing, by the lease of a session.
pub trait Activity: Recipe + Send {
    /// Where it stands.
    fn standing(&self) -> &Standing;

    /// Whether a call that was never answered may still come to be and put a key: only the end
    /// of the lease makes sure that it does not.
    fn is_doubtful(&self) -> bool {
        false
    }

    /// Whether it takes part by a lease. What only watches has none: it begins at [`Input::Start`].
    fn needs_lease(&self) -> bool {
        true
    }

    /// Whether it has given up, after [`Input::Stop`], what the end of the lease does not take.
    fn is_closed(&self) -> bool {
        true
    }

    /// Whether [`Timer::Write`] is its own: it sets it, and proclaims or publishes when it goes off.
    /// The others know nothing of it; what their clients write goes to what the lock protects.
    fn writes_itself(&self) -> bool {
        false
    }

    /// Forgets everything but which names were used: the client begins anew.
    fn reset(&mut self);
}

/// What a machine is told. What it does not wait for, such as an answer that was overtaken, it
/// passes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Begin.
    Start,
    /// The session has a lease: take part with it.
    Leased(LeaseId),
    /// The session is lost: what was held on it is held no more.
    LeaseLost,
    /// Give up what is held or waited for.
    Release,
    /// The answer to a call.
    Answer(CallId, Result<Answer, Failure>),
    /// A watched key changed.
    Changed {
        /// By which watch this is known.
        watch: WatchId,
        /// The revision that changed it.
        revision: Revision,
        /// The change.
        event: KeyEvent,
    },
    /// A watch ended before it was given up; changes may have been missed.
    WatchLost(WatchId),
    /// A timer went off.
    Timer(Timer),
    /// A write was refused, because the resource has seen this higher token.
    Refused(Revision),
    /// Send heartbeats this far apart from now on.
    Heartbeat(Duration),
    /// Hold this long from now on.
    Hold(Duration),
    /// Stand still, as a long garbage collection makes a process do. The world goes on.
    Pause,
    /// Go on, and learn what happened since.
    Resume,
    /// End without a word.
    Crash,
    /// End in order: give up everything and take part no more.
    Stop,
}

/// What a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ask the cluster. Every call is answered, be it by a failure, unless it is given up.
    Call(CallId, Call),
    /// Give up a call that waits for a turn to come: no answer is wanted any more. The server
    /// notices that its caller has gone, and takes the key out of the queue.
    Abandon(CallId),
    /// Tell of the changes of `range` from revision `from` on. A machine has one watch at a time:
    /// a new one takes the place of the one before.
    Watch {
        /// The name of the watch.
        watch: WatchId,
        /// What to watch.
        range: KeyRange,
        /// The first revision to tell of.
        from: Revision,
    },
    /// Tell no more.
    Unwatch(WatchId),
    /// Let this timer go off then; it runs once, and setting it again moves it.
    Set(Timer, ClusterTime),
    /// This is where the client stands now.
    Report(Standing),
    /// Write to what the lock protects, with this fencing token.
    Write(Revision),
    /// The client learnt this of what it watches.
    Saw(Sight),
    /// The client is no more: no answer, event or timer may reach it, except timers that are
    /// set behind this.
    Crashed,
    /// The client has given up everything and ends.
    Stopped,
}

/// Which of a client's machines something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Its session.
    Session,
    /// What it takes part in.
    Lock,
    /// The second lock of a pair.
    Second,
}

/// The name of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// Whose call it is.
    pub part: Part,
    /// Growing from call to call.
    pub number: u64,
}

/// The name of a watch, growing from watch to watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u64);

/// The timers that a client can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The lease has to be renewed, or a call of the session to be made again.
    Heartbeat,
    /// The lease has run out by the client's own clock.
    Expiry,
    /// A call of the lock has to be made again.
    Again,
    /// The client wants the lock.
    Want,
    /// The work is done.
    Work,
    /// As the holder, it writes to what the lock protects; or it proclaims or publishes.
    Write,
    /// The client crashes.
    Crash,
    /// It comes back.
    Return,
}
