//! Notices that nobody is at the other end of standard output any more.

use std::future::pending;

/// Waits until the other end of standard output, a pipe or a terminal, is gone; for ever when
/// that cannot be told, as of a file.
#[cfg(unix)]
pub async fn stdout_hung_up() {
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

/// Waits until the other end of standard output is gone, which cannot be told here: the next
/// line will.
#[cfg(not(unix))]
pub async fn stdout_hung_up() {
    pending().await
}
