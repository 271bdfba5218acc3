//! `doctor`: everything that is wrong, with its evidence and what to do about it.
//!
//! It looks at all that the other commands look at: locks, the time of every lease, members and
//! alarms. What it may not or cannot see keeps it from nothing else and is said.

use std::io::Write;

use tokio::time::{Duration, Instant, timeout_at};

use super::args::DoctorArgs;
use super::exit::{Exit, Failure, say};
use super::json::{self, Style};
use super::leases;
use super::live::{self, Watched};
use super::reading::{self, Reading};
use super::table::{self, Align, Column};
use super::unseen::{Unseen, is_complete, unseen};
use crate::config::{Config, Format, TtlPolicy};
use crate::domain::Millis;
use crate::model::{Diagnosis, Facts, Finding};
use crate::runtime;
use crate::source::Watching;
use crate::view::text::{command, duration, sentence};

/// How many calls' time a look may take, and how many times the time that the budget wants.
const CALLS: u32 = 2;

/// Why no lock is found without a quorum.
const NO_QUORUM: &str = "finding them through their leases needs a quorum; \
    with --prefix what one member has is read";

/// Looks at the cluster and prints what is wrong.
///
/// # Errors
/// When it cannot be reached, when nothing of it may be read, and with an exit code of its own
/// when something as bad as `--fail-on` was found.
pub async fn run(args: &DoctorArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reading = Reading::connect(config).await?;
    let mut lacks = Vec::new();
    match args.length {
        Some(length) => watch(&mut reading, config, length, &mut lacks).await?,
        None => look(&mut reading, config, &mut lacks).await?,
    }
    let facts = reading.facts();
    lacks.extend(unseen(facts, args.length.is_some(), reading.unanswered()));
    let thresholds = runtime::thresholds(&config.findings);
    let thresholds = if args.length.is_some() { thresholds } else { thresholds.at_one_look() };
    let diagnosis = Diagnosis::of(facts, &thresholds);
    let format = config.output.format.unwrap_or(Format::Simple);
    let printed =
        print(facts, &diagnosis, &lacks, format, Style { hex: config.output.hex }, to).and_then(|()| Ok(to.flush()?));
    report(&reading, &diagnosis, &lacks);
    // What was found counts, whether somebody reads it or not.
    match diagnosis.findings().iter().map(|finding| finding.severity).max() {
        Some(worst) if worst >= args.fail_on.severity() => Err(Failure::Found),
        _ if facts.link.is_denied() => Err(Failure::Refused),
        _ if !is_complete(&lacks) => Err(Failure::Unanswered),
        _ => printed,
    }
}

/// Reads what is there now, each thing once: the members first, who say whether there is anybody to
/// ask for the rest.
///
/// A look ends, whatever the cluster does: members and locks have twice the time of one call, leases
/// twice as long as they need by the budget on top of it.
async fn look(reading: &mut Reading, config: &Config, lacks: &mut Vec<Unseen>) -> Result<(), Failure> {
    let watching = reading::watching(config);
    let mut deadline = Instant::now() + CALLS * config.connection.command_timeout;
    let members = reading.members_or_self().await;
    if watching == Watching::Discover && reading.has_no_quorum() {
        lacks.extend(members);
        lacks.push(Unseen::unanswered("locks", NO_QUORUM));
        return Ok(());
    }
    let listed = timeout_at(deadline, reading.list(&watching)).await.unwrap_or_else(|_| Err(late(config)));
    match listed {
        Err(failure @ Failure::Said { exit: Exit::Connect, .. }) => return Err(failure),
        Err(failure) => {
            reading.forget_keys();
            // What is wrong may only just have begun.
            lacks.extend(reading.members_or_self().await);
            lacks.push(Unseen::unanswered("locks", failure.words()));
            return Ok(());
        }
        Ok(()) => lacks.extend(members),
    }
    let leases = match config.polling.ttl.unwrap_or(TtlPolicy::All) {
        TtlPolicy::Holders => super::ls::holders(reading.facts(), false),
        TtlPolicy::All => leases::ids(reading.facts()),
        TtlPolicy::None => Vec::new(),
    };
    deadline += reading.time_for(leases.len()) * CALLS;
    reading.poll_until(leases, deadline).await;
    Ok(())
}

/// Why a list that takes too long was given up.
fn late(config: &Config) -> Failure {
    let whole = CALLS * config.connection.command_timeout;
    Failure::new(Exit::Error, format!("they were not read within {}", duration(Millis::from(whole))))
        .hint("--command-timeout sets how long one call may take; a look takes twice as long at most.")
}

/// Watches for a while, as the dashboard does.
async fn watch(
    reading: &mut Reading,
    config: &Config,
    length: Duration,
    lacks: &mut Vec<Unseen>,
) -> Result<(), Failure> {
    let Watched { model, silent_leases } = live::watch_for(config, length).await?;
    reading.put(model);
    let facts = reading.facts();
    let (listed, live) = (facts.link.listed || facts.link.is_denied(), facts.link.is_live());
    if !listed {
        lacks.push(Unseen::unanswered("locks", "not all of them were read in that time"));
    } else if !live {
        lacks.push(Unseen::unanswered("what happened in the end", "the connection was lost"));
    }
    if silent_leases {
        lacks.push(Unseen::unanswered("the time of the leases", "those that were asked last gave no answer"));
    }
    if facts.cluster.members().is_empty() {
        lacks.extend(reading.members_or_self().await);
    }
    Ok(())
}

