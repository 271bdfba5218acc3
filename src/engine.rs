//! A local cluster of real etcds: the `etcd` found on PATH, as processes of one's own.
//!
//! For playing: data in a temporary folder that goes with the cluster, not synced to disk where
//! etcd can be told so (`--unsafe-no-fsync`, from 3.5 on), history compacted, etcd's own timers.
//! Members can be killed, stopped and cut off from each other. Whatever ends this program, the
//! processes and the folder go with it.
//!
//! ```text
//! Control ── faults, pictures ──► driver ── signals ──► etcd n1, n2, n3 ◄── clients
//!                                   │                     │  each through a proxy of its own
//!                                   ├─ cuts ──► network ◄─┘
//!                                   └─ groups ─► watchman: a shell that clears away after a kill -9
//! ```

mod driver;
mod find;
mod folder;
mod member;
mod network;
mod poll;
mod ports;
mod process;
mod seen;
mod socks;
mod watchman;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::control::Control;
use crate::domain::raft::{ClusterTime, NodeId};

use driver::Driver;
use find::Etcd;

/// How often it is started anew when somebody else took one of its ports meanwhile.
const TRIES: usize = 5;

/// How to start a cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many members.
    pub members: usize,
    /// The folders in which `etcd` is looked for: the value of PATH.
    pub path: OsString,
}

/// Why a cluster cannot be started.
#[derive(Debug, Error)]
pub enum EngineError {
    /// There is no etcd.
    #[error(
        "there is no `etcd` on PATH: install the package etcd-server on Debian and Ubuntu, etcd elsewhere, or a \
         release of etcd-io/etcd; `lockscope demo` without --engine needs none"
    )]
    NotFound,
    /// What is called etcd is none, or does not run.
    #[error("`{} --version` fails: {why}", program.display())]
    NoVersion {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// There is no place for the data.
    #[error("cannot make a temporary folder for the members of etcd: {0}")]
    Folder(#[source] io::Error),
    /// The shell that clears away cannot be started.
    #[error("cannot start /bin/sh, which sees to it that nothing is left behind: {0}")]
    Watchman(#[source] io::Error),
    /// All ports are taken.
    #[error("there are no free ports on 127.0.0.1 for the members of etcd")]
    NoPorts,
    /// The proxies cannot listen.
    #[error("cannot listen on 127.0.0.1 for the network between the members: {0}")]
    Network(#[source] io::Error),
    /// The program cannot be started.
    #[error("cannot start {}: {why}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        why: io::Error,
    },
    /// A member ended at once.
    #[error("etcd {member} ended by itself; its last words:\n{log}")]
    Ended {
        /// Which.
        member: NodeId,
        /// The end of what it said, harmless to print.
        log: String,
    },
    /// They found no leader.
    #[error("the members of etcd have no leader after {after:?}; the last words of n1:\n{log}")]
    NoLeader {
        /// How long was waited.
        after: Duration,
        /// The end of what the first of them said, harmless to print.
        log: String,
    },
}

/// A cluster that runs. It ends when it is told to, and when this is dropped.
#[derive(Debug)]
pub struct Engine {
    /// The version of the etcd, such as `3.5.30`.
    pub version: String,
    endpoints: Vec<String>,
    control: Control,
    began: Instant,
    shutdown: CancellationToken,
    driver: JoinHandle<()>,
}

/// Starts a cluster; when this returns every member serves clients and knows a leader. When it is
/// dropped before, nothing is left of it.
///
/// # Errors
/// When there is no etcd, or it does not start.
pub async fn start(options: Options) -> Result<Engine, EngineError> {
    let etcd = Etcd::find(&options.path).await?;
    let mut tries = 1;
    let (driver, began) = loop {
        let began = Instant::now();
        match Driver::start(&etcd, options.members, began).await {
            Ok(driver) => break (driver, began),
            Err(EngineError::Ended { log, .. }) if tries < TRIES && log.contains("address already in use") => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    };
    let shutdown = CancellationToken::new();
    let (control, asked) = Control::of("local etcd cluster");
    Ok(Engine {
        version: etcd.version,
        endpoints: driver.members.iter().map(member::Member::endpoint).collect(),
        control,
        began,
        shutdown: shutdown.clone(),
        driver: tokio::spawn(driver.run(asked, shutdown)),
    })
}

impl Engine {
    /// What can be done to it.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The endpoints of its members, as `host:port`, in the order of their names: n1, n2, …
    pub fn endpoints(&self) -> Vec<String> {
        self.endpoints.clone()
    }

    /// The time since it was started.
    pub fn now(&self) -> ClusterTime {
        ClusterTime(0) + self.began.elapsed()
    }

    /// Ends it and waits until nothing is left: no process, no folder.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        if let Err(failed) = (&mut self.driver).await
            && failed.is_panic()
        {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
