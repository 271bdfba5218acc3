//! From the log to the machine: what is committed is applied, in order (§5.3), and the leader's
//! machine may have something to propose.

use std::sync::Arc;
use std::time::Duration;

use super::log::Body;
use super::node::Node;
use super::trace::Subject;
use super::world::World;
use super::{Machine, Outcome, convert};
use crate::domain::RaftIndex;
use crate::domain::raft::{ClusterTime, Waypoint};

/// How long a leader's machine is left alone after it was asked what is due: what it proposed
/// may take a moment until it is applied.
const BREATH: Duration = Duration::from_millis(100);

impl<M: Machine> Node<M> {
    /// A leader appends a command.
    pub(super) fn propose(&mut self, body: Arc<Body<M::Command>>, world: &mut World<M>) {
        let position = self.raft.propose_command();
        debug_assert!(!position.is_invalid(), "{} does not lead", self.id);
        self.append_own(convert::index(position.index), body, world);
    }

    /// Applies all that is committed.
    pub(super) fn apply(&mut self, world: &mut World<M>) {
        let commit = convert::index(self.raft.commit_index());
        self.trace_committed(commit, world);
        while self.applied < commit {
            let index = RaftIndex(self.applied.0 + 1);
            let Some(entry) = self.log.get(index).cloned() else {
                debug_assert!(false, "{}: entry {index} is committed and not in the log", self.id);
                return;
            };
            self.applied = index;
            match &*entry.body {
                Body::Term => {}
                Body::Members(request) => self.apply_members(index, *request, world),
                Body::Request { id, command } => {
                    let answer = self.machine.apply(world.now, command);
                    world.step(*id, self.id, Waypoint::Applied { revision: self.machine.revision() });
                    self.answered(*id, Outcome::Applied { answer, term: entry.term, index }, world);
                }
            }
            if let Some(lead) = &mut self.lead
                && lead.own == Some(index)
            {
                lead.ready = true;
                self.machine.lead(world.now);
                self.pass_on_what_waits(world);
            }
        }
        self.pass_barriers(world);
        self.compact(world);
    }

    fn trace_committed(&mut self, commit: RaftIndex, world: &mut World<M>) {
        for (_, entry) in self.log.range(RaftIndex(self.traced.0 + 1), commit) {
            if let Some(request) = entry.body.request() {
                world.step(request, self.id, Waypoint::Committed);
            }
        }
        self.traced = self.traced.max(commit);
    }

    /// When the leader's machine has something to propose.
    pub(super) fn next_due(&self) -> Option<ClusterTime> {
        let lead = self.lead.as_ref().filter(|lead| lead.ready && self.handover.is_none())?;
        let due = self.machine.next_due()?;
        Some(lead.last_due.map_or(due, |last| due.max(last + BREATH)))
    }

    /// Proposes what the leader's machine has to propose by itself.
    pub(super) fn propose_what_is_due(&mut self, world: &mut World<M>) {
        let Some(lead) = &mut self.lead else { return };
        lead.last_due = Some(world.now);
        for command in self.machine.due(world.now) {
            let id = world.next_request();
            let body = Arc::new(Body::Request { id, command });
            world.traces.begin(id, || Subject::Command(Arc::clone(&body)));
            self.propose(body, world);
        }
        self.observe(world);
    }
}
