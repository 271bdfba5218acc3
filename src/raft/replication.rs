//! The leader's part in copying its log (§5.3), and the follower's.
//!
//! noraft decides what is sent and what an answer means. Around it, a leader remembers what is
//! on its way to whom, so that an answer does not send it a second time, and helps a log that
//! has gone another way along term by term instead of entry by entry.

use std::sync::Arc;

use noraft::{Action, LogEntries, LogEntry, LogPosition};

use super::log::{Body, Entry};
use super::message::Message;
use super::node::Node;
use super::world::World;
use super::{Machine, convert};
use crate::domain::raft::{NodeId, Waypoint};
use crate::domain::{RaftIndex, Term};

/// The most entries one message carries.
const BATCH: usize = 1024;

impl<M: Machine> Node<M> {
    // ---- the leader --------------------------------------------------------------------------

    /// A leader makes an entry of a request.
    pub(super) fn append_own(&mut self, index: RaftIndex, body: Arc<Body<M::Command>>, world: &mut World<M>) {
        self.take_over_up_to(RaftIndex(index.0 - 1));
        let term = self.term();
        if let Some(request) = body.request() {
            world.step(request, self.id, Waypoint::Proposed { term, index });
            world.step(request, self.id, Waypoint::Appended);
        }
        self.log.push(Entry { term, body });
        self.forget_writes();
    }

    /// noraft's wish that entries be written is not needed, as its log is kept as it is. It puts
    /// such wishes of several calls together as if each went on where the one before ended, and
    /// panics in debug builds when a conflict (§5.3) breaks that; so none is left waiting.
    pub(super) fn forget_writes(&mut self) {
        self.raft.actions_mut().append_log_entries = None;
    }

    /// noraft appends some entries by itself: the first of a term, and the end of a change of
    /// the members (§6).
    pub(super) fn take_over_what_noraft_appended(&mut self, world: &World<M>) {
        self.take_over_up_to(convert::index(self.raft.log().last_position().index));
        let peers: Vec<_> = self.raft.peers().map(convert::from_raft).collect();
        let Some(lead) = &mut self.lead else { return };
        if !peers.iter().eq(lead.followers.keys()) {
            lead.track(world.now, peers.into_iter(), self.log.last());
        }
    }

    fn take_over_up_to(&mut self, last: RaftIndex) {
        while self.log.last() < last {
            let index = RaftIndex(self.log.last().0 + 1);
            let entries = self.raft.log().entries();
            let at = noraft::LogIndex::new(index.0);
            let term = entries.get_term(at).map_or(self.term(), convert::term);
            let body = match entries.get_entry(at) {
                Some(LogEntry::ClusterConfig(_)) => Body::Members(None),
                // A command is appended together with its request.
                Some(LogEntry::Term(_) | LogEntry::Command) | None => Body::Term,
            };
            if let (Body::Term, Some(lead)) = (&body, &mut self.lead)
                && term == convert::term(self.raft.current_term())
            {
                lead.own = Some(index);
            }
            self.log.push(Entry { term, body: Arc::new(body) });
        }
    }

    /// A follower has answered a call.
    pub(super) fn append_answered(
        &mut self,
        from: NodeId,
        reply: &noraft::Message,
        round: u64,
        committed: RaftIndex,
        world: &mut World<M>,
    ) {
        let noraft::Message::AppendEntriesReply { last_position, .. } = reply else { return };
        let is_current = reply.term() == self.raft.current_term();
        let detour = if is_current { self.detour(from, *last_position, committed) } else { None };
        self.hear(reply, world);
        let matched = self.raft.follower_match_index(convert::to_raft(from)).map(convert::index);
        let Some(follower) = self.lead.as_mut().and_then(|lead| lead.followers.get_mut(&from)) else { return };
        if !is_current {
            return;
        }
        follower.heard = world.now;
        follower.answered = follower.answered.max(round);
        let before = follower.matched;
        follower.matches(matched.unwrap_or(before));
        if follower.snapshot.is_some_and(|(last, _)| last <= follower.matched) {
            follower.snapshot = None;
        }
        for (_, entry) in self.log.range(RaftIndex(before.0 + 1), follower.matched) {
            if let Some(request) = entry.body.request() {
                world.step(request, self.id, Waypoint::Acknowledged { by: from });
            }
        }
        if let Some(detour) = detour {
            self.take_detour(from, detour);
        }
        self.call_heir(from);
    }

