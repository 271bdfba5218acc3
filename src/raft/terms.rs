//! What is known of each term: who stood, who voted for whom, who won.
//!
//! Kept by one who sees all nodes; no node knows all of it.

use std::collections::VecDeque;

use crate::domain::Term;
use crate::domain::raft::{ClusterTime, NodeId, TermRecord};

/// How many terms are remembered.
const KEPT: usize = 32;

/// The latest terms, oldest first.
#[derive(Debug, Default)]
pub(super) struct Terms {
    records: VecDeque<TermRecord>,
}

impl Terms {
    /// A node stands for election in a term and votes for itself (§5.2).
    pub(super) fn stands(&mut self, now: ClusterTime, term: Term, node: NodeId) {
        if let Some(record) = self.record(now, term) {
            record.candidates.push(node);
            record.votes.push((node, node));
        }
    }

    /// A node votes for another in a term.
    pub(super) fn votes(&mut self, now: ClusterTime, term: Term, voter: NodeId, candidate: NodeId) {
        if let Some(record) = self.record(now, term)
            && !record.votes.contains(&(voter, candidate))
        {
            record.votes.push((voter, candidate));
        }
    }

    /// A node has won a term.
    pub(super) fn won(&mut self, now: ClusterTime, term: Term, node: NodeId) {
        if let Some(record) = self.record(now, term) {
            record.leader = Some((node, now));
        }
    }

    /// A term's leader leads no more.
    pub(super) fn ended(&mut self, now: ClusterTime, term: Term) {
        if let Some(record) = self.records.iter_mut().rev().find(|record| record.term == term) {
            record.ended.get_or_insert(now);
        }
    }

    pub(super) fn picture(&self) -> Vec<TermRecord> {
        self.records.iter().cloned().collect()
    }

    /// The term's record; a new one when it is new, none when it is long forgotten.
    fn record(&mut self, now: ClusterTime, term: Term) -> Option<&mut TermRecord> {
        let at = self.records.partition_point(|record| record.term < term);
        if self.records.get(at).is_none_or(|record| record.term != term) {
            if at == 0 && self.records.len() == KEPT {
                return None;
            }
            let (candidates, votes) = (Vec::new(), Vec::new());
            self.records.insert(at, TermRecord { term, began: now, candidates, votes, leader: None, ended: None });
            if self.records.len() > KEPT {
                self.records.pop_front();
                return self.records.get_mut(at - 1);
            }
        }
        self.records.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_order_and_the_oldest_are_forgotten() {
        let mut terms = Terms::default();
        let at = ClusterTime;
        for term in (1..=40).filter(|term| *term != 20) {
            terms.stands(at(term), Term(term), NodeId(1));
        }
        terms.stands(at(50), Term(20), NodeId(2));
        terms.stands(at(51), Term(1), NodeId(2));
        let picture = terms.picture();
        assert_eq!(picture.len(), KEPT);
        assert!(picture.is_sorted_by_key(|record| record.term));
        assert_eq!(picture.last().map(|record| record.term), Some(Term(40)));
        assert!(picture.iter().any(|record| record.term == Term(20) && record.candidates == [NodeId(2)]));
        assert!(picture.iter().all(|record| record.term != Term(1)));
    }

    #[test]
    fn a_term_ends_once() {
        let mut terms = Terms::default();
        terms.stands(ClusterTime(1), Term(1), NodeId(1));
        terms.votes(ClusterTime(2), Term(1), NodeId(2), NodeId(1));
        terms.won(ClusterTime(3), Term(1), NodeId(1));
        terms.ended(ClusterTime(4), Term(1));
        terms.ended(ClusterTime(9), Term(1));
        let record = &terms.picture()[0];
        assert_eq!(record.votes, [(NodeId(1), NodeId(1)), (NodeId(2), NodeId(1))]);
        assert_eq!((record.leader, record.ended), (Some((NodeId(1), ClusterTime(3))), Some(ClusterTime(4))));
    }
}
