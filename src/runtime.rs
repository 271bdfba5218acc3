//! The rim: clocks, the terminal, the log, and the loop that ties them to the pure core.
//!
//! ```text
//! etcd ──► source ──► observations ─┐
//! keys, mouse ──────► terminal ─────┼─► session ──► update ──► effects ──► polls, clipboard, …
//! signals, deadlines ───────────────┘      └──────► view ────► terminal
//! ```

mod appearance;
mod awaited;
mod beside;
pub mod clock;
mod embedded;
pub mod hang_up;
mod journal;
pub mod logging;
pub mod play;
pub mod replay;
mod session;
mod signals;
mod taping;
pub mod terminal;
mod writes;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use crate::config::{Config, Findings};
use crate::control::Control;
use crate::domain::Millis;
use crate::domain::play::Order;
use crate::domain::raft::Fault;
use crate::input::{Screen, SeekTo};
use crate::model::findings::Thresholds;
use crate::model::ui::{Demo, PlayUi};
use crate::model::{Facts, Model, Ui};
use crate::operate::{AuditLog, Operator};
use crate::port::{self, pool::Pool};
use crate::record::{CreateError, OpenError};
use crate::source::{self, Watching, Wires};
use crate::view::theme::ThemeError;

pub use appearance::is_ascii;

use appearance::Appearance;
use beside::Beside;
use clock::Clock;
pub use embedded::Chronicle;
use logging::LoggingError;
use play::Begins;
use replay::Replay;
use session::Session;
use signals::Signals;
use taping::Taping;
use terminal::{Inputs, Lack, Terminal};
use writes::Writes;

/// Why the dashboard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The person said so.
    Quit,
    /// A signal did, by its number.
    Signal(i32),
    /// The terminal is gone.
    HungUp,
    /// The person said so, and what was to be recorded is not all in the file, which was said.
    NotRecorded,
    /// The person said so while a write was under way, and nobody knows what came of it; that was
    /// said, with how to look.
    Unknown,
}

