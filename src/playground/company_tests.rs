//! A company on an etcd in memory, with tokio's clock standing until everybody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::cast::Protected;
use super::dial::{Dial, Line};
use super::director::Theatre;
use super::scenario::library;
use super::{Begin, Cast, ClientId, Company, Direction, Director, Habits, Span, StartError, Summary};
use crate::domain::play::{Done, Happening, Ill, Moment, Order, Whom};
use crate::domain::raft::{ClusterTime, Fault, NodeId, RaftPicture, Speed, TermRecord};
use crate::domain::{Key, KeyRange, LeaseId, Term, Timestamp};
use crate::pace::Reins;
use crate::port::memory::Memory;
use crate::port::{self, Etcd, Put, Range};
use crate::recipe::{Belief, Kind};

/// The one member there is.
#[derive(Clone)]
struct Only {
    etcd: Memory,
    /// How many dial at this moment, and how many did at most.
    dialling: Arc<(AtomicUsize, AtomicUsize)>,
    unreachable: Arc<AtomicBool>,
}

impl Only {
    fn new(etcd: &Memory) -> Self {
        Self { etcd: etcd.clone(), dialling: Arc::default(), unreachable: Arc::default() }
    }
}

impl Dial for Only {
    type Etcd = Memory;

    async fn dial(&self, _: Option<&str>) -> Result<Line<Memory>, String> {
        let (now, most) = &*self.dialling;
        most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        sleep(Duration::from_millis(1)).await;
        now.fetch_sub(1, Ordering::Relaxed);
        if self.unreachable.load(Ordering::Relaxed) {
            return Err("nobody answers".into());
        }
        Ok(Line { etcd: self.etcd.clone(), endpoint: "memory".into() })
    }
}

/// An etcd that lives by this clock.
fn memory(reins: &Reins) -> Memory {
    let read = reins.clock();
    Memory::new(port::Clock::new(move || Timestamp(i64::try_from(read.now().0 / 1000).unwrap_or(i64::MAX))))
}

/// A cast on an etcd that lives by the same clock.
async fn play(cast: &Cast, etcd: &Memory, reins: &Reins, join: bool) -> Result<Company, StartError> {
    let only = Only::new(etcd);
    let begin = Begin { seed: 7, join, ..Begin::default() };
    Company::start(cast, begin, move |_| only.clone(), &reins.clock()).await
}

/// So many clients of one lock, which write to a ledger that checks tokens.
fn of_one_lock(clients: u32, habits: &Habits) -> Cast {
    let habits = Habits { name: "/t/lock".into(), ..habits.clone() };
    Cast {
        scenario: "company".into(),
        summary: "clients of one lock".into(),
        summary_zh: String::new(),
        lock: habits.lock(),
        prefix: "/t/".into(),
        clients: (1..=clients).map(|client| (ClientId(client), habits.clone())).collect(),
        resources: vec![Protected { name: "ledger".into(), fencing: true }],
    }
}

fn long() -> Habits {
    Habits {
        hold: Span::of(Duration::from_mins(1)),
        away: Span::of(Duration::from_mins(1)),
        writes: Some(Duration::from_millis(250)),
        ..Habits::default()
    }
}

async fn put(etcd: &Memory, key: &str) {
    etcd.put(Put { key: key.into(), value: b"mine".to_vec(), lease: LeaseId::NONE }).await.unwrap();
}

async fn keys(etcd: &Memory) -> Vec<Key> {
    etcd.range(Range::of(KeyRange::prefix(b""))).await.unwrap().keys.into_iter().map(|kv| kv.key).collect()
}

fn belief(company: &Company, client: u32) -> Belief {
    company.picture(u64::MAX).client(ClientId(client)).unwrap().belief
}

