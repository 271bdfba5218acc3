//! State machine safety (§5.4.3): machines that have applied up to the same entry are in the
//! same state.

use std::collections::BTreeMap;

use lockscope::domain::raft::NodeId;

use crate::Cluster;

#[derive(Default)]
pub struct StateMachineSafety {
    /// How much a machine has taken in after an entry, and what last.
    states: BTreeMap<u64, (usize, Option<u64>)>,
    /// The longest journal so far.
    journal: Vec<u64>,
    looked: BTreeMap<NodeId, u64>,
}

impl StateMachineSafety {
    pub fn look(&mut self, cluster: &Cluster) -> Result<(), String> {
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            let applied = node.applied().0;
            if self.looked.insert(id, applied) != Some(applied) {
                self.applied(id, applied, &node.machine().journal)?;
            }
        }
        Ok(())
    }

    fn applied(&mut self, id: NodeId, index: u64, journal: &[u64]) -> Result<(), String> {
        let state = (journal.len(), journal.last().copied());
        let known = *self.states.entry(index).or_insert(state);
        if known != state {
            return Err(format!("after entry {index}, {id} has taken in {state:?}, another {known:?}"));
        }
        let common = journal.len().min(self.journal.len());
        if journal[..common] != self.journal[..common] {
            return Err(format!("after entry {index}, {id} has taken in another order of things"));
        }
        self.journal.extend(&journal[common..]);
        Ok(())
    }
}

#[test]
fn a_machine_that_takes_in_something_else_or_twice_is_noticed() {
    let mut check = StateMachineSafety::default();
    check.applied(NodeId(1), 3, &[5, 6]).unwrap();
    check.applied(NodeId(2), 3, &[5, 6]).unwrap();
    check.applied(NodeId(3), 2, &[5]).unwrap();
    assert!(check.applied(NodeId(3), 3, &[5, 6, 6]).is_err(), "twice");
    assert!(check.applied(NodeId(3), 3, &[6, 6]).is_err(), "something else");
    assert!(check.applied(NodeId(3), 4, &[6, 5, 7]).is_err(), "another order");
}
