//! The cluster that is played on beside a session: pictures of it come in, faults go out.

use tracing::warn;

use super::Control;
use super::beside::{Beside, Gone, Other};
use super::clock::Clock;
use crate::domain::raft::Fault;
use crate::event::Observation;

/// Connects a cluster with a session.
pub(super) fn connect(control: Control, clock: Clock) -> Beside<Fault> {
    let stopped = control.stopped();
    Beside::start(clock, stopped, |mut other| async move { while let Ok(()) = turn(&control, &mut other).await {} })
}

async fn turn(control: &Control, other: &mut Other<Fault>) -> Result<(), Gone> {
    let Some(picture) = control.picture().await else {
        warn!("the cluster has stopped: what is shown of it is its last picture");
        return Err(Gone);
    };
    other.tell(Observation::Raft(Box::new(picture))).await?;
    let Some(fault) = other.asked().await? else { return Ok(()) };
    let done = control.fault(fault).await;
    other.tell(Observation::FaultDone(fault, done)).await
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
        let mut embedded = connect(server.control().into(), Clock::start());
        assert!(matches!(Beside::observe(Some(&mut embedded)).await.what, Observation::Raft(_)));
        server.stop().await;
        // What came before is read; then the task finds that the cluster is gone.
        while embedded.observed.recv().await.is_some() {}
        assert_eq!(embedded.ask(Fault::Kill(NodeId(1))), Err(Stopped.to_string()));
        embedded.end().await;
    }

    #[tokio::test]
    async fn an_end_leaves_the_cluster_alone() {
        let server = server::start(Options::new(Config::default())).await.unwrap();
        connect(server.control().into(), Clock::start()).end().await;
        assert!(server.control().picture().await.is_ok());
        server.stop().await;
    }
}
