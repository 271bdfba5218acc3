//! The cluster that is played on beside a session: pictures of it come in, faults go out.

use std::future::pending;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use super::Control;
use super::clock::Clock;
use crate::domain::raft::Fault;
use crate::event::{Observation, Stamped};

/// The time between pictures while they are looked at: as often as motion is drawn.
const LOOKED_AT: Duration = Duration::from_millis(50);
/// And while only the header tells of them.
const ASIDE: Duration = Duration::from_secs(1);
/// Faults that wait to be done; hands are slower than that.
const FAULTS: usize = 16;
/// Pictures and answers that wait to be taken in: a session that is slow is shown fewer.
const PICTURES: usize = 2;

/// The session's end.
pub(super) struct Embedded {
    observed: mpsc::Receiver<Stamped<Observation>>,
    faults: mpsc::Sender<Fault>,
    looked_at: watch::Sender<bool>,
    /// What is said when the cluster has stopped.
    stopped: String,
    task: JoinHandle<()>,
    /// Ends the task.
    end: DropGuard,
}

impl Embedded {
    /// Connects a cluster with a session.
    pub fn connect(control: Control, clock: Clock) -> Self {
        let (tell, observed) = mpsc::channel(PICTURES);
        let (faults, asked) = mpsc::channel(FAULTS);
        let (looked_at, attention) = watch::channel(false);
        let ended = CancellationToken::new();
        let stopped = control.stopped();
        let between = Between { control, observed: tell, clock, faults: asked, looked_at: attention };
        let task = tokio::spawn(between.run(ended.clone()));
        Self { observed, faults, looked_at, stopped, task, end: ended.drop_guard() }
    }

    /// Ends the connection and waits until it has ended; the cluster goes on.
    pub async fn end(self) {
        drop(self.end);
        if let Err(error) = self.task.await {
            warn!(%error, "what was between the cluster and the session failed");
        }
    }

    /// The next thing it tells; never, when there is no such cluster or it has stopped. Nothing
    /// is lost when this is dropped.
    pub async fn observe(embedded: Option<&mut Self>) -> Stamped<Observation> {
        if let Some(embedded) = embedded
            && let Some(observed) = embedded.observed.recv().await
        {
            return observed;
        }
        pending().await
    }

    /// Has a fault done. What it led to comes as an observation.
    ///
    /// # Errors
    /// Why it will not be done, in words: too many wait, or the cluster has stopped.
    pub fn fault(&self, fault: Fault) -> Result<(), String> {
        self.faults.try_send(fault).map_err(|failed| match failed {
            TrySendError::Full(_) => "it is left out: those before it are not done yet".to_owned(),
            TrySendError::Closed(_) => self.stopped.clone(),
        })
    }

    /// Says whether the pictures are looked at, which decides how many there are.
    pub fn look_at(&self, looks: bool) {
        self.looked_at.send_if_modified(|looked_at| std::mem::replace(looked_at, looks) != looks);
    }
}

/// The task between the two.
struct Between {
    control: Control,
    observed: mpsc::Sender<Stamped<Observation>>,
    clock: Clock,
    faults: mpsc::Receiver<Fault>,
    looked_at: watch::Receiver<bool>,
}

/// The session or the cluster is gone.
struct Gone;

impl Between {
    async fn run(mut self, ended: CancellationToken) {
        let gone = async { while let Ok(()) = self.turn().await {} };
        tokio::select! {
            // The end first: a session that is over wants no more pictures.
            biased;
            () = ended.cancelled() => {}
            () = gone => if !ended.is_cancelled() {
                warn!("the cluster has stopped: what is shown of it is its last picture");
            },
        }
    }

    async fn turn(&mut self) -> Result<(), Gone> {
        let picture = self.control.picture().await.ok_or(Gone)?;
        self.tell(Observation::Raft(Box::new(picture))).await?;
        let pause = if *self.looked_at.borrow_and_update() { LOOKED_AT } else { ASIDE };
        tokio::select! {
            // What somebody does is shown at once.
            biased;
            fault = self.faults.recv() => {
                let fault = fault.ok_or(Gone)?;
                let done = self.control.fault(fault).await;
                self.tell(Observation::FaultDone(fault, done)).await
            }
            changed = self.looked_at.changed() => changed.map_err(|_| Gone),
            () = sleep(pause) => Ok(()),
        }
    }

    async fn tell(&self, what: Observation) -> Result<(), Gone> {
        self.observed.send(Stamped { at: self.clock.now(), what }).await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::raft::NodeId;
    use crate::embedded::Config;
    use crate::server::{self, Options, Stopped};

    #[tokio::test]
    async fn a_cluster_that_has_stopped_takes_no_fault_and_says_so() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        let mut embedded = Embedded::connect(server.control().into(), Clock::start());
        assert!(matches!(Embedded::observe(Some(&mut embedded)).await.what, Observation::Raft(_)));
        server.stop().await;
        // What came before is read; then the task finds that the cluster is gone.
        while embedded.observed.recv().await.is_some() {}
        assert_eq!(embedded.fault(Fault::Kill(NodeId(1))), Err(Stopped.to_string()));
        embedded.end().await;
    }

    #[tokio::test]
    async fn an_end_waits_for_the_task_and_leaves_the_cluster_alone() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        let embedded = Embedded::connect(server.control().into(), Clock::start());
        let observed = embedded.looked_at.clone();
        embedded.end().await;
        assert!(observed.is_closed(), "the task is gone");
        assert!(server.control().picture().await.is_ok());
        server.stop().await;
    }
}
