//! Who clears away when this program is gone without having done so: killed, or out of luck.
//!
//! A shell reads from a pipe which process groups there are. Only this program holds the pipe's
//! other end, so that it closes with the program, whatever ended that. Then the shell kills the
//! groups, stopped ones too, and removes the folder. The system's own way, a signal at a parent's
//! death, has to be asked for between fork and exec, which safe code cannot do, and it comes
//! when a *thread* ends.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// What the shell does; its argument is the folder. Processes that are just being killed may
/// still write into that.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups=
while read -r word group; do
  case $word in
    add) groups="$groups $group" ;;
    end)
      rest=
      for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
      groups=$rest ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for _ in 1 2 3 4 5; do
  rm -rf -- "$1"
  [ -e "$1" ] || exit 0
  sleep 1
done
"#;

/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shell and the pipe to it. When this is dropped the shell does its work.
#[derive(Debug)]
pub(super) struct Watchman {
    shell: Child,
    to: ChildStdin,
}

impl Watchman {
    /// Starts the shell.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "lockscope-watchman"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What is pressed in the terminal is not for it.
            .process_group(0)
            .spawn()?;
        match shell.stdin.take() {
            Some(to) => Ok(Self { shell, to }),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Tells of a process group that has to go with this program.
    pub async fn add(&mut self, group: Pid) -> io::Result<()> {
        self.say("add", group).await
    }

    /// Tells that a process group is gone: its number will be another's.
    pub async fn end(&mut self, group: Pid) -> io::Result<()> {
        self.say("end", group).await
    }

    async fn say(&mut self, word: &str, group: Pid) -> io::Result<()> {
        self.to.write_all(format!("{word} {}\n", group.as_raw_nonzero()).as_bytes()).await
    }

    /// Lets it do its work, and waits until it has.
    pub async fn dismiss(mut self) {
        drop(self.to);
        let _ = timeout(PATIENCE, self.shell.wait()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::super::process::Process;
    use super::*;

    /// A process that would go on, and that stands still.
    async fn sleeper() -> Process {
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut process = Process::start(&mut command).unwrap();
        process.stop().await.unwrap();
        process
    }

    #[tokio::test]
    async fn what_it_was_told_of_goes_with_the_pipe_even_when_it_stands_still() {
        let folder = Folder::create().unwrap();
        std::fs::write(folder.path().join("file"), "text").unwrap();
        let mut watchman = Watchman::start(folder.path()).unwrap();
        let (mut one, mut other) = (sleeper().await, sleeper().await);
        for process in [&one, &other] {
            watchman.add(process.group()).await.unwrap();
        }
        watchman.end(other.group()).await.unwrap();
        watchman.dismiss().await;
        one.ended().await;
        assert!(other.is_running(), "it was said to be gone");
        assert!(!folder.path().exists());
        other.kill().await;
    }
}
