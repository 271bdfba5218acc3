//! `demo`: a cluster of one's own, clients that play a scenario on it, and what came of it.

use std::io::Write;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tracing::warn;

use super::args::DemoArgs;
use super::exit::{Exit, Failure};
use super::json::Style;
use super::performance::{Performance, Played, unless_told_to_stop};
use super::piece::Piece;
use super::stage::{self, Stage};
use super::{dashboard, outcome, wait};
use crate::config::{Config, Format};
use crate::domain::raft::ClusterTime;
use crate::domain::{Reach, Term};
use crate::embedded::Cluster;
use crate::playground::{Begin, Directed, Rehearsal, Summary};
use crate::runtime;
use crate::runtime::terminal::Terminal;
use crate::server::Options;

/// How long messages between members take when no flag says so, as with a screen.
const DELAY: Duration = Duration::from_millis(5);

/// Runs the demo without a screen and prints what came of it.
///
/// # Errors
/// When the cluster cannot be started, somebody breaks off, or an expectation is not met.
pub fn run(args: &DemoArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let piece = Piece::of_demo(args)?;
    let args = &piece.needs(args)?;
    let seed = stage::seed(args);
    let length = args.length.unwrap_or_default();
    let played = if args.virtual_time {
        let summary = in_virtual_time(&piece, &stage::options(args, DELAY, seed), length);
        Played { summary, remains: None, broken_off: false }
    } else {
        wait::block_on(&mut Builder::new_multi_thread(), on_sockets(&piece, args, seed, length))?
    };
    let format = config.output.format.unwrap_or(Format::Simple);
    outcome::print(&played.summary, format, Style { hex: config.output.hex }, to)?;
    to.flush()?;
    outcome::judge_played(&played)
}

/// Shows the dashboard on a cluster of the program's own.
///
/// # Errors
/// When either cannot be started, or a signal ended it.
pub fn show(args: &DemoArgs, config: Config) -> Result<(), Failure> {
    // What cannot be played at all is said first.
    let piece = Piece::of_demo(args)?;
    let args = piece.needs(args)?;
    if let Some(lack) = Terminal::lacks() {
        return Err(Failure::new(Exit::BadInput, format!("the demo's dashboard {lack}"))
            .hint("`lockscope demo --headless --for 15s` prints a summary instead and needs none."));
    }
    let seed = stage::seed(&args);
    dashboard::on_threads(async move {
        // Real etcds take a moment; nobody has to wait for them who does not want to.
        let stage = unless_told_to_stop(Stage::start(&args, DELAY, seed)).await.ok_or(Failure::Interrupted)??;
        let connection = stage.connection();
        // They begin when there is a leader; the screen does not wait for that.
        let (begun, begins) = oneshot::channel();
        let inside = stage.inside(seed);
        let clients = tokio::spawn({
            let (piece, connection, clock) = (piece.clone(), connection.clone(), stage.clock());
            let (control, chronicle) = (stage.control(), inside.chronicle.clone());
            async move {
                let performance = Performance::begin(&piece, begin(seed), &connection, &clock, Some(control)).await;
                let performance = performance.inspect_err(|why| warn!(?why, "the clients do not begin"))?;
                performance.notes(&chronicle);
                // A dashboard that was left already is shown nothing.
                let _ = begun.send(performance.shown());
                Ok::<_, Failure>(performance)
            }
        });
        // Whatever was typed of another cluster, commands that are advised are about this one.
        let endpoints = connection.endpoints.join(",").replace("http://", "");
        let reach = Reach { flags: vec![("endpoints", endpoints)], variables: connection.etcdctl_variables() };
        let config = Config { connection, reach, ..config };
        let ended = runtime::dashboard(config, Some(inside), Some(begins)).await;
        // Whoever leaves does not wait until the clients have said farewell.
        clients.abort();
        drop(clients.await);
        stage.stop().await;
        Ok::<_, Failure>(ended?)
    })
}

/// Lets the clients meet in no time at all.
fn in_virtual_time(piece: &Piece, options: &Options, length: Duration) -> Summary {
    let seed = options.cluster.seed;
    let began = ClusterTime(0);
    let cluster = Cluster::keeping(options.cluster, options.kept);
    let rehearsal = Rehearsal::on(cluster, &piece.cast, seed);
    let mut directed = Directed::new(rehearsal, piece.director(began));
    directed.run(began + length);
    let (tally, director) = directed.stop();
    let summary = Summary::of(&piece.cast, seed, length, &tally);
    summary.directed(director.expected(&tally, began + length), director.narrations())
}

/// Lets the clients speak to the members as any client does, for so long by the wall's clock.
async fn on_sockets(piece: &Piece, args: &DemoArgs, seed: u64, length: Duration) -> Result<Played, Failure> {
    let stage = unless_told_to_stop(Stage::start(args, DELAY, seed)).await.ok_or(Failure::Interrupted)??;
    let (connection, clock) = (stage.connection(), stage.clock());
    let beginning = Performance::begin(piece, begin(seed), &connection, &clock, Some(stage.control()));
    // Without a leader the clients cannot begin, and nothing is there to be given up.
    let performance = match unless_told_to_stop(beginning).await.unwrap_or(Err(Failure::Interrupted)) {
        Ok(performance) => performance,
        Err(failure) => {
            stage.stop().await;
            return Err(failure);
        }
    };
    let ended = unless_told_to_stop(tokio::time::sleep(length)).await;
    let Played { summary, .. } = performance.end(piece, seed).await;
    stage.stop().await;
    // Whatever clients could not take away went with the cluster.
    Ok(Played { summary, remains: None, broken_off: ended.is_none() })
}

