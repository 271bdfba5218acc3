//! The audit log: a line before every write and one after it, as JSON.
//!
//! A line is appended and synced before anything goes on, so that whatever was sent to a cluster
//! is on the disk before it was sent. A write whose intent cannot be noted is not made. Values are
//! secrets of others and in none of the lines. The form is told in `docs/audit-log.md`.

mod words;

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;
use tracing::warn;

use super::sight::Before;
use super::{Outcome, Who};
use crate::domain::Timestamp;
use crate::domain::escape::is_unsafe;
use crate::domain::write::{Confirmed, WriteResult};
use crate::port::{Client, Clock};

/// The version of the lines.
const SCHEMA: &str = "lockscope-audit/1";

/// How long a disk may take: a file on a network that went away can take for ever.
const DISK: Duration = Duration::from_secs(5);

/// A file that every write to a cluster is noted in. It is opened anew for every write, so that it
/// can be moved away meanwhile.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: Arc<Path>,
}

/// The file while a write is under way.
#[derive(Clone, Debug)]
struct Lines {
    path: Arc<Path>,
    file: Arc<Mutex<Tail>>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    /// Whether the last line lacks its end: the disk was full, or somebody was killed.
    torn: bool,
}

/// Why the audit log could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write the audit log {}: {why}", path.display())]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub why: String,
}

/// A write that was noted and whose result is not. Dropped without one, it notes that the result
/// is unknown.
#[derive(Debug)]
pub(super) struct Pending {
    lines: Lines,
    clock: Clock,
    /// The intent, whose id and words the result repeats.
    intent: Intent,
    ended: bool,
}

#[derive(Clone, Debug)]
struct Intent {
    id: String,
    who: Who,
    what: Value,
}

/// A line, its fields in the order in which it is read.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    event: &'static str,
    id: &'a str,
    at: Option<String>,
    who: &'a Who,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<&'a str>,
    what: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

impl Line<'_> {
    /// The line without its end. What a terminal would obey is escaped, which means the same to
    /// every reader of JSON: logs are looked at with `cat`.
    fn text(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        let mut text = String::with_capacity(json.len());
        for char in json.chars() {
            if is_unsafe(char) {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    // Writing to a String never fails.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            } else {
                text.push(char);
            }
        }
        text
    }
}

impl AuditLog {
    /// The audit log in this file, which need not be there yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// Notes what is about to be sent.
    pub(super) async fn intend(
        &self,
        clock: &Clock,
        client: &Client,
        confirmed: &Confirmed,
        before: &Before,
    ) -> Result<Pending, AuditError> {
        let intent = Intent { id: next_id(clock.now()), who: Who::runs(client.user()), what: words::what(confirmed) };
        let line = Line {
            schema: SCHEMA,
            event: "intent",
            id: &intent.id,
            at: clock.now().rfc3339(),
            who: &intent.who,
            endpoint: Some(client.endpoint()),
            what: &intent.what,
            before: Some(words::before(before)),
            after: None,
        }
        .text();
        let path = Arc::clone(&self.path);
        let lines = on_disk(&self.path, move || {
            let lines = Lines::open(path)?;
            lines.append(&line)?;
            Ok(lines)
        });
        Ok(Pending { lines: lines.await?, clock: clock.clone(), intent, ended: false })
    }
}

/// Waits for the disk, though not for ever.
async fn on_disk<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, AuditError> + Send + 'static,
) -> Result<T, AuditError> {
    let failed = |why: String| Err(AuditError { path: path.to_owned(), why });
    match timeout(DISK, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(written)) => written,
        Ok(Err(_)) => failed("the writer broke off".into()),
        Err(_) => failed(format!("the disk did not answer within {} s", DISK.as_secs())),
    }
}

impl Lines {
    /// Opens the file to append to. One that is made here can be read and written by its owner
    /// only; one that is there keeps its rights.
    fn open(path: Arc<Path>) -> Result<Self, AuditError> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(&path).map_err(|error| failed(&path, &error))?;
        let torn = is_torn(&path);
        Ok(Self { path, file: Arc::new(Mutex::new(Tail { file, torn })) })
    }

    /// Appends a line and has the disk take it.
    fn append(&self, line: &str) -> Result<(), AuditError> {
        let mut tail = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        tail.append(line).map_err(|error| failed(&self.path, &error))
    }
}

