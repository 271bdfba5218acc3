//! What ends a command early: Ctrl-C, being told to end, and a reader that went away.

use std::future::{Future, pending};

use color_eyre::eyre::WrapErr as _;

use super::exit::Failure;

/// Runs a command's future on this thread until it is done, somebody presses Ctrl-C, or it is
/// told to end, as service managers and `timeout` do.
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

async fn interrupted() {
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

/// Waits until nobody reads standard output any more; for ever when that cannot be told, as
/// of a file.
#[cfg(unix)]
pub async fn closed_stdout() {
    use rustix::event::{PollFd, PollFlags, poll};

    // A thread that sleeps in the system: to have the runtime wait for it, standard output
    // would have to stop blocking, for everybody who shares it.
    let closed = tokio::task::spawn_blocking(|| {
        let stdout = std::io::stdout();
        loop {
            // Errors and hang-ups are told without being asked for.
            let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut asked, None) {
                Err(rustix::io::Errno::INTR) | Ok(0) => {}
                Err(_) => return false,
                Ok(_) => return true,
            }
        }
    });
    if !closed.await.unwrap_or(false) {
        pending::<()>().await;
    }
}

/// Waits until nobody reads standard output any more, which cannot be told here: the next
/// line will.
#[cfg(not(unix))]
pub async fn closed_stdout() {
    pending().await
}
