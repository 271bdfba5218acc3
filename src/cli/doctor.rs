//! `doctor`: everything that is wrong, with its evidence and what to do about it.
//!
//! It looks at all that the other commands look at: locks, the time of every lease, members and
//! alarms. What it may not or cannot see keeps it from nothing else and is said.

use std::collections::{BTreeMap, HashMap, HashSet};
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
use crate::domain::{Key, Millis, Reach};
use crate::lang;
use crate::model::findings::Thresholds;
use crate::model::{Diagnosis, Facts, Finding, Severity};
use crate::runtime;
use crate::source::Watching;
use crate::view::text::{duration, quantity, remedy, sentence};

/// How many calls' time a look may take, and how many times the time that the budget wants.
const CALLS: u32 = 2;

/// The share of a look's time that is kept for asking the members once more: a fifth.
const RESERVE: u32 = 5;

/// So many infos of one kind are printed as lines.
const ALIKE: usize = 3;

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
    let thresholds = thresholds(config, args.length);
    lacks.extend(args.length.and_then(|length| unseen_waits(facts, &thresholds, Millis::from(length))));
    let diagnosis = Diagnosis::of(facts, &thresholds);
    // Whom infos matter to wants all of them.
    let all = args.fail_on.severity() == Severity::Info;
    let format = config.output.format.unwrap_or(Format::Simple);
    let shown = Shown { format, style: Style { hex: config.output.hex }, all, reach: &config.reach };
    let printed = lang::within(super::spoken(config), || print(facts, &diagnosis, &lacks, shown, to))
        .and_then(|()| Ok(to.flush()?));
    report(&reading, &diagnosis, &lacks, format, all);
    // What was found counts, whether somebody reads it or not.
    ending(&diagnosis, args.fail_on.severity(), facts.link.is_denied(), &lacks).map_or(printed, Err)
}

/// Why it does not end well, if it does not: an all-clear needs answers to all that was asked.
fn ending(diagnosis: &Diagnosis, fail_on: Severity, denied: bool, lacks: &[Unseen]) -> Option<Failure> {
    match diagnosis.findings().iter().map(|finding| finding.severity).max() {
        Some(worst) if worst >= fail_on => Some(Failure::Found),
        _ if denied => Some(Failure::Refused),
        _ if !is_complete(lacks) => Some(Failure::Unanswered),
        _ => None,
    }
}

