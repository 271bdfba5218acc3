//! The scripts that start a cluster to try lockscope on: they serve, their clients contend, and they
//! leave nothing behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::env;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The exit code by which a script says that there is no etcd here.
const NO_ETCD: i32 = 69;

/// One of the scripts in `demo/`.
fn command(script: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("demo").join(script))
}

/// A script while it runs. Dropping it ends it as Ctrl-C would.
struct Demo {
    script: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Demo {
    fn start(script: &str, temporary: &Path, base: u16) -> Self {
        let mut script = command(script)
            .args(["--port", &base.to_string()])
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(script.stdout.take().unwrap());
        Self { script, said }
    }

    /// What it prints up to the line that says it is ready; less when it ends before that.
    fn until_ready(&mut self) -> String {
        let mut text = String::new();
        while !text.contains("\nready") && self.said.read_line(&mut text).unwrap() > 0 {}
        text
    }

    /// Ends it as Ctrl-C would, and gives its exit code.
    fn interrupt(&mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.script.id().to_string()]).status().unwrap();
        self.script.wait().unwrap().code()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if self.script.try_wait().unwrap().is_none() {
            self.interrupt();
        }
    }
}

/// The etcdctl that belongs to the etcd the script takes.
fn etcdctl() -> PathBuf {
    let Some(folder) = env::var_os("LOCKSCOPE_ETCDS") else { return "etcdctl".into() };
    let mut found: Vec<PathBuf> = Path::new(&folder).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|version| version.join("etcdctl").exists());
    found.sort();
    found.pop().unwrap().join("etcdctl")
}

/// The keys below a prefix.
fn keys(endpoint: &str, prefix: &str) -> Vec<String> {
    let out = Command::new(etcdctl())
        .env("ETCDCTL_API", "3")
        .args(["--endpoints", endpoint, "get", "--prefix", "--keys-only", prefix])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn is_open(port: u16) -> bool {
    TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), Duration::from_secs(2)).is_ok()
}

/// A number with so many ports behind it that nobody listens on, below the range the system hands
/// out itself.
fn free_ports(count: u16) -> u16 {
    let base = (21_000..32_000)
        .step_by(10)
        .map(|base| base + u16::try_from(std::process::id() % 700).unwrap())
        .find(|base| (1..=count).all(|offset| std::net::TcpListener::bind(("127.0.0.1", base + offset)).is_ok()));
    base.unwrap()
}

#[test]
fn three_members_serve_contending_clients_and_leave_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let base = free_ports(9);
    let mut demo = Demo::start("three-members", temporary.path(), base);
    let text = demo.until_ready();
    if !text.contains("\nready") {
        let code = demo.script.wait().unwrap().code();
        assert_eq!(code, Some(NO_ETCD), "it ended with {code:?} after {text:?}");
        println!("not run: demo/three-members: no etcd and etcdctl were found");
        return;
    }

    let endpoints = [1, 2, 3].map(|n| format!("127.0.0.1:{}", base + n));
    assert!(text.contains(&endpoints.join(",")), "{text}");
    let contended = |lock: &str, at_least: usize| {
        // Each look is a call to etcd: it waits by itself, and a bound keeps a failure finite.
        let seen = (0..200).map(|_| keys(&endpoints[0], lock)).find(|keys| keys.len() >= at_least);
        assert!(seen.is_some(), "{lock} never had {at_least} keys");
    };
    contended("/demo/ledger/", 3);
    contended("/demo/reports/nightly/", 2);
    contended("/demo/scheduler/", 3);

    assert_eq!(demo.interrupt(), Some(0));
    let left: Vec<_> = temporary.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    for offset in 1..=6 {
        assert!(!is_open(base + offset), "port {} is still served", base + offset);
    }
}

#[test]
fn the_exercise_sets_five_troubles_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    // Behind the ports that three-members takes in the test beside this one.
    let base = free_ports(9) + 7;
    let mut demo = Demo::start("stuck-lock", temporary.path(), base);
    let text = demo.until_ready();
    if !text.contains("\nready") {
        let code = demo.script.wait().unwrap().code();
        assert_eq!(code, Some(NO_ETCD), "it ended with {code:?} after {text:?}");
        println!("not run: demo/stuck-lock: no etcd and etcdctl were found");
        return;
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let endpoint = format!("127.0.0.1:{}", base + 1);
    let findings = Command::new(env!("CARGO_BIN_EXE_lockscope"))
        .env_clear()
        .args(["--endpoints", &endpoint, "doctor"])
        .output()
        .unwrap();
    let findings = String::from_utf8(findings.stdout).unwrap();
    for (code, lock) in [
        ("holder-without-lease", "/exercise/backup"),
        ("deadlock", "/exercise/accounts,/exercise/orders"),
        ("foreign-key", "/exercise/deploy"),
    ] {
        assert!(findings.contains(&format!("{code}\t{lock}")), "{code} of {lock} is not in\n{findings}");
    }
    for lock in ["/exercise/report/", "/exercise/index/"] {
        assert_eq!(keys(&endpoint, lock).len(), 3, "a holder and two waiters of {lock}");
    }

    assert_eq!(demo.interrupt(), Some(0));
    let left: Vec<_> = temporary.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!is_open(base + 1), "port {} is still served", base + 1);
}

#[test]
fn the_exercise_writes_to_a_cluster_only_when_it_is_told_so() {
    let run = command("stuck-lock").args(["--endpoints", "127.0.0.1:1"]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    if run.status.code() == Some(NO_ETCD) {
        println!("not run: the question of demo/stuck-lock: no etcd and etcdctl were found");
        return;
    }
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("it writes to 127.0.0.1:1"), "{said}");
}

#[test]
fn ports_in_use_are_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = command("three-members").args(["--port", &(port - 1).to_string()]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    if run.status.code() == Some(NO_ETCD) {
        println!("not run: ports in use by demo/three-members: no etcd and etcdctl were found");
        return;
    }
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("port {port} is in use")), "{said}");
}

#[test]
fn nonsense_is_refused() {
    for arguments in [&["--port", "nonsense"][..], &["--port", "70000"], &["--members"]] {
        let run = command("three-members").args(arguments).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    }
    for (script, flag, said) in [
        ("three-members", "--port", "three-members: --port needs a number\n"),
        ("stuck-lock", "--port", "stuck-lock: --port needs a number\n"),
        ("stuck-lock", "--endpoints", "stuck-lock: --endpoints needs HOST:PORT,...\n"),
    ] {
        let run = command(script).arg(flag).output().unwrap();
        assert_eq!((run.status.code(), &*String::from_utf8_lossy(&run.stderr)), (Some(2), said));
    }
}
