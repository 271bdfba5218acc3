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

    /// Watches of a node were told; they may be of several streams, each of which says so.
    pub(super) fn told(&mut self, at: ClusterTime, id: RequestId, node: NodeId, watches: u32) {
        let Some(record) = self.find(id) else { return };
        for step in record.steps.iter_mut().filter(|step| step.node == node) {
            if let Waypoint::WatchersTold { watches: told } = &mut step.what {
                *told = told.saturating_add(watches);
                return;
            }
        }
        record.steps.push(TraceStep { at, node, what: Waypoint::WatchersTold { watches } });
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

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::super::testing::*;
    use super::*;
    use crate::domain::raft::Fault;

    fn trace(cluster: &Cluster, request: RequestId) -> Trace {
        cluster.picture().traces.into_iter().find(|trace| trace.id == request.0).unwrap()
    }

    fn at(trace: &Trace, node: NodeId) -> Vec<Waypoint> {
        trace.steps.iter().filter(|step| step.node == node).map(|step| step.what).collect()
    }

    #[test]
    fn the_way_of_a_write_through_a_follower_is_written_down_to_its_end() {
        let (mut cluster, leader) = led(Config { delay: millis(5), ..Config::default() });
        let origin = cluster.other(leader);
        let write = cluster.propose(origin, 7);
        cluster.run(millis(30));
        cluster.told_at(origin, Revision(2), 3);
        cluster.answered(write, true);
        let trace = trace(&cluster, write);
        assert_eq!(trace.what, "note 7");
        assert_eq!(trace.stopped, None);
        assert!(trace.steps.is_sorted_by_key(|step| step.at), "{trace:?}");
        let (term, index) = (cluster.node(leader).unwrap().term(), cluster.node(leader).unwrap().last());
        let revision = Revision(2);
        assert_eq!(
            at(&trace, origin),
            [
                Waypoint::Received,
                Waypoint::Forwarded { to: leader },
                Waypoint::Appended,
                Waypoint::Committed,
                Waypoint::Applied { revision },
                Waypoint::WatchersTold { watches: 3 },
                Waypoint::Answered { ok: true },
            ]
        );
        let leaders = at(&trace, leader);
        let (by, others): (Vec<_>, Vec<_>) =
            leaders.into_iter().partition(|what| matches!(what, Waypoint::Acknowledged { .. }));
        let proposed = Waypoint::Proposed { term, index };
        assert_eq!(others, [proposed, Waypoint::Appended, Waypoint::Committed, Waypoint::Applied { revision }]);
        assert_eq!(by.len(), 2, "{by:?}");
        let sent = trace.steps.iter().map(|step| step.at).collect::<Vec<_>>();
        assert_eq!(sent.last().unwrap().since(sent[0]), millis(30));
    }

    #[test]
    fn where_a_write_stopped_is_said_and_taken_back_when_it_goes_on() {
        let (mut cluster, leader) = led(Config::default());
        cluster.do_(Fault::Isolate(leader));
        let lost = cluster.propose(leader, 1);
        cluster.run(millis(700));
        let stopped = trace(&cluster, lost).stopped.unwrap();
        assert!(stopped.contains("lost the lead"), "{stopped}");

        let (mut cluster, leader) = led(Config { nodes: 2, ..Config::default() });
        cluster.do_(Fault::Isolate(leader));
        let late = cluster.propose(leader, 1);
        cluster.run(millis(700));
        assert!(trace(&cluster, late).stopped.is_some());
        cluster.do_(Fault::Heal);
        cluster.run(millis(3000));
        assert_eq!(trace(&cluster, late).stopped, None, "its log was the longer one");
    }

    #[test]
    fn what_fails_says_why() {
        let mut cluster = three();
        cluster.do_(Fault::Kill(N2));
        cluster.do_(Fault::Kill(N3));
        let write = cluster.propose(N1, 1);
        cluster.run(millis(7000));
        assert_eq!(trace(&cluster, write).stopped.as_deref(), Some("no leader"));
    }

    #[test]
    fn an_entry_that_went_into_a_snapshot_says_so() {
        let (mut cluster, leader) = led(Config { compact_after: 10, ..Config::default() });
        let first = cluster.propose(leader, 0);
        for note in 1..20 {
            cluster.note(leader, note);
        }
        cluster.run(millis(10));
        let trace = trace(&cluster, first);
        let compacted = trace.steps.iter().filter(|step| matches!(step.what, Waypoint::Compacted { .. }));
        assert_eq!(compacted.count(), 3, "{trace:?}");
    }

    #[test]
    fn a_read_has_its_way_too_and_is_named_by_who_knows_what_it_reads() {
        let (mut cluster, leader) = led(Config::default());
        let origin = cluster.other(leader);
        let read = cluster.read(origin);
        cluster.entitle(read, "range /a".to_owned());
        cluster.run(millis(10));
        let trace = trace(&cluster, read);
        assert_eq!(trace.what, "range /a");
        assert_eq!(at(&trace, origin), [Waypoint::Received, Waypoint::Forwarded { to: leader }, Waypoint::Confirmed]);
        assert_eq!(at(&trace, leader), [Waypoint::Confirmed]);
    }

    #[test]
    fn watches_at_another_node_are_found_by_the_revision() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        let second = cluster.propose(leader, 2);
        cluster.run(millis(10));
        let elsewhere = cluster.other(leader);
        cluster.told_at(elsewhere, Revision(3), 2);
        assert_eq!(at(&trace(&cluster, second), elsewhere).last(), Some(&Waypoint::WatchersTold { watches: 2 }));
    }

    #[test]
    fn watches_of_several_streams_of_a_node_are_counted_together() {
        let (mut cluster, leader) = led(Config::default());
        let write = cluster.propose(leader, 1);
        cluster.run(millis(10));
        let elsewhere = cluster.other(leader);
        for (node, watches) in [(leader, 2), (elsewhere, 4), (leader, 3), (leader, 2)] {
            cluster.told_at(node, Revision(2), watches);
        }
        let trace = trace(&cluster, write);
        let told = |node| at(&trace, node).into_iter().filter(|what| matches!(what, Waypoint::WatchersTold { .. }));
        assert_eq!(told(leader).collect::<Vec<_>>(), [Waypoint::WatchersTold { watches: 7 }]);
        assert_eq!(told(elsewhere).collect::<Vec<_>>(), [Waypoint::WatchersTold { watches: 4 }]);
    }

    #[test]
    fn only_the_latest_are_kept_and_none_if_none_is_wanted() {
        for (keep, kept) in [(3, 3), (0, 0)] {
            let (mut cluster, leader) = led(Config { trace: keep, ..Config::default() });
            for note in 0..10 {
                cluster.note(leader, note);
            }
            let traces = cluster.picture().traces;
            assert_eq!(traces.len(), kept);
            assert!(traces.is_sorted_by_key(|trace| trace.id));
            assert!(traces.last().is_none_or(|trace| trace.what == "note 9"));
        }
    }
}
