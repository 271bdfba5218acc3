//! The network between the nodes: delays, losses and cuts.
//!
//! A message that is lost stays on its way until it would have arrived, so that its loss can be
//! seen. Nothing is repeated: that is for the nodes to do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::message::Message;
use super::{Config, Machine};
use crate::chance::Chance;
use crate::domain::raft::{ClusterTime, Flight, NetworkPicture, NodeId};

/// What is on its way, and the rules it travels by.
pub(super) struct Network<M: Machine> {
    /// By the time of arrival and a number that grows in the order of sending.
    on_the_way: BTreeMap<(ClusterTime, u64), Letter<M>>,
    delay: Duration,
    jitter: Duration,
    loss: u16,
    cuts: BTreeSet<(NodeId, NodeId)>,
    isolated: BTreeSet<NodeId>,
    /// Nodes that take nothing: down, or not there.
    down: BTreeSet<NodeId>,
    chance: Chance,
}

/// A message with its envelope.
pub(super) struct Letter<M: Machine> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) sent: ClusterTime,
    pub(super) lost: bool,
    pub(super) message: Message<M>,
}

impl<M: Machine> Network<M> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            on_the_way: BTreeMap::new(),
            delay: config.delay,
            jitter: config.jitter,
            loss: config.loss,
            cuts: BTreeSet::new(),
            isolated: BTreeSet::new(),
            down: BTreeSet::new(),
            chance: Chance::new(config.seed, 0),
        }
    }

    /// Sends a message; `number` is its own and larger than those before.
    pub(super) fn send(&mut self, now: ClusterTime, number: u64, from: NodeId, to: NodeId, message: Message<M>) {
        let arrives = now + self.chance.between(self.delay, self.delay + self.jitter);
        let lost = self.chance.in_thousand(self.loss) || self.is_cut(from, to) || self.down.contains(&to);
        self.on_the_way.insert((arrives, number), Letter { from, to, sent: now, lost, message });
    }

    /// When the next message arrives, and its number.
    pub(super) fn next(&self) -> Option<(ClusterTime, u64)> {
        self.on_the_way.first_key_value().map(|(key, _)| *key)
    }

    /// Takes that message.
    pub(super) fn take(&mut self) -> Option<Letter<M>> {
        self.on_the_way.pop_first().map(|(_, letter)| letter)
    }

    fn is_cut(&self, a: NodeId, b: NodeId) -> bool {
        self.isolated.contains(&a) || self.isolated.contains(&b) || self.cuts.contains(&(a.min(b), a.max(b)))
    }

    /// Cuts two nodes off from each other; what is on its way between them is lost.
    pub(super) fn cut(&mut self, a: NodeId, b: NodeId) {
        self.cuts.insert((a.min(b), a.max(b)));
        self.lose_what_is_cut();
    }

    /// Cuts a node off from all others, also from those that come later.
    pub(super) fn isolate(&mut self, node: NodeId) {
        self.isolated.insert(node);
        self.lose_what_is_cut();
    }

    fn lose_what_is_cut(&mut self) {
        let mut letters = std::mem::take(&mut self.on_the_way);
        letters.values_mut().for_each(|letter| letter.lost |= self.is_cut(letter.from, letter.to));
        self.on_the_way = letters;
    }

    /// A node goes down; what is on its way to it goes with it.
    pub(super) fn go_down(&mut self, node: NodeId) {
        self.down.insert(node);
        self.on_the_way.retain(|_, letter| letter.to != node);
    }

    pub(super) fn come_up(&mut self, node: NodeId) {
        self.down.remove(&node);
    }

    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    pub(super) fn set_loss(&mut self, loss: u16) {
        self.loss = loss;
    }

    /// Mends all cuts and lets messages travel as they did at the start.
    pub(super) fn heal(&mut self, config: &Config) {
        (self.delay, self.jitter, self.loss) = (config.delay, config.jitter, config.loss);
        self.cuts.clear();
        self.isolated.clear();
    }

    pub(super) fn picture(&self, nodes: &[NodeId]) -> NetworkPicture {
        let pairs = nodes.iter().flat_map(|a| nodes.iter().filter(move |b| a < b).map(move |b| (*a, *b)));
        NetworkPicture {
            delay: self.delay,
            jitter: self.jitter,
            loss: self.loss,
            cuts: pairs.filter(|(a, b)| self.is_cut(*a, *b)).collect(),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.on_the_way.len()
    }

    /// The first messages that are on their way, oldest first.
    pub(super) fn flights(&self, most: usize) -> Vec<Flight> {
        let mut oldest: Vec<_> = self.on_the_way.keys().copied().collect();
        oldest.sort_unstable_by_key(|(_, number)| *number);
        oldest.truncate(most);
        let flight = |key: (ClusterTime, u64)| {
            let letter = self.on_the_way.get(&key)?;
            let Letter { from, to, sent, lost, message } = letter;
            let (arrives, id) = key;
            Some(Flight { id, from: *from, to: *to, sent: *sent, arrives, lost: *lost, what: message.picture() })
        };
        oldest.into_iter().filter_map(flight).collect()
    }
}
