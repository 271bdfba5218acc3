//! The cluster at one moment, for whoever draws it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::cluster::Cluster;
use super::lead::Lead;
use super::log::Entry;
use super::node::Node;
use super::view::NodeView;
use super::{Machine, trace};
use crate::domain::raft::{ClusterTime, LogCell, NodeId, NodePicture, RaftPicture};
use crate::domain::{MemberId, RaftIndex};

/// How many entries at the end of a log are shown.
const WINDOW: u64 = 64;

/// How many messages are shown.
const FLIGHTS: usize = 64;

impl<M: Machine> Cluster<M> {
    /// The cluster as it is now. Speed, pause and the members' ids are left to the driver.
    pub fn picture(&self) -> RaftPicture {
        let ids: Vec<NodeId> = self.nodes();
        RaftPicture {
            now: self.world.now,
            seed: self.world.config.seed,
            rules: self.world.rules,
            network: self.world.network.picture(&ids),
            nodes: self
                .nodes
                .values()
                .filter(|node| !node.gone)
                .map(|node| node_picture(node, self.world.now))
                .collect(),
            flights: self.world.network.flights(FLIGHTS),
            in_flight: self.world.network.in_flight(),
            terms: self.world.terms.picture(),
            traces: self.world.traces.picture(),
            ..RaftPicture::default()
        }
    }
}

fn node_picture<M: Machine>(node: &Node<M>, now: ClusterTime) -> NodePicture {
    let view = NodeView::of(node);
    let first = RaftIndex((node.log.last().0 + 1).saturating_sub(WINDOW));
    let cell = |(index, entry): (RaftIndex, &Entry<M::Command>)| LogCell {
        index,
        term: entry.term,
        kind: entry.body.kind(),
        what: trace::describe::<M>(&entry.body),
    };
    // The timer of a paused node stands still: what is left of it stays what it was.
    let asleep = node.paused.map_or(Duration::ZERO, |since| now.since(since));
    let votes = |ids: Option<&BTreeSet<NodeId>>| ids.into_iter().flatten().copied().collect();
    NodePicture {
        id: node.id,
        member: MemberId::default(),
        life: node.life,
        role: node.role(),
        learner: view.is_learner(),
        term: node.term(),
        voted_for: node.vote.filter(|(term, _)| *term == node.term()).map(|(_, candidate)| candidate),
        leader: node.leader,
        timer: node.timer.map(|alarm| alarm.later(asleep).into()),
        last: node.log.last(),
        commit: node.commit(),
        applied: node.applied,
        snapshot: node.log.before(),
        revision: node.machine.revision(),
        log: node.log.range(first, node.log.last()).map(cell).collect(),
        granted: votes(node.ballot.as_ref().map(|ballot| &ballot.granted)),
        refused: votes(node.ballot.as_ref().map(|ballot| &ballot.refused)),
        progress: node.lead.as_ref().map(Lead::picture).unwrap_or_default(),
        leads_since: node.lead.as_ref().map(|lead| lead.since),
    }
}
