//! The authority that a client writes on its calls, put right where it is none.
//!
//! etcdctl 3.4 asks `--endpoints http://127.0.0.1:2379` for its status with all of that URL as
//! the `:authority` of the call. Go's servers never look at it; the HTTP/2 library here resets
//! such a call as malformed. What it says is of no use here, so the three characters that no
//! authority may have there are replaced by others that take as many bits: neither the length
//! of the field nor what the client's table of fields says of it changes (RFC 7541). It is
//! written out in the first call of a connection and referred to from then on, so that nothing
//! is looked at behind that.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// What a connection begins with (RFC 9113, §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The length of a frame's header, and the most that may follow it unless the server allows
/// more (§4.1, §4.2).
const HEADER: usize = 9;
const LARGEST: usize = 1 << 14;
/// The type of the frame that a call begins with, and what its flags say of it (§6.2).
const HEADERS: u8 = 1;
const PADDED: u8 = 0x08;
const PRIORITY: u8 = 0x20;

/// The number of `:authority` in the static table (RFC 7541, appendix A).
const AUTHORITY: usize = 1;
/// What no authority begins with, and what takes its place; as they are, and in the code of
/// appendix B. There they take 41 bits, of which the last is 0 in both.
const URL: &[u8] = b"http://";
const NAME: &[u8] = b"httpj--";
const URL_CODED: &[u8] = &[0x9d, 0x29, 0xae, 0xe3, 0x0c];
const NAME_CODED: &[u8] = &[0x9d, 0x29, 0xaf, 0xa2, 0xcb];

/// A connection whose first call has an authority.
pub(super) struct Righted<S> {
    stream: S,
    /// Until that is over.
    beginning: Option<Beginning>,
}