/// The cluster's clock begins with its first term.
fn begin(seed: u64) -> Begin {
    Begin { seed, term: Some(Term(0)), join: false }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::embedded;
    use crate::playground::scenario::{Wishes, library};

    fn summary(seed: u64, seconds: u64) -> Summary {
        let scenario = library::find("fifo").unwrap().unwrap();
        let cast = scenario.cast("/lockscope/demo/", Wishes { clients: Some(8), ..Wishes::default() });
        let piece = Piece { scenario, cast };
        let cluster = embedded::Config { seed, ..embedded::Config::default() };
        in_virtual_time(&piece, &Options::new(cluster), Duration::from_secs(seconds))
    }

    fn printed(summary: &Summary, format: Format) -> String {
        let mut out = Vec::new();
        outcome::print(summary, format, Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let text = printed(&summary(7, 15), Format::Json);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&document["schema"], &document["scenario"]), (&"lockscope/1".into(), &"fifo".into()));
        assert_eq!(document["seed"], 7);
        assert!(document["handoffs"].as_u64().unwrap() >= 20, "{}", document["handoffs"]);
        assert_eq!((&document["fifo_violations"], &document["double_holders"]), (&0.into(), &0.into()));
        for spread in ["wait_ms", "hold_ms"] {
            let of = |rank: &str| document[spread][rank].as_u64().unwrap();
            assert!(0 < of("p50") && of("p50") <= of("p90") && of("p90") <= of("p99") && of("p99") <= of("max"));
        }
        assert!(document["hold_ms"]["max"].as_u64().unwrap() <= 410, "{}", document["hold_ms"]);
        assert!(document["elections"].as_u64() >= Some(1) && document["terms"].as_u64() >= Some(1));
        let expectations = document["expectations"].as_array().unwrap();
        assert_eq!(expectations.len(), 3);
        for expectation in expectations {
            assert_eq!(expectation["held"], true);
            assert!(!expectation["text"].as_str().unwrap().is_empty());
            assert!(!expectation["evidence"].as_str().unwrap().is_empty());
        }
        let timeline = document["timeline"].as_array().unwrap();
        let times: Vec<_> = timeline.iter().map(|event| event["at_ms"].as_u64().unwrap()).collect();
        assert!(times.is_sorted() && times.len() > 100, "{} events", times.len());
        let names: Vec<_> = timeline.iter().map(|event| event["event"].as_str().unwrap()).collect();
        for name in ["term", "enqueued", "acquired", "released"] {
            assert!(names.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_same_seed_prints_the_same_document_to_the_byte() {
        let text = |seed| printed(&summary(seed, 60), Format::Json);
        assert_eq!(text(42), text(42));
        assert_ne!(text(42), text(43));
    }

    #[test]
    fn people_read_numbers_and_then_what_was_expected() {
        let summary = summary(7, 15);
        let text = printed(&summary, Format::Simple);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert!(lines.iter().all(|line| line.len() == 3), "{text}");
        let of = |what: &str| lines.iter().find(|line| line[0] == what).unwrap()[1];
        assert_eq!((of("scenario"), of("seed"), of("length")), ("fifo", "7", "15.0 s"));
        assert_eq!(of("lock"), "/lockscope/demo/ledger");
        assert_eq!(lines.iter().filter(|line| line[0] == "expected" && line[1] == "held").count(), 3);
        assert!(printed(&summary, Format::Table).contains("/lockscope/demo/scheduler"));
        outcome::judge(&summary).unwrap();
    }

    #[test]
    fn what_is_no_lock_is_not_called_one() {
        let of = |name: &str| {
            let scenario = library::find(name).unwrap().unwrap();
            let cast = scenario.cast("/lockscope/demo/", Wishes::default());
            let options = Options::new(embedded::Config { seed: 7, ..embedded::Config::default() });
            printed(&in_virtual_time(&Piece { scenario, cast }, &options, Duration::from_secs(5)), Format::Simple)
        };
        let (services, config) = (of("service-discovery"), of("config-watch"));
        assert!(services.contains("registration: clients=1") && !services.contains("single-key"), "{services}");
        assert!(config.contains("configuration: clients=1") && !config.contains("single-key"), "{config}");
    }

    #[test]
    fn what_was_not_seen_is_not_claimed() {
        let nothing = summary(7, 0);
        assert!(nothing.expectations.iter().all(|expectation| !expectation.held), "{:?}", nothing.expectations);
        let Err(Failure::Said { exit: Exit::Error, what, .. }) = outcome::judge(&nothing) else { panic!("a failure") };
        assert!(what.contains("0 handoffs of /lockscope/demo/ledger"), "{what}");
        let text = printed(&nothing, Format::Json);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&document["wait_ms"], &document["handoffs"]), (&Value::Null, &0.into()));
    }
}
