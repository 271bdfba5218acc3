//! The port on an etcd in memory, the embedded cluster and every real etcd found; the source on
//! all that is served.

#[path = "conformance/auth.rs"]
mod auth;
#[path = "conformance/common.rs"]
mod common;
#[path = "conformance/discovery.rs"]
mod discovery;
#[path = "conformance/failover.rs"]
mod failover;
#[path = "conformance/live.rs"]
mod live;
#[path = "conformance/oneshot.rs"]
mod oneshot;
#[path = "conformance/past.rs"]
mod past;
#[path = "conformance/port.rs"]
mod port;
#[path = "conformance/replay.rs"]
mod replay;
#[path = "conformance/services.rs"]
mod services;
#[path = "conformance/strangers.rs"]
mod strangers;
mod support;
#[path = "conformance/target.rs"]
mod target;
#[path = "conformance/tls.rs"]
mod tls;
#[path = "conformance/watcher.rs"]
mod watcher;
