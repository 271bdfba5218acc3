//! `cluster`: the embedded cluster alone, driven by lines on standard input.
//!
//! One line says where it listens, then each line that is read is answered by one line. When
//! standard input ends the cluster goes on; Ctrl-C and SIGTERM end it, also when nobody reads what
//! it says.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::runtime::Builder;

use crate::config::{Config, Format};
use crate::domain::raft::fault::WORDS;
use crate::domain::raft::{Fault, Life, NodePicture, RaftPicture, RaftRole, Speed};
use crate::domain::{RaftIndex, Revision, Term, WordError};
use crate::nearest::nearest;
use crate::runtime;
use crate::server::{self, Served, Server};
use crate::view::text::sanitise;

use super::args::ClusterArgs;
use super::exit::Failure;
use super::json;
use super::lines::{self, LONGEST, Line as Read};
use super::wait;

/// The word that asks how the nodes are; the others are faults.
const STATUS: &str = "status";

/// How long the first election is waited for before the cluster says that it is ready.
const LEADER: Duration = Duration::from_secs(3);

/// Runs the cluster until Ctrl-C.
///
/// # Errors
/// When it cannot be started, or nobody reads what it says.
pub fn run(args: &ClusterArgs, config: &Config) -> Result<(), Failure> {
    let format = config.output.format.unwrap_or(Format::Simple);
    wait::block_on(&mut Builder::new_multi_thread(), serve(args, format))
}

async fn serve(args: &ClusterArgs, format: Format) -> Result<(), Failure> {
    let options = args.embedded.options(Duration::ZERO, runtime::clock::any_seed());
    let server = server::start(options).await?;
    let mut says = Says { format, to: tokio::io::stdout() };
    let ended = tokio::select! {
        // The end first: whoever writes lines without a pause must not outrun it.
        biased;
        () = wait::interrupted() => Ok(()),
        answered = obey(&server, BufReader::new(tokio::io::stdin()), &mut says) => answered,
    };
    server.stop().await;
    ended
}

/// Says when it is ready and answers each line; when there are no more, waits for the end.
async fn obey(
    server: &Server,
    mut input: impl AsyncBufRead + Unpin,
    says: &mut Says<impl AsyncWrite + Unpin>,
) -> Result<(), Failure> {
    // Whoever reads the line may ask at once. With messages lost or a clock that creeps there
    // may be no leader for long.
    let _ = tokio::time::timeout(LEADER, server.led()).await;
    says.ready(server).await?;
    let control = server.control();
    while let Ok(Some(line)) = lines::next(&mut input).await {
        let Read::Said(line) = line else {
            says.error(&format!("no command has more than {LONGEST} bytes")).await?;
            continue;
        };
        // What is no text is no command either, and is quoted as far as it is one.
        let line = String::from_utf8_lossy(&line);
        match line.trim() {
            "" => {}
            STATUS => match control.picture().await {
                Ok(picture) => says.status(&picture).await?,
                Err(stopped) => says.error(&stopped.to_string()).await?,
            },
            words => match words.parse::<Fault>() {
                Ok(fault) => match control.fault(fault).await {
                    Ok(()) => says.ok().await?,
                    Err(why) => says.error(&why).await?,
                },
                Err(WordError::Unknown { word, .. }) if is_slip_of_status(&word) => {
                    says.error(&format!("no fault `{word}`; did you mean `{STATUS}`?")).await?;
                }
                Err(error) => says.error(&format!("{error}; `{STATUS}` tells how the nodes are")).await?,
            },
        }
    }
    std::future::pending().await
}

/// Whether a word is nearer to `status` than to any fault.
fn is_slip_of_status(word: &str) -> bool {
    nearest(word, WORDS.iter().map(|word| word.name).chain([STATUS])) == Some(STATUS)
}

/// Writes one line for each thing it says, and sees to it that it is read at once.
struct Says<W> {
    format: Format,
    to: W,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Ready {
        schema: &'static str,
        endpoints: Vec<&'a str>,
        members: Vec<Member<'a>>,
    },
    Ok {
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
    },
    Error {
        message: &'a str,
    },
}

#[derive(Serialize)]
struct Member<'a> {
    id: json::Hex,
    name: &'a str,
    endpoint: &'a str,
}

