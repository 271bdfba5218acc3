//! What all nodes share: the clock, the network, and who writes down what happens.
//!
//! A node puts things in here and learns nothing of other nodes from it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::message::Message;
use super::network::Network;
use super::terms::Terms;
use super::timer::Alarm;
use super::trace::Traces;
use super::{Config, Done, Machine, Outcome, RequestId};
use crate::domain::raft::{ClusterTime, NodeId, Rules, Waypoint};

/// The nodes' surroundings.
pub(super) struct World<M: Machine> {
    pub(super) now: ClusterTime,
    pub(super) config: Config,
    pub(super) rules: Rules,
    pub(super) network: Network<M>,
    pub(super) traces: Traces<M>,
    pub(super) terms: Terms,
    pub(super) done: Vec<Done<M>>,
    /// Nodes that no leader is to take in any more: whoever would have started them gave up.
    pub(super) dismissed: BTreeSet<NodeId>,
    sequence: u64,
    requests: u64,
}

impl<M: Machine> World<M> {
    pub(super) fn new(config: Config) -> Self {
        Self {
            now: ClusterTime::default(),
            rules: config.rules,
            network: Network::new(&config),
            traces: Traces::new(config.trace),
            terms: Terms::default(),
            done: Vec::new(),
            dismissed: BTreeSet::new(),
            sequence: 0,
            requests: 0,
            config,
        }
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// An alarm that goes off after a while.
    pub(super) fn alarm(&mut self, after: Duration) -> Alarm {
        Alarm { set: self.now, due: self.now + after, sequence: self.number() }
    }

    pub(super) fn send(&mut self, from: NodeId, to: NodeId, message: Message<M>) {
        let number = self.number();
        self.network.send(self.now, number, from, to, message);
    }

    /// A new request's number.
    pub(super) fn next_request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    /// A request is at a station.
    pub(super) fn step(&mut self, request: RequestId, node: NodeId, what: Waypoint) {
        self.traces.step(self.now, request, node, what);
    }

    /// A request came to its end.
    pub(super) fn finish(&mut self, request: RequestId, node: NodeId, outcome: Outcome<M>) {
        match &outcome {
            Outcome::Refused(why) => self.traces.stop(request, || why.to_string()),
            Outcome::Failed(why) => self.traces.stop(request, || why.to_string()),
            _ => {}
        }
        self.done.push(Done { request, node, outcome });
    }
}
