//! How fast what matters is on the screen. The bounds are generous, for machines that do
//! other things too and for binaries that are not optimised; `benches/side-by-side` measures.

use std::time::Duration;

use super::locks::World;
use super::pty::now;

#[test]
fn a_thousand_locks_are_shown_soon_after_the_start() {
    let Some(world) = World::new("a_thousand_locks_are_shown_soon_after_the_start") else { return };
    world.many(1_000);
    let start = now();
    // A theme that is named saves the question for the terminal's colours.
    let tui = world.lockscope(&["--theme", "dark"]).size(120, 36).start();
    tui.shows("Locks 1,000");
    let took = now() - start;
    println!("1,000 locks on the screen after {took:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_new_lock_is_shown_soon_while_a_thousand_keys_a_second_change() {
    let Some(world) = World::new("a_new_lock_is_shown_soon_while_a_thousand_keys_a_second_change") else { return };
    let tui = world.lockscope(&["--prefix", "", "--theme", "dark"]).start();
    tui.shows("LIVE");
    let _puts = world.put_steadily(1_000);
    let mut took: Vec<_> = (0..5)
        .map(|n| {
            let lock = format!("/new/lock-{n}");
            tui.time(|| drop(world.enqueue(&lock, 600)), &lock)
        })
        .collect();
    took.sort_unstable();
    println!("from the start of the put to the screen: {took:?}");
    assert!(took[2] < Duration::from_millis(500), "{took:?}");
}