#[derive(Serialize)]
struct Status {
    time_ms: u64,
    speed: f64,
    frozen: bool,
    delay_ms: f64,
    loss_percent: f64,
    cuts: Vec<[String; 2]>,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    id: json::Hex,
    name: String,
    life: Life,
    role: RaftRole,
    learner: bool,
    leader: Option<String>,
    term: Term,
    raft_index: RaftIndex,
    applied_index: RaftIndex,
    revision: Revision,
}

impl<W: AsyncWrite + Unpin> Says<W> {
    async fn ready(&mut self, server: &Server) -> Result<(), Failure> {
        let endpoints: Vec<_> = server.members.iter().map(|member| member.endpoint.as_str()).collect();
        let members = server.members.iter();
        if self.format == Format::Json {
            let members =
                members.map(|Served { member, name, endpoint, .. }| Member { id: (*member).into(), name, endpoint });
            return self.json(&Line::Ready { schema: json::SCHEMA, endpoints, members: members.collect() }).await;
        }
        self.text(&format!("ready\t{}", endpoints.join(","))).await
    }

    async fn ok(&mut self) -> Result<(), Failure> {
        if self.format == Format::Json { self.json(&Line::Ok { status: None }).await } else { self.text("ok").await }
    }

    async fn error(&mut self, message: &str) -> Result<(), Failure> {
        let message = &*sanitise(message);
        if self.format == Format::Json {
            self.json(&Line::Error { message }).await
        } else {
            self.text(&format!("error\t{message}")).await
        }
    }

    async fn status(&mut self, picture: &RaftPicture) -> Result<(), Failure> {
        if self.format == Format::Json {
            return self.json(&Line::Ok { status: Some(picture.into()) }).await;
        }
        let nodes: Vec<_> = picture.nodes.iter().map(in_words).collect();
        self.text(&format!("ok\t{}\t{}", around(picture), nodes.join("\t"))).await
    }

    async fn json(&mut self, line: &Line<'_>) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        json::write(line, &mut bytes)?;
        self.write(&bytes).await
    }

    async fn text(&mut self, line: &str) -> Result<(), Failure> {
        self.write(format!("{line}\n").as_bytes()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes).await?;
        Ok(self.to.flush().await?)
    }
}

/// The clock and the network in a few words, such as `speed 0.50 frozen cut n1-n2`.
fn around(picture: &RaftPicture) -> String {
    let mut words = format!("speed {}", picture.speed);
    if picture.paused {
        words.push_str(" frozen");
    }
    for (one, other) in &picture.network.cuts {
        let _ = write!(words, " cut {one}-{other}");
    }
    words
}

/// A node in a few words, such as `n1 leader term 3 applied 17/17 revision 9`.
fn in_words(node: &NodePicture) -> String {
    let NodePicture { id, term, applied, commit, revision, .. } = node;
    let is = match (node.life, node.role) {
        (Life::Killed, _) => "killed",
        (Life::Paused, _) => "paused",
        (Life::Up, RaftRole::Leader) => "leader",
        (Life::Up, RaftRole::Candidate) => "candidate",
        (Life::Up, RaftRole::PreCandidate) => "pre-candidate",
        (Life::Up, RaftRole::Follower) if node.learner => "learner",
        (Life::Up, RaftRole::Follower) => "follower",
    };
    format!("{id} {is} term {term} applied {applied}/{commit} revision {revision}")
}

impl From<&RaftPicture> for Status {
    fn from(picture: &RaftPicture) -> Self {
        let Speed(thousandths) = picture.speed;
        Self {
            time_ms: picture.now.0 / 1000,
            speed: f64::from(thousandths) / 1000.0,
            frozen: picture.paused,
            delay_ms: picture.network.delay.as_secs_f64() * 1000.0,
            loss_percent: f64::from(picture.network.loss) / 10.0,
            cuts: picture.network.cuts.iter().map(|(one, other)| [one.to_string(), other.to_string()]).collect(),
            nodes: picture.nodes.iter().map(Node::from).collect(),
        }
    }
}

impl From<&NodePicture> for Node {
    fn from(node: &NodePicture) -> Self {
        Self {
            id: node.member.into(),
            name: node.id.to_string(),
            life: node.life,
            role: node.role,
            learner: node.learner,
            leader: node.leader.map(|leader| leader.to_string()),
            term: node.term,
            raft_index: node.commit,
            applied_index: node.applied,
            revision: node.revision,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_status_is_told_from_one_of_a_fault() {
        assert!(is_slip_of_status("statsu") && is_slip_of_status("stats"));
        assert!(!is_slip_of_status("strat") && !is_slip_of_status("isolat") && !is_slip_of_status("x"));
    }
}
