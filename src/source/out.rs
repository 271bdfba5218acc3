//! The way out: stamps what was learnt and sends it to whoever reads.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::beat::Beat;
use crate::event::{Observation, Stamped};
use crate::port::Clock;

/// Where observations go. The channel is bounded: a reader who is slow slows etcd down
/// through gRPC's flow control instead of filling the memory.
#[derive(Clone)]
pub(super) struct Out {
    pub channel: mpsc::Sender<Stamped<Observation>>,
    pub clock: Clock,
    /// When that is done which is done from time to time.
    pub beat: Beat,
}

/// Nobody reads any more.
#[derive(Debug)]
pub(super) struct NoReader;

impl Out {
    /// Stamps and sends; waits while the reader is behind.
    pub async fn tell(&self, what: Observation) -> Result<(), NoReader> {
        // Nearly always there is room, and nothing to wait for has to be made.
        match self.channel.try_send(Stamped { at: self.clock.now(), what }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(stamped)) => self.channel.send(stamped).await.map_err(|_| NoReader),
            Err(TrySendError::Closed(_)) => Err(NoReader),
        }
    }
}
