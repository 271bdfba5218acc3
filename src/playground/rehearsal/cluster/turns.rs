//! Callers whose queueing the members do, beside those who do their own.
//!
//! What a turn asks it asks at the member that was asked for it, and without a deadline: the
//! cluster's own is enough. It ends with its caller's connection.

use super::{By, Embedded, Served};
use crate::domain::raft::NodeId;
use crate::domain::{KeyEvent, KeyRange, Revision};
use crate::mvcc::{Store, Watch};
use crate::playground::ClientId;
use crate::playground::rehearsal::turn::{Next, Turn};
use crate::recipe::{Call, CallId, Failure, Input};

/// The end of a key, which a turn waits for.
pub(super) struct Ending {
    watch: Watch,
    next: Revision,
}

impl Ending {
    /// Whether it has come in this store, or may have: in what is compacted nobody sees it, and
    /// the turn has to look.
    fn has_come(&mut self, store: &Store) -> bool {
        let Ok(batch) = self.watch.batch(store, self.next) else { return true };
        self.next = batch.next;
        batch.changes.iter().any(|change| matches!(change.key_event(), KeyEvent::Delete { .. }))
    }
}

impl Embedded {
    /// A member takes a call on that it answers when the caller's turn has come; whether it is
    /// such a call.
    pub(super) fn take_on(&mut self, node: NodeId, client: ClientId, id: CallId, call: &Call) -> bool {
        let Some((turn, first)) = Turn::of(call) else { return false };
        self.turns += 1;
        self.served.insert(self.turns, Served { caller: Some((client, id)), node, turn, ending: None });
        self.go_on(self.turns, first);
        true
    }

    /// Does what a turn needs.
    pub(super) fn go_on(&mut self, number: u64, next: Next) {
        let Some(served) = self.served.get_mut(&number) else { return };
        match next {
            Next::Ask(call) => {
                let node = served.node;
                self.send(node, By::Turn(number), call, None);
            }
            Next::Wait { key, from } => {
                let ending = Ending { watch: Watch::of(KeyRange::single(&key)), next: from };
                served.ending = Some(ending);
                // It may have come already.
                self.told.remove(&served.node);
            }
            Next::Answer(answer, behind) => {
                let Some(Served { caller, node, .. }) = self.served.remove(&number) else { return };
                if let Some(behind) = behind {
                    self.send(node, By::Nobody, behind, None);
                }
                if let Some((client, id)) = caller {
                    let is_lost = answer == Err(Failure::Unanswered);
                    self.ready.push((client, Input::Answer(id, answer)));
                    if is_lost {
                        self.move_line(client, node);
                    }
                }
            }
        }
    }

    /// The turns at a member whose waiting came to its end.
    pub(super) fn ended(&mut self, node: NodeId, store: &Store) -> Vec<u64> {
        let here = self.served.iter_mut().filter(|(_, served)| served.node == node);
        let ended =
            here.filter_map(|(number, served)| served.ending.take_if(|ending| ending.has_come(store)).map(|_| *number));
        ended.collect()
    }

    /// A member is killed: whoever waits there learns it, and nobody gives a key up for them.
    pub(super) fn break_off(&mut self, node: NodeId) {
        let broken: Vec<_> = self.served.extract_if(.., |_, served| served.node == node).collect();
        for (client, id) in broken.into_iter().filter_map(|(_, served)| served.caller) {
            self.ready.push((client, Input::Answer(id, Err(Failure::Unanswered))));
            self.move_line(client, node);
        }
    }

    /// Callers hang up, and the members give their keys up; the calls that nobody answers now.
    pub(super) fn hang_up(&mut self, who: impl Fn(ClientId, CallId, NodeId) -> bool) -> Vec<(ClientId, CallId)> {
        let mut unanswered = Vec::new();
        let mut leave = Vec::new();
        for (&number, served) in &mut self.served {
            let Some((client, id)) = served.caller.take_if(|(client, id)| who(*client, *id, served.node)) else {
                continue;
            };
            unanswered.push((client, id));
            leave.extend(served.turn.give_up().map(|call| (number, served.node, call)));
        }
        for (number, node, call) in leave {
            self.served.remove(&number);
            self.send(node, By::Nobody, call, None);
        }
        unanswered
    }
}
