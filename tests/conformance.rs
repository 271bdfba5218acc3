//! The port and the source on every etcd found.

#[path = "conformance/common.rs"]
mod common;
#[path = "conformance/port.rs"]
mod port;
mod support;
