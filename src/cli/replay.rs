//! `replay`: a recording in the dashboard, or what it comes to at its end.

use std::io::Write;
use std::path::Path;

use color_eyre::eyre::WrapErr as _;
use jiff::tz::TimeZone;

use super::args::ReplayArgs;
use super::exit::{Exit, Failure, say};
use super::json::Style;
use super::{dashboard, ls};
use crate::config::{Config, Format};
use crate::domain::{Revision, Timestamp};
use crate::model::ui::{Landed, Notice};
use crate::model::{Diagnosis, Facts};
use crate::record::{Item, OpenError, Reader, Trouble, last_time};
use crate::runtime;
use crate::runtime::replay::{Goal, Options, is_whole};
use crate::runtime::terminal::Terminal;
use crate::update::recorded;
use crate::view::text::quantity;

/// Shows a recording until it is left.
///
/// # Errors
/// When there is no terminal, or the file is no recording.
pub fn show(args: &ReplayArgs, config: Config) -> Result<(), Failure> {
    if let Some(lack) = Terminal::lacks() {
        return Err(Failure::new(Exit::BadInput, format!("the dashboard {lack}"))
            .hint("`lockscope replay FILE --headless` prints the locks at the end of a recording without one."));
    }
    let options =
        Options { file: args.file.clone(), at: args.at, speed: args.speed.unwrap_or_default(), follow: args.follow };
    dashboard::on_threads(runtime::replay(config, options))
}

/// Prints the locks as they were at the end of a recording, or where `--at` says.
///
/// # Errors
/// When the file is no recording, or cannot be read.
pub async fn run(args: &ReplayArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reader = Reader::open(&args.file)?;
    let begin = reader.header().at;
    let end = last_time(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let span = (begin, end.unwrap_or(begin).max(begin));
    let goal = args.at.map_or(Goal::End, |place| Goal::of(place, span, begin, &TimeZone::system()));
    if let Goal::Time(at) = goal
        && at < begin
    {
        return Err(before_begin(&when(at), span));
    }
    let mut facts = Facts::new(config.polling.budget);
    // A long one takes long, and this thread has to hear of Ctrl-C.
    let fed = tokio::task::spawn_blocking(move || {
        let read = feed(&mut reader, &mut facts, goal);
        (reader, facts, read)
    });
    let (reader, facts, read) = fed.await.wrap_err("the recording cannot be read").map_err(Failure::Unexpected)?;
    let read = read.map_err(|error| unreadable(&args.file, &error))?;
    if let (Goal::Revision(asked), Read::Stopped { before: Revision(0) }) = (goal, read)
        && asked < facts.link.revision
    {
        return Err(before_begin(&format!("revision {asked}"), span)
            .hint(format!("The first revision that it knows is {}: --at 'rev {0}'.", facts.link.revision)));
    }
    let format = config.output.format.unwrap_or(Format::Simple);
    let diagnosis = Diagnosis::of(&facts, &runtime::thresholds(&config.findings));
    ls::print(&facts, &diagnosis, args.all, format, Style { hex: config.output.hex }, to)?;
    to.flush()?;
    let lost = reader.partial();
    say_trouble(&args.file, reader.trouble());
    if let Read::All { ended: false } = read {
        say_truncated(&args.file, reader.place().line, lost);
    }
    if args.at.is_some() {
        say_landed(goal, read, span, &facts);
    }
    Ok(())
}

/// How far it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// To its end; whether that was the end of an orderly recording.
    All { ended: bool },
    /// To where it was to be; the revision before the observation that led there, 0 if it is the first.
    Stopped { before: Revision },
}

/// Feeds the facts up to the goal.
fn feed(reader: &mut Reader, facts: &mut Facts, goal: Goal) -> std::io::Result<Read> {
    let mut last = reader.header().at;
    let mut before = Revision(0);
    loop {
        let item = match reader.next_item()? {
            Some(item) => Some(item),
            None => reader.last_item(),
        };
        let Some(item) = item else {
            pass_time(facts, goal, last);
            return Ok(Read::All { ended: false });
        };
        if let Goal::Time(at) = goal
            && item.at() > at
        {
            recorded::pass_time(facts, at);
            return Ok(Read::Stopped { before });
        }
        last = last.max(item.at());
        match item {
            Item::Observed(observed) => recorded::observe(facts, observed),
            Item::Dropped(..) => {}
            Item::End(end) => {
                pass_time(facts, goal, end.at);
                return Ok(Read::All { ended: true });
            }
        }
        let Goal::Revision(asked) = goal else { continue };
        if facts.link.revision < asked {
            before = facts.link.revision;
        } else if is_whole(facts) {
            return Ok(Read::Stopped { before });
        }
    }
}

