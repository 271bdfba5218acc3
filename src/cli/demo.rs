//! `demo --headless`: a cluster, clients that contend for locks, and what came of it.

use std::io::Write;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::args::DemoArgs;
use super::dashboard;
use super::exit::{Exit, Failure};
use super::json::{self, Style};
use super::stage::{self, Stage};
use super::table::{self, Align, Column};
use super::wait;
use crate::config::{Config, Connection, Format};
use crate::domain::Term;
use crate::domain::raft::ClusterTime;
use crate::pace::Clock;
use crate::playground::dial::Members;
use crate::playground::{Begin, Cast, Company, Rehearsal, Spread, StartError, Summary};
use crate::runtime;
use crate::runtime::play::Playing;
use crate::runtime::terminal::Terminal;
use crate::server::Options;

/// How long messages between members take when no flag says so, as with a screen.
const DELAY: Duration = Duration::from_millis(5);

/// Runs the demo without a screen and prints what came of it.
///
/// # Errors
/// When the cluster cannot be started, somebody breaks off, or an expectation is not met.
pub fn run(args: &DemoArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    stage::check(args)?;
    let seed = stage::seed(args);
    let cast = Cast::demo(usize::from(args.clients));
    let length = args.length.unwrap_or_default();
    let summary = if args.virtual_time {
        in_virtual_time(&cast, &args.embedded.options(DELAY, seed), length)
    } else {
        wait::block_on(&mut Builder::new_multi_thread(), on_sockets(&cast, args, seed, length))?
    };
    print(&summary, config.output.format.unwrap_or(Format::Simple), Style { hex: config.output.hex }, to)?;
    to.flush()?;
    judge(&summary)
}

/// Shows the dashboard on a cluster of the program's own.
///
/// # Errors
/// When either cannot be started, or a signal ended it.
pub fn show(args: &DemoArgs, config: Config) -> Result<(), Failure> {
    if !Terminal::is_there() {
        return Err(Failure::new(Exit::BadInput, "the demo's dashboard needs a terminal")
            .hint("`lockscope demo --headless --for 15s` prints a summary instead and needs none."));
    }
    stage::check(args)?;
    let seed = stage::seed(args);
    let cast = Cast::demo(usize::from(args.clients));
    dashboard::on_threads(async {
        // Real etcds take a moment; nobody has to wait for them who does not want to.
        let stage = unless_told_to_stop(Stage::start(args, DELAY, seed)).await.ok_or(Failure::Interrupted)??;
        let (connection, clock) = (stage.connection(), stage.clock());
        // They begin when there is a leader; the screen does not wait for that.
        let (begin, begins) = oneshot::channel();
        let clients = tokio::spawn({
            let connection = connection.clone();
            async move {
                let company = meet(&cast, seed, &connection, &clock).await?;
                let shown: Box<dyn Playing> = Box::new(company.control());
                // A dashboard that was left already is shown nothing.
                let _ = begin.send(shown);
                Ok::<_, StartError>(company)
            }
        });
        let ended = runtime::dashboard(Config { connection, ..config }, Some(stage.inside(seed)), Some(begins)).await;
        // Whoever leaves does not wait until the clients have said farewell.
        clients.abort();
        drop(clients.await);
        stage.stop().await;
        Ok::<_, Failure>(ended?)
    })
}

/// Lets the clients meet in no time at all.
fn in_virtual_time(cast: &Cast, options: &Options, length: Duration) -> Summary {
    let seed = options.cluster.seed;
    let mut rehearsal = Rehearsal::new(cast, options.cluster, seed);
    rehearsal.run(ClusterTime(0) + length);
    Summary::of(cast, seed, length, &rehearsal.stop())
}

/// Lets the clients speak to the members as any client does, for so long by the wall's clock.
async fn on_sockets(cast: &Cast, args: &DemoArgs, seed: u64, length: Duration) -> Result<Summary, Failure> {
    let stage = unless_told_to_stop(Stage::start(args, DELAY, seed)).await.ok_or(Failure::Interrupted)??;
    let (control, clock) = (stage.control(), stage.clock());
    let connection = stage.connection();
    let starting = meet(cast, seed, &connection, &clock);
    // Without a leader the clients cannot begin, and nothing is there to be given up.
    let company = match unless_told_to_stop(starting).await {
        Some(Ok(company)) => company,
        Some(Err(error)) => {
            stage.stop().await;
            return Err(Failure::new(Exit::Error, error.to_string()));
        }
        None => {
            stage.stop().await;
            return Err(Failure::Interrupted);
        }
    };
    let began = clock.now();
    let played = unless_told_to_stop(tokio::time::sleep(length)).await;
    let length = clock.now().since(began);
    let mut tally = company.stop().await;
    if let Some(picture) = control.picture().await {
        tally.terms_were(&picture.terms);
    }
    stage.stop().await;
    played.map(|()| Summary::of(cast, seed, length, &tally)).ok_or(Failure::Interrupted)
}

