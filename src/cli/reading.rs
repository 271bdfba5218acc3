//! One look at a cluster: connects, feeds the model what was asked, and keeps to the budget.
//!
//! Commands read the same model as the screens; this is what fills it when nobody watches.

mod denied;
mod failure;
mod leases;
mod members;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use tokio::time::{Duration, Instant, sleep_until};
use tracing::debug;

use super::exit::{Exit, Failure, say};
use crate::config::{Config, Tls};
use crate::domain::{ClusterId, Key, KeyRange, KeyValue, Timestamp};
use crate::event::{Event, ListPage, Observation, Stamped};
use crate::model::{Facts, Model, Ui};
use crate::port::pool::Connected;
use crate::port::{Client, Clock, Etcd as _, Pool, PortError, Range};
use crate::runtime;
use crate::source::{self, SourceError, Watching};
use crate::update::update;

pub use denied::say_denied;
pub use failure::endpoint_error;

use failure::unreadable;
use leases::Unanswered;

/// How long an election is waited for before the next try.
const AGAIN: Duration = Duration::from_millis(200);

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

/// A clock of the kind the sources want.
pub fn clock() -> Clock {
    let clock = runtime::clock::Clock::start();
    Clock::new(move || clock.now())
}

/// What the settings say is to be watched.
pub fn watching(config: &Config) -> Watching {
    Watching::of(&config.prefixes)
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

    /// Puts what was learnt in another way in the place of what is known.
    pub fn put(&mut self, model: Model) {
        *self.model = model;
    }

    /// Ends a command whose data is written: says what could not be read.
    ///
    /// # Errors
    /// When nothing at all may be read.
    pub fn end(self, to: &mut impl Write) -> Result<(), Failure> {
        to.flush()?;
        self.say_unanswered();
        let denied = self.report_denied();
        // The process ends: taking a model of 100,000 keys apart would only keep the prompt waiting.
        std::mem::forget(self.model);
        if denied { Err(Failure::Refused) } else { Ok(()) }
    }

    /// Says which ranges could not be read and what it takes; whether nothing could be.
    pub fn report_denied(&self) -> bool {
        let link = &self.facts().link;
        link.denied.iter().for_each(say_denied);
        link.is_denied()
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
pub fn empty(budget: u32) -> Model {
    let mut model = Model::new(Facts::new(budget), Ui::default());
    model.diagnose_by(None);
    model
}

fn feed(model: &mut Model, observed: Stamped<Observation>) {
    update(model, Event::Observed(observed));
}
