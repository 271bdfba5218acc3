//! A member's listener: taking connections, serving them, and hanging up in two ways.
//!
//! A run of a member is one gate, one listener and one task. Killing it breaks the gate and ends
//! the task, so that connections are reset and new ones refused; a later start binds the same
//! address again.

use std::io;
use std::net::SocketAddr;

use futures::stream;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::door::Door;
use super::gate::{Gate, Guarded};
use super::grpc;

/// How many connections may wait until they are taken.
const BACKLOG: u32 = 1024;

/// One run of one member.
#[derive(Debug)]
pub(super) struct Run {
    gate: Gate,
    serving: JoinHandle<()>,
}

impl Run {
    /// Serves a member behind `door` on `listener` until it is killed or `shutdown` says so.
    /// What goes on after its caller went away is held by `tasks`.
    pub fn start(listener: TcpListener, door: Door, shutdown: CancellationToken, tasks: TaskTracker) -> Self {
        let gate = Gate::open();
        let serving = tokio::spawn(serve(listener, door, gate.clone(), shutdown, tasks));
        Self { gate, serving }
    }

    /// Answers nothing, or goes on.
    pub fn pause(&self, paused: bool) {
        self.gate.set_shut(paused);
    }

    /// Resets every connection and stops to listen; the address is free when this returns.
    pub async fn kill(self) {
        self.gate.break_down();
        join(self.serving).await;
    }

    /// Waits for the end of a run whose shutdown was asked for.
    pub async fn ended(self) {
        // Whoever waits behind a gate that is shut would wait for ever.
        self.gate.break_down();
        join(self.serving).await;
    }
}

async fn join(serving: JoinHandle<()>) {
    if let Err(failed) = serving.await
        && failed.is_panic()
    {
        std::panic::resume_unwind(failed.into_panic());
    }
}

async fn serve(listener: TcpListener, door: Door, gate: Gate, shutdown: CancellationToken, tasks: TaskTracker) {
    let node = door.node;
    let hang_up = shutdown.child_token();
    let incoming = stream::unfold((listener, gate.clone()), |(listener, gate)| async move {
        let taken = accept(&listener, &gate).await?;
        Some((taken, (listener, gate)))
    });
    let server = grpc::routes(door, &hang_up, &tasks);
    tokio::select! {
        // A member that is killed says no farewell.
        biased;
        () = gate.broken() => hang_up.cancel(),
        () = shutdown.cancelled() => {}
        ended = server.serve_with_incoming(incoming) => {
            if let Err(error) = ended {
                warn!(%node, %error, "a member's listener failed");
            }
        }
    }
}

/// The next connection; `None` when the gate is broken.
async fn accept(listener: &TcpListener, gate: &Gate) -> Option<io::Result<Guarded>> {
    loop {
        if gate.is_broken() {
            return None;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    debug!(%error, "a connection was gone when it was taken");
                    continue;
                }
                return Some(Ok(gate.guard(stream)));
            }
            // Such as too many open files: the next connection may fare better.
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Listens on an address.
pub(super) async fn bind(at: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(at).await
}

/// Keeps an address for a member that is down: connections to it are refused, and nobody else
/// gets its port meanwhile. The system might choose that for the near end of a connection, even
/// for that of a client who dials the member, and so has itself at the far end.
pub(super) fn hold(at: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    Ok(socket)
}

/// Listens on an address that was kept.
pub(super) fn listen_again(socket: TcpSocket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)
}
