//! Requests at the node that was asked: it passes them on to the leader and waits.
//!
//! A command is passed on once, as in etcd: nobody can tell whether one without an answer was
//! lost, so it fails when its time is over, and may still come into effect. Reads and
//! questions change nothing and are asked again.

use std::collections::BTreeSet;

use super::message::{Matter, Passed, Said};
use super::node::Node;
use super::read::{Asked, RETRY};
use super::timer::Alarm;
use super::world::World;
use super::{Failure, Machine, Outcome, RequestId};
use crate::domain::raft::{Life, NodeId, Waypoint};

/// A request that is not done.
pub(super) struct Pending<M: Machine> {
    pub(super) want: Want<M>,
    pub(super) stage: Stage,
    /// When it fails. All wait equally long, so the oldest fails first.
    pub(super) patience: Alarm,
    /// Which leader it was passed on to first, by their count.
    reign: u64,
}

/// What is wanted.
pub(super) enum Want<M: Machine> {
    Read,
    Matter(Matter<M>),
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No leader is known, or it hands over.
    Waiting,
    /// The leader has it, or it is on its way there.
    Passed,
    /// A change of the members is half done: the old and the new ones decide together (§6).
    Joint,
    /// A read that waits for what is to be applied.
    Confirmed,
}

impl<M: Machine> Node<M> {
    /// A client asks this node.
    pub(super) fn ask(&mut self, request: RequestId, want: Want<M>, world: &mut World<M>) {
        if self.life == Life::Killed {
            world.finish(request, self.id, Outcome::Failed(Failure::NodeDown));
            return;
        }
        let patience = world.alarm(world.config.patience);
        self.pending.insert(request, Pending { want, stage: Stage::Waiting, patience, reign: self.reigns });
        self.dirty = true;
        self.pass_on(request, world);
    }

    /// Passes a request on to the leader, if that is to be done and one is known.
    fn pass_on(&mut self, request: RequestId, world: &mut World<M>) {
        let (Some(leader), Life::Up) = (self.leader, self.life) else { return };
        let Some(pending) = self.pending.get_mut(&request) else { return };
        let can_repeat = matches!(pending.want, Want::Read | Want::Matter(Matter::Ask(_)));
        let is_due = pending.stage == Stage::Waiting || (pending.stage == Stage::Passed && can_repeat);
        if !is_due {
            return;
        }
        if leader == self.id && self.handover.is_some() && !can_repeat {
            return;
        }
        if pending.stage == Stage::Waiting {
            pending.reign = self.reigns;
        }
        pending.stage = Stage::Passed;
        let matter = match &pending.want {
            Want::Read => None,
            Want::Matter(matter) => Some(matter.clone()),
        };
        if leader != self.id {
            world.step(request, self.id, Waypoint::Forwarded { to: leader });
            match matter {
                None => self.outbox.read(leader, request),
                Some(matter) => self.outbox.forward(leader, Passed { request, matter, hops: 0 }),
            }
            if can_repeat && self.retry.is_none() {
                self.retry = Some(world.alarm(RETRY));
            }
        } else if let Some(matter) = matter {
            self.take_up(self.id, Passed { request, matter, hops: 0 }, world);
        } else if let Some(lead) = &mut self.lead {
            lead.ask(Asked { request, from: leader, question: None, since: world.now });
        }
    }

    /// A leader is known, or a handover is over: what waited for that goes on.
    pub(super) fn pass_on_what_waits(&mut self, world: &mut World<M>) {
        let waiting: Vec<_> = self.pending.keys().copied().collect();
        for request in waiting {
            self.pass_on(request, world);
        }
        for (from, passed) in std::mem::take(&mut self.held) {
            self.take_up(from, passed, world);
        }
    }

