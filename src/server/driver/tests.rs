//! The driver's own duties, with its clock standing still.

use std::net::Ipv4Addr;

use super::*;
use crate::embedded::{Ask, Change, Config};

const N1: NodeId = NodeId(1);
const N4: NodeId = NodeId(4);

/// A cluster at rest, whose members listen on an address of their own.
async fn frozen() -> Driver {
    let mut options = Options::new(Config::default());
    options.listen = (Ipv4Addr::new(127, 0, 0, 2), 0).into();
    let (_, commands) = mpsc::channel(1);
    let cluster = Cluster::new(options.cluster);
    let mut driver = Driver::start(cluster, &options, commands, CancellationToken::new()).await.unwrap();
    driver.fault(Fault::Freeze).await.unwrap();
    driver
}

/// Lets the cluster run for a while, whatever the clock says.
async fn run(driver: &mut Driver, millis: u64) {
    driver.cluster.advance(driver.cluster.now() + Duration::from_millis(millis));
    driver.deliver().await;
}

async fn end(driver: Driver) {
    driver.shutdown.cancel();
    driver.run().await;
}

#[tokio::test]
async fn a_start_that_is_refused_keeps_the_port_of_the_member() {
    let mut driver = frozen().await;
    let seat = driver.seats.get_mut(&N1).unwrap();
    let address = seat.address;
    // The node itself is up, so that it cannot be started.
    seat.run.take().unwrap().kill().await;
    seat.held = listen::hold(address).ok();
    assert!(driver.start_node(N1).await.is_err());
    assert!(driver.seats[&N1].held.is_some());
    end(driver).await;
}

#[tokio::test]
async fn a_member_that_cannot_listen_again_stays_down_and_can_be_started_later() {
    let mut driver = frozen().await;
    driver.fault(Fault::Kill(N1)).await.unwrap();
    let seat = driver.seats.get_mut(&N1).unwrap();
    let address = seat.address;
    seat.held = None;
    let other = listen::bind(address).await.unwrap();
    assert!(driver.start_node(N1).await.is_err());
    drop(other);
    driver.start_node(N1).await.unwrap();
    assert!(driver.seats[&N1].run.is_some());
    end(driver).await;
}

#[tokio::test]
async fn a_member_that_joins_listens_beside_the_others_also_when_it_found_no_port_at_first() {
    let mut driver = frozen().await;
    run(&mut driver, 3000).await;
    let at = driver.cluster.leader().unwrap();
    driver.cluster.ask(at, Ask::Change(Change::Add { peer_urls: vec!["http://a:1".to_owned()], learner: true }));
    run(&mut driver, 500).await;
    let first = driver.seats[&N1].address.ip();
    assert_eq!(driver.seats[&N4].address.ip(), first);

    let seat = driver.seats.remove(&N4).unwrap();
    seat.run.unwrap().kill().await;
    driver.fault(Fault::Kill(N4)).await.unwrap();
    driver.fault(Fault::Start(N4)).await.unwrap();
    assert_eq!(driver.seats[&N4].address.ip(), first);
    end(driver).await;
}

#[tokio::test]
async fn callers_that_went_away_are_forgotten_while_the_clock_stands() {
    let mut driver = frozen().await;
    run(&mut driver, 3000).await;
    driver.fault(Fault::Pause(N1)).await.unwrap();
    let mut waits = Vec::new();
    for node in driver.cluster.nodes() {
        for kept in [false, true, false] {
            let (answer, answered) = oneshot::channel();
            driver.take_calls(Call { node, ask: Ask::Barrier, answer });
            waits.extend(kept.then_some(answered));
        }
    }
    assert_eq!(driver.waiting.len(), 9);
    tokio::time::pause();
    tokio::time::advance(SWEEP).await;
    driver.turn().await;
    assert_eq!(driver.waiting.len(), waits.len());
    tokio::time::resume();
    end(driver).await;
}

/// Where a log is written to.
#[derive(Clone, Default)]
struct Sink(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_fault_is_told_in_words_and_by_whoever_asked_for_it_first() {
    let mut driver = frozen().await;
    let told = async |driver: &mut Driver, level| {
        let sink = Sink::default();
        let writer = sink.clone();
        let log = tracing_subscriber::fmt().with_max_level(level).with_writer(move || writer.clone()).finish();
        let _set = tracing::subscriber::set_default(log);
        let (answer, _done) = tokio::sync::oneshot::channel();
        driver.command(Command::Fault(Fault::Campaign(N1), answer)).await;
        String::from_utf8(sink.0.lock().unwrap().clone()).unwrap()
    };
    let lines = told(&mut driver, tracing::Level::INFO).await;
    assert!(!lines.contains("fault") && !lines.contains("ampaign"), "{lines}");
    let lines = told(&mut driver, tracing::Level::DEBUG).await;
    assert!(lines.contains("campaign n1"), "{lines}");
    end(driver).await;
}
