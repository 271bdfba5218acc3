//! Real etcd clusters on loopback, in the versions found on the machine.
//!
//! Versions are looked for in `$LOCKSCOPE_ETCDS/<version>/etcd`, then in
//! `~/.cache/lockscope-etcds`, then in `target/etcds`, then as `etcd` on `PATH`. A server is
//! ready when it says so itself on its `/health`, and gone when its value is dropped.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a cluster may take until it is healthy.
const START: Duration = Duration::from_mins(1);

/// An etcd that is installed somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major, minor, patch; what the versions are ordered by.
    pub number: [u32; 3],
    /// The server.
    pub etcd: PathBuf,
}

impl Version {
    /// The `etcdctl` that came with it.
    pub fn etcdctl(&self) -> PathBuf {
        self.etcd.with_file_name("etcdctl")
    }

    /// Whether the server is at least this version.
    pub fn at_least(&self, major: u32, minor: u32, patch: u32) -> bool {
        self.number >= [major, minor, patch]
    }

    /// Starts to describe a cluster of this version; one member unless told otherwise.
    pub fn cluster(&self) -> Builder {
        Builder { version: self.clone(), members: 1, flags: Vec::new(), tls: None }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.number;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Every etcd found, oldest first. When there is none, says on standard error that `test`
/// did not run; the suites' runner counts those lines.
pub fn versions(test: &str) -> Vec<Version> {
    static FOUND: OnceLock<Vec<Version>> = OnceLock::new();
    let found = FOUND.get_or_init(find_versions).clone();
    if found.is_empty() {
        not_run(test, "no etcd found in $LOCKSCOPE_ETCDS, ~/.cache/lockscope-etcds, target/etcds or PATH");
    }
    found
}

/// The newest etcd found; says that `test` did not run when there is none.
pub fn newest(test: &str) -> Option<Version> {
    versions(test).pop()
}

/// Says that a test could not run. Written past the test harness, which hides what a passing
/// test prints.
pub fn not_run(test: &str, why: &str) {
    let _ = writeln!(io::stderr(), "not run: {test}: {why}");
}

/// The certificate files of a server.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// The server's certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority whose client certificates are demanded; `None` asks for none.
    pub client_ca: Option<PathBuf>,
}

/// A cluster that is not started yet.
#[derive(Clone, Debug)]
pub struct Builder {
    version: Version,
    members: usize,
    flags: Vec<String>,
    tls: Option<ServerTls>,
}

impl Builder {
    /// How many members.
    #[must_use]
    pub fn members(mut self, members: usize) -> Self {
        self.members = members;
        self
    }

    /// One more flag for every member, as `--name=value`.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Serve clients over TLS.
    #[must_use]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Starts the cluster and waits until every member is healthy.
    ///
    /// # Panics
    /// When it does not become healthy, with the end of the members' logs.
    pub fn start(self) -> Cluster {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut why = String::new();
        // Another process may take a port between our looking and etcd's binding it.
        for _ in 0..5 {
            let members = (0..self.members)
                .map(|n| Member {
                    name: format!("m{n}"),
                    client: format!("{scheme}://127.0.0.1:{}", free_port()),
                    peer: format!("http://127.0.0.1:{}", free_port()),
                    metrics: free_port(),
                    process: None,
                })
                .collect();
            let folder = tempfile::Builder::new().prefix("lockscope-etcd-").tempdir().expect("a temporary folder");
            let mut cluster = Cluster { setup: self.clone(), folder, members };
            for n in 0..self.members {
                cluster.start(n);
            }
            match cluster.try_healthy(START) {
                Ok(()) => return cluster,
                Err(log) if log.contains("address already in use") => why = log,
                Err(log) => panic!("etcd {} did not start: {log}", self.version),
            }
        }
        panic!("etcd {} found no free ports: {why}", self.version)
    }
}

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    setup: Builder,
    folder: TempDir,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: String,
    client: String,
    peer: String,
    metrics: u16,
    process: Option<Child>,
}

impl Cluster {
    /// The version that runs.
    pub fn version(&self) -> &Version {
        &self.setup.version
    }