    /// Who asked has gone away. A request that still waits for a leader is forgotten, as in
    /// etcd, whose members propose nothing for who is not there any more; so is what is read or
    /// asked. Nobody hears what becomes of a command.
    pub(super) fn withdraw(&mut self, requests: &BTreeSet<RequestId>, world: &mut World<M>) {
        let goes_on = |pending: &Pending<M>| {
            pending.stage != Stage::Waiting && matches!(pending.want, Want::Matter(Matter::Change(_)))
        };
        let mut forgotten = requests.clone();
        forgotten.retain(|request| self.pending.get(request).is_some_and(|pending| !goes_on(pending)));
        for &request in &forgotten {
            self.answered(request, Outcome::Failed(Failure::Abandoned), world);
        }
        self.outbox.forget(&forgotten);
        self.barriers.retain(|(_, request)| !forgotten.contains(request));
        if let Some(lead) = &mut self.lead {
            lead.forget(|asked| forgotten.contains(&asked.request));
        }
    }

    /// Reads and questions that have no answer yet are asked again.
    pub(super) fn ask_again(&mut self, world: &mut World<M>) {
        self.retry = None;
        if self.leader == Some(self.id) {
            return;
        }
        let passed: Vec<_> = self.pending.iter().filter(|(_, pending)| pending.stage == Stage::Passed).collect();
        let passed: Vec<_> = passed.into_iter().map(|(request, _)| *request).collect();
        for request in passed {
            self.pass_on(request, world);
        }
    }

    /// Requests come from another node.
    pub(super) fn forwarded(&mut self, from: NodeId, passed: Vec<Passed<M>>, world: &mut World<M>) {
        for passed in passed {
            self.take_up(from, passed, world);
        }
    }

    /// A request has come to the leader, as the sender thinks.
    fn take_up(&mut self, from: NodeId, passed: Passed<M>, world: &mut World<M>) {
        let Some(lead) = &mut self.lead else {
            self.put_right(from, passed, world);
            return;
        };
        let Passed { request, matter, hops } = passed;
        match matter {
            Matter::Ask(question) => {
                lead.ask(Asked { request, from, question: Some(question), since: world.now });
            }
            matter if self.handover.is_some() => self.held.push((from, Passed { request, matter, hops })),
            Matter::Propose(body) => self.propose(body, world),
            // Before that it does not know whether another change goes on (thesis §4.1).
            Matter::Change(_) if !lead.ready => self.held.push((from, Passed { request, matter, hops })),
            Matter::Change(change) => {
                if let Err(refusal) = self.change_members(request, change, world) {
                    self.reply(from, request, Said::Refused(refusal), world);
                }
            }
        }
    }

    /// A request came to a node that does not lead any more: it goes on to who does, once that is
    /// known. That is for commands only. Other answers find the node that was asked only if it
    /// speaks to the leader itself.
    fn put_right(&mut self, from: NodeId, passed: Passed<M>, world: &mut World<M>) {
        if passed.hops > 0 || !matches!(passed.matter, Matter::Propose(_)) {
            return;
        }
        match self.leader {
            None => self.held.push((from, passed)),
            Some(leader) => {
                world.step(passed.request, self.id, Waypoint::Forwarded { to: leader });
                self.outbox.forward(leader, Passed { hops: 1, ..passed });
            }
        }
    }

    fn reply(&mut self, to: NodeId, request: RequestId, said: Said<M>, world: &mut World<M>) {
        if to == self.id {
            self.forward_answered(vec![(request, said)], world);
        } else {
            self.outbox.reply(to, request, said);
        }
    }

    /// The leader has answered.
    pub(super) fn forward_answered(&mut self, said: Vec<(RequestId, Said<M>)>, world: &mut World<M>) {
        for (request, said) in said {
            let outcome = match said {
                Said::Reply(reply) => Outcome::Answered(reply),
                Said::Refused(refusal) => Outcome::Refused(refusal),
            };
            self.answered(request, outcome, world);
        }
    }

    /// A request is done, unless it was before.
    pub(super) fn answered(&mut self, request: RequestId, outcome: Outcome<M>, world: &mut World<M>) {
        if self.pending.remove(&request).is_some() {
            world.finish(request, self.id, outcome);
        }
    }

    /// The oldest request has waited too long.
    pub(super) fn give_up_the_oldest(&mut self, world: &mut World<M>) {
        let Some((request, pending)) = self.pending.pop_first() else { return };
        let failure = match pending.stage {
            Stage::Waiting => Failure::NoLeader,
            _ if self.leader.is_none() || pending.reign != self.reigns => Failure::LeaderLost,
            _ => Failure::Timeout,
        };
        self.barriers.retain(|(_, waiting)| *waiting != request);
        world.finish(request, self.id, Outcome::Failed(failure));
    }

