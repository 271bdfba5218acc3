//! What is looked at of an embedded cluster: a node, an entry of the log, the way of a request.

use super::Cursor;
use crate::domain::RaftIndex;
use crate::domain::raft::{NodeId, RaftPicture, Speed, Trace};
use crate::model::raft;

/// That the dashboard looks at the demo, whose clients run in the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// What fixes timers, delays and losses of its cluster.
    pub seed: u64,
    /// How many members it was started with.
    pub members: usize,
    /// Whether they are real etcds that were started for it, and not part of the program.
    pub real: bool,
    /// Whether the hint is shown that tells the first keys to press.
    pub hint: bool,
}

impl Demo {
    /// A demo that has just been started.
    pub const fn new(seed: u64, members: usize) -> Self {
        Self { seed, members, real: false, hint: true }
    }

    /// The same on real etcds.
    #[must_use]
    pub const fn of_real_etcds(self) -> Self {
        Self { real: true, ..self }
    }
}

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub struct RaftUi {
    /// The selected node; until one is picked, whoever leads.
    pub nodes: Cursor<NodeId>,
    /// The selected entry of the log; `None` follows the newest.
    pub entry: Option<RaftIndex>,
    /// The selected request.
    pub requests: Cursor<u64>,
    /// Its way, which is kept when it is no longer among the latest.
    pub way: Option<Box<Trace>>,
    /// Whether elections are shown where there is no room for them beside the logs.
    pub elections: bool,
    /// The node that was killed last from a screen that shows no nodes.
    pub killed: Option<NodeId>,
    /// The speed of the clock that was asked for last, until it is known what came of that.
    pub asked_speed: Option<Speed>,
}

impl RaftUi {
    /// The selected node.
    pub fn node(&self, picture: &RaftPicture) -> Option<NodeId> {
        let picked = self.nodes.picked().copied().filter(|&id| raft::node(picture, id).is_some());
        let leader = || raft::leader(picture).map(|node| node.id);
        picked.or_else(leader).or_else(|| picture.nodes.first().map(|node| node.id))
    }

    /// The selected entry of the log.
    pub fn entry(&self, picture: &RaftPicture) -> RaftIndex {
        let last = raft::last(picture);
        self.entry.map_or(last, |entry| entry.min(last))
    }

    /// Selects another entry, or follows the newest again when it lies behind that.
    pub fn go_to_entry(&mut self, picture: &RaftPicture, forward: bool) {
        let last = raft::last(picture);
        let at = self.entry(picture);
        let (oldest, to) = (
            raft::oldest_shown(picture).unwrap_or(RaftIndex(1.min(last.0))),
            if forward { at.0.saturating_add(1) } else { at.0.saturating_sub(1) },
        );
        let to = RaftIndex(to).max(oldest);
        self.entry = match to {
            to if to > last => None,
            // Behind a gap there is only the log of a node that has not run for long.
            to if !forward && raft::is_forgotten(picture, to) => Some(at),
            to => Some(to),
        };
    }

    /// Follows the newest entry. Returns whether an older one was selected.
    pub const fn follow_log(&mut self) -> bool {
        self.entry.take().is_some()
    }

    /// The request whose way is shown: the selected one, or the newest.
    pub fn shown_way<'a>(&'a self, picture: &'a RaftPicture) -> Option<&'a Trace> {
        match self.requests.picked() {
            Some(&id) => trace(picture, id).or(self.way.as_deref().filter(|way| way.id == id)),
            None => picture.traces.last(),
        }
    }

    /// The selected request, when it is no longer among the latest.
    pub fn gone_way(&self, picture: &RaftPicture) -> Option<&Trace> {
        let id = *self.requests.picked()?;
        self.way.as_deref().filter(|way| way.id == id && trace(picture, id).is_none())
    }

    /// Selects a request.
    pub fn pick_request(&mut self, picture: &RaftPicture, id: u64) {
        self.requests.pin(Some(id));
        self.settle(picture);
    }

