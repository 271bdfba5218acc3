//! The program without a command: the dashboard.

use std::time::Duration;

use color_eyre::eyre::WrapErr as _;

use super::args::DemoArgs;
use super::exit::{Exit, Failure};
use super::reading;
use crate::config::{Config, Connection};
use crate::model::ui::Demo;
use crate::runtime::{self, ExitReason, Inside, RuntimeError};
use crate::server;

/// Threads beside the one that draws: the cluster is listened to while a frame is made. A second
/// one would be woken up with the first for every answer that comes.
const THREADS: usize = 1;
/// How long messages between members of the demo take: long enough to be seen in slow motion,
/// and short beside the timeouts of elections.
const DELAY: Duration = Duration::from_millis(5);

/// Shows the dashboard until it is left. Nobody may hold the lock of standard output
/// meanwhile: the terminal is asked things through it.
///
/// # Errors
/// When it cannot be shown, or a signal ended it.
pub fn run(config: Config) -> Result<(), Failure> {
    // A file that cannot be read will not be there at the next try either.
    reading::pool(&config)?;
    on_threads(runtime::dashboard(config, None))
}

/// Shows the dashboard on a cluster inside the program.
///
/// # Errors
/// When either cannot be started, or a signal ended it.
pub fn demo(args: &DemoArgs, mut config: Config) -> Result<(), Failure> {
    on_threads(async {
        let options = args.embedded.options(DELAY, runtime::clock::any_seed());
        let demo = Demo::new(options.cluster.seed, options.cluster.nodes);
        let server = server::start(options).await?;
        let endpoints = server.endpoints().iter().map(|endpoint| format!("http://{endpoint}")).collect();
        config.connection = Connection { endpoints, ..Connection::default() };
        let ended = runtime::dashboard(config, Some(Inside { control: server.control(), demo })).await;
        server.stop().await;
        Ok::<_, Failure>(ended?)
    })
}

fn on_threads<E: Into<Failure>>(shown: impl Future<Output = Result<ExitReason, E>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .wrap_err("cannot start the runtime")
        .map_err(Failure::Unexpected)?;
    let ended = runtime.block_on(shown);
    // What is still under way (a name being looked up) is nobody's business any more.
    runtime.shutdown_background();
    match ended.map_err(Into::into)? {
        ExitReason::Quit => Ok(()),
        ExitReason::Signal(_) | ExitReason::HungUp => Err(Failure::Interrupted),
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        let exit = match &error {
            RuntimeError::NoTerminal => Exit::BadInput,
            RuntimeError::Theme(_) => Exit::BadArguments,
            RuntimeError::Logging(_) => Exit::File,
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
