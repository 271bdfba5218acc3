//! Clients that others wrote work with the embedded cluster as they do with etcd: each `etcdctl`
//! found, and a client in Python.
//!
//! What a test expects is asked of a real cluster, too, wherever that can be done, so that it is
//! etcd's behaviour and not an idea of it.

#![expect(clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

#[path = "foreign/ctl.rs"]
mod ctl;
#[path = "foreign/faults.rs"]
mod faults;
#[path = "foreign/keys.rs"]
mod keys;
#[path = "foreign/leases.rs"]
mod leases;
#[path = "foreign/locks.rs"]
mod locks;
#[path = "foreign/operators.rs"]
mod operators;
#[path = "foreign/python.rs"]
mod python;
