//! What can be done to a cluster that this program started, embedded or of real etcds: faults go
//! to its driver, pictures come back.

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::domain::raft::{Fault, RaftPicture, TermRecord};

/// Faults and questions that wait for the driver.
const COMMANDS: usize = 64;

/// A handle on a cluster; its clones speak to the same one.
#[derive(Clone, Debug)]
pub struct Control {
    commands: mpsc::Sender<Command>,
    cluster: &'static str,
}

/// What the driver of a cluster is told from outside.
#[derive(Debug)]
pub enum Command {
    /// Do something to the cluster or its clock.
    Fault(Fault, oneshot::Sender<Result<(), String>>),
    /// Tell how it is.
    Picture(oneshot::Sender<RaftPicture>),
    /// Tell of its terms alone.
    Terms(oneshot::Sender<Vec<TermRecord>>),
}

/// The cluster, which is named so, does not run any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {0} has stopped")]
pub struct Stopped(&'static str);

impl Control {
    /// A handle on the cluster that messages call so, and what its driver is told by it.
    pub fn of(cluster: &'static str) -> (Self, mpsc::Receiver<Command>) {
        let (commands, asked) = mpsc::channel(COMMANDS);
        (Self { commands, cluster }, asked)
    }

    /// Does something to the cluster.
    ///
    /// # Errors
    /// In words, when it cannot be done.
    pub async fn fault(&self, fault: Fault) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        self.tell(Command::Fault(fault, answer)).await.map_err(|stopped| stopped.to_string())?;
        answered.await.unwrap_or_else(|_| Err(self.stopped().to_string()))
    }

    /// How it is, as far as it tells.
    ///
    /// # Errors
    /// When it has stopped.
    pub async fn picture(&self) -> Result<RaftPicture, Stopped> {
        let (answer, answered) = oneshot::channel();
        self.tell(Command::Picture(answer)).await?;
        answered.await.map_err(|_| self.stopped())
    }

    /// Its terms, as in a picture; of an embedded cluster they cost much less.
    ///
    /// # Errors
    /// When it has stopped.
    pub async fn terms(&self) -> Result<Vec<TermRecord>, Stopped> {
        let (answer, answered) = oneshot::channel();
        self.tell(Command::Terms(answer)).await?;
        answered.await.map_err(|_| self.stopped())
    }

    /// That it has stopped, as an error.
    pub const fn stopped(&self) -> Stopped {
        Stopped(self.cluster)
    }

    async fn tell(&self, command: Command) -> Result<(), Stopped> {
        self.commands.send(command).await.map_err(|_| self.stopped())
    }
}
