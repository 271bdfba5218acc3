//! Commands that write to a cluster: `revoke`, `release`, `move-leader`, `disarm`.
//!
//! ```text
//! plan ──► --dry-run: print it
//!   └────► ask, or --yes ──► carry out ──► print what came of it
//! ```
//!
//! What there is to do is planned by a file each; how it is shown, confirmed, carried out and
//! judged is the same for all and told here.

use std::future::Future;
use std::io::Write;
use std::pin::{Pin, pin};

use super::args::{Command, WriteArgs};
use super::exit::{Exit, Failure, say};
use super::json::Style;
use super::reading::Reading;
use super::wait;
use crate::config::{Config, Format};
use crate::domain::write::{Confirmed, Write as Deed, WriteResult};
use crate::operate::{AuditLog, Operator, Outcome};
use crate::view::text::{command, escape, quantity};

mod ask;
mod disarm;
mod lead;
mod plan;
mod print;
mod release;
mod revoke;

pub use plan::Plan;

/// Runs a command that writes to its end; whether it is one.
///
/// # Errors
/// When it is refused, not confirmed, not done, or nobody knows whether it was.
pub async fn run(asked: &Command, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    if let Some(by) = &config.read_only
        && !asked.is_dry_run()
    {
        let what = format!("{by} refuses everything that writes to the cluster");
        return Err(Failure::new(Exit::BadInput, what).hint("--dry-run writes nothing, and shows what it would do."));
    }
    // One watch over the whole command: a signal between two of its parts must not be lost.
    let mut stop = Stop(pin!(wait::interrupted()));
    let (plan, reading, args) = match asked {
        Command::Revoke(args) => with(&args.write, stop.unless_told(Box::pin(revoke::plan(args, config))).await?),
        Command::Release(args) => with(&args.write, stop.unless_told(Box::pin(release::plan(args, config))).await?),
        Command::MoveLeader(args) => with(&args.write, stop.unless_told(Box::pin(lead::plan(args, config))).await?),
        Command::Disarm(args) => with(&args.write, stop.unless_told(Box::pin(disarm::plan(args, config))).await?),
        _ => return Ok(()),
    };
    let plan = plan.reached_by(&config.connection);
    let format = config.output.format.unwrap_or(Format::Simple);
    let style = Style { hex: config.output.hex };
    if args.dry_run {
        print::plan(&plan, reading.facts(), format, style, to)?;
        return Ok(());
    }
    if let Some(why) = &plan.nothing_to_do {
        say(format_args!("{why}"));
        return Ok(());
    }
    if !args.yes {
        stop.unless_told(confirm(&plan, &reading, style)).await?;
    }
    let operator = Operator::new(reading.pool().clone(), reading.clock().clone())
        .read_only(config.read_only.is_some())
        .audited(config.audit_log.as_deref().map(AuditLog::at));
    let mut outcomes = Vec::new();
    let mut ended = Ok(());
    for confirmed in &plan.confirmed {
        let outcome = match stop.unless_told(async { Ok(operator.carry_out(confirmed).await) }).await {
            Ok(outcome) => outcome,
            // With nothing to tell of those before it there is nothing to print.
            Err(failure) if outcomes.is_empty() => return Err(broken_off(failure, &plan)),
            Err(failure) => {
                ended = Err(broken_off(failure, &plan));
                break;
            }
        };
        let is_done = matches!(outcome.result, WriteResult::Done { .. });
        outcomes.push((confirmed, outcome));
        if !is_done {
            break;
        }
    }
    let printed = print::outcomes(&plan, reading.facts(), &outcomes, (format, args.yes), style, to)
        .and_then(|()| Ok(to.flush()?));
    // What came of it counts, whether somebody reads it or not.
    for (confirmed, outcome) in &outcomes {
        judge(&plan, confirmed, outcome)?;
    }
    ended.and(printed)
}

impl Command {
    /// Whether it is a write that is only shown.
    fn is_dry_run(&self) -> bool {
        let args = match self {
            Self::Revoke(args) => &args.write,
            Self::Release(args) => &args.write,
            Self::MoveLeader(args) => &args.write,
            Self::Disarm(args) => &args.write,
            _ => return false,
        };
        args.dry_run
    }
}

fn with(args: &WriteArgs, (plan, reading): (Plan, Reading)) -> (Plan, Reading, &WriteArgs) {
    (plan, reading, args)
}