    /// Where a log that has gone another way can be joined: the follower's last entry is of
    /// another term than the leader's there. noraft goes back entry by entry; here, as the
    /// paper suggests at the end of §5.3, by all of a term at once; but not behind what the
    /// follower knows to be committed, as that is the same in both logs, and the follower may
    /// have it in a snapshot only and could not tell where the rest goes on.
    fn detour(&self, from: NodeId, last: LogPosition, committed: RaftIndex) -> Option<LogPosition> {
        let (index, term) = (convert::index(last.index), convert::term(last.term));
        let lead = self.lead.as_ref()?;
        if index <= lead.matched(from) {
            return None;
        }
        let own = self.log.term(index)?;
        if own == term {
            return None;
        }
        let shared = committed.max(lead.matched(from)).max(self.log.before());
        let mut at = index;
        while at > shared && self.log.term(at)? > term {
            at = RaftIndex(at.0 - 1);
        }
        let found = self.log.term(at)?;
        while found < term && at > shared && self.log.term(at)? == found {
            at = RaftIndex(at.0 - 1);
        }
        Some(convert::position(self.log.term(at)?, at))
    }

    fn take_detour(&mut self, to: NodeId, prev: LogPosition) {
        let Some(entries) = self.raft.log().entries().since(prev) else { return };
        let call = noraft::Message::AppendEntriesCall {
            from: self.raft.id(),
            term: self.raft.current_term(),
            commit_index: self.raft.commit_index(),
            entries,
        };
        self.raft.actions_mut().send_messages.insert(convert::to_raft(to), call);
    }

    /// At the end of an instant a leader says what is committed as soon as it is, and sends a
    /// heartbeat for those who ask whether it leads. What is sent anyhow carries both.
    pub(super) fn lead_on(&mut self, world: &mut World<M>) {
        self.confirm_what_can_be(world);
        let commit = convert::index(self.raft.commit_index());
        let Some(lead) = &self.lead else { return };
        if lead.told < commit || (lead.ready && !lead.asked.is_empty()) {
            self.raft.heartbeat();
        }
    }

    /// Does what noraft wants done. What it wants kept is kept as it is: a kill leaves it.
    pub(super) fn carry_out(&mut self, world: &mut World<M>) {
        while let Some(action) = self.raft.actions_mut().next() {
            match action {
                Action::SetElectionTimeout => self.set_timer(world),
                Action::SaveCurrentTerm | Action::SaveVotedFor | Action::AppendLogEntries(_) => {}
                Action::BroadcastMessage(message) => self.send_to_all(&message, world),
                Action::SendMessage(to, message) => self.send_to_one(convert::from_raft(to), message, world),
                Action::InstallSnapshot(to) => self.send_snapshot(convert::from_raft(to), world),
            }
        }
    }

    fn send_to_all(&mut self, message: &noraft::Message, world: &mut World<M>) {
        if let (Some(lead), noraft::Message::AppendEntriesCall { commit_index, .. }) = (&mut self.lead, message) {
            lead.round += 1;
            lead.told = convert::index(*commit_index);
            let round = lead.round;
            self.begin_to_confirm(round, world);
        }
        let peers: Vec<_> = self.raft.peers().map(convert::from_raft).collect();
        for peer in peers {
            self.post(peer, message.clone(), world);
        }
    }

    /// Sends what is for one node only: a vote, an answer, or the entries that it lacks by its
    /// last answer. Of these, what was sent already is left out as long as the first of them may
    /// still arrive. When it was lost, all that was sent after it is of no use either.
    fn send_to_one(&mut self, to: NodeId, mut message: noraft::Message, world: &mut World<M>) {
        if let (Some(lead), noraft::Message::AppendEntriesCall { entries, .. }) = (&mut self.lead, &message)
            && let Some(follower) = lead.followers.get_mut(&to)
        {
            let first = entries.prev_position().index.get() + 1;
            let sent = follower.next.0.saturating_sub(first);
            if sent > 0 && follower.may_arrive() {
                if sent >= entries.len() as u64 {
                    return;
                }
                message.strip_append_entries_prefix(usize::try_from(sent).unwrap_or(usize::MAX));
            }
            lead.round += 1;
        }
        self.post(to, message, world);
    }

