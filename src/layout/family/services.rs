//! Registries of services.

use super::{Rows, queue, single};
use crate::layout::{Layout, ValueKind, words};

pub(super) const ROWS: Rows = Rows {
    queues: &[queue(
        "dynamo",
        Layout::Registration,
        "`v1/instances/<namespace>/<component>/<endpoint>/<lease in hex>`, JSON whose `instance_id` is the lease: named like a lock's member, but none",
        |group| group.by_hex() && group.name.starts_with(b"v1/instances/"),
    )],
    singles: &[
        single("dynamo", Layout::Registration, "`v1/…` or `instances/…`, JSON with `instance_id`", |key| {
            (key.leased_under(b"v1/") || key.leased_under(b"instances/")) && key.value_has(b"\"instance_id\"")
        }),
        single("go-kratos", Layout::Registration, "`/microservices/<name>/<id>`, JSON", |key| {
            key.leased_under(b"/microservices/")
        }),
        single("kitex", Layout::Registration, "`kitex/registry-etcd/<service>/<address>`, JSON", |key| {
            key.leased_under(b"kitex/registry-etcd/")
        }),
        single("go-micro", Layout::Registration, "`/micro/registry/<service>/<node>`, JSON", |key| {
            key.leased_under(b"/micro/registry/")
        }),
        single("apisix", Layout::Registration, "`/apisix/data_plane/server_info/<id>`, JSON", |key| {
            key.leased_under(b"/apisix/data_plane/")
        }),
        single(
            "grpc-naming",
            Layout::Registration,
            "JSON that starts with `{\"Op\":`, as etcd's own gRPC naming writes it",
            |key| key.leased() && key.value.starts_with(br#"{"Op":"#),
        ),
        single(
            "dubbo-go",
            Layout::Registration,
            "`…/{providers,consumers}/<URL, percent-encoded>`, empty: only its name says that it is no lock",
            |key| key.leased() && key.kind() == ValueKind::Empty && words::contains(key.last, b"%3A%2F%2F"),
        ),
    ],
};
