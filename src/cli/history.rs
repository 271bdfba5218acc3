//! `history`: who held a lock from which revision to which, rebuilt from what etcd still has.
//!
//! Handoffs are printed while they are read, the oldest first, so that a long past needs no more
//! memory than a short one. It is not looked up whether there is such a lock now: one whose keys
//! are all gone has a past as well.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};

use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until};
use tracing::debug;

use super::args::HistoryArgs;
use super::exit::{Exit, Failure, say};
use super::given::Given;
use super::json::{self, Style};
use super::reading::Reading;
use super::show;
use super::table::{self, Align, Column};
use crate::config::{Config, Format};
use crate::domain::{ClusterId, Key, KeyRange};
use crate::event::{Denied, Past};
use crate::model::{Handoff, Handoffs, Turn};
use crate::port::PortError;
use crate::source::{self, SourceError};
use crate::view::text::{escape, grouped};

/// Parts that wait to be printed.
const PARTS: usize = 4;
/// How long an election is waited for before the next try.
const AGAIN: Duration = Duration::from_millis(200);
/// Who waits longer than this is told how far it is, and then that often.
const SAY_EVERY: Duration = Duration::from_millis(500);

/// Reads the past of one lock and prints it.
///
/// # Errors
/// When the cluster cannot be read, or there neither is nor was such a lock.
pub async fn run(args: &HistoryArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let given = Given::of(args.lock.as_encoded_bytes(), config.output.hex);
    let mut reading = Reading::connect(config).await?;
    let mut denied = Vec::new();
    if given.names().len() > 1 {
        // What is the name of one lock and how that of another is printed has to be told apart
        // before the first line of either is.
        show::locate(&mut reading, config, &given).await?;
    }
    for name in given.names() {
        // A queue goes before a single key of the same name, as in `show`.
        for range in [KeyRange::prefix(&[name, &b"/"[..]].concat()), KeyRange::single(name)] {
            let mut printer = Printer::new(args, config, reading.cluster(), &mut *to);
            let past = Handoffs::of(Key::from(&name[..]));
            match read(&mut reading, config, past, range.clone(), args, &mut printer).await? {
                Read::Found(past) => return printer.end(&past),
                Read::Nothing => {}
                Read::Denied { user, why } => denied.push(Denied { range, user, why }),
            }
        }
    }
    let own = show::read(&mut reading, config, &given).await?;
    denied.extend(own);
    Err(show::missing(&reading, &given, &denied))
}

/// What came of reading.
enum Read {
    Found(Box<Handoffs>),
    Nothing,
    Denied { user: String, why: String },
}

/// Reads the past of one range. While the members elect a leader it tries again for as long as
/// one call may take.
async fn read(
    reading: &mut Reading,
    config: &Config,
    past: Handoffs,
    range: KeyRange,
    args: &HistoryArgs,
    printer: &mut Printer<'_, impl Write>,
) -> Result<Read, Failure> {
    let give_up = Instant::now() + config.connection.command_timeout;
    loop {
        let mut past = past.clone();
        let ended = read_once(reading, range.clone(), args, &mut past, printer).await;
        let error = match ended {
            Ok(()) if past.recognised().is_some() => return Ok(Read::Found(Box::new(past))),
            Ok(()) => return Ok(Read::Nothing),
            Err(Ended::Print(failure)) => return Err(failure),
            Err(Ended::Source(SourceError::Port(PortError::Denied { user, why, .. }))) => {
                return Ok(Read::Denied { user, why });
            }
            Err(Ended::Source(error)) => error,
        };
        let passing = matches!(error, SourceError::Port(PortError::NoLeader { .. } | PortError::Unreachable { .. }));
        let again = Instant::now() + AGAIN;
        // What was printed cannot be told anew.
        if !passing || again > give_up || printer.told > 0 {
            return Err(error.into());
        }
        debug!(%error, "reading again");
        sleep_until(again).await;
        reading.connect_again().await?;
    }
}

enum Ended {
    Source(SourceError),
    Print(Failure),
}

async fn read_once(
    reading: &Reading,
    range: KeyRange,
    args: &HistoryArgs,
    past: &mut Handoffs,
    printer: &mut Printer<'_, impl Write>,
) -> Result<(), Ended> {
    let (parts, mut told) = mpsc::channel(PARTS);
    let serializable = reading.connected().is_leaderless();
    let ask = source::Ask { range, since: args.since, most: None, serializable };
    let reader = source::read_past(&reading.connected().client, ask, &parts);
    tokio::pin!(reader);
    let ended = loop {
        tokio::select! {
            // What was read is taken in before the end of reading is.
            biased;
            Some(piece) = told.recv() => printer.take(past, piece, reading).map_err(Ended::Print)?,
            ended = &mut reader => break ended,
        }
    };
    while let Ok(piece) = told.try_recv() {
        printer.take(past, piece, reading).map_err(Ended::Print)?;
    }
    ended.map_err(Ended::Source)?;
    printer.take(past, Past::Ended { why: None }, reading).map_err(Ended::Print)
}

