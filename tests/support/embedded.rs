//! The embedded cluster inside the test's process, served and handled like a real one.
//!
//! It has a runtime of its own, so that nothing a test does on its own one can slow it down or
//! hold it up, and every call blocks, as it does with processes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use lockscope::control::Control;
use lockscope::domain::raft::{Fault, RaftPicture};
use lockscope::embedded;
use lockscope::server::{self, Options, Served, Server};
use tokio::runtime::Runtime;

use super::etcd::free_port;

/// How long anything may take that is done to a cluster inside this process.
const PATIENCE: Duration = Duration::from_mins(2);

/// A cluster that is served. It stops when this is dropped.
#[derive(Debug)]
pub struct Embedded {
    /// What it was started with; `listen` is where it really listens.
    options: Options,
    /// The members it was started with.
    pub members: Vec<Served>,
    /// `None` only on the way out.
    server: Option<Server>,
    runtime: Option<Runtime>,
}

impl Embedded {
    /// A cluster of so many members that answer at once; every member knows a leader.
    pub fn start(members: usize) -> Self {
        Self::start_with(options(members))
    }

    /// The same as `options` say. When they leave the ports open, these are chosen so that the
    /// cluster can be started there again.
    ///
    /// # Panics
    /// When it cannot listen, or has no leader in time.
    pub fn start_with(mut options: Options) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        for _ in 0..5 {
            let open = options.listen.port() == 0;
            if open {
                options.listen = ports_in_a_row(options.cluster.nodes);
            }
            let asked = options.clone();
            match wait_on(&runtime, async move { server::start(asked).await }) {
                Ok(server) => {
                    let members = server.members.clone();
                    let mut cluster = Self { options, members, server: Some(server), runtime: Some(runtime) };
                    cluster.led();
                    return cluster;
                }
                // Another process may take a port between our looking and the cluster's binding it.
                Err(_) if open => options.listen.set_port(0),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the embedded cluster found no free ports")
    }

    /// Waits until every member knows a leader.
    fn led(&mut self) {
        let server = self.server.take().expect("it runs");
        let runtime = self.runtime.as_ref().expect("it runs");
        let server = wait_on(runtime, async move {
            server.led().await;
            server
        });
        self.server = Some(server);
    }

    /// The client URL of every member it was started with.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| format!("http://{}", member.endpoint)).collect()
    }

    /// What can be done to it.
    pub fn control(&self) -> Control {
        self.server.as_ref().expect("it runs").control()
    }

    /// Does what the words say, such as `kill n1`.
    ///
    /// # Panics
    /// When it cannot be done.
    pub fn fault(&self, words: &str) {
        if let Err(why) = self.try_fault(words) {
            panic!("{words}: {why}");
        }
    }

    /// The same; says why it cannot be done.
    ///
    /// # Errors
    /// When it cannot be done.
    pub fn try_fault(&self, words: &str) -> Result<(), String> {
        let fault: Fault = words.parse().expect("the words name a fault");
        let control = self.control();
        self.wait(async move { control.fault(fault).await })
    }

    /// What goes on inside it.
    pub fn picture(&self) -> RaftPicture {
        let control = self.control();
        self.wait(async move { control.picture().await }).expect("it runs")
    }

    /// Stops it and starts another on the same ports that knows nothing of what was there.
    pub fn restart_empty(&mut self) {
        self.stop();
        *self = Self::start_with(self.options.clone());
    }

    /// Runs something on the cluster's runtime to its end.
    pub fn wait<T: Send + 'static>(&self, what: impl Future<Output = T> + Send + 'static) -> T {
        wait_on(self.runtime.as_ref().expect("it runs"), what)
    }

    /// Stops it; every member has hung up when this returns.
    fn stop(&mut self) {
        if let (Some(server), Some(runtime)) = (self.server.take(), self.runtime.take()) {
            wait_on(&runtime, server.stop());
            runtime.shutdown_background();
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What `lockscope cluster` starts by itself: messages arrive at once. Each is a cluster with ids
/// of its own.
pub fn options(members: usize) -> Options {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let seed = NEXT.fetch_add(1, Ordering::Relaxed);
    let cluster = embedded::Config { nodes: members, seed, delay: Duration::ZERO, ..embedded::Config::default() };
    Options::new(cluster)
}

/// Waits for a future on a runtime from wherever this is called, another runtime's thread too.
fn wait_on<T: Send + 'static>(runtime: &Runtime, what: impl Future<Output = T> + Send + 'static) -> T {
    let (ended, end) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        let _ = ended.send(what.await);
    });
    end.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("the embedded cluster: {why} within {PATIENCE:?}"))
}

/// The first of so many ports behind each other on which nobody listens, and which nobody else
/// is told of.
fn ports_in_a_row(count: usize) -> SocketAddr {
    loop {
        let ports: Vec<_> = (0..count).map(|_| free_port()).collect();
        if ports.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
            return (Ipv4Addr::LOCALHOST, ports[0]).into();
        }
    }
}
