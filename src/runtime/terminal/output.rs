//! Writing to the terminal without waiting for it.
//!
//! The terminal is opened a second time, for writing without blocking: a mode of this opening
//! alone, so that nobody who shares standard output is affected. What it does not take at
//! once stays here until it does, and as long as something stays no frame is made. So a
//! terminal that does not keep up gets whole frames, fewer of them, and the loop goes on.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{QueueSelector, tcflush, ttyname};
use tokio::net::unix::pipe::Sender;

use super::restore;

/// More than a frame of the largest terminal; beyond this, what is no frame is dropped.
const MOST_WAITING: usize = 4 << 20;
/// How often a terminal is tried again that cannot say when it is ready.
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// The way to the terminal.
#[derive(Debug)]
pub struct Output {
    terminal: File,
    /// Says when it is ready, while something waits for that: a terminal tells whenever it has taken
    /// something, and each time would wake the program. `None` on systems that cannot wait for terminals, too.
    ready: Option<Sender>,
    waiting: Vec<u8>,
    /// How much of that is written.
    written: usize,
}

impl Output {
    /// A way to the terminal that is standard output.
    ///
    /// # Errors
    /// When standard output cannot be used at all.
    pub fn to_stdout() -> io::Result<Self> {
        let stdout = io::stdout();
        let anew = ttyname(&stdout, Vec::new()).map_err(io::Error::from).and_then(|name| {
            let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
            File::options().write(true).custom_flags(flags).open(std::ffi::OsStr::from_bytes(name.as_bytes()))
        });
        // A terminal of another namespace has no name here. Then a slow one is waited for.
        let file = match anew {
            Ok(file) => file,
            Err(_) => File::from(stdout.as_fd().try_clone_to_owned()?),
        };
        Ok(Self::to(file))
    }

    fn to(terminal: File) -> Self {
        Self { terminal, ready: None, waiting: Vec::new(), written: 0 }
    }

    /// Sends bytes; what the terminal does not take at once goes out with [`Output::drain`].
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() + bytes.len() <= MOST_WAITING {
            self.waiting.extend_from_slice(bytes);
        }
        self.push().map(drop)
    }

    /// Whether everything is written.
    pub const fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes until everything is written. Nothing is lost or repeated when this is dropped.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub async fn drain(&mut self) -> io::Result<()> {
        while !self.push()? {
            if self.ready.is_none() {
                // Not a pipe, but waited for in the same way.
                self.ready = self.terminal.try_clone().and_then(Sender::from_file_unchecked).ok();
            }
            let Some(ready) = &self.ready else {
                tokio::time::sleep(TRY_AGAIN).await;
                continue;
            };
            ready.writable().await?;
            // Through it, so that it learns when the terminal is full again.
            match ready.try_write(&self.waiting[self.written..]) {
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends with these bytes: within `patience` for what waits, and as much again for them. A
    /// terminal that takes nothing has what it did not take thrown away, to make room for the
    /// few bytes that matter.
    pub fn finish(&mut self, last: &[u8], patience: Duration) {
        if !self.push_within(patience) {
            self.waiting.clear();
            self.written = 0;
            let _ = tcflush(&self.terminal, QueueSelector::OFlush);
        }
        self.waiting.extend_from_slice(last);
        self.push_within(patience);
        self.waiting.clear();
        self.written = 0;
    }

    /// Writes what the terminal takes now; returns whether that is everything.
    fn push(&mut self) -> io::Result<bool> {
        if restore::has_panicked() {
            self.waiting.clear();
            self.written = 0;
        }
        while self.written < self.waiting.len() {
            match (&self.terminal).write(&self.waiting[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.waiting.clear();
        self.written = 0;
        self.ready = None;
        Ok(true)
    }

    fn push_within(&mut self, patience: Duration) -> bool {
        loop {
            let before = self.written;
            match self.push() {
                Ok(true) => return true,
                // It is gone: there is nobody to wait for.
                Err(_) => return false,
                Ok(false) if !is_ready(&self.terminal, patience) && self.written == before => return false,
                Ok(false) => {}
            }
        }
    }
}

/// Whether a terminal takes bytes, within `patience`.
fn is_ready(file: &File, patience: Duration) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::OUT)];
    // A wait that cannot be expressed, or is interrupted, ends early; the caller asks again.
    let patience = Timespec::try_from(patience).ok();
    poll(&mut asked, patience.as_ref()).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    /// A pipe stands in for a terminal: it takes so many bytes and then no more.
    fn pair() -> (Output, File) {
        let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).unwrap();
        (Output::to(File::from(write)), File::from(read))
    }

    fn take(reader: &mut File) -> usize {
        let mut taken = 0;
        let mut buffer = [0; 4_096];
        while let Ok(more @ 1..) = reader.read(&mut buffer) {
            taken += more;
        }
        taken
    }

    #[tokio::test]
    async fn what_is_not_taken_at_once_waits_and_is_written_once() {
        let (mut output, mut reader) = pair();
        let frame = vec![b'x'; 300_000];
        output.send(&frame).unwrap();
        assert!(!output.is_idle());
        let mut taken = 0;
        while taken < frame.len() {
            taken += take(&mut reader);
            let rest = tokio::time::timeout(Duration::from_millis(20), output.drain()).await;
            assert_eq!(rest.is_ok(), output.is_idle());
        }
        assert_eq!(taken + take(&mut reader), frame.len());
        assert!(output.is_idle());
    }

    #[tokio::test]
    async fn waiting_for_a_stuck_terminal_can_be_given_up() {
        let (mut output, _reader) = pair();
        output.send(&vec![b'x'; 300_000]).unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(10), output.drain()).await.is_err());
        assert!(!output.is_idle());
    }

    #[tokio::test]
    async fn the_end_does_not_wait_for_a_stuck_terminal() {
        let (mut output, _reader) = pair();
        output.send(&vec![b'x'; 300_000]).unwrap();
        output.finish(b"bye", Duration::from_millis(1));
        assert!(output.is_idle());
    }

    #[tokio::test]
    async fn the_last_bytes_come_last() {
        let (mut output, mut reader) = pair();
        output.send(b"frame ").unwrap();
        output.finish(b"bye", Duration::from_millis(100));
        let mut text = [0; 64];
        let read = reader.read(&mut text).unwrap();
        assert_eq!(&text[..read], b"frame bye");
    }

    #[tokio::test]
    async fn a_terminal_that_is_gone_is_an_error() {
        let (mut output, reader) = pair();
        drop(reader);
        assert!(output.send(b"x").is_err());
    }
}
