//! What the pictures show, and how each is reached.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use color_eyre::Result;

use crate::film::Film;
use crate::frame::Frame;
use crate::stage::Stage;
use crate::svg::{Caption, Ground, still};
use crate::terminal::Terminal;

/// A picture to be made.
pub struct Scene {
    /// Of its file, without `.svg`.
    pub name: &'static str,
    /// Bytes that it may have.
    pub at_most: usize,
    pub make: fn(&Studio) -> Result<String>,
}

/// What scenes are made with.
pub struct Studio {
    pub program: PathBuf,
    /// Whether what moves is cut short, because nobody will look at it.
    pub in_short: bool,
    pub stills: Option<PathBuf>,
}

/// All pictures.
pub const SCENES: [Scene; 7] = [
    Scene { name: "dashboard", at_most: 80_000, make: dashboard },
    Scene { name: "light", at_most: 80_000, make: light },
    Scene { name: "stuck-lock", at_most: 80_000, make: stuck_lock },
    Scene { name: "release", at_most: 80_000, make: release },
    Scene { name: "lanes", at_most: 80_000, make: lanes },
    Scene { name: "raft", at_most: 80_000, make: raft },
    Scene { name: "leader-kill", at_most: 400_000, make: leader_kill },
];

/// The leases of clients, as etcd's own ids look.
const LEASE: i64 = 0x694d_8225_4d5f_a300;

fn dashboard(studio: &Studio) -> Result<String> {
    let frame = locks(studio, "dark")?;
    Ok(still(&frame, &Caption { title: "lockscope: all locks of a cluster, and what is wrong", ground: Ground::Dark }))
}

fn light(studio: &Studio) -> Result<String> {
    let frame = locks(studio, "light")?;
    Ok(still(&frame, &Caption { title: "lockscope on a light terminal", ground: Ground::Light }))
}

/// The Locks screen of a cluster at work, with a client that died a moment ago.
fn locks(studio: &Studio, theme: &str) -> Result<Frame> {
    let stage = Stage::new(&studio.program)?;
    for client in 1..=0x1a {
        stage.alive(LEASE + client, 12)?;
    }
    let dead = 0x40;
    stage.dead(LEASE + dead, 20)?;
    stage.put("/jobs/import/694d82254d5fa2f7", "", 0)?;
    let queues: [(&str, &[i64]); 9] = [
        ("/jobs/ledger", &[1, 2, 3, 4]),
        ("/jobs/reindex", &[dead, 5, 6]),
        ("/jobs/billing", &[7, 8, 2]),
        ("/jobs/夜间报表", &[9, 0xa]),
        ("/jobs/cache/warm-up", &[0xb, 0xc, 0xd]),
        ("/jobs/backup/eu-1", &[0xe]),
        ("/jobs/backup/us-2", &[0xf, 0x10]),
        ("/jobs/import", &[0x19, 0x1a]),
        ("/locks/migrate", &[0x11, 0x12, 0x13, 0x14, 0x15]),
    ];
    for (lock, clients) in queues {
        for client in clients {
            stage.enqueue(lock, LEASE + client, "")?;
        }
    }
    for (client, candidate) in [(0x16, "scheduler-a"), (0x17, "scheduler-b"), (0x18, "scheduler-c")] {
        stage.enqueue("/election/scheduler", LEASE + client, candidate)?;
    }
    let arguments = ["--theme", theme, "--reduce-motion"];
    let terminal = Terminal::start_on(stage.endpoints(), &studio.program, &arguments, (110, 28))?;
    terminal.shows("/jobs/ledger")?;
    for (lock, client) in [("/jobs/ledger", 1), ("/jobs/ledger", 2), ("/jobs/billing", 7), ("/jobs/ledger", 3)] {
        stage.pass_on(lock, LEASE + client)?;
    }
    terminal.shows("holder-not-renewing")
}

/// A lock that nothing will ever free: who waits for whom, and why.
fn stuck_lock(studio: &Studio) -> Result<String> {
    let stage = with_a_stuck_lock(studio)?;
    let (_terminal, frame) = the_stuck_lock(studio, &stage)?;
    let title = "lockscope: a lock that never frees by itself, its queue and what helps";
    Ok(still(&frame, &Caption { title, ground: Ground::Dark }))
}

/// What releasing it would do, before it is done.
fn release(studio: &Studio) -> Result<String> {
    let stage = with_a_stuck_lock(studio)?;
    let (mut terminal, _) = the_stuck_lock(studio, &stage)?;
    terminal.keys("D")?;
    let frame = terminal.shows("to delete the key")?;
    let title = "lockscope: what releasing a lock would take along, asked for before it is done";
    Ok(still(&frame, &Caption { title, ground: Ground::Dark }))
}

