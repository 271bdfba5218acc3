//! Who owns the members: does what is asked, takes in what they answer, ends them.

use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::find::Etcd;
use super::folder::Folder;
use super::member::{Member, Setup};
use super::network::Network;
use super::poll::{self, Answer, Poller};
use super::process::Process;
use super::seen::Seen;
use super::watchman::Watchman;
use super::{EngineError, ports};
use crate::control::Command;
use crate::domain::MemberId;
use crate::domain::raft::{ClusterTime, Fault, Life, NetworkPicture, NodeId, RaftPicture, Rules};
use crate::port::Client;

/// How long a leader is waited for at the start.
const START: Duration = Duration::from_secs(30);
/// How often it is looked meanwhile whether all members still run.
const LOOK: Duration = Duration::from_millis(50);
/// Answers of members that wait.
const ANSWERS: usize = 16;
/// How long a leader may take to hand over: etcd gives it an election timeout.
const TRANSFER: Duration = Duration::from_secs(3);
/// etcd's own timers; the election timeout is drawn from once to twice of what is set.
const HEARTBEAT: Duration = Duration::from_millis(100);
const ELECTION: Duration = Duration::from_secs(1);

/// A cluster. When it is dropped its processes are killed.
///
/// The order of the fields is that of their end: first the processes, then the folder, then the
/// watchman, who clears away what a member that was just being killed still wrote into it.
#[derive(Debug)]
pub(super) struct Driver {
    pub members: Vec<Member>,
    pollers: JoinSet<()>,
    answers: mpsc::Receiver<Answer>,
    started: watch::Sender<bool>,
    network: Network,
    seen: Seen,
    rules: Rules,
    began: Instant,
    folder: Folder,
    watchman: Watchman,
}

impl Driver {
    /// Starts the processes, and returns when all of them know a leader.
    pub async fn start(etcd: &Etcd, members: usize, began: Instant) -> Result<Self, EngineError> {
        let mut driver = Self::prepare(etcd, members, began).await?;
        for at in 0..members {
            driver.start_member(at).await.map_err(|why| EngineError::Spawn { program: etcd.program.clone(), why })?;
        }
        driver.led().await?;
        driver.started.send_replace(true);
        Ok(driver)
    }

    async fn prepare(etcd: &Etcd, members: usize, began: Instant) -> Result<Self, EngineError> {
        let folder = Folder::create().map_err(EngineError::Folder)?;
        let watchman = Watchman::start(folder.path()).map_err(EngineError::Watchman)?;
        let ports = ports::free(2 * members).ok_or(EngineError::NoPorts)?;
        let (clients, peers) = ports.split_at(members);
        let ids = (1..).take(members).map(NodeId);
        let listening: Vec<_> = ids.zip(peers.iter().copied()).collect();
        let network = Network::start(&listening).await.map_err(EngineError::Network)?;
        let token = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let setup = Setup { etcd: etcd.clone(), folder: folder.path().to_owned(), members, token };
        let (started, starts) = watch::channel(false);
        let (tell, answers) = mpsc::channel(ANSWERS);
        let mut pollers = JoinSet::new();
        let members: Vec<Member> = listening
            .iter()
            .zip(clients)
            .map(|(&(id, peer), &client)| {
                let proxy = network.proxy(id).unwrap_or_default();
                Member::new(id, client, peer, proxy, setup.clone())
            })
            .collect();
        for member in &members {
            let endpoint = format!("http://{}", member.endpoint());
            let poller = Poller { node: member.id, endpoint, began, started: starts.clone(), tell: tell.clone() };
            pollers.spawn(poller.run());
        }
        let seen = Seen::new(members.len());
        let rules = Rules {
            heartbeat: HEARTBEAT,
            election_min: ELECTION,
            election_max: 2 * ELECTION,
            pre_vote: etcd.at_least(3, 5),
            check_quorum: true,
        };
        Ok(Self { members, pollers, answers, started, network, seen, rules, began, folder, watchman })
    }

