//! A scenario while it is played in real time: the company, and who leads it.

use std::collections::BTreeSet;
use std::future::Future;

use super::exit::{Exit, Failure};
use super::piece::Piece;
use super::wait;
use crate::config::Connection;
use crate::control::Control;
use crate::domain::play::Happening;
use crate::domain::raft::{ClusterTime, Fault, RaftPicture, TermRecord};
use crate::pace::Clock;
use crate::playground::dial::Members;
use crate::playground::director::{Direction, Theatre};
use crate::playground::{Begin, Company, Remains, StartError, Stopped, Summary};
use crate::runtime::Chronicle;
use crate::runtime::play::Playing;

/// A scenario that is played.
pub struct Performance {
    company: Company,
    direction: Direction,
    clock: Clock,
    began: ClusterTime,
    theatre: Option<Control>,
}

impl Performance {
    /// Lets the clients begin, and who leads them; `theatre` is the cluster when things can be done
    /// to it. It returns when they have begun.
    ///
    /// # Errors
    /// When keys are there already.
    pub async fn begin(
        piece: &Piece,
        how: Begin,
        connection: &Connection,
        clock: &Clock,
        theatre: Option<Control>,
    ) -> Result<Self, Failure> {
        let members = Members::new(connection);
        let stay = piece.cast.clients.iter().filter(|(_, habits)| habits.stays);
        let stay: BTreeSet<u32> = stay.map(|(client, _)| client.0).collect();
        let dial = move |number| if stay.contains(&number) { members.only(number) } else { members.of(number) };
        let company = Company::start(&piece.cast, how, dial, clock).await?;
        let began = clock.now();
        let direction =
            Direction::start(piece.director(began), company.control(), clock.clone(), theatre.clone().map(On));
        Ok(Self { company, direction, clock: clock.clone(), began, theatre })
    }

    /// The run, to be shown.
    pub fn shown(&self) -> Box<dyn Playing> {
        Box::new(self.company.control())
    }

    /// Faults that are done by hand are noted in the run from now on.
    pub fn notes(&self, chronicle: &Chronicle) {
        let view = self.company.view();
        chronicle.begin(move |fault| view.note(Happening::Fault(fault)));
    }

    /// Ends it: the clients give up what they have. What came of it.
    pub async fn end(self, piece: &Piece, seed: u64) -> Played {
        let end = self.clock.now();
        let director = self.direction.stop().await;
        let Stopped { mut tally, remains } = self.company.stop().await;
        if let Some(theatre) = &self.theatre
            && let Ok(picture) = theatre.picture().await
        {
            tally.terms_were(&picture.terms);
        }
        let summary = Summary::of(&piece.cast, seed, end.since(self.began), &tally);
        let summary = match director {
            Some(director) => summary.directed(director.expected(&tally, end), director.narrations()),
            None => summary,
        };
        Played { summary, remains, broken_off: false }
    }
}

/// What came of a scenario that was played.
#[derive(Debug)]
pub struct Played {
    /// In numbers and sentences.
    pub summary: Summary,
    /// What could not be taken away.
    pub remains: Option<Remains>,
    /// Whether somebody ended it before its time.
    pub broken_off: bool,
}

/// A cluster of one's own as a place to play.
struct On(Control);

impl Theatre for On {
    fn fault(&self, fault: Fault) -> impl Future<Output = Result<(), String>> + Send {
        self.0.fault(fault)
    }

    async fn picture(&self) -> Option<RaftPicture> {
        self.0.picture().await.ok()
    }

    async fn terms(&self) -> Option<Vec<TermRecord>> {
        self.0.terms().await.ok()
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let exit = match error {
            StartError::Taken { .. } => Exit::BadInput,
            StartError::Ended => Exit::Error,
        };
        Self::new(exit, error.to_string())
    }
}

/// What comes of it, or nothing when a person broke off or the system said to end.
pub async fn unless_told_to_stop<T>(doing: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // The signal first: what is always ready must not outrun it.
        biased;
        () = wait::interrupted() => None,
        done = doing => Some(done),
    }
}