/// An etcd that lives by the same clock as the company on it.
async fn start(speed: Speed) -> (Memory, Company, Reins) {
    let reins = Reins::start(ClusterTime(0), speed);
    let etcd = memory(&reins);
    let company = play(&Cast::demo(8), &etcd, &reins, false).await.unwrap();
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
    Summary::of(&Cast::demo(8), 7, Duration::ZERO, &company.stop().await.tally)
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

#[tokio::test(start_paused = true)]
async fn a_zombie_is_kept_out_by_the_fence() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    let company = play(&of_one_lock(2, &long()), &etcd, &reins, false).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let done = company.order(Order::Client(Whom::Holder, Ill::Pause)).await.unwrap();
    sleep(Duration::from_secs(8)).await;
    let picture = company.picture(0);
    let zombie = picture.clients.iter().find(|client| client.is_stale()).expect("it believes on").id;
    assert_eq!(done, Done::Client(zombie, Ill::Pause), "who was meant is told");
    assert_eq!(picture.clients.iter().filter(|client| client.place == Some(0)).count(), 1);
    company.order(Order::Client(Whom::Client(zombie), Ill::Resume)).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    let tally = company.stop().await.tally;
    let lock = tally.locks().values().next().unwrap();
    assert_eq!((lock.stale_refused, lock.stale_accepted, lock.lost), (1, 0, 1), "{lock:?}");
    assert_eq!((lock.stale_beliefs, lock.double_holders, lock.clashes), (1, 1, 0), "{lock:?}");
    assert!(tally.ledgers()[0].accepted > 8 && lock.traffic().calls > 4, "{tally:?}");
    assert_eq!(left(&etcd).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn whatever_was_done_to_clients_they_leave_neither_keys_nor_leases() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    let company = play(&of_one_lock(7, &long()), &etcd, &reins, false).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    company.order(Order::Add(1)).await.unwrap();
    let ills = [Ill::Pause, Ill::Crash, Ill::Cut, Ill::Skew(-3_000), Ill::Revoke, Ill::Remove];
    for (client, ill) in (1..).zip(ills) {
        company.order(to(client, ill)).await.unwrap();
    }
    company.order(to(7, Ill::Cut)).await.unwrap();
    company.order(to(7, Ill::Remove)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(left(&etcd).await.1 >= 6, "the leases of those that crashed or are cut off are still there");
    let began = reins.now();
    let tally = company.stop().await.tally;
    assert_eq!(left(&etcd).await, (0, 0));
    assert!(reins.now().since(began) < Duration::from_secs(5), "{:?}", reins.now());
    assert_eq!(tally.locks().values().next().unwrap().clients, 8);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_taken_away_at_the_end_is_handed_over() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    let only = Only::new(&etcd);
    let unreachable = only.unreachable.clone();
    let (cast, begin) = (of_one_lock(3, &long()), Begin { seed: 7, ..Begin::default() });
    let company = Company::start(&cast, begin, move |_| only.clone(), &reins.clock()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    // Whoever crashed has to dial to take its lease back; the others say farewell as they are.
    company.order(to(1, Ill::Crash)).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    unreachable.store(true, Ordering::Relaxed);
    let remains = company.stop().await.remains.expect("a lease is left");
    assert_eq!((remains.leases, remains.longest, remains.keys), (1, Duration::from_secs(5), false));
    assert_eq!((remains.prefix, left(&etcd).await), ("/t/".into(), (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_cut_link_answers_nothing_until_it_is_mended() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    let company = play(&of_one_lock(1, &long()), &etcd, &reins, false).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    company.order(to(1, Ill::Cut)).await.unwrap();
    sleep(Duration::from_secs(8)).await;
    assert_ne!(belief(&company, 1), Belief::Holding, "its lease ran out by its own clock");
    company.order(to(1, Ill::Mend)).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(belief(&company, 1), Belief::Holding);
    company.order(to(1, Ill::Release)).await.unwrap();
    company.order(to(1, Ill::Hold(Duration::from_millis(10)))).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let tally = company.stop().await.tally;
    let lock = tally.locks().values().next().unwrap();
    assert!(lock.released > 5 && lock.stale_beliefs == 0, "{lock:?}");
    assert_eq!(left(&etcd).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn nobody_begins_among_the_keys_of_others_unless_told_to_and_these_stay() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    for key in ["/t/\u{1b}[2J", "/t/b", "/t/c", "/t/d", "/other"] {
        put(&etcd, key).await;
    }
    let publisher = Habits { kind: Kind::Publish, name: "/t/config".into(), value: b"v1".to_vec(), ..long() };
    let mut cast = of_one_lock(2, &long());
    cast.clients.push((ClientId(3), publisher));
    let Err(error) = play(&cast, &etcd, &reins, false).await else { panic!("keys are there") };
    let text = error.to_string();
    assert!(text.contains("below /t/: /t/\\x1b[2J, /t/b, /t/c and 1 more.") && text.contains("--join"), "{text}");
    let company = play(&cast, &etcd, &reins, true).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert!(keys(&etcd).await.contains(&Key::from("/t/config")), "{:?}", keys(&etcd).await);
    company.stop().await;
    let there = ["/other", "/t/\u{1b}[2J", "/t/b", "/t/c", "/t/d"].map(Key::from);
    assert_eq!((keys(&etcd).await, etcd.leases().await.unwrap().len()), (there.to_vec(), 0));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_clients_do_not_dial_all_at_once() {
    let reins = Reins::start(ClusterTime(0), Speed(1000));
    let etcd = memory(&reins);
    let only = Only::new(&etcd);
    let dialling = only.dialling.clone();
    let habits = Habits { hold: Span::millis(5, 20), ttl: Duration::from_mins(1), ..Habits::default() };
    let (cast, begin) = (of_one_lock(1_000, &habits), Begin { seed: 7, ..Begin::default() });
    let company = Company::start(&cast, begin, move |_| only.clone(), &reins.clock()).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    let most = dialling.1.load(Ordering::Relaxed);
    assert!((32..=64).contains(&most), "{most} at once");
    let picture = company.view().picture(0);
    assert_eq!(picture.clients.len(), 1_000);
    assert_eq!(picture.clients.iter().filter(|client| client.place.is_some()).count(), 1_000);
    let tally = company.stop().await.tally;
    let lock = tally.locks().values().next().unwrap();
    assert!(lock.handoffs > 50 && lock.fifo_violations == 0, "{}", lock.handoffs);
    assert_eq!(left(&etcd).await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn orders_from_elsewhere_end_with_the_run() {
    let (_etcd, company, _reins) = start(Speed(1000)).await;
    let control = company.control();
    assert!(control.order(to(99, Ill::Pause)).await.unwrap_err().starts_with("there is no client-99"));
    assert_eq!(control.order(Order::Add(1)).await, Ok(Done::Joined(vec![ClientId(16)])));
    let done = control.order(Order::Client(Whom::Client(ClientId(3)), Ill::Skew(5))).await;
    assert_eq!(done, Ok(Done::Client(ClientId(3), Ill::Skew(5))));
    assert_eq!(control.view().picture(0).clients.len(), 16);
    company.stop().await;
    assert_eq!(control.order(Order::Add(1)).await.unwrap_err(), "the run is over");
    assert_eq!(control.view().picture(0).clients.len(), 16, "what was seen can still be looked at");
}

/// A cluster that says that n2 won term 7.
struct Told;

impl Theatre for Told {
    async fn fault(&self, _: Fault) -> Result<(), String> {
        Err("nothing can be done to it".into())
    }

    async fn picture(&self) -> Option<RaftPicture> {
        Some(RaftPicture { terms: self.terms().await?, ..RaftPicture::default() })
    }

    async fn terms(&self) -> Option<Vec<TermRecord>> {
        let leader = Some((NodeId(2), ClusterTime(500_000)));
        let (candidates, votes) = (Vec::new(), Vec::new());
        let seventh = TermRecord { term: Term(7), began: ClusterTime(0), candidates, votes, leader, ended: None };
        Some(vec![seventh])
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_is_told_as_soon_as_the_cluster_shows_it() {
    let (_etcd, company, reins) = start(Speed(1000)).await;
    let scenario = library::find("fifo").unwrap().unwrap();
    let director = Director::new(&scenario, &Cast::demo(8), reins.now());
    let direction = Direction::start(director, company.control(), reins.clock(), Some(Told));
    sleep(Duration::from_millis(200)).await;
    let term = |moment: &Moment| moment.what == Happening::Term(Term(7));
    assert_eq!(company.picture(0).moments.iter().filter(|moment| term(moment)).count(), 1);
    assert!(direction.stop().await.is_some());
    company.stop().await;
}
