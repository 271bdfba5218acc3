//! Snapshots in place of the log (§7): taken by each node for itself, and sent to those that
//! need entries the leader has no more.

use std::sync::Arc;

use noraft::{ClusterConfig, LogEntries, LogPosition};

use super::log::Log;
use super::membership::Membership;
use super::node::Node;
use super::world::World;
use super::{Machine, convert};
use crate::domain::raft::{NodeId, Waypoint};
use crate::domain::{RaftIndex, Term};

/// A snapshot: the state as of an entry, and what must be known of the log before it.
pub(super) struct Image<M: Machine> {
    position: LogPosition,
    config: ClusterConfig,
    pub(super) membership: Membership,
    pub(super) state: M::Snapshot,
}

impl<M: Machine> Image<M> {
    /// The last entry in it.
    pub(super) const fn index(&self) -> RaftIndex {
        convert::index(self.position.index)
    }
}

impl<M: Machine> Node<M> {
    /// Takes a snapshot when enough was applied since the last one, and drops the entries it
    /// has, but for a tail: who lags a little needs no snapshot.
    pub(super) fn compact(&mut self, world: &mut World<M>) {
        let every = world.config.compact_after;
        let since = self.image.as_ref().map_or(RaftIndex(0), |image| image.index());
        if self.applied.0 - since.0 <= every {
            return;
        }
        let log = self.raft.log();
        let at = noraft::LogIndex::new(self.applied.0);
        let Some((position, config)) = log.get_position_and_config(at) else { return };
        let (config, membership, state) = (config.clone(), self.membership.clone(), self.machine.snapshot());
        self.image = Some(Arc::new(Image { position, config, membership, state }));

        let cut = RaftIndex(self.applied.0.saturating_sub(every / 2));
        let log = self.raft.log();
        let Some((position, config)) = log.get_position_and_config(noraft::LogIndex::new(cut.0)) else { return };
        let config = config.clone();
        if self.raft.handle_snapshot_installed(position, config) {
            for entry in self.log.compact(cut) {
                if let Some(request) = entry.body.request() {
                    world.step(request, self.id, Waypoint::Compacted { snapshot: self.applied });
                }
            }
        }
        debug_assert_eq!(self.log.before(), convert::index(self.raft.log().snapshot_position().index), "{}", self.id);
    }

    /// A leader sent its snapshot.
    pub(super) fn snapshot_sent(
        &mut self,
        from: NodeId,
        term: Term,
        round: u64,
        image: &Arc<Image<M>>,
        world: &mut World<M>,
    ) {
        // noraft leaves the message to its user, and wants to hear of the leader's term first: so
        // it hears of an empty call at the snapshot's end, and answers that.
        let call = noraft::Message::AppendEntriesCall {
            from: convert::to_raft(from),
            term: noraft::Term::new(term.0),
            commit_index: noraft::LogIndex::ZERO,
            entries: LogEntries::new(image.position),
        };
        self.append_asked(from, &call, Vec::new(), round, world);
        if term != self.term() || image.index() <= self.applied {
            return;
        }
        if !self.raft.handle_snapshot_installed(image.position, image.config.clone()) {
            return;
        }
        if self.log.term(image.index()) == Some(convert::term(image.position.term)) {
            self.log.compact(image.index());
        } else {
            self.log = Log::behind(image.index(), convert::term(image.position.term));
        }
        self.image = Some(Arc::clone(image));
        self.restore(image);
        if !image.config.is_joint_consensus() {
            self.end_changes(world);
        }
        debug_assert_eq!(self.log.last(), convert::index(self.raft.log().last_position().index), "{}", self.id);
    }

    /// Puts a snapshot's state in place of its own.
    pub(super) fn restore(&mut self, image: &Image<M>) {
        self.machine.restore(&image.state);
        self.applied = image.index();
        self.traced = self.traced.max(self.applied);
        let removed = std::mem::take(&mut self.membership.removed);
        self.membership = image.membership.clone();
        self.membership.removed.extend(removed);
    }
}
