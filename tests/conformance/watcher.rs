//! Runs the live source and follows it with a reader that trusts nothing.

use std::time::Duration;

use lockscope::config::Connection;
use lockscope::domain::LeaseId;
use lockscope::event::{Change, LinkState, Observation, Stamped, WatchLoss};
use lockscope::port::{Client, Pool};
use lockscope::source::{self, Watching};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::common::clock;
use crate::replay::Replay;

/// A running source.
pub struct Watcher {
    /// The keys as told.
    pub replay: Replay,
    /// Everything told but changes and pages, which the replay has.
    pub seen: Vec<Observation>,
    /// What was told late.
    pub late: Vec<Change>,
    /// How many pages came.
    pub pages: usize,
    /// Wishes to ask leases.
    pub polls: mpsc::Sender<Vec<LeaseId>>,
    observations: mpsc::Receiver<Stamped<Observation>>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Watcher {
    /// Starts to watch.
    pub fn start(settings: Connection, watching: Watching) -> Self {
        let (observations_in, observations) = mpsc::channel(64);
        let (polls, lease_polls) = mpsc::channel(4);
        let shutdown = CancellationToken::new();
        let running =
            source::run(Pool::new(settings), watching, observations_in, lease_polls, clock(), shutdown.clone());
        let task = tokio::spawn(running);
        Self {
            replay: Replay::default(),
            seen: Vec::new(),
            late: Vec::new(),
            pages: 0,
            polls,
            observations,
            shutdown,
            task,
        }
    }

    /// Takes in what comes until `reached` holds.
    pub async fn until(&mut self, what: &str, mut reached: impl FnMut(&Self) -> bool) {
        let reading = async {
            while !reached(self) {
                let next = self.observations.recv().await.expect("the source runs");
                self.take(next.what);
            }
        };
        let in_time = timeout(Duration::from_secs(30), reading).await;
        let polled = |what: &&Observation| matches!(what, Observation::Status { .. });
        let last: Vec<_> = self.seen.iter().rev().filter(|what| !polled(what)).take(8).collect();
        assert!(in_time.is_ok(), "not within 30 s: {what}; told {}; last: {last:?}", self.replay.told());
    }

    /// Takes in what comes for some time.
    pub async fn for_a_while(&mut self, length: Duration) {
        let _ = timeout(length, async {
            while let Some(next) = self.observations.recv().await {
                self.take(next.what);
            }
        })
        .await;
    }

    fn take(&mut self, what: Observation) {
        self.replay.take(&what);
        match what {
            Observation::Listed(_) => self.pages += 1,
            Observation::Watched(_) => {}
            Observation::Filled(changes) => self.late.extend(changes),
            other => self.seen.push(other),
        }
    }

    /// Waits until everything is read and the watch runs.
    pub async fn until_live(&mut self) {
        self.until("live and read", |watcher| watcher.is_live() && watcher.replay.is_complete()).await;
    }

    /// Waits until this revision was told, which must be one that changes a watched key.
    pub async fn until_revision(&mut self, revision: i64) {
        let what = format!("revision {revision}");
        self.until(&what, |watcher| watcher.replay.reached(revision)).await;
    }

    /// Whether the last word on the link is that it is live.
    pub fn is_live(&self) -> bool {
        let last =
            self.seen.iter().rev().find_map(|what| if let Observation::Link(link) = what { Some(link) } else { None });
        matches!(last, Some(LinkState::Live { .. }))
    }

    /// The endpoint of the last live link.
    pub fn endpoint(&self) -> String {
        let live = self.seen.iter().rev().find_map(|what| match what {
            Observation::Link(LinkState::Live { endpoint }) => Some(endpoint.clone()),
            _ => None,
        });
        live.expect("it was live")
    }

    /// How often the watch was lost in a way that fits.
    pub fn lost(&self, fits: impl Fn(&WatchLoss) -> bool) -> usize {
        self.seen.iter().filter(|what| matches!(what, Observation::WatchLost(loss) if fits(loss))).count()
    }

    /// Up to which revision what was skipped was told, and why no further, once that is over.
    pub fn replay_end(&self) -> Option<(i64, Option<&str>)> {
        self.seen.iter().find_map(|what| match what {
            Observation::FillEnded { through, why } => Some((through.0, why.as_deref())),
            _ => None,
        })
    }

    /// Ends it; all tasks must end soon, read or unread.
    pub async fn stop(self) {
        self.shutdown.cancel();
        timeout(Duration::from_secs(3), self.task).await.expect("it ends soon").expect("it does not panic");
    }

    /// Waits until the keys are as in the cluster, which nobody changes any more.
    pub async fn until_as_in(&mut self, etcd: &Client) {
        let fresh = self.replay.fresh(etcd).await;
        self.until("as in the cluster", |watcher| watcher.replay.keys == fresh).await;
    }

    /// Compares with the cluster, and ends.
    pub async fn check(mut self, etcd: &Client) {
        self.until_as_in(etcd).await;
        self.stop().await;
    }
}