    fn post(&mut self, to: NodeId, mut message: noraft::Message, world: &mut World<M>) {
        let mut payload = Vec::new();
        let mut round = self.echo;
        let mut forced = false;
        match &mut message {
            noraft::Message::AppendEntriesCall { entries, .. } => {
                entries.truncate(BATCH);
                let first = RaftIndex(entries.prev_position().index.get() + 1);
                let last = convert::index(entries.last_position().index);
                payload.extend(self.log.range(first, last).map(|(_, entry)| entry.clone()));
                debug_assert_eq!(
                    payload.len(),
                    entries.len(),
                    "{}: {first}..={last} of {:?}",
                    self.id,
                    self.log.before()
                );
                let Some(lead) = &mut self.lead else { return };
                round = lead.round;
                if let Some(follower) = lead.followers.get_mut(&to)
                    && first <= last
                {
                    follower.carry(first, last, round);
                }
            }
            noraft::Message::RequestVoteCall { term, .. } => forced = self.forced == Some(convert::term(*term)),
            noraft::Message::RequestVoteReply { .. } | noraft::Message::AppendEntriesReply { .. } => {}
        }
        world.send(self.id, to, Message::Raft { message, entries: payload, round, forced, committed: self.commit() });
    }

    fn send_snapshot(&mut self, to: NodeId, world: &mut World<M>) {
        let (Some(lead), Some(image)) = (&mut self.lead, &self.image) else { return };
        let Some(follower) = lead.followers.get_mut(&to) else { return };
        if follower.snapshot.is_some_and(|(_, sent)| world.now.since(sent) < world.rules.election_max) {
            return;
        }
        lead.round += 1;
        follower.snapshot = Some((image.index(), world.now));
        (follower.next, follower.carried) = (RaftIndex(image.index().0 + 1), lead.round);
        follower.awaited = lead.round;
        let (term, round, image) = (convert::term(self.raft.current_term()), lead.round, image.clone());
        world.send(self.id, to, Message::Snapshot { term, round, image });
    }

    /// Tells a node that its removal is committed, which the end of the change itself does not
    /// reach: it is no peer any more by then.
    pub(super) fn say_good_bye(&mut self, to: NodeId, world: &mut World<M>) {
        let Some(matched) = self.lead.as_mut().and_then(|lead| lead.leaving.remove(&to)) else { return };
        let Some(term) = self.log.term(matched) else { return };
        let Some(entries) = self.raft.log().entries().since(convert::position(term, matched)) else { return };
        let call = noraft::Message::AppendEntriesCall {
            from: self.raft.id(),
            term: self.raft.current_term(),
            commit_index: self.raft.commit_index(),
            entries,
        };
        self.post(to, call, world);
    }

    // ---- the follower ------------------------------------------------------------------------

    /// A leader calls, with entries or without.
    pub(super) fn append_asked(
        &mut self,
        from: NodeId,
        call: &noraft::Message,
        payload: Vec<Entry<M::Command>>,
        round: u64,
        world: &mut World<M>,
    ) {
        let noraft::Message::AppendEntriesCall { entries, .. } = call else { return };
        self.hear(call, world);
        if call.term() != self.raft.current_term() || !self.raft.role().is_follower() {
            return;
        }
        self.ballot = None;
        self.heard = world.now;
        self.echo = self.echo.max(round);
        self.take_in(entries, payload, world);
        self.follow_leader(from, world);
    }

