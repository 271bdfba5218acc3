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
    /// How much work it was.
    weight: u64,
}

impl<M: Machine> Image<M> {
    /// The last entry in it.
    pub(super) const fn index(&self) -> RaftIndex {
        convert::index(self.position.index)
    }
}

impl<M: Machine> Node<M> {
    /// Takes a snapshot when enough was applied since the last one, and drops the entries it
    /// has, but for a tail: who lags a little needs no snapshot. Of a state that grows with the
    /// log each is taken after twice as long as the one before.
    pub(super) fn compact(&mut self, world: &mut World<M>) {
        let every = world.config.compact_after;
        let since = self.image.as_ref().map_or(RaftIndex(0), |image| image.index());
        let pause = self.image.as_ref().map_or(every, |image| every.max(image.weight.min(self.machine.weight())));
        if self.applied.0 - since.0 <= pause {
            return;
        }
        let log = self.raft.log();
        let at = noraft::LogIndex::new(self.applied.0);
        let Some((position, config)) = log.get_position_and_config(at) else { return };
        let (config, membership, state) = (config.clone(), self.membership.clone(), self.machine.snapshot());
        let weight = self.machine.weight();
        self.image = Some(Arc::new(Image { position, config, membership, state, weight }));

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

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Change, Config, Members, Outcome};
    use super::*;
    use crate::domain::raft::{Fault, RaftMessage};

    fn small() -> Config {
        Config { compact_after: 10, ..Config::default() }
    }

    fn note_many(cluster: &mut Cluster, at: NodeId, notes: std::ops::Range<u32>) {
        for note in notes {
            cluster.note(at, note);
        }
    }

    #[test]
    fn of_a_large_state_the_next_snapshot_is_taken_after_as_many_entries() {
        let mut cluster = Cluster::new(small(), |_| Notes { weight: 50, ..Notes::default() });
        let leader = cluster.elected();
        note_many(&mut cluster, leader, 0..15);
        let first = cluster.node(leader).unwrap().snapshot();
        assert!(first.0 > 0, "{first}");
        note_many(&mut cluster, leader, 15..55);
        assert_eq!(cluster.node(leader).unwrap().snapshot(), first);
        note_many(&mut cluster, leader, 55..75);
        let second = cluster.node(leader).unwrap().snapshot();
        assert!(second.0 > 50, "{second}");
    }

    #[test]
    fn a_log_is_cut_when_enough_was_applied_and_a_tail_stays() {
        let (mut cluster, leader) = led(small());
        note_many(&mut cluster, leader, 0..8);
        assert_eq!(cluster.node(leader).unwrap().snapshot(), RaftIndex(0));
        note_many(&mut cluster, leader, 8..30);
        cluster.run(millis(20));
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            assert!(node.snapshot().0 >= 15, "{id}: {}", node.snapshot());
            assert!((5..=15).contains(&(node.last().0 - node.snapshot().0)), "{id}");
            assert_eq!(node.machine().notes, (0..30).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_node_that_needs_what_is_cut_gets_a_snapshot_and_then_the_rest() {
        let (mut cluster, leader) = led(small());
        let away = cluster.other(leader);
        cluster.do_(Fault::Kill(away));
        note_many(&mut cluster, leader, 0..30);
        cluster.do_(Fault::Start(away));
        let mut snapshots = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            assert!(cluster.step());
            let flights = cluster.picture().flights;
            let carried = flights.iter().filter(|flight| matches!(flight.what, RaftMessage::Snapshot { .. }));
            snapshots.extend(carried.map(|flight| (flight.to, flight.id)));
            if cluster.notes(away).len() == 30 {
                break;
            }
        }
        assert_eq!(snapshots.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [away], "one, and to nobody else");
        assert_eq!(cluster.notes(away), (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_lags_by_less_than_the_tail_gets_entries() {
        let (mut cluster, leader) = led(small());
        let away = cluster.other(leader);
        note_many(&mut cluster, leader, 0..20);
        cluster.do_(Fault::Kill(away));
        note_many(&mut cluster, leader, 20..23);
        cluster.do_(Fault::Start(away));
        let end = cluster.now() + millis(500);
        while cluster.now() < end {
            assert!(cluster.step());
            let flights = cluster.picture().flights;
            assert!(!flights.iter().any(|flight| matches!(flight.what, RaftMessage::Snapshot { .. })));
        }
        assert_eq!(cluster.notes(away).len(), 23);
    }

    #[test]
    fn a_node_starts_again_from_its_own_snapshot() {
        let (mut cluster, leader) = led(Config { nodes: 1, ..small() });
        note_many(&mut cluster, leader, 0..25);
        cluster.do_(Fault::Kill(leader));
        cluster.do_(Fault::Start(leader));
        let held = cluster.notes(leader).len();
        assert!((10..25).contains(&held), "{held} from the snapshot, the rest is not known to be committed");
        cluster.elected();
        let notes: Vec<_> = cluster.notes(leader).iter().filter(|note| **note != OWN).copied().collect();
        assert_eq!(notes, (0..25).collect::<Vec<_>>());
    }

    #[test]
    fn a_snapshot_tells_who_the_members_are_and_who_was_removed() {
        let (mut cluster, leader) = led(small());
        let gone = cluster.other(leader);
        let request = cluster.change(leader, Change::Remove(gone));
        assert!(matches!(cluster.wait(request, millis(500)), Some(Outcome::Changed)));
        note_many(&mut cluster, leader, 0..30);
        cluster.add_node(N4).unwrap();
        let request = cluster.change(leader, Change::AddVoter(N4));
        assert!(matches!(cluster.wait(request, millis(500)), Some(Outcome::Changed)));
        cluster.run(millis(200));
        let node = &cluster.nodes[&N4];
        assert!(node.log.before().0 > 0, "it came by snapshot");
        assert_eq!(node.membership.removed, [gone].into());
        let members = |id| Members::from(&cluster.nodes[&id].membership.config);
        assert_eq!(members(N4), members(leader));
        assert_eq!(cluster.notes(N4).len(), 30);
    }
}
