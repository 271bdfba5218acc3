//! The way out: stamps what was learnt and sends it, unless the source is told to stop.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::beat::Beat;
use crate::event::{Observation, Stamped};
use crate::port::Clock;

/// Where observations go. The channel is bounded: a reader who is slow slows etcd down
/// through gRPC's flow control instead of filling the memory.
#[derive(Clone)]
pub(super) struct Out {
    pub channel: mpsc::Sender<Stamped<Observation>>,
    pub clock: Clock,
    pub shutdown: CancellationToken,
    /// When that is done which is done from time to time.
    pub beat: Beat,
}

/// Nobody reads any more, or the source is to stop.
#[derive(Debug)]
pub(super) struct Stopped;

impl Out {
    /// Stamps and sends; waits while the reader is behind.
    pub async fn tell(&self, what: Observation) -> Result<(), Stopped> {
        let stamped = Stamped { at: self.clock.now(), what };
        tokio::select! {
            // A source that is to stop must not wait for a reader who has stopped already.
            biased;
            () = self.shutdown.cancelled() => Err(Stopped),
            sent = self.channel.send(stamped) => sent.map_err(|_| {
                // Nobody reads any more: the other tasks may stop as well.
                self.shutdown.cancel();
                Stopped
            }),
        }
    }

    /// Runs `future` unless the source is told to stop first.
    pub async fn unless_stopped<T>(&self, future: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            // Told to stop, a task must not take up what is ready as well.
            biased;
            () = self.shutdown.cancelled() => Err(Stopped),
            done = future => Ok(done),
        }
    }
}
