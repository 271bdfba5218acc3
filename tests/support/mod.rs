//! What the suites share: real etcd servers, the embedded cluster served as they are, and a
//! connection that can be cut.
//!
//! Everything here blocks, so that suites with and without an async runtime can use it, and
//! everything that is started ends when its value is dropped.

#![allow(dead_code, reason = "each suite uses its own part")]
#![expect(clippy::panic, reason = "a test whose servers do not start has failed")]

pub mod embedded;
pub mod etcd;
pub mod proxy;
pub mod running;
pub mod served;
