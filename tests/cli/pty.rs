//! A real terminal for commands that ask a person.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};

/// A run of lockscope in a terminal.
pub struct Terminal {
    pair: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn std::io::Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    pub fn run(arguments: &[&str]) -> Self {
        Self::within(&[], arguments)
    }

    /// With these variables and no others.
    pub fn within(variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lockscope"));
        command.env_clear();
        for (name, value) in variables {
            command.env(name, value);
        }
        command.args(arguments);
        let child = pair.slave.spawn_command(command).expect("the binary starts");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let keys = pair.master.take_writer().expect("a writer");
        let (tell, output) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if tell.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { pair, child, keys, output, shown: String::new() }
    }

    pub fn shows(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let more = self.output.recv_timeout(Duration::from_secs(30));
            let more = more.unwrap_or_else(|_| panic!("{text:?} is not in {:?}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&more));
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("it reads");
    }

    /// The exit code and everything that was shown.
    pub fn ends(mut self) -> (u32, String) {
        let code = self.child.wait().expect("it ends").exit_code();
        let modes = format!("{:?}", self.pair.master.get_termios().expect("a terminal has modes").local_flags);
        let has = |flag: &str| modes.split(['(', ')', '|', ' ']).any(|word| word == flag);
        assert!(has("ECHO") && has("ICANON"), "the terminal is left mute: {modes}");
        while let Ok(more) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.shown.push_str(&String::from_utf8_lossy(&more));
        }
        (code, self.shown)
    }
}