    /// Keeps the payloads of what noraft has taken into its log, and drops those of what it has
    /// dropped.
    fn take_in(&mut self, entries: &LogEntries, payload: Vec<Entry<M::Command>>, world: &mut World<M>) {
        let log = self.raft.log();
        if log.entries().contains(entries.last_position()) {
            let first = entries.prev_position().index.get() + 1;
            for (index, entry) in (first..).map(RaftIndex).zip(payload) {
                if index <= self.log.before() || self.log.term(index) == Some(entry.term) {
                    continue;
                }
                self.log.truncate(RaftIndex(index.0 - 1));
                if let Some(request) = entry.body.request() {
                    world.step(request, self.id, Waypoint::Appended);
                }
                self.log.push(entry);
            }
        }
        self.log.truncate(convert::index(log.last_position().index));
        debug_assert_eq!(self.log.last(), convert::index(log.last_position().index), "{}", self.id);
        debug_assert_eq!(self.log.term(self.log.last()), Some(Term(log.last_position().term.get())), "{}", self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::super::{Config, Outcome};
    use super::*;
    use crate::domain::raft::{ClusterTime, Fault, RaftMessage, Rules};

    /// Runs until then and notes which entries each message carried, by its number.
    fn watch(cluster: &mut Cluster, until: ClusterTime, calls: &mut BTreeMap<u64, u64>) {
        while cluster.next_event().is_some_and(|next| next <= until) {
            assert!(cluster.step());
            for flight in cluster.picture().flights {
                if let RaftMessage::Append { first, last, .. } = flight.what {
                    calls.insert(flight.id, last.0 + 1 - first.0);
                }
            }
        }
        cluster.advance(until);
    }

    #[test]
    fn what_comes_in_one_instant_goes_out_in_one_message() {
        let (mut cluster, leader) = led(Config::default());
        let writes: Vec<_> = (0..64).map(|note| cluster.propose(leader, note)).collect();
        cluster.advance(cluster.now());
        let flights = cluster.picture().flights;
        assert_eq!(flights.len(), 2, "{flights:?}");
        assert!(
            flights
                .iter()
                .all(|flight| matches!(flight.what, RaftMessage::Append { first, last, .. } if last.0 == first.0 + 63))
        );
        cluster.run(millis(2));
        assert_eq!(cluster.take_done().filter(|done| writes.contains(&done.request)).count(), 64);
    }

    #[test]
    fn without_delay_an_instant_is_enough() {
        let (mut cluster, leader) = led(Config { delay: Duration::ZERO, ..Config::default() });
        let at = cluster.other(leader);
        let now = cluster.now();
        let asked = [cluster.propose(leader, 1), cluster.propose(at, 2), cluster.read(at)];
        cluster.advance(now);
        let mut done: Vec<_> = cluster.take_done().map(|done| done.request).collect();
        done.sort();
        assert_eq!(done, asked);
        assert_eq!(cluster.notes(at), [1, 2]);
    }

    #[test]
    fn followers_hear_of_a_commit_as_soon_as_the_leader_knows() {
        let (mut cluster, leader) = led(Config { delay: millis(5), ..Config::default() });
        let write = cluster.propose(leader, 1);
        cluster.run(millis(10));
        assert!(matches!(cluster.outcome(write), Some(Outcome::Applied { .. })), "there and back");
        cluster.run(millis(5));
        assert!(cluster.nodes().into_iter().all(|id| cluster.notes(id) == [1]), "and there once more");
    }

    #[test]
    fn an_entry_is_sent_once_to_each_follower_while_nothing_is_lost() {
        let (mut cluster, leader) = led(Config { delay: millis(5), ..Config::default() });
        let mut calls = BTreeMap::new();
        for note in 0..20 {
            cluster.propose(leader, note);
            let until = cluster.now() + millis(2);
            watch(&mut cluster, until, &mut calls);
        }
        let until = cluster.now() + millis(100);
        watch(&mut cluster, until, &mut calls);
        assert_eq!(calls.values().sum::<u64>(), 40);
        assert!(cluster.nodes().into_iter().all(|id| cluster.notes(id).len() == 20));
    }

    #[test]
    fn what_was_lost_is_sent_again_with_the_next_heartbeat() {
        let (mut cluster, leader) = led(Config::default());
        let write = cluster.propose(leader, 1);
        cluster.do_(Fault::Loss(1000));
        cluster.advance(cluster.now());
        cluster.do_(Fault::Heal);
        assert!(matches!(cluster.wait(write, millis(60)), Some(Outcome::Applied { .. })));
    }

    #[test]
    fn commits_go_on_under_heavy_loss_while_new_entries_keep_coming_within_a_round_trip() {
        let rules = Rules {
            heartbeat: millis(100),
            election_min: millis(1000),
            election_max: millis(2000),
            ..Config::default().rules
        };
        for (nodes, seed) in [(5, 1), (5, 2), (7, 1), (7, 2)] {
            let (mut cluster, leader) =
                led(Config { nodes, seed, delay: millis(100), compact_after: 200, rules, ..Config::default() });
            cluster.do_(Fault::Loss(300));
            let furthest = |cluster: &Cluster| cluster.nodes.values().map(Node::commit).max().unwrap();
            for second in 0..60 {
                let before = furthest(&cluster);
                for note in 0..40 {
                    cluster.propose(cluster.leader().unwrap_or(leader), second * 40 + note);
                    cluster.run(millis(50));
                }
                let after = furthest(&cluster);
                assert!(after > before, "{nodes} nodes, seed {seed}: still {after} at {:?}", cluster.now());
            }
        }
    }

    /// A leader, and a follower that was away for 3000 entries and can be reached again.
    fn left_behind(config: Config) -> (Cluster, NodeId, NodeId) {
        let (mut cluster, leader) = led(config);
        let away = cluster.other(leader);
        cluster.do_(Fault::Isolate(away));
        for note in 0..3000 {
            cluster.propose(leader, note);
        }
        cluster.run(millis(20));
        cluster.do_(Fault::Heal);
        (cluster, leader, away)
    }

    #[test]
    fn a_follower_far_behind_catches_up_while_new_entries_keep_coming_within_a_round_trip() {
        let rules = Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, leader, away) = left_behind(Config { rules, ..Config::default() });
        cluster.do_(Fault::Delay(millis(20)));
        for note in 3000..3100 {
            cluster.propose(leader, note);
            cluster.run(millis(10));
        }
        assert!(cluster.notes(away).len() > 3000, "{}", cluster.notes(away).len());
    }

    #[test]
    fn a_log_that_went_another_way_is_joined_term_by_term() {
        let rules = Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, old) = led(Config { delay: millis(5), rules, ..Config::default() });
        cluster.do_(Fault::Isolate(old));
        for note in 1000..1300 {
            cluster.propose(old, note);
        }
        cluster.run(millis(2000));
        let new = cluster.leader().unwrap();
        assert_ne!(new, old);
        for note in 0..400 {
            cluster.propose(new, note);
        }
        cluster.run(millis(100));
        cluster.do_(Fault::Heal);
        let began = cluster.now();
        while cluster.notes(old).len() < cluster.notes(new).len() {
            assert!(cluster.step());
        }
        assert!(cluster.now().since(began) < millis(120), "{:?}", cluster.now().since(began));
        assert_eq!(cluster.notes(old), cluster.notes(new));
    }

