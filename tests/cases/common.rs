//! A cluster that is watched as the dashboard watches it, and a model that is told facts by hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockscope::config::Connection;
use lockscope::domain::{Key, KeyRange, KeyValue, LeaseId, Revision, Term, Timestamp};
use lockscope::effect::Effect;
use lockscope::event::{Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use lockscope::model::findings::{Thresholds, rule};
use lockscope::model::{Diagnosis, Facts, Model, Severity, Ui};
use lockscope::port::{Client, Clock, Delete, Etcd, Pool, Put};
use lockscope::source::{Handle, Watching, Wires};
use lockscope::update::update;
use tokio::time::{Instant, sleep_until, timeout_at};

pub use crate::support::running::on_every_real_etcd;

/// How long something that has to come may take.
const PATIENCE: Duration = Duration::from_secs(45);

/// The wall clock.
pub fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "tests stamp with the real time, as the runtime does")]
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        Timestamp(i64::try_from(since.as_millis()).expect("before the year 292278994"))
    })
}

/// Settings for these endpoints.
pub fn settings(endpoints: &[String]) -> Connection {
    Connection { endpoints: endpoints.to_vec(), ..Connection::default() }
}

/// A client of the member that is served there.
pub async fn client(endpoint: &str) -> Client {
    Client::connect(endpoint, &settings(&[endpoint.to_owned()])).await.expect("the member runs")
}

/// Grants a lease of this id; the server may grant more time than was asked for.
pub async fn grant(etcd: &Client, lease: i64, ttl: i64) {
    etcd.grant(LeaseId(lease), ttl).await.expect("the lease is granted");
}

/// Puts a key, on a lease unless that is 0; the revision it made.
pub async fn put(etcd: &Client, key: &str, value: &str, lease: i64) -> Revision {
    let put = Put { key: key.into(), value: value.into(), lease: LeaseId(lease) };
    etcd.put(put).await.expect("the put is taken").header.revision
}

/// Joins a queue with a lease of its own, as etcd's recipe does; its token.
pub async fn join(etcd: &Client, lock: &str, lease: i64, ttl: i64) -> Revision {
    grant(etcd, lease, ttl).await;
    put(etcd, &format!("{lock}/{lease:x}"), "", lease).await
}

/// Deletes a key by its name alone.
pub async fn delete(etcd: &Client, key: &str) -> Revision {
    let delete = Delete { range: KeyRange::single(key.as_bytes()) };
    etcd.delete(delete).await.expect("the delete is taken").header.revision
}

/// A cluster as the dashboard sees it.
pub struct Live {
    model: Model,
    source: Handle,
    wires: Wires,
    clock: Clock,
}

impl Live {
    /// Watches everything below `prefix`.
    pub fn watch(endpoints: &[String], prefix: &str) -> Self {
        let clock = clock();
        let pool = Pool::new(settings(endpoints));
        let watching = Watching::Prefixes(vec![prefix.as_bytes().to_vec()]);
        let (source, wires) = Handle::start(pool, watching, clock.clone());
        Self { model: Model::new(Facts::new(200), Ui::default()), source, wires, clock }
    }

    /// What is known.
    pub fn facts(&self) -> &Facts {
        self.model.live()
    }

    /// The codes of what is wrong with a lock.
    pub fn codes(&self, lock: &str) -> Vec<&'static str> {
        Diagnosis::of(self.facts(), &Thresholds::default()).codes(lock.as_bytes())
    }

    /// Goes on until something is so.
    pub async fn until(&mut self, what: &str, mut is_so: impl FnMut(&Facts) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(self.model.live()) {
            let tick = self.model.next_tick().map_or(Duration::from_millis(500), |at| {
                Duration::from_millis(u64::try_from(at.since(self.clock.now()).0).unwrap_or_default())
            });
            let tick = Instant::now() + tick.clamp(Duration::from_millis(5), Duration::from_millis(500));
            let step = async {
                tokio::select! {
                    observed = self.wires.observations.recv() => observed,
                    () = sleep_until(tick) => None,
                }
            };
            let observed = timeout_at(give_up, step).await.unwrap_or_else(|_| unreachable!("in vain: {what}"));
            if let Some(observed) = observed {
                update(&mut self.model, Event::Observed(observed));
            }
            for effect in update(&mut self.model, Event::Tick(self.clock.now())) {
                if let Effect::PollLeases(leases) = effect {
                    let _ = self.wires.polls.try_send(leases);
                }
            }
        }
    }

    /// Goes on until a lock is found to have this wrong with it.
    pub async fn until_found(&mut self, code: &str, lock: &str) {
        assert!(rule(code).is_some(), "there is no rule {code}");
        self.until(code, |facts| Diagnosis::of(facts, &Thresholds::default()).codes(lock.as_bytes()).contains(&code))
            .await;
    }

    /// Hangs up.
    pub async fn end(self) {
        self.source.stop().await;
    }
}

/// A model that is told facts by hand, for what no real etcd can be brought to.
pub struct Told {
    model: Model,
    now: Timestamp,
}

impl Told {
    /// A model that has read these keys: name, value, lease.
    pub fn of(keys: &[(&str, &str, i64)]) -> Self {
        let mut told = Self { model: Model::new(Facts::new(200), Ui::default()), now: Timestamp(1_700_000_000_000) };
        let all = KeyRange::prefix(b"");
        told.observe(Observation::Link(LinkState::Live { endpoint: "http://a:1".into() }));
        told.observe(Observation::Scope(vec![all.clone()]));
        let kv = |(revision, &(key, value, lease)): (i64, &(&str, &str, i64))| KeyValue {
            key: Key::from(key),
            value: value.into(),
            create_revision: Revision(revision),
            mod_revision: Revision(revision),
            version: 1,
            lease: LeaseId(lease),
        };
        let mut keys: Vec<_> = (2..).zip(keys).map(kv).collect();
        keys.sort_by(|one, other| one.key.cmp(&other.key));
        told.observe(Observation::Listed(ListPage {
            range: all,
            revision: Revision(90),
            keys,
            first: true,
            last: true,
        }));
        told
    }

    /// Tells a fact.
    pub fn observe(&mut self, what: Observation) {
        update(&mut self.model, Event::Observed(Stamped { at: self.now, what }));
    }

    /// Tells the answer to one question for a lease's time.
    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64, term: u64) {
        let (lease, term) = (LeaseId(lease), Term(term));
        self.observe(Observation::LeaseTtl(LeaseTtl { lease, granted, remaining, keys: None, term }));
    }

    /// Lets time pass.
    pub fn pass(&mut self, secs: i64) {
        self.now = Timestamp(self.now.0 + 1_000 * secs);
        update(&mut self.model, Event::Tick(self.now));
    }

    /// What is known.
    pub fn facts(&self) -> &Facts {
        self.model.live()
    }

    /// What is wrong with a lock: codes with their severities.
    pub fn found(&self, lock: &str) -> Vec<(&'static str, Severity)> {
        let diagnosis = Diagnosis::of(self.facts(), &Thresholds::default());
        diagnosis.of_lock(lock.as_bytes()).map(|finding| (finding.code, finding.severity)).collect()
    }

    /// What is wrong at all: codes with their severities.
    pub fn found_anywhere(&self) -> Vec<(&'static str, Severity)> {
        let diagnosis = Diagnosis::of(self.facts(), &Thresholds::default());
        diagnosis.findings().iter().map(|finding| (finding.code, finding.severity)).collect()
    }
}
