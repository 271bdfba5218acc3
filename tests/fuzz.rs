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
fn no_recording_makes_the_reader_panic() {
    fuzz("recordings", &targets::recordings(), targets::recording);
}

#[test]
fn no_scenario_makes_its_reader_panic() {
    fuzz("scenarios", &targets::scenarios(), targets::scenario);
}

#[test]
fn no_key_makes_the_layouts_panic() {
    fuzz("key_layouts", &targets::keys(), targets::layout);
}

#[test]
fn no_value_makes_its_decoder_panic() {
    fuzz("values", &targets::values(), targets::value);
}

#[test]
fn no_text_of_a_lease_id_makes_its_reader_panic() {
    fuzz("lease_ids", &targets::lease_ids(), targets::lease_id);
}
