//! A program in a pseudo-terminal, its screen as a terminal would show it.
//!
//! Nothing here sleeps: whoever waits is woken by the bytes that change the screen.

use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use vt100::{MouseProtocolMode, Parser, Screen};

/// Nothing that is tested here takes longer unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a slow terminal takes at once.
const PIECE: usize = 256;

/// A run that is not started yet.
pub struct Setup {
    command: CommandBuilder,
    size: (u16, u16),
    answers: Option<Answer>,
}

/// What the terminal answers when it is asked for its background.
#[derive(Clone)]
pub struct Answer {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// It comes only when the screen shows this.
    pub after: Option<&'static str>,
}

/// A program that runs in a terminal.
pub struct Tui {
    /// `None` once its window is closed.
    master: Option<Box<dyn MasterPty + Send>>,
    slave: Box<dyn SlavePty + Send>,
    writer: Writer,
    reader: Option<thread::JoinHandle<()>>,
    shared: Arc<Shared>,
    id: u32,
    ended: mpsc::Receiver<portable_pty::ExitStatus>,
    killer: Box<dyn portable_pty::ChildKiller + Send + Sync>,
}

type Writer = Arc<Mutex<Option<Box<dyn Write + Send>>>>;

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    parser: Parser,
    /// All bytes since the start.
    bytes: Vec<u8>,
    /// When the last of them came.
    at: Instant,
    /// Whether the terminal takes no bytes at present.
    held: bool,
    /// How many bytes a second it takes, if that is few.
    pace: Option<u32>,
    /// Whether its window is being closed.
    closing: bool,
}

/// The dashboard with these arguments.
pub fn lockscope(arguments: &[&str]) -> Setup {
    run(env!("CARGO_BIN_EXE_lockscope"), arguments)
}

/// Any program, with nothing of the person's environment.
pub fn run(program: impl AsRef<Path>, arguments: &[&str]) -> Setup {
    let mut command = CommandBuilder::new(program.as_ref());
    command.args(arguments);
    command.env_clear();
    for kept in ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    command.cwd(std::env::temp_dir());
    Setup { command, size: (80, 24), answers: None }
}

impl Setup {
    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts with so many columns and rows.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// Has the terminal answer.
    pub fn answers(mut self, answer: Answer) -> Self {
        self.answers = Some(answer);
        self
    }

    /// Starts it.
    pub fn start(self) -> Tui {
        let (columns, rows) = self.size;
        let pair = native_pty_system().openpty(pty_size(columns, rows)).unwrap();
        let mut child = pair.slave.spawn_command(self.command).unwrap();
        let seen = Seen {
            parser: Parser::new(rows, columns, 0),
            bytes: Vec::new(),
            at: now(),
            held: false,
            pace: None,
            closing: false,
        };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: Condvar::new() });
        let writer: Writer = Arc::new(Mutex::new(Some(pair.master.take_writer().unwrap())));
        let reader =
            read(pair.master.try_clone_reader().unwrap(), Arc::clone(&shared), Arc::clone(&writer), self.answers);
        let (done, ended) = mpsc::channel();
        let (id, killer) = (child.process_id().unwrap(), child.clone_killer());
        thread::spawn(move || done.send(child.wait().unwrap()));
        let (master, reader) = (Some(pair.master), Some(reader));
        Tui { master, slave: pair.slave, writer, reader, shared, id, ended, killer }
    }
}

fn read(
    mut reader: Box<dyn std::io::Read + Send>,
    shared: Arc<Shared>,
    writer: Writer,
    mut answer: Option<Answer>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = [0; 16_384];
        let mut most = buffer.len();
        while let Ok(count @ 1..) = reader.read(&mut buffer[..most]) {
            let mut seen = shared.lock();
            seen.parser.process(&buffer[..count]);
            seen.bytes.extend_from_slice(&buffer[..count]);
            seen.at = now();
            let due = answer.take_if(|answer| {
                let asked = contains(&seen.bytes, b"\x1b]11;?");
                asked && answer.after.is_none_or(|text| seen.parser.screen().contents().contains(text))
            });
            if let Some(answer) = due {
                write(&writer, &answer.bytes);
            }
            shared.changed.notify_all();
            // What is not read fills the terminal, and then whoever writes to it waits.
            let seen = shared.changed.wait_while(seen, |seen| seen.held).unwrap();
            let (seen, most_now) = match seen.pace {
                None => (seen, buffer.len()),
                Some(pace) => {
                    let took = Duration::from_secs(1) * u32::try_from(count).unwrap() / pace;
                    let slow = |seen: &mut Seen| seen.pace.is_some() && !seen.closing;
                    (shared.changed.wait_timeout_while(seen, took, slow).unwrap().0, PIECE)
                }
            };
            most = most_now;
            if seen.closing {
                break;
            }
        }
    })
}

