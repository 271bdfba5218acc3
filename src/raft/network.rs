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
        let arrives = now + self.chance.between(self.delay, self.delay.saturating_add(self.jitter));
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
        for letter in letters.values_mut() {
            letter.lost |= self.is_cut(letter.from, letter.to);
        }
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

    /// Whether a configuration is on its way.
    pub(super) fn carries_members(&self) -> bool {
        self.on_the_way.values().any(|letter| !letter.lost && letter.message.carries_members())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Config;
    use super::super::testing::*;
    use super::*;
    use crate::domain::raft::{Fault, RaftMessage};

    #[test]
    fn messages_take_the_delay_and_up_to_the_jitter_more() {
        let (mut cluster, leader) = led(Config { delay: millis(5), jitter: millis(10), ..Config::default() });
        let mut lengths = BTreeSet::new();
        for note in 0..50 {
            cluster.propose(leader, note);
            cluster.run(millis(2));
            lengths.extend(cluster.picture().flights.iter().map(|flight| flight.arrives.since(flight.sent)));
        }
        assert!(lengths.iter().all(|length| (millis(5)..=millis(15)).contains(length)), "{lengths:?}");
        assert!(lengths.len() > 50, "{lengths:?}");
    }

    #[test]
    fn a_cut_loses_what_is_on_its_way_and_what_is_sent_later_until_it_is_mended() {
        let (mut cluster, leader) = led(Config { delay: millis(20), ..Config::default() });
        let id = cluster.other(leader);
        cluster.propose(leader, 1);
        cluster.run(millis(1));
        cluster.do_(Fault::Cut(id, leader));
        cluster.propose(leader, 2);
        cluster.run(millis(1));
        let picture = cluster.picture();
        let pair = (id.min(leader), id.max(leader));
        assert_eq!(picture.network.cuts, [pair]);
        for flight in &picture.flights {
            let is_between = (flight.from.min(flight.to), flight.from.max(flight.to)) == pair;
            assert_eq!(flight.lost, is_between, "{flight:?}");
        }
        cluster.run(millis(100));
        assert!(cluster.notes(id).is_empty());
        cluster.do_(Fault::Heal);
        assert!(cluster.picture().network.cuts.is_empty());
        cluster.run(millis(300));
        assert_eq!(cluster.notes(id), [1, 2]);
    }

    #[test]
    fn an_isolated_node_is_cut_off_from_all_also_from_those_that_come_later() {
        let (mut cluster, leader) = led(Config::default());
        let id = cluster.other(leader);
        cluster.do_(Fault::Isolate(id));
        cluster.add_node(N4).unwrap();
        let cuts = cluster.picture().network.cuts;
        assert_eq!(cuts.len(), 3, "{cuts:?}");
        assert!(cuts.iter().all(|(a, b)| a < b && (*a == id || *b == id)), "{cuts:?}");
    }

    #[test]
    fn healing_brings_back_what_the_cluster_began_with() {
        let config = Config { delay: millis(3), jitter: millis(4), loss: 5, ..Config::default() };
        let mut cluster = cluster(config);
        cluster.do_(Fault::Delay(millis(100)));
        cluster.do_(Fault::Loss(500));
        let network = cluster.picture().network;
        assert_eq!((network.delay, network.jitter, network.loss), (millis(100), millis(4), 500));
        cluster.do_(Fault::Heal);
        let network = cluster.picture().network;
        assert_eq!((network.delay, network.jitter, network.loss), (config.delay, config.jitter, config.loss));
    }

    #[test]
    fn lost_messages_are_seen_until_they_would_have_arrived() {
        let (mut cluster, leader) = led(Config { delay: millis(10), ..Config::default() });
        cluster.do_(Fault::Loss(1000));
        cluster.propose(leader, 1);
        cluster.advance(cluster.now());
        let carries = |flight: &&Flight| matches!(flight.what, RaftMessage::Append { .. });
        let lost =
            |cluster: &Cluster| cluster.picture().flights.iter().filter(carries).filter(|flight| flight.lost).count();
        assert_eq!(lost(&cluster), 2);
        cluster.run(millis(9));
        assert_eq!(lost(&cluster), 2);
        cluster.run(millis(1));
        assert_eq!(lost(&cluster), 0);
    }
}
