//! The least a program can do with etcd: what lockscope's own cost is compared with.
//!
//! `list` and `watch` read with a model of a few lines, so they mark what is possible. The rest
//! makes work for others to be measured by: keys in bulk, writes at a rate, contending clients,
//! and the time from a write to the line in which a watching program tells of it.
//! `benches/side-by-side` uses all of it.
#![forbid(unsafe_code)]

mod contend;
mod handoffs;
mod puts;
mod read;
mod report;
mod write;

use clap::{Args, Parser, Subcommand};
use color_eyre::Result;
use etcd_client::Client;
use tokio::runtime::Builder;

#[derive(Parser)]
#[command(about = "The least a program can do with etcd, to compare with")]
struct Bare {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    task: Task,
}

/// Where to work.
#[derive(Args, Clone)]
struct Target {
    /// The endpoint, as host:port; for `puts` and `handoffs` several, with commas between them.
    #[arg(long, global = true, default_value = "127.0.0.1:2379")]
    endpoint: String,
    /// Where the keys are; should end with a slash.
    #[arg(long, global = true, default_value = "/bench/")]
    prefix: String,
}

impl Target {
    async fn connect(&self) -> Result<Client> {
        Ok(Client::connect([&self.endpoint], None).await?)
    }
}

#[derive(Subcommand)]
enum Task {
    /// Reads all keys and prints how many locks and keys there are.
    List,
    /// Prints a line for each change until it is stopped.
    Watch,
    /// Puts a number of locks with a number of keys each, then a last lock named `done`.
    Fill(write::Fill),
    /// Puts one key again and again at a rate, until it is stopped.
    Churn(write::Churn),
    /// Puts as fast as they are answered and reports how many a second.
    Puts(puts::Puts),
    /// Puts locks at a rate and reports how long after the put's start a watching program tells.
    Latency(report::Latency),
    /// Hands a lock over and reports how often a watching program tells of the new holder before
    /// the old one's call has returned.
    Handover(report::Handover),
    /// Lets clients contend for a lock through the Lock API and reports handovers a second.
    Contend(contend::Contend),
    /// Lets clients contend for a lock by a recipe and reports handoffs a second and their waits.
    Handoffs(handoffs::Handoffs),
}

fn main() -> Result<()> {
    let Bare { target, task } = Bare::parse();
    // What only reads has nothing to share among threads, and would pay for waking them.
    let mut runtime = match task {
        Task::List | Task::Watch => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(run(&target, task))
}

async fn run(target: &Target, task: Task) -> Result<()> {
    match task {
        Task::List => read::list(target).await,
        Task::Watch => read::watch(target).await,
        Task::Fill(fill) => fill.run(target).await,
        Task::Churn(churn) => churn.run(target).await,
        Task::Puts(puts) => puts.run(target).await,
        Task::Latency(latency) => latency.run(target).await,
        Task::Handover(handover) => handover.run(target).await,
        Task::Contend(contend) => contend.run(target).await,
        Task::Handoffs(handoffs) => handoffs.run(target).await,
    }
}
