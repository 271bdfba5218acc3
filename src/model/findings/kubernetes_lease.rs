//! A Kubernetes lease: held by what its value says.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Sentence, Value};
use crate::layout::Layout;
use crate::layout::value::kubernetes::Lease;
use crate::model::LockView;
use crate::model::lock::Since;

pub(super) const RULE: Rule = Rule {
    code: "kubernetes-lease",
    severities: &[Severity::Info],
    when: "a lock is a `Lease` object that Kubernetes keeps under `/registry/leases/`",
    why: "etcd's leases say nothing about it: its holder and its time are in the value, and Kubernetes writes it.",
    advice: "Change it through Kubernetes only.",
    source: "Kubernetes `coordination.k8s.io/v1` Lease",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if lock.layout() != Layout::KubernetesLease {
        return;
    }
    let value = lock.key().map(|key| &*key.entry().value);
    let lease = value.and_then(Lease::parse);
    let remedy = remedy::show(lock.name());
    let evidence = lease.as_ref().map_or_else(
        || Sentence::new("its value cannot be read: it is encrypted, or longer than what is kept of it"),
        |lease| evidence(lease, lock),
    );
    let acquired = lease.filter(|lease| lease.holder.is_some()).and_then(|lease| lease.acquired);
    let since = acquired.map(|at| Since { at, exact: true }).or(lock.held_since());
    found.add(Finding::new(Severity::Info, evidence, remedy).lock(lock.name()).since(since));
}

/// Who holds it and until when, as far as the value tells.
fn evidence(lease: &Lease, lock: LockView<'_>) -> Sentence {
    let transitions = lease.transitions.and_then(|times| usize::try_from(times).ok()).unwrap_or(0);
    let transitions = Value::Count(transitions, "time");
    let Some(holder) = lease.holder.clone() else {
        return Sentence::new("released by its holder; it changed hands {transitions}")
            .with("transitions", transitions);
    };
    let now = lock.told_until();
    let told = match (lease.renewed, lease.duration, lease.expires()) {
        (Some(renewed), Some(duration), Some(end)) if end < now => Sentence::new(
            "held by {holder} until {over} ago: renewed {renewed} ago for {duration}; it changed hands {transitions}",
        )
        .with("over", now.since(end))
        .with("renewed", now.since(renewed))
        .with("duration", duration),
        (Some(renewed), Some(duration), _) => {
            Sentence::new("held by {holder}, renewed {renewed} ago for {duration}; it changed hands {transitions}")
                .with("renewed", now.since(renewed))
                .with("duration", duration)
        }
        _ => Sentence::new("held by {holder}; it changed hands {transitions}"),
    };
    told.with("holder", holder).with("transitions", transitions)
}

#[cfg(test)]
mod tests {
    use crate::domain::Timestamp;
    use crate::model::findings::scene::{START, Scene};

    /// A `Lease` object: type and `spec`.
    fn object(spec: &[u8]) -> Vec<u8> {
        let within = |content: &[u8]| [&[0x12, u8::try_from(content.len()).unwrap()], content].concat();
        [b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease", &*within(&within(spec))].concat()
    }

    /// `cp1` for 15 s, acquired 20 s and renewed 4 s before the start, after 7 others.
    fn held() -> Vec<u8> {
        let second = |before: i64| {
            let at = u64::try_from(START / 1_000 - before).unwrap();
            let bytes: Vec<u8> = (0..3).map(|nth| u8::try_from(at >> (7 * nth) & 0x7f).unwrap()).collect();
            [8, bytes[0] | 0x80, bytes[1] | 0x80, bytes[2]]
        };
        let parts: [&[u8]; 5] = [b"\x0a\x03cp1\x10\x0f\x1a\x04", &second(20), b"\x22\x04", &second(4), &[0x28, 7]];
        object(&parts.concat())
    }

    #[test]
    fn holder_and_times_are_those_of_the_value() {
        let name = "/registry/leases/kube-system/it";
        let mut scene = Scene::reading(&[]);
        scene.put(name, 0, held());
        let expected = "held by cp1, renewed 4s ago for 15s; it changed hands 7 times";
        assert_eq!(scene.told("kubernetes-lease"), [expected]);
        let since = scene.all("kubernetes-lease")[0].since.unwrap();
        assert_eq!(since.at, Timestamp(START - 20_000));
        scene.pass(20_000);
        let expected = "held by cp1 until 9s ago: renewed 24s ago for 15s; it changed hands 7 times";
        assert_eq!(scene.told("kubernetes-lease"), [expected]);
        scene.put(name, 0, object(b"\x0a\0\x28\x07"));
        assert_eq!(scene.told("kubernetes-lease"), ["released by its holder; it changed hands 7 times"]);
    }
}
