//! The embedded cluster beside a session: pictures of it come in, faults go out.

use std::future::pending;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::clock::Clock;
use crate::domain::raft::Fault;
use crate::event::{Observation, Stamped};
use crate::server::Control;

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
    task: AbortHandle,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Embedded {
    /// Connects a cluster with a session.
    pub fn connect(control: Control, clock: Clock) -> Self {
        let (tell, observed) = mpsc::channel(PICTURES);
        let (faults, asked) = mpsc::channel(FAULTS);
        let (looked_at, attention) = watch::channel(false);
        let between = Between { control, observed: tell, clock, faults: asked, looked_at: attention };
        let task = tokio::spawn(between.run()).abort_handle();
        Self { observed, faults, looked_at, task }
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
    pub fn fault(&self, fault: Fault) {
        if self.faults.try_send(fault).is_err() {
            warn!(?fault, "a fault is left out: those before it are not done yet");
        }
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
    async fn run(mut self) {
        while let Ok(()) = self.turn().await {}
        debug!("the embedded cluster is not watched any more");
    }

    async fn turn(&mut self) -> Result<(), Gone> {
        let picture = self.control.picture().await.map_err(|_| Gone)?;
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
