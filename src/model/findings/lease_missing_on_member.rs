//! A member does not know leases that others know.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Key, LeaseId, Sentence, Value};
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "lease-missing-on-member",
    severities: &[Severity::Warn],
    when: "a member does not know a lease that another one knows, twice in some seconds",
    why: "Members that disagree on leases delete keys on one and keep them on the other: who holds a lock depends on who is asked.",
    advice: "Compare what each member lists; one that lost leases has to be removed and added anew.",
    source: "etcd-io/etcd 12651, 14019",
    look: Look::All(look),
};

/// How many of them are looked at for their locks.
const NAMED: usize = 16;

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    for (member, missing) in facts.leases().missing() {
        let Some(known) = facts.cluster.member(member).filter(|known| known.is_up()) else { continue };
        // What is gone everywhere by now is missing nowhere.
        let there: Vec<LeaseId> =
            missing.leases.iter().copied().filter(|lease| facts.leases().contains(*lease)).collect();
        let Some(first) = there.first() else { continue };
        let evidence = Sentence::new("member {member} does not know {number} that others know, such as {lease}")
            .with("member", known.member.name.clone())
            .with("number", Value::Count(there.len(), "lease"))
            .with("lease", *first);
        let remedy = match known.member.client_urls.first() {
            Some(url) => Sentence::new("etcdctl --endpoints {url} lease list").with("url", url.clone()),
            None => Sentence::new("lockscope members"),
        };
        let named: Vec<LeaseId> = there.into_iter().take(NAMED).collect();
        let mut locks: Vec<Key> = named
            .iter()
            .filter_map(|lease| facts.lease(*lease))
            .flat_map(|lease| lease.keys())
            .filter_map(|key| facts.lock_of(key.entry()))
            .filter(|lock| lock.layout().is_lock())
            .map(|lock| lock.name().into())
            .collect();
        locks.sort_unstable();
        locks.dedup();
        let finding = Finding::new(Severity::Warn, evidence, remedy).member(member).since(Some(missing.since));
        found.add(Finding { locks, leases: named, ..finding });
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{LeaseId, Member, MemberId, Status};
    use crate::event::Observation;
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_member_that_lost_a_lease_is_told_with_the_locks_on_it() {
        let mut scene = Scene::reading(&[("/a/10", "", 0x10), ("/b/20", "", 0x20)]);
        let urls = vec!["http://127.0.0.1:2379".to_owned()];
        let member = Member { id: MemberId(3), name: "c".into(), client_urls: urls, ..Member::default() };
        scene.observe(Observation::Members(vec![member]));
        scene.observe(Observation::Status { member: MemberId(3), answer: Ok(Status::default()) });
        let missing = |ids: &[i64]| Observation::LeasesMissing {
            member: MemberId(3),
            leases: ids.iter().copied().map(LeaseId).collect(),
        };
        scene.observe(missing(&[0x10, 0x99]));
        assert_eq!((scene.codes_of_lock("/a"), scene.codes_of_lock("/b")), (vec!["lease-missing-on-member"], vec![]));
        let told = scene.told("lease-missing-on-member");
        assert_eq!(told, ["member c does not know 1 lease that others know, such as 10"], "the other is gone");
        assert_eq!(scene.remedies("lease-missing-on-member"), ["etcdctl --endpoints http://127.0.0.1:2379 lease list"]);
        scene.observe(missing(&[]));
        assert!(scene.told("lease-missing-on-member").is_empty());
    }
}
