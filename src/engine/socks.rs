//! The little of SOCKS5 that Go's HTTP client speaks to a proxy: no login, one address (RFC 1928).

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const DONE: u8 = 0;

/// Why somebody is not connected (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Refusal {
    /// What is wanted is not allowed.
    Forbidden = 2,
    /// The network is cut.
    Unreachable = 4,
    /// Nobody listens there.
    NotListening = 5,
    /// Only connections are made.
    Command = 7,
    /// Names are not known here.
    Address = 8,
}

/// Greets who connects, and reads where to.
///
/// # Errors
/// When the connection ends, or it wants what does not exist here; it was told so.
pub(super) async fn wanted(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<SocketAddrV4> {
    let [version, methods] = read(stream).await?;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut offered = vec![0; usize::from(methods)];
    stream.read_exact(&mut offered).await?;
    stream.write_all(&[VERSION, NO_LOGIN]).await?;
    let [_, command, _, kind] = read(stream).await?;
    let refusal = match (command, kind) {
        (CONNECT, IPV4) => {
            let [a, b, c, d, high, low] = read(stream).await?;
            return Ok(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])));
        }
        (CONNECT, _) => Refusal::Address,
        _ => Refusal::Command,
    };
    refuse(stream, refusal).await?;
    Err(io::ErrorKind::Unsupported.into())
}

/// Says that it is connected.
pub(super) async fn agree(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    reply(stream, DONE).await
}

/// Says why it is not.
pub(super) async fn refuse(stream: &mut (impl AsyncWrite + Unpin), why: Refusal) -> io::Result<()> {
    reply(stream, why as u8).await
}

/// The address that was connected from, which follows the code, nobody looks at.
async fn reply(stream: &mut (impl AsyncWrite + Unpin), code: u8) -> io::Result<()> {
    stream.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}

async fn read<const N: usize>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn said(bytes: &[u8]) -> (io::Result<SocketAddrV4>, Vec<u8>) {
        let (mut here, mut there) = tokio::io::duplex(1024);
        here.write_all(bytes).await.unwrap();
        here.shutdown().await.unwrap();
        let wanted = wanted(&mut there).await;
        drop(there);
        let mut answers = Vec::new();
        here.read_to_end(&mut answers).await.unwrap();
        (wanted, answers)
    }

    #[tokio::test]
    async fn an_address_is_read_and_anything_else_is_refused() {
        let (wanted, answers) = said(&[5, 2, 0, 2, 5, 1, 0, 1, 192, 0, 2, 3, 9, 76]).await;
        assert_eq!(wanted.unwrap(), "192.0.2.3:2380".parse().unwrap());
        assert_eq!(answers, [5, 0]);
        for (bytes, code) in [(&[5, 1, 0, 5, 1, 0, 3, 1, b'a', 0, 80][..], 8), (&[5, 1, 0, 5, 2, 0, 1], 7)] {
            let (wanted, answers) = said(bytes).await;
            assert!(wanted.is_err() && answers.get(3) == Some(&code), "{bytes:?}: {answers:?}");
        }
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[5, 1], &[]] {
            assert!(said(bytes).await.0.is_err(), "{bytes:?}");
        }
    }
}
