//! Somebody is first in a queue and does not know it.

use std::time::Duration;

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::play::{Belief, Life};
use crate::domain::{Key, Millis, Sentence, Timestamp, Value};
use crate::layout::Layout;
use crate::model::play::Marked;
use crate::model::{KeyView, LockView};

/// So many finished holds have to be known before anything can be said of how long they take.
const KNOWN: usize = 8;
/// A simulated client learns within this that it is first, on the clock of its run.
const LEARNS: Duration = Duration::from_secs(10);

pub(super) const RULE: Rule = Rule {
    code: "queue-stuck",
    severities: &[Severity::Error],
    when: "a live client came first when its predecessor went, others wait, and it holds many times longer than anybody was ever seen to hold",
    why: "It may have missed its predecessor's end: it renews its lease, waits for ever, and so does everyone behind it.",
    advice: "Ask that client whether it works; if it waits, restart it or revoke its lease.",
    source: "etcd `client/v3/concurrency/key.go`: a waiter goes on when it is told of a delete, and by nothing else",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, thresholds: &Thresholds, found: &mut Found<'_>) {
    let waiters = lock.waiter_count();
    // Who leads by an election may do so for good.
    if waiters == 0 || !matches!(lock.layout(), Layout::Queue | Layout::RwLock) || lock.history().is_none() {
        return;
    }
    let Some(holder) = lock.holder().filter(|holder| !holder.lease().is_none()) else { return };
    let Some((began, former)) = came_first(&lock, holder) else { return };
    let held = lock.told_until().since(began);
    let evidence = if only_waits(&lock, holder) {
        Sentence::new("{key} is first for {held}, since {former} went, and its client still waits; {waiters} behind it")
    } else if let Some((longest, known)) = is_too_long(&lock, holder, held, thresholds) {
        Sentence::new(
            "{key} is first for {held}, since {former} went, renewed and unchanged; the longest of {known} took {longest}; {waiters} behind it",
        )
        .with("longest", longest)
        .with("known", Value::Count(known, "hold"))
    } else {
        return;
    };
    let evidence = evidence
        .with("key", holder.key())
        .with("held", held)
        .with("former", former)
        .with("waiters", Value::Count(waiters, "waiter"));
    let remedy = remedy::revoke(holder.lease());
    found.add(Finding::new(Severity::Error, evidence, remedy).key_of(lock, holder).since(lock.held_since()));
}

/// When the holder came first, and whose end that was: seen, and with the holder in the queue
/// already, so that it had to be told.
fn came_first(lock: &LockView<'_>, holder: KeyView<'_>) -> Option<(Timestamp, Key)> {
    let began = lock.held_since().filter(|began| began.exact)?;
    let before = lock.holds().rev().find(|hold| hold.create_revision < holder.token())?;
    before.ended.filter(|end| end.revision > holder.token())?;
    Some((began.at, before.key.clone()))
}

/// Whether it holds for longer than can be work, though it is well: the longest hold that was
/// seen, and how many were.
fn is_too_long(
    lock: &LockView<'_>,
    holder: KeyView<'_>,
    held: Millis,
    thresholds: &Thresholds,
) -> Option<(Millis, usize)> {
    // Who wrote to its key since has noticed something.
    if held < thresholds.stuck || holder.entry().version > 1 || !holder.was_alive() {
        return None;
    }
    let lengths = lock.hold_times();
    let longest = *lengths.last().filter(|_| lengths.len() >= KNOWN)?;
    (held.0 >= longest.0.saturating_mul(thresholds.stuck_longest)).then_some((longest, lengths.len()))
}

/// Whether its client is one of those that play here, runs, and has been told nothing for longer
/// than that takes.
fn only_waits(lock: &LockView<'_>, holder: KeyView<'_>) -> bool {
    let Some(play) = &lock.facts.play else { return false };
    let waits = play.clients().iter().find(|client| {
        // Who takes two locks waits for the second while it holds the first.
        client.stake.key.as_bytes() == holder.key() && client.second.is_none() && client.belief == Belief::Waiting
    });
    let Some(client) = waits.filter(|client| client.life == Life::Up && !client.cut && client.place == Some(0)) else {
        return false;
    };
    let told = play.lane(client.id).and_then(|lane| lane.marks().back());
    told.is_some_and(|mark| matches!(mark.what, Marked::First(_)) && play.now().since(mark.at) >= LEARNS)
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    /// A queue whose clients hold for ten seconds each, the last one not seen to let go.
    fn queue(holds: i64) -> Scene {
        let mut scene = Scene::of_three();
        for client in 1..=holds + 2 {
            scene.put(&format!("/a/{client:x}"), client, "");
        }
        for client in 1..=holds {
            scene.pass(10_000);
            scene.delete(&format!("/a/{client:x}"));
        }
        scene
    }

    fn renewed(scene: &mut Scene, lease: i64, minutes: i64) {
        for _ in 0..minutes * 6 {
            scene.pass(10_000);
            scene.ttl(lease, 30, 19);
            scene.ttl(lease, 30, 29);
        }
    }

    #[test]
    fn a_live_client_that_came_first_and_stands_still_far_too_long_is_stuck() {
        let mut scene = queue(10);
        renewed(&mut scene, 11, 9);
        assert_eq!(scene.codes_of("queue-stuck"), 0);
        renewed(&mut scene, 11, 2);
        assert_eq!(scene.codes_of("queue-stuck"), 1);
        assert_eq!(
            scene.evidence("queue-stuck"),
            "/a/b is first for 11m, since /a/a went, renewed and unchanged; the longest of 10 holds took 10s; 1 waiter behind it"
        );
        assert_eq!(scene.remedy("queue-stuck"), "lockscope revoke b");
        scene.delete("/a/b");
        assert_eq!(scene.codes_of("queue-stuck"), 0);
    }

    #[test]
    fn a_long_hold_is_not_stuck() {
        let mut few = queue(3);
        renewed(&mut few, 4, 30);
        assert_eq!(few.codes_of("queue-stuck"), 0, "nobody knows how long holds take");
        let mut alone = Scene::of_three();
        alone.put("/a/1", 1, "");
        alone.put("/a/2", 2, "");
        renewed(&mut alone, 1, 60);
        assert_eq!(alone.codes_of("queue-stuck"), 0, "it had nothing to wait for");
        let mut written = queue(10);
        written.put("/a/b", 11, "I work");
        renewed(&mut written, 11, 30);
        assert_eq!(written.codes_of("queue-stuck"), 0, "it knows that it holds");
    }
}
