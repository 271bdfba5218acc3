//! Fuzzing: whatever bytes come from a file, from a cluster or from a person, nothing panics,
//! hangs, or says what a terminal would obey.
//!
//! Each target (`fuzz/targets.rs`) is given inputs that are bred from a corpus by changing bytes,
//! cutting, repeating and splicing (`fuzz/breeding.rs`), for one second, or for as many as
//! `LOCKSCOPE_FUZZ_SECONDS` says: CI takes a minute. `LOCKSCOPE_SEED` does the same inputs again.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "fuzz/breeding.rs"]
mod breeding;
#[path = "fuzz/targets.rs"]
mod targets;

use breeding::fuzz;

#[test]
fn recordings() {
    fuzz("recordings", &targets::recordings(), targets::recording);
}

#[test]
fn scenarios() {
    fuzz("scenarios", &targets::scenarios(), targets::scenario);
}

#[test]
fn key_layouts() {
    fuzz("key_layouts", &targets::keys(), targets::layout);
}

#[test]
fn values() {
    fuzz("values", &targets::values(), targets::value);
}

#[test]
fn lease_ids() {
    fuzz("lease_ids", &targets::lease_ids(), targets::lease_id);
}
