//! One run: a cluster, clients, and things that go wrong, all drawn from one seed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockscope::domain::raft::{ClusterTime, Fault, Life, NodeId, Rules};
use lockscope::raft::{Change, Config, Outcome, RequestId};

use crate::Cluster;
use crate::acknowledged_writes::AcknowledgedWrites;
use crate::chance::Chance;
use crate::determinism::Transcript;
use crate::election_safety::ElectionSafety;
use crate::leader_completeness::LeaderCompleteness;
use crate::linearizable_reads::LinearizableReads;
use crate::liveness;
use crate::log_matching::LogMatching;
use crate::registers::{Put, Register, Registers};
use crate::state_machine_safety::StateMachineSafety;

/// How long things go wrong, on the cluster's clock.
const TROUBLE: Duration = Duration::from_secs(3);

/// The registers that clients use.
const KEYS: u64 = 3;

/// What is broken on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// The machine of node 2 takes some commands in twice.
    Machine,
    /// Clients read from whoever takes itself for the leader, without asking it to make sure.
    Reads,
    /// Clients take a write for done as soon as the leader has it.
    Acknowledgements,
}

/// What was seen in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub terms: usize,
    pub commits: usize,
    pub acknowledged: usize,
    pub reads: usize,
    pub snapshots: usize,
    pub changes: usize,
    pub transfers: usize,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        self.terms += other.terms;
        self.commits += other.commits;
        self.acknowledged += other.acknowledged;
        self.reads += other.reads;
        self.snapshots += other.snapshots;
        self.changes += other.changes;
        self.transfers += other.transfers;
    }
}

/// A run.
pub struct Play {
    pub cluster: Cluster,
    chance: Chance,
    broken: Broken,
    transcript: Option<Transcript>,
    next_value: u64,
    puts: BTreeMap<RequestId, Put>,
    /// Nodes that were made and may not be members.
    spare: Vec<NodeId>,
    nodes_made: u64,
    seen: Seen,
    elections: ElectionSafety,
    logs: LogMatching,
    leaders: LeaderCompleteness,
    machines: StateMachineSafety,
    writes: AcknowledgedWrites,
    reads: LinearizableReads,
}

impl Play {
    pub fn new(seed: u64, broken: Broken) -> Self {
        let mut chance = Chance::new(seed);
        let nodes = chance.pick(&[1, 3, 3, 3, 5, 5]).unwrap();
        let config = Config {
            nodes,
            seed,
            rules: Rules { pre_vote: chance.coin(), check_quorum: chance.coin(), ..Config::default().rules },
            delay: if chance.coin() { Duration::ZERO } else { chance.millis(15) },
            jitter: if chance.coin() { Duration::ZERO } else { chance.millis(15) },
            loss: 0,
            compact_after: 4 + chance.below(60),
            trace: 8,
            patience: Duration::from_millis(500 + chance.below(2000)),
        };
        let make = move |id| {
            if broken == Broken::Machine && id == NodeId(2) { Registers::broken() } else { Registers::default() }
        };
        Self {
            cluster: Cluster::new(config, make),
            chance,
            broken,
            transcript: None,
            next_value: 0,
            puts: BTreeMap::new(),
            spare: Vec::new(),
            nodes_made: nodes as u64,
            seen: Seen::default(),
            elections: ElectionSafety::default(),
            logs: LogMatching::default(),
            leaders: LeaderCompleteness::default(),
            machines: StateMachineSafety::default(),
            writes: AcknowledgedWrites::default(),
            reads: LinearizableReads::default(),
        }
    }

    pub fn write_down(mut self) -> Self {
        self.transcript = Some(Transcript::default());
        self
    }

    pub fn transcript(&self) -> Option<&Transcript> {
        self.transcript.as_ref()
    }

    /// Lets things go wrong for a while, mends them, and looks whether all is well.
    pub fn run(&mut self) -> Result<Seen, String> {
        self.try_to_run().map_err(|why| format!("{why}\n{}", summary(&self.cluster)))
    }

    fn try_to_run(&mut self) -> Result<Seen, String> {
        let end = ClusterTime::default() + TROUBLE;
        while self.cluster.now() < end {
            let next = self.cluster.now() + self.chance.millis(30);
            self.run_until(next)?;
            self.act()?;
        }
        self.mend();
        liveness::recovers(self)?;
        self.logs.look_closely(&self.cluster)?;
        for id in liveness::members(&self.cluster) {
            let journal = &self.cluster.node(id).unwrap().machine().journal;
            self.writes.look(journal).map_err(|why| format!("{id}: {why}"))?;
        }
        self.seen.terms = self.elections.terms();
        self.seen.commits = self.leaders.commits_seen();
        self.seen.acknowledged = self.writes.seen();
        self.seen.reads = self.reads.reads();
        let snapshots = self.cluster.nodes().into_iter().filter(|id| self.cluster.node(*id).unwrap().snapshot().0 > 0);
        self.seen.snapshots = snapshots.count();
        Ok(self.seen)
    }

