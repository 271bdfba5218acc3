//! `record`: what the dashboard would observe, into a file.

use std::io::{self, IsTerminal as _, Write};
use std::iter;
use std::path::Path;

use serde::Serialize;
use tokio::time::{Duration, Instant, sleep_until};

use super::args::RecordArgs;
use super::exit::{Exit, Failure};
use super::json::{self, SCHEMA};
use super::live::Live;
use super::reading::{self, endpoint_error};
use super::table::{self, Align, Column};
use super::wait;
use crate::config::{Config, Format};
use crate::event::{EndpointError, LinkState};
use crate::model::{Facts, Link};
use crate::record::{CreateError, Header, Recorded, Recorder};
use crate::runtime::clock::Clock;
use crate::view::text::{escape_text, quantity};

/// How often a terminal is told how far it is.
const TOLD: Duration = Duration::from_secs(1);

/// Records until the time is over or somebody says so, and prints what there is then.
///
/// # Errors
/// When the file cannot be made or written, when no endpoint was ever reached, when nothing may be
/// read, or when somebody broke off before the time was over.
pub async fn run(args: &RecordArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let pool = reading::pool(config)?;
    let clock = Clock::start();
    let began = Instant::now();
    let header = Header::new(clock.now(), &config.connection.endpoints, &config.prefixes, config.recording.redaction);
    let recorder = Recorder::create(&args.file, &header)?;
    let live = Live::start(pool, config, clock.clone());
    let mut session = Session { live, recorder, progress: Progress::new() };
    let ended = session.record(args.length).await;
    session.progress.clear();
    let facts = session.live.model.live();
    let link = facts.link.clone();
    let is_empty = is_empty(facts);
    session.live.stop().await;
    let why = ended.as_ref().map_or("failed", |ended| ended.words());
    let file = session.recorder.end(clock.now(), why).await;
    let format = config.output.format.unwrap_or(Format::Simple);
    let printed = print(&args.file, &file, began.elapsed(), config, format, to).and_then(|()| Ok(to.flush()?));
    // Whether it was recorded counts, whether somebody reads that or not.
    if let Some(why) = file.failed {
        let what = format!("the recording {} stopped: {why}", args.file.display());
        return Err(Failure::new(Exit::File, what).hint("What it has by then can be replayed."));
    }
    let ended = ended?;
    if let Some(unreached) = unreached(&link, &args.file) {
        return Err(unreached);
    }
    link.denied.iter().for_each(reading::say_denied);
    if link.is_denied() {
        return Err(Failure::Refused);
    }
    if is_empty {
        let what = format!("{} holds no locks: no key and no lease was read{}", args.file.display(), reasons(&link));
        return Err(Failure::new(Exit::Connect, what).hint("lockscope doctor tells what is wrong with the cluster."));
    }
    match ended {
        End::BrokenOff if args.length.is_some() => Err(Failure::Interrupted),
        End::Over | End::BrokenOff | End::Stopped => printed,
    }
}

/// That no endpoint was ever reached, if it is so: there is a file then, and nothing in it.
fn unreached(link: &Link, file: &Path) -> Option<Failure> {
    if link.cluster_id.is_some() {
        return None;
    }
    let lines = reasons(link);
    let what = format!("{} has nothing of a cluster: cannot connect to any endpoint{lines}", file.display());
    Some(Failure::new(Exit::Connect, what).hint("Give client URLs of the cluster with --endpoints HOST:PORT,..."))
}

/// Whether an endpoint was reached and nothing was ever read from it.
fn is_empty(facts: &Facts) -> bool {
    let leases = facts.leases();
    !facts.link.listed && facts.keyspace().is_empty() && leases.ids().all(|lease| leases.polled_at(lease).is_none())
}

/// What each endpoint said, a line each.
fn reasons(link: &Link) -> String {
    let why = match &link.state {
        LinkState::Retrying { why, .. } => &why[..],
        LinkState::Connecting | LinkState::Live { .. } => &[],
    };
    if why.is_empty() {
        return ": none answered in time".to_owned();
    }
    let lines = why.iter().map(|EndpointError { endpoint, error }| format!("\n  {}", endpoint_error(endpoint, error)));
    iter::once(":".to_owned()).chain(lines).collect()
}

