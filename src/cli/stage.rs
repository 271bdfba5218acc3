//! The cluster that a demo plays on: the one inside the program, or real etcds that it starts.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::config::Connection;
use crate::control::Control;
use crate::domain::raft::Speed;
use crate::engine::{self, Engine, EngineError};
use crate::model::ui::Demo;
use crate::pace::{Clock, Reins};
use crate::runtime::{self, Chronicle, Inside};
use crate::server::{self, Options, Server};

use super::args::{DemoArgs, EngineChoice};
use super::exit::{Exit, Failure};

/// Revisions that a demo's cluster keeps when no flag says how many: it is played on for hours.
/// Real etcds are told the same.
const KEPT: NonZeroU64 = NonZeroU64::new(10_000).expect("it is not zero");

/// A cluster that runs.
#[derive(Debug)]
pub enum Stage {
    /// Inside the program.
    Embedded(Server),
    /// Real etcds, with a clock that runs as the wall's does.
    Etcd(Engine, Clock),
}

impl Stage {
    /// Starts what the flags ask for, which was checked. Messages in the embedded cluster take
    /// `delay` when no flag says how long.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(args: &DemoArgs, delay: Duration, seed: u64) -> Result<Self, Failure> {
        match args.engine {
            EngineChoice::Embedded => Ok(Self::Embedded(server::start(options(args, delay, seed)).await?)),
            EngineChoice::Etcd => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let engine = engine::start(engine::Options { members: args.embedded.members(), path }).await?;
                // Its pictures tell the same time as the clients do. Nobody needs the reins.
                let clock = Reins::start(engine.now(), Speed::default()).clock();
                Ok(Self::Etcd(engine, clock))
            }
        }
    }

    /// How to reach it.
    pub fn connection(&self) -> Connection {
        let endpoints = match self {
            Self::Embedded(server) => server.endpoints(),
            Self::Etcd(engine, _) => engine.endpoints(),
        };
        let endpoints = endpoints.iter().map(|endpoint| format!("http://{endpoint}")).collect();
        Connection { endpoints, ..Connection::default() }
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        match self {
            Self::Embedded(server) => server.clock(),
            Self::Etcd(_, clock) => clock.clone(),
        }
    }

    /// What can be done to it.
    pub fn control(&self) -> Control {
        match self {
            Self::Embedded(server) => server.control(),
            Self::Etcd(engine, _) => engine.control(),
        }
    }

    /// What the dashboard is to know of it, for a run with this seed.
    pub fn inside(&self, seed: u64) -> Inside {
        let demo = match self {
            Self::Embedded(server) => Demo::new(seed, server.members.len()),
            Self::Etcd(engine, _) => Demo::new(seed, engine.endpoints().len()).of_real_etcds(),
        };
        Inside { control: self.control(), demo, chronicle: Chronicle::default() }
    }

    /// Stops it, and waits until nothing is left of it.
    pub async fn stop(self) {
        match self {
            Self::Embedded(server) => server.stop().await,
            Self::Etcd(engine, _) => engine.stop().await,
        }
    }
}

/// How to start the embedded cluster of a demo, as [`Stage::start`] does.
pub fn options(args: &DemoArgs, delay: Duration, seed: u64) -> Options {
    let options = args.embedded.options(delay, seed);
    let kept = if args.embedded.auto_compaction_retention.is_some() { options.kept } else { Some(KEPT) };
    Options { kept, ..options }
}

/// The seed of a run: the one that was asked for, or any.
pub fn seed(args: &DemoArgs) -> u64 {
    args.embedded.seed.unwrap_or_else(runtime::clock::any_seed)
}

/// What real etcds cannot be told, of what these flags ask for.
pub fn untold(args: &DemoArgs) -> Vec<&'static str> {
    if args.engine == EngineChoice::Embedded {
        return Vec::new();
    }
    let embedded = &args.embedded;
    let asked = [
        ("--virtual-time", args.virtual_time),
        ("--speed", embedded.speed != Speed::default()),
        ("--delay", embedded.delay.is_some()),
        ("--loss", embedded.loss > 0),
        ("--listen", embedded.listen.port() != 0),
        ("--no-pre-vote", embedded.no_pre_vote),
        ("--no-check-quorum", embedded.no_check_quorum),
        ("--auto-compaction-retention", embedded.auto_compaction_retention.is_some()),
    ];
    asked.into_iter().filter(|(_, asked)| *asked).map(|(flag, _)| flag).collect()
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let exit = match &error {
            EngineError::NotFound | EngineError::NoVersion { .. } => Exit::BadInput,
            EngineError::Folder(_) => Exit::File,
            EngineError::Watchman(_)
            | EngineError::NoPorts
            | EngineError::Network(_)
            | EngineError::Spawn { .. }
            | EngineError::Ended { .. }
            | EngineError::NoLeader { .. } => Exit::Error,
        };
        Self::new(exit, error.to_string())
    }
}
