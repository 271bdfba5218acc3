//! Asking the members about themselves.

use tokio::time::{Duration, Instant, sleep_until, timeout_at};

use super::{NO_TIME, Reading, empty, feed};
use crate::cli::exit::{Exit, Failure};
use crate::cli::unseen::Unseen;
use crate::domain::Member;
use crate::event::{Event, Observation, Stamped};
use crate::model::findings::Thresholds;
use crate::model::{Diagnosis, Facts};
use crate::port::pool::Connected;
use crate::source;
use crate::update::update;

/// So often the members are asked while something else is read.
const ASK_MEMBERS: Duration = Duration::from_secs(1);

impl Reading {
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
}

fn has_no_quorum(facts: &Facts) -> bool {
    let diagnosis = Diagnosis::of(facts, &Thresholds::default().at_one_look());
    diagnosis.findings().iter().any(|finding| finding.code == "no-quorum")
}
