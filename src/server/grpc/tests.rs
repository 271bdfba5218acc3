//! The API over a real connection, on a store that agrees with itself.

mod alike;
mod etcdctl;
mod streams;

#[path = "../../../tests/support/etcd.rs"]
#[allow(dead_code, reason = "the suites that start processes use the rest")]
mod etcd;
