//! etcdctl, pointed at a cluster.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::etcd::{self, Version};
use crate::support::served::{Cluster, Kind};

/// How long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a running etcdctl may be silent, or take to end, before the test says that it hangs.
const SILENCE: Duration = Duration::from_secs(90);
/// How many of its lines wait to be read.
const LINES: usize = 1024;

/// Runs a test with every etcdctl found, each on an embedded cluster of three, and with the
/// newest on three real members, all at once.
pub fn on_every_cluster(test: &str, run: impl Fn(&Ctl, &mut Cluster) + Sync) {
    let mut all: Vec<_> = etcd::versions(test).into_iter().map(|version| (version, Kind::Embedded)).collect();
    let newest = all.last().map(|(version, _)| (version.clone(), Kind::Real(version.clone())));
    all.extend(newest);
    with_all(&all, run);
}

/// Runs a test with every etcdctl found, each on an embedded cluster of three, all at once.
pub fn on_the_embedded_cluster(test: &str, run: impl Fn(&Ctl, &mut Cluster) + Sync) {
    let all: Vec<_> = etcd::versions(test).into_iter().map(|version| (version, Kind::Embedded)).collect();
    with_all(&all, run);
}

/// Most of the time is spent waiting.
fn with_all(all: &[(Version, Kind)], run: impl Fn(&Ctl, &mut Cluster) + Sync) {
    std::thread::scope(|scope| {
        let running: Vec<_> = all.iter().map(|(version, kind)| scope.spawn(|| with(version, kind, &run))).collect();
        for one in running {
            if let Err(panic) = one.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

fn with(version: &Version, kind: &Kind, run: impl Fn(&Ctl, &mut Cluster)) {
    let mut cluster = kind.cluster().members(3).start();
    let what = format!("etcdctl {version} on {kind}");
    let ctl = Ctl { what, version: version.clone(), endpoints: cluster.endpoints() };
    run(&ctl, &mut cluster);
}

/// One etcdctl and the endpoints it is given.
#[derive(Clone)]
pub struct Ctl {
    /// What it is and what it talks to.
    pub what: String,
    /// Its version.
    pub version: Version,
    endpoints: Vec<String>,
}

impl Ctl {
    /// The same at one member only.
    pub fn at(&self, n: usize) -> Self {
        Self { endpoints: vec![self.endpoints[n].clone()], ..self.clone() }
    }

    /// The same at another endpoint.
    pub fn to(&self, endpoint: &str) -> Self {
        Self { endpoints: vec![endpoint.to_owned()], ..self.clone() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.version.etcdctl());
        for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD")) {
            command.env_remove(variable);
        }
        command.env("ETCDCTL_API", "3").arg("--endpoints").arg(self.endpoints.join(",")).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("etcdctl runs")
    }

    /// What it prints; it has to succeed.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {arguments:?}: {error}", self.what);
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// What it prints with these lines as its input; it has to succeed.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> String {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("etcdctl runs");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {arguments:?}: {error}", self.what);
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// The JSON that it prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--write-out=json"]].concat());
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{}: {arguments:?}: {error}: {said}", self.what))
    }

    /// What it complains of; it has to fail.
    pub fn fails(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(!output.status.success(), "{}: {arguments:?} succeeds", self.what);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// What it complains of, which has to have these words in it.
    pub fn fails_with(&self, arguments: &[&str], words: &str) {
        let said = self.fails(arguments);
        assert!(said.contains(words), "{}: {arguments:?}: no {words:?} in: {said}", self.what);
    }

    /// Starts it, to be read line by line.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("etcdctl runs");
        let out = child.stdout.take().expect("it is piped");
        let input = child.stdin.take();
        let (read, lines) = mpsc::sync_channel(LINES);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let Ok(()) = read.send(line.expect("it is text")) else { return };
            }
        });
        Running { what: format!("{}: {arguments:?}", self.what), child, input, lines }
    }

    /// Waits until it prints what is waited for; what it printed.
    pub fn until(&self, arguments: &[&str], fits: impl Fn(&str) -> bool) -> String {
        let end = now() + PATIENCE;
        loop {
            let output = self.output(arguments);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && fits(&said) {
                return said;
            }
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(now() < end, "{}: {arguments:?} still: {said}{error}", self.what);
        }
    }
}

/// A running etcdctl, which ends with its value.
pub struct Running {
    what: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    /// The next line it prints; `None` when it has closed its output.
    fn next(&self) -> Option<String> {
        match self.lines.recv_timeout(SILENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{}: silent for {SILENCE:?}", self.what),
        }
    }

    /// The next line it prints.
    pub fn line(&mut self) -> String {
        self.next().unwrap_or_else(|| panic!("{}: it ended where a line was waited for", self.what))
    }

    /// The next lines.
    pub fn lines<const N: usize>(&mut self) -> [String; N] {
        std::array::from_fn(|_| self.line())
    }

    /// Gives it a line to read.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it reads");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits until it ends; what it printed until then. It has to succeed.
    pub fn ends(&mut self) -> Vec<String> {
        let rest: Vec<_> = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().expect("it is ours").success(), "{}: it fails: {rest:?}", self.what);
        rest
    }

    /// Ends it as Ctrl-C does.
    pub fn interrupt(&mut self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Ends it as `kill -9` does: it cannot give back what it has.
    pub fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&mut self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
        // Its output closes when it ends.
        while self.next().is_some() {}
        self.child.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline for programs that run, in a suite without a runtime")]
fn now() -> Instant {
    Instant::now()
}
