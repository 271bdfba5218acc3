//! One look at a cluster: connects, feeds the model what was asked, and keeps to the budget.
//!
//! Commands read the same model as the screens; this is what fills it when nobody watches.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use tokio::time::{Duration, Instant, sleep_until, timeout_at};
use tracing::debug;

use super::exit::{Exit, Failure, say};
use super::show::KeysOfLeases;
use super::unseen::Unseen;
use crate::config::{Config, Tls};
use crate::domain::{ClusterId, Key, KeyRange, KeyValue, LeaseId, Member, Timestamp};
use crate::event::{Denied, Event, LeaseTtl, ListPage, Observation, Stamped};
use crate::model::findings::Thresholds;
use crate::model::{Diagnosis, Facts, Model, Ui};
use crate::port::pool::{Connected, Failed};
use crate::port::{Client, Clock, Etcd as _, Pool, PortError, Range};
use crate::runtime;
use crate::source::{self, SourceError, Watching};
use crate::update::update;
use crate::view::text::{escape, quantity, sanitise};

/// How long an election is waited for before the next try.
const AGAIN: Duration = Duration::from_millis(200);

/// A burst of lease polls starts this long after the one before.
const BURST: Duration = Duration::from_secs(1);

/// So often the members are asked while something else is read.
const ASK_MEMBERS: Duration = Duration::from_secs(1);

/// Why somebody gave no answer who might have, later.
const NO_TIME: &str = "there was no time left to ask them";

/// A cluster that is looked at.
pub struct Reading {
    pool: Pool,
    clock: Clock,
    connected: Connected,
    /// On the heap: commands keep it while they wait.
    model: Box<Model>,
    /// The most lease polls a second.
    budget: u32,
    /// What the members said of themselves: it outlasts a list that has to be read anew.
    told_by_members: Vec<Stamped<Observation>>,
    /// The leases that were asked and gave no answer.
    unanswered: Option<Unanswered>,
}

/// Leases that were asked and did not tell their time.
#[derive(Clone, Debug)]
struct Unanswered {
    leases: usize,
    why: String,
    /// Whether they may not be asked: that is an answer, and no other look would show more.
    refused: bool,
}

/// A clock of the kind the sources want.
pub fn clock() -> Clock {
    let clock = runtime::clock::Clock::start();
    Clock::new(move || clock.now())
}

/// What the settings say is to be watched.
pub fn watching(config: &Config) -> Watching {
    if config.prefixes.is_empty() { Watching::Discover } else { Watching::Prefixes(config.prefixes.clone()) }
}

/// The endpoints of the settings; connects to nothing yet.
///
/// # Errors
/// When a file for TLS cannot be read: better said once than for every endpoint.
pub fn pool(config: &Config) -> Result<Pool, Failure> {
    let Tls { cacert, cert, key, .. } = &config.connection.tls;
    for (flag, file) in [("--cacert", cacert), ("--cert", cert), ("--key", key)] {
        if let Some(file) = file {
            readable(flag, file)?;
        }
    }
    Ok(Pool::new(config.connection.clone()))
}

fn readable(flag: &str, file: &Path) -> Result<(), Failure> {
    match File::open(file) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::new(Exit::File, format!("cannot read {flag} {}: {error}", file.display()))),
    }
}

impl Reading {
    /// Connects to the first endpoint that answers.
    ///
    /// # Errors
    /// When none does, with every endpoint's reason.
    pub async fn connect(config: &Config) -> Result<Self, Failure> {
        let pool = pool(config)?;
        let connected = source::connect(&pool).await?;
        for failed in &connected.failed {
            debug!(endpoint = failed.endpoint, error = %failed.error, "an endpoint was passed over");
        }
        debug!(endpoint = connected.client.endpoint(), member = %connected.header.member, "connected");
        Ok(Self::of(pool, connected, config))
    }