    /// Brings the selections up to date with a picture. Returns whether that changed one.
    pub fn settle(&mut self, picture: &RaftPicture) {
        if let Some(selected) = self.node(picture) {
            let at = picture.nodes.iter().position(|node| node.id == selected).unwrap_or_default();
            self.nodes.position.place(at, picture.nodes.len(), picture.nodes.len());
        }
        // What nothing can be told of any more is no use to look at.
        if self.entry.is_some() && raft::is_forgotten(picture, self.entry(picture)) {
            self.entry = None;
        }
        // Newest first.
        let traces = &picture.traces;
        self.requests.follow(traces.len(), |row, id| traces[traces.len() - 1 - row].id == *id);
        if let Some(&id) = self.requests.picked() {
            let known = trace(picture, id);
            if let Some(known) = known.filter(|&known| self.way.as_deref() != Some(known)) {
                self.way = Some(Box::new(known.clone()));
            }
        }
    }
}

fn trace(picture: &RaftPicture, id: u64) -> Option<&Trace> {
    picture.traces.iter().rev().find(|trace| trace.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;
    use crate::domain::raft::{NodePicture, RaftRole};

    fn picture(traces: std::ops::Range<u64>) -> RaftPicture {
        let node = |id| NodePicture { id: NodeId(id), term: Term(1), last: RaftIndex(9), ..NodePicture::default() };
        let trace = |id| Trace { id, what: format!("put /{id}"), steps: vec![], stopped: None };
        RaftPicture {
            nodes: (1..=3).map(node).collect(),
            traces: traces.map(trace).collect(),
            ..RaftPicture::default()
        }
    }

    #[test]
    fn until_a_node_is_picked_the_leader_is_the_selected_one() {
        let mut picture = picture(0..0);
        let mut ui = RaftUi::default();
        assert_eq!(ui.node(&picture), Some(NodeId(1)));
        picture.nodes[1].role = RaftRole::Leader;
        ui.settle(&picture);
        assert_eq!((ui.node(&picture), ui.nodes.index()), (Some(NodeId(2)), 1));
        ui.nodes.pin(Some(NodeId(3)));
        assert_eq!(ui.node(&picture), Some(NodeId(3)));
        picture.nodes.truncate(2);
        assert_eq!(ui.node(&picture), Some(NodeId(2)), "a node that was removed is not selected");
    }

    #[test]
    fn the_entry_follows_the_newest_until_an_older_one_is_picked() {
        let mut picture = picture(0..0);
        let mut ui = RaftUi::default();
        assert_eq!(ui.entry(&picture), RaftIndex(9));
        ui.go_to_entry(&picture, false);
        picture.nodes[0].last = RaftIndex(12);
        assert_eq!(ui.entry(&picture), RaftIndex(8));
        for _ in 0..20 {
            ui.go_to_entry(&picture, false);
        }
        assert_eq!(ui.entry(&picture), RaftIndex(1));
        for _ in 0..20 {
            ui.go_to_entry(&picture, true);
        }
        assert_eq!((ui.entry, ui.entry(&picture)), (None, RaftIndex(12)));
    }

    #[test]
    fn an_empty_cluster_has_nothing_to_select() {
        let picture = RaftPicture::default();
        let mut ui = RaftUi::default();
        ui.settle(&picture);
        ui.go_to_entry(&picture, false);
        assert_eq!((ui.node(&picture), ui.entry(&picture), ui.shown_way(&picture)), (None, RaftIndex(0), None));
    }

    #[test]
    fn a_picked_way_stays_when_its_request_is_no_longer_among_the_latest() {
        let mut ui = RaftUi::default();
        let before = picture(0..5);
        assert_eq!(ui.shown_way(&before).map(|way| way.id), Some(4), "the newest");
        ui.pick_request(&before, 2);
        let between = picture(2..9);
        ui.settle(&between);
        assert_eq!(ui.gone_way(&between), None);
        assert_eq!(ui.requests.index(), 6, "newest first");
        let after = picture(5..12);
        ui.settle(&after);
        assert_eq!(ui.shown_way(&after).map(|way| way.what.as_str()), Some("put /2"));
        assert_eq!(ui.gone_way(&after), ui.shown_way(&after), "and is told to be gone");
    }
}
