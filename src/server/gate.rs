//! The gate of a member's connections: open, shut as by SIGSTOP, or broken as by a power cut.
//!
//! ```text
//!   open ◄──► shut        shut: bytes are neither read nor written, connections are taken
//!     └──► broken ◄──┘    broken: every connection is reset; a new gate comes with the next start
//! ```

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_util::sync::ReusableBoxFuture;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// How a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Open,
    Shut,
    Broken,
}

/// The gate of one run of one member; its clones are the same gate.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<watch::Sender<Stand>>);

impl Gate {
    /// An open gate.
    pub fn open() -> Self {
        Self(Arc::new(watch::Sender::new(Stand::Open)))
    }

    /// Shuts it, or opens it again; a broken gate stays broken.
    pub fn set_shut(&self, shut: bool) {
        self.0.send_if_modified(|stand| {
            let now = if shut { Stand::Shut } else { Stand::Open };
            let changes = *stand != Stand::Broken && *stand != now;
            if changes {
                *stand = now;
            }
            changes
        });
    }

    /// Resets every connection.
    pub fn break_down(&self) {
        self.0.send_replace(Stand::Broken);
    }

    /// Ends when the gate is broken.
    pub async fn broken(&self) {
        // The sender lives in this very gate, so that the wait can only end by the condition.
        let _ = self.0.subscribe().wait_for(|stand| *stand == Stand::Broken).await;
    }

    /// Puts a connection behind the gate.
    pub fn guard(&self, stream: TcpStream) -> Guarded {
        let stand = self.0.subscribe();
        let change = ReusableBoxFuture::new(changed(stand.clone()));
        Guarded { stream, stand, change }
    }
}

/// A connection behind a gate.
pub(super) struct Guarded {
    stream: TcpStream,
    stand: watch::Receiver<Stand>,
    /// The next change of the gate.
    change: ReusableBoxFuture<'static, watch::Receiver<Stand>>,
}

async fn changed(mut stand: watch::Receiver<Stand>) -> watch::Receiver<Stand> {
    if stand.changed().await.is_err() {
        // The gate is gone with its server, and this connection with both.
        std::future::pending::<()>().await;
    }
    stand
}

impl Guarded {
    /// Ready when bytes may pass; an error when the gate is broken.
    fn pass(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            // The change has to be waited for before the gate is looked at: a connection that
            // waits for its peer has to learn of a gate that breaks.
            if let Poll::Ready(stand) = self.change.poll(context) {
                self.change.set(changed(stand));
                continue;
            }
            return match *self.stand.borrow() {
                Stand::Open => Poll::Ready(Ok(())),
                Stand::Shut => Poll::Pending,
                Stand::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            };
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if *self.stand.borrow() == Stand::Broken {
            // Closed with a reset and not with a farewell, as after a power cut.
            let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        std::task::ready!(this.pass(context))?;
        Pin::new(&mut this.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        std::task::ready!(this.pass(context))?;
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        std::task::ready!(this.pass(context))?;
        Pin::new(&mut this.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        std::task::ready!(this.pass(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        std::task::ready!(this.pass(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}

impl Connected for Guarded {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A guarded connection and its other end.
    async fn pair(gate: &Gate) -> (Guarded, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (gate.guard(listener.accept().await.unwrap().0), far)
    }

    #[tokio::test]
    async fn a_shut_gate_holds_bytes_back_until_it_opens() {
        let gate = Gate::open();
        let (mut near, mut far) = pair(&gate).await;
        gate.set_shut(true);
        far.write_all(b"question").await.unwrap();
        let mut bytes = [0; 8];
        {
            let reading = near.read_exact(&mut bytes);
            tokio::pin!(reading);
            assert!(futures::poll!(reading.as_mut()).is_pending());
            // The bytes are there by now; only the gate holds them back.
            far.flush().await.unwrap();
            assert!(futures::poll!(reading.as_mut()).is_pending());
            gate.set_shut(false);
            reading.await.unwrap();
        }
        assert_eq!(&bytes, b"question");
    }

    #[tokio::test]
    async fn a_connection_behind_a_broken_gate_is_reset() {
        let gate = Gate::open();
        let (mut near, mut far) = pair(&gate).await;
        let waiting = tokio::spawn(async move { near.read_u8().await.map_err(|error| error.kind()) });
        gate.break_down();
        assert_eq!(waiting.await.unwrap(), Err(io::ErrorKind::ConnectionReset));
        // The near end is dropped: the far one sees a reset and not an end.
        let seen = far.read_u8().await.map_err(|error| error.kind());
        assert_eq!(seen, Err(io::ErrorKind::ConnectionReset));
    }

    #[tokio::test]
    async fn a_broken_gate_does_not_open_again() {
        let gate = Gate::open();
        gate.break_down();
        gate.set_shut(false);
        assert!(futures::poll!(std::pin::pin!(gate.broken())).is_ready());
    }
}
