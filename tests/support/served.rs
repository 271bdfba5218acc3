//! Clusters that serve etcd's API, real ones and the embedded one. A test says what it needs and
//! does to it what it likes; only its messages tell which it has.

use std::fmt;
use std::net::SocketAddr;

use etcd_client::Client;
use lockscope::server::Options;

use super::embedded::{self, Embedded};
use super::etcd::{self, Version};

/// The etcd whose API the embedded cluster follows.
const FOLLOWED: [u32; 3] = [3, 5, 30];

/// Something that serves etcd's API.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An etcd of this version.
    Real(Version),
    /// The cluster inside the program.
    Embedded,
}

impl Kind {
    /// Starts to describe a cluster. Unless told otherwise it has one member when it is a real
    /// etcd and three when it is the embedded cluster.
    pub fn cluster(&self) -> Builder {
        Builder { kind: self.clone(), members: None, advertise: None }
    }

    /// The version that its members report.
    pub fn version(&self) -> String {
        let [major, minor, patch] = self.number();
        format!("{major}.{minor}.{patch}")
    }

    /// Whether that is at least this one.
    pub fn at_least(&self, major: u32, minor: u32, patch: u32) -> bool {
        self.number() >= [major, minor, patch]
    }

    fn number(&self) -> [u32; 3] {
        match self {
            Self::Real(version) => version.number,
            Self::Embedded => FOLLOWED,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(version) => write!(f, "etcd {version}"),
            Self::Embedded => f.write_str("the embedded cluster"),
        }
    }
}

/// A cluster that is not started yet.
#[derive(Clone, Debug)]
pub struct Builder {
    kind: Kind,
    members: Option<usize>,
    advertise: Option<String>,
}

impl Builder {
    /// How many members.
    #[must_use]
    pub fn members(mut self, members: usize) -> Self {
        self.members = Some(members);
        self
    }

    /// What the members tell clients instead of where they listen.
    #[must_use]
    pub fn advertise(mut self, url: &str) -> Self {
        self.advertise = Some(url.to_owned());
        self
    }

    /// Starts it and waits until every member is healthy.
    pub fn start(self) -> Cluster {
        match self.kind {
            Kind::Real(version) => {
                let cluster = version.cluster().members(self.members.unwrap_or(1));
                let flag = self.advertise.map(|url| format!("--advertise-client-urls={url}"));
                Cluster::Real(Box::new(flag.into_iter().fold(cluster, etcd::Builder::flag).start()))
            }
            Kind::Embedded => {
                let options = embedded::options(self.members.unwrap_or(3));
                let cluster = Embedded::start_with(Options { advertise: self.advertise, ..options });
                let down = vec![false; cluster.members.len()];
                Cluster::Embedded { cluster: Box::new(cluster), down }
            }
        }
    }
}

/// A cluster that runs.
#[derive(Debug)]
pub enum Cluster {
    /// Of processes.
    Real(Box<etcd::Cluster>),
    /// Inside this one.
    Embedded {
        /// The cluster.
        cluster: Box<Embedded>,
        /// Which members are killed.
        down: Vec<bool>,
    },
}

impl Cluster {
    /// The client URL of every member.
    pub fn endpoints(&self) -> Vec<String> {
        match self {
            Self::Real(cluster) => cluster.endpoints(),
            Self::Embedded { cluster, .. } => cluster.endpoints(),
        }
    }

    /// The client URL of member `n`.
    pub fn endpoint(&self, n: usize) -> String {
        self.endpoints().swap_remove(n)
    }

    /// The name of member `n`, as the membership lists it.
    pub fn name(&self, n: usize) -> &str {
        match self {
            Self::Real(cluster) => cluster.name(n),
            Self::Embedded { cluster, .. } => &cluster.members[n].name,
        }
    }

    /// Where member `n` accepts clients.
    pub fn address(&self, n: usize) -> SocketAddr {
        match self {
            Self::Real(cluster) => cluster.address(n),
            Self::Embedded { cluster, .. } => cluster.members[n].endpoint.parse().expect("it is an address"),
        }
    }

    /// Starts member `n` on what it kept; returns before it is healthy.
    pub fn start(&mut self, n: usize) {
        match self {
            Self::Real(cluster) => cluster.start(n),
            Self::Embedded { cluster, down } => {
                cluster.fault(&format!("start {}", cluster.members[n].name));
                down[n] = false;
            }
        }
    }

    /// Kills member `n`, as a crash would.
    pub fn kill(&mut self, n: usize) {
        match self {
            Self::Real(cluster) => cluster.kill(n),
            Self::Embedded { cluster, down } => {
                if !std::mem::replace(&mut down[n], true) {
                    cluster.fault(&format!("kill {}", cluster.members[n].name));
                }
            }
        }
    }

    /// Stops member `n` where it stands: it keeps its connections and answers nothing.
    pub fn pause(&self, n: usize) {
        match self {
            Self::Real(cluster) => cluster.pause(n),
            Self::Embedded { cluster, .. } => cluster.fault(&format!("pause {}", cluster.members[n].name)),
        }
    }

    /// Lets a paused member go on.
    pub fn resume(&self, n: usize) {
        match self {
            Self::Real(cluster) => cluster.resume(n),
            Self::Embedded { cluster, .. } => cluster.fault(&format!("resume {}", cluster.members[n].name)),
        }
    }

    /// Kills the only member if it runs and starts it without anything it had.
    pub fn restart_empty(&mut self) {
        match self {
            Self::Real(cluster) => cluster.restart_empty(0),
            Self::Embedded { cluster, down } => {
                cluster.restart_empty();
                down.fill(false);
            }
        }
    }

    /// Waits until every member that runs answers a read that needs the quorum, as etcd's own
    /// question for health is.
    pub fn healthy(&mut self) {
        match self {
            Self::Real(cluster) => cluster.healthy(),
            Self::Embedded { cluster, down } => {
                for (member, _) in cluster.members.iter().zip(down).filter(|(_, down)| !**down) {
                    let endpoint = member.endpoint.clone();
                    cluster.wait(async move {
                        let mut client = Client::connect([endpoint], None).await.expect("it is served");
                        client.get("health", None).await.expect("it has a quorum");
                    });
                }
            }
        }
    }
}
