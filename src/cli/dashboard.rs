//! The program without a command: the dashboard.

use tokio::runtime::Builder;

use super::exit::{Exit, Failure};
use super::{reading, wait};
use crate::config::Config;
use crate::runtime::{self, ExitReason, RuntimeError};

/// Threads that draw and do all else, where there is more than a cluster to listen to. A second one would be
/// woken up with the first for every answer that comes.
const THREADS: usize = 1;

/// Shows the dashboard until it is left. One thread listens to the cluster and draws: what comes
/// while a frame is made is taken in after that in any case, and to wake another thread for each
/// answer costs more than the answer. Nobody may hold the lock of standard output
/// meanwhile: the terminal is asked things through it.
///
/// # Errors
/// When it cannot be shown, or a signal ended it.
pub fn run(config: Config) -> Result<(), Failure> {
    // A file that cannot be read will not be there at the next try either.
    reading::pool(&config)?;
    show(&mut Builder::new_current_thread(), runtime::dashboard(config, None, None))
}

/// Runs what shows the dashboard beside something else that goes on, and says how it ended.
pub fn on_threads<E: Into<Failure>>(
    shown: impl Future<Output = Result<ExitReason, E>> + Send + 'static,
) -> Result<(), Failure> {
    show(Builder::new_multi_thread().worker_threads(THREADS), shown)
}

fn show<E: Into<Failure>>(
    runtime: &mut Builder,
    shown: impl Future<Output = Result<ExitReason, E>> + Send + 'static,
) -> Result<(), Failure> {
    let shown = async { shown.await.map_err(Into::into) };
    match wait::block_on_task(runtime, shown)? {
        ExitReason::Quit => Ok(()),
        ExitReason::Signal(_) | ExitReason::HungUp => Err(Failure::Interrupted),
        ExitReason::Unknown => Err(Failure::Unknown),
        ExitReason::NotRecorded => Err(Failure::NotRecorded),
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        // They have hints of their own.
        let error = match error {
            RuntimeError::Record(error) => return error.into(),
            RuntimeError::Replay(error) => return error.into(),
            other => other,
        };
        let exit = match &error {
            RuntimeError::NoTerminal(_) => Exit::BadInput,
            RuntimeError::Theme(_) => Exit::BadArguments,
            RuntimeError::Logging(_) | RuntimeError::Record(_) | RuntimeError::Replay(_) => Exit::File,
            RuntimeError::Terminal(_)
            | RuntimeError::Signals(_)
            | RuntimeError::Panicked
            | RuntimeError::SourceEnded => Exit::Error,
        };
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let causes: Vec<_> = causes.map(ToString::to_string).collect();
        Self::new(exit, causes.join(": "))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_went_wrong_is_told_with_its_cause() {
        let gone = RuntimeError::Terminal(io::Error::other("gone"));
        let Failure::Said { exit: Exit::Error, what, .. } = Failure::from(gone) else { panic!("another exit") };
        assert_eq!(what, "cannot use the terminal: gone");
    }
}
