//! `cluster`: what it says, what it takes, and how it ends, also when it is spoken to badly.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Running, lockscope};

/// It has to end within this of being told.
const END: Duration = Duration::from_secs(2);

/// A running `lockscope cluster -w json`.
struct Served {
    running: Running,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    endpoints: Vec<String>,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut running = lockscope(["cluster", "-w", "json"].iter().chain(arguments)).talk();
        let child = running.child();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut served = Self { running, input, lines, endpoints: Vec::new() };
        let ready = served.line();
        assert_eq!(ready["event"], "ready", "{ready}");
        let endpoints = ready["endpoints"].as_array().expect("a list");
        served.endpoints = endpoints.iter().map(|endpoint| endpoint.as_str().expect("text").to_owned()).collect();
        served
    }

    /// The next line it says.
    fn line(&mut self) -> Value {
        let line = self.lines.next().expect("there is a line").expect("it is text");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("it reads").write_all(bytes).expect("it reads");
    }

    /// Says a line; the answer.
    fn say(&mut self, line: &[u8]) -> Value {
        self.write(&[line, b"\n"].concat());
        self.line()
    }

    /// Whether its members take a put and give it back.
    fn serves(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut client = etcd_client::Client::connect(&self.endpoints, None).await.expect("it serves");
            client.put("a", "1", None).await.expect("it is put");
            assert_eq!(client.get("a", None).await.expect("it is read").count(), 1);
        });
    }

    /// Tells it to stop; it has to do so soon and well.
    fn stop(mut self, signal: &str) {
        let told = now();
        self.running.signal(signal);
        let ended = self.running.end().expect(0);
        let took = now() - told;
        assert!(took < END, "it took {took:?} to end");
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn a_cluster_without_anybody_who_speaks_to_it_serves_until_it_is_told_to_stop() {
    for signal in ["INT", "TERM"] {
        let mut served = Served::start(&[]);
        served.input = None;
        served.serves();
        served.stop(signal);
    }
}

#[test]
fn each_line_is_answered_by_one() {
    let mut served = Served::start(&["--members", "5"]);
    assert_eq!(served.endpoints.len(), 5);
    // Lines that say nothing are answered by nothing.
    served.write(b"\n   \n\r\n");
    for line in ["kill n1", "start n1", "pause n2", "resume n2", "isolate n3", "cut n1 n2", "delay 200ms", "loss 20%"] {
        assert_eq!(served.say(line.as_bytes()), serde_json::json!({"event": "ok"}), "{line}");
    }
    let status = served.say(b"status");
    assert_eq!(status["event"], "ok");
    let nodes = status["status"]["nodes"].as_array().expect("a list");
    assert_eq!(nodes.len(), 5);
    for line in ["heal", "speed 0.1", "freeze", "step", "thaw", "speed 4", "prevote off", "checkquorum off"] {
        assert_eq!(served.say(line.as_bytes())["event"], "ok", "{line}");
    }
    served.stop("INT");
}

#[test]
fn what_is_no_command_is_an_error_in_a_line_without_control_characters() {
    let mut served = Served::start(&[]);
    let garbage: [&[u8]; 9] = [
        b"dance",
        b"kill",
        b"kill n9",
        b"kill n1 n2",
        b"start n1",
        b"speed 900",
        b"\x1b]0;title\x07\x1b[2J",
        b"\xff\xfe\x00kill",
        "kill \u{202e}n1".as_bytes(),
    ];
    for line in garbage {
        let answer = served.say(line);
        assert_eq!(answer["event"], "error", "{line:?}: {answer}");
        let message = answer["message"].as_str().expect("text");
        assert!(!message.is_empty() && !message.contains(['\u{1b}', '\u{202e}']), "{message:?}");
    }
    served.serves();
    served.stop("INT");
}

#[test]
fn a_line_without_an_end_is_neither_kept_nor_quoted_whole() {
    let mut served = Served::start(&[]);
    let before = served.memory();
    let part = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        served.write(&part);
    }
    let answer = served.say(b" kill n1");
    assert_eq!(answer["event"], "error");
    assert!(answer["message"].as_str().is_some_and(|message| message.len() < 1000), "{answer}");
    let grown = served.memory() - before;
    assert!(grown < 16 << 10, "it grew by {grown} KiB");
    assert_eq!(served.say(b"kill n1")["event"], "ok", "the next line is read as ever");
    served.stop("INT");
}

#[test]
fn who_speaks_and_never_listens_does_not_keep_it_from_ending() {
    let mut served = Served::start(&[]);
    // More answers than fit a pipe. What does not fit is not read either.
    let mut input = served.input.take().expect("it reads");
    let (wrote, written) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        while input.write_all(b"status\n").is_ok() {
            let _ = wrote.send(());
        }
    });
    served.serves();
    // Once nothing more is read it is stuck with an answer that nobody takes.
    while written.recv_timeout(Duration::from_millis(500)).is_ok() {}
    let told = now();
    served.running.signal("INT");
    let pid = served.running.child().id();
    while is_alive(pid) {
        assert!(now() - told < END, "it does not end");
    }
    drop(served);
    writer.join().expect("no panic");
}

#[test]
fn it_ends_soon_under_load_with_a_member_paused() {
    let mut served = Served::start(&[]);
    let endpoints = served.endpoints.clone();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (busy, is_busy) = std::sync::mpsc::channel();
    for n in 0..96 {
        let endpoint = endpoints[n % 3].clone();
        let busy = busy.clone();
        runtime.spawn(async move {
            let mut client = etcd_client::Client::connect([endpoint], None).await.expect("it serves");
            let _watch = client.watch("k", None).await.expect("it watches");
            for m in 0_u64.. {
                if client.put(format!("k{}", m % 50), vec![0; 1000], None).await.is_err() {
                    return;
                }
                let _ = busy.send(());
            }
        });
    }
    for _ in 0..2000 {
        is_busy.recv_timeout(Duration::from_secs(30)).expect("it serves");
    }
    assert_eq!(served.say(b"pause n2")["event"], "ok");
    served.stop("INT");
    runtime.shutdown_background();
}

#[test]
fn two_clusters_live_side_by_side_and_not_on_the_same_ports() {
    let (one, other) = (Served::start(&[]), Served::start(&[]));
    one.serves();
    other.serves();
    let port = &one.endpoints[0];
    let refused = lockscope(["cluster", "--members", "1", "--listen", port]).run().expect(1);
    assert!(refused.stderr.contains(port) && refused.stderr.contains("cannot listen"), "{}", refused.stderr);
    one.stop("INT");
    other.stop("TERM");
}

impl Served {
    /// KiB that it holds in memory.
    fn memory(&mut self) -> u64 {
        let id = self.running.child().id().to_string();
        let output = Command::new("ps").args(["-o", "rss=", "-p", &id]).stdin(Stdio::null()).output().expect("ps runs");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
    }
}

fn is_alive(pid: u32) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().expect("ps runs");
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !(state.is_empty() || state.starts_with('Z'))
}

#[expect(clippy::disallowed_methods, reason = "how long a program takes to end, in a suite without a runtime")]
fn now() -> Instant {
    Instant::now()
}
