//! Looking around in an embedded cluster: from node to node, from entry to entry, to a way.

use crate::domain::raft::RaftPicture;
use crate::input::{Pane, Screen};
use crate::model::Model;
use crate::model::raft;
use crate::model::ui::{Notice, RaftUi};

use super::navigating;

/// Selects the next node (`by` 1) or the one before (-1), round the ends.
pub fn next_node(model: &mut Model, by: isize) {
    let (facts, ui) = model.shown_and_ui();
    let Some(picture) = facts.raft.as_deref().filter(|picture| !picture.nodes.is_empty()) else { return };
    let selected = ui.raft.node(picture);
    let at = picture.nodes.iter().position(|node| Some(node.id) == selected).unwrap_or_default();
    let len = picture.nodes.len();
    let next = at.checked_add_signed(by).map_or(len - 1, |next| next % len);
    ui.raft.nodes.pin(Some(picture.nodes[next].id));
    ui.raft.settle(picture);
}

/// Selects the log entry before or after the selected one.
pub fn go_to_entry(model: &mut Model, forward: bool) {
    let (facts, ui) = model.shown_and_ui();
    if let Some(picture) = &facts.raft {
        ui.raft.go_to_entry(picture, forward);
    }
}

/// Shows what goes on between the members, with the selected member's node selected.
pub fn show_member(model: &mut Model) {
    let (facts, ui) = model.shown_and_ui();
    let member = facts.cluster.members().get(ui.members.index()).map(|facts| facts.member.id);
    let nodes = facts.raft.iter().flat_map(|picture| &picture.nodes);
    let node = nodes.into_iter().find(|node| Some(node.member) == member).map(|node| node.id);
    if ui.members.picked().is_some() && node.is_some() {
        ui.raft.nodes.pin(node);
    }
    navigating::switch(ui, Screen::Raft);
}

/// Shows the way of the request that became the selected entry, or of the newest request when
/// that is not known.
pub fn show_way(model: &mut Model) {
    let (facts, ui) = model.shown_and_ui();
    let Some(picture) = facts.raft.as_deref() else { return };
    let newest = picture.traces.last();
    let (trace, unknown) = match ui.raft.entry {
        None => (newest, None),
        Some(index) => match raft::trace_of(picture, index) {
            Some(trace) => (Some(trace), None),
            None => (newest, Some(index)),
        },
    };
    if let Some(trace) = trace {
        ui.raft.pick_request(picture, trace.id);
    }
    ui.scrolled[Pane::Way as usize] = 0;
    navigating::switch(ui, Screen::Way);
    if let Some(index) = unknown {
        model.tell(Notice::NoWay(index));
    }
}