    /// Nobody gets an answer from this node any more.
    pub(super) fn fail_all(&mut self, world: &mut World<M>) {
        for request in std::mem::take(&mut self.pending).into_keys() {
            world.finish(request, self.id, Outcome::Failed(Failure::NodeDown));
        }
        if let Some(handover) = self.handover.take() {
            world.finish(handover.request, self.id, Outcome::Failed(Failure::NodeDown));
        }
        self.barriers.clear();
        self.held.clear();
        self.retry = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Config, RequestId};
    use super::*;
    use crate::domain::raft::{Fault, RaftRole};

    #[track_caller]
    fn fails(cluster: &mut Cluster, request: RequestId, failure: Failure) {
        let outcome = cluster.wait(request, millis(7000));
        assert!(matches!(&outcome, Some(Outcome::Failed(why)) if *why == failure), "{}", words(outcome.as_ref()));
    }

    #[test]
    fn a_write_at_any_node_is_answered_by_that_node() {
        let (mut cluster, _) = led(Config::default());
        for (count, at) in cluster.nodes().into_iter().enumerate() {
            let request = cluster.propose(at, 1);
            cluster.run(millis(10));
            let done = cluster.take_done().find(|done| done.request == request).unwrap();
            assert_eq!(done.node, at);
            assert!(matches!(done.outcome, Outcome::Applied { answer, .. } if answer == count + 1));
            assert_eq!(cluster.notes(at).len(), count + 1);
        }
    }

    #[test]
    fn what_comes_before_there_is_a_leader_waits_for_one() {
        let mut cluster = three();
        let write = cluster.propose(N1, 1);
        let outcome = cluster.wait(write, millis(2000));
        assert!(matches!(outcome, Some(Outcome::Applied { answer: 1, .. })), "{}", words(outcome.as_ref()));
    }

    #[test]
    fn without_a_leader_a_request_fails_when_its_time_is_over() {
        let mut cluster = three();
        cluster.do_(Fault::Kill(N2));
        cluster.do_(Fault::Kill(N3));
        let (write, read) = (cluster.propose(N1, 1), cluster.read(N1));
        let began = cluster.now();
        fails(&mut cluster, write, Failure::NoLeader);
        assert_eq!(cluster.now().since(began), Config::default().patience);
        fails(&mut cluster, read, Failure::NoLeader);
    }

