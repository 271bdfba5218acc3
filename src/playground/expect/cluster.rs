//! What becomes of the cluster itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Facts, Judging, Said, Scene, Strike, Verdict, point, span};
use crate::domain::play::{Happening, Moment};
use crate::domain::raft::{ClusterTime, Fault, NodeId, RaftPicture, TermRecord};
use crate::domain::{Revision, Term};

/// A leader that is lost has a successor soon.
#[derive(Debug)]
pub(super) struct NewLeader {
    within: Duration,
    highest: Term,
    open: Option<ClusterTime>,
    soon: u64,
    slowest: Duration,
    late: Option<(ClusterTime, Duration)>,
}

impl NewLeader {
    pub const fn new(within: Duration) -> Self {
        Self { within, highest: Term(0), open: None, soon: 0, slowest: Duration::ZERO, late: None }
    }

    /// Somebody leads this term since then.
    fn leads(&mut self, at: ClusterTime, term: Term) {
        if term <= self.highest {
            return;
        }
        self.highest = term;
        // A leader that was elected before is not its successor.
        if let Some(since) = self.open.filter(|since| at >= *since) {
            self.open = None;
            let took = at.since(since);
            self.slowest = self.slowest.max(took);
            if took <= self.within {
                self.soon += 1;
            } else {
                self.late.get_or_insert((since, took));
            }
        }
    }
}

impl Judging for NewLeader {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        if let Happening::Term(term) = moment.what {
            self.leads(moment.at, term);
        }
    }

    fn look(&mut self, picture: &RaftPicture) {
        for record in &picture.terms {
            if let Some((_, at)) = record.leader {
                self.leads(at, record.term);
            }
        }
    }

    fn strike(&mut self, strike: Strike) {
        if strike.leads {
            self.open.get_or_insert(strike.at);
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let open = self.open.map(|since| (since, facts.now.since(since)));
        if let Some((since, took)) = self.late.or(open.filter(|(_, lasts)| *lasts > self.within)) {
            let evidence = Said::new("after what was done at {time} nobody led for {length}");
            let evidence = evidence.with("time", point(since)).with("length", span(took));
            return Verdict::new(false, evidence);
        }
        match self.soon {
            0 => Verdict::new(None, Said::new("nothing was done to a leader")),
            soon => {
                let evidence = Said::new("{leaders} lost: another after {length} at most");
                Verdict::new(true, evidence.count("leaders", soon, "leader").with("length", span(self.slowest)))
            }
        }
    }
}

/// So many leaders.
#[derive(Debug)]
pub(super) struct Elections(pub u64);

impl Judging for Elections {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let elections = facts.tally.elections() as u64;
        let evidence = Said::new("{leaders} in {terms}").count("leaders", elections, "leader");
        let evidence = evidence.count("terms", facts.tally.terms(), "term");
        Verdict::enough(elections >= self.0, evidence)
    }
}

/// A term that two wanted and nobody won.
#[derive(Debug, Default)]
pub(super) struct SplitVote {
    split: BTreeMap<Term, TermRecord>,
    terms: BTreeSet<Term>,
}

