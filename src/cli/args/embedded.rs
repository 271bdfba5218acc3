//! Flags of the embedded cluster, shared by the commands that start one.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::domain::raft::{Fault, Rules, Speed};
use crate::embedded;
use crate::server::{Options, StartError};

/// How to start an embedded cluster.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Embedded cluster")]
pub struct EmbeddedArgs {
    /// How many members: 1, 3, 5 or 7 [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = members)]
    pub members: Option<usize>,
    /// Fixes timers, delays and losses [default: another one each time]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// How fast its clock runs, from 0.05 to 4
    #[arg(long, value_name = "FACTOR", default_value = "1", allow_hyphen_values = true, value_parser = speed)]
    pub speed: Speed,
    /// Where the first member listens on loopback, the others on the ports behind; port 0 is any
    #[arg(long, value_name = "HOST:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        allow_hyphen_values = true, value_parser = address)]
    pub listen: SocketAddr,
    /// How long a message between members takes
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = delay)]
    pub delay: Option<Duration>,
    /// How many messages between members are lost, such as 5%
    #[arg(long, value_name = "PERCENT", default_value = "0%", allow_hyphen_values = true, value_parser = loss)]
    pub loss: u16,
    /// Let members stand for election without asking whether they could win
    #[arg(long)]
    pub no_pre_vote: bool,
    /// Let a leader without a majority believe that it still leads
    #[arg(long)]
    pub no_check_quorum: bool,
    /// Every 5 minutes forget what is older than the latest N revisions, as etcd does by the flag of
    /// this name; 0 keeps all [default: 10000 for demo, 0 for cluster]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = retention)]
    pub auto_compaction_retention: Option<u64>,
}

impl EmbeddedArgs {
    /// How many members there are to be.
    pub fn members(&self) -> usize {
        self.members.unwrap_or(3)
    }

    /// The options to start with. Messages take `delay` when no flag says how long; `seed` is
    /// for a run that none was chosen for.
    pub fn options(&self, delay: Duration, seed: u64) -> Options {
        let defaults = embedded::Config::default();
        let rules = Rules { pre_vote: !self.no_pre_vote, check_quorum: !self.no_check_quorum, ..defaults.rules };
        let cluster = embedded::Config {
            nodes: self.members(),
            seed: self.seed.unwrap_or(seed),
            rules,
            delay: self.delay.unwrap_or(delay),
            loss: self.loss,
            ..defaults
        };
        let kept = self.auto_compaction_retention.and_then(NonZeroU64::new);
        Options { kept, listen: self.listen, speed: self.speed, ..Options::new(cluster) }
    }
}

pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no whole number from 0 to {}", u64::MAX))
}

fn retention(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number of revisions: say 10000, or 0 to keep them all"))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    // A name would have to be looked up; this one everybody knows.
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse()
        .map_err(|_| format!("`{text}` is no address and port: say 127.0.0.1:2379, or 127.0.0.1:0 for any port"))
}

fn members(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ (1 | 3 | 5 | 7)) => Ok(count),
        _ => {
            Err(format!("`{text}` is not 1, 3, 5 or 7: an even number tolerates no more losses than the odd one below"))
        }
    }
}

/// Reads the value of a flag as the word of the same name does.
fn said(word: &str, text: &str) -> Result<Fault, String> {
    format!("{word} {text}").parse::<Fault>().map_err(|error| error.to_string())
}

fn speed(text: &str) -> Result<Speed, String> {
    match said("speed", text)? {
        Fault::Speed(speed) => Ok(speed),
        _ => Err(format!("`{text}` is no speed")),
    }
}

fn delay(text: &str) -> Result<Duration, String> {
    match said("delay", text)? {
        Fault::Delay(delay) => Ok(delay),
        _ => Err(format!("`{text}` is no delay")),
    }
}

fn loss(text: &str) -> Result<u16, String> {
    match said("loss", text)? {
        Fault::Loss(loss) => Ok(loss),
        _ => Err(format!("`{text}` is no share of messages")),
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let exit = match error {
            StartError::NotLoopback(_) | StartError::NoPortLeft(_) => Exit::BadArguments,
            StartError::Listen { .. } => Exit::Error,
        };
        Self::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_good_is_quoted_with_what_would_be() {
        let said = [
            members("2").unwrap_err(),
            seed("x").unwrap_err(),
            address("127.0.0.1").unwrap_err(),
            speed("9").unwrap_err(),
            loss("200%").unwrap_err(),
            retention("1h").unwrap_err(),
        ];
        for (said, quoted) in said.iter().zip(["`2`", "`x`", "`127.0.0.1`", "9", "200%", "`1h`"]) {
            assert!(said.contains(quoted), "{said}");
        }
        assert!(said[0].contains("1, 3, 5 or 7") && said[2].contains("127.0.0.1:0"), "{said:?}");
        assert_eq!(address("localhost:2379"), Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, 2379))));
    }
}