    /// Waits until all members have answered and know a leader.
    async fn led(&mut self) -> Result<(), EngineError> {
        let end = self.began + START;
        let mut look = interval(LOOK);
        while !self.seen.all_led() {
            tokio::select! {
                Some(answer) = self.answers.recv() => self.seen.take(answer),
                _ = look.tick() => {
                    for member in &mut self.members {
                        if !member.process.as_mut().is_some_and(Process::is_running) {
                            return Err(EngineError::Ended { member: member.id, log: member.last_words() });
                        }
                    }
                    if Instant::now() > end {
                        let log = self.members.first().map(Member::last_words).unwrap_or_default();
                        return Err(EngineError::NoLeader { after: START, log });
                    }
                }
            }
        }
        Ok(())
    }

    /// Does what is asked until it is told to stop, and then ends everything.
    pub async fn run(mut self, mut asked: mpsc::Receiver<Command>, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                // The end first: whoever asks without a pause must not outrun it.
                biased;
                () = shutdown.cancelled() => break,
                Some(answer) = self.answers.recv() => self.seen.take(answer),
                command = asked.recv() => match command {
                    Some(Command::Fault(fault, answer)) => drop(answer.send(self.fault(fault).await)),
                    Some(Command::Picture(answer)) => drop(answer.send(self.picture().await)),
                    Some(Command::Terms(answer)) => drop(answer.send(self.picture().await.terms)),
                    None => break,
                },
            }
        }
        self.stop().await;
    }

    /// Ends everything, and returns when nothing is left.
    pub async fn stop(mut self) {
        self.pollers.shutdown().await;
        for member in &self.members {
            if let Some(process) = &member.process {
                let _ = process.signal(Signal::KILL);
            }
        }
        for mut member in std::mem::take(&mut self.members) {
            if let Some(process) = &mut member.process {
                process.ended().await;
                let _ = self.watchman.end(process.group()).await;
            }
        }
        self.network.stop().await;
        drop(self.folder);
        self.watchman.dismiss().await;
    }

    fn now(&self) -> ClusterTime {
        ClusterTime(0) + self.began.elapsed()
    }

    async fn picture(&mut self) -> RaftPicture {
        self.bury().await;
        let network = NetworkPicture { cuts: self.network.cuts(), ..NetworkPicture::default() };
        RaftPicture { rules: self.rules, ..self.seen.picture(self.now(), network) }
    }

    /// Notices members that ended by themselves.
    async fn bury(&mut self) {
        let now = self.now();
        for member in &mut self.members {
            if let Some(ended) = member.process.take_if(|process| !process.is_running()) {
                let _ = self.watchman.end(ended.group()).await;
                self.seen.lives(member.id, Life::Killed, now);
                warn!(member = %member.id, said = member.last_words(), "an etcd has ended by itself");
            }
        }
    }

    async fn fault(&mut self, fault: Fault) -> Result<(), String> {
        self.bury().await;
        match fault {
            Fault::Kill(id) => self.kill(id).await,
            Fault::Start(id) => match self.life(id)? {
                Life::Killed => {
                    let at = self.place(id)?;
                    self.start_member(at).await.map_err(|why| format!("{id} cannot be started: {why}"))?;
                    self.seen.lives(id, Life::Up, self.now());
                    Ok(())
                }
                Life::Up | Life::Paused => Err(format!("{id} is running already")),
            },
            Fault::Pause(id) => match self.life(id)? {
                Life::Up => self.pause(id).await,
                Life::Paused | Life::Killed => Err(format!("{id} is paused or killed: it does not run")),
            },
            Fault::Resume(id) => match self.life(id)? {
                Life::Paused => self.resume(id),
                Life::Up | Life::Killed => Err(format!("{id} is not paused")),
            },
            Fault::Isolate(id) => {
                self.life(id)?;
                self.network.isolate(id);
                Ok(())
            }
            Fault::Cut(one, other) if one == other => Err(format!("{one} cannot be cut off from itself")),
            Fault::Cut(one, other) => {
                self.life(one)?;
                self.life(other)?;
                self.network.cut(one, other);
                Ok(())
            }
            Fault::Heal => {
                self.network.heal();
                Ok(())
            }
            Fault::Transfer(id) => self.transfer(id).await,
            Fault::Campaign(_) => {
                Err(needs_embedded("a real etcd's election timer") + "; `transfer` hands the lead over")
            }
            Fault::Speed(_) | Fault::Freeze | Fault::Thaw | Fault::Step => Err(needs_embedded("a real etcd's clock")),
            Fault::Delay(_) | Fault::Loss(_) => Err(needs_embedded("how a real etcd's messages travel")),
            Fault::PreVote(_) | Fault::CheckQuorum(_) => Err(needs_embedded("the rules of a real etcd that runs")),
        }
    }

    fn place(&self, id: NodeId) -> Result<usize, String> {
        self.members.iter().position(|member| member.id == id).ok_or_else(|| format!("there is no node {id}"))
    }

    fn life(&self, id: NodeId) -> Result<Life, String> {
        self.seen.life(id).ok_or_else(|| format!("there is no node {id}"))
    }

    async fn start_member(&mut self, at: usize) -> std::io::Result<()> {
        let member = &mut self.members[at];
        let process = member.start()?;
        self.watchman.add(process.group()).await?;
        member.process = Some(process);
        Ok(())
    }

    async fn kill(&mut self, id: NodeId) -> Result<(), String> {
        let at = self.place(id)?;
        let Some(mut process) = self.members[at].process.take() else {
            return Err(format!("{id} is killed already: `start {id}` starts it again"));
        };
        process.kill().await;
        let _ = self.watchman.end(process.group()).await;
        self.seen.lives(id, Life::Killed, self.now());
        Ok(())
    }

    async fn pause(&mut self, id: NodeId) -> Result<(), String> {
        self.process(id)?.stop().await.map_err(|why| format!("{id} cannot be stopped: {why}"))?;
        self.seen.lives(id, Life::Paused, self.now());
        Ok(())
    }

    fn resume(&mut self, id: NodeId) -> Result<(), String> {
        self.process(id)?.signal(Signal::CONT).map_err(|why| format!("{id} cannot go on: {why}"))?;
        self.seen.lives(id, Life::Up, self.now());
        Ok(())
    }

    fn process(&mut self, id: NodeId) -> Result<&mut Process, String> {
        let at = self.place(id)?;
        self.members[at].process.as_mut().ok_or_else(|| format!("{id} does not run"))
    }

    async fn transfer(&mut self, to: NodeId) -> Result<(), String> {
        if self.life(to)? != Life::Up {
            return Err(format!("{to} is paused or killed: it does not run"));
        }
        let leader = self.seen.leader().ok_or("there is no leader")?;
        if leader == to {
            return Err(format!("{to} leads already"));
        }
        let member = self.seen.member(to).ok_or_else(|| format!("{to} has not said who it is yet"))?;
        let endpoint = format!("http://{}", self.members[self.place(leader)?].endpoint());
        match timeout(TRANSFER, move_leader(&endpoint, member)).await {
            Ok(moved) => moved.map_err(|error| error.to_string()),
            Err(_) => Err(format!("{leader} did not hand over within {TRANSFER:?}")),
        }
    }
}

async fn move_leader(endpoint: &str, to: MemberId) -> Result<(), crate::port::PortError> {
    Client::connect(endpoint, &poll::settings(endpoint, TRANSFER)).await?.move_leader(to).await
}

fn needs_embedded(what: &str) -> String {
    format!("this needs the embedded cluster (demo without --engine): {what} cannot be set")
}