/// Reads what is there now, each thing once: the members first, who say whether there is anybody to
/// ask for the rest.
///
/// A look ends, whatever the cluster does: members and locks have twice the time of one call, leases
/// twice as long as they need by the budget on top of it. Some of it is kept for asking the members
/// once more.
async fn look(reading: &mut Reading, config: &Config, lacks: &mut Vec<Unseen>) -> Result<(), Failure> {
    let watching = reading::watching(config);
    let mut deadline = Instant::now() + time(config);
    let reserve = time(config) / RESERVE;
    let members = reading.members_or_self(deadline - reserve).await;
    if watching == Watching::Discover && reading.has_no_quorum() {
        lacks.extend(members);
        lacks.push(Unseen::unanswered("locks", NO_QUORUM));
        return Ok(());
    }
    let quorum_lost = reading.quorum_lost();
    let listed = tokio::select! {
        listed = timeout_at(deadline - reserve, reading.list(&watching)) => listed.unwrap_or_else(|_| Err(late(config))),
        () = quorum_lost => Err(Failure::new(Exit::Error, NO_QUORUM)),
    };
    match listed {
        Err(failure @ Failure::Said { exit: Exit::Connect, .. }) => return Err(failure),
        Err(failure) => {
            reading.forget_keys();
            // What is wrong may only just have begun.
            lacks.extend(reading.members_or_self(deadline).await);
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
    reading.poll_until(leases, deadline - reserve).await;
    // Who was silent at first may be back.
    if reading.facts().cluster.members().iter().any(|member| member.error.is_some()) {
        lacks.extend(reading.members_or_self(deadline).await);
    }
    Ok(())
}

/// The time that a look at members and locks has.
fn time(config: &Config) -> Duration {
    CALLS * config.connection.command_timeout
}

/// Why a list that takes too long was given up.
fn late(config: &Config) -> Failure {
    let whole = duration(Millis::from(time(config)));
    let what = format!("they were not read in time: a look takes {whole} at most (twice --command-timeout)");
    Failure::new(Exit::Error, what)
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
        lacks.extend(reading.members_or_self(Instant::now() + time(config)).await);
    }
    Ok(())
}

/// Says on standard error what there is to say besides the findings.
fn report(reading: &Reading, diagnosis: &Diagnosis, lacks: &[Unseen], format: Format, all: bool) {
    reading.report_denied();
    if diagnosis.findings().is_empty() {
        let all = lacks.is_empty() && reading.facts().link.denied.is_empty();
        let seen = if all { "" } else { " in what was seen" };
        say(format_args!("lockscope: nothing is wrong{seen}"));
    } else if format != Format::Json {
        let (_, left_out) = shown(diagnosis.findings(), all);
        say(format_args!("lockscope: {}", summary(diagnosis.findings(), &left_out)));
    }
    for Unseen { what, why, unanswered } in lacks {
        if *unanswered {
            say(format_args!("no answer: {what}: {why}"));
        } else {
            say(format_args!("not seen: {what}: {why}"));
        }
    }
}

/// From when on something counts for such a look.
fn thresholds(config: &Config, watched: Option<Duration>) -> Thresholds {
    let thresholds = runtime::thresholds(&config.findings);
    match watched {
        None => thresholds.at_one_look(),
        // Who says how long a wait is worth knowing of means it.
        Some(_) if config.findings.kept_waiting.is_some() => thresholds,
        Some(length) => thresholds.while_watched(Millis::from(length)),
    }
}

/// When it was watched for too short a time to tell of those who wait behind a client that renews.
fn unseen_waits(facts: &Facts, thresholds: &Thresholds, watched: Millis) -> Option<Unseen> {
    let enough = thresholds.too_short_for_waits(watched)?;
    let waits = facts.locks().any(|lock| lock.has_etcd_leases() && lock.waiter_count() > 0);
    let why = format!("watched for {}; long-hold tells of it from --for {} on", duration(watched), duration(enough));
    waits.then(|| Unseen::new("whether a client renews and does nothing while others wait", why))
}

/// The findings that are printed as lines, and those that are left out: infos that say the same of
/// one lock more, or of a lock that a graver finding names already. Nothing shall bury what is wrong.
fn shown(findings: &[Finding], all: bool) -> (Vec<&Finding>, Vec<&Finding>) {
    let grave: HashSet<&Key> = findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info)
        .flat_map(|finding| &finding.locks)
        .collect();
    let mut alike: HashMap<&str, usize> = HashMap::new();
    findings.iter().partition(|finding| {
        if all || finding.severity > Severity::Info {
            return true;
        }
        if !finding.locks.is_empty() && finding.locks.iter().all(|lock| grave.contains(lock)) {
            return false;
        }
        let seen = alike.entry(finding.code).or_default();
        *seen += 1;
        *seen <= ALIKE
    })
}

/// How many findings there are of each severity, and which of them are left out.
fn summary(findings: &[Finding], left_out: &[&Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counted = [(Severity::Error, "error"), (Severity::Warn, "warning"), (Severity::Info, "info")]
        .map(|(severity, noun)| (count(severity), noun));
    let counted: Vec<_> =
        counted.iter().filter(|(count, _)| *count > 0).map(|&(count, noun)| quantity(count, noun)).collect();
    if left_out.is_empty() {
        return counted.join(", ");
    }
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in left_out {
        *codes.entry(finding.code).or_default() += 1;
    }
    let codes: Vec<_> = codes.iter().map(|(code, count)| format!("{count} {code}")).collect();
    format!(
        "{}; left out because they repeat: {} (-w json and --fail-on info have them)",
        counted.join(", "),
        codes.join(", ")
    )
}

/// How findings are printed.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// As what.
    format: Format,
    /// How texts are.
    style: Style,
    /// Whether lines are left out for nothing.
    all: bool,
    /// What leads the commands to the cluster.
    reach: &'a Reach,
}

/// Prints the findings, the worst first.
pub fn print(
    facts: &Facts,
    diagnosis: &Diagnosis,
    unseen: &[Unseen],
    Shown { format, style, all, reach }: Shown<'_>,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Doctor { facts, diagnosis, unseen, style, reach }, to)?);
    }
    let left = |name| Column(name, Align::Left);
    let columns = ["SEVERITY", "CODE", "LOCKS", "EVIDENCE", "REMEDY"].map(left);
    Ok(table::print(
        format,
        columns,
        shown(diagnosis.findings(), all).0.into_iter().map(|finding| row(finding, style, reach)),
        to,
    )?)
}