/// Lets the clients begin; done when they have.
async fn meet(cast: &Cast, seed: u64, connection: &Connection, clock: &Clock) -> Result<Company, StartError> {
    let members = Members::new(connection);
    let begin = Begin { seed, term: Some(Term(0)), ..Begin::default() };
    Company::start(cast, begin, move |number| members.of(number), clock).await
}

async fn unless_told_to_stop<T>(doing: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // The signal first: what is always ready must not outrun it.
        biased;
        () = wait::interrupted() => None,
        done = doing => Some(done),
    }
}

/// Says no when something was not as expected.
fn judge(summary: &Summary) -> Result<(), Failure> {
    let failed = summary.expectations.iter().filter(|expectation| !expectation.held);
    let lines: Vec<_> = failed.map(|failed| format!("not so: {}: {}", failed.text, failed.evidence)).collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::new(Exit::Error, lines.join("\n"))) }
}

/// Prints what came of a run.
pub fn print(summary: &Summary, format: Format, style: Style, to: &mut impl Write) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Run { summary, style }, to)?);
    }
    let columns = [Column("WHAT", Align::Left), Column("IS", Align::Left), Column("DETAIL", Align::Left)];
    Ok(table::print(format, columns, rows(summary, style), to)?)
}

fn rows(summary: &Summary, style: Style) -> Vec<[String; 3]> {
    let row = |what: &str, is: String| [what.to_owned(), is, String::new()];
    let mut rows = vec![
        row("scenario", summary.scenario.clone()),
        row("seed", summary.seed.to_string()),
        row("length", seconds(summary.length)),
    ];
    if let Some(main) = summary.main() {
        rows.push(row("lock", table::text(&summary.lock, style)));
        rows.push(row("handoffs", main.handoffs.to_string()));
        rows.push(row("fifo_violations", summary.fifo_violations().to_string()));
        rows.push(row("double_holders", summary.double_holders().to_string()));
        rows.push(spread("wait_ms", main.wait));
        rows.push(spread("hold_ms", main.hold));
    }
    rows.push(row("elections", summary.elections.to_string()));
    rows.push(row("terms", summary.terms.to_string()));
    rows.extend(summary.locks.iter().map(|lock| {
        let what = format!(
            "{}: clients={} handoffs={} acquired={} released={} crashed={} expired={} lost={}",
            json::recipe(&lock.lock),
            lock.clients,
            lock.handoffs,
            lock.acquired,
            lock.released,
            lock.crashed,
            lock.expired,
            lock.lost,
        );
        ["of".to_owned(), table::text(lock.lock.name(), style), what]
    }));
    rows.extend(summary.expectations.iter().map(|expectation| {
        let is = if expectation.held { "held" } else { "not held" };
        ["expected".to_owned(), is.to_owned(), format!("{}: {}", expectation.text, expectation.evidence)]
    }));
    rows
}

fn spread(what: &str, spread: Option<Spread>) -> [String; 3] {
    let of = |Spread { p50, p90, p99, max }| {
        let [p50, p90, p99, max] = [p50, p90, p99, max].map(|length: Duration| length.as_millis());
        (p50.to_string(), format!("p50={p50} p90={p90} p99={p99} max={max}"))
    };
    let (median, all) = spread.map(of).unwrap_or_default();
    [what.to_owned(), median, all]
}

fn seconds(length: Duration) -> String {
    format!("{:.1} s", length.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::embedded;

    fn summary(seed: u64, seconds: u64) -> Summary {
        let cluster = embedded::Config { seed, ..embedded::Config::default() };
        in_virtual_time(&Cast::demo(8), &Options::new(cluster), Duration::from_secs(seconds))
    }

    fn printed(summary: &Summary, format: Format) -> String {
        let mut out = Vec::new();
        print(summary, format, Style::default(), &mut out).unwrap();
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
        judge(&summary).unwrap();
    }

    #[test]
    fn what_was_not_seen_is_not_claimed() {
        let nothing = summary(7, 0);
        assert!(nothing.expectations.iter().all(|expectation| !expectation.held), "{:?}", nothing.expectations);
        let Err(Failure::Said { exit: Exit::Error, what, .. }) = judge(&nothing) else { panic!("a failure") };
        assert!(what.contains("0 handoffs of /lockscope/demo/ledger"), "{what}");
        let text = printed(&nothing, Format::Json);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&document["wait_ms"], &document["handoffs"]), (&Value::Null, &0.into()));
    }
}