/// Why the dashboard cannot be shown, or not any longer.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// A screen cannot be shown here.
    #[error("the dashboard {0}; `lockscope ls` prints the locks without one")]
    NoTerminal(Lack),
    /// The terminal does not do what it is asked.
    #[error("cannot use the terminal")]
    Terminal(#[source] io::Error),
    /// Signals cannot be listened to.
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    /// The log file cannot be written.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// There is no such theme.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// Nothing can be recorded.
    #[error(transparent)]
    Record(#[from] CreateError),
    /// There is nothing to replay.
    #[error(transparent)]
    Replay(#[from] OpenError),
    /// A part of the program panicked; the message was printed.
    #[error("lockscope failed; the message above is a bug to report")]
    Panicked,
    /// What watches the cluster ended although it was not told to.
    #[error("the watch of the cluster ended by itself; this is a bug to report")]
    SourceEnded,
}

/// The names of all themes, those of this program before the user's own.
pub fn theme_names() -> Vec<String> {
    appearance::theme_names()
}

/// Where the user's own themes are looked for; none when no variable tells.
pub fn themes_folder() -> Option<PathBuf> {
    appearance::themes_folder()
}

/// From when on something counts as a finding, by the settings.
pub fn thresholds(said: &Findings) -> Thresholds {
    let usual = Thresholds::default();
    let length = |said: Option<Duration>, usual| said.map_or(usual, Millis::from);
    Thresholds {
        long_hold: length(said.long_hold, usual.long_hold),
        long_hold_medians: said.long_hold_medians.unwrap_or(usual.long_hold_medians),
        kept_waiting: length(said.kept_waiting, usual.kept_waiting),
        long_ttl: length(said.long_ttl, usual.long_ttl),
        lost_holder: length(said.lost_holder, usual.lost_holder),
        leader_change: length(said.leader_change, usual.leader_change),
        leaderless: length(said.leaderless, usual.leaderless),
        silent: length(said.silent, usual.silent),
        link_lost: length(said.link_lost, usual.link_lost),
        lag: length(said.lag, usual.lag),
        lag_entries: said.lag_entries.map_or(usual.lag_entries, u64::from),
        near_quota: said.near_quota.map_or(usual.near_quota, i64::from),
        stuck: length(said.stuck, usual.stuck),
        stuck_longest: said.stuck_longest.map_or(usual.stuck_longest, i64::from),
        dropped_for: length(said.dropped_for, usual.dropped_for),
        free_for: length(said.free_for, usual.free_for),
        keyless: said.keyless.unwrap_or(usual.keyless),
        keyless_many: said.keyless_many.unwrap_or(usual.keyless_many),
    }
}

/// A cluster of this program's own, to be played on, and what the screen says of it.
#[derive(Debug)]
pub struct Inside {
    /// What can be done to it.
    pub control: Control,
    /// What the screen says.
    pub demo: Demo,
    /// Takes note of what is done to it on the screen.
    pub chronicle: Chronicle,
}

/// Shows the dashboard until it is left. The terminal is given back when this returns. With
/// `inside` the cluster is one of this program's own, whose insides are shown as well. With
/// `play` clients play on it, or are about to: their screen is the first. Whoever started cluster
/// and clients stops them.
///
/// # Errors
/// When there is no terminal, or something outside of the cluster's and the person's doing
/// fails: a cluster that cannot be reached is shown, not returned.
pub async fn dashboard(
    config: Config,
    inside: Option<Inside>,
    play: Option<Begins>,
) -> Result<ExitReason, RuntimeError> {
    if let Some(lack) = Terminal::lacks() {
        return Err(RuntimeError::NoTerminal(lack));
    }
    logging::start(&config.logging)?;
    info!(version = env!("CARGO_PKG_VERSION"), "started");
    let signals = Signals::listen().map_err(RuntimeError::Signals)?;
    terminal::install_panic_hook();
    let clock = Clock::start();
    let taping = Taping::begin(&config, clock.now())?;
    // The cluster is called first, so that it answers while the terminal is asked for its colours.
    let stamps = clock.clone();
    let stamps = port::Clock::new(move || stamps.now());
    let pool = Pool::new(config.connection.clone());
    let (source, wires) = source::Handle::start(pool.clone(), Watching::of(&config.prefixes), stamps.clone());
    let operator = Operator::new(pool.clone(), stamps)
        .read_only(config.read_only.is_some())
        .audited(config.audit_log.as_deref().map(AuditLog::at));
    let writes = Writes::start(&pool, operator, clock.clone());
    let demo = inside.as_ref().map(|inside| inside.demo);
    let embedded = inside.map(|inside| embedded::connect(inside.control, inside.chronicle, clock.clone()));
    let play = play.map(|begins| play::connect(begins, clock.clone()));
    let shown = Shown { demo, embedded, play, taping, writes: Some(writes), replay: None };
    let result = Box::pin(show(&config, clock, signals, wires, shown)).await;
    source.stop().await;
    result
}

/// Shows a recording until it is left. No connection is made.
///
/// # Errors
/// When there is no terminal, the file is no recording, or something outside of the person's doing
/// fails.
pub async fn replay(config: Config, options: replay::Options) -> Result<ExitReason, RuntimeError> {
    if let Some(lack) = Terminal::lacks() {
        return Err(RuntimeError::NoTerminal(lack));
    }
    logging::start(&config.logging)?;
    info!(version = env!("CARGO_PKG_VERSION"), "started");
    let replay = Replay::open(&options, config.polling.budget)?;
    let signals = Signals::listen().map_err(RuntimeError::Signals)?;
    terminal::install_panic_hook();
    // A source that never says anything.
    let (_silent, observations) = mpsc::channel(1);
    let (polls, _) = mpsc::channel(1);
    let (past, _) = watch::channel(None);
    let (demo, embedded, play) = (None, None, None);
    let shown =
        Shown { demo, embedded, play, taping: Taping::default(), writes: None, replay: Some((replay, options.at)) };
    Box::pin(show(&config, Clock::start(), signals, Wires { observations, polls, past }, shown)).await
}

/// What is shown beside what the wires bring.
struct Shown {
    demo: Option<Demo>,
    embedded: Option<Beside<Fault>>,
    play: Option<Beside<Order>>,
    taping: Taping,
    /// Who carries out writes; nobody on a recording.
    writes: Option<Writes>,
    /// A recording, and where it is to begin.
    replay: Option<(Replay, Option<SeekTo>)>,
}

async fn show(
    config: &Config,
    clock: Clock,
    signals: Signals,
    wires: Wires,
    Shown { demo, embedded, play, taping, writes, replay }: Shown,
) -> Result<ExitReason, RuntimeError> {
    let (appearance, late_reply) = Appearance::decide(&config.display, config.lang).await?;
    let terminal = Terminal::enter(config.display.mouse).map_err(RuntimeError::Terminal)?;
    let is_of_context = demo.is_none() && replay.is_none();
    if let (true, Some(context), Some(from)) = (is_of_context, &config.context, &config.endpoints_from) {
        warn!(context, from, "the endpoints are not those of the context");
    }
    let ui = Ui {
        size: terminal.size(),
        themes: appearance.names.clone(),
        theme: appearance.theme.name().to_owned(),
        mouse: config.display.mouse,
        context: config.context.clone(),
        endpoints_from: config.endpoints_from.clone(),
        read_only: config.read_only.clone(),
        reach: config.connection.etcdctl_variables(),
        given: config.reach.clone(),
        reduce_motion: config.display.reduce_motion,
        lang: appearance.lang,
        demo,
        screen: if play.is_some() { Screen::Playground } else { Screen::default() },
        play: PlayUi::new(play.is_some()),
        ..Ui::default()
    };
    let mut model = Model::new(Facts::new(config.polling.budget), ui);
    model.diagnose_by(Some(thresholds(&config.findings)));
    let replay = replay.map(|(mut replay, at)| {
        replay.begin(&mut model, at, &appearance.theme.zone);
        replay
    });
    let inputs = Inputs::read(late_reply);
    Session::new(model, terminal, appearance, clock, signals, inputs, wires)
        .beside(embedded)
        .with_play(play)
        .with_writes(writes)
        .with_replay(replay)
        .taped(taping)
        .run()
        .await
}
