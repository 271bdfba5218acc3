//! How soon a watching program tells of a write: it runs as a child, and its lines are timed
//! as they come out.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use clap::Args;
use color_eyre::Result;
use color_eyre::eyre::{bail, eyre};
use etcd_client::PutOptions;
use futures::future::try_join_all;
use tokio::sync::mpsc;
use tokio::time::{self, Instant};

use crate::Target;
use crate::write::{grant, key, pace};

/// How long a line may take before it counts as missed.
const PATIENCE: Duration = Duration::from_secs(5);

/// After how many handovers that were not told of there is no point in going on.
const GIVE_UP: usize = 5;

/// How long the program may take before its first line.
const START: Duration = Duration::from_secs(20);

/// Puts locks at a rate and reports how long after the put's start a watching program tells.
#[derive(Args)]
pub struct Latency {
    /// How many locks.
    #[arg(long, default_value_t = 3000)]
    puts: usize,
    /// Puts a second.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// The program that watches, with its arguments.
    #[arg(last = true, required = true)]
    watcher: Vec<String>,
}

impl Latency {
    pub async fn run(self, target: &Target) -> Result<()> {
        let client = target.connect().await?;
        let lease = grant(&client, 1).await?[0];
        let mut watcher = Watcher::start(&self.watcher)?;
        watcher.warm_up(target, &client, lease).await?;

        let mut ticks = pace(self.rate);
        let mut puts = Vec::with_capacity(self.puts);
        for probe in 0..self.puts {
            ticks.tick().await;
            let key = key(target, &format!("probe-{probe:06}"), lease);
            let mut kv = client.kv_client();
            let began = Instant::now();
            puts.push(tokio::spawn(async move {
                kv.put(key, "", Some(PutOptions::new().with_lease(lease))).await.map(|_| began)
            }));
        }
        let began = try_join_all(puts).await?.into_iter().collect::<Result<Vec<_>, _>>()?;

        let mut told: Vec<Option<Duration>> = vec![None; self.puts];
        while told.iter().any(Option::is_none) {
            let Some((at, line)) = watcher.line(PATIENCE).await else { break };
            let Some(probe) = probe_of(&line).filter(|&probe| probe < self.puts) else { continue };
            told[probe].get_or_insert(at - began[probe]);
        }
        let mut seen: Vec<Duration> = told.into_iter().flatten().collect();
        seen.sort_unstable();
        let at = |share: usize| seen.get(seen.len() * share / 100).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
        println!(
            "{{\"told\":{},\"missed\":{},\"p50_ms\":{:.4},\"p99_ms\":{:.4}}}",
            seen.len(),
            self.puts - seen.len(),
            at(50),
            at(99)
        );
        Ok(())
    }
}

/// Hands a lock over and reports how often a watching program tells of the new holder before
/// the old one's call has returned.
#[derive(Args)]
pub struct Handover {
    /// How many handovers.
    #[arg(long, default_value_t = 300)]
    count: usize,
    /// A word that the line about a new holder has beside its key.
    #[arg(long, default_value = "acquired")]
    word: String,
    /// The program that watches, with its arguments.
    #[arg(last = true, required = true)]
    watcher: Vec<String>,
}

impl Handover {
    pub async fn run(self, target: &Target) -> Result<()> {
        let client = target.connect().await?;
        let mut kv = client.kv_client();
        let mut watcher = Watcher::start(&self.watcher)?;
        // A client a handover, and one to inherit from the last.
        let leases = grant(&client, self.count + 1).await?;
        watcher.warm_up(target, &client, leases[0]).await?;
        let enqueue = |lease| (key(target, "handover", lease), PutOptions::new().with_lease(lease));

        let (mut holder, options) = enqueue(leases[0]);
        kv.put(holder.clone(), "", Some(options)).await?;
        let (mut done, mut before, mut missed) = (0, 0, 0);
        let mut lags = Vec::with_capacity(self.count);
        for &lease in &leases[1..] {
            let (waiter, options) = enqueue(lease);
            kv.put(waiter.clone(), "", Some(options)).await?;
            watcher.line_with(&[&waiter]).await;
            let call = async {
                kv.delete(holder, None).await?;
                Ok::<_, etcd_client::Error>(Instant::now())
            };
            let words = [waiter.as_str(), &self.word];
            let (returned, told) = tokio::join!(call, watcher.line_with(&words));
            match told {
                Some(told) => {
                    let returned = returned?;
                    before += usize::from(told <= returned);
                    let ahead = returned.saturating_duration_since(told).as_secs_f64();
                    lags.push((told.saturating_duration_since(returned).as_secs_f64() - ahead) * 1e3);
                }
                None => missed += 1,
            }
            done += 1;
            holder = waiter;
            if missed == GIVE_UP {
                break;
            }
        }
        lags.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| lags.get(lags.len() * share / 100).copied().unwrap_or(f64::NAN);
        println!(
            "{{\"handovers\":{done},\"missed\":{missed},\"before\":{before},\"lag_p10_ms\":{:.4},\"lag_p50_ms\":{:.4},\"lag_p90_ms\":{:.4}}}",
            at(10),
            at(50),
            at(90)
        );
        Ok(())
    }
}

/// A child process whose lines come with the time they were read; killed when dropped.
struct Watcher {
    child: Child,
    lines: mpsc::Receiver<(Instant, String)>,
}

impl Watcher {
    fn start(command: &[String]) -> Result<Self> {
        let [program, arguments @ ..] = command else { bail!("no program to run") };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| eyre!("cannot run {program}: {error}"))?;
        let stdout = child.stdout.take().ok_or_else(|| eyre!("{program} has no output"))?;
        let (sender, lines) = mpsc::channel(1 << 16);
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).into_owned();
                if sender.blocking_send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// The next line, unless it takes too long or the program has ended.
    async fn line(&mut self, patience: Duration) -> Option<(Instant, String)> {
        time::timeout(patience, self.lines.recv()).await.ok().flatten()
    }

    /// When a line came that has all of these in it.
    async fn line_with(&mut self, words: &[&str]) -> Option<Instant> {
        let end = Instant::now() + PATIENCE;
        loop {
            let (at, line) = self.line(end - Instant::now()).await?;
            if words.iter().all(|word| line.contains(word)) {
                return Some(at);
            }
        }
    }

    /// Puts a key until the program tells of it: from then on it watches.
    async fn warm_up(&mut self, target: &Target, client: &etcd_client::Client, lease: i64) -> Result<()> {
        let end = Instant::now() + START;
        for attempt in 0.. {
            let name = format!("warm-up-{attempt}");
            let options = PutOptions::new().with_lease(lease);
            client.kv_client().put(key(target, &name, lease), "", Some(options)).await?;
            while let Some((_, line)) = self.line(Duration::from_millis(100)).await {
                if line.contains("warm-up-") {
                    return Ok(());
                }
            }
            if Instant::now() > end || self.child.try_wait()?.is_some() {
                break;
            }
        }
        bail!("the program that watches told of nothing within {} s", START.as_secs())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The number in `probe-000123`, wherever it stands in the line.
fn probe_of(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once("probe-")?;
    rest.get(..6)?.parse().ok()
}
