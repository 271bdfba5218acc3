//! Who leads through a scenario: says what is to be done and told, and when, and judges what came
//! of it.
//!
//! Pure: it is told the time, what happened, and how the cluster looks, and answers with what is
//! to be done now. Whoever runs the clients, in real time or in virtual, carries it out.
//!
//! ```text
//!   moments, pictures of the cluster ─► Director ─► orders, faults, narrations
//!                                          └─► expectations
//! ```

use std::time::Duration;

use super::expect::{Expectations, Strike, struck};
use super::scenario::{Cue, Deed, NodeWord, Scenario, Who};
use super::{Cast, ClientId, Tally};
use crate::domain::Key;
use crate::domain::play::{Expected, Happening, Moment, Narration, Order, Whom};
use crate::domain::raft::{ClusterTime, Fault, Life, NodeId, NodePicture, RaftPicture, RaftRole};

mod live;
mod rehearsed;
#[cfg(test)]
mod tests;

pub use live::{Direction, Theatre};
pub use rehearsed::Directed;

/// When nobody is there yet to whom something is to be done, it is tried again so long after.
const AGAIN: Duration = Duration::from_millis(50);

/// The director of a run.
#[derive(Debug)]
pub struct Director {
    lock: Key,
    cues: Vec<Standing>,
    narrations: Vec<Narration>,
    /// Which of those was told last.
    told: Option<usize>,
    expectations: Expectations,
    /// What is being done to nodes, until it is known to have been done.
    strikes: Vec<Strike>,
    needs_cluster: bool,
    cluster: Option<RaftPicture>,
}

/// A cue and how far it is.
#[derive(Debug)]
struct Standing {
    cue: Cue,
    /// From when on what it waits for counts.
    from: ClusterTime,
    /// When it is to be done; none while it waits, and when it is over.
    due: Option<ClusterTime>,
    over: bool,
}

/// Something to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// To a client.
    Order(Order),
    /// To the cluster.
    Fault(Fault),
    /// Tell the narration of this number.
    Tell(usize),
}

impl Director {
    /// Leads through a run of this scenario that begins then, with this cast.
    pub fn new(scenario: &Scenario, cast: &Cast, began: ClusterTime) -> Self {
        let standing = |cue: &Cue| {
            let from = began + cue.time;
            Standing { cue: cue.clone(), from, due: cue.when.is_none().then_some(from), over: false }
        };
        Self {
            lock: cast.lock.name().clone(),
            cues: scenario.cues.iter().map(standing).collect(),
            narrations: scenario.narrations.clone(),
            told: None,
            expectations: Expectations::new(&scenario.wanted, cast),
            strikes: Vec::new(),
            needs_cluster: scenario.needs.faults,
            cluster: None,
        }
    }

    /// Whether it has to be shown pictures of the cluster.
    pub const fn needs_cluster(&self) -> bool {
        self.needs_cluster
    }

    /// Takes in what happened.
    pub fn see(&mut self, moment: &Moment) {
        self.expectations.see(moment);
        if let Happening::Fault(fault) = moment.what
            && let Some(strike) = struck(fault).and_then(|node| self.take_strike(node))
        {
            self.expectations.strike(strike);
        }
        for standing in self.cues.iter_mut().filter(|standing| standing.due.is_none() && !standing.over) {
            let Some(trigger) = standing.cue.when.filter(|_| moment.at >= standing.from) else { continue };
            // Somebody is somebody of the lock that it is about.
            let about = matches!(trigger.who, Who::Client(_)) || moment.lock == self.lock;
            if about && trigger.is(moment) {
                standing.due = Some(moment.at + standing.cue.after);
            }
        }
    }

    /// Takes in how the cluster looks.
    pub fn look(&mut self, picture: RaftPicture) {
        self.expectations.look(&picture);
        self.cluster = Some(picture);
    }

    /// When something is to be done next, as far as is known.
    pub fn next(&self) -> Option<ClusterTime> {
        self.cues.iter().filter_map(|standing| standing.due).min()
    }

