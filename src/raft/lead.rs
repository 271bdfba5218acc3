//! What only a leader knows, and forgets when it leads no more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use noraft::ClusterConfig;

use super::read::{Asked, Confirming};
use super::timer::Alarm;
use super::{Machine, RequestId, convert};
use crate::domain::RaftIndex;
use crate::domain::raft::{ClusterTime, NodeId, Progress};

/// A leader's own knowledge.
pub(super) struct Lead<M: Machine> {
    pub(super) since: ClusterTime,
    /// The first entry of its term: once that is committed, so is all before it (§5.4.2, §8).
    pub(super) own: Option<RaftIndex>,
    /// Whether its machine has taken that in and leads.
    pub(super) ready: bool,
    /// The number of its latest call.
    pub(super) round: u64,
    pub(super) followers: BTreeMap<NodeId, Follower>,
    /// Those that are to leave, and how much of the log they had.
    pub(super) leaving: BTreeMap<NodeId, RaftIndex>,
    /// What it last told all followers to be committed.
    pub(super) told: RaftIndex,
    pub(super) asked: Vec<Asked<M>>,
    pub(super) confirming: VecDeque<Confirming<M>>,
    /// Those of both, so that one that is asked again is not kept twice.
    open: BTreeSet<(NodeId, RequestId)>,
    pub(super) quorum: Alarm,
    /// When its machine was last asked what is due.
    pub(super) last_due: Option<ClusterTime>,
}

/// What a leader knows of another node.
pub(super) struct Follower {
    pub(super) heard: ClusterTime,
    /// The latest of its calls that was answered.
    pub(super) answered: u64,
    pub(super) matched: RaftIndex,
    /// The next entry to send, if all that was sent arrives.
    pub(super) next: RaftIndex,
    /// The call that carried the entry before that one.
    pub(super) carried: u64,
    /// The call by whose answer the entry after `matched` has arrived or is lost. It does not
    /// move on with what is sent after that entry: a log with a gap takes nothing in.
    pub(super) awaited: u64,
    /// The last index of a snapshot on its way, and since when.
    pub(super) snapshot: Option<(RaftIndex, ClusterTime)>,
}

impl Follower {
    /// These entries go to it with this call. Behind a gap they are of no use, and count as not
    /// sent.
    pub(super) fn carry(&mut self, first: RaftIndex, last: RaftIndex, round: u64) {
        if first > self.next {
            return;
        }
        if first < self.next || first.0 == self.matched.0 + 1 {
            self.awaited = round;
        }
        (self.next, self.carried) = (RaftIndex(last.0 + 1), round);
    }

    /// Its log is the leader's up to here. Which call carried the entry after that is not
    /// remembered; it was none after the latest.
    pub(super) fn matches(&mut self, matched: RaftIndex) {
        if matched > self.matched {
            (self.matched, self.awaited) = (matched, self.carried);
        }
        self.next = self.next.max(RaftIndex(self.matched.0 + 1));
    }

    /// Whether the entry after `matched`, if it was sent, may still arrive.
    pub(super) const fn may_arrive(&self) -> bool {
        self.answered < self.awaited
    }
}

impl<M: Machine> Lead<M> {
    pub(super) const fn new(now: ClusterTime, quorum: Alarm) -> Self {
        Self {
            since: now,
            own: None,
            ready: false,
            round: 0,
            followers: BTreeMap::new(),
            leaving: BTreeMap::new(),
            told: RaftIndex(0),
            asked: Vec::new(),
            confirming: VecDeque::new(),
            open: BTreeSet::new(),
            quorum,
            last_due: None,
        }
    }

    /// Takes in a read or a question, unless it is here already.
    pub(super) fn ask(&mut self, asked: Asked<M>) {
        if self.open.insert((asked.from, asked.request)) {
            self.asked.push(asked);
        }
    }

    /// The first that waits for a majority has it.
    pub(super) fn next_confirmed(&mut self) -> Option<Confirming<M>> {
        let first = self.confirming.pop_front()?;
        self.open.remove(&(first.asked.from, first.asked.request));
        Some(first)
    }

    /// Forgets reads and questions that nobody waits for.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&Asked<M>) -> bool) {
        let Self { asked, confirming, open, .. } = self;
        let mut stays = |asked: &Asked<M>| {
            let gone = is_gone(asked);
            if gone {
                open.remove(&(asked.from, asked.request));
            }
            !gone
        };
        asked.retain(&mut stays);
        confirming.retain(|confirming| stays(&confirming.asked));
    }

    /// When a node was last heard of; the beginning of the lead counts as such.
    pub(super) fn heard(&self, id: NodeId) -> Option<ClusterTime> {
        self.followers.get(&id).map(|follower| follower.heard)
    }

    /// Whether a node has answered this call or a later one.
    pub(super) fn has_answered(&self, id: NodeId, round: u64) -> bool {
        self.followers.get(&id).is_some_and(|follower| follower.answered >= round)
    }

    pub(super) fn matched(&self, id: NodeId) -> RaftIndex {
        self.followers.get(&id).map_or(RaftIndex(0), |follower| follower.matched)
    }

    /// The voter whose log has most of this one's.
    pub(super) fn most_advanced(&self, config: &ClusterConfig) -> Option<NodeId> {
        let voters = self.followers.iter().filter(|(id, _)| convert::votes(config, **id));
        voters.max_by_key(|(id, follower)| (follower.matched, Reverse(**id))).map(|(id, _)| *id)
    }

    /// Times that passed while the node was paused did not count.
    pub(super) fn shift(&mut self, by: Duration) {
        self.quorum = self.quorum.later(by);
        self.followers.values_mut().for_each(|follower| follower.heard = follower.heard + by);
    }

    pub(super) fn picture(&self) -> Vec<Progress> {
        let progress = |(id, follower): (&NodeId, &Follower)| Progress {
            node: *id,
            matched: follower.matched,
            next: follower.next,
            heard: follower.heard,
        };
        self.followers.iter().map(progress).collect()
    }

    /// Takes in who follows by the latest configuration.
    pub(super) fn track(&mut self, now: ClusterTime, peers: impl Iterator<Item = NodeId>, last: RaftIndex) {
        let mut known = std::mem::take(&mut self.followers);
        let fresh = || Follower {
            heard: now,
            answered: 0,
            matched: RaftIndex(0),
            next: RaftIndex(last.0 + 1),
            carried: 0,
            awaited: 0,
            snapshot: None,
        };
        self.followers = peers.map(|id| (id, known.remove(&id).unwrap_or_else(fresh))).collect();
        self.leaving.extend(known.into_iter().map(|(id, follower)| (id, follower.matched)));
    }
}
