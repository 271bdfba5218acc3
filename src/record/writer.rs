//! Writes a recording while a session goes on.
//!
//! ```text
//! session ── offer ──► lines (bounded) ──► thread ── one write of whole lines ──► file
//! ```
//! The session never waits for the disk: when too much waits to be written, what comes is left
//! out, and a line in the file says how much that was. The thread writes what is there as soon as
//! it is: a line alone when it is quiet, many with one call when it is busy. So a program that is
//! killed loses the lines it had not handed over, and never a part of an earlier one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::format::{self, Dropped, End, Header};
use super::redact::Redactor;
use crate::domain::Timestamp;
use crate::event::{Observation, Stamped};

/// Bytes that may wait to be written.
const WAITING: usize = 32 << 20;
/// Observations that may wait to be written.
const LINES: usize = 4_096;
/// Bytes that are written with one call, when there are so many.
const BATCH: usize = 1 << 20;
/// How long the end waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why nothing can be recorded.
#[derive(Debug, Error)]
pub enum CreateError {
    /// Nothing is ever overwritten.
    #[error("{} is there already, and a recording overwrites nothing", .0.display())]
    Exists(PathBuf),
    /// The file cannot be made.
    #[error("cannot record to {}: {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Values cannot be hashed.
    #[error("cannot hash values: {0}")]
    Redact(String),
}

/// How far a recording is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Bytes in the file.
    pub bytes: u64,
    /// Observations in it.
    pub observations: u64,
    /// Observations that were left out.
    pub dropped: u64,
    /// Why it stopped, when it did by itself.
    pub failed: Option<String>,
}

/// A recording that is written.
pub struct Recorder {
    path: PathBuf,
    redactor: Redactor,
    lines: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    progress: Arc<Progress>,
    /// Left out since the last line that was handed over.
    dropped: u64,
    /// Ends when the file is closed.
    closed: oneshot::Receiver<()>,
}

#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    observations: AtomicU64,
    dropped: AtomicU64,
    failed: OnceLock<String>,
}

impl Progress {
    fn told(&self) -> Recorded {
        let Self { bytes, observations, dropped, failed } = self;
        Recorded {
            bytes: bytes.load(Ordering::Relaxed),
            observations: observations.load(Ordering::Relaxed),
            dropped: dropped.load(Ordering::Relaxed),
            failed: failed.get().cloned(),
        }
    }
}

enum Message {
    /// Whole lines, one of which is an observation.
    Lines(Vec<u8>, OwnedSemaphorePermit),
    End(Vec<u8>, Timestamp, String),
}

/// Where lines go.
trait Sink: Send + 'static {
    /// Writes all of it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts off what follows the first `length` bytes.
    fn cut(&mut self, length: u64);
}

impl Sink for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) {
        // What cannot be cut off is a broken last line, which a reader says.
        let _ = self.set_len(length);
    }
}

