//! A machine that notes what it is told, and short ways to drive a cluster of them.

use std::time::Duration;

use super::{Config, Done, Machine, Outcome, RequestId};
use crate::domain::Revision;
use crate::domain::raft::{ClusterTime, Fault, NodeId};

/// Notes numbers in the order in which they come.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "notes are what it has")]
pub(super) struct Notes {
    pub(super) notes: Vec<u32>,
    /// Since when it leads.
    pub(super) leads: Option<ClusterTime>,
    /// What it says a snapshot of it costs.
    pub(super) weight: u64,
}

/// A leader's machine of these notes this number by itself, a second after its lead began.
pub(super) const OWN: u32 = u32::MAX;

impl Machine for Notes {
    type Command = u32;
    /// How many notes there are.
    type Answer = usize;
    type Snapshot = Vec<u32>;
    type Question = ();
    type Reply = usize;

    fn apply(&mut self, _: ClusterTime, note: &u32) -> usize {
        self.notes.push(*note);
        self.notes.len()
    }
    fn revision(&self) -> Revision {
        Revision(i64::try_from(self.notes.len()).unwrap() + 1)
    }
    fn snapshot(&self) -> Vec<u32> {
        self.notes.clone()
    }
    fn weight(&self) -> u64 {
        self.weight
    }
    fn restore(&mut self, snapshot: &Vec<u32>) {
        self.notes.clone_from(snapshot);
    }
    fn describe(note: &u32) -> String {
        format!("note {note}")
    }
    fn lead(&mut self, now: ClusterTime) {
        self.leads = Some(now);
    }
    fn follow(&mut self) {
        self.leads = None;
    }
    fn next_due(&self) -> Option<ClusterTime> {
        let is_noted = self.notes.contains(&OWN);
        self.leads.filter(|_| !is_noted).map(|since| since + Duration::from_secs(1))
    }
    fn due(&mut self, now: ClusterTime) -> Vec<u32> {
        assert!(self.next_due().is_some_and(|due| due <= now));
        vec![OWN]
    }
    fn answer(&mut self, _: ClusterTime, (): &()) -> usize {
        self.notes.len()
    }
}

pub(super) type Cluster = super::Cluster<Notes>;

pub(super) const N1: NodeId = NodeId(1);
pub(super) const N2: NodeId = NodeId(2);
pub(super) const N3: NodeId = NodeId(3);
pub(super) const N4: NodeId = NodeId(4);

pub(super) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A cluster of three without a leader.
pub(super) fn three() -> Cluster {
    cluster(Config::default())
}

pub(super) fn cluster(config: Config) -> Cluster {
    Cluster::new(config, |_| Notes::default())
}

/// A cluster whose leader is known to all.
pub(super) fn led(config: Config) -> (Cluster, NodeId) {
    let mut cluster = cluster(config);
    let leader = cluster.elected();
    (cluster, leader)
}

impl Cluster {
    pub(super) fn run(&mut self, for_: Duration) {
        self.advance(self.now() + for_);
    }

    /// Runs until somebody leads and all that are up follow; the leader.
    #[track_caller]
    pub(super) fn elected(&mut self) -> NodeId {
        for _ in 0..200 {
            self.run(millis(20));
            let followed = |leader| {
                self.nodes
                    .values()
                    .filter(|node| node.has_vote())
                    .all(|node| node.life != crate::domain::raft::Life::Up || node.leader == Some(leader))
            };
            if let Some(leader) = self.leader().filter(|leader| followed(*leader)) {
                self.run(millis(60));
                return leader;
            }
        }
        panic!(
            "no leader that all follow after four seconds: {:?}",
            self.nodes().iter().map(|id| self.node(*id).unwrap().role()).collect::<Vec<_>>()
        )
    }

    #[track_caller]
    pub(super) fn do_(&mut self, fault: Fault) {
        self.fault(&fault).unwrap();
    }

    /// The outcome of a request, if it has one by now. Those of others are forgotten.
    pub(super) fn outcome(&mut self, request: RequestId) -> Option<Outcome<Notes>> {
        self.take_done().find(|done| done.request == request).map(|Done { outcome, .. }| outcome)
    }

    /// Runs until a request has its outcome, at most so long.
    pub(super) fn wait(&mut self, request: RequestId, at_most: Duration) -> Option<Outcome<Notes>> {
        let end = self.now() + at_most;
        loop {
            if let Some(outcome) = self.outcome(request) {
                return Some(outcome);
            }
            if self.next_event().is_none_or(|next| next > end) || !self.step() {
                return None;
            }
        }
    }

    /// Notes something at a node; how many notes there are then.
    #[track_caller]
    pub(super) fn note(&mut self, at: NodeId, note: u32) -> usize {
        let request = self.propose(at, note);
        match self.wait(request, millis(2000)) {
            Some(Outcome::Applied { answer, .. }) => answer,
            other => panic!("{at} did not note {note}: {}", words(other.as_ref())),
        }
    }

    pub(super) fn notes(&self, at: NodeId) -> &[u32] {
        &self.node(at).unwrap().machine().notes
    }

    /// Some node that is not this one.
    pub(super) fn other(&self, than: NodeId) -> NodeId {
        self.nodes().into_iter().find(|id| *id != than).unwrap()
    }
}

/// An outcome in words.
pub(super) fn words(outcome: Option<&Outcome<Notes>>) -> String {
    match outcome {
        None => "nothing yet".to_owned(),
        Some(Outcome::Applied { answer, .. }) => format!("applied: {answer}"),
        Some(Outcome::Readable { .. }) => "readable".to_owned(),
        Some(Outcome::Answered(reply)) => format!("answered: {reply}"),
        Some(Outcome::Changed) => "changed".to_owned(),
        Some(Outcome::Transferred) => "transferred".to_owned(),
        Some(Outcome::Refused(why)) => format!("refused: {why}"),
        Some(Outcome::Failed(why)) => format!("failed: {why}"),
    }
}
