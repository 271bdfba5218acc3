//! Clients wait for each other in a circle, or for themselves.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Key, LeaseId, Millis, Sentence, Value};
use crate::layout::Layout;
use crate::model::wait_for::{Circle, Client, ClientIx, WaitFor, WaitIx};
use crate::model::{Facts, KeyView, Since};

pub(super) const RULE: Rule = Rule {
    code: "deadlock",
    severities: &[Severity::Error, Severity::Warn],
    when: "clients wait in a circle, each for a lock that the next one holds; a warning where one of them is a candidate \
           of an election, who may work meanwhile, or where a lease waits for a lock that another key of its own holds",
    why: "Nobody in it goes on while the others renew their leases, so it lasts until somebody is made to let go.",
    advice: "Revoke the lease that has the fewest keys, and have all clients take these locks in one order.",
    source: "Coffman, Elphick and Shoshani, 1971: circular wait; a client is its lease, or the process its values name",
    look: Look::Moving(look),
};

/// A circle whose closing was watched counts from this age on: watches of several ranges need not be
/// equally far, so that for a moment one shows what another no longer would.
const SETTLED: Millis = Millis(1_000);

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    // Half of a list shows wrong holders.
    if !facts.link.listed || !WaitFor::can_close(facts) {
        return;
    }
    let graph = WaitFor::of_holders(facts);
    for circle in graph.circles().iter().filter(|circle| is_settled(facts, circle.since)) {
        if circle.certain || circle.links.iter().all(|link| may_stand_still(&graph, link.wait)) {
            found.add(in_circle(facts, &graph, circle));
        }
    }
    for (_, client) in graph.clients() {
        if let Some(wait) = client.waits_for_itself
            && is_settled(facts, graph.wait(wait).since())
            && !graph.lock_of(wait).in_background
        {
            found.add(of_itself(facts, &graph, wait));
        }
    }
}

fn is_settled(facts: &Facts, since: Since) -> bool {
    !since.exact || facts.told_until().since(since.at) >= SETTLED
}

/// Whether whoever waits so may do nothing else: candidates of programs that are known campaign in
/// the background.
fn may_stand_still(graph: &WaitFor<'_>, wait: WaitIx) -> bool {
    let lock = graph.lock_of(wait).lock;
    lock.layout() != Layout::Election || matches!(lock.family(), "" | "go-concurrency")
}

fn in_circle(facts: &Facts, graph: &WaitFor<'_>, circle: &Circle) -> Finding {
    let links = &circle.links;
    let before = |at: usize| links[(at + links.len() - 1) % links.len()].wait;
    let held = |at: usize| Key::from(graph.lock_of(before(at)).lock.name());
    let certain = circle.certain;
    let mut who = Sentence::new(match links.len() {
        2 => "{a} holds {a-has} and waits for {b-has}, {b} holds {b-has} and waits for {a-has}",
        3 => {
            "{a} holds {a-has} and waits for {b-has}, {b} holds {b-has} and waits for {c-has}, {c} holds {c-has} and \
             waits for {a-has}"
        }
        _ => "{clients} wait in a circle: {locks}",
    });
    if links.len() > 3 {
        let locks: Vec<Key> = (0..links.len()).map(held).collect();
        who = who.with("clients", Value::Count(links.len(), "client")).with("locks", Value::Circle(locks));
    }
    for (at, (name, has)) in [("a", "a-has"), ("b", "b-has"), ("c", "c-has")].into_iter().enumerate().take(links.len())
    {
        who = who.with(name, called(graph.client(links[at].client))).with(has, held(at));
    }
    let mut evidence = Sentence::new(match (circle.since.exact, certain) {
        (true, true) => "{circle}; closed for {age}; {lease} has the fewest keys: {keys}",
        (false, true) => "{circle}; closed before it was looked at; {lease} has the fewest keys: {keys}",
        (true, false) => "{circle}; closed for {age}; no deadlock if they campaign in the background",
        (false, false) => "{circle}; no deadlock if they campaign in the background",
    })
    .with("circle", who)
    .with("age", age(facts, circle.since));
    // The leases by which locks of the circle are held; a client may wait with another one.
    let held_by = |at: usize| holding(graph, links[at].client, before(at));
    let cost = |lease: LeaseId| facts.lease(lease).map_or(usize::MAX, |lease| lease.key_count());
    let cheapest =
        (0..links.len()).filter_map(held_by).map(|key| key.lease()).min_by_key(|&lease| (cost(lease), lease));
    let remedy = match cheapest {
        Some(lease) => {
            evidence = evidence.with("lease", lease).with("keys", Value::Count(cost(lease), "key"));
            remedy::revoke(lease)
        }
        None => Sentence::new("lockscope show --tree"),
    };
    let severity = if certain { Severity::Error } else { Severity::Warn };
    let mut finding = Finding::new(severity, evidence, remedy).since(Some(circle.since));
    for (at, link) in links.iter().enumerate() {
        finding = finding.lock(held(at));
        for key in held_by(at).into_iter().chain([graph.wait(link.wait).key]) {
            if !finding.leases.contains(&key.lease()) {
                finding = finding.lease(key.lease());
            }
            finding = finding.key(key.key());
        }
    }
    finding
}

fn of_itself(facts: &Facts, graph: &WaitFor<'_>, wait: WaitIx) -> Finding {
    let wait = graph.wait(wait);
    let (waiter, lock) = (wait.key, graph.contended(wait.on).lock);
    let holder = lock.holders().find(|holder| holder.lease() == waiter.lease()).unwrap_or(waiter);
    let words = if wait.since().exact {
        "{lease} holds {lock} by {holder} and waits for it with {waiter}, for {age}; no deadlock if two workers share it"
    } else {
        "{lease} holds {lock} by {holder} and waits for it with {waiter}; no deadlock if two workers share it"
    };
    let evidence = Sentence::new(words)
        .with("lease", waiter.lease())
        .with("lock", lock.name())
        .with("holder", holder.key())
        .with("waiter", waiter.key())
        .with("age", age(facts, wait.since()));
    let remedy = remedy::release(lock.name(), waiter.key());
    Finding::new(Severity::Warn, evidence, remedy)
        .lock(lock.name())
        .lease(waiter.lease())
        .key(holder.key())
        .key(waiter.key())
        .since(Some(wait.since()))
}

/// The key by which a client holds what a wait is for.
fn holding<'a>(graph: &WaitFor<'a>, client: ClientIx, wait: WaitIx) -> Option<KeyView<'a>> {
    let client = graph.client(client);
    graph.lock_of(wait).lock.holders().find(|holder| client.leases.contains(&holder.lease()))
}

/// What a client is called: by the process its values name where that joined its leases.
fn called(client: &Client<'_>) -> Value {
    match (&client.process, client.leases.first()) {
        (Some(process), _) => Value::Text(process.clone()),
        (None, Some(&lease)) => Value::Lease(lease),
        (None, None) => Value::Key(client.key.key().into()),
    }
}

/// How long something is so.
fn age(facts: &Facts, since: Since) -> Millis {
    facts.told_until().since(since.at)
}
