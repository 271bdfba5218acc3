//! The audit log: a line before every write and one after it, as JSON.
//!
//! A line is appended and synced before anything goes on, so that whatever was sent to a cluster
//! is on the disk before it was sent. A write whose intent cannot be noted is not made. Values are
//! secrets of others and in none of the lines. The form is told in `docs/audit-log.md`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::warn;

use super::sight::Before;
use super::{Outcome, Who};
use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Alarm, Key, KeyValue, Revision, Timestamp};
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
    who: Value,
    what: Value,
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
        let who = serde_json::to_value(Who::runs(client.user())).unwrap_or_default();
        let intent = Intent { id: next_id(clock.now()), who, what: what(confirmed) };
        let line = json!({
            "schema": SCHEMA,
            "event": "intent",
            "id": intent.id,
            "at": rfc3339(clock.now()),
            "who": intent.who,
            "endpoint": client.endpoint(),
            "what": intent.what,
            "before": told_before(before),
        });
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
    fn append(&self, line: &Value) -> Result<(), AuditError> {
        let mut tail = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        tail.append(line).map_err(|error| failed(&self.path, &error))
    }
}

impl Pending {
    /// Notes what came of it.
    pub async fn end(mut self, outcome: &Outcome) -> Result<(), AuditError> {
        self.ended = true;
        let after = json!({"notes": outcome.notes, "result": told_after(&outcome.result)});
        let (lines, line) = (self.lines.clone(), self.line(&after));
        on_disk(&self.lines.path, move || lines.append(&line)).await
    }

    fn line(&self, after: &Value) -> Value {
        json!({
            "schema": SCHEMA,
            "event": "result",
            "id": self.intent.id,
            "at": rfc3339(self.clock.now()),
            "who": self.intent.who,
            "what": self.intent.what,
            "after": after,
        })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let why = "broken off while it was under way";
        let after = json!({"notes": [], "result": told_after(&WriteResult::Unknown { why: why.into() })});
        if let Err(error) = self.lines.append(&self.line(&after)) {
            warn!(%error, "the audit log lacks the result of a write");
        }
    }
}

impl Tail {
    fn append(&mut self, line: &Value) -> io::Result<()> {
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

fn rfc3339(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(at.0).ok().map(|at| format!("{at:.3}"))
}

/// What is to be done, and what was shown when it was confirmed.
fn what(confirmed: &Confirmed) -> Value {
    let shown = keys_and_revisions(&confirmed.shown);
    match &confirmed.write {
        Write::Revoke { lease } => json!({"write": "revoke", "lease": lease.to_string(), "shown": shown}),
        Write::Release { lock, key, create_revision } => json!({
            "write": "release",
            "lock": told(lock),
            "key": told(key),
            "create_revision": create_revision,
            "shown": shown,
        }),
        Write::MoveLeader { to } => json!({"write": "move-leader", "to": to.to_string()}),
        Write::Disarm(alarm) => json!({"write": "disarm", "alarm": alarm_told(*alarm)}),
    }
}

/// What was there right before.
fn told_before(before: &Before) -> Value {
    let mut told_before = serde_json::Map::new();
    let mut add = |name: &str, value: Value| told_before.insert(name.to_owned(), value);
    if let Some(ttl) = &before.ttl {
        add("ttl", json!({"granted": ttl.granted, "remaining": ttl.remaining}));
    }
    if before.ttl.is_some() || !before.keys.is_empty() {
        add("keys", before.keys.iter().map(key_told).collect());
    }
    if let Some(holder) = &before.holder {
        add("holder", told(holder));
    }
    if let Some(leader) = before.leader {
        add("leader", json!(leader.to_string()));
    }
    if !before.alarms.is_empty() {
        add("alarms", before.alarms.iter().map(|alarm| alarm_told(*alarm)).collect());
    }
    Value::Object(told_before)
}

fn told_after(result: &WriteResult) -> Value {
    match result {
        WriteResult::Done { revision, gone } => json!({
            "outcome": "done",
            "revision": Some(revision).filter(|revision| revision.0 > 0),
            "gone": gone.iter().map(told).collect::<Vec<_>>(),
        }),
        WriteResult::Changed { now } => json!({"outcome": "changed", "now": keys_and_revisions(now)}),
        WriteResult::Gone => json!({"outcome": "gone"}),
        WriteResult::Refused { why } => json!({"outcome": "refused", "why": why}),
        WriteResult::Unknown { why } => json!({"outcome": "unknown", "why": why}),
    }
}

fn key_told(kv: &KeyValue) -> Value {
    json!({
        "key": told(&kv.key),
        "create_revision": kv.create_revision,
        "mod_revision": kv.mod_revision,
        "lease": Some(kv.lease).filter(|lease| !lease.is_none()).map(|lease| lease.to_string()),
    })
}

fn keys_and_revisions(keys: &[(Key, Revision)]) -> Value {
    keys.iter().map(|(key, created)| json!({"key": told(key), "create_revision": created})).collect()
}

fn alarm_told(alarm: Alarm) -> Value {
    json!({"member": alarm.member.to_string(), "alarm": alarm.kind.name()})
}

/// A key as every document of lockscope has it: text when it is UTF-8, else base64.
fn told(key: &Key) -> Value {
    match std::str::from_utf8(key) {
        Ok(text) => json!(text),
        Err(_) => json!({"base64": STANDARD.encode(key.as_bytes())}),
    }
}
