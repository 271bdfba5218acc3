//! `play`: simulated clients on a cluster of others, which touch only what is their own.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::args::PlayArgs;
use super::exit::{Exit, Failure};
use super::json::{self, Style};
use super::performance::{Performance, Played, unless_told_to_stop};
use super::piece::Piece;
use super::table::{self, Align, Column};
use super::{dashboard, outcome, reading, wait};
use crate::config::{Config, Format};
use crate::domain::raft::{ClusterTime, Speed};
use crate::pace::Reins;
use crate::playground::scenario::library;
use crate::playground::{Begin, Scenario};
use crate::runtime::terminal::Terminal;
use crate::{lang, runtime, say, source};

/// How long a cluster of others may take until the clients can begin.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lists the scenarios, checks a file, or plays without a screen and prints what came of it.
///
/// # Errors
/// When there is no such scenario or it cannot be played here, nobody can be reached, somebody
/// else plays, somebody breaks off, or an expectation is not met.
pub fn run(args: &PlayArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let format = config.output.format.unwrap_or(Format::Simple);
    if args.list {
        return list(&library::all()?, format, to);
    }
    if let Some(path) = &args.check {
        return check(path, to);
    }
    let piece = piece(args, config)?;
    let seed = seed(args);
    let played = wait::block_on(&mut Builder::new_multi_thread(), headless(&piece, args, config, seed))?;
    // What is left behind is said even where nobody reads the rest.
    let printed = outcome::print(&played.summary, format, Style { hex: config.output.hex }, to);
    let printed = printed.and_then(|()| Ok(to.flush()?));
    if played.remains.is_none() {
        printed?;
    }
    outcome::judge_played(&played)
}

/// Shows the dashboard on the cluster while the clients play.
///
/// # Errors
/// When they cannot begin, the dashboard cannot be shown, or a signal ended it.
pub fn show(args: &PlayArgs, config: Config) -> Result<(), Failure> {
    // What cannot be played at all is said first.
    let piece = piece(args, &config)?;
    if let Some(lack) = Terminal::lacks() {
        return Err(Failure::new(Exit::BadInput, format!("the dashboard of a run {lack}"))
            .hint("--headless --for 15s prints a summary instead and needs none."));
    }
    let (seed, args) = (seed(args), args.clone());
    dashboard::on_threads(async move {
        let reins = Reins::start(ClusterTime(0), Speed::default());
        let beginning = begin(&piece, &args, &config, seed, &reins);
        let performance = unless_told_to_stop(beginning).await.ok_or(Failure::Interrupted)??;
        let (begun, begins) = oneshot::channel();
        // The dashboard listens from the beginning.
        let _ = begun.send(performance.shown());
        let ended = runtime::dashboard(config, None, Some(begins)).await;
        // What clients have on a cluster of others is theirs to take back, whoever waits for it.
        let remains = performance.end(&piece, seed).await.remains;
        let ended = ended?;
        match remains {
            Some(remains) => Err(Failure::new(Exit::Error, remains.to_string())),
            None => Ok::<_, Failure>(ended),
        }
    })
}

fn piece(args: &PlayArgs, config: &Config) -> Result<Piece, Failure> {
    if let Some(by) = &config.read_only {
        return Err(Failure::new(
            Exit::BadInput,
            format!("clients that play write to the cluster, and {by} refuses that"),
        ));
    }
    // Clap sees to it that there is one.
    Piece::on_a_cluster(args.scenario.as_deref().unwrap_or_default(), &args.cast)
}

fn seed(args: &PlayArgs) -> u64 {
    args.seed.unwrap_or_else(runtime::clock::any_seed)
}

async fn headless(piece: &Piece, args: &PlayArgs, config: &Config, seed: u64) -> Result<Played, Failure> {
    let reins = Reins::start(ClusterTime(0), Speed::default());
    let beginning = begin(piece, args, config, seed, &reins);
    let performance = unless_told_to_stop(beginning).await.ok_or(Failure::Interrupted)??;
    let ended = unless_told_to_stop(tokio::time::sleep(args.length.unwrap_or_default())).await;
    let played = performance.end(piece, seed).await;
    Ok(Played { broken_off: ended.is_none(), ..played })
}

async fn begin(
    piece: &Piece,
    args: &PlayArgs,
    config: &Config,
    seed: u64,
    reins: &Reins,
) -> Result<Performance, Failure> {
    // That nobody can be reached is said at once, with every endpoint's reason.
    source::connect(&reading::pool(config)?).await?;
    let begin = Begin { seed, term: None, join: args.join };
    let clock = reins.clock();
    let beginning = Performance::begin(piece, begin, &config.connection, &clock, None);
    timeout(PATIENCE, beginning).await.unwrap_or_else(|_| {
        let what = format!("the cluster did not let the clients begin for {} s", PATIENCE.as_secs());
        Err(Failure::new(Exit::Error, what).hint("`lockscope members` says how it is."))
    })
}

fn check(path: &Path, to: &mut impl Write) -> Result<(), Failure> {
    Scenario::from_file(path)?;
    Ok(writeln!(to, "ok")?)
}

fn list(scenarios: &[Scenario], format: Format, to: &mut impl Write) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Scenarios::of(scenarios), to)?);
    }
    let columns = [say!("NAME"), say!("SHOWS"), say!("NEEDS")].map(|head| Column(head, Align::Left));
    let rows = scenarios.iter().map(|scenario| {
        let needs = if scenario.needs.faults { say!("a cluster of its own: demo") } else { "" };
        let shows = lang::current().of(&scenario.summary, &scenario.summary_zh);
        [scenario.name.clone(), shows.to_owned(), needs.to_owned()]
    });
    Ok(table::print(format, columns, rows, to)?)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::Lang;

    fn listed(format: Format) -> String {
        let mut out = Vec::new();
        list(&library::all().unwrap(), format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn who_reads_chinese_is_told_in_chinese_and_a_document_has_both() {
        let [chinese, document] = lang::within(Lang::Chinese, || [Format::Simple, Format::Json].map(listed));
        let line = chinese.lines().find(|line| line.starts_with("split-vote\t")).unwrap();
        assert!(line.contains("两个候选者") && line.ends_with("专用集群：demo"), "{line}");
        assert_eq!(document, listed(Format::Json));
    }

    #[test]
    fn scenarios_are_listed_with_a_sentence_each() {
        let text = listed(Format::Simple);
        assert_eq!(text.lines().count(), library::names().count());
        assert!(text.lines().all(|line| line.split('\t').count() == 3), "{text}");
        assert!(text.contains("\nsplit-vote\tTwo candidates stand in the same term"), "{text}");
        let document: Value = serde_json::from_str(&listed(Format::Json)).unwrap();
        assert_eq!(document["schema"], "lockscope/1");
        let scenarios = document["scenarios"].as_array().unwrap();
        assert_eq!(scenarios.len(), library::names().count());
        for scenario in scenarios {
            for field in ["name", "summary", "summary_zh"] {
                assert!(!scenario[field].as_str().unwrap().is_empty());
            }
            assert!(!scenario["expectations"].as_array().unwrap().is_empty());
        }
    }
}