/// Says on standard error what there is to say besides the findings.
fn report(reading: &Reading, diagnosis: &Diagnosis, lacks: &[Unseen]) {
    reading.report_denied();
    if diagnosis.findings().is_empty() {
        let all = lacks.is_empty() && reading.facts().link.denied.is_empty();
        let seen = if all { "" } else { " in what was seen" };
        say(format_args!("lockscope: nothing is wrong{seen}"));
    }
    for Unseen { what, why, unanswered } in lacks {
        if *unanswered {
            say(format_args!("no answer: {what}: {why}"));
        } else {
            say(format_args!("not seen: {what}: {why}"));
        }
    }
}

/// Prints the findings, the worst first.
pub fn print(
    facts: &Facts,
    diagnosis: &Diagnosis,
    unseen: &[Unseen],
    format: Format,
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Doctor { facts, diagnosis, unseen, style }, to)?);
    }
    let left = |name| Column(name, Align::Left);
    let columns = ["SEVERITY", "CODE", "LOCKS", "EVIDENCE", "REMEDY"].map(left);
    Ok(table::print(format, columns, diagnosis.findings().iter().map(|finding| row(finding, style)), to)?)
}

fn row(finding: &Finding, style: Style) -> [String; 5] {
    [
        finding.severity.name().into(),
        finding.code.into(),
        finding.locks.iter().map(|name| table::text(name, style)).collect::<Vec<_>>().join(","),
        sentence(&finding.evidence),
        // What a terminal would obey is quoted for the shell.
        command(&finding.remedy),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample::{self, FIRST, SECOND, key, list, ttl};
    use crate::domain::LeaseId;
    use crate::model::Model;

    /// A queue whose first key has no lease, and one in order.
    fn stuck() -> Model {
        let mut all = list(vec![
            key(b"/jobs/it's/694d82254d5fa305", LeaseId::NONE, 83_004, b""),
            key(b"/jobs/it's/694d82254d5fa307", SECOND, 83_010, b""),
            key(b"/jobs/reindex/694d82254d5fa305", FIRST, 83_011, b""),
        ]);
        all.push(ttl(FIRST, 60, 6));
        sample::model(all)
    }

    fn printed(model: &Model, format: Format) -> String {
        let mut out = Vec::new();
        let unseen = unseen(model.shown(), false, None);
        print(model.shown(), model.diagnosis(), &unseen, format, Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let document: Value = serde_json::from_str(&printed(&stuck(), Format::Json)).unwrap();
        assert_eq!((&document["schema"], &document["denied"]), (&json!("lockscope/1"), &json!([])));
        let all = document["findings"].as_array().unwrap();
        let finding = all.iter().find(|finding| finding["code"] == "holder-without-lease").unwrap();
        let expected = json!({
            "code": "holder-without-lease", "severity": "error", "locks": ["/jobs/it's"], "leases": [],
            "keys": ["/jobs/it's/694d82254d5fa305"], "members": [],
            "since": "2023-11-14T22:13:20.000Z", "since_exact": false,
            "evidence": {
                "text": finding["evidence"]["text"], "key": "/jobs/it's/694d82254d5fa305", "revision": 83_004,
                "held_ms": 120, "waiters": 1,
            },
            "why": finding["why"], "advice": finding["advice"], "remedy": "lockscope release '/jobs/it'\\''s'",
        });
        assert_eq!(*finding, expected);
        assert!(finding["evidence"]["text"].as_str().unwrap().ends_with("; 1 waiter blocked"), "{finding}");
    }

    #[test]
    fn what_could_not_be_seen_is_told() {
        let document: Value = serde_json::from_str(&printed(&stuck(), Format::Json)).unwrap();
        let what: Vec<_> = document["unseen"].as_array().unwrap().iter().map(|unseen| &unseen["what"]).collect();
        assert_eq!(what, ["alarms", "the time of 1 lease", "whether 1 lease is renewed"]);
        let document: Value = serde_json::from_str(&printed(&sample::members(), Format::Json)).unwrap();
        assert_eq!(document["unseen"], json!([{"what": "member c\\x1b[2J", "why": "connection refused"}]));
    }

    #[test]
    fn a_finding_is_a_line_that_starts_with_how_bad_it_is() {
        let text = printed(&stuck(), Format::Simple);
        let first: Vec<_> = text.lines().next().unwrap().split('\t').collect();
        assert_eq!(first[..3], ["error", "holder-without-lease", "/jobs/it's"]);
        assert_eq!(first[4], "lockscope release '/jobs/it'\\''s'");
        assert!(printed(&stuck(), Format::Table).contains("| SEVERITY "));
    }
}