    /// The client URL of every member.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.client.clone()).collect()
    }

    /// The client URL of member `n`.
    pub fn endpoint(&self, n: usize) -> String {
        self.members[n].client.clone()
    }

    /// The name of member `n`, as the membership lists it.
    pub fn name(&self, n: usize) -> &str {
        &self.members[n].name
    }

    /// Where member `n` accepts clients.
    pub fn address(&self, n: usize) -> SocketAddr {
        let url = &self.members[n].client;
        let (_, address) = url.split_once("://").expect("the URL was built with a scheme");
        address.parse().expect("the URL was built from an address")
    }

    /// A folder that lives as long as the cluster, for files a test needs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts member `n`, on the data it has; returns before it is healthy.
    pub fn start(&mut self, n: usize) {
        assert!(self.members[n].process.is_none(), "member {n} runs already");
        let initial: Vec<_> = self.members.iter().map(|m| format!("{}={}", m.name, m.peer)).collect();
        let member = &self.members[n];
        let log = File::options().create(true).append(true).open(self.log(n)).expect("the member's log opens");
        let mut command = Command::new(&self.setup.version.etcd);
        command
            .arg(format!("--name={}", member.name))
            .arg(format!("--data-dir={}", self.data(n).display()))
            .arg(format!("--listen-client-urls={}", member.client))
            .arg(format!("--advertise-client-urls={}", member.client))
            .arg(format!("--listen-peer-urls={}", member.peer))
            .arg(format!("--initial-advertise-peer-urls={}", member.peer))
            .arg(format!("--initial-cluster={}", initial.join(",")))
            .arg("--initial-cluster-token=lockscope-tests")
            .arg(format!("--listen-metrics-urls=http://127.0.0.1:{}", member.metrics));
        if self.setup.version.at_least(3, 5, 0) {
            command.arg("--unsafe-no-fsync");
        }
        if let Some(tls) = &self.setup.tls {
            command.arg("--cert-file").arg(&tls.cert).arg("--key-file").arg(&tls.key);
            if let Some(ca) = &tls.client_ca {
                command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(ca);
            }
        }
        for (variable, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD")) {
            command.env_remove(variable);
        }
        command
            .args(&self.setup.flags)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log);
        self.members[n].process = Some(command.spawn().expect("etcd starts"));
    }

    /// Kills member `n`, as a crash would.
    pub fn kill(&mut self, n: usize) {
        if let Some(mut process) = self.members[n].process.take() {
            process.kill().expect("the process is ours");
            process.wait().expect("it ends");
        }
    }

    /// Stops member `n` where it stands: it keeps its connections and answers nothing.
    ///
    /// # Panics
    /// When it does not stand still.
    pub fn pause(&self, n: usize) {
        self.signal(n, "STOP");
        // On a busy machine some of its threads may still run for a moment.
        let id = self.members[n].process.as_ref().expect("the member runs").id().to_string();
        let end = now() + START;
        loop {
            let state = Command::new("ps").args(["-o", "stat=", "-p", &id]).stdin(Stdio::null()).output();
            if String::from_utf8_lossy(&state.expect("ps runs").stdout).trim_start().starts_with('T') {
                return;
            }
            assert!(now() < end, "member {n} does not stand still");
            pause(Duration::from_millis(1));
        }
    }

    /// Lets a paused member go on.
    pub fn resume(&self, n: usize) {
        self.signal(n, "CONT");
    }

    /// Kills member `n` if it runs and starts it again on its data.
    pub fn restart(&mut self, n: usize) {
        self.kill(n);
        self.start(n);
    }

    /// Kills member `n` if it runs and starts it with an empty data folder, as someone does
    /// who deletes it. Meant for a cluster of one: a larger one refuses such a member.
    pub fn restart_empty(&mut self, n: usize) {
        self.kill(n);
        fs::remove_dir_all(self.data(n)).expect("the data folder is ours");
        self.start(n);
    }

    /// Waits until every member that was started is healthy.
    ///
    /// # Panics
    /// When that takes too long, with the end of the members' logs.
    pub fn healthy(&mut self) {
        if let Err(log) = self.try_healthy(START) {
            panic!("etcd {} is not healthy: {log}", self.setup.version);
        }
    }

    /// Runs `etcdctl` of the same version against all members.
    pub fn ctl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.setup.version.etcdctl());
        for (variable, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD")) {
            command.env_remove(variable);
        }
        command.env("ETCDCTL_API", "3").arg("--endpoints").arg(self.endpoints().join(",")).args(arguments);
        command.stdin(Stdio::null()).output().expect("etcdctl runs")
    }

    /// Runs etcdctl on a line of arguments, which must succeed; returns what it printed.
    pub fn told(&self, line: &str) -> String {
        let done = self.ctl(&line.split(' ').collect::<Vec<_>>());
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Lets in only who logs in: `root:rootpw`, and `ann:annpw`, who may read what is under
    /// `/open/` and nothing else.
    pub fn guard(&self) {
        for line in [
            "user add root:rootpw",
            "user grant-role root root",
            "role add reader",
            "role grant-permission reader --prefix=true read /open/",
            "user add ann:annpw",
            "user grant-role ann reader",
            "auth enable",
        ] {
            self.told(line);
        }
    }

    fn signal(&self, n: usize, signal: &str) {
        let process = self.members[n].process.as_ref().expect("the member runs");
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(process.id().to_string()).status();
        assert!(sent.expect("kill runs").success(), "member {n} takes SIG{signal}");
    }

    fn data(&self, n: usize) -> PathBuf {
        self.folder.path().join(&self.members[n].name)
    }

    fn log(&self, n: usize) -> PathBuf {
        self.folder.path().join(format!("{}.log", self.members[n].name))
    }

    fn try_healthy(&mut self, within: Duration) -> Result<(), String> {
        let end = now() + within;
        for n in 0..self.members.len() {
            loop {
                let member = &mut self.members[n];
                let Some(process) = &mut member.process else { break };
                if process.try_wait().expect("the process is ours").is_some() {
                    member.process = None;
                    return Err(format!("member {n} ended: {}", tail(&self.log(n))));
                }
                if says_healthy(member.metrics) {
                    break;
                }
                if now() > end {
                    return Err(format!("member {n} is not healthy after {within:?}: {}", tail(&self.log(n))));
                }
                pause(Duration::from_millis(10));
            }
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(mut process) = member.process.take() {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}

/// A port nobody listens on. They are handed out from below the range the kernel takes the
/// ports of outgoing connections from, so that none of those gets there first.
pub fn free_port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Suites run side by side as processes with ids close to each other.
    let start = std::process::id() * 97;
    loop {
        let offset = (start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).expect("it is less than COUNT");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

fn find_versions() -> Vec<Version> {
    let folders = [
        env::var_os("LOCKSCOPE_ETCDS").map(PathBuf::from),
        env::var_os("HOME").map(|home| Path::new(&home).join(".cache/lockscope-etcds")),
        Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/etcds")),
    ];
    for folder in folders.into_iter().flatten() {
        let servers = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path().join("etcd"));
        let mut found: Vec<_> = servers.filter(|server| server.is_file()).filter_map(asked_version).collect();
        if !found.is_empty() {
            found.sort();
            return found;
        }
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join("etcd"))
        .filter(|server| server.is_file())
        .find_map(asked_version)
        .into_iter()
        .collect()
}

fn asked_version(etcd: PathBuf) -> Option<Version> {
    let output = Command::new(&etcd).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.lines().find_map(|line| line.strip_prefix("etcd Version: "))?;
    let mut parts = number.trim().split(['.', '-', '+']).map(str::parse);
    let number = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
    Some(Version { number, etcd })
}

/// Asks `/health`, which a member answers with a read that needs the quorum.
fn says_healthy(metrics_port: u16) -> bool {
    let ask = || -> io::Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, metrics_port));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains(r#""health":"true""#))
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[expect(clippy::disallowed_methods, reason = "a deadline for a server that was started, in a suite without a runtime")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "between two questions to a server, in a suite without a runtime")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}
