//! A member's listener: taking connections, serving them, and hanging up in two ways.
//!
//! A run of a member is one gate, one listener and one task. Killing it breaks the gate and ends
//! the task, so that connections are reset and new ones refused; its address is kept meanwhile,
//! and a later start listens there again.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::stream;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::authority::Righted;
use super::door::Door;
use super::gate::{Gate, Guarded};
use super::grpc;

/// How many connections may wait until they are taken.
const BACKLOG: u32 = 1024;
/// How long nobody is taken after a connection could not be: with too many files open the next
/// one fares no better, and the system would say so without end.
const PAUSE: Duration = Duration::from_millis(100);

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
        let taken = accept(|| take_from(&listener), &gate).await?;
        Some((Ok::<_, io::Error>(taken), (listener, gate)))
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

async fn take_from(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.accept().await.map(|(stream, _)| stream)
}

/// The next connection that can be taken, ready to be served; `None` when the gate is broken.
async fn accept<Taking>(take: impl Fn() -> Taking, gate: &Gate) -> Option<Righted<Guarded>>
where
    Taking: Future<Output = io::Result<TcpStream>>,
{
    let mut told = false;
    loop {
        let taken = tokio::select! {
            // The end first: whoever connects without a pause must not outrun it.
            biased;
            () = gate.broken() => return None,
            taken = take() => taken,
        };
        match taken {
            Ok(stream) => match stream.set_nodelay(true) {
                Ok(()) => return Some(Righted::new(gate.guard(stream))),
                Err(error) => debug!(%error, "a connection was gone when it was taken"),
            },
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    warn!(%error, "no connection can be taken; it is tried again until one can");
                }
                tokio::select! {
                    () = gate.broken() => return None,
                    () = sleep(PAUSE) => {}
                }
            }
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
    // An address that may be shared does not keep others from listening on it; but ends of the
    // member's own connections may still linger there for a minute.
    bound(at, false).or_else(|_| bound(at, true))
}

fn bound(at: SocketAddr, shared: bool) -> io::Result<TcpSocket> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(shared)?;
    socket.bind(at)?;
    Ok(socket)
}

/// Listens on an address that was kept. Accepted connections inherit `SO_REUSEADDR` from the
/// listener; without it one in `TIME_WAIT` keeps the address from being bound again.
pub(super) fn listen_again(socket: TcpSocket) -> io::Result<TcpListener> {
    socket.set_reuseaddr(true)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::AsyncReadExt as _;
    use tokio::time::Instant;

    use super::*;

    /// Too many open files.
    fn no_file_left() -> io::Error {
        io::Error::from_raw_os_error(24)
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_cannot_be_taken_are_tried_again_after_a_pause() {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let _far = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let tried = AtomicUsize::new(0);
        let began = Instant::now();
        let take = || async {
            if tried.fetch_add(1, Ordering::Relaxed) < 5 {
                return Err(no_file_left());
            }
            take_from(&listener).await
        };
        assert!(accept(take, &Gate::open()).await.is_some());
        assert_eq!(tried.load(Ordering::Relaxed), 6);
        assert!(began.elapsed() >= PAUSE * 5, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn an_address_is_held_and_listened_on_time_and_again_whatever_lingers_there() {
        let mut listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let at = listener.local_addr().unwrap();
        for round in 0..3 {
            let mut far = TcpStream::connect(at).await.unwrap();
            let near = take_from(&listener).await.unwrap();
            // The end that closes first lingers; the last round has one, the first has none.
            if round > 0 {
                drop(near);
                assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
                drop(far);
            } else {
                drop(far);
                drop(near);
            }
            drop(listener);
            listener = listen_again(hold(at).unwrap()).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_that_breaks_ends_the_pause() {
        let gate = Gate::open();
        let (failed, mut has_failed) = tokio::sync::mpsc::channel(1);
        let taking = tokio::spawn({
            let gate = gate.clone();
            async move {
                let take = || async {
                    let _ = failed.try_send(());
                    Err(no_file_left())
                };
                accept(take, &gate).await.is_none()
            }
        });
        has_failed.recv().await.unwrap();
        let began = Instant::now();
        gate.break_down();
        assert!(taking.await.unwrap());
        assert!(began.elapsed() < PAUSE);
    }

    #[tokio::test]
    async fn a_port_that_is_kept_refuses_connections_and_is_listened_on_again() {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let at = listener.local_addr().unwrap();
        let _near = TcpStream::connect(at).await.unwrap();
        // The end that closes first lingers.
        drop((listener.accept().await.unwrap(), listener));
        for _ in 0..2 {
            let held = hold(at).unwrap();
            let refused = TcpStream::connect(at).await.map(drop).map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));
            let _listener = listen_again(held).unwrap();
            TcpStream::connect(at).await.unwrap();
        }
    }

    #[tokio::test]
    async fn nobody_else_gets_a_port_that_is_kept() {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let _held = hold(at).unwrap();
        let other = bind(at).await.map(drop).map_err(|error| error.kind());
        assert_eq!(other, Err(io::ErrorKind::AddrInUse));
    }
}