impl Recorder {
    /// Makes a file that only its owner can read, and writes the header.
    ///
    /// # Errors
    /// When there is such a file, or it cannot be made or written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        let redactor = Redactor::new(header.redaction).map_err(CreateError::Redact)?;
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => CreateError::Exists(path.to_owned()),
            _ => CreateError::Create { path: path.to_owned(), source },
        };
        let mut file = options.open(path).map_err(failed)?;
        let mut line = Vec::new();
        format::write(header, &mut line).map_err(|error| failed(error.into()))?;
        if let Err(error) = file.write_all(&line) {
            drop(file);
            // An empty file would stand in the way of the next try.
            let _ = std::fs::remove_file(path);
            return Err(failed(error));
        }
        Self::start(path, redactor, file, line.len() as u64).map_err(failed)
    }

    fn start(path: &Path, redactor: Redactor, sink: impl Sink, bytes: u64) -> io::Result<Self> {
        let (lines, taken) = mpsc::channel(LINES);
        let (close, closed) = oneshot::channel();
        let progress = Arc::new(Progress { bytes: bytes.into(), ..Progress::default() });
        let writing = Writing { sink, progress: progress.clone() };
        thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            writing.run(taken);
            // Whoever ends it may have stopped waiting.
            let _ = close.send(());
        })?;
        let room = Arc::new(Semaphore::new(WAITING));
        Ok(Self { path: path.to_owned(), redactor, lines, room, progress, dropped: 0, closed })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far it is.
    pub fn progress(&self) -> Recorded {
        self.progress.told()
    }

    /// Records an observation without waiting; leaves it out when too much waits already.
    pub fn offer(&mut self, observed: &Stamped<Observation>) {
        if self.progress.failed.get().is_some() {
            return;
        }
        let lines = self.lines_of(observed);
        let handed = self.room.clone().try_acquire_many_owned(permits(&lines)).is_ok_and(|room| {
            // A thread that has ended says why.
            self.lines.try_send(Message::Lines(lines, room)).is_ok()
        });
        if handed {
            self.dropped = 0;
        } else {
            self.dropped += 1;
            self.progress.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records an observation and waits until there is room for it: whoever has no screen to draw
    /// lets the cluster wait.
    pub async fn record(&mut self, observed: &Stamped<Observation>) {
        let lines = self.lines_of(observed);
        if let Ok(room) = self.room.clone().acquire_many_owned(permits(&lines)).await
            && self.lines.send(Message::Lines(lines, room)).await.is_ok()
        {
            self.dropped = 0;
        }
    }

    /// Ends it with a last line that says why, and waits a little for the disk.
    pub async fn end(self, at: Timestamp, why: &str) -> Recorded {
        let mut before = Vec::new();
        self.say_dropped(at, &mut before);
        let Self { lines, progress, closed, .. } = self;
        let ended = async {
            // The thread has said why when it takes no more, and ends behind the last message.
            let _ = lines.send(Message::End(before, at, why.to_owned())).await;
            drop(lines);
            let _ = closed.await;
        };
        if timeout(PATIENCE, ended).await.is_err() {
            let _ = progress.failed.set("the disk did not take it in time".to_owned());
        }
        progress.told()
    }

    fn lines_of(&self, observed: &Stamped<Observation>) -> Vec<u8> {
        let mut lines = Vec::with_capacity(256);
        self.say_dropped(observed.at, &mut lines);
        let written = match self.redactor.apply(&observed.what) {
            std::borrow::Cow::Borrowed(_) => format::write_observation(observed, &mut lines),
            std::borrow::Cow::Owned(what) => format::write_observation(&Stamped { at: observed.at, what }, &mut lines),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "an observation cannot be written down");
        }
        lines
    }

    /// Adds the line that says how much was left out since the last one.
    fn say_dropped(&self, at: Timestamp, lines: &mut Vec<u8>) {
        if self.dropped > 0 {
            // Two numbers can always be written.
            let _ = format::write(&Dropped { at, dropped: self.dropped }, lines);
        }
    }
}

/// How much room lines take; what is longer than all of it has to wait for all of it.
fn permits(lines: &[u8]) -> u32 {
    u32::try_from(lines.len().min(WAITING)).unwrap_or(u32::MAX)
}

/// What the thread has.
struct Writing<S> {
    sink: S,
    progress: Arc<Progress>,
}

