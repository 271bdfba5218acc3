//! Leader completeness (§5.4): what is committed stays, unchanged, and is in the log of every
//! later leader.

use std::collections::BTreeMap;

use lockscope::domain::raft::{Life, NodeId, RaftRole};
use lockscope::domain::{RaftIndex, Term};
use lockscope::raft::RequestId;

use crate::Cluster;

type Entry = (Term, Option<RequestId>);

#[derive(Default)]
pub struct LeaderCompleteness {
    /// Each with the lowest term of a node that knew of it.
    committed: BTreeMap<u64, (Entry, Term)>,
    /// Up to where each node was looked at.
    looked: BTreeMap<NodeId, u64>,
    /// The term in which each was last seen to lead.
    led: BTreeMap<NodeId, Term>,
}

impl LeaderCompleteness {
    pub fn look(&mut self, cluster: &Cluster) -> Result<(), String> {
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            let commit = node.commit().0;
            let looked = self.looked.insert(id, commit).unwrap_or(0);
            for index in looked.max(node.snapshot().0) + 1..=commit {
                let entry = node.entry(RaftIndex(index));
                self.commits(id, node.term(), index, entry)?;
            }
            let leads = node.life() == Life::Up && node.role() == RaftRole::Leader;
            if leads && self.led.insert(id, node.term()) != Some(node.term()) {
                let log = |index| (index > node.snapshot().0).then(|| node.entry(RaftIndex(index)));
                self.leads(id, node.term(), log)?;
            }
        }
        Ok(())
    }

    fn commits(&mut self, id: NodeId, term: Term, index: u64, entry: Option<Entry>) -> Result<(), String> {
        let entry = entry.ok_or(format!("{id} lacks entry {index}, which it says is committed"))?;
        let known = self.committed.entry(index).or_insert((entry, term));
        known.1 = known.1.min(term);
        if known.0 == entry {
            Ok(())
        } else {
            Err(format!("entry {index} is committed as {known:?} and, on {id}, {entry:?}"))
        }
    }

    /// `log` is `None` for what is in the snapshot. A leader of an earlier term, which has not
    /// heard of a later one yet, need not have what was committed in that.
    fn leads(&self, id: NodeId, term: Term, log: impl Fn(u64) -> Option<Option<Entry>>) -> Result<(), String> {
        for (index, (known, _)) in self.committed.iter().filter(|(_, (_, committed))| *committed < term) {
            if let Some(entry) = log(*index)
                && entry != Some(*known)
            {
                return Err(format!("{id} leads with {entry:?} at {index}, where {known:?} is committed"));
            }
        }
        Ok(())
    }

    pub fn commits_seen(&self) -> usize {
        self.committed.len()
    }
}

#[test]
fn a_committed_entry_that_changes_or_is_missing_is_noticed() {
    let mut check = LeaderCompleteness::default();
    let entry = |term, request| Some((Term(term), Some(RequestId(request))));
    check.commits(NodeId(1), Term(1), 1, entry(1, 1)).unwrap();
    check.commits(NodeId(2), Term(1), 1, entry(1, 1)).unwrap();
    assert!(check.commits(NodeId(3), Term(2), 1, entry(2, 1)).is_err(), "changed");
    check.leads(NodeId(2), Term(2), |_| Some(entry(1, 1))).unwrap();
    check.leads(NodeId(2), Term(2), |_| None).unwrap();
    assert!(check.leads(NodeId(2), Term(2), |_| Some(None)).is_err(), "missing");
    assert!(check.leads(NodeId(2), Term(2), |_| Some(entry(1, 2))).is_err(), "another");
    check.leads(NodeId(2), Term(1), |_| Some(None)).unwrap();
}