/// Has the selection stay with what stands where it is.
pub fn pin(ui: &mut RaftUi, picture: &RaftPicture, pane: Pane) {
    if pane == Pane::Nodes {
        ui.nodes.pin(picture.nodes.get(ui.nodes.index()).map(|node| node.id));
    } else if let Some(trace) = picture.traces.iter().rev().nth(ui.requests.index()) {
        ui.pick_request(picture, trace.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::raft::{
        ClusterTime, EntryKind, LogCell, NodeId, NodePicture, RaftRole, Trace, TraceStep, Waypoint,
    };
    use crate::domain::{MemberId, RaftIndex, Term};
    use crate::event::Observation;
    use crate::input::Target;
    use crate::update::testing::World;

    /// Three nodes with nine entries; entries 3 and 5 came of the requests 30 and 50.
    fn world() -> World {
        let cell =
            |index| LogCell { index: RaftIndex(index), term: Term(7), kind: EntryKind::Request, what: String::new() };
        let node = |id| NodePicture {
            id: NodeId(id),
            member: MemberId(id),
            term: Term(7),
            role: if id == 2 { RaftRole::Leader } else { RaftRole::Follower },
            last: RaftIndex(9),
            log: (1..=9).map(cell).collect(),
            ..NodePicture::default()
        };
        let trace = |index: u64| {
            let what = Waypoint::Proposed { term: Term(7), index: RaftIndex(index) };
            let step = TraceStep { at: ClusterTime(index), node: NodeId(2), what };
            Trace { id: 10 * index, what: format!("put /{index}"), steps: vec![step], stopped: None }
        };
        let picture = RaftPicture {
            nodes: (1..=3).map(node).collect(),
            traces: [3, 5].map(trace).to_vec(),
            ..RaftPicture::default()
        };
        let mut world = World::new(&[("/a", 1)]);
        world.observe(Observation::Raft(Box::new(picture)));
        world.pass(0);
        world
    }

    fn way(world: &World) -> Option<u64> {
        let picture = world.model.shown().raft.as_deref().unwrap();
        world.model.ui.raft.shown_way(picture).map(|trace| trace.id)
    }

    #[test]
    fn w_shows_the_newest_request_and_esc_leads_back() {
        let mut world = world();
        world.keys("rw");
        assert_eq!((world.model.ui.screen, way(&world)), (Screen::Way, Some(50)));
        world.keys("<Esc>");
        assert_eq!(world.model.ui.screen, Screen::Raft);
        world.keys("<Esc>");
        assert_eq!(world.model.ui.screen, Screen::Locks);
    }

    #[test]
    fn an_entry_leads_to_the_request_it_came_of() {
        let mut world = world();
        world.keys("r<Left><Left><Left><Left><Left><Left><Enter>");
        assert_eq!((world.model.ui.screen, way(&world)), (Screen::Way, Some(30)));
        world.keys("<Esc><Left><Enter>");
        assert_eq!((world.model.ui.screen, way(&world)), (Screen::Way, Some(50)));
        assert_eq!(world.toast(), "no way of entry 2 is known; this is the newest request");
    }

    #[test]
    fn end_and_esc_have_the_log_follow_again() {
        let mut world = world();
        world.keys("r<Left><Left>");
        world.shown(Pane::Nodes, 3, 3);
        assert_eq!(world.model.ui.raft.entry, Some(RaftIndex(7)));
        world.keys("<End>");
        assert_eq!((world.model.ui.screen, world.model.ui.raft.entry), (Screen::Raft, None));
        world.keys("<Left><Esc>");
        assert_eq!((world.model.ui.screen, world.model.ui.raft.entry), (Screen::Raft, None));
        world.keys("<Esc>");
        assert_eq!(world.model.ui.screen, Screen::Locks);
    }

    #[test]
    fn an_entry_that_is_no_longer_shown_is_let_go() {
        let mut world = world();
        world.keys("r<Left><Left>");
        tell(&mut world, |picture| picture.nodes.iter_mut().for_each(|node| drop(node.log.drain(..6))));
        world.pass(0);
        assert_eq!(world.model.ui.raft.entry, Some(RaftIndex(7)), "the oldest that is shown");
        tell(&mut world, |picture| picture.nodes.iter_mut().for_each(|node| drop(node.log.remove(0))));
        world.pass(0);
        assert_eq!(world.model.ui.raft.entry, None);
    }

    #[test]
    fn requests_are_gone_through_newest_first() {
        let mut world = world();
        world.keys("rw");
        world.shown(Pane::Requests, 5, 2);
        world.keys("j");
        assert_eq!(way(&world), Some(30));
        world.keys("k");
        assert_eq!(way(&world), Some(50));
        world.click(Target::Request(30));
        assert_eq!(way(&world), Some(30));
    }

    #[test]
    fn a_click_selects_a_node_and_an_entry() {
        let mut world = world();
        world.keys("r");
        world.click(Target::Node(NodeId(3)));
        world.click(Target::Entry(NodeId(1), RaftIndex(5)));
        let picture = world.model.shown().raft.as_deref().unwrap();
        assert_eq!(world.model.ui.raft.node(picture), Some(NodeId(1)));
        assert_eq!(world.model.ui.raft.entry(picture), RaftIndex(5));
    }

    /// Shows the world's picture after a change of it.
    fn tell(world: &mut World, change: impl FnOnce(&mut RaftPicture)) {
        let mut picture = world.model.live().raft.as_deref().cloned().unwrap();
        change(&mut picture);
        world.observe(Observation::Raft(Box::new(picture)));
    }

    #[test]
    fn a_picture_is_drawn_where_it_is_shown_and_twenty_times_a_second_at_most() {
        let mut world = world();
        world.keys("6");
        world.pass(1_000);
        let (drawn, version) = (world.now(), world.model.version());
        world.pass(1);
        tell(&mut world, |picture| picture.now = ClusterTime(9));
        tell(&mut world, |picture| picture.nodes[0].term = Term(8));
        assert_eq!(world.model.version(), version, "the log shows nothing of it");
        assert_eq!(world.model.next_frame(drawn), None);
        tell(&mut world, |picture| picture.paused = true);
        assert!(world.model.version() > version, "every screen says that the clock stands still");
        world.keys("r");
        world.pass(1_000);
        let (drawn, version) = (world.now(), world.model.version());
        world.pass(3);
        assert_eq!(world.model.next_frame(drawn), None, "nothing moved since");
        tell(&mut world, |_| ());
        assert_eq!(world.model.next_frame(drawn), None, "nor is it news to say the same again");
        tell(&mut world, |picture| picture.now = ClusterTime(10));
        assert_eq!(world.model.version(), version);
        assert_eq!(world.model.next_frame(drawn), Some(drawn + crate::domain::Millis(50)));
    }

    #[test]
    fn with_reduced_motion_only_what_happened_is_drawn() {
        let mut world = world();
        world.keys("r");
        world.model.ui.reduce_motion = true;
        world.pass(1_000);
        let drawn = world.now();
        world.pass(1);
        tell(&mut world, |picture| picture.now = ClusterTime(9));
        assert_eq!(world.model.next_frame(drawn), None);
        tell(&mut world, |picture| picture.nodes[0].term = Term(8));
        assert_eq!(world.model.next_frame(drawn), Some(drawn + crate::domain::Millis(500)));
    }

    #[test]
    fn a_screen_that_is_held_still_shows_the_picture_of_that_moment() {
        let mut world = world();
        world.keys("r ");
        let drawn = world.now();
        tell(&mut world, |picture| picture.nodes[0].term = Term(8));
        assert_eq!(world.model.shown().raft.as_deref().unwrap().nodes[0].term, Term(7));
        assert_eq!(world.model.next_frame(drawn), None);
    }

    #[test]
    fn enter_on_a_member_shows_its_node() {
        let mut world = world();
        world.keys("4");
        world.shown(Pane::Members, 3, 3);
        world.keys("jj<Enter>");
        let picture = world.model.shown().raft.as_deref().unwrap();
        assert_eq!((world.model.ui.screen, world.model.ui.raft.node(picture)), (Screen::Raft, Some(NodeId(3))));
    }
}