impl<S: Sink> Writing<S> {
    fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        let mut batch = Vec::new();
        while let Some(message) = messages.blocking_recv() {
            let (mut observations, mut rooms) = (0, Vec::new());
            let mut next = Some(message);
            while let Some(message) = next {
                match message {
                    Message::Lines(lines, room) => {
                        batch.extend_from_slice(&lines);
                        rooms.push(room);
                        observations += 1;
                    }
                    Message::End(before, at, end) => {
                        batch.extend_from_slice(&before);
                        let count = self.progress.observations.load(Ordering::Relaxed) + observations;
                        // A text and two numbers can always be written.
                        let _ = format::write(&End { at, end, count }, &mut batch);
                    }
                }
                next = if batch.len() < BATCH { messages.try_recv().ok() } else { None };
            }
            if let Err(error) = self.write(&batch, observations) {
                let _ = self.progress.failed.set(error.to_string());
                return;
            }
            batch.clear();
            batch.shrink_to(BATCH);
        }
    }

    fn write(&mut self, batch: &[u8], observations: u64) -> io::Result<()> {
        let whole = self.progress.bytes.load(Ordering::Relaxed);
        self.sink.write(batch).inspect_err(|_| self.sink.cut(whole))?;
        self.progress.bytes.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.progress.observations.fetch_add(observations, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc as std_mpsc;

    use super::super::reader::{Item, Reader};
    use super::*;
    use crate::domain::{Redaction, Revision};

    fn header() -> Header {
        Header::new(Timestamp(1), &["http://a:2379".into()], &[], Redaction::None)
    }

    fn progress(at: i64) -> Stamped<Observation> {
        Stamped { at: Timestamp(at), what: Observation::Progress(Revision(at)) }
    }

    fn items(path: &Path) -> Vec<Item> {
        let mut reader = Reader::open(path).unwrap();
        std::iter::from_fn(|| reader.next_item().unwrap()).collect()
    }

    /// A disk for tests.
    #[derive(Clone)]
    struct Disk {
        held: Arc<Mutex<Vec<u8>>>,
        /// It is full with so many bytes.
        room: usize,
        /// Each write waits for a word from here.
        turns: Option<Arc<Mutex<std_mpsc::Receiver<()>>>>,
    }

    impl Disk {
        fn new(room: usize) -> Self {
            Self { held: Arc::default(), room, turns: None }
        }

        fn text(&self) -> String {
            String::from_utf8(self.held.lock().unwrap().clone()).unwrap()
        }

        fn recorder(&self) -> Recorder {
            Recorder::start(Path::new("x"), Redactor::None, self.clone(), 0).unwrap()
        }
    }

    impl Sink for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            if let Some(turns) = &self.turns {
                // When nobody gives the word any more it goes on.
                let _ = turns.lock().unwrap().recv();
            }
            let mut held = self.held.lock().unwrap();
            let fits = bytes.len().min(self.room - held.len());
            held.extend_from_slice(&bytes[..fits]);
            if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }

        fn cut(&mut self, length: u64) {
            self.held.lock().unwrap().truncate(usize::try_from(length).unwrap());
        }
    }

    #[tokio::test]
    async fn what_is_offered_is_read_again_and_the_end_counts_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut recorder = Recorder::create(&path, &header()).unwrap();
        for at in 1..=3 {
            recorder.offer(&progress(at));
        }
        recorder.record(&progress(4)).await;
        let done = recorder.end(Timestamp(9), "quit").await;
        let read = items(&path);
        let mut expected: Vec<_> = (1..=4).map(|at| Item::Observed(progress(at))).collect();
        expected.push(Item::End(End { at: Timestamp(9), end: "quit".into(), count: 4 }));
        assert_eq!(read, expected);
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert_eq!(done, Recorded { bytes, observations: 4, dropped: 0, failed: None });
        assert_eq!(Reader::open(&path).unwrap().header(), &header());
    }

    #[tokio::test]
    async fn a_file_that_is_there_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "mine").unwrap();
        assert!(matches!(Recorder::create(&path, &header()), Err(CreateError::Exists(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        let nowhere = folder.path().join("none/a.jsonl");
        assert!(matches!(Recorder::create(&nowhere, &header()), Err(CreateError::Create { .. })));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        Recorder::create(&path, &header()).unwrap().end(Timestamp(2), "quit").await;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_full_disk_ends_it_behind_a_whole_line_and_says_so() {
        let disk = Disk::new(100);
        let mut recorder = disk.recorder();
        for at in 1..=50 {
            recorder.record(&progress(at)).await;
        }
        let done = recorder.end(Timestamp(51), "quit").await;
        assert!(done.failed.is_some(), "{done:?}");
        let text = disk.text();
        assert!(text.is_empty() || text.ends_with("}\n"), "{text:?}");
        assert_eq!((text.len() as u64, text.lines().count() as u64), (done.bytes, done.observations));
    }

    #[tokio::test]
    async fn a_disk_that_is_too_slow_leaves_a_gap_that_is_counted_and_nobody_waits() {
        let (go, turns) = std_mpsc::channel();
        let disk = Disk { turns: Some(Arc::new(Mutex::new(turns))), ..Disk::new(usize::MAX) };
        let mut recorder = disk.recorder();
        let offered = i64::try_from(LINES).unwrap() + 5_000;
        for at in 1..=offered {
            recorder.offer(&progress(at));
        }
        let dropped = recorder.progress().dropped;
        assert!(dropped > 0 && recorder.progress().observations == 0, "{:?}", recorder.progress());
        drop(go);
        recorder.record(&progress(offered + 1)).await;
        let done = recorder.end(Timestamp(offered + 2), "quit").await;
        let text = disk.text();
        assert_eq!((done.dropped, done.failed), (dropped, None));
        // There are two when the writer takes its first lines only after some were dropped.
        let told = text
            .lines()
            .filter_map(|line| line.split_once("\"dropped\":")?.1.trim_end_matches('}').parse::<u64>().ok());
        assert_eq!(told.sum::<u64>(), dropped);
        let kept = u64::try_from(offered).unwrap() + 1 - dropped;
        assert_eq!(done.observations, kept);
        assert!(text.ends_with(&format!("\"end\":\"quit\",\"count\":{kept}}}\n")), "{}", &text[text.len() - 80..]);
    }
}
