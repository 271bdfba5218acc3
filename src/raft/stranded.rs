//! A node that took itself out of the cluster and does not know whether it came to pass.
//!
//! A leader that is to be removed appends the configuration without itself, and may lose the lead
//! before that is committed. By the thesis (§4.2.2) such a node must still stand for election,
//! as nobody else may be able to win: those who lack its last entries need its vote under the
//! configuration before, and it refuses them for their shorter logs (§5.4.1). noraft lets only
//! voters of the latest configuration stand, and all would wait for ever.
//!
//! So the node drops that configuration and all behind it from its log, and goes on as the voter
//! that it is without it. That loses nothing: these entries commit by a majority of the new
//! members, to which its copy does not count, and if they are committed, no majority of these
//! votes for one that lacks them.

use super::node::Node;
use super::world::World;
use super::{Machine, convert};
use crate::domain::RaftIndex;

impl<M: Machine> Node<M> {
    /// Where the configuration stands that takes its vote from it, if that is not known to be
    /// committed.
    fn stranded_at(&self) -> Option<RaftIndex> {
        let id = convert::to_raft(self.id);
        if self.raft.role().is_leader() || self.raft.config().non_voters.contains(&id) || self.has_vote() {
            return None;
        }
        let open = self.log.range(RaftIndex(self.commit().0 + 1), self.log.last());
        let (index, _) = open.filter(|(_, entry)| entry.body.is_members()).last()?;
        let before = noraft::LogIndex::new(index.0 - 1);
        let (_, config) = self.raft.log().get_position_and_config(before)?;
        convert::votes(config, self.id).then_some(index)
    }

    pub(super) fn is_stranded(&self) -> bool {
        self.stranded_at().is_some()
    }

    /// Goes back to the configuration in which it has a vote.
    pub(super) fn go_back(&mut self, world: &mut World<M>) {
        let Some(index) = self.stranded_at() else { return };
        let log = self.raft.log();
        let mut entries = log.entries().clone();
        let keep = index.0 - 1 - entries.prev_position().index.get();
        entries.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        let log = noraft::Log::new(log.snapshot_config().clone(), entries);
        self.log.truncate(RaftIndex(index.0 - 1));
        self.raft = noraft::Node::restart(self.raft.id(), self.raft.current_term(), self.raft.voted_for(), log);
        self.observe(world);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Change, Config, Members};
    use crate::domain::raft::{Fault, RaftRole};

    #[test]
    fn a_leader_that_removed_itself_and_lost_the_lead_meanwhile_does_not_block_the_other() {
        let (mut cluster, leaving) = led(Config { nodes: 2, delay: millis(10), ..Config::default() });
        let staying = cluster.other(leaving);
        cluster.change(leaving, Change::Remove(leaving));
        // The end of the change is in the leader's log, and never reaches the other.
        while !cluster.node(leaving).unwrap().members().incoming.is_empty()
            || cluster.node(leaving).unwrap().members().voters.contains(&leaving)
        {
            assert!(cluster.step());
        }
        cluster.do_(Fault::Isolate(staying));
        let lasts = [leaving, staying].map(|id| cluster.node(id).unwrap().last());
        assert!(lasts[0] > lasts[1], "it would refuse the other its vote: {lasts:?}");
        cluster.run(millis(1000));
        assert_ne!(cluster.node(leaving).unwrap().role(), RaftRole::Leader);

        cluster.do_(Fault::Heal);
        cluster.run(millis(4000));
        let alone = cluster.node(staying).unwrap();
        assert_eq!(alone.role(), RaftRole::Leader);
        let members = Members::from(&cluster.nodes[&staying].membership.config);
        assert_eq!(members.voters, [staying].into(), "by what it has applied");
        assert!(cluster.node(leaving).is_none(), "it was removed");
    }
}
