//! One member: how it is started, where its data and its log are, and its process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::find::Etcd;
use super::network::advertised;
use super::process::{Process, without_settings};
use crate::domain::escape::sanitise;
use crate::domain::raft::NodeId;

/// Of a log so many bytes are quoted, and so many lines.
const QUOTED: u64 = 4_096;
const LINES: usize = 6;

/// Revisions whose history is kept: a playground runs for hours on a small disk.
const HISTORY: u32 = 10_000;

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    /// Which; its name is made of it.
    pub id: NodeId,
    /// Its process, while it runs or stands still.
    pub process: Option<Process>,
    /// Where it serves clients.
    client: u16,
    /// Where it takes connections of peers.
    peer: u16,
    /// The proxy it connects to peers through.
    proxy: String,
    /// How it is started otherwise.
    setup: Setup,
}

/// What is the same for all members of a cluster.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The program.
    pub etcd: Etcd,
    /// The folder of all members.
    pub folder: PathBuf,
    /// How many members there are.
    pub members: usize,
    /// The name that keeps this cluster apart from others.
    pub token: String,
}

impl Member {
    /// A member that does not run yet.
    pub const fn new(id: NodeId, client: u16, peer: u16, proxy: String, setup: Setup) -> Self {
        Self { id, process: None, client, peer, proxy, setup }
    }

    /// Where it serves clients, as `host:port`.
    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.client)
    }

    /// Starts it on the data it has.
    pub fn start(&self) -> io::Result<Process> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.setup.etcd.program);
        without_settings(&mut command)
            .args(self.flags())
            .env("HTTP_PROXY", &self.proxy)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Process::start(&mut command)
    }

    /// Timers are etcd's own: a heartbeat every 100 ms, elections after 1 s.
    fn flags(&self) -> Vec<String> {
        let client = format!("http://{}", self.endpoint());
        let all = (1..).take(self.setup.members).map(NodeId);
        let all: Vec<String> = all.map(|id| format!("{id}=http://{}", advertised(id))).collect();
        let mut flags = vec![
            format!("--name={}", self.id),
            format!("--data-dir={}", self.setup.folder.join(self.id.to_string()).display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{}", self.peer),
            format!("--initial-advertise-peer-urls=http://{}", advertised(self.id)),
            format!("--initial-cluster={}", all.join(",")),
            format!("--initial-cluster-token={}", self.setup.token),
            "--auto-compaction-mode=revision".to_owned(),
            format!("--auto-compaction-retention={HISTORY}"),
        ];
        // What a power cut would lose is of no use here, and a laptop's disk is slow.
        if self.setup.etcd.at_least(3, 5) {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        flags
    }

    fn log(&self) -> PathBuf {
        self.setup.folder.join(format!("{}.log", self.id))
    }

    /// The last lines of what it said, harmless to print.
    pub fn last_words(&self) -> String {
        tail(&self.log()).unwrap_or_else(|error| format!("(its log cannot be read: {error})"))
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(QUOTED)))?;
    let mut bytes = Vec::new();
    file.take(QUOTED).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| sanitise(line).into_owned());
    Ok(last.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_the_last_lines_are_quoted_harmlessly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n1.log");
        let mut lines: Vec<String> = (0..1_000).map(|n| format!("line {n}")).collect();
        lines.push("red \x1b[31m\n".into());
        std::fs::write(&path, lines.join("\n")).unwrap();
        let quoted = tail(&path).unwrap();
        assert_eq!(quoted.lines().count(), LINES);
        assert!(quoted.starts_with("line 995\n") && !quoted.contains('\x1b') && quoted.contains("[31m"), "{quoted}");
    }
}
