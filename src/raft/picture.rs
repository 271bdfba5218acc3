//! The cluster at one moment, for whoever draws it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::cluster::Cluster;
use super::lead::Lead;
use super::log::{Body, Entry};
use super::node::Node;
use super::view::{Members, NodeView};
use super::{Machine, trace};
use crate::domain::raft::{ClusterTime, LogCell, NodeId, NodePicture, RaftPicture, TermRecord};
use crate::domain::{MemberId, RaftIndex};

/// How many entries at the end of a log are shown.
const WINDOW: u64 = 64;

/// How many messages are shown.
const FLIGHTS: usize = 64;

impl<M: Machine> Cluster<M> {
    /// Its terms, as in the picture.
    pub fn terms(&self) -> Vec<TermRecord> {
        self.world.terms.picture()
    }

    /// The cluster as it is now. Speed, pause and the members' ids are left to the driver.
    pub fn picture(&self) -> RaftPicture {
        let ids: Vec<NodeId> = self.nodes();
        RaftPicture {
            now: self.world.now,
            seed: self.world.config.seed,
            rules: self.world.rules,
            network: self.world.network.picture(&ids),
            nodes: self.nodes.values().map(|node| node_picture(node, self.world.now)).collect(),
            flights: self.world.network.flights(FLIGHTS),
            in_flight: self.world.network.in_flight(),
            terms: self.terms(),
            traces: self.world.traces.picture(),
            ..RaftPicture::default()
        }
    }
}

fn node_picture<M: Machine>(node: &Node<M>, now: ClusterTime) -> NodePicture {
    let view = NodeView::of(node);
    let first = RaftIndex((node.log.last().0 + 1).saturating_sub(WINDOW));
    let cell = |(index, entry): (RaftIndex, &Entry<M::Command>)| LogCell {
        index,
        term: entry.term,
        kind: entry.body.kind(),
        what: match &*entry.body {
            Body::Members(_) => node.members_at(index),
            body => trace::describe::<M>(body),
        },
    };
    // The timer of a paused node stands still: what is left of it stays what it was.
    let asleep = node.paused.map_or(Duration::ZERO, |since| now.since(since));
    let votes = |ids: Option<&BTreeSet<NodeId>>| ids.into_iter().flatten().copied().collect();
    NodePicture {
        id: node.id,
        member: MemberId::default(),
        life: node.life,
        role: node.role(),
        learner: view.is_learner(),
        term: node.term(),
        voted_for: node.vote.filter(|(term, _)| *term == node.term()).map(|(_, candidate)| candidate),
        leader: node.leader,
        timer: node.timer.map(|alarm| alarm.later(asleep).into()),
        last: node.log.last(),
        commit: node.commit(),
        applied: node.applied,
        snapshot: node.log.before(),
        revision: node.machine.revision(),
        log: node.log.range(first, node.log.last()).map(cell).collect(),
        granted: votes(node.ballot.as_ref().map(|ballot| &ballot.granted)),
        refused: votes(node.ballot.as_ref().map(|ballot| &ballot.refused)),
        progress: node.lead.as_ref().map(Lead::picture).unwrap_or_default(),
        leads_since: node.lead.as_ref().map(|lead| lead.since),
    }
}

impl<M: Machine> Node<M> {
    /// The members by an entry of its log, such as `members n1 n2, learner n3`.
    fn members_at(&self, index: RaftIndex) -> String {
        let at = noraft::LogIndex::new(index.0);
        let Some((_, config)) = self.raft.log().get_position_and_config(at) else { return "members".to_owned() };
        let Members { voters, incoming, learners } = config.into();
        let parts = [("members", voters), (", to be", incoming), (", learner", learners)];
        let mut words = String::new();
        for (part, ids) in parts.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            words.push_str(part);
            for id in ids {
                words.push(' ');
                words.push_str(&id.to_string());
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Change, Config, Outcome};
    use super::*;
    use crate::domain::raft::{EntryKind, Fault, Life, RaftRole};

    #[test]
    fn only_the_end_of_a_log_is_shown() {
        let (mut cluster, leader) = led(Config::default());
        for note in 0..100 {
            cluster.note(leader, note);
        }
        for node in cluster.picture().nodes {
            assert_eq!(node.log.len() as u64, WINDOW);
            assert_eq!(node.log.last().unwrap().index, node.last);
            assert!(node.log.iter().all(|cell| cell.kind == EntryKind::Request && cell.what.starts_with("note ")));
        }
    }

    #[test]
    fn an_entry_about_the_members_says_who_they_are() {
        let (mut cluster, leader) = led(Config::default());
        cluster.add_node(N4).unwrap();
        for change in [Change::AddLearner(N4), Change::Promote(N4)] {
            let request = cluster.change(leader, change);
            assert!(matches!(cluster.wait(request, millis(500)), Some(Outcome::Changed)));
            cluster.run(millis(100));
        }
        let log = &cluster.picture().nodes[0].log;
        let members: Vec<_> =
            log.iter().filter(|cell| cell.kind == EntryKind::Members).map(|cell| &*cell.what).collect();
        let expected = [
            "members n1 n2 n3",
            "members n1 n2 n3, learner n4",
            "members n1 n2 n3, to be n1 n2 n3 n4",
            "members n1 n2 n3 n4",
        ];
        assert_eq!(members, expected);
    }

    #[test]
    fn a_leader_shows_what_it_knows_of_the_others() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        cluster.run(millis(100));
        let picture = cluster.picture();
        for node in &picture.nodes {
            let leads = node.id == leader;
            assert_eq!((node.leads_since.is_some(), node.progress.len()), (leads, if leads { 2 } else { 0 }));
            for progress in &node.progress {
                assert_eq!((progress.matched, progress.next), (node.last, RaftIndex(node.last.0 + 1)));
                assert!(picture.now.since(progress.heard) <= millis(51));
            }
        }
    }

    #[test]
    fn a_killed_node_is_shown_as_it_was_last() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        cluster.do_(Fault::Kill(leader));
        let picture = cluster.picture();
        let node = picture.nodes.iter().find(|node| node.id == leader).unwrap();
        assert_eq!((node.life, node.role, node.timer), (Life::Killed, RaftRole::Leader, None));
        assert_eq!(node.applied, node.last);
        assert!(node.progress.is_empty() && node.leads_since.is_none());
    }
}
