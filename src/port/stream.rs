//! The bytes of a connection, with or without TLS, and what its end says.
//!
//! HTTP/2 on top of it only tells that a connection is gone. Why is in the last bytes that
//! came: a TLS alert, or an answer in HTTP/1. They are looked for here and left where errors
//! are put into words.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Why the last connection ended, where it said so.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<Option<Cause>>>);

/// What a connection can say at its end.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    /// TLS failed. A server that refuses a client certificate does so after the handshake of
    /// TLS 1.3 is done for the client.
    Tls(rustls::Error),
    /// The other side answered in HTTP/1.
    Http1,
    /// The other side answered in TLS, and nobody had asked for it.
    UnwantedTls,
    /// The other side closed without having said anything.
    Nothing,
}

impl LastWords {
    /// What was said, if anything.
    pub fn get(&self) -> Option<Cause> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, cause: Option<Cause>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cause;
    }
}

/// A connection with or without TLS.
pub(super) struct Stream {
    inner: Inner,
    words: LastWords,
    read_something: bool,
    write_broken: bool,
}

enum Inner {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub fn plain(tcp: TcpStream, words: LastWords) -> Self {
        Self::new(Inner::Plain(tcp), words)
    }

    pub fn tls(tls: TlsStream<TcpStream>, words: LastWords) -> Self {
        Self::new(Inner::Tls(Box::new(tls)), words)
    }

    fn new(inner: Inner, words: LastWords) -> Self {
        words.set(None);
        Self { inner, words, read_something: false, write_broken: false }
    }

    /// A peer that closed has often said why before, and that is still to be read. So a write
    /// that breaks counts as done, and the read that follows ends the connection.
    fn forgive<T>(&mut self, written: Poll<io::Result<T>>, done: T) -> Poll<io::Result<T>> {
        match written {
            Poll::Ready(Err(error)) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                self.write_broken = true;
                Poll::Ready(Ok(done))
            }
            other => other,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Inner::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        match &read {
            Poll::Ready(Ok(())) if !self.read_something => {
                self.read_something = true;
                // The first frame of HTTP/2 starts with its length, which is small.
                match &buf.filled()[before..] {
                    [b'H', b'T', b'T', b'P', ..] => self.words.set(Some(Cause::Http1)),
                    // record types alert and handshake, and the major version of all TLS
                    [0x15 | 0x16, 3, ..] => self.words.set(Some(Cause::UnwantedTls)),
                    [] => self.words.set(Some(Cause::Nothing)),
                    _ => {}
                }
            }
            Poll::Ready(Err(error)) => {
                if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                    self.words.set(Some(Cause::Tls(tls.clone())));
                } else if !self.read_something {
                    self.words.set(Some(Cause::Nothing));
                }
            }
            _ => {}
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.write_broken {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Inner::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.forgive(written, buf.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.write_broken {
            return Poll::Ready(Ok(()));
        }
        let flushed = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Inner::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.forgive(flushed, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Inner::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
