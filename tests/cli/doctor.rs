//! `doctor`: what its exit code says.

use crate::store::{Store, on};
use crate::support::etcd::newest;

#[test]
fn what_is_found_decides_how_it_ends_whether_somebody_reads_it_or_not() {
    let Some(version) = newest("doctor: how it ends") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/jobs/calm", 0x1000, 60);
    let doctor = || on(&cluster, ["--prefix", "/jobs/", "doctor"]);
    doctor().run().expect(0);
    // Put again without its lease it stays for ever, and blocks whoever waits.
    store.join("/jobs/stuck", 0x2000, 60);
    store.join("/jobs/stuck", 0x3000, 60);
    store.put("/jobs/stuck/2000", "", 0);
    let ended = doctor().run().expect(8);
    assert!(ended.text().contains("holder-without-lease"), "{}", ended.text());
    let mut unread = doctor().start();
    drop(unread.child().stdout.take());
    unread.end().expect(8);
}
