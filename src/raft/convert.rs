//! noraft's numbers and ours.

use noraft::{ClusterConfig, LogIndex, LogPosition};

use crate::domain::raft::NodeId;
use crate::domain::{RaftIndex, Term};

pub(super) const fn to_raft(id: NodeId) -> noraft::NodeId {
    noraft::NodeId::new(id.0)
}

pub(super) const fn from_raft(id: noraft::NodeId) -> NodeId {
    NodeId(id.get())
}

pub(super) const fn index(index: LogIndex) -> RaftIndex {
    RaftIndex(index.get())
}

pub(super) const fn term(term: noraft::Term) -> Term {
    Term(term.get())
}

pub(super) const fn position(term: Term, index: RaftIndex) -> LogPosition {
    LogPosition::new(noraft::Term::new(term.0), LogIndex::new(index.0))
}

/// Whether a node has a vote in a configuration, also in one that goes over into another.
pub(super) fn votes(config: &ClusterConfig, id: NodeId) -> bool {
    config.voters.contains(&to_raft(id)) || config.new_voters.contains(&to_raft(id))
}

/// All that have a vote, in order.
pub(super) fn voters(config: &ClusterConfig) -> impl Iterator<Item = NodeId> {
    config.voters.union(&config.new_voters).copied().map(from_raft)
}

/// Whether those who do are a majority; while the members change, of the old and of the new
/// ones, each for itself (§6).
pub(super) fn is_majority(config: &ClusterConfig, who: impl Fn(NodeId) -> bool) -> bool {
    let sets = [&config.voters, &config.new_voters];
    sets.into_iter().all(|set| set.is_empty() || set.iter().filter(|id| who(from_raft(**id))).count() * 2 > set.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_members_change_both_sets_need_their_majority() {
        let ids = |ids: &[u64]| ids.iter().map(|id| noraft::NodeId::new(*id)).collect();
        let mut config = ClusterConfig { voters: ids(&[1, 2, 3]), ..ClusterConfig::default() };
        assert!(is_majority(&config, |id| id.0 <= 2));
        assert!(!is_majority(&config, |id| id.0 == 1));
        config.new_voters = ids(&[3, 4, 5]);
        assert!(!is_majority(&config, |id| id.0 <= 2), "only of the old ones");
        assert!(!is_majority(&config, |id| id.0 >= 4), "only of the new ones");
        assert!(is_majority(&config, |id| [2, 3, 4].contains(&id.0)));
    }
}