/// Lets the time pass up to the end, or to where it was to be if that is earlier.
fn pass_time(facts: &mut Facts, goal: Goal, end: Timestamp) {
    let until = if let Goal::Time(at) = goal { at.min(end) } else { end };
    recorded::pass_time(facts, until);
}

/// Says where it came to stand, if that is not where it was to be.
fn say_landed(goal: Goal, read: Read, (begin, end): (Timestamp, Timestamp), facts: &Facts) {
    let at = facts.link.revision;
    match (goal, read) {
        (Goal::Revision(asked), Read::All { .. }) if at < asked => {
            say(format_args!("lockscope: the recording ends at revision {at}, before revision {asked}"));
        }
        (Goal::Revision(asked), Read::Stopped { before }) if at != asked => {
            say(format_args!("lockscope: {}", Notice::Landed(Landed::Between { asked, before, at })));
        }
        (Goal::Time(asked), _) if asked > end => say(format_args!(
            "lockscope: the recording ends at {}, before {}: this is how it was at its end, revision {at}",
            when(end),
            when(asked)
        )),
        _ => {}
    }
    if !facts.link.listed {
        say(format_args!(
            "lockscope: by then not all locks were read once: the recording began at {}, and what is missing was not \
             known yet",
            when(begin)
        ));
    }
}

fn before_begin(what: &str, (begin, end): (Timestamp, Timestamp)) -> Failure {
    Failure::new(
        Exit::BadInput,
        format!("{what} is before the recording, which goes from {} to {}", when(begin), when(end)),
    )
}

/// A time with its day, as it is at this place.
fn when(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(instant) => TimeZone::system().to_datetime(instant).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "a time beyond the calendar".into(),
    }
}

/// Says that a recording was not ended in order.
pub fn say_truncated(file: &Path, line: u64, lost: usize) {
    let cut = match lost {
        0 => "no line is cut".to_owned(),
        lost => format!(
            "line {line} is cut, and {} of it {} lost",
            quantity(lost, "byte"),
            if lost == 1 { "is" } else { "are" }
        ),
    };
    say(format_args!(
        "lockscope: {} is truncated: it has no closing line, so it was cut off or is still being written; {cut}",
        file.display()
    ));
}

/// Says what could not be taken from a recording.
pub fn say_trouble(file: &Path, trouble: &Trouble) {
    let Trouble { broken, first_broken, unknown, dropped } = trouble;
    let file = file.display();
    if *broken > 0 {
        let first: Vec<String> = first_broken.iter().map(|(line, why)| format!("line {line} ({why})")).collect();
        let more = if *broken > first.len() as u64 { ", …" } else { "" };
        say(format_args!(
            "lockscope: {broken} broken {} of {file} passed over: {}{more}",
            if *broken == 1 { "line" } else { "lines" },
            first.join(", "),
        ));
    }
    if !unknown.is_empty() {
        let kinds: Vec<String> = unknown.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        say(format_args!(
            "lockscope: {file} has lines of kinds that this lockscope does not know, which are passed over: {}",
            kinds.join(", ")
        ));
    }
    if *dropped > 0 {
        say(format_args!(
            "lockscope: {} not in {file}, for the disk was too slow: what it shows may be wrong",
            if *dropped == 1 { "1 observation is".to_owned() } else { format!("{dropped} observations are") },
        ));
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::File, format!("cannot read the recording {}: {error}", file.display()))
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let failure = Self::new(Exit::File, error.to_string());
        match error {
            OpenError::NoRecording { .. } => {
                failure.hint("`lockscope record FILE` makes a recording, and so does --record FILE beside a screen.")
            }
            OpenError::Newer { .. } => failure.hint("A lockscope of that version can replay it."),
            _ => failure,
        }
    }
}
