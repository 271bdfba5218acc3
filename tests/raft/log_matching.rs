//! Log matching (§5.3): two logs with an entry of the same index and term are the same up to
//! there. And leaders append only: none overwrites or drops an entry of its log.
//!
//! It is enough to see that an entry's index and term fix what it is and the term of the one
//! before it; the rest follows from one entry to the one before.

use std::collections::BTreeMap;

use lockscope::domain::raft::{NodeId, RaftRole};
use lockscope::domain::{RaftIndex, Term};
use lockscope::raft::RequestId;

use crate::Cluster;

#[derive(Default)]
pub struct LogMatching {
    /// What an index and a term stand for: the term before, and the request.
    entries: BTreeMap<(u64, Term), (Option<Term>, Option<RequestId>)>,
    /// The end of each log when it was looked at last, and whether its node led in which term.
    ends: BTreeMap<NodeId, End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct End {
    last: u64,
    term: Option<Term>,
    leads: Option<Term>,
}

impl LogMatching {
    /// Looks at the ends of logs that have changed.
    pub fn look(&mut self, cluster: &Cluster) -> Result<(), String> {
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            let last = node.last().0;
            let term = |index| node.entry(RaftIndex(index)).map(|(term, _)| term);
            let leads = (node.role() == RaftRole::Leader).then(|| node.term());
            let end = End { last, term: term(last), leads };
            let before = self.ends.insert(id, end);
            if before == Some(end) {
                continue;
            }
            if let Some(before) = before.filter(|before| leads.is_some() && before.leads == leads) {
                appended(id, before, term(before.last), last)?;
            }
            for index in (node.snapshot().0 + 1..=last).rev() {
                if !self.entry(cluster, id, index)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Looks at all logs from end to end.
    pub fn look_closely(&mut self, cluster: &Cluster) -> Result<(), String> {
        for id in cluster.nodes() {
            let node = cluster.node(id).unwrap();
            for index in node.snapshot().0 + 1..=node.last().0 {
                self.entry(cluster, id, index)?;
            }
        }
        Ok(())
    }

    /// Says whether the entry was new.
    fn entry(&mut self, cluster: &Cluster, id: NodeId, index: u64) -> Result<bool, String> {
        let node = cluster.node(id).unwrap();
        let (term, request) = node.entry(RaftIndex(index)).ok_or(format!("{id} lacks entry {index}"))?;
        let before = node.entry(RaftIndex(index - 1)).map(|(term, _)| term);
        self.stands_for(id, (index, term), before, request)
    }

    fn stands_for(
        &mut self,
        id: NodeId,
        (index, term): (u64, Term),
        before: Option<Term>,
        request: Option<RequestId>,
    ) -> Result<bool, String> {
        if before.is_some_and(|before| before > term) {
            return Err(format!("{id}: the terms of its log fall at {index}: {before:?}, {term}"));
        }
        let Some(known) = self.entries.get_mut(&(index, term)) else {
            self.entries.insert((index, term), (before, request));
            return Ok(true);
        };
        let is_new = known.0.is_none() && before.is_some();
        known.0 = known.0.or(before);
        if known.1 != request || (before.is_some() && known.0 != before) {
            return Err(format!("{id}: entry {index} of term {term} is {before:?} {request:?}, elsewhere {known:?}"));
        }
        Ok(is_new)
    }
}

/// A leader's log has grown, or not, since it was looked at.
fn appended(id: NodeId, before: End, now: Option<Term>, last: u64) -> Result<(), String> {
    // What went into a snapshot is not there any more and was not overwritten.
    let is_kept = last >= before.last && (now.is_none() || now == before.term);
    if is_kept { Ok(()) } else { Err(format!("{id} leads and its entry {} is gone", before.last)) }
}

#[test]
fn logs_that_differ_below_a_common_entry_are_noticed() {
    let mut check = LogMatching::default();
    let at = |index, term| (index, Term(term));
    check.stands_for(NodeId(1), at(3, 2), Some(Term(1)), Some(RequestId(7))).unwrap();
    check.stands_for(NodeId(2), at(3, 2), Some(Term(1)), Some(RequestId(7))).unwrap();
    check.stands_for(NodeId(2), at(3, 2), None, Some(RequestId(7))).unwrap();
    assert!(check.stands_for(NodeId(3), at(3, 2), Some(Term(2)), Some(RequestId(7))).is_err(), "the one before");
    assert!(check.stands_for(NodeId(3), at(3, 2), Some(Term(1)), Some(RequestId(8))).is_err(), "another request");
    assert!(check.stands_for(NodeId(3), at(4, 1), Some(Term(2)), None).is_err(), "terms fall");
}

#[test]
fn a_leader_that_drops_or_overwrites_an_entry_is_noticed() {
    let before = End { last: 5, term: Some(Term(2)), leads: Some(Term(3)) };
    appended(NodeId(1), before, Some(Term(2)), 6).unwrap();
    appended(NodeId(1), before, None, 9).unwrap();
    assert!(appended(NodeId(1), before, None, 4).is_err(), "dropped");
    assert!(appended(NodeId(1), before, Some(Term(3)), 5).is_err(), "overwritten");
}
