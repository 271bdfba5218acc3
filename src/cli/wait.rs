//! What ends a command early: Ctrl-C, and a reader that went away.

use std::future::{Future, pending};

use color_eyre::eyre::WrapErr as _;

use super::exit::Failure;

/// Runs a command's future on this thread until it is done or somebody presses Ctrl-C.
///
/// One thread: a one-shot command is over before a second one had started.
pub fn run(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .wrap_err("cannot start the runtime")
        .map_err(Failure::Unexpected)?;
    let ended = runtime.block_on(async {
        tokio::select! {
            // The signal first: a command that is always ready must not outrun it.
            biased;
            () = interrupted() => Err(Failure::Interrupted),
            ended = command => ended,
        }
    });
    // What is still under way (a name being looked up) is nobody's business any more.
    runtime.shutdown_background();
    ended
}

/// Waits until somebody presses Ctrl-C or the system says to end.
#[cfg(unix)]
pub async fn told_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};

    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            () = interrupted() => {}
            _ = terminate.recv() => {}
        },
        // Without the handler the signal ends the program by itself.
        Err(_) => interrupted().await,
    }
}

/// Waits until somebody presses Ctrl-C.
#[cfg(not(unix))]
pub async fn told_to_stop() {
    interrupted().await;
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without the handler Ctrl-C ends the program by itself.
        pending::<()>().await;
    }
}
