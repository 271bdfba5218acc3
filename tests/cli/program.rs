//! Runs the binary as a shell would, with an environment of its own.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// Nothing that is tested here takes longer unless it hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A run of lockscope that is not started yet.
#[derive(Debug)]
pub struct Lockscope {
    command: Command,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Starts to describe a run with these arguments.
pub fn lockscope<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Lockscope {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockscope"));
    command.env_clear().args(arguments).stdin(Stdio::null());
    // Nothing of the person who runs the tests may count, but the loader may need these.
    for kept in ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    Lockscope { command }
}

impl Lockscope {
    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(self.command.spawn().expect("the binary starts")) }
    }

    /// Starts it with its standard input open, to be spoken to.
    pub fn talk(mut self) -> Running {
        self.command.stdin(Stdio::piped());
        self.start()
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }

    /// Runs it; it has to end well and print one JSON document.
    pub fn json(self) -> Value {
        let ended = self.run().expect(0);
        serde_json::from_slice(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&ended.stdout)))
    }
}

/// A run under way; killed when it is dropped before its end.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

impl Running {
    /// The process.
    pub fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was not ended yet")
    }

    /// Sends it a signal, by its name without SIG.
    pub fn signal(&mut self, name: &str) {
        let id = self.child().id().to_string();
        let sent = Command::new("kill").arg(format!("-{name}")).arg(id).status().expect("kill runs");
        assert!(sent.success(), "the process is there");
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let mut child = self.child.take().expect("it ends once");
        let id = child.id();
        let stdout = read(child.stdout.take());
        let stderr = read(child.stderr.take());
        let (done, wait) = mpsc::channel();
        std::thread::spawn(move || done.send(child.wait()));
        let Ok(status) = wait.recv_timeout(PATIENCE) else {
            let _ = Command::new("kill").arg("-KILL").arg(id.to_string()).status();
            panic!("it does not end within {PATIENCE:?}");
        };
        Ended {
            code: status.expect("it was waited for").code(),
            stdout: stdout.recv().unwrap_or_default(),
            stderr: String::from_utf8(stderr.recv().unwrap_or_default()).expect("messages are text"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn read(from: Option<impl std::io::Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut all);
        }
        done.send(all)
    });
    wait
}

impl Ended {
    /// Checks the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stderr, String::from_utf8_lossy(&self.stdout));
        self
    }

    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("what is printed is text")
    }
}

/// A configuration file in a folder of its own.
#[derive(Debug)]
pub struct File {
    folder: tempfile::TempDir,
}

impl File {
    /// A file with this text where lockscope looks for its configuration, when
    /// `XDG_CONFIG_HOME` is [`File::home`].
    pub fn config(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("lockscope")).expect("the folder is ours");
        let file = Self { folder };
        std::fs::write(file.path(), text).expect("the folder is ours");
        file
    }

    /// The folder above `lockscope`.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("lockscope").join("config.toml")
    }
}

/// Arguments from a line, split at blanks.
pub fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// Several texts under headings, for one snapshot.
pub fn sections<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    parts.into_iter().fold(String::new(), |mut all, (heading, text)| {
        let _ = writeln!(all, "== {heading}\n{text}");
        all
    })
}