/// Prints handoffs as they come.
struct Printer<'a, W: Write> {
    to: &'a mut W,
    format: Format,
    style: Style,
    json: json::History,
    /// How many handoffs are wanted at most, the newest; 0 is all.
    limit: usize,
    /// The newest ones, when not all are wanted.
    kept: VecDeque<Handoff>,
    omitted: u64,
    /// How many handoffs were printed.
    told: u64,
    /// The rows of a table, which can be drawn only when all are known.
    rows: Vec<[String; 9]>,
    progress: Progress,
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(args: &HistoryArgs, config: &Config, cluster: ClusterId, to: &'a mut W) -> Self {
        let style = Style { hex: config.output.hex };
        Self {
            to,
            format: config.output.format.unwrap_or(Format::Simple),
            style,
            json: json::History::new(cluster, style),
            limit: args.limit,
            kept: VecDeque::new(),
            omitted: 0,
            told: 0,
            rows: Vec::new(),
            progress: Progress::new(),
        }
    }

    fn take(&mut self, past: &mut Handoffs, piece: Past, reading: &Reading) -> Result<(), Failure> {
        match &piece {
            Past::Begun { since, to, .. } if since.0 > to.0 + 1 => {
                let what = format!("revision {since} is not there yet: the store is at revision {to}");
                return Err(Failure::new(Exit::BadInput, what));
            }
            Past::Compacted { from, to } => {
                self.progress.clear();
                say(format_args!(
                    "lockscope: revisions {} to {to} were compacted while they were read; it goes on behind them",
                    from.next()
                ));
            }
            _ => {}
        }
        past.take(reading.now(), piece);
        let before = self.told;
        while let Some(handoff) = past.next_handoff() {
            if self.limit == 0 {
                self.print(past, &handoff)?;
                continue;
            }
            if self.kept.len() == self.limit {
                self.kept.pop_front();
                self.omitted += 1;
            }
            self.kept.push_back(handoff);
        }
        if self.told > before && self.format != Format::Table {
            self.to.flush()?;
        } else {
            self.progress.say(past);
        }
        Ok(())
    }

    fn print(&mut self, past: &Handoffs, handoff: &Handoff) -> Result<(), Failure> {
        self.progress.clear();
        self.told += 1;
        if self.format == Format::Json {
            return Ok(self.json.write(past, handoff, self.to)?);
        }
        let Handoff { revision, from, to, cause } = handoff;
        let keys: Vec<_> = to.iter().map(|turn| table::text(&turn.key, self.style)).collect();
        let owner = |turn: &Turn| turn.owner.as_ref().map(|owner| escape(owner.as_bytes()).into_owned());
        let row = [
            revision.to_string(),
            table::text(&from.key, self.style),
            table::lease(from.lease),
            from.create_revision.to_string(),
            from.from.map(|from| from.to_string()).unwrap_or_default(),
            json::cause(*cause).into(),
            keys.join(","),
            owner(from).unwrap_or_default(),
            to.iter().filter_map(owner).collect::<Vec<_>>().join(","),
        ];
        if self.format == Format::Table {
            self.rows.push(row);
            return Ok(());
        }
        Ok(table::line(&row, self.to)?)
    }

    /// Prints what is left, and says what could not be told.
    fn end(mut self, past: &Handoffs) -> Result<(), Failure> {
        self.progress.clear();
        for handoff in std::mem::take(&mut self.kept) {
            self.print(past, &handoff)?;
        }
        match self.format {
            Format::Json => self.json.end(past, self.omitted, self.to)?,
            Format::Table => table::print(self.format, columns(), std::mem::take(&mut self.rows), self.to)?,
            Format::Simple => {}
        }
        self.to.flush()?;
        if let Some(compacted) = past.compacted() {
            say(format_args!("lockscope: compacted at {compacted}: nothing older can be told"));
        }
        if self.told == 0 {
            let holders = match past.turns() {
                [] => "nobody holds it",
                [_] => "one client holds it",
                _ => "several clients hold it",
            };
            match past.first_told() {
                Some(since) => say(format_args!("lockscope: no handoff since revision {since}; {holders}")),
                None => say(format_args!("lockscope: there is no later revision; {holders}")),
            }
        }
        Ok(())
    }
}

fn columns() -> [Column; 9] {
    let left = |name| Column(name, Align::Left);
    let right = |name| Column(name, Align::Right);
    [
        right("REVISION"),
        left("FROM"),
        left("LEASE"),
        right("TOKEN"),
        right("HELD SINCE"),
        left("CAUSE"),
        left("TO"),
        left("OWNER"),
        left("NEXT OWNER"),
    ]
}

/// A line on a terminal's standard error that says how far it is, for those who wait.
struct Progress {
    is_terminal: bool,
    next: Instant,
    shown: bool,
}

impl Progress {
    fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), next: Instant::now() + SAY_EVERY, shown: false }
    }

    fn say(&mut self, past: &Handoffs) {
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        let (told, to) = (grouped(past.told().0), grouped(past.to().0));
        // When standard error is closed there is nobody left to tell.
        let _ = write!(io::stderr(), "\rreading the past: revision {told} of {to} ");
        self.next = Instant::now() + SAY_EVERY;
        self.shown = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