    /// Looks through a connection that there is already.
    pub fn of(pool: Pool, connected: Connected, config: &Config) -> Self {
        let budget = config.polling.budget;
        let (told_by_members, unanswered) = (Vec::new(), None);
        let model = Box::new(empty(budget));
        let mut reading = Self { pool, clock: clock(), connected, model, budget, told_by_members, unanswered };
        reading.take(Observation::Cluster(reading.connected.header.cluster));
        reading
    }

    /// The connection.
    pub const fn client(&self) -> &Client {
        &self.connected.client
    }

    /// The endpoints.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The clock that observations are stamped with.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The endpoint in use, with what its answer said of itself.
    pub const fn connected(&self) -> &Connected {
        &self.connected
    }

    /// The cluster that answers.
    pub const fn cluster(&self) -> ClusterId {
        self.connected.header.cluster
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Connects to an endpoint that answers now.
    ///
    /// # Errors
    /// When none does, with every endpoint's reason.
    pub async fn connect_again(&mut self) -> Result<(), Failure> {
        self.connected = source::connect(&self.pool).await?;
        Ok(())
    }

    /// What is known.
    pub const fn facts(&self) -> &Facts {
        self.model.live()
    }

    /// Reads everything that is to be watched. While the members elect a leader it tries again
    /// for as long as one call may take, as etcdctl does.
    ///
    /// # Errors
    /// When a call fails for another reason than a missing permission.
    pub async fn list(&mut self, watching: &Watching) -> Result<(), Failure> {
        let give_up = Instant::now() + self.pool.settings().command_timeout;
        while let Err(error) = self.list_once(watching).await {
            let passing =
                matches!(error, SourceError::Port(PortError::NoLeader { .. } | PortError::Unreachable { .. }));
            let again = Instant::now() + AGAIN;
            if !passing || again > give_up {
                return Err(unreadable(error, watching));
            }
            debug!(%error, "reading again");
            sleep_until(again).await;
            self.connected = source::connect(&self.pool).await?;
            self.forget_keys();
        }
        if self.connected.is_leaderless() {
            say(format_args!("lockscope: the members have no leader; this is what one of them last knew"));
        }
        self.pass_time();
        Ok(())
    }

    /// Forgets the locks and leases that were read so far: half of a list is no list.
    pub fn forget_keys(&mut self) {
        *self.model = empty(self.budget);
        self.take(Observation::Cluster(self.connected.header.cluster));
        for told in &self.told_by_members {
            feed(&mut self.model, told.clone());
        }
    }

    async fn list_once(&mut self, watching: &Watching) -> Result<(), SourceError> {
        debug!(?watching, endpoint = self.connected.client.endpoint(), "reading");
        let Self { clock, connected, model, .. } = self;
        source::snapshot(connected, watching, clock, &mut |observed| feed(model, observed)).await
    }

    /// Reads one key, whatever it is, into what is known; `None` when there is none, or it may not
    /// be read.
    ///
    /// # Errors
    /// When the call fails for another reason.
    pub async fn key(&mut self, key: &[u8]) -> Result<Option<KeyValue>, Failure> {
        if key.is_empty() {
            return Ok(None);
        }
        let range = KeyRange::single(key);
        let serializable = self.connected.is_leaderless();
        let page = match self.connected.client.range(Range { serializable, ..Range::of(range.clone()) }).await {
            Ok(page) => page,
            Err(PortError::Denied { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (revision, keys) = (page.header.revision, page.keys);
        let found = keys.first().cloned();
        self.take(Observation::Listed(ListPage { range, revision, keys, first: true, last: true }));
        Ok(found)
    }

    /// Reads where these keys of leases are, as far as that may be read. They only tell more of a lock
    /// that is known already, so when it fails the rest has to do.
    pub async fn follow(&mut self, keys: &[Key]) {
        let Self { clock, connected, model, .. } = self;
        if let Err(error) = source::follow(connected, keys, clock, &mut |observed| feed(model, observed)).await {
            debug!(%error, "where leases lead was not read");
        }
        self.pass_time();
    }

    /// Asks the members about themselves.
    ///
    /// # Errors
    /// When the members cannot be listed.
    pub async fn members(&mut self) -> Result<(), Failure> {
        self.take(Observation::Progress(self.connected.header.revision));
        self.ask_members(None).await.map(|_| ())
    }

    /// Asks the members, until then; whether there was time for all of them. What was told by then
    /// is taken in.
    async fn ask_members(&mut self, until: Option<Instant>) -> Result<bool, Failure> {
        let Self { pool, clock, connected, model, told_by_members, .. } = self;
        let mut told = Vec::new();
        let mut take = |observed: Stamped<Observation>| {
            told.push(observed.clone());
            feed(model, observed);
        };
        let asked = source::poll_members(pool, connected, clock, &mut take);
        let in_time = match until {
            Some(until) => timeout_at(until, asked).await.ok().transpose()?.is_some(),
            None => asked.await.map(|()| true)?,
        };
        let own = told.iter().rev().find_map(|told| match &told.what {
            Observation::Status { member, answer: Ok(status) } if *member == connected.header.member => Some(status),
            _ => None,
        });
        // Whether it knows a leader may have changed since it was greeted.
        connected.status = own.cloned().or_else(|| connected.status.take());
        if in_time {
            told_by_members.clear();
        }
        // What those said before who had no time to say it again still stands.
        told_by_members.extend(told);
        self.pass_time();
        Ok(in_time)
    }

    /// Asks the members about themselves, until then. Where they cannot be listed the one that
    /// answers tells what it says of itself, and why the others are not known is returned.
    pub async fn members_or_self(&mut self, until: Instant) -> Option<Unseen> {
        let failure = match self.ask_members(Some(until)).await {
            Ok(true) => return None,
            Ok(false) if !self.facts().cluster.members().is_empty() => {
                return Some(Unseen::unanswered("what some members say of themselves", NO_TIME));
            }
            Ok(false) => Failure::new(Exit::Error, NO_TIME),
            Err(failure) => failure,
        };
        let Connected { client, header, status, .. } = &self.connected;
        let member = Member { id: header.member, client_urls: vec![client.endpoint().into()], ..Member::default() };
        let id = member.id;
        let mut told = vec![Observation::Members(vec![member])];
        if let Some(status) = status.clone() {
            told.push(Observation::Alarms(source::alarms(&status.errors)));
            told.push(Observation::Status { member: id, answer: Ok(status) });
        }
        let at = self.clock.now();
        self.told_by_members = told.into_iter().map(|what| Stamped { at, what }).collect();
        for told in &self.told_by_members {
            feed(&mut self.model, told.clone());
        }
        self.pass_time();
        Some(Unseen::unanswered("the other members", failure.words()))
    }

    /// Puts what was learnt in another way in the place of what is known.
    pub fn put(&mut self, model: Model) {
        *self.model = model;
    }

    /// Asks those of the leases that were not asked yet, in bursts within the budget.
    pub async fn poll(&mut self, leases: impl IntoIterator<Item = LeaseId>) {
        let mut seen = BTreeSet::new();
        let open: Vec<_> = leases
            .into_iter()
            .filter(|id| !id.is_none() && !self.facts().leases().is_polled(*id) && seen.insert(*id))
            .collect();
        self.burst(&open, None).await;
    }

    /// The same until then: the leases that are not asked by then count as unanswered.
    pub async fn poll_until(&mut self, leases: Vec<LeaseId>, deadline: Instant) {
        if timeout_at(deadline, self.poll(leases.iter().copied())).await.is_ok() {
            return;
        }
        self.pass_time();
        let known = self.facts().leases();
        let left: BTreeSet<_> = leases.into_iter().filter(|id| !id.is_none() && !known.is_polled(*id)).collect();
        if !left.is_empty() {
            let why = NO_TIME.into();
            self.unanswered = Some(Unanswered { leases: left.len(), why, refused: false });
        }
    }

    /// How long so many leases take at least by the budget.
    pub fn time_for(&self, leases: usize) -> Duration {
        BURST * u32::try_from(leases).unwrap_or(u32::MAX).div_ceil(self.budget.max(1))
    }

    /// Asks the leases for their time and their keys; the keys go to `told`.
    pub async fn poll_with_keys(&mut self, leases: &[LeaseId], told: &mut KeysOfLeases) {
        self.burst(leases, Some(told)).await;
    }

    async fn burst(&mut self, leases: &[LeaseId], mut told: Option<&mut KeysOfLeases>) {
        let mut rest = leases;
        let (mut failed, mut why) = (0, None);
        let mut connected_again = false;
        while !rest.is_empty() {
            // The rate falls when the leader answers slowly.
            let rate = usize::try_from(self.facts().poll_rate()).unwrap_or(usize::MAX).max(1);
            if rest.len() == leases.len() && rest.len() > 2 * rate {
                let seconds = rest.len().div_ceil(rate);
                say(format_args!(
                    "asking {} leases for their TTL, {rate} a second: some {seconds} s (--ttl none skips it, \
                     --ttl-budget N asks faster)",
                    rest.len(),
                ));
            }
            let (now, later) = rest.split_at(rate.min(rest.len()));
            let next = Instant::now() + BURST;
            let Self { pool, clock, connected, model, .. } = self;
            let polled = source::poll_leases(pool, connected, now, told.is_some(), clock, &mut |observed| {
                if let (Some(told), Observation::LeaseTtl(LeaseTtl { lease, keys: Some(keys), .. })) =
                    (&mut told, &observed.what)
                {
                    told.insert(*lease, keys.clone());
                }
                feed(model, observed);
            })
            .await;
            debug!(?polled, "asked leases");
            // The leader may be another one by now; a cluster that is silent is not asked for long.
            if polled.is_silence()
                && !connected_again
                && !self.connected.is_leaderless()
                && self.connect_again().await.is_ok()
            {
                connected_again = true;
                if !self.connected.is_leaderless() {
                    continue;
                }
            }
            let silence = polled.is_silence();
            failed += if silence { rest.len() } else { polled.cost.failed as usize };
            why = why.or(polled.why);
            if silence {
                break;
            }
            rest = later;
            if !rest.is_empty() {
                sleep_until(next).await;
            }
        }
        if let Some(why) = why.filter(|_| failed > 0) {
            let refused = matches!(why, PortError::Denied { .. } | PortError::Unauthenticated { .. });
            self.unanswered = Some(Unanswered { leases: failed, why: why.to_string(), refused });
        }
        self.pass_time();
    }

    /// Says how many leases did not tell their time, and why.
    pub fn say_unanswered(&self) {
        if let Some(Unanswered { leases, why, .. }) = &self.unanswered {
            say(format_args!("lockscope: {} did not tell how long they live: {why}", quantity(*leases, "lease")));
        }
    }

    /// The leases that were asked and gave no answer, if any.
    pub fn unanswered(&self) -> Option<Unseen> {
        let Unanswered { leases, why, refused } = self.unanswered.as_ref()?;
        let what = format!("the time of {}", quantity(*leases, "lease"));
        let why = sanitise(why).into_owned();
        Some(if *refused { Unseen::new(what, why) } else { Unseen::unanswered(what, why) })
    }

    /// Ends a command whose data is written: says what could not be read.
    ///
    /// # Errors
    /// When nothing at all may be read.
    pub fn end(&self, to: &mut impl Write) -> Result<(), Failure> {
        to.flush()?;
        self.say_unanswered();
        if self.report_denied() { Err(Failure::Refused) } else { Ok(()) }
    }

    /// Says which ranges could not be read and what it takes; whether nothing could be.
    pub fn report_denied(&self) -> bool {
        let link = &self.facts().link;
        link.denied.iter().for_each(say_denied);
        link.is_denied()
    }

    /// Whether the members said that they are too few to decide anything.
    pub fn has_no_quorum(&self) -> bool {
        has_no_quorum(self.facts())
    }

    /// Asks the members again and again while something else is read; ends when they say that they
    /// are too few to decide anything.
    pub fn quorum_lost(&self) -> impl Future<Output = ()> + use<> {
        let (pool, clock) = (self.pool.clone(), self.clock.clone());
        let Connected { client, header, .. } = &self.connected;
        let connected = Connected { client: client.clone(), header: *header, status: None, failed: Vec::new() };
        let mut model = empty(self.budget);
        async move {
            loop {
                sleep_until(Instant::now() + ASK_MEMBERS).await;
                let mut take = |observed| feed(&mut model, observed);
                let asked = source::poll_members(&pool, &connected, &clock, &mut take).await;
                update(&mut model, Event::Tick(clock.now()));
                if asked.is_ok() && has_no_quorum(model.live()) {
                    return;
                }
            }
        }
    }

    fn take(&mut self, what: Observation) {
        let at = self.clock.now();
        feed(&mut self.model, Stamped { at, what });
    }

    /// Moves the model's time, which ages and countdowns are told by. What it wants polled is
    /// for those who go on watching.
    pub fn pass_time(&mut self) {
        update(&mut self.model, Event::Tick(self.clock.now()));
    }
}

/// A model that knows nothing yet. Who prints findings makes a diagnosis in the end.
fn empty(budget: u32) -> Model {
    let mut model = Model::new(Facts::new(budget), Ui::default());
    model.diagnose_by(None);
    model
}

fn has_no_quorum(facts: &Facts) -> bool {
    let diagnosis = Diagnosis::of(facts, &Thresholds::default().at_one_look());
    diagnosis.findings().iter().any(|finding| finding.code == "no-quorum")
}

/// Says what else can be tried when locks cannot be found through their leases.
fn unreadable(error: SourceError, watching: &Watching) -> Failure {
    let no_wonder = matches!(error, SourceError::NoEndpoint(_) | SourceError::Port(PortError::Unauthenticated { .. }));
    let needs_leases = *watching == Watching::Discover && !no_wonder;
    let failure = Failure::from(error);
    if needs_leases {
        failure.hint("Finding locks through their leases needs a leader. `lockscope ls ''` reads what one member has.")
    } else {
        failure
    }
}

fn feed(model: &mut Model, observed: Stamped<Observation>) {
    update(model, Event::Observed(observed));
}

/// Says which range may not be read, by whom, and what it takes.
pub fn say_denied(denied: &Denied) {
    let name = range_name(&denied.range);
    let who = if denied.user.is_empty() { "without a user".into() } else { format!("by user {}", denied.user) };
    say(format_args!("lockscope: {name} may not be read {who}: {}", denied.why));
    say(format_args!("It takes a role with this right: {}", grant(&denied.range)));
}

/// A range in words.
fn range_name(range: &KeyRange) -> String {
    match (range.label(), range.end.is_empty()) {
        ([], _) => "the whole keyspace".into(),
        (key, true) => format!("key {}", escape(key)),
        (prefix, false) => format!("prefix {}", escape(prefix)),
    }
}

/// The command that gives a role the right to read a range.
fn grant(range: &KeyRange) -> String {
    let label = escape(range.label());
    let prefix = if range.end.is_empty() { "" } else { "--prefix=true " };
    format!("etcdctl role grant-permission ROLE {prefix}read '{label}'")
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NoEndpoint(failed) => cannot_connect(&failed),
            SourceError::Port(error) => Self::from(error),
            ended @ SourceError::WatchEnded(_) => Self::new(Exit::Error, ended.to_string()),
        }
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        // Some members say who they are to anybody, and ask who asks only afterwards.
        if let PortError::Unauthenticated { doing, why } = &error {
            return needs_user(&format!(" {doing}: {why}"));
        }
        let exit = if error.is_connection() { Exit::Connect } else { Exit::Error };
        Self::new(exit, error.to_string())
    }
}

/// An endpoint's reason; most of them name the endpoint themselves.
pub fn endpoint_error(endpoint: &str, error: &str) -> String {
    if error.contains(endpoint) { error.to_owned() } else { format!("{endpoint}: {error}") }
}

/// Names every endpoint with its reason.
fn cannot_connect(failed: &[Failed]) -> Failure {
    // A file that cannot be used is the same for every endpoint, and no matter of connecting.
    if let Some(Failed { error: error @ PortError::Tls { what, .. }, .. }) = failed.first()
        && what.starts_with("--")
    {
        return Failure::new(Exit::File, error.to_string());
    }
    let lines =
        failed.iter().map(|failed| format!("\n  {}", endpoint_error(&failed.endpoint, &failed.error.to_string())));
    // Where one wants to know who asks, the addresses are right.
    if failed.iter().any(|failed| matches!(failed.error, PortError::Unauthenticated { .. })) {
        return needs_user(&lines.collect::<String>());
    }
    let what = format!("cannot connect to any endpoint:{}", lines.collect::<String>());
    Failure::new(Exit::Connect, what).hint("Give client URLs of the cluster with --endpoints HOST:PORT,...")
}

/// The cluster answers nobody whom it does not know.
fn needs_user(told: &str) -> Failure {
    let what = format!("a user is needed, for the cluster answers only who logs in:{told}");
    Failure::new(Exit::Connect, what).hint("Name the user with --user NAME or ETCDCTL_USER.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(endpoint: &str, error: PortError) -> Failed {
        Failed { endpoint: endpoint.into(), error }
    }

    #[test]
    fn who_has_to_log_in_is_told_so_before_anything_else() {
        let error = PortError::Unauthenticated { doing: "ask for the status".into(), why: "user name is empty".into() };
        let failure = cannot_connect(&[failed("http://127.0.0.1:2379", error)]);
        let Failure::Said { exit: Exit::Connect, what, hint } = failure else { panic!("{failure:?}") };
        assert!(what.starts_with("a user is needed"), "{what}");
        assert!(hint.is_some_and(|hint| hint.contains("--user NAME")));
    }

    #[test]
    fn every_endpoint_is_named_once_with_its_reason() {
        let unreachable = |endpoint: &str| PortError::Unreachable { endpoint: endpoint.into(), why: "refused".into() };
        let no_space = PortError::NoSpace { doing: "connect".into() };
        let failure =
            cannot_connect(&[failed("http://a:1", unreachable("http://a:1")), failed("http://b:1", no_space)]);
        let Failure::Said { exit: Exit::Connect, what, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(what.matches("http://a:1").count(), 1, "{what}");
        assert!(what.contains("\n  http://b:1: connect: the database"), "{what}");
    }

    #[test]
    fn a_file_for_tls_is_no_matter_of_the_endpoints() {
        let error = PortError::Tls { what: "--cacert /x.pem".into(), why: "holds no certificate".into() };
        let failure = cannot_connect(&[failed("https://a:1", error.clone()), failed("https://b:1", error)]);
        let Failure::Said { exit: Exit::File, what, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(what, "--cacert /x.pem: holds no certificate");
    }

    #[test]
    fn the_right_to_read_is_told_as_a_command() {
        assert_eq!(grant(&KeyRange::prefix(b"/a/")), "etcdctl role grant-permission ROLE --prefix=true read '/a/'");
        assert_eq!(range_name(&KeyRange::prefix(b"")), "the whole keyspace");
        assert_eq!(range_name(&KeyRange::single(b"/a")), "key /a");
    }
}
