//! The cluster that is played on beside a session: pictures of it come in, faults go out.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tracing::warn;

use super::beside::{Beside, Gone, Other};
use super::clock::Clock;
use crate::control::Control;
use crate::domain::raft::Fault;
use crate::event::Observation;

/// Takes note of faults that are done by hand. Before it is told who notes them, nobody does.
#[derive(Clone, Default)]
pub struct Chronicle(Arc<OnceLock<Note>>);

type Note = Box<dyn Fn(Fault) + Send + Sync>;

impl Chronicle {
    /// From now on they are noted so. Only the first who says this does.
    pub fn begin(&self, note: impl Fn(Fault) + Send + Sync + 'static) {
        // Whoever began before goes on.
        let _ = self.0.set(Box::new(note));
    }

    fn note(&self, fault: Fault) {
        if let Some(note) = self.0.get().filter(|_| !is_of_the_clock(fault)) {
            note(fault);
        }
    }
}

impl fmt::Debug for Chronicle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chronicle").field("has_begun", &self.0.get().is_some()).finish()
    }
}

/// Whether it is done to the clock by which all is seen, and nothing happens to the cluster.
const fn is_of_the_clock(fault: Fault) -> bool {
    matches!(fault, Fault::Speed(_) | Fault::Freeze | Fault::Thaw | Fault::Step)
}

/// Connects a cluster with a session.
pub(super) fn connect(control: Control, chronicle: Chronicle, clock: Clock) -> Beside<Fault> {
    let stopped = control.stopped().to_string();
    Beside::start(clock, stopped, |mut other| async move {
        while let Ok(()) = turn(&control, &chronicle, &mut other).await {}
    })
}

async fn turn(control: &Control, chronicle: &Chronicle, other: &mut Other<Fault>) -> Result<(), Gone> {
    let Ok(picture) = control.picture().await else {
        warn!("the cluster has stopped: what is shown of it is its last picture");
        return Err(Gone);
    };
    other.tell(Observation::Raft(Box::new(picture))).await?;
    let Some(fault) = other.asked().await? else { return Ok(()) };
    let done = control.fault(fault).await;
    if done.is_ok() {
        chronicle.note(fault);
    }
    other.tell(Observation::FaultDone(fault, done)).await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::raft::NodeId;
    use crate::embedded::Config;
    use crate::server::{self, Options};

    #[tokio::test]
    async fn a_cluster_that_has_stopped_takes_no_fault_and_says_so() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        let mut embedded = connect(server.control(), Chronicle::default(), Clock::start());
        assert!(matches!(Beside::observe(Some(&mut embedded)).await.what, Observation::Raft(_)));
        server.stop().await;
        // What came before is read; then the task finds that the cluster is gone.
        while embedded.observed.recv().await.is_some() {}
        assert_eq!(embedded.ask(Fault::Kill(NodeId(1))), Err("the embedded cluster has stopped".into()));
        embedded.end().await;
    }

    #[tokio::test]
    async fn what_is_done_by_hand_is_noted_once_somebody_does_and_what_is_done_to_the_clock_is_not() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        let chronicle = Chronicle::default();
        let mut embedded = connect(server.control(), chronicle.clone(), Clock::start());
        let noted = Arc::new(Mutex::new(Vec::new()));
        let [unnoticed, kill, no_node, freeze] =
            [Fault::Pause(NodeId(2)), Fault::Kill(NodeId(3)), Fault::Kill(NodeId(9)), Fault::Freeze];
        for fault in [unnoticed, kill, no_node, freeze] {
            embedded.ask(fault).unwrap();
            while !matches!(Beside::observe(Some(&mut embedded)).await.what, Observation::FaultDone(..)) {}
            let noted = noted.clone();
            chronicle.begin(move |fault| noted.lock().unwrap().push(fault));
        }
        assert_eq!(*noted.lock().unwrap(), [kill]);
        embedded.end().await;
        server.stop().await;
    }

    #[tokio::test]
    async fn an_end_leaves_the_cluster_alone() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        connect(server.control(), Chronicle::default(), Clock::start()).end().await;
        assert!(server.control().picture().await.is_ok());
        server.stop().await;
    }
}
