//! The model seen from outside: events in, facts out.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails its test")]
#[path = "model/fill.rs"]
mod fill;
#[path = "model/fixtures.rs"]
mod fixtures;
#[path = "model/handoffs.rs"]
mod handoffs;
#[path = "model/happenings.rs"]
mod happenings;
#[path = "model/order.rs"]
mod order;
#[path = "model/queues.rs"]
mod queues;
#[path = "model/store.rs"]
mod store;
