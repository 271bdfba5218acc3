//! The log of the dashboard: on the Log screen, and in a file if one is named.
//!
//! Never on standard output or error, which are the screen. Only this program's own messages
//! are logged: those of the libraries below may hold tokens and passwords of a handshake.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use thiserror::Error;
use tokio::sync::Notify;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;
use tui_logger::TuiTracingSubscriberLayer;

use crate::config::Logging;

/// Tells that a line was logged.
static LOGGED: Notify = Notify::const_new();

/// Why nothing can be logged.
#[derive(Debug, Error)]
#[error("cannot write the log file {}", path.display())]
pub struct LoggingError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// Starts to log.
///
/// # Errors
/// When the file cannot be opened.
pub fn start(logging: &Logging) -> Result<(), LoggingError> {
    let level = if logging.debug { Level::DEBUG } else { Level::INFO };
    let file = logging.file.as_ref().map(open).transpose()?;
    let file = file.map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file)));
    // tui-logger's own start is left out on purpose: its thread wakes a hundred times a
    // second. Lines are moved to the screen when a frame is drawn.
    tui_logger::set_default_level(if logging.debug {
        tui_logger::LevelFilter::Debug
    } else {
        tui_logger::LevelFilter::Info
    });
    let ours = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level);
    let layers = TuiTracingSubscriberLayer.and_then(Tell).and_then(file).with_filter(ours);
    // A second start in one process keeps the first log; only tests start twice.
    let _ = tracing_subscriber::registry().with(layers).try_init();
    Ok(())
}

/// Waits until a line is logged.
pub async fn logged() {
    LOGGED.notified().await;
}

/// Moves what was logged to where the screen finds it.
pub fn collect() {
    tui_logger::move_events();
}

fn open(path: &PathBuf) -> Result<File, LoggingError> {
    File::options().create(true).append(true).open(path).map_err(|source| LoggingError { path: path.clone(), source })
}

/// Tells the loop that there is something new to show.
struct Tell;

impl<S: Subscriber> Layer<S> for Tell {
    fn on_event(&self, _event: &Event<'_>, _context: Context<'_, S>) {
        LOGGED.notify_one();
    }
}
