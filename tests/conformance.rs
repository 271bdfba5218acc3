//! The port and the source on every etcd found.

#[path = "conformance/auth.rs"]
mod auth;
#[path = "conformance/common.rs"]
mod common;
#[path = "conformance/port.rs"]
mod port;
#[path = "conformance/strangers.rs"]
mod strangers;
mod support;
#[path = "conformance/tls.rs"]
mod tls;
