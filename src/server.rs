//! The embedded cluster on sockets: each member serves etcd's v3 API on loopback.
//!
//! A playground: everything is held in memory, nothing is encrypted, nobody logs in. One task,
//! the driver, owns the whole cluster and moves it along a scaled clock; each member has a
//! listener of its own whose services speak to the driver through a door.
//!
//! ```text
//! client ── gRPC ──► gate ──► services ── door ──► driver ── Ask ──► embedded::Cluster
//!                     ▲           └── reads ──► store ◄── applied ──────┘
//!                  Fault (kill, pause)
//! ```

mod authority;
pub mod door;
mod driver;
mod gate;
mod grpc;
mod listen;

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;

use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::control::Control;
use crate::domain::MemberId;
use crate::domain::raft::{NodeId, Speed};
use crate::embedded::{Board, Cluster, Config};
use crate::pace::Clock;

use driver::Driver;

/// How to start a cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster itself.
    pub cluster: Config,
    /// How many of the latest revisions are kept, about; without a number all are until somebody
    /// compacts (etcd's `--auto-compaction-retention`).
    pub kept: Option<NonZeroU64>,
    /// Where the first member listens; the others take the ports behind it. Port 0 lets the
    /// system choose all of them.
    pub listen: SocketAddr,
    /// How fast its clock runs at the start.
    pub speed: Speed,
    /// The URL that members tell clients to reach them at, where that is another one than they
    /// listen on (etcd's `--advertise-client-urls`).
    pub advertise: Option<String>,
}

impl Options {
    /// A cluster on ports the system chooses, at the wall clock's speed, which keeps every revision.
    pub fn new(cluster: Config) -> Self {
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        Self { cluster, kept: None, listen, speed: Speed::default(), advertise: None }
    }
}

/// Why a cluster cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address is not on loopback.
    #[error("cannot listen on {0}: the embedded cluster serves this machine only, say 127.0.0.1")]
    NotLoopback(SocketAddr),
    /// The ports behind the first do not suffice.
    #[error("cannot listen on {0}: there is no port left for every member behind it")]
    NoPortLeft(SocketAddr),
    /// The system refuses.
    #[error("cannot listen on {at}: {why}; say another port, or port 0 for any that is free")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The system's reason.
        why: std::io::Error,
    },
}

/// A member that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The node.
    pub node: NodeId,
    /// The id its API reports.
    pub member: MemberId,
    /// Its name.
    pub name: String,
    /// Where it listens, as `host:port`.
    pub endpoint: String,
}

/// A cluster that runs. It stops when it is told to, and when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// The members it was started with.
    pub members: Vec<Served>,
    control: Control,
    clock: Clock,
    boards: Vec<watch::Receiver<Board>>,
    shutdown: CancellationToken,
    driver: JoinHandle<()>,
}

/// Starts a cluster; when this returns every member listens.
///
/// # Errors
/// When a member cannot listen.
pub async fn start(options: Options) -> Result<Server, StartError> {
    let shutdown = CancellationToken::new();
    let (control, asked) = Control::of("embedded cluster");
    let cluster = Cluster::keeping(options.cluster, options.kept);
    let driver = Driver::start(cluster, &options, asked, shutdown.clone()).await?;
    let ((members, boards), clock) = (driver.served(), driver.clock());
    Ok(Server { members, control, clock, boards, shutdown, driver: tokio::spawn(driver.run()) })
}

impl Server {
    /// What can be done to it.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The endpoints of its members, as `host:port`.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.endpoint.clone()).collect()
    }

    /// Waits until every member it was started with knows a leader, or the cluster stops.
    pub async fn led(&self) {
        for mut board in self.boards.iter().cloned() {
            if board.wait_for(|board| board.leader.is_some()).await.is_err() {
                return;
            }
        }
    }

    /// Stops it and waits until every member has hung up.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        if let Err(failed) = (&mut self.driver).await
            && failed.is_panic()
        {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
