//! Whom an order means, and whether it can be followed.
//!
//! Who holds is asked of the store's history, not of the clients. Each no is a sentence that says
//! what to do instead.

use super::tally::OfClient;
use super::{ClientId, Habits, LockOf, Tally};
use crate::domain::escape::escape;
use crate::domain::play::order::SHORTEST_HEARTBEAT;
use crate::domain::play::{Ill, Life, Whom};
use crate::recipe::Belief;

/// How many clients can ever take part in a run.
pub(super) const MOST: u32 = 10_000;

/// The client that is meant.
///
/// # Errors
/// In words, when nobody is.
pub(super) fn meant(tally: &Tally, lock: &LockOf, whom: Whom) -> Result<ClientId, String> {
    let name = escape(lock.name());
    match whom {
        Whom::Client(id) if tally.clients().contains_key(&id) => Ok(id),
        Whom::Client(id) => Err(match (tally.clients().keys().next(), tally.clients().keys().last()) {
            (Some(first), Some(last)) => format!("there is no {id}: clients are {first} to {last}"),
            _ => format!("there is no {id}, and no other client"),
        }),
        Whom::Holder => match tally.places(lock).next() {
            Some(Some(client)) => Ok(client),
            Some(None) => Err(format!(
                "the first key of {name} belongs to none of the clients: name a client, such as `client-1`"
            )),
            None => Err(format!("nobody holds {name} now: wait until somebody does, or name a client")),
        },
        Whom::Waiter => {
            let queued = tally.places(lock).skip(1).flatten().next();
            queued.or_else(|| longest_waiting(tally, lock)).ok_or_else(|| {
                format!("nobody waits for {name} now: wait until somebody does, `add 1`, or name a client")
            })
        }
    }
}

/// Where waiters have no keys, the one that has waited longest by its own word.
fn longest_waiting(tally: &Tally, lock: &LockOf) -> Option<ClientId> {
    let LockOf::SingleKey(_) = lock else { return None };
    let waiting = tally.clients().iter().filter(|(_, client)| client.lock == *lock && client.waits());
    waiting.min_by_key(|(_, client)| client.since()).map(|(id, _)| *id)
}

/// Whether this can be done to a client now.
///
/// # Errors
/// In words, why not and what can be done.
pub(super) fn possible(tally: &Tally, id: ClientId, ill: Ill) -> Result<(), String> {
    let Some(client) = tally.clients().get(&id) else { return Err(format!("there is no {id}")) };
    let takes_part = |client: &OfClient| matches!(client.standing.belief, Belief::Waiting | Belief::Holding);
    let no = match (client.life, ill) {
        _ if client.removed => format!("{id} was removed: `add 1` brings another one"),
        (Life::Stopped, _) => format!("{id} has ended: `add 1` brings another one"),
        (Life::Up, Ill::Pause | Ill::Crash) if client.is_to_begin() => {
            format!("{id} has not begun yet: wait until it takes part")
        }
        (Life::Gone, Ill::Crash) => format!("{id} has crashed already; it comes back by itself"),
        (Life::Gone, Ill::Pause | Ill::Resume | Ill::Release) => {
            format!("{id} has crashed: wait until it comes back")
        }
        (Life::Paused, Ill::Pause) => format!("{id} stands still already: `resume {id}` lets it go on"),
        (Life::Up, Ill::Resume) => format!("{id} does not stand still: `pause {id}` stops it"),
        (_, Ill::Cut) if client.cut => format!("the link of {id} is cut already: `mend {id}` mends it"),
        (_, Ill::Mend) if !client.cut => format!("the link of {id} is not cut: `cut {id}` cuts it"),
        (_, Ill::Release) if !takes_part(client) => {
            format!("{id} neither holds nor waits: there is nothing that it could release")
        }
        (_, Ill::Revoke) if client.lease().is_none() => format!("{id} has no lease now: wait until it has one"),
        (_, Ill::Heartbeat(every)) if every < SHORTEST_HEARTBEAT => {
            format!("heartbeats {every:?} apart are too close: leave at least {SHORTEST_HEARTBEAT:?} in between")
        }
        _ => return Ok(()),
    };
    Err(no)
}

/// What those do that join: the same as the first client of the lock that the run is about.
///
/// # Errors
/// In words, when there is nobody to do as, or no room.
pub(super) fn joining(
    model: Option<&Habits>,
    lock: &LockOf,
    next: ClientId,
    count: u16,
) -> Result<(Habits, Vec<ClientId>), String> {
    let Some(model) = model else {
        return Err(format!("nobody takes part in {}: there is no client to do as", escape(lock.name())));
    };
    if count == 0 {
        return Err("nobody joins: say how many, as in `add 3`".into());
    }
    let last = next.0.saturating_add(u32::from(count) - 1);
    if last > MOST {
        return Err(format!("at most {MOST} clients can take part in a run: begin another one for more"));
    }
    Ok((model.clone(), (next.0..=last).map(ClientId).collect()))
}
