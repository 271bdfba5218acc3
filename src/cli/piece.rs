//! What is played: a scenario, by its name or from a file, as whoever plays it wants it.

use std::path::Path;

use super::args::{CastArgs, DemoArgs};
use super::exit::{Exit, Failure};
use super::stage;
use crate::domain::raft::ClusterTime;
use crate::playground::cast::DEMO;
use crate::playground::scenario::{ScenarioError, Wishes, library};
use crate::playground::{Cast, Director, Scenario};

/// What a demo plays when nobody says what.
const USUAL: &str = "fifo";

/// A scenario with its cast.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The scenario.
    pub scenario: Scenario,
    /// Who plays it.
    pub cast: Cast,
}

impl Piece {
    /// What is played on a cluster of others: below a prefix of its own.
    ///
    /// # Errors
    /// When there is no such scenario, the file is no good, or it does things to members.
    pub fn on_a_cluster(name: &str, args: &CastArgs) -> Result<Self, Failure> {
        let scenario = find(name)?;
        if scenario.needs.faults {
            let what =
                format!("`{name}` does things to the members of the cluster, which only a cluster of its own allows");
            return Err(Failure::new(Exit::BadInput, what).hint(format!("`lockscope demo {name}` plays it on one.")));
        }
        let cast = scenario.cast(&scenario.prefix(), wishes(args));
        Ok(Self { scenario, cast })
    }

    /// What a demo plays.
    ///
    /// # Errors
    /// When there is no such scenario, or the file is no good.
    pub fn of_demo(args: &DemoArgs) -> Result<Self, Failure> {
        let scenario = find(args.scenario.as_deref().unwrap_or(USUAL))?;
        let cast = scenario.cast(DEMO, wishes(&args.cast));
        Ok(Self { scenario, cast })
    }

    /// The demo's flags with what the scenario needs, where no flag says otherwise.
    ///
    /// # Errors
    /// When one of them asks for what real etcds cannot do, and the cluster is to be made of these.
    pub fn needs(&self, args: &DemoArgs) -> Result<DemoArgs, Failure> {
        let refused = |what: String| {
            Failure::new(Exit::BadInput, what).hint("That takes the embedded cluster: leave --engine etcd out.")
        };
        let untold = stage::untold(args);
        if !untold.is_empty() {
            return Err(refused(format!("a real etcd cannot be told {}", untold.join(", "))));
        }
        let needs = &self.scenario.needs;
        let mut args = args.clone();
        let embedded = &mut args.embedded;
        embedded.members = embedded.members.or(needs.members);
        embedded.delay = embedded.delay.or(needs.delay);
        embedded.no_pre_vote |= needs.pre_vote == Some(false);
        embedded.no_check_quorum |= needs.check_quorum == Some(false);
        let untold = stage::untold(&args);
        if untold.is_empty() {
            return Ok(args);
        }
        let needs: Vec<&str> = untold.into_iter().map(needed).collect();
        Err(refused(format!(
            "`{}` needs what a real etcd cannot be told: {}",
            self.scenario.name,
            needs.join(", and ")
        )))
    }

    /// Who leads through a run that begins then.
    pub fn director(&self, began: ClusterTime) -> Director {
        Director::new(&self.scenario, &self.cast, began)
    }
}

/// What a scenario needs, where a person would use this flag.
fn needed(flag: &'static str) -> &'static str {
    match flag {
        "--delay" => "how long messages between members take",
        "--no-pre-vote" => "to stand for election without asking before",
        "--no-check-quorum" => "to lead on without a majority",
        flag => flag,
    }
}

fn wishes(args: &CastArgs) -> Wishes {
    Wishes { clients: args.clients, hold: args.hold, think: args.think, ttl: args.lease }
}

/// The scenario of this name, or in the file at this path.
fn find(name: &str) -> Result<Scenario, Failure> {
    let path = Path::new(name);
    if name.contains('/') || path.extension().is_some_and(|extension| extension == "toml") {
        return Ok(Scenario::from_file(path)?);
    }
    let unknown = |error: library::UnknownScenario| {
        Failure::new(Exit::BadInput, error.to_string())
            .hint("`lockscope play --list` says what each shows; a file is named by its path, such as ./mine.toml.")
    };
    Ok(library::find(name).map_err(unknown)??)
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Read { .. } => Self::new(Exit::File, error.to_string()),
            ScenarioError::Invalid { .. } | ScenarioError::Several(_) => Self::new(Exit::BadInput, error.to_string())
                .hint("docs/scenarios.md tells what a scenario's file can say."),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn needs(line: &str) -> Result<DemoArgs, String> {
        let Some(Command::Demo(args)) = Cli::parse_from(line.split(' ')).command else { panic!("{line}") };
        let piece = Piece::of_demo(&args).map_err(|failure| format!("{failure:?}"))?;
        piece.needs(&args).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn what_a_scenario_needs_gives_way_to_flags() {
        let args = needs("lockscope demo split-vote --delay 50ms").unwrap();
        assert_eq!(args.embedded.delay, Some(std::time::Duration::from_millis(50)));
        assert!(args.embedded.no_pre_vote && !args.embedded.no_check_quorum);
    }

    #[test]
    fn what_real_etcds_cannot_be_told_is_said_to_be_the_persons_wish_or_the_scenarios() {
        assert!(needs("lockscope demo zombie --engine etcd").is_ok());
        let error = needs("lockscope demo zombie --engine etcd --loss 5%").unwrap_err();
        assert!(error.contains("a real etcd cannot be told --loss\""), "{error}");
        let error = needs("lockscope demo split-vote --engine etcd").unwrap_err();
        assert!(error.contains("`split-vote` needs what a real etcd cannot be told: how long messages"), "{error}");
        assert!(error.contains(", and to stand for election without asking") && !error.contains("--delay"), "{error}");
    }
}
