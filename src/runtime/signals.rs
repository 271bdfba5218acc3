//! Signals: those that end the program, and those of job control.

use std::io;
use std::time::Duration;

use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// How long a stop may take to happen. Where nobody could wake the job up again, because
/// there is no shell, the system does not stop it at all.
const STOPPING: Duration = Duration::from_millis(100);

/// The signals that are listened to.
#[derive(Debug)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    go_on: tokio::signal::unix::Signal,
}

/// What a signal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// End; by the signal of this number.
    End(i32),
    /// The job was stopped and goes on; what the terminal was told before may be lost.
    GoOn,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            go_on: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
        })
    }

    /// The next signal. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> Told {
        let end = |kind: SignalKind| Told::End(kind.as_raw_value());
        tokio::select! {
            _ = self.terminate.recv() => end(SignalKind::terminate()),
            _ = self.hang_up.recv() => end(SignalKind::hangup()),
            _ = self.interrupt.recv() => end(SignalKind::interrupt()),
            _ = self.quit.recv() => end(SignalKind::quit()),
            _ = self.go_on.recv() => Told::GoOn,
        }
    }

    /// Stops the job, as Ctrl-Z does in a shell, and returns when it goes on.
    pub async fn stop_job(&mut self) {
        // The whole job, which may be a pipe or have a wrapper around us, and by the signal
        // the shell expects.
        if kill_current_process_group(Signal::TSTP).is_ok() {
            // The stop may come a moment after the call, in another thread.
            let _ = tokio::time::timeout(STOPPING, self.go_on.recv()).await;
        }
    }
}