    /// What is to be done by now. What is about the cluster rests on the picture it was shown
    /// last, which should be a fresh one.
    pub fn act(&mut self, now: ClusterTime) -> Vec<Act> {
        let mut due: Vec<usize> = (0..self.cues.len()).filter(|at| self.cues[*at].is_due(now)).collect();
        due.sort_by_key(|at| self.cues[*at].due);
        let mut acts = Vec::new();
        // What was not done by now could not be done.
        self.strikes.clear();
        for at in due {
            let Some(deeds) = self.resolved(&self.cues[at].cue.deeds) else {
                self.cues[at].due = Some(now + AGAIN);
                continue;
            };
            let standing = &mut self.cues[at];
            standing.done(now);
            if let Some(number) = standing.cue.says {
                if let Some(narration) = self.narrations.get_mut(number) {
                    narration.at = now;
                }
                self.told = Some(number);
                acts.push(Act::Tell(number));
            }
            for act in &deeds {
                if let Act::Fault(fault) = act
                    && let Some(node) = struck(*fault)
                {
                    let leads = self.node(NodeWord::Leader) == Some(node);
                    self.strikes.push(Strike { at: now, node, leads });
                }
            }
            acts.extend(deeds);
        }
        acts
    }

    /// The narration that was told last.
    pub fn narration(&self) -> Option<&Narration> {
        self.narrations.get(self.told?)
    }

    /// All narrations, by the numbers by which they are told.
    pub fn narrations(&self) -> &[Narration] {
        &self.narrations
    }

    /// How what is expected stands at this time.
    pub fn expected(&self, tally: &Tally, now: ClusterTime) -> Vec<Expected> {
        self.expectations.stand(tally, now)
    }

    fn take_strike(&mut self, node: NodeId) -> Option<Strike> {
        let at = self.strikes.iter().position(|strike| strike.node == node)?;
        Some(self.strikes.swap_remove(at))
    }

    /// What these deeds are at the moment; none while one of them is about nobody.
    fn resolved(&self, deeds: &[Deed]) -> Option<Vec<Act>> {
        let resolve = |deed: &Deed| match deed {
            Deed::Order(Order::Client(whom, ill)) => {
                Some(Act::Order(Order::Client(Whom::Client(self.client(*whom)?), *ill)))
            }
            Deed::Order(order) => Some(Act::Order(order.clone())),
            // With such nodes it is a fault, or the file would have been refused.
            Deed::Fault(line) => line.fault(|word| self.node(word)).ok().flatten().map(Act::Fault),
        };
        deeds.iter().map(resolve).collect()
    }

    fn client(&self, whom: Whom) -> Option<ClientId> {
        match whom {
            Whom::Client(client) => Some(client),
            Whom::Holder => self.expectations.holder(&self.lock),
            Whom::Waiter => self.expectations.waiter(&self.lock),
        }
    }

    fn node(&self, word: NodeWord) -> Option<NodeId> {
        let nodes = &self.cluster.as_ref()?.nodes;
        let of = |life| move |node: &&NodePicture| node.life == life;
        // An old leader that is cut off may still think that it leads.
        let leader = || {
            let leads = nodes.iter().filter(of(Life::Up)).filter(|node| node.role == RaftRole::Leader);
            leads.max_by_key(|node| node.term).map(|node| node.id)
        };
        match word {
            NodeWord::Node(node) => Some(node),
            NodeWord::Leader => leader(),
            NodeWord::Follower(number) => {
                let leader = leader();
                let mut followers = nodes.iter().filter(of(Life::Up)).filter(|node| Some(node.id) != leader);
                followers.nth(number.checked_sub(1)?).map(|node| node.id)
            }
            NodeWord::Killed => nodes.iter().find(of(Life::Killed)).map(|node| node.id),
            NodeWord::Paused => nodes.iter().find(of(Life::Paused)).map(|node| node.id),
            NodeWord::MemberOf(whom) => {
                // Clients are spread over the members by their numbers.
                let client = self.client(whom)?;
                nodes.get(client.0 as usize % nodes.len().max(1)).map(|node| node.id)
            }
        }
    }
}

impl Standing {
    fn is_due(&self, now: ClusterTime) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn done(&mut self, now: ClusterTime) {
        match self.cue.every {
            None => (self.due, self.over) = (None, true),
            Some(every) => {
                self.from = self.due.unwrap_or(now) + every;
                self.due = self.cue.when.is_none().then_some(self.from);
            }
        }
    }
}