impl Pending {
    /// Notes what came of it.
    pub async fn end(mut self, outcome: &Outcome) -> Result<(), AuditError> {
        self.ended = true;
        let (lines, line) = (self.lines.clone(), self.line(words::after(&outcome.result, &outcome.notes)));
        on_disk(&self.lines.path, move || lines.append(&line)).await
    }

    fn line(&self, after: Value) -> String {
        Line {
            schema: SCHEMA,
            event: "result",
            id: &self.intent.id,
            at: self.clock.now().rfc3339(),
            who: &self.intent.who,
            endpoint: None,
            what: &self.intent.what,
            before: None,
            after: Some(after),
        }
        .text()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let why = "broken off while it was under way";
        let line = self.line(words::after(&WriteResult::Unknown { why: why.into() }, &[]));
        if let Err(error) = self.lines.append(&line) {
            warn!(%error, "the audit log lacks the result of a write");
        }
    }
}

impl Tail {
    fn append(&mut self, line: &str) -> io::Result<()> {
        // One call for the whole line: others may append to the same file.
        let start = if self.torn { "\n" } else { "" };
        self.torn = true;
        self.file.write_all(format!("{start}{line}\n").as_bytes())?;
        self.torn = false;
        match self.file.sync_data() {
            // A pipe or a device: there is nothing to sync.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            synced => synced,
        }
    }
}

/// Whether a file ends within a line. One that may not be read is taken for whole.
fn is_torn(path: &Path) -> bool {
    let last = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(b'\n');
        }
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(last[0])
    };
    last().is_ok_and(|last| last != b'\n')
}

fn failed(path: &Path, error: &io::Error) -> AuditError {
    AuditError { path: path.to_owned(), why: error.to_string() }
}

/// A name for a write that no other of this machine has.
fn next_id(now: Timestamp) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("{}-{}-{}", now.0, std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::write::Write;
    use crate::domain::{Key, LeaseId, Revision};

    const LEASE: LeaseId = LeaseId(0xa1);

    fn intent() -> Intent {
        let shown = vec![("/q/1".into(), Revision(3)), (Key::from(&b"/q/\xff"[..]), Revision(4))];
        let confirmed = Confirmed { write: Write::Revoke { lease: LEASE }, shown };
        Intent { id: "7".into(), who: Who::runs(None), what: words::what(&confirmed) }
    }

    fn pending(path: &Path) -> Pending {
        let lines = Lines::open(path.into()).unwrap();
        Pending { lines, clock: Clock::new(|| Timestamp(1_700_000_000_123)), intent: intent(), ended: false }
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    #[test]
    fn a_line_of_any_key_is_one_that_a_terminal_only_prints() {
        let folder = tempfile::tempdir().unwrap();
        let mut pending = pending(&folder.path().join("audit"));
        pending.intent.what = json!({"key": "/q/\u{9b}31m\u{202e}\n"});
        let line = pending.line(Value::Null);
        assert!(!line.chars().any(is_unsafe), "{line:?}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["what"]["key"], "/q/\u{9b}31m\u{202e}\n");
    }

    #[tokio::test]
    async fn a_result_repeats_the_id_and_tells_the_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let done = WriteResult::Done { revision: Revision(9), gone: vec!["/q/1".into()] };
        pending(&path).end(&done.into()).await.unwrap();
        let lines = lines(&path);
        assert_eq!(lines.len(), 1);
        assert_eq!((&lines[0]["event"], &lines[0]["id"]), (&json!("result"), &json!("7")));
        assert_eq!(lines[0]["at"], "2023-11-14T22:13:20.123Z");
        assert_eq!(lines[0]["after"], json!({"outcome": "done", "revision": 9, "gone": ["/q/1"]}));
        assert_eq!(lines[0]["what"]["shown"][1]["key"], json!({"base64": "L3Ev/w=="}));
    }

    #[test]
    fn what_is_broken_off_is_noted_as_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        drop(pending(&path));
        assert_eq!(lines(&path)[0]["after"]["outcome"], "unknown");
    }

    #[test]
    fn a_line_that_was_cut_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        std::fs::write(&path, "{\"event\": \"int").unwrap();
        drop(pending(&path));
        drop(pending(&path));
        assert_eq!(lines(&path).len(), 2, "{}", std::fs::read_to_string(&path).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        drop(pending(&path));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_disk_that_is_full_is_an_error_that_names_the_file() {
        // A device that is always full; systems without it cannot tell.
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let error = Lines::open(full.into()).and_then(|lines| lines.append("{}")).unwrap_err();
        assert!(error.to_string().contains("/dev/full"), "{error}");
    }
}
