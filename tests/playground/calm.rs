//! Healthy, busy clients are no reason for a finding that anybody would have to act on.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use lockscope::config::Connection;
use lockscope::domain::raft::{ClusterTime, Speed};
use lockscope::effect::Effect;
use lockscope::event::Event;
use lockscope::model::{Facts, Model, Severity, Ui};
use lockscope::pace::Reins;
use lockscope::playground::dial::Members;
use lockscope::playground::scenario::Wishes;
use lockscope::playground::{Begin, Company, Scenario};
use lockscope::port::{self, Pool};
use lockscope::runtime::clock::Clock;
use lockscope::source::{Handle, Watching, Wires};
use lockscope::update::update;
use lockscope::view::text::sentence;
use tokio::time::{Instant, sleep_until};

use crate::support::etcd::newest;
use crate::support::running::block_on;

/// For how long it is watched.
const WATCHED: Duration = Duration::from_secs(30);

#[test]
fn fifo_on_a_real_etcd_gives_no_finding_to_act_on() {
    let Some(version) = newest("fifo_on_a_real_etcd_gives_no_finding_to_act_on") else { return };
    let cluster = version.cluster().start();
    block_on(async {
        let settings = Connection { endpoints: cluster.endpoints(), ..Connection::default() };
        let scenario = without_crashes();
        let cast = scenario.cast(&scenario.prefix(), Wishes::default());
        let members = Members::new(&settings);
        let clock = Reins::start(ClusterTime(0), Speed::default()).clock();
        let how = Begin { seed: 7, ..Begin::default() };
        let company = Company::start(&cast, how, move |number| members.of(number), &clock).await.expect("it begins");
        let (found, handovers) = watched(settings).await;
        company.stop().await;
        assert!(handovers > 5, "only {handovers} handovers were seen");
        assert_eq!(found, BTreeMap::new());
    });
}

/// The scenario without its one client that crashes: while the others wait for its lease to run
/// out, there is something to find.
fn without_crashes() -> Scenario {
    let text = include_str!("../../demo/scenarios/fifo.toml");
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("crash")).collect();
    assert!(kept.len() < text.lines().count(), "nobody crashes any more: the scenario can be played as it is");
    Scenario::from_toml(&kept.join("\n"), Path::new("fifo.toml")).expect("it can be read")
}

/// What was found meanwhile that somebody would have to act on, by its code with the first evidence;
/// and how often a lock was seen to be acquired.
async fn watched(settings: Connection) -> (BTreeMap<&'static str, String>, u64) {
    let clock = Clock::start();
    let stamps = clock.clone();
    let stamps = port::Clock::new(move || stamps.now());
    let (source, Wires { mut observations, polls, .. }) =
        Handle::start(Pool::new(settings), Watching::Discover, stamps);
    let mut model = Model::new(Facts::new(200), Ui::default());
    let mut found = BTreeMap::new();
    let end = Instant::now() + WATCHED;
    let mut ticked = Instant::now();
    loop {
        let least = ticked + Duration::from_millis(10);
        let tick = model.next_tick().map_or(end, |at| clock.instant(at).max(least));
        tokio::select! {
            // Clients that never rest must not keep their leases from being asked.
            biased;
            () = sleep_until(end) => break,
            () = sleep_until(tick) => {
                ticked = Instant::now();
                for effect in update(&mut model, Event::Tick(clock.now())) {
                    if let Effect::PollLeases(leases) = effect {
                        let _ = polls.try_send(leases);
                    }
                }
                for finding in model.diagnosis().findings().iter().filter(|found| found.severity > Severity::Info) {
                    found.entry(finding.code).or_insert_with(|| sentence(&finding.evidence));
                }
            }
            observed = observations.recv() => {
                update(&mut model, Event::Observed(observed.expect("the source lives")));
            }
        }
    }
    source.stop().await;
    (found, model.live().timeline.next_seq())
}