    /// One thing happens after the other, and each time all is looked at.
    pub fn run_until(&mut self, time: ClusterTime) -> Result<(), String> {
        while self.cluster.next_event().is_some_and(|next| next <= time) {
            if !self.cluster.step() {
                break;
            }
            self.look()?;
        }
        self.cluster.advance(time);
        self.look()
    }

    fn look(&mut self) -> Result<(), String> {
        self.take_done()?;
        self.elections.look(&self.cluster)?;
        self.logs.look(&self.cluster)?;
        self.leaders.look(&self.cluster)?;
        self.machines.look(&self.cluster)?;
        if let Some(transcript) = &mut self.transcript {
            transcript.write(&self.cluster.picture());
        }
        Ok(())
    }

    fn take_done(&mut self) -> Result<(), String> {
        for done in self.cluster.take_done().collect::<Vec<_>>() {
            if let Some(transcript) = &mut self.transcript {
                transcript.done(&done);
            }
            let put = self.puts.remove(&done.request);
            match (done.outcome, put) {
                (Outcome::Applied { answer: version, .. }, Some(Put { value, .. })) => {
                    self.writes.acknowledge(value);
                    self.reads.wrote(done.request, Register { version, value })?;
                }
                (Outcome::Readable { index }, _) => {
                    // A node that learns in the same instant that it was removed is read no more.
                    let Some(node) = self.cluster.node(done.node) else {
                        self.reads.failed(done.request);
                        continue;
                    };
                    if node.applied() < index {
                        return Err(format!("{} may be read at {index} and has not applied that", done.node));
                    }
                    if let Some(key) = self.reads.key(done.request) {
                        self.reads.read(done.request, node.machine().read(key))?;
                    }
                }
                (Outcome::Answered(register), _) => self.reads.read(done.request, register)?,
                (Outcome::Changed, _) => self.seen.changes += 1,
                (Outcome::Transferred, _) => self.seen.transfers += 1,
                (Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Applied { .. }, _) => {
                    self.reads.failed(done.request);
                }
            }
        }
        Ok(())
    }

    /// A client asks for something, or something goes wrong.
    fn act(&mut self) -> Result<(), String> {
        let nodes = self.cluster.nodes();
        let Some(node) = self.chance.pick(&nodes) else { return Err("all nodes were removed".to_owned()) };
        match self.chance.below(100) {
            0..45 => {
                for _ in 0..=self.chance.below(4) {
                    self.write(node);
                }
            }
            45..60 => self.read(node)?,
            60..68 => {
                let key = self.key();
                let request = self.cluster.ask(node, key);
                self.reads.begins(request, key);
            }
            68..74 => self.change(node),
            74..78 => self.rivals(node)?,
            _ => self.trouble(node),
        }
        self.look()
    }

    fn key(&mut self) -> u8 {
        u8::try_from(self.chance.below(KEYS)).unwrap()
    }

    pub fn write(&mut self, node: NodeId) -> RequestId {
        self.next_value += 1;
        let put = Put { key: self.key(), value: self.next_value };
        let request = self.cluster.propose(node, put);
        self.puts.insert(request, put);
        self.reads.begins(request, put.key);
        if self.broken == Broken::Acknowledgements && self.cluster.leader() == Some(node) {
            self.writes.acknowledge(put.value);
        }
        request
    }

    /// Whether a node has neither answered a write nor taken it in. A node that got it in a
    /// snapshot has done that and cannot answer.
    pub fn is_open(&self, node: NodeId, request: RequestId) -> bool {
        let journal = |id| self.cluster.node(id).map(|node| &node.machine().journal);
        let has = |value| journal(node).is_some_and(|journal| journal.contains(&value));
        self.puts.get(&request).is_some_and(|put| !has(put.value))
    }

    fn read(&mut self, node: NodeId) -> Result<(), String> {
        let key = self.key();
        let request = self.cluster.read(node);
        self.reads.begins(request, key);
        let view = self.cluster.node(node).unwrap();
        if self.broken == Broken::Reads && view.leader() == Some(node) && view.life() == Life::Up {
            self.reads.read(request, view.machine().read(key))?;
        }
        Ok(())
    }