    #[test]
    fn a_log_that_went_another_way_is_joined_behind_its_own_snapshot() {
        let rules = Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, first) = led(Config { compact_after: 20, rules, ..Config::default() });
        let away = cluster.other(first);
        cluster.do_(Fault::Isolate(away));
        for note in 0..30 {
            cluster.note(first, note);
        }
        cluster.do_(Fault::Heal);
        cluster.run(millis(200));
        cluster.do_(Fault::Transfer(away));
        while cluster.leader() != Some(away) {
            assert!(cluster.step());
        }
        cluster.do_(Fault::Isolate(away));
        for note in 1000..1005 {
            cluster.propose(away, note);
        }
        cluster.run(millis(1500));
        let new = cluster.leader().unwrap();
        assert_ne!(new, away);
        let cut = |id| cluster.nodes[&id].log.before();
        assert!(cut(new) < cut(away), "{} {}: all of the first term is gone there", cut(new), cut(away));
        assert_eq!(cluster.nodes[&new].log.term(cut(new)), cluster.nodes[&away].log.term(cut(away)));
        cluster.do_(Fault::Heal);
        for note in 30..35 {
            cluster.note(new, note);
        }
        cluster.run(millis(200));
        assert_eq!(cluster.leader(), Some(new));
        assert_eq!(cluster.notes(away), cluster.notes(new));
    }

    #[test]
    fn a_follower_far_behind_catches_up_in_several_messages() {
        let (mut cluster, _, away) = left_behind(Config::default());
        let mut calls = BTreeMap::new();
        let until = cluster.now() + millis(700);
        watch(&mut cluster, until, &mut calls);
        assert_eq!(calls.values().max(), Some(&(BATCH as u64)));
        assert_eq!(cluster.notes(away).iter().filter(|note| **note != OWN).count(), 3000);
    }
}