fn write(writer: &Writer, bytes: &[u8]) {
    let mut writer = writer.lock().unwrap();
    let writer = writer.as_mut().expect("its window is open");
    writer.write_all(bytes).unwrap();
    writer.flush().unwrap();
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Whoever panicked with it has failed already; dropping it must not fail once more.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tui {
    /// Types bytes as a keyboard sends them.
    pub fn keys(&self, keys: &str) {
        write(&self.writer, keys.as_bytes());
    }

    /// Presses the left button on a cell, counted from 0.
    pub fn click(&self, column: u16, row: u16) {
        self.keys(&format!("\x1b[<0;{};{}M\x1b[<0;{};{}m", column + 1, row + 1, column + 1, row + 1));
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.shared.lock().parser.screen_mut().set_size(rows, columns);
        self.master().resize(pty_size(columns, rows)).unwrap();
    }

    /// Waits until the screen is as `is` says; fails with the screen when that takes too long.
    pub fn wait(&self, what: &str, is: impl Fn(&Screen) -> bool) {
        let seen = self.shared.lock();
        let wait = |seen: &mut Seen| !is(seen.parser.screen());
        let (seen, waited) = self.shared.changed.wait_timeout_while(seen, PATIENCE, wait).unwrap();
        assert!(!waited.timed_out(), "the screen never shows {what}; it shows\n{}", seen.parser.screen().contents());
    }

    /// Waits until the screen shows a text.
    pub fn shows(&self, text: &str) {
        self.wait(&format!("{text:?}"), |screen| screen.contents().contains(text));
    }

    /// Waits until it does not.
    pub fn hides(&self, text: &str) {
        self.wait(&format!("no {text:?}"), |screen| !screen.contents().contains(text));
    }

    /// Does something and waits until the screen shows a text; returns how long that took.
    pub fn time(&self, act: impl FnOnce(), text: &str) -> Duration {
        let start = now();
        act();
        self.shows(text);
        self.shared.lock().at.max(start) - start
    }

    /// Reads something off the screen.
    pub fn look<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(self.shared.lock().parser.screen())
    }

    /// The row of the screen that has a text in it.
    pub fn row_of(&self, text: &str) -> u16 {
        let row = self.rows().iter().position(|row| row.contains(text));
        u16::try_from(row.unwrap_or_else(|| panic!("no row has {text:?}"))).unwrap()
    }

    /// The rows of the screen.
    pub fn rows(&self) -> Vec<String> {
        self.look(|screen| screen.rows(0, screen.size().1).collect())
    }

    /// Waits until some bytes were sent to the terminal.
    pub fn was_sent(&self, bytes: &[u8]) {
        let seen = self.shared.lock();
        let wait = |seen: &mut Seen| !contains(&seen.bytes, bytes);
        let (seen, waited) = self.shared.changed.wait_timeout_while(seen, PATIENCE, wait).unwrap();
        assert!(!waited.timed_out(), "{:?} was never sent", String::from_utf8_lossy(bytes));
        drop(seen);
    }

    /// Fails when some bytes were sent to the terminal.
    pub fn was_not_sent(&self, bytes: &[u8]) {
        assert!(!contains(&self.shared.lock().bytes, bytes), "{:?} was sent", String::from_utf8_lossy(bytes));
    }

    /// Waits until something was sent that begins and ends so, behind so many bytes; its length.
    pub fn sent_between(&self, since: usize, begin: &[u8], end: &[u8]) -> usize {
        let find = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).position(|window| window == part);
        let length = |bytes: &[u8]| find(&bytes[find(bytes, begin)?..], end);
        let seen = self.shared.lock();
        let wait = |seen: &mut Seen| length(&seen.bytes[since..]).is_none();
        let (seen, _) = self.shared.changed.wait_timeout_while(seen, PATIENCE, wait).unwrap();
        length(&seen.bytes[since..]).unwrap_or_else(|| panic!("{:?} was never sent", String::from_utf8_lossy(begin)))
    }

    /// How often some bytes were sent to the terminal.
    pub fn count_sent(&self, bytes: &[u8]) -> usize {
        self.shared.lock().bytes.windows(bytes.len()).filter(|window| *window == bytes).count()
    }

    /// How often the program's threads went to sleep, where the system tells.
    pub fn wakes(&self) -> Option<u64> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id)).ok()?;
        let switches = threads.filter_map(|thread| {
            let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        });
        Some(switches.sum())
    }

    /// Whether nothing is sent to the terminal for so long.
    pub fn is_silent_for(&self, span: Duration) -> bool {
        let seen = self.shared.lock();
        let before = seen.bytes.len();
        let (seen, waited) =
            self.shared.changed.wait_timeout_while(seen, span, |seen| seen.bytes.len() == before).unwrap();
        drop(seen);
        waited.timed_out()
    }

    /// Has the terminal take no bytes any more (`true`), or take them again.
    pub fn hold(&self, hold: bool) {
        self.shared.lock().held = hold;
        self.shared.changed.notify_all();
    }

    /// Has the terminal take so many bytes a second, or (`None`) as many as there are.
    pub fn pace(&self, pace: Option<u32>) {
        self.shared.lock().pace = pace;
        self.shared.changed.notify_all();
    }

    /// How many bytes it has taken.
    pub fn taken(&self) -> usize {
        self.shared.lock().bytes.len()
    }

    /// Waits until it has taken so many.
    pub fn takes(&self, count: usize) {
        let seen = self.shared.lock();
        let wait = |seen: &mut Seen| seen.bytes.len() < count;
        let (seen, waited) = self.shared.changed.wait_timeout_while(seen, PATIENCE, wait).unwrap();
        assert!(!waited.timed_out(), "{} of {count} bytes were sent", seen.bytes.len());
    }

    /// Has the terminal take no bytes, as Ctrl-S does in a shell.
    pub fn stop(&self) {
        let tty = std::fs::File::open(self.tty()).unwrap();
        rustix::termios::tcflow(tty, rustix::termios::Action::OOff).unwrap();
    }

    /// Sends the program a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.id.to_string()).status().unwrap();
        assert!(sent.success(), "the program is there");
    }

    /// Waits for the end; returns the exit code.
    pub fn ends(&self) -> u32 {
        let Ok(status) = self.ended.recv_timeout(PATIENCE) else {
            panic!("it does not end; the screen shows\n{}", self.look(Screen::contents));
        };
        self.catch_up();
        status.exit_code()
    }

    /// Does something and waits for the end; returns how long that took.
    pub fn time_to_end(&self, act: impl FnOnce()) -> Duration {
        let start = now();
        act();
        self.ended.recv_timeout(PATIENCE).expect("it ends");
        now() - start
    }

    /// Reads what the program wrote before it ended: a mark written behind it comes last.
    pub fn catch_up(&self) {
        const MARK: &str = "\x1b]0;caught up\x07";
        let tty = std::fs::File::options().write(true).open(self.tty());
        tty.unwrap().write_all(MARK.as_bytes()).unwrap();
        self.was_sent(MARK.as_bytes());
    }

    /// What is left switched on in the terminal that a shell does not expect.
    pub fn left_over(&self) -> Vec<&'static str> {
        let mut left = self.look(|screen| {
            let modes = [
                ("alternate screen", screen.alternate_screen()),
                ("bracketed paste", screen.bracketed_paste()),
                ("mouse", screen.mouse_protocol_mode() != MouseProtocolMode::None),
                ("hidden cursor", screen.hide_cursor()),
            ];
            modes.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect::<Vec<_>>()
        });
        let stty = Command::new("stty").arg("-a").arg("-F").arg(self.tty()).output().unwrap();
        let stty = String::from_utf8(stty.stdout).unwrap();
        for (setting, name) in [("-icanon", "no line mode"), ("-echo ", "no echo"), ("-isig", "no signals")] {
            if stty.contains(setting) {
                left.push(name);
            }
        }
        left
    }

    /// Closes the terminal's window.
    pub fn close(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        // The thread that reads looks up when there is something to read.
        self.keys("\x0c");
        self.reader.take().expect("it is closed once").join().unwrap();
        *self.writer.lock().unwrap() = None;
        self.master = None;
    }

    /// Waits for the end of a program whose window is closed.
    pub fn ends_unseen(&self) {
        self.ended.recv_timeout(PATIENCE).expect("it ends");
    }

    fn master(&self) -> &(dyn MasterPty + Send) {
        self.master.as_deref().expect("its window is open")
    }

    fn tty(&self) -> PathBuf {
        self.master().tty_name().unwrap()
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        self.hold(false);
        self.pace(None);
        let _ = self.killer.kill();
        let _ = &self.slave;
    }
}

fn pty_size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Tests measure what a person would wait.
pub fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a measurement, not an input of the program")]
    Instant::now()
}