    #[test]
    fn a_write_whose_leader_dies_fails_and_is_not_repeated() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let write = cluster.propose(at, 1);
        cluster.run(millis(0));
        cluster.do_(Fault::Kill(leader));
        fails(&mut cluster, write, Failure::LeaderLost);
        assert!(!cluster.notes(at).contains(&1));
    }

    #[test]
    fn a_write_that_was_lost_on_its_way_times_out() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let write = cluster.propose(at, 1);
        cluster.do_(Fault::Loss(1000));
        cluster.run(millis(0));
        cluster.do_(Fault::Heal);
        fails(&mut cluster, write, Failure::Timeout);
    }

    #[test]
    fn who_asks_a_node_that_is_down_or_goes_down_hears_so_at_once() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let write = cluster.propose(at, 1);
        cluster.do_(Fault::Kill(at));
        assert!(matches!(cluster.outcome(write), Some(Outcome::Failed(Failure::NodeDown))));
        let write = cluster.propose(at, 1);
        assert!(matches!(cluster.outcome(write), Some(Outcome::Failed(Failure::NodeDown))));
        let nobody = cluster.read(NodeId(9));
        assert!(matches!(cluster.outcome(nobody), Some(Outcome::Failed(Failure::NodeDown))));
    }

    #[test]
    fn requests_that_took_the_wrong_turn_are_put_right_once() {
        let (mut cluster, leader) = led(Config { delay: millis(10), ..Config::default() });
        let (heir, at) = {
            let mut others = cluster.nodes().into_iter().filter(|id| *id != leader);
            (others.next().unwrap(), others.next().unwrap())
        };
        cluster.transfer(heir);
        while cluster.node(heir).unwrap().role() != RaftRole::Candidate {
            assert!(cluster.step());
        }
        // The call for votes is on its way, and the old leader hears it before the request.
        assert_eq!(cluster.node(at).unwrap().leader(), Some(leader));
        let write = cluster.propose(at, 1);
        let outcome = cluster.wait(write, millis(200));
        assert!(matches!(outcome, Some(Outcome::Applied { .. })), "{}", words(outcome.as_ref()));
        let steps = &cluster.picture().traces.iter().find(|trace| trace.id == write.0).unwrap().steps.clone();
        let forwards: Vec<_> = steps
            .iter()
            .filter_map(|step| match step.what {
                Waypoint::Forwarded { to } => Some((step.node, to)),
                _ => None,
            })
            .collect();
        assert_eq!(forwards, [(at, leader), (leader, heir)]);
    }

    #[test]
    fn one_that_waited_for_a_leader_and_was_lost_then_times_out() {
        let mut cluster = three();
        let writes: Vec<_> = cluster.nodes().into_iter().map(|id| (id, cluster.propose(id, 1))).collect();
        let is_passed = |cluster: &Cluster, id: NodeId| {
            cluster.leader().is_some_and(|leader| leader != id)
                && cluster.nodes[&id].outbox.is_empty()
                && cluster.nodes[&id].pending.values().all(|pending| pending.stage == Stage::Passed)
        };
        let (at, write) = loop {
            assert!(cluster.step());
            if let Some(passed) = writes.iter().find(|(id, _)| is_passed(&cluster, *id)) {
                break *passed;
            }
        };
        cluster.do_(Fault::Isolate(at));
        cluster.do_(Fault::Heal);
        fails(&mut cluster, write, Failure::Timeout);
    }

    #[test]
    fn nothing_is_kept_for_callers_that_have_gone_away() {
        for paused in [false, true] {
            let (mut cluster, leader) = led(Config::default());
            if paused {
                for id in cluster.nodes() {
                    cluster.do_(Fault::Pause(id));
                }
            }
            let before = cluster.nodes[&leader].log.last();
            for id in cluster.nodes() {
                let mut asked: BTreeSet<_> = (0..10_000).map(|_| cluster.read(id)).collect();
                asked.extend((0..10).map(|_| cluster.ask(id, ())));
                if id != leader {
                    asked.extend((0..10).map(|_| cluster.propose(id, 1)));
                }
                cluster.withdraw(id, &asked);
                assert_eq!(cluster.take_done().filter(|done| asked.contains(&done.request)).count(), asked.len());
                let node = &cluster.nodes[&id];
                assert!(node.pending.is_empty() && node.outbox.is_empty());
                assert!(node.lead.as_ref().is_none_or(|lead| lead.asked.is_empty() && lead.confirming.is_empty()));
            }
            for id in cluster.nodes().into_iter().filter(|_| paused) {
                cluster.do_(Fault::Resume(id));
            }
            let in_flight = cluster.picture().in_flight;
            cluster.advance(cluster.now());
            assert!(cluster.picture().in_flight <= in_flight + 4);
            cluster.run(millis(100));
            assert_eq!(cluster.nodes[&leader].log.last(), before, "what was not sent yet is not proposed");
        }
    }

    #[test]
    fn a_command_that_is_on_its_way_comes_into_effect_without_its_caller() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let write = cluster.propose(at, 1);
        cluster.advance(cluster.now());
        cluster.withdraw(at, &[write].into());
        assert!(matches!(cluster.outcome(write), Some(Outcome::Failed(Failure::Abandoned))));
        cluster.run(millis(100));
        assert_eq!(cluster.notes(at), [1]);
        assert!(cluster.outcome(write).is_none(), "it ends once");
    }

    #[test]
    fn a_change_of_the_members_that_is_on_its_way_is_heard_of() {
        let (mut cluster, leader) = led(Config::default());
        cluster.add_node(N4).unwrap();
        let change = cluster.change(leader, super::super::Change::AddLearner(N4));
        cluster.withdraw(leader, &[change].into());
        assert!(matches!(cluster.wait(change, millis(100)), Some(Outcome::Changed)));
    }
}