impl Judging for SplitVote {
    fn look(&mut self, picture: &RaftPicture) {
        let highest = picture.terms.iter().map(|record| record.term).max().unwrap_or_default();
        for record in &picture.terms {
            self.terms.insert(record.term);
            // The highest one may still be won.
            if record.leader.is_none() && record.candidates.len() > 1 && record.term < highest {
                self.split.insert(record.term, record.clone());
            }
        }
        // Numbers are told of a few; of the others only that they were.
        while self.terms.len() > 1_000 {
            self.terms.pop_first();
        }
        while self.split.len() > 100 {
            self.split.pop_last();
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        match self.split.first_key_value() {
            None => {
                let evidence = Said::new("{terms} seen, none of them split");
                Verdict::new(None, evidence.count("terms", self.terms.len() as u64, "term"))
            }
            Some((term, record)) => {
                let votes = |of: &NodeId| record.votes.iter().filter(|(_, to)| to == of).count().to_string();
                let names = record.candidates.iter().map(NodeId::to_string);
                let candidates =
                    chained(names, |one, more| Said::new("{one} and {more}").part("one", one).part("more", more));
                let votes = chained(record.candidates.iter().map(votes), |n, rest| {
                    Said::new("{n} to {rest}").part("n", n).part("rest", rest)
                });
                let evidence = Said::new("in term {n} {candidates} stood and got {votes} votes; nobody won");
                Verdict::new(true, evidence.with("n", term).part("candidates", candidates).part("votes", votes))
            }
        }
    }
}

/// One after the other, each put before what follows it.
fn chained(all: impl DoubleEndedIterator<Item = String>, put: impl Fn(Said, Said) -> Said) -> Said {
    all.map(Said::from).rev().reduce(|rest, one| put(one, rest)).unwrap_or_default()
}

/// The store of a member that is cut off stands still.
#[derive(Debug, Default)]
pub(super) struct Minority {
    /// The nodes that are cut off from a majority, with what their stores and the furthest of the
    /// others had when that was seen first, and when.
    off: BTreeMap<NodeId, Off>,
    /// The last of those that stood still and are over.
    last: Option<(NodeId, Off)>,
    grew: Option<(NodeId, Off)>,
}

#[derive(Clone, Copy, Debug)]
struct Off {
    since: ClusterTime,
    until: ClusterTime,
    at: Revision,
    now: Revision,
    others_at: Revision,
    others_now: Revision,
}

/// What was on its way when the member was cut off is told to it no more; what had arrived it may
/// still take in.
const SETTLED: Duration = Duration::from_millis(500);

impl Judging for Minority {
    fn look(&mut self, picture: &RaftPicture) {
        for node in &picture.nodes {
            let cut = |other: NodeId| {
                let pair = if node.id < other { (node.id, other) } else { (other, node.id) };
                picture.network.cuts.contains(&pair)
            };
            let reached = picture.nodes.iter().filter(|other| other.id != node.id && !cut(other.id)).count() + 1;
            let others = picture.nodes.iter().filter(|other| other.id != node.id);
            let others = others.map(|other| other.revision).max().unwrap_or_default();
            if reached > picture.nodes.len() / 2 {
                if let Some(off) = self.off.remove(&node.id) {
                    self.ends(node.id, off);
                }
                continue;
            }
            let off = self.off.entry(node.id).or_insert(Off {
                since: picture.now,
                until: picture.now,
                at: node.revision,
                now: node.revision,
                others_at: others,
                others_now: others,
            });
            if picture.now.since(off.since) < SETTLED {
                off.at = node.revision;
            }
            (off.until, off.now, off.others_now) = (picture.now, node.revision, others);
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let open = self.off.iter().map(|(node, off)| (*node, *off));
        let grew = self.grew.or_else(|| open.clone().find(|(_, off)| off.now > off.at));
        if let Some((node, off)) = grew {
            let evidence = Said::new("cut off, {node} went from revision {n} to {m}");
            return Verdict::new(false, evidence.with("node", node).with("n", off.at).with("m", off.now));
        }
        let mut open = open;
        let stood = open.rfind(|(_, off)| off.others_now > off.others_at).or(self.last);
        match stood {
            None => Verdict::new(None, Said::new("no member was cut off from the others while they took writes")),
            Some((node, off)) => {
                let evidence = Said::new(
                    "{node}, cut off from {since} to {until}, stood at revision {n} while the others went from {m} to {l}",
                );
                let evidence =
                    evidence.with("node", node).with("since", point(off.since)).with("until", point(off.until));
                let (stood, before, after) = (off.now, off.others_at, off.others_now);
                Verdict::new(true, evidence.with("n", stood).with("m", before).with("l", after))
            }
        }
    }
}

impl Minority {
    fn ends(&mut self, node: NodeId, off: Off) {
        if off.now > off.at {
            self.grew.get_or_insert((node, off));
        } else if off.others_now > off.others_at {
            self.last = Some((node, off));
        }
    }
}

/// The nodes that something is done to by which a leader is lost.
pub(in crate::playground) fn struck(fault: Fault) -> Option<NodeId> {
    match fault {
        Fault::Kill(node) | Fault::Pause(node) | Fault::Isolate(node) => Some(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Run, holds};
    use super::*;
    use crate::domain::raft::NodePicture;

    fn term(term: u64, at_millis: u64) -> RaftPicture {
        let at = ClusterTime(at_millis * 1_000);
        let record = TermRecord {
            term: Term(term),
            began: at,
            candidates: vec![NodeId(1)],
            votes: vec![(NodeId(1), NodeId(1))],
            leader: Some((NodeId(1), at)),
            ended: None,
        };
        RaftPicture { now: at, terms: vec![record], ..RaftPicture::default() }
    }

    #[test]
    fn a_new_leader_is_one_of_a_later_election() {
        let mut run = Run::new("new leader within 3s of fault", 1);
        run.look(&term(1, 300));
        assert_eq!(run.stands(), (None, "nothing was done to a leader".into()));
        run.strike(4_000, 2, false);
        run.strike(5_000, 1, true);
        run.look(&term(1, 300));
        run.reach(7_900);
        assert_eq!(run.stands().0, None);
        run.reach(8_100);
        assert_eq!(run.stands().0, Some(false));
        run.look(&term(2, 7_500));
        assert_eq!(run.stands(), (Some(true), "1 leader lost: another after 2.50 s at most".into()));
        run.strike(9_000, 1, true);
        run.look(&term(3, 12_500));
        assert_eq!(run.stands().0, Some(false), "too late");
    }

    #[test]
    fn terms_are_also_known_by_what_is_answered_in_them() {
        let mut run = Run::new("new leader within 3s of fault", 1);
        run.takes(300, "", None, Happening::Term(Term(2)));
        run.strike(5_000, 1, true);
        run.takes(6_000, "", None, Happening::Term(Term(3)));
        assert!(holds(&run));
    }

    #[test]
    fn a_vote_is_split_when_its_term_is_over() {
        let mut run = Run::new("split vote seen", 1);
        let mut picture = term(2, 5_000);
        picture.terms[0].leader = None;
        picture.terms[0].candidates.push(NodeId(3));
        picture.terms[0].votes.push((NodeId(3), NodeId(3)));
        run.look(&picture);
        assert_eq!(run.stands(), (None, "1 term seen, none of them split".into()));
        picture.terms.extend(term(3, 5_400).terms);
        run.look(&picture);
        let evidence = "in term 2 n1 and n3 stood and got 1 to 1 votes; nobody won";
        assert_eq!(run.stands(), (Some(true), evidence.into()));
        // A lone candidate that nobody heard is no split vote.
        let mut run = Run::new("split vote seen", 1);
        picture.terms[0].candidates.pop();
        run.look(&picture);
        assert!(!holds(&run));
    }

    fn cut(millis: u64, revisions: [i64; 3], cuts: &[(u64, u64)]) -> RaftPicture {
        let node = |(id, revision): (u64, i64)| NodePicture {
            id: NodeId(id),
            revision: Revision(revision),
            ..NodePicture::default()
        };
        let mut picture = RaftPicture { now: ClusterTime(millis * 1_000), ..RaftPicture::default() };
        picture.nodes = (1..).zip(revisions).map(node).collect();
        picture.network.cuts = cuts.iter().map(|(one, other)| (NodeId(*one), NodeId(*other))).collect();
        picture
    }

    #[test]
    fn a_member_that_is_cut_off_stands_still_while_the_others_go_on() {
        let words = "minority takes no write";
        let mut run = Run::new(words, 1);
        run.look(&cut(1_000, [5, 5, 5], &[]));
        run.look(&cut(1_500, [6, 6, 6], &[(1, 2)]));
        assert!(run.stands().1.starts_with("no member was cut off"), "a majority is reached by each");
        run.look(&cut(2_000, [6, 6, 6], &[(1, 2), (1, 3)]));
        run.look(&cut(3_000, [6, 6, 6], &[(1, 2), (1, 3)]));
        assert_eq!(run.stands().0, None, "nobody wrote");
        run.look(&cut(4_000, [6, 9, 9], &[(1, 2), (1, 3)]));
        run.look(&cut(5_000, [9, 9, 9], &[]));
        let evidence = "n1, cut off from 2.00 s to 4.00 s, stood at revision 6 while the others went from 6 to 9";
        assert_eq!(run.stands(), (Some(true), evidence.into()));
        run.look(&cut(6_000, [9, 9, 9], &[(1, 2), (1, 3)]));
        run.look(&cut(7_000, [10, 9, 9], &[(1, 2), (1, 3)]));
        assert_eq!(run.stands(), (Some(false), "cut off, n1 went from revision 9 to 10".into()));
    }
}
