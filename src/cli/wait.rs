//! What ends a command early: Ctrl-C, being told to end, and a reader that went away.

use std::future::{Future, pending};
use std::panic::resume_unwind;
#[cfg(unix)]
use std::sync::OnceLock;

use color_eyre::eyre::WrapErr as _;
use tokio::runtime::Builder;

use super::exit::Failure;
use super::rest::Load;
use crate::runtime::hang_up::stdout_hung_up;
use crate::wheel;

/// Runs a command's future on this thread until it is done, somebody presses Ctrl-C, or it is
/// told to end, as service managers and `timeout` do.
///
/// One thread: a one-shot command is over before a second one had started.
pub fn run(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    block_on(&mut Builder::new_current_thread(), until_interrupted(command))
}

/// The same as a task of its own, for a command that is woken all the time; see [`block_on_task`]. It
/// also ends when nobody reads standard output any more. What ends it is not looked at whenever it is
/// woken, but when that happens. Where the load is high its thread rests.
pub fn run_task(
    load: &Load,
    command: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Result<(), Failure> {
    let mut runtime = Builder::new_current_thread();
    load.rests(&mut runtime);
    block_on(&mut runtime, until_interrupted(until_unread(as_task(command))))
}

async fn until_interrupted(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        // The signal first: a command that is always ready must not outrun it.
        biased;
        () = interrupted() => Err(Failure::Interrupted),
        ended = command => ended,
    }
}

async fn until_unread(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        biased;
        () = stdout_hung_up() => Err(Failure::ClosedPipe),
        ended = command => ended,
    }
}

/// Runs a command's future on this thread to its end; it listens to signals itself.
pub fn alone(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    block_on(&mut Builder::new_current_thread(), command)
}

/// Runs a future to its end on a runtime of this kind, and waits for nothing else: a name being
/// looked up, a read or write that cannot be broken off.
pub fn block_on<T>(runtime: &mut Builder, future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    wheel::begin();
    let runtime = runtime.enable_all().build().wrap_err("cannot start the runtime").map_err(Failure::Unexpected)?;
    let ended = runtime.block_on(future);
    runtime.shutdown_background();
    ended
}

/// The same as a task of that runtime: whatever wakes the future that is blocked on goes through the
/// system, even on its own thread, and a task is just put into the queue.
pub fn block_on_task<T: Send + 'static>(
    runtime: &mut Builder,
    future: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    block_on(runtime, as_task(future))
}

async fn as_task<T: Send + 'static>(
    future: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::spawn(future).await {
        Ok(ended) => ended,
        // Nobody else cancels it.
        Err(ended) => resume_unwind(ended.into_panic()),
    }
}

/// Waits until somebody presses Ctrl-C, or the system says to end or that the terminal is gone.
pub async fn interrupted() {
    // Without a handler a signal ends the program by itself.
    let pressed = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        () = pressed => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};

    let told = async |kind| match signal(kind) {
        Ok(mut told) => drop(told.recv().await),
        Err(_) => pending().await,
    };
    let hung_up = async {
        // Under nohup it goes on when its terminal goes; a handler would undo that.
        if ignores_hang_up() {
            pending::<()>().await;
        }
        told(SignalKind::hangup()).await;
    };
    tokio::select! {
        () = told(SignalKind::terminate()) => {}
        () = hung_up => {}
    }
}

/// Whether the program was started with SIGHUP ignored. Where the system does not tell, it was not.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    // A handler of one's own, once there is one, takes the place of ignoring.
    static AT_FIRST: OnceLock<bool> = OnceLock::new();
    *AT_FIRST.get_or_init(|| std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_first(&status)))
}

/// Whether the first signal, which is SIGHUP, is among those that a process with this status ignores.
#[cfg(unix)]
fn ignores_first(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
async fn terminated() {
    pending().await
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_started_to_outlive_its_terminal_is_told_from_others() {
        let status =
            |mask: &str| format!("Name:\tlockscope\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t01\n");
        assert!(ignores_first(&status("0000000000000001")) && ignores_first(&status("0000000000001001")));
        assert!(!ignores_first(&status("0000000000001000")) && !ignores_first(""));
    }
}