/// Waits for a signal besides whatever is under way.
struct Stop<'a, F>(Pin<&'a mut F>);

impl<F: Future<Output = ()>> Stop<'_, F> {
    /// Runs something unless a signal says to end.
    async fn unless_told<T>(&mut self, what: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            // The signal first: what is always ready must not outrun it.
            biased;
            () = &mut self.0 => Err(Failure::Interrupted),
            ended = what => ended,
        }
    }
}

/// Has a person at the terminal type what it is about.
async fn confirm(plan: &Plan, reading: &Reading, style: Style) -> Result<(), Failure> {
    if !ask::is_possible() {
        return Err(Failure::new(Exit::BadInput, format!("{}: not without a confirmation", plan.title))
            .hint("There is no terminal to ask at. --dry-run shows what it would do, --yes does it."));
    }
    let mut shown = Vec::new();
    // Lines with tabs and JSON are for programs, and nobody confirms what they cannot read.
    print::plan(plan, reading.facts(), Format::Table, style, &mut shown)?;
    say(format_args!("{}", String::from_utf8_lossy(&shown)));
    ask::word(&format!("Type {} {}: ", plan.word.text(), to_do(&plan.blast.write)), &plan.word).await
}

/// What typing the word leads to.
const fn to_do(deed: &Deed) -> &'static str {
    match deed {
        Deed::Revoke { .. } => "to revoke it",
        Deed::Release { .. } => "to delete the key",
        Deed::MoveLeader { .. } => "to move the lead",
        Deed::Disarm(_) => "to disarm it",
    }
}

/// What is said when a signal comes while a write is under way.
fn broken_off(failure: Failure, plan: &Plan) -> Failure {
    match failure {
        Failure::Interrupted => Failure::new(
            Exit::Interrupted,
            format!("{}: interrupted while it was under way; it is unknown whether it was done", plan.title),
        )
        .hint(look(plan)),
        other => other,
    }
}

fn look(plan: &Plan) -> String {
    format!("Here is how to look: {}", command(&plan.blast.look))
}

/// What an outcome means for the exit code.
fn judge(plan: &Plan, confirmed: &Confirmed, outcome: &Outcome) -> Result<(), Failure> {
    let title = &plan.title;
    let has_code_of_its_own = matches!(outcome.result, WriteResult::Done { .. } | WriteResult::NotSent { .. });
    if let Some(error) = outcome.unlogged.as_ref().filter(|_| !has_code_of_its_own) {
        // What came of it weighs more than that nobody noted it.
        say(format_args!("lockscope: {error}"));
    }
    match (&outcome.result, &outcome.unlogged) {
        (WriteResult::NotSent { why }, Some(_)) => {
            Err(Failure::new(Exit::File, format!("{title}: not sent, so nothing was done: {why}")))
        }
        (WriteResult::Done { .. }, Some(error)) => {
            Err(Failure::new(Exit::File, format!("{title}: it was done, but {error}")))
        }
        (WriteResult::Done { .. }, None) => Ok(()),
        (WriteResult::Gone, _) => {
            Err(Failure::new(Exit::Error, format!("{title}: it is gone already; nothing was done")))
        }
        (WriteResult::NotSent { why }, None) => {
            Err(Failure::new(Exit::Error, format!("{title}: not sent, so nothing was done: {why}")))
        }
        (WriteResult::Refused { why }, _) => Err(Failure::new(Exit::Error, format!("{title}: refused: {why}"))),
        (WriteResult::Unknown { why }, _) => {
            let what = format!("{title}: it is unknown whether it was done: {why}");
            Err(Failure::new(Exit::Error, what).hint(look(plan)))
        }
        (WriteResult::Changed { now }, _) => {
            let keys = now.iter().map(|(key, created)| format!("\n  {} created at {created}", escape(key)));
            let shown = quantity(confirmed.shown.len(), "key");
            let what = format!(
                "{title}: nothing was done, because it is not what was shown any more. Shown were {shown}; now there {}:{}",
                if now.len() == 1 { "is" } else { "are" },
                if now.is_empty() { " none".to_owned() } else { keys.collect() },
            );
            Err(Failure::new(Exit::BadInput, what).hint("Run it again to see what it would do now."))
        }
    }
}
