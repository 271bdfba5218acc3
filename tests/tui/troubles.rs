//! Five different troubles on one cluster: the first screen names all of them, and nobody had to
//! press a key.

use std::fs;

use super::locks::World;

/// The rules that each of the troubles is found by.
const CODES: [&str; 5] = ["holder-without-lease", "holder-not-renewing", "long-hold", "deadlock", "foreign-key"];

#[test]
fn five_troubles_are_named_on_the_first_screen_without_a_key() {
    let Some(world) = World::new("five_troubles_are_named_on_the_first_screen_without_a_key") else { return };
    let config = world.cluster.folder().join("config.toml");
    // A client that renews and does nothing more is told from one at work by how long it holds.
    fs::write(&config, "[findings]\nlong-hold = \"3s\"\n").unwrap();
    // Nobody can let go of what has no lease.
    world.put("/a/no-lease/694d82254d5fa305", 0);
    world.enqueue("/a/no-lease", 600);
    // A zombie: its lease is kept, its work does not go on.
    let zombie = world.lease(6);
    let _kept = world.keep_alive(zombie);
    world.put(&format!("/b/zombie/{zombie:x}"), zombie);
    world.enqueue("/b/zombie", 600);
    // Two sessions that each hold what the other waits for.
    let (one, other) = (world.lease(600), world.lease(600));
    for (lock, lease) in [("/c/one", one), ("/c/two", other), ("/c/one", other), ("/c/two", one)] {
        world.put(&format!("{lock}/{lease:x}"), lease);
    }
    // Somebody's note in front of a queue.
    let note = world.lease(600);
    world.put("/d/foreign/README", note);
    world.enqueue("/d/foreign", 600);
    world.enqueue("/d/foreign", 600);
    // A client that died a moment ago.
    world.enqueue("/e/dead", 40);
    world.enqueue("/e/dead", 600);
    let tui = world.lockscope(&["--theme", "dark", "--config", &config.display().to_string()]).start();
    tui.wait("all five troubles", |screen| {
        let text = screen.contents();
        CODES.iter().all(|code| text.contains(code))
    });
    tui.shows("sort: WEIGHT");
    // A line leads to its lock.
    let row = tui.row_of("deadlock");
    tui.click(5, row);
    tui.click(5, row);
    tui.shows("Findings");
}