    fn change(&mut self, at: NodeId) {
        let members = self.cluster.node(at).unwrap().members();
        let learners: Vec<_> = members.learners.iter().copied().collect();
        let voters: Vec<_> = members.voters.iter().copied().collect();
        let any: Vec<_> = voters.iter().chain(&learners).copied().collect();
        let change = match self.chance.below(4) {
            0 if !learners.is_empty() => Change::Promote(learners[0]),
            0 | 1 if voters.len() < 7 => {
                let new = self.spare_node();
                if self.chance.coin() { Change::AddLearner(new) } else { Change::AddVoter(new) }
            }
            _ if voters.len() > 2 || !learners.is_empty() => {
                let Some(id) = self.chance.pick(&any) else { return };
                Change::Remove(id)
            }
            _ => return,
        };
        self.cluster.change(at, change);
    }

    /// A node that runs and is no member, as far as is known.
    fn spare_node(&mut self) -> NodeId {
        let members = liveness::members(&self.cluster);
        let nodes = self.cluster.nodes();
        self.spare.retain(|id| nodes.contains(id) && !members.contains(id));
        self.spare.first().copied().unwrap_or_else(|| {
            self.nodes_made += 1;
            let id = NodeId(self.nodes_made);
            self.cluster.add_node(id).unwrap();
            self.spare.push(id);
            id
        })
    }

    /// Two that do not hear each other stand for election, and a voter starts again between their
    /// calls.
    fn rivals(&mut self, voter: NodeId) -> Result<(), String> {
        let others: Vec<_> = self.cluster.nodes().into_iter().filter(|id| *id != voter).collect();
        let (Some(one), Some(other)) = (self.chance.pick(&others), self.chance.pick(&others)) else { return Ok(()) };
        let faults = [Fault::Cut(one, other), Fault::Campaign(one), Fault::Kill(voter), Fault::Start(voter)];
        for fault in faults.into_iter().chain([Fault::Campaign(other)]) {
            let _ = self.cluster.fault(&fault);
            let soon = self.cluster.now() + self.chance.millis(20);
            self.run_until(soon)?;
        }
        Ok(())
    }

    fn trouble(&mut self, node: NodeId) {
        let nodes = self.cluster.nodes();
        let other = self.chance.pick(&nodes).unwrap();
        let leader = self.cluster.leader().unwrap_or(node);
        let victim = if self.chance.coin() { leader } else { node };
        let fault = match self.chance.below(22) {
            0..3 => Fault::Kill(victim),
            3..7 => Fault::Start(node),
            7..9 => Fault::Pause(victim),
            9..12 => Fault::Resume(node),
            12 => Fault::Isolate(victim),
            13 => Fault::Cut(victim, other),
            14..16 => Fault::Heal,
            16 => Fault::Delay(self.chance.millis(40)),
            17 => Fault::Loss(u16::try_from(self.chance.below(300)).unwrap()),
            18 => Fault::Campaign(node),
            19 => Fault::Transfer(node),
            20 => Fault::PreVote(self.chance.coin()),
            _ => Fault::CheckQuorum(self.chance.coin()),
        };
        // What cannot be done, such as to kill a node twice, is refused: that is well.
        let _ = self.cluster.fault(&fault);
    }

    fn mend(&mut self) {
        self.cluster.fault(&Fault::Heal).unwrap();
        // A node that was added by a leader whose word never counted calls elections for ever. Who
        // is loyal to a leader does not listen to it (§6, at the end); plain Raft has no remedy.
        let rules = self.cluster.picture().rules;
        let members = liveness::members(&self.cluster);
        if !rules.pre_vote && !rules.check_quorum && self.cluster.nodes().iter().any(|id| !members.contains(id)) {
            self.cluster.fault(&Fault::CheckQuorum(true)).unwrap();
        }
        for id in self.cluster.nodes() {
            match self.cluster.node(id).unwrap().life() {
                Life::Up => {}
                Life::Paused => self.cluster.fault(&Fault::Resume(id)).unwrap(),
                Life::Killed => self.cluster.fault(&Fault::Start(id)).unwrap(),
            }
        }
    }
}

/// The nodes in a few words each, for who looks into a failure.
pub fn summary(cluster: &Cluster) -> String {
    let line = |id: NodeId| {
        let node = cluster.node(id).unwrap();
        let members = node.members();
        let ids = |ids: &BTreeSet<NodeId>| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        format!(
            "{id} {:?} {:?} term {} leader {:?} log {}..{} commit {} applied {} voters {} incoming {} learners {}",
            node.life(),
            node.role(),
            node.term(),
            node.leader(),
            node.snapshot(),
            node.last(),
            node.commit(),
            node.applied(),
            ids(&members.voters),
            ids(&members.incoming),
            ids(&members.learners),
        )
    };
    let picture = cluster.picture();
    let nodes: Vec<_> = cluster.nodes().into_iter().map(line).collect();
    format!("{}\n{:?}\n{:?}", nodes.join("\n"), picture.rules, picture.network)
}
