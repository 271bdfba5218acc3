//! A program in a pseudo-terminal. Whoever waits is woken by what changes on the screen.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use color_eyre::Result;
use color_eyre::eyre::{ensure, eyre};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{Parser, Screen};

use crate::frame::Frame;

/// Nothing in a scene takes longer unless it fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// What the program sends behind each drawing of its screen: DEC private mode 2026 ends.
const DRAWN: &[u8] = b"\x1b[?2026l";

/// A program that runs in a terminal; dropping it ends it.
pub struct Terminal {
    shared: Arc<Shared>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    parser: Parser,
    /// What came behind the last whole drawing.
    behind: Vec<u8>,
    /// Drawings with their times, while a film is taken.
    film: Option<Vec<(Instant, Frame)>>,
    ended: bool,
}

impl Terminal {
    /// Starts a program in so many columns and rows, with colours and a locale but nothing else of
    /// the person's environment.
    pub fn start(program: &Path, arguments: &[&str], size: (u16, u16)) -> Result<Self> {
        Self::start_in(program, &[], arguments, size)
    }

    /// Starts it on a cluster that the environment names.
    pub fn start_on(endpoints: &str, program: &Path, arguments: &[&str], size: (u16, u16)) -> Result<Self> {
        Self::start_in(program, &[("ETCDCTL_ENDPOINTS", endpoints)], arguments, size)
    }

    fn start_in(
        program: &Path,
        environment: &[(&str, &str)],
        arguments: &[&str],
        (columns, rows): (u16, u16),
    ) -> Result<Self> {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(|error| eyre!("{error:#}"))?;
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        let terminal = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("LC_ALL", "C.UTF-8")];
        for (name, value) in terminal.iter().chain(environment) {
            command.env(name, value);
        }
        command.cwd(std::env::temp_dir());
        let child = pair.slave.spawn_command(command).map_err(|error| eyre!("{error:#}"))?;
        let reader = pair.master.try_clone_reader().map_err(|error| eyre!("{error:#}"))?;
        let writer = pair.master.take_writer().map_err(|error| eyre!("{error:#}"))?;
        let seen = Seen { parser: Parser::new(rows, columns, 0), behind: Vec::new(), film: None, ended: false };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: Condvar::new() });
        let watched = Arc::clone(&shared);
        thread::spawn(move || read(reader, &watched));
        Ok(Self { shared, writer, child, _master: pair.master })
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) -> Result<()> {
        self.writer.write_all(keys.as_bytes())?;
        Ok(self.writer.flush()?)
    }

    /// Waits until the screen shows a text; the screen then.
    pub fn shows(&self, text: &str) -> Result<Frame> {
        self.until(text, |screen| screen.contents().contains(text))
    }

    /// Waits until the screen is as `is` says; the screen then.
    pub fn until(&self, what: &str, is: impl Fn(&Screen) -> bool) -> Result<Frame> {
        let seen = self.shared.lock();
        let waits = |seen: &mut Seen| !seen.ended && !is(seen.parser.screen());
        let (seen, _) = self
            .shared
            .changed
            .wait_timeout_while(seen, PATIENCE, waits)
            .map_err(|_| eyre!("whoever reads the screen failed"))?;
        let screen = seen.parser.screen();
        ensure!(is(screen), "the screen never shows {what}; it shows\n{}", screen.contents());
        Ok(Frame::of(screen))
    }

    /// Lets so much time pass; only what moves needs that.
    pub fn passes(&self, span: Duration) -> Result<()> {
        let seen = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(seen, span, |seen| !seen.ended);
        ensure!(!waited.map_err(|_| eyre!("whoever reads the screen failed"))?.0.ended, "the program ended");
        Ok(())
    }

    /// Begins a film with what the screen shows.
    pub fn roll(&self) {
        let mut seen = self.shared.lock();
        let first = Frame::of(seen.parser.screen());
        seen.film = Some(vec![(now(), first)]);
    }

    /// Ends the film: each drawing and how long it stood.
    pub fn cut(&self) -> Vec<(Duration, Frame)> {
        let taken = self.shared.lock().film.take().unwrap_or_default();
        let mut ends: Vec<Instant> = taken.iter().skip(1).map(|(at, _)| *at).collect();
        ends.push(now());
        taken.into_iter().zip(ends).map(|((at, frame), end)| (end - at, frame)).collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // In order, so that a cluster inside it and its clients end in order too.
        let _ = self.keys("\x03");
        let seen = self.shared.lock();
        let _ = self.shared.changed.wait_timeout_while(seen, Duration::from_secs(10), |seen| !seen.ended);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Feeds whole drawings to the screen, so that nobody sees half of one.
fn read(mut reader: Box<dyn Read + Send>, shared: &Shared) {
    let mut buffer = [0; 16_384];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        let mut seen = shared.lock();
        seen.behind.extend_from_slice(&buffer[..count]);
        while let Some(at) = seen.behind.windows(DRAWN.len()).position(|window| window == DRAWN) {
            let drawing: Vec<u8> = seen.behind.drain(..at + DRAWN.len()).collect();
            seen.parser.process(&drawing);
            if seen.film.is_some() {
                let frame = Frame::of(seen.parser.screen());
                seen.film.get_or_insert_default().push((now(), frame));
            }
        }
        shared.changed.notify_all();
    }
    shared.lock().ended = true;
    shared.changed.notify_all();
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a film has the times at which a screen was drawn")]
    Instant::now()
}
