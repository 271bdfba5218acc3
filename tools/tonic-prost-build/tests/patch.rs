//! That this crate, and not its namesake, is what etcd-client is built with.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::Path;

/// The paragraphs of the workspace's `Cargo.lock`, one a package.
fn locked() -> Vec<String> {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    fs::read_to_string(lock).unwrap().split("\n\n").map(str::to_owned).collect()
}

#[test]
fn cargo_lock_has_the_stand_in_and_no_other_tonic_prost_build() {
    let named: Vec<String> =
        locked().into_iter().filter(|package| package.contains("name = \"tonic-prost-build\"\n")).collect();
    assert_eq!(named.len(), 1, "{named:#?}");
    // A package of this workspace has no source; one from a registry does.
    assert!(!named[0].contains("source = "), "{}", named[0]);
    assert!(named[0].contains("\"protox\""), "{}", named[0]);
}

#[test]
fn etcd_client_asks_for_it_and_the_patch_is_used() {
    let packages = locked();
    let client = packages.iter().find(|package| package.contains("name = \"etcd-client\"\n")).unwrap();
    assert!(client.contains("\"tonic-prost-build\""), "etcd-client no longer needs the stand-in: {client}");
    assert!(!packages.iter().any(|package| package.contains("[[patch.unused]]")), "cargo could not apply the patch");
}