fn row(finding: &Finding, style: Style, reach: &Reach) -> [String; 5] {
    [
        finding.severity.name().into(),
        finding.code.into(),
        finding.locks.iter().map(|name| table::name(name, style)).collect::<Vec<_>>().join(","),
        sentence(&finding.evidence),
        // What a terminal would obey is quoted for the shell.
        remedy(&finding.remedy, reach),
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
        reached(model, format, &Reach::default())
    }

    fn reached(model: &Model, format: Format, reach: &Reach) -> String {
        let mut out = Vec::new();
        let unseen = unseen(model.shown(), false, None);
        let how = Shown { format, style: Style::default(), all: false, reach };
        print(model.shown(), model.diagnosis(), &unseen, how, &mut out).unwrap();
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
    fn an_all_clear_needs_answers_and_not_the_right_to_see_everything() {
        let ended = |model: &Model, fail_on, lacks: &[Unseen]| match ending(model.diagnosis(), fail_on, false, lacks) {
            Some(Failure::Found) => 8,
            Some(Failure::Unanswered) => 1,
            Some(other) => panic!("{other:?}"),
            None => 0,
        };
        let calm = sample::locks();
        let refused = [Unseen::new("the time of 2 leases", "permission denied")];
        let silent = [Unseen::unanswered("locks", "they were not read within 10s")];
        assert_eq!(ended(&calm, Severity::Error, &[]), 0);
        assert_eq!(ended(&calm, Severity::Error, &refused), 0);
        assert_eq!(ended(&calm, Severity::Error, &silent), 1);
        assert_eq!(ended(&calm, Severity::Info, &silent), 8, "what was found goes before what was not");
        assert_eq!(ended(&stuck(), Severity::Error, &silent), 8);
    }

    #[test]
    fn a_finding_is_a_line_that_starts_with_how_bad_it_is() {
        let text = printed(&stuck(), Format::Simple);
        let first: Vec<_> = text.lines().next().unwrap().split('\t').collect();
        assert_eq!(first[..3], ["error", "holder-without-lease", "/jobs/it's"]);
        assert_eq!(first[4], "lockscope release '/jobs/it'\\''s'");
        assert!(printed(&stuck(), Format::Table).contains("| SEVERITY "));
    }

    #[test]
    fn a_remedy_goes_to_the_cluster_that_was_named() {
        let reach = Reach { flags: vec![("endpoints", "a:1".into())], ..Reach::default() };
        let expected = "lockscope --endpoints a:1 release '/jobs/it'\\''s'";
        let text = reached(&stuck(), Format::Simple, &reach);
        assert_eq!(text.lines().next().unwrap().split('\t').nth(4), Some(expected));
        let document: Value = serde_json::from_str(&reached(&stuck(), Format::Json, &reach)).unwrap();
        let remedies: Vec<_> = document["findings"].as_array().unwrap().iter().map(|one| &one["remedy"]).collect();
        assert!(remedies.contains(&&json!(expected)), "{remedies:?}");
    }

    fn finding(code: &'static str, severity: Severity, locks: &[&str]) -> Finding {
        let words = crate::domain::Sentence::new("x");
        let finding = Finding { code, ..Finding::new(severity, words.clone(), words) };
        locks.iter().fold(finding, |finding, &lock| finding.lock(lock))
    }

    #[test]
    fn infos_that_repeat_are_counted_and_bury_nothing() {
        let mut findings = vec![finding("deadlock", Severity::Error, &["/a", "/b"])];
        findings.push(finding("shared-lease", Severity::Info, &["/a", "/b"]));
        findings.push(finding("shared-lease", Severity::Info, &["/b", "/c"]));
        findings.extend(["/c", "/d", "/e", "/f"].map(|lock| finding("long-ttl", Severity::Info, &[lock])));
        findings.push(finding("leader-changed", Severity::Info, &[]));
        let (lines, left_out) = shown(&findings, false);
        let codes: Vec<_> = lines.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["deadlock", "shared-lease", "long-ttl", "long-ttl", "long-ttl", "leader-changed"]);
        assert_eq!(
            summary(&findings, &left_out),
            "1 error, 7 infos; left out because they repeat: 1 long-ttl, 1 shared-lease (-w json and --fail-on info have them)"
        );
        assert_eq!(summary(&findings[..1], &[]), "1 error");
        assert!(shown(&findings, true).1.is_empty());
    }
}
