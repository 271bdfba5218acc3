//! Election safety (§5.2): at most one leader in a term.

use std::collections::BTreeMap;

use lockscope::domain::Term;
use lockscope::domain::raft::{NodeId, RaftRole};

use crate::Cluster;

#[derive(Default)]
pub struct ElectionSafety {
    leaders: BTreeMap<Term, NodeId>,
}

impl ElectionSafety {
    pub fn look(&mut self, cluster: &Cluster) -> Result<(), String> {
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            if node.role() == RaftRole::Leader {
                self.leads(node.term(), id)?;
            }
        }
        Ok(())
    }

    fn leads(&mut self, term: Term, node: NodeId) -> Result<(), String> {
        let leader = *self.leaders.entry(term).or_insert(node);
        if leader == node { Ok(()) } else { Err(format!("term {term} has two leaders, {leader} and {node}")) }
    }

    pub fn terms(&self) -> usize {
        self.leaders.len()
    }
}

#[test]
fn two_leaders_in_a_term_are_noticed() {
    let mut check = ElectionSafety::default();
    check.leads(Term(1), NodeId(1)).unwrap();
    check.leads(Term(2), NodeId(2)).unwrap();
    check.leads(Term(1), NodeId(1)).unwrap();
    assert!(check.leads(Term(1), NodeId(2)).is_err());
}
