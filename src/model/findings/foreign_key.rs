//! A key of another kind stands in a lock's queue.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Key, Sentence, Value};
use crate::model::{KeyView, LockView};

/// Of a queue full of other keys so many are named.
const NAMED: usize = 16;

pub(super) const RULE: Rule = Rule {
    code: "foreign-key",
    severities: &[Severity::Error, Severity::Warn],
    when: "a key under a lock's name is not of its recipe: an error when it leads the queue, a warning when it waits in it",
    why: "The recipe ranges over the whole prefix, so everyone behind that key waits for it to go.",
    advice: "Find out who wrote it and delete it; keep other keys out of a lock's prefix.",
    source: "etcd `client/v3/concurrency/mutex.go`: the queue is every key under the prefix",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_foreign() {
        return;
    }
    let first = lock.holder().filter(|holder| holder.is_foreign(lock.layout()));
    if let Some(key) = first {
        found.add(leads(lock, key));
    }
    // Whose lease was only taken off it is no foreign key: a rule of its own tells of it.
    let is_foreign = |key: &KeyView<'_>| key.is_foreign(lock.layout());
    let waits = |key: &KeyView<'_>| first.is_none_or(|first| first.key() != key.key());
    let mut waiting = lock.foreign().filter(is_foreign).filter(waits);
    let Some(next) = waiting.next() else { return };
    let rest: Vec<KeyView<'_>> = waiting.collect();
    found.add(stands(lock, next, &rest));
}

fn leads(lock: LockView<'_>, key: KeyView<'_>) -> Finding {
    let owner = key.decoded().owner;
    let words = match (owner.is_some(), key.lease().is_none()) {
        (true, true) => {
            "{key} leads the queue, is no key of this lock and has no lease, so only a delete takes it away: {size}, its value names {owner}; {waiters} behind it"
        }
        (false, true) => {
            "{key} leads the queue, is no key of this lock and has no lease, so only a delete takes it away: {size}; {waiters} behind it"
        }
        (true, false) => {
            "{key} leads the queue and is no key of this lock: lease {lease}, {size}, its value names {owner}; {waiters} behind it"
        }
        (false, false) => {
            "{key} leads the queue and is no key of this lock: lease {lease}, {size}; {waiters} behind it"
        }
    };
    let evidence = about(words, key, owner).with("waiters", Value::Count(lock.waiter_count(), "waiter"));
    // It may have stood there for long before it was the first.
    finding(Severity::Error, evidence, lock, key).since(lock.held_since())
}

fn stands(lock: LockView<'_>, key: KeyView<'_>, more: &[KeyView<'_>]) -> Finding {
    let owner = key.decoded().owner;
    let words = match (owner.is_some(), more.is_empty()) {
        (true, true) => {
            "{key} stands in the queue and is no key of this lock: {size}, its value names {owner}; {waiters} in all"
        }
        (false, true) => "{key} stands in the queue and is no key of this lock: {size}; {waiters} in all",
        (true, false) => {
            "{key} and {more} stand in the queue and are no keys of this lock: {size}, its value names {owner}; {waiters} in all"
        }
        (false, false) => "{key} and {more} stand in the queue and are no keys of this lock: {size}; {waiters} in all",
    };
    let evidence = about(words, key, owner)
        .with("more", Value::Count(more.len(), "other"))
        .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
    let finding = finding(Severity::Warn, evidence, lock, key);
    more.iter().take(NAMED).fold(finding, |finding, key| finding.key(key.key()))
}

fn about(words: &'static str, key: KeyView<'_>, owner: Option<String>) -> Sentence {
    Sentence::new(words)
        .with("key", key.key())
        .with("lease", key.lease())
        .with("size", Value::Count(key.entry().value_len as usize, "byte"))
        .with("owner", owner.unwrap_or_default())
}

fn finding(severity: Severity, evidence: Sentence, lock: LockView<'_>, key: KeyView<'_>) -> Finding {
    let remedy = remedy::release(lock.name(), Key::from(key.key()));
    Finding::new(severity, evidence, remedy).key_of(lock, key).since(Some(key.since()))
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_key_that_leads_says_what_it_is_and_who_wrote_it() {
        let mut scene = Scene::of_three();
        scene.put("/a/11", 0x11, "");
        scene.put("/a/12", 0x12, "");
        scene.put("/a/README", 0, "host-7");
        scene.put("/a/notes/13", 0x13, "");
        assert!(scene.evidence("foreign-key").starts_with("/a/README stands in the queue and is no key of this lock"));
        assert_eq!(scene.finding("foreign-key").severity, crate::model::Severity::Warn);
        scene.delete("/a/11");
        scene.pass(3_000);
        scene.delete("/a/12");
        let leads = scene.model.shown().now();
        scene.put("/a/14", 0x14, "");
        assert_eq!(scene.finding("foreign-key").severity, crate::model::Severity::Error);
        assert_eq!(scene.finding("foreign-key").since.map(|since| since.at), Some(leads));
        let evidence = scene.evidence("foreign-key");
        assert!(evidence.starts_with(
            "/a/README leads the queue, is no key of this lock and has no lease, so only a delete takes it away: 6 bytes, \
             its value names host-7;"
        ));
        assert_eq!(scene.codes_of("holder-without-lease"), 0, "one error says both");
        let holder = scene.model.shown().lock_named(b"/a").and_then(|lock| lock.holder()).unwrap();
        assert_eq!(holder.owner(), None, "the value of a key of another kind names no client");
        assert!(evidence.ends_with("1 waiter behind it"), "{evidence}");
        assert_eq!(scene.remedy("foreign-key"), "lockscope release /a /a/README");
        scene.delete("/a/README");
        assert_eq!(scene.codes_of("foreign-key"), 0);
    }

    #[test]
    fn many_keys_that_wait_are_one_finding() {
        let mut scene = Scene::of_three();
        scene.put("/a/11", 0x11, "");
        for n in 0..40 {
            scene.put(&format!("/a/note-{n}"), 0, "host-7");
        }
        let found = scene.all("foreign-key");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].keys.len(), 17);
        assert!(scene.evidence("foreign-key").starts_with("/a/note-0 and 39 others stand in the queue"));
    }
}