/// Three clients in a queue, behind a key that no lease will ever delete.
fn with_a_stuck_lock(studio: &Studio) -> Result<Stage> {
    let stage = Stage::new(&studio.program)?;
    for client in 1..=4 {
        stage.alive(LEASE + client, 6)?;
    }
    for client in 1..=2 {
        stage.enqueue("/jobs/reindex", LEASE + client, "")?;
    }
    stage.put("/jobs/reindex/694d82254d5fa2f7", "", 0)?;
    for client in 3..=4 {
        stage.enqueue("/jobs/reindex", LEASE + client, "")?;
    }
    Ok(stage)
}

/// Its screen, once it has seen that the clients are alive.
fn the_stuck_lock(studio: &Studio, stage: &Stage) -> Result<(Terminal, Frame)> {
    let arguments = ["--theme", "dark", "--reduce-motion"];
    let mut terminal = Terminal::start_on(stage.endpoints(), &studio.program, &arguments, (110, 28))?;
    terminal.shows("/jobs/reindex")?;
    terminal.keys("2")?;
    terminal.shows("Queue")?;
    for client in 1..=2 {
        stage.pass_on("/jobs/reindex", LEASE + client)?;
    }
    let frame = terminal.until("a finding, and renewals of four leases", |screen| {
        let text = screen.contents();
        text.contains("holder-without-lease") && text.matches("renewed ").count() >= 4
    })?;
    Ok((terminal, frame))
}

/// Two clients that believe that they hold, and the fencing token that stops the late one.
fn lanes(studio: &Studio) -> Result<String> {
    let arguments = ["demo", "zombie", "--seed", "7", "--theme", "dark"];
    let mut terminal = Terminal::start(&studio.program, &arguments, (120, 36))?;
    terminal.shows("goes on and writes")?;
    terminal.until("a refused write in a lane", |screen| screen.contents().matches('✗').count() > 1)?;
    terminal.keys("f")?;
    let frame = terminal.shows("FROZEN")?;
    Ok(still(&frame, &Caption { title: "lockscope: what simulated clients did over time", ground: Ground::Dark }))
}

/// A node that stands for election.
fn raft(studio: &Studio) -> Result<String> {
    let mut terminal = Terminal::start(&studio.program, &SLOW_MESSAGES, (120, 36))?;
    terminal.shows("HOLDS")?;
    kill_the_leader(&mut terminal)?;
    terminal.keys("f")?;
    let frame = terminal.shows("FROZEN")?;
    Ok(still(&frame, &Caption { title: "lockscope: an election of the embedded Raft cluster", ground: Ground::Dark }))
}

/// The demo with messages that can be followed.
const SLOW_MESSAGES: [&str; 7] = ["demo", "--seed", "7", "--delay", "20ms", "--theme", "dark"];

/// On the screen of the members, at a tenth of the speed, until one stands for election.
fn kill_the_leader(terminal: &mut Terminal) -> Result<()> {
    terminal.keys("r[[[")?;
    terminal.shows("×0.10")?;
    terminal.keys("K")?;
    // The sign of who has raised its term; one that only asks whether it could win has another.
    terminal.shows("▲")?;
    Ok(())
}

/// The leader is killed, another is elected, and the lock goes on from hand to hand.
fn leader_kill(studio: &Studio) -> Result<String> {
    let mut terminal = Terminal::start(&studio.program, &SLOW_MESSAGES, (100, 30))?;
    terminal.shows("HOLDS")?;
    // The box with hints goes with the first key.
    terminal.keys("F")?;
    terminal.shows("passes to")?;
    let pace = Duration::from_millis(250);
    let scene = |length: u64| Duration::from_millis(if studio.in_short { 500 } else { length });
    terminal.roll();
    terminal.passes(scene(3_500))?;
    kill_the_leader(&mut terminal)?;
    terminal.shows("leads since")?;
    terminal.passes(scene(1_500))?;
    terminal.keys("]]]5")?;
    terminal.shows("What happened")?;
    terminal.passes(scene(3_500))?;
    let film = Film::of(&terminal.cut(), pace);
    let caption =
        Caption { title: "lockscope: a leader is killed, another is elected, the lock goes on", ground: Ground::Dark };
    if let Some(folder) = &studio.stills {
        stills(folder, &film, &caption)?;
    }
    Ok(film.moving(&caption))
}

fn stills(folder: &Path, film: &Film, caption: &Caption<'_>) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (number, frame) in film.frames.iter().enumerate() {
        fs::write(folder.join(format!("{number:03}.svg")), still(frame, caption))?;
    }
    Ok(())
}
