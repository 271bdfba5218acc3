//! A Kubernetes lease: held by what its value says.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::layout::Layout;
use crate::model::LockView;

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
    let owner = lock.holder().and_then(|holder| holder.decoded().owner);
    let evidence = match owner {
        Some(owner) => Sentence::new("held by {owner}").with("owner", owner),
        None => Sentence::new("held by nobody"),
    };
    let remedy = Sentence::new("lockscope show {lock}").with("lock", lock.name());
    found.add(Finding::new(Severity::Info, evidence, remedy).lock(lock.name()));
}
