//! The mistake of a lease that is granted after the lock: the key is put without one, and hung
//! on it only when the lock is held.

use super::place::Place;
use super::session::AGAIN;
use super::{Answer, Call, CallId, Command, Failure, Standing, Timer};
use crate::domain::LeaseId;
use crate::domain::raft::ClusterTime;

/// How far a client is that hangs its key on its lease only when it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Late {
    /// The key is created with the lease, or hangs on it by now.
    #[default]
    Done,
    /// The key hangs on nothing.
    Without,
    /// It may hang on the lease by now, or may later: this call asks for it.
    Asked(CallId),
    /// That call failed, which is waited out.
    Failed,
}

impl Late {
    /// What to create the key with.
    pub const fn create_with(self, lease: LeaseId) -> LeaseId {
        if matches!(self, Self::Done) { lease } else { LeaseId::NONE }
    }

    /// Whether the end of the lease may leave the key where it is.
    pub const fn is_due(self) -> bool {
        !matches!(self, Self::Done)
    }

    /// Whether a put is under way, or was never answered.
    pub const fn is_asked(self) -> bool {
        matches!(self, Self::Asked(_) | Self::Failed)
    }

    /// Whether this is the call that it waits for.
    pub fn is(self, id: CallId) -> bool {
        self == Self::Asked(id)
    }

    /// Hangs the own key on the lease if that is due. A plain put, as a careless programmer writes it:
    /// should the key be gone, it comes to be anew.
    pub fn attach(&mut self, place: &mut Place, value: &[u8]) -> Option<Command> {
        if !matches!(self, Self::Without | Self::Failed) {
            return None;
        }
        let Standing { key, lease, .. } = place.standing.clone();
        let (id, call) = place.call(Call::Put { key, value: value.to_vec(), lease });
        *self = Self::Asked(id);
        Some(call)
    }

    /// What follows from the answer; none when the lease is gone, and all is lost.
    pub fn answered(&mut self, now: ClusterTime, answer: &Result<Answer, Failure>) -> Option<Vec<Command>> {
        match answer {
            Ok(_) => {
                *self = Self::Done;
                Some(Vec::new())
            }
            Err(Failure::LeaseGone) => None,
            Err(_) => {
                *self = Self::Failed;
                Some(vec![Command::Set(Timer::Again, now + AGAIN)])
            }
        }
    }
}