/// Why it ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The time is over.
    Over,
    /// Somebody pressed Ctrl-C, or told the program to end.
    BrokenOff,
    /// Nothing can be written any more.
    Stopped,
}

impl End {
    const fn words(self) -> &'static str {
        match self {
            Self::Over => "time is over",
            Self::BrokenOff => "told to end",
            Self::Stopped => "failed",
        }
    }
}

/// Facts go into the file and into the model, which says which leases are asked.
struct Session {
    live: Live,
    recorder: Recorder,
    progress: Progress,
}

impl Session {
    async fn record(&mut self, length: Option<Duration>) -> Result<End, Failure> {
        let broken_off = wait::interrupted();
        tokio::pin!(broken_off);
        let end = Instant::now() + length.unwrap_or_default();
        while self.recorder.progress().failed.is_none() {
            let tell = self.progress.next;
            tokio::select! {
                // A cluster that is busy must not keep the end away.
                biased;
                () = &mut broken_off => return Ok(End::BrokenOff),
                () = sleep_until(end), if length.is_some() => return Ok(End::Over),
                () = sleep_until(tell.unwrap_or(end)), if tell.is_some() => {
                    self.progress.tell(&self.recorder.progress(), &self.live.model.live().link.state);
                }
                observed = self.live.observed() => {
                    let Some(observed) = observed? else { continue };
                    tokio::select! {
                        // Nor must a disk that hangs.
                        biased;
                        () = &mut broken_off => return Ok(End::BrokenOff),
                        () = sleep_until(end), if length.is_some() => return Ok(End::Over),
                        () = self.recorder.record(&observed) => {}
                    }
                    self.live.take(observed);
                }
            }
        }
        Ok(End::Stopped)
    }
}

/// How far it is, on a terminal: one line that is written over and over.
struct Progress {
    next: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Self { next: io::stderr().is_terminal().then(Instant::now) }
    }

    fn tell(&mut self, recorded: &Recorded, link: &LinkState) {
        self.next = Some(Instant::now() + TOLD);
        let link = match link {
            LinkState::Connecting => "connecting".to_owned(),
            LinkState::Live { endpoint } => format!("live on {}", escape_text(endpoint)),
            LinkState::Retrying { attempt, .. } => format!("no connection, try {attempt}"),
        };
        let Recorded { observations, bytes, .. } = recorded;
        // When standard error is closed there is nobody left to tell.
        let _ = write!(
            io::stderr(),
            "\r\x1b[Krecorded {}, {}; {link}",
            counted(*observations, "observation"),
            counted(*bytes, "byte")
        );
    }

    fn clear(&self) {
        if self.next.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn counted(number: u64, noun: &'static str) -> String {
    quantity(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// What was recorded, as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    file: std::borrow::Cow<'a, str>,
    observations: u64,
    bytes: u64,
    dropped: u64,
    length_ms: u64,
    redaction: &'static str,
}

fn print(
    file: &Path,
    recorded: &Recorded,
    length: Duration,
    config: &Config,
    format: Format,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let redaction = config.recording.redaction.name();
    let Recorded { observations, bytes, dropped, .. } = *recorded;
    let file = file.to_string_lossy();
    if format == Format::Json {
        return Ok(json::write(
            &Document { schema: SCHEMA, file, observations, bytes, dropped, length_ms, redaction },
            to,
        )?);
    }
    let columns = [
        Column("FILE", Align::Left),
        Column("OBSERVATIONS", Align::Right),
        Column("BYTES", Align::Right),
        Column("DROPPED", Align::Right),
        Column("SECONDS", Align::Right),
        Column("REDACTION", Align::Left),
    ];
    let row = [
        escape_text(&file).into_owned(),
        observations.to_string(),
        bytes.to_string(),
        dropped.to_string(),
        (length_ms / 1_000).to_string(),
        redaction.to_owned(),
    ];
    Ok(table::print(format, columns, [row], to)?)
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        let failure = Self::new(Exit::File, error.to_string());
        match error {
            CreateError::Exists(_) => failure.hint("Name another file, or move that one away."),
            CreateError::Create { .. } | CreateError::Redact(_) => failure,
        }
    }
}
