//! Starting the live source and stopping it, for whoever shows or prints what it learns.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{WantedPast, Watching, live};
use crate::domain::LeaseId;
use crate::event::{Observation, Stamped};
use crate::port::{Clock, Pool};

/// Batches of observations that wait to be taken in; when there is no more room the source
/// waits, and in the end etcd does.
const OBSERVATIONS: usize = 64;
/// Bursts of lease polls that wait to be asked.
const POLLS: usize = 4;
/// How long the source may take to hang up.
const HANG_UP: Duration = Duration::from_millis(50);

/// The channels to and from the source.
pub struct Wires {
    /// What it learns.
    pub observations: mpsc::Receiver<Stamped<Observation>>,
    /// The leases it is to ask.
    pub polls: mpsc::Sender<Vec<LeaseId>>,
    /// The lock whose past it is to read, if any; another one ends the reading.
    pub past: watch::Sender<Option<WantedPast>>,
}

/// A source that runs; dropped, it ends by itself once nobody has its wires.
pub struct Handle {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl Handle {
    /// Starts to watch, in a task of its own.
    pub fn start(pool: Pool, watching: Watching, clock: Clock) -> (Self, Wires) {
        let (observed, observations) = mpsc::channel(OBSERVATIONS);
        let (polls, asked) = mpsc::channel(POLLS);
        let (past, wanted) = watch::channel(None);
        let shutdown = CancellationToken::new();
        let asked = live::Asked { leases: asked, past: wanted };
        let task = tokio::spawn(live::run(pool, watching, observed, asked, clock, shutdown.clone()));
        (Self { task, shutdown }, Wires { observations, polls, past })
    }

    /// Stops it. What does not hang up in time is cut off, and logged.
    pub async fn stop(self) {
        self.shutdown.cancel();
        let abort = self.task.abort_handle();
        if timeout(HANG_UP, self.task).await.is_err() {
            tracing::warn!("the source did not hang up in time");
            abort.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Connection;
    use crate::domain::Timestamp;

    #[tokio::test]
    async fn it_stops_whether_what_it_says_is_read_or_not() {
        for read in [true, false] {
            let pool = Pool::new(Connection { endpoints: vec!["http://127.0.0.1:9".into()], ..Connection::default() });
            let (handle, mut wires) = Handle::start(pool, Watching::Discover, Clock::new(|| Timestamp(0)));
            if read {
                assert!(wires.observations.recv().await.is_some());
            }
            handle.stop().await;
            while wires.observations.recv().await.is_some() {}
            assert!(wires.polls.is_closed(), "nobody is left to ask");
        }
    }
}
