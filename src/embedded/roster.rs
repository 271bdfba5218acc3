//! Who the nodes are to etcd's clients: ids, names and URLs.
//!
//! A real etcd keeps this in its replicated state. Here the addresses of members are the
//! driver's to choose, so they stand beside it; who is a member, and with a vote, is agreed on
//! by Raft as it has to be.

use std::collections::BTreeMap;

use crate::chance::{STRIDE, mix};
use crate::domain::raft::NodeId;
use crate::domain::{ClusterId, Member, MemberId};
use crate::raft;

/// The nodes as members.
#[derive(Clone, Debug)]
pub(super) struct Roster {
    pub cluster: ClusterId,
    seed: u64,
    seats: BTreeMap<NodeId, Seat>,
}

#[derive(Clone, Debug)]
struct Seat {
    peer_urls: Vec<String>,
    client_urls: Vec<String>,
}

impl Roster {
    /// Seats for the nodes 1 to `nodes` of the cluster that `seed` fixes.
    pub fn new(seed: u64, nodes: usize) -> Self {
        let mut roster = Self { cluster: ClusterId(mixed(seed)), seed, seats: BTreeMap::new() };
        for node in (1..).take(nodes).map(NodeId) {
            roster.seat(node, vec![format!("http://{node}.embedded:2380")]);
        }
        roster
    }

    /// Takes up a node that joins.
    pub fn seat(&mut self, node: NodeId, peer_urls: Vec<String>) {
        self.seats.insert(node, Seat { peer_urls, client_urls: Vec::new() });
    }

    /// Forgets a node that did not join or left.
    pub fn leave(&mut self, node: NodeId) {
        self.seats.remove(&node);
    }

    /// The nodes, those that are about to join included.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.seats.keys().copied()
    }

    /// A number no node has or had.
    pub fn next(&self, highest: NodeId) -> NodeId {
        NodeId(self.seats.keys().last().map_or(0, |node| node.0).max(highest.0) + 1)
    }

    /// Where a member serves clients.
    pub fn serve_at(&mut self, node: NodeId, url: String) {
        if let Some(seat) = self.seats.get_mut(&node) {
            seat.client_urls = vec![url];
        }
    }

    /// Whether one of those that `counts` has one of these URLs.
    pub fn has_peer_url(&self, urls: &[String], counts: impl Fn(NodeId) -> bool) -> bool {
        let has = |seat: &Seat| seat.peer_urls.iter().any(|url| urls.contains(url));
        self.seats.iter().any(|(&node, seat)| has(seat) && counts(node))
    }

    /// The id a node's API reports.
    pub fn member(&self, node: NodeId) -> MemberId {
        MemberId(mixed(self.seed.wrapping_add(node.0.wrapping_mul(STRIDE))))
    }

    /// The node whose API reports this id.
    pub fn node(&self, member: MemberId) -> Option<NodeId> {
        self.seats.keys().copied().find(|&node| self.member(node) == member)
    }

    /// The members that Raft knows, in the order of the nodes.
    pub fn members(&self, known: &raft::Members) -> Vec<Member> {
        let joined = self.seats.iter().filter_map(|(&node, seat)| {
            let votes = known.voters.contains(&node) || known.incoming.contains(&node);
            let learner = known.learners.contains(&node) && !votes;
            (votes || learner).then(|| Member {
                id: self.member(node),
                name: node.to_string(),
                client_urls: seat.client_urls.clone(),
                peer_urls: seat.peer_urls.clone(),
                learner,
            })
        });
        joined.collect()
    }
}

/// A number that looks like any other; never 0, which means "none" in etcd.
const fn mixed(number: u64) -> u64 {
    mix(number) | 1
}
