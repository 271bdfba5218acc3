//! Clients that wait for each other, by the queues.

use std::collections::BTreeSet;

use super::Tally;
use crate::domain::Key;
use crate::domain::play::Happening;
use crate::domain::raft::ClusterTime;
use crate::playground::ClientId;

impl Tally {
    /// Tells of a circle when it closes.
    pub(super) fn look_for_circle(&mut self, at: ClusterTime) {
        let circle = self.circle();
        let members: Option<BTreeSet<ClientId>> = circle.as_ref().map(|circle| circle.iter().copied().collect());
        if members == self.circle {
            return;
        }
        self.circle = members;
        if let Some(circle) = circle {
            self.moment(at, Key::default(), None, Happening::Circle(circle));
        }
    }

    /// Clients each of which waits for what the next one holds, beginning with the one of the
    /// smallest number.
    fn circle(&self) -> Option<Vec<ClientId>> {
        // Who takes one lock only waits for nobody while it holds: each in a circle takes two.
        let pairs = self.clients.iter().filter(|(_, client)| client.second.is_some());
        for (start, _) in pairs {
            let mut way = vec![*start];
            while let Some(next) = way.last().and_then(|last| self.waits_for(*last)) {
                if next == *start {
                    return Some(way);
                }
                // Into a circle of others, which is found from one of those.
                if way.contains(&next) {
                    break;
                }
                way.push(next);
            }
        }
        None
    }

    /// Who holds what this client waits for.
    fn waits_for(&self, client: ClientId) -> Option<ClientId> {
        let actor = self.clients.get(&client)?;
        let locks = [actor.second.as_ref(), Some(&actor.lock)];
        locks.into_iter().flatten().find_map(|lock| self.locks.get(lock)?.first_before(client))
    }
}
