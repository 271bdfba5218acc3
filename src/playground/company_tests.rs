//! A company on an etcd in memory, with tokio's clock standing until everybody waits.

use std::time::Duration;

use tokio::time::sleep;

use super::dial::{Dial, Line};
use super::{Begin, Cast, ClientId, Company, Summary};
use crate::domain::play::{Ill, Order, Whom};
use crate::domain::raft::{ClusterTime, Speed};
use crate::domain::{KeyRange, Timestamp};
use crate::pace::Reins;
use crate::port::memory::Memory;
use crate::port::{self, Etcd, Range};

/// The one member there is.
#[derive(Clone)]
struct Only(Memory);

impl Dial for Only {
    type Etcd = Memory;

    async fn dial(&self, _: Option<&str>) -> Result<Line<Memory>, String> {
        Ok(Line { etcd: self.0.clone(), endpoint: "memory".into() })
    }
}

/// An etcd that lives by the same clock as the company on it.
async fn start(speed: Speed) -> (Memory, Company, Reins) {
    let reins = Reins::start(ClusterTime(0), speed);
    let clock = reins.clock();
    let read = clock.clone();
    let etcd = Memory::new(port::Clock::new(move || Timestamp(i64::try_from(read.now().0 / 1000).unwrap_or(i64::MAX))));
    let only = Only(etcd.clone());
    let begin = Begin { seed: 7, ..Begin::default() };
    let company = Company::start(&Cast::demo(8), begin, move |_| only.clone(), &clock).await.unwrap();
    (etcd, company, reins)
}

fn to(client: u32, ill: Ill) -> Order {
    Order::Client(Whom::Client(ClientId(client)), ill)
}

async fn left(etcd: &Memory) -> (usize, usize) {
    let keys = etcd.range(Range::of(KeyRange::prefix(b""))).await.unwrap().keys.len();
    (keys, etcd.leases().await.unwrap().len())
}

async fn summary(company: Company) -> Summary {
    Summary::of(&Cast::demo(8), 7, Duration::ZERO, &company.stop().await)
}

#[tokio::test(start_paused = true)]
async fn a_company_hands_over_in_order_and_leaves_nothing_behind() {
    let (etcd, company, _reins) = start(Speed(1000)).await;
    sleep(Duration::from_secs(15)).await;
    assert!(left(&etcd).await.0 > 8, "there is something to look at");
    let summary = summary(company).await;
    assert!(summary.held(), "{:?}", summary.expectations);
    assert!(summary.main().unwrap().handoffs >= 20, "{:?}", summary.locks);
    assert_eq!(left(&etcd).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_crashed_client_is_seen_to_expire_and_comes_back() {
    let (etcd, company, _reins) = start(Speed(1000)).await;
    sleep(Duration::from_secs(2)).await;
    for client in 1..=3 {
        company.order(to(client, Ill::Crash)).await.unwrap();
    }
    sleep(Duration::from_secs(20)).await;
    etcd.settle();
    let summary = summary(company).await;
    let lock = summary.main().unwrap();
    assert!(lock.crashed >= 2 && lock.expired >= 2, "{lock:?}");
    assert!(summary.held() && lock.handoffs > 20, "{lock:?}");
    assert_eq!(left(&etcd).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn at_a_tenth_of_the_speed_a_tenth_happens_and_on_a_standing_clock_nothing() {
    let (etcd, company, reins) = start(Speed(100)).await;
    sleep(Duration::from_secs(15)).await;
    reins.freeze(true);
    sleep(Duration::from_millis(10)).await;
    let revision = etcd.range(Range::of(KeyRange::prefix(b""))).await.unwrap().header.revision;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(etcd.range(Range::of(KeyRange::prefix(b""))).await.unwrap().header.revision, revision);
    reins.freeze(false);
    let handoffs = summary(company).await.main().unwrap().handoffs;
    assert!((1..=8).contains(&handoffs), "{handoffs} handoffs in 1.5 s of the cluster's time");
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_stands_still_past_its_lease_is_found_out() {
    let (etcd, company, _reins) = start(Speed(1000)).await;
    sleep(Duration::from_secs(2)).await;
    // One of them holds at this moment, and will believe it for 8 s more.
    for client in 1..=8 {
        company.order(to(client, Ill::Pause)).await.unwrap();
    }
    sleep(Duration::from_secs(7)).await;
    etcd.settle();
    for client in 2..=8 {
        // One of them is clumsy and crashes also while it stands still.
        let _ = company.order(to(client, Ill::Resume)).await;
    }
    sleep(Duration::from_secs(4)).await;
    company.order(to(1, Ill::Resume)).await.unwrap();
    sleep(Duration::from_secs(4)).await;
    let summary = summary(company).await;
    assert!(summary.main().unwrap().lost > 0, "{:?}", summary.locks);
    assert_eq!(summary.fifo_violations(), 0, "the queue itself is in order: {:?}", summary.expectations);
    assert_eq!(left(&etcd).await, (0, 0));
}
