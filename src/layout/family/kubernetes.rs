//! Kubernetes, its networks and its storage.

use super::{Rows, queue, single};
use crate::layout::{Layout, Shape, kind};

pub(super) const ROWS: Rows = Rows {
    queues: &[queue(
        "cilium",
        Layout::Queue,
        "`cilium/…/<lease in hex>`, all values empty; one lease serves many locks",
        |group| group.name.starts_with(b"cilium/") && group.by_hex() && group.all_empty(),
    )],
    singles: &[
        single(
            "kubernetes-node",
            Layout::Registration,
            "a Kubernetes `Lease` in `kube-node-lease`, or an API server's own: a heartbeat nobody competes for",
            |key| key.placed().shape == Shape::Kubernetes && is_heartbeat(key.directory, key.last),
        ),
        single(
            "kubernetes",
            Layout::KubernetesLease,
            "a Kubernetes `Lease` object, under `/registry/leases/<namespace>/<name>` as a rule: holder and times are in the value, no etcd lease is used",
            |key| key.placed().shape == Shape::Kubernetes,
        ),
        single(
            "kubernetes",
            Layout::Leased,
            "`/registry/…` with an etcd lease: events and the API servers' `masterleases`, data that is let run out",
            |key| key.leased_under(b"/registry/"),
        ),
        single("calico", Layout::SingleKey, "`/calico/…/election`, value `<host>:<process id>`", |key| {
            key.leased_under(b"/calico/") && key.last == b"election" && is_host_and_pid(key.value)
        }),
        single(
            "portworx",
            Layout::SingleKey,
            "a JSON value that starts with `{\"LockerID\"`; every two seconds on a fresh lease",
            |key| key.leased() && key.value.starts_with(br#"{"LockerID""#),
        ),
        single(
            "airlock",
            Layout::SingleKey,
            "`com.coreos.airlock/groups/<group>/v1/semaphore`, JSON with slots and holders, no lease: a dead holder stays",
            |key| key.key.starts_with(b"com.coreos.airlock/groups/") && key.last == b"semaphore",
        ),
        single(
            "flannel",
            Layout::Leased,
            "`/coreos.com/network/subnets/<net>-<length>`: a host's subnet, leased for a day",
            |key| key.leased_under(b"/coreos.com/network/subnets/"),
        ),
        single("cilium", Layout::Registration, "`cilium/state/nodes/…`: the nodes of the clusters", |key| {
            key.leased_under(b"cilium/state/nodes/")
        }),
        single(
            "cilium",
            Layout::Leased,
            "other leased keys under `cilium/`: identities, addresses and services, hundreds to a lease",
            |key| key.leased_under(b"cilium/"),
        ),
    ],
};

fn is_heartbeat(namespace: &[u8], name: &[u8]) -> bool {
    namespace == b"kube-node-lease"
        || namespace == b"kube-system" && (name.starts_with(b"apiserver-") || name.starts_with(b"kube-apiserver-"))
}

fn is_host_and_pid(value: &[u8]) -> bool {
    value
        .iter()
        .rposition(|byte| *byte == b':')
        .is_some_and(|colon| kind::is_host(&value[..colon]) && kind::is_number(&value[colon + 1..]))
}