impl<S> Righted<S> {
    /// Puts right what comes on `stream`, of which nothing was read yet.
    pub fn new(stream: S) -> Self {
        Self { stream, beginning: Some(Beginning::default()) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Righted<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(beginning) = this.beginning.as_mut().filter(|beginning| !beginning.is_over()) {
            return beginning.poll_read(Pin::new(&mut this.stream), context, into);
        }
        this.beginning = None;
        Pin::new(&mut this.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Righted<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: Connected> Connected for Righted<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> S::ConnectInfo {
        self.stream.connect_info()
    }
}

/// Reads the beginning of a connection, up to its first call.
#[derive(Debug, Default)]
struct Beginning {
    /// Read and put right, and not handed on yet.
    passed: Vec<u8>,
    /// Read, and the beginning of something that is not complete.
    held: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Preface,
    Frames,
    /// Whatever comes now is none of it.
    Over,
}

impl Beginning {
    /// Whether all of it was handed on: the connection may be read directly.
    fn is_over(&self) -> bool {
        self.stage == Stage::Over && self.passed.is_empty()
    }

    /// Reads on.
    fn poll_read(
        &mut self,
        mut stream: Pin<&mut impl AsyncRead>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.passed.is_empty() && self.stage != Stage::Over {
            let mut bytes = [0; 1024];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(stream.as_mut().poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                self.stage = Stage::Over;
            }
            self.take(read.filled());
        }
        let length = self.passed.len().min(into.remaining());
        into.put_slice(&self.passed[..length]);
        self.passed.drain(..length);
        Poll::Ready(Ok(()))
    }

    /// Takes in what comes next. What may pass is put to the rest of that.
    fn take(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        while let Some(complete) = self.complete() {
            self.passed.extend(self.held.drain(..complete));
        }
        if self.stage == Stage::Over {
            self.passed.append(&mut self.held);
        }
    }

    /// The length of what is complete at the start of what is held, which may pass.
    fn complete(&mut self) -> Option<usize> {
        match self.stage {
            Stage::Preface if self.held.starts_with(PREFACE) => {
                self.stage = Stage::Frames;
                Some(PREFACE.len())
            }
            // Whoever speaks something else is told so by others.
            Stage::Preface if !PREFACE.starts_with(&self.held) => {
                self.stage = Stage::Over;
                None
            }
            Stage::Frames => {
                let &[a, b, c, kind, flags, ..] = self.held.first_chunk::<HEADER>()?;
                let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
                if length > LARGEST {
                    self.stage = Stage::Over;
                    return None;
                }
                let frame = self.held.get_mut(HEADER..HEADER + length)?;
                if kind == HEADERS {
                    put_right(frame, flags);
                    self.stage = Stage::Over;
                }
                Some(HEADER + length)
            }
            Stage::Preface | Stage::Over => None,
        }
    }
}

/// Replaces what no authority begins with in the frame that a call begins with.
fn put_right(frame: &mut [u8], flags: u8) {
    let skip = usize::from(flags & PADDED != 0) + if flags & PRIORITY != 0 { 5 } else { 0 };
    let Some(fields) = frame.get_mut(skip..) else { return };
    let Some((value, coded)) = authority(fields) else { return };
    let value = &mut fields[value];
    if coded && value.starts_with(URL_CODED) && value.get(URL_CODED.len()).is_some_and(|next| next & 0x80 == 0) {
        value[..NAME_CODED.len()].copy_from_slice(NAME_CODED);
    } else if !coded && value.starts_with(URL) {
        value[..NAME.len()].copy_from_slice(NAME);
    }
}

/// Where the authority is written among the fields, and whether in the code (RFC 7541, §6).
fn authority(fields: &[u8]) -> Option<(Range<usize>, bool)> {
    let mut at = 0;
    loop {
        let first = *fields.get(at)?;
        let (prefix, has_value) = match first {
            0x80.. => (7, false),
            0x40.. => (6, true),
            0x20.. => (5, false),
            _ => (4, true),
        };
        let name = number(fields, &mut at, prefix)?;
        if !has_value {
            continue;
        }
        if name == 0 {
            at = string(fields, &mut at)?.0.end;
        }
        let (value, coded) = string(fields, &mut at)?;
        if name == AUTHORITY {
            return Some((value, coded));
        }
        at = value.end;
    }
}

/// A number whose first byte has so many bits of it (§5.1).
fn number(fields: &[u8], at: &mut usize, prefix: u32) -> Option<usize> {
    let most = (1 << prefix) - 1;
    let mut number = usize::from(*fields.get(*at)?) & most;
    *at += 1;
    if number < most {
        return Some(number);
    }
    for shift in [0, 7, 14] {
        let byte = usize::from(*fields.get(*at)?);
        *at += 1;
        number += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Where a string is, and whether it is in the code (§5.2).
fn string(fields: &[u8], at: &mut usize) -> Option<(Range<usize>, bool)> {
    let coded = fields.get(*at)? & 0x80 != 0;
    let length = number(fields, at, 7)?;
    fields.get(*at..*at + length)?;
    Some((*at..*at + length, coded))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// `:method POST`, `:scheme http`, `:path /a` and this authority, as Go's library writes them.
    fn fields(authority: &[u8]) -> Vec<u8> {
        [&[0x83, 0x86, 0x44, 0x02, b'/', b'a', 0x41][..], authority, &[0x40, 0x01, b'x', 0x01, b'y']].concat()
    }

    fn frame(kind: u8, flags: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("tests are short");
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], content].concat()
    }

    /// What passes when the bytes come in parts of this size.
    fn passed(bytes: &[u8], part: usize) -> Vec<u8> {
        let mut beginning = Beginning::default();
        bytes.chunks(part).for_each(|part| beginning.take(part));
        [beginning.passed, beginning.held].concat()
    }

    #[test]
    fn a_url_in_place_of_an_authority_becomes_a_name_of_the_same_length() {
        // "http://127.0.0.1:25283" in the code, as etcdctl 3.4.23 sends it, and plain.
        let end = [0x04, 0x4e, 0xae, 0x05, 0xc0, 0xb8, 0x6e, 0x09, 0xb1, 0x3c, 0xcf];
        let coded = [&[0x90], URL_CODED, &end].concat();
        let named = [&[0x90], NAME_CODED, &end].concat();
        let settings = frame(4, 0, b"");
        for (said, expected) in [
            (&coded[..], &named[..]),
            (b"\x0ahttp://a:1", b"\x0ahttpj--a:1"),
            (b"\x0b127.0.0.1:1", b"\x0b127.0.0.1:1"),
            (b"\x84\x9d\x29\xae\xe3", b"\x84\x9d\x29\xae\xe3"),
        ] {
            for (flags, before) in [(0x04, &b""[..]), (0x2c, &[0, 0, 0, 0, 0, 0])] {
                let bytes = |authority| {
                    let call = frame(HEADERS, flags, &[before, &fields(authority)].concat());
                    // Of a later call nothing is looked at.
                    let later = frame(HEADERS, 4, &fields(b"\x0ahttp://a:1"));
                    [PREFACE, &settings, &call, &later].concat()
                };
                for part in [1, 3, 1000] {
                    assert_eq!(passed(&bytes(said), part), bytes(expected), "{flags} {part}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_call_passes_as_it_is() {
        let cut_short = frame(HEADERS, 0x28, &[0x41, 0xff, 0xff, 0xff, 0xff]);
        let large = [PREFACE, &[0xff, 0, 0, HEADERS, 0, 0, 0, 0, 1]].concat();
        for bytes in [b"GET / HTTP/1.1\r\n\r\n", &large[..], &[PREFACE, &cut_short].concat(), b"PRI", b""] {
            for part in [1, 4, 1000] {
                assert_eq!(passed(bytes, part), bytes);
            }
        }
    }

    #[tokio::test]
    async fn all_that_came_is_handed_on_when_the_client_says_no_more() {
        let bytes = [PREFACE, &frame(4, 0, b"")[..5]].concat();
        let mut read = Vec::new();
        Righted::new(&bytes[..]).read_to_end(&mut read).await.expect("memory is read");
        assert_eq!(read, bytes);
    }
}
