//! The ways of the latest requests through the cluster.
//!
//! Kept by one who sees all nodes. What a request asks is put into words only when somebody
//! looks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::log::Body;
use super::{Machine, RequestId};
use crate::domain::Revision;
use crate::domain::raft::{ClusterTime, NodeId, Trace, TraceStep, Waypoint};

/// The traces of the latest requests, oldest first.
pub(super) struct Traces<M: Machine> {
    most: usize,
    records: VecDeque<Record<M>>,
}

struct Record<M: Machine> {
    id: RequestId,
    subject: Subject<M>,
    steps: Vec<TraceStep>,
    stopped: Option<String>,
}

/// What a request is about.
pub(super) enum Subject<M: Machine> {
    Command(Arc<Body<M::Command>>),
    Words(String),
}

impl<M: Machine> Traces<M> {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, records: VecDeque::new() }
    }

    /// A request begins; its number is larger than all before.
    pub(super) fn begin(&mut self, id: RequestId, subject: impl FnOnce() -> Subject<M>) {
        if self.most == 0 {
            return;
        }
        if self.records.len() == self.most {
            self.records.pop_front();
        }
        self.records.push_back(Record { id, subject: subject(), steps: Vec::new(), stopped: None });
    }

    fn find(&mut self, id: RequestId) -> Option<&mut Record<M>> {
        if self.records.front().is_none_or(|record| id < record.id) {
            return None;
        }
        let at = self.records.binary_search_by_key(&id, |record| record.id).ok()?;
        self.records.get_mut(at)
    }

    /// Puts what it is about in other words.
    pub(super) fn entitle(&mut self, id: RequestId, words: String) {
        if let Some(record) = self.find(id) {
            record.subject = Subject::Words(words);
        }
    }

    /// A request came to a station. What is told twice, as after a restart, counts once. One
    /// that was thought to have stopped goes on.
    pub(super) fn step(&mut self, at: ClusterTime, id: RequestId, node: NodeId, what: Waypoint) {
        let Some(record) = self.find(id) else { return };
        if record.steps.iter().any(|step| step.node == node && step.what == what) {
            return;
        }
        if matches!(what, Waypoint::Committed | Waypoint::Applied { .. }) {
            record.stopped = None;
        }
        record.steps.push(TraceStep { at, node, what });
    }

    /// A request goes no further, for this reason.
    pub(super) fn stop(&mut self, id: RequestId, why: impl FnOnce() -> String) {
        if let Some(record) = self.find(id) {
            record.stopped.get_or_insert_with(why);
        }
    }

    /// The node that took the request from its client.
    pub(super) fn origin(&mut self, id: RequestId) -> Option<NodeId> {
        self.find(id)?.steps.first().map(|step| step.node)
    }

    /// The request that brought a node's store to a revision: the first that was applied at
    /// it, as one that changes nothing leaves the revision as it is.
    pub(super) fn at_revision(&self, node: NodeId, revision: Revision) -> Option<RequestId> {
        let applied = Waypoint::Applied { revision };
        let is_it = |record: &&Record<M>| record.steps.iter().any(|step| step.node == node && step.what == applied);
        self.records.iter().find(is_it).map(|record| record.id)
    }

    pub(super) fn picture(&self) -> Vec<Trace> {
        let words = |subject: &Subject<M>| match subject {
            Subject::Words(words) => words.clone(),
            Subject::Command(body) => describe::<M>(body),
        };
        let trace = |record: &Record<M>| Trace {
            id: record.id.0,
            what: words(&record.subject),
            steps: record.steps.clone(),
            stopped: record.stopped.clone(),
        };
        self.records.iter().map(trace).collect()
    }
}

/// What an entry does, in a few words.
pub(super) fn describe<M: Machine>(body: &Body<M::Command>) -> String {
    match body {
        Body::Term => "first of its term".to_owned(),
        Body::Members(_) => "members".to_owned(),
        Body::Request { command, .. } => M::describe(command),
    }
}
