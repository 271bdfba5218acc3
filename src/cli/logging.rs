//! The log of one-shot commands: nowhere, unless it is asked for.

use std::fs::File;
use std::sync::Mutex;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use super::exit::{Exit, Failure};
use crate::config::Logging;

/// Starts to log to the file, or with `--debug` alone to standard error.
///
/// # Errors
/// When the file cannot be opened.
pub fn start(logging: &Logging) -> Result<(), Failure> {
    let level = if logging.debug { Level::DEBUG } else { Level::INFO };
    let ours = Targets::new().with_target("lockscope", level);
    let plain = fmt::layer().with_ansi(false);
    // A second start in one process keeps the first log; only tests start twice.
    match &logging.file {
        Some(path) => {
            let file = File::options().create(true).append(true).open(path).map_err(|error| {
                Failure::new(Exit::File, format!("cannot write the log file {}: {error}", path.display()))
            })?;
            let _ =
                tracing_subscriber::registry().with(plain.with_writer(Mutex::new(file)).with_filter(ours)).try_init();
        }
        None if logging.debug => {
            let _ =
                tracing_subscriber::registry().with(plain.with_writer(std::io::stderr).with_filter(ours)).try_init();
        }
        None => {}
    }
    Ok(())
}
