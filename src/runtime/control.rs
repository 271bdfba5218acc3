//! What can be done to the cluster that is played on, whichever it is.

use crate::domain::raft::{Fault, RaftPicture};
use crate::{engine, server};

/// A handle on a cluster; its clones speak to the same one.
#[derive(Clone, Debug)]
pub enum Control {
    /// The one embedded in this program.
    Embedded(server::Control),
    /// One of real etcds that this program started.
    Engine(engine::Control),
}

impl Control {
    /// Does something to the cluster.
    ///
    /// # Errors
    /// In words, when it cannot be done.
    pub async fn fault(&self, fault: Fault) -> Result<(), String> {
        match self {
            Self::Embedded(control) => control.fault(fault).await,
            Self::Engine(control) => control.fault(fault).await,
        }
    }

    /// How it is, as far as it tells; nothing when it has stopped.
    pub async fn picture(&self) -> Option<RaftPicture> {
        match self {
            Self::Embedded(control) => control.picture().await.ok(),
            Self::Engine(control) => control.picture().await.ok(),
        }
    }

    /// That it has stopped, in words.
    pub fn stopped(&self) -> String {
        match self {
            Self::Embedded(_) => server::Stopped.to_string(),
            Self::Engine(_) => engine::Stopped.to_string(),
        }
    }
}

impl From<server::Control> for Control {
    fn from(control: server::Control) -> Self {
        Self::Embedded(control)
    }
}

impl From<engine::Control> for Control {
    fn from(control: engine::Control) -> Self {
        Self::Engine(control)
    }
}
