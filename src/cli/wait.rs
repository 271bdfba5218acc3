//! What ends a command early: Ctrl-C, being told to end, and a reader that went away.

use std::future::{Future, pending};

use color_eyre::eyre::WrapErr as _;
use tokio::runtime::Builder;

use super::exit::Failure;

/// Runs a command's future on this thread until it is done, somebody presses Ctrl-C, or it is
/// told to end, as service managers and `timeout` do.
///
/// One thread: a one-shot command is over before a second one had started.
pub fn run(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    block_on(&mut Builder::new_current_thread(), async {
        tokio::select! {
            // The signal first: a command that is always ready must not outrun it.
            biased;
            () = interrupted() => Err(Failure::Interrupted),
            ended = command => ended,
        }
    })
}

/// Runs a future to its end on a runtime of this kind, and waits for nothing else: a name being
/// looked up, a read or write that cannot be broken off.
pub fn block_on<T>(runtime: &mut Builder, future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime.enable_all().build().wrap_err("cannot start the runtime").map_err(Failure::Unexpected)?;
    let ended = runtime.block_on(future);
    runtime.shutdown_background();
    ended
}

/// Waits until somebody presses Ctrl-C or the system says to end.
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

    match signal(SignalKind::terminate()) {
        Ok(mut told) => drop(told.recv().await),
        Err(_) => pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    pending().await
}
