//! A child process in a process group of its own: signals reach all of it, those of the terminal
//! none, and it is killed when its value is dropped.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// How long it is waited for that a process stands still.
const STANDSTILL: Duration = Duration::from_secs(2);

/// The child, as long as it runs.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    /// Whether it was waited for: then the number of its group may be another's.
    reaped: bool,
}

impl Process {
    /// Starts it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        match id {
            Some(group) => Ok(Self { child, group, reaped: false }),
            None => Err(io::Error::other("it has no process id")),
        }
    }

    /// Its process group, which has the number of the process.
    pub const fn group(&self) -> Pid {
        self.group
    }

    /// Sends a signal to all of it.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.reaped { Err(io::ErrorKind::NotFound.into()) } else { Ok(kill_process_group(self.group, signal)?) }
    }

    /// Stops it, and waits until it stands still: on a busy machine some of its threads still run
    /// for a moment.
    pub async fn stop(&mut self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let stands = async {
            // Of one that ended instead nothing is left to be waited for.
            while matches!(waitpid(Some(self.group), WaitOptions::UNTRACED | WaitOptions::NOHANG), Ok(None)) {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = timeout(STANDSTILL, stands).await;
        Ok(())
    }

    /// Whether it runs, or stands still.
    pub fn is_running(&mut self) -> bool {
        if !self.reaped && !matches!(self.child.try_wait(), Ok(None)) {
            self.reaped = true;
        }
        !self.reaped
    }

    /// Waits for its end.
    pub async fn ended(&mut self) {
        let _ = self.child.wait().await;
        self.reaped = true;
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&mut self) {
        let _ = self.signal(Signal::KILL);
        self.ended().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.signal(Signal::KILL);
    }
}

/// Takes away from a command what would set an etcd up otherwise than its flags do: its own
/// variables, and those that choose a proxy. The leave to run on a rarer architecture stays.
pub(super) fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_in_the_way(name)) {
        command.env_remove(name);
    }
    command
}

fn is_in_the_way(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let proxies = ["http_proxy", "https_proxy", "no_proxy", "all_proxy"];
    // With REQUEST_METHOD Go takes the program for a CGI script and heeds no proxy.
    let own = name.starts_with("ETCD_") && name != "ETCD_UNSUPPORTED_ARCH";
    own || proxies.contains(&&*lower) || name == "REQUEST_METHOD"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_stands_still_is_killed_too() {
        let mut process = Process::start(Command::new("sleep").arg("600")).unwrap();
        process.stop().await.unwrap();
        assert!(process.is_running());
        process.kill().await;
        assert!(!process.is_running());
        assert!(process.signal(Signal::KILL).is_err(), "its number may be another's by now");
    }

    #[test]
    fn variables_that_set_etcd_up_are_taken_away_and_others_are_not() {
        for name in ["ETCD_NAME", "ETCD_INITIAL_CLUSTER", "HTTP_PROXY", "https_proxy", "NO_PROXY", "REQUEST_METHOD"] {
            assert!(is_in_the_way(name.as_ref()), "{name}");
        }
        for name in ["ETCD_UNSUPPORTED_ARCH", "ETCDCTL_API", "PATH", "HOME", "GOMAXPROCS"] {
            assert!(!is_in_the_way(name.as_ref()), "{name}");
        }
    }
}
