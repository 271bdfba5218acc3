//! Moving through rows, and between panes.

use crate::input::Pane;
use crate::input::action::Motion;
use crate::model::ui::{Position, Ui, queue};
use crate::model::{Facts, Model};

use super::{play, raft};

/// Moves in the pane that has the focus.
pub fn go(model: &mut Model, motion: Motion) {
    let (facts, ui) = model.shown_and_ui();
    let pane = ui.focused();
    // On the log that was left behind it leads to the end of that first.
    if motion == Motion::Last && pane == Pane::Nodes && ui.raft.follow_log() {
        return;
    }
    let (rows, len) = (ui.rows(pane), len(ui, facts, pane));
    if let (Pane::Lanes | Pane::Clients, Some(run)) = (pane, &facts.play) {
        play::stand_on_selected(ui, run, rows);
    }
    match position(ui, pane) {
        Some(position) => {
            position.go(motion, rows, len);
            pin(ui, facts, pane);
        }
        None => ui.scrolled[pane as usize] = motion.from(ui.scrolled(pane), rows).min(len.saturating_sub(rows)),
    }
}

/// Scrolls a pane, whether or not it has the focus; down when `by` is positive.
pub fn scroll(model: &mut Model, pane: Pane, by: isize) {
    let (facts, ui) = model.shown_and_ui();
    let (rows, len) = (ui.rows(pane), len(ui, facts, pane));
    let Some(position) = position(ui, pane) else {
        let scrolled = ui.scrolled(pane).saturating_add_signed(by);
        ui.scrolled[pane as usize] = scrolled.min(len.saturating_sub(rows));
        return;
    };
    if position.scroll(by, rows, len) {
        pin(ui, facts, pane);
    }
}

/// Selects a row.
pub fn select(ui: &mut Ui, facts: &Facts, pane: Pane, row: usize) {
    let (rows, len) = (ui.rows(pane), len(ui, facts, pane));
    if let Some(position) = position(ui, pane) {
        position.place(row, rows, len);
        pin(ui, facts, pane);
    }
}

/// Gives the focus to the next pane (`by` 1) or the one before (-1), round the ends or not.
pub fn focus(ui: &mut Ui, by: isize, round: bool) {
    let focused = ui.focused();
    let len = ui.panes.len();
    let Some(at) = ui.panes.iter().position(|&(pane, _)| pane == focused) else { return };
    let next = match at.checked_add_signed(by) {
        Some(next) if next < len => next,
        _ if !round => at,
        Some(_) => 0,
        None => len - 1,
    };
    ui.focus = Some(ui.panes[next].0);
}

/// Where the selection of a pane stands; `None` for a pane that only scrolls.
const fn position(ui: &mut Ui, pane: Pane) -> Option<&mut Position> {
    match pane {
        Pane::Locks => Some(&mut ui.locks.position),
        Pane::Queue => Some(&mut ui.queue.position),
        Pane::Leases => Some(&mut ui.leases.position),
        Pane::Waits => Some(&mut ui.waits.cursor.position),
        Pane::Members => Some(&mut ui.members.position),
        Pane::Nodes => Some(&mut ui.raft.nodes.position),
        Pane::Requests => Some(&mut ui.raft.requests.position),
        Pane::Lanes | Pane::Clients => Some(&mut ui.play.clients.position),
        Pane::Happened => Some(&mut ui.play.happened.position),
        Pane::History
        | Pane::Findings
        | Pane::Terms
        | Pane::Way
        | Pane::Expected
        | Pane::Attention
        | Pane::Watch
        | Pane::Log
        | Pane::Help
        | Pane::Dialog => None,
    }
}

/// How many rows a pane has, whether they are shown or not.
fn len(ui: &Ui, facts: &Facts, pane: Pane) -> usize {
    match pane {
        Pane::Locks => ui.lock_order.len(),
        Pane::Queue => ui.shown_lock(facts).map_or(0, |lock| lock.holder_count() + lock.waiter_count()),
        Pane::Leases => ui.lease_order.len(),
        Pane::Waits => ui.waits.rows().len(),
        Pane::Members => facts.cluster.members().len(),
        Pane::Nodes => facts.raft.as_ref().map_or(0, |picture| picture.nodes.len()),
        Pane::Requests => facts.raft.as_ref().map_or(0, |picture| picture.traces.len()),
        Pane::Lanes | Pane::Clients => facts.play.as_ref().map_or(0, |play| play.clients().len()),
        Pane::Happened => facts.play.as_ref().map_or(0, |play| play.happened().len()),
        // What these show is made by the view, which says how long it is.
        Pane::History
        | Pane::Findings
        | Pane::Terms
        | Pane::Way
        | Pane::Expected
        | Pane::Attention
        | Pane::Watch
        | Pane::Log
        | Pane::Help
        | Pane::Dialog => ui.panes.iter().find(|(shown, _)| *shown == pane).map_or(0, |(_, extent)| extent.len),
    }
}

/// Has the selection stay with what stands where it is.
fn pin(ui: &mut Ui, facts: &Facts, pane: Pane) {
    match pane {
        Pane::Locks => {
            let name = ui.selected_lock(facts).map(|lock| lock.name().into());
            if ui.locks.picked() != name.as_ref() {
                ui.queue.reset();
                ui.scrolled[Pane::History as usize] = 0;
            }
            ui.locks.pin(name);
        }
        Pane::Queue => {
            let row = ui.queue.index();
            let key = ui.shown_lock(facts).and_then(|lock| queue(&lock).nth(row)).map(|key| key.key().into());
            ui.queue.pin(key);
        }
        Pane::Leases => ui.leases.pin(ui.lease_order.get(ui.leases.index())),
        Pane::Waits => ui.waits.pin(),
        Pane::Members => {
            let member = facts.cluster.members().get(ui.members.index());
            ui.members.pin(member.map(|facts| facts.member.id));
        }
        Pane::Nodes | Pane::Requests => {
            if let Some(picture) = &facts.raft {
                raft::pin(&mut ui.raft, picture, pane);
            }
        }
        Pane::Lanes | Pane::Clients | Pane::Happened => {
            if let Some(run) = &facts.play {
                play::pin(ui, run, pane);
            }
        }
        Pane::History
        | Pane::Findings
        | Pane::Terms
        | Pane::Way
        | Pane::Expected
        | Pane::Attention
        | Pane::Watch
        | Pane::Log
        | Pane::Help
        | Pane::Dialog => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Input, Mouse, MouseKind};
    use crate::update::testing::World;

    fn world() -> World {
        let mut world = World::new(&[("/a", 0), ("/b", 0), ("/c", 0), ("/d", 0), ("/e", 0), ("/f", 0)]);
        world.shown(Pane::Locks, 3, 6);
        world
    }

    #[test]
    fn arrows_and_letters_move_alike() {
        let mut world = world();
        let mut after = |keys: &str| {
            world.keys(keys);
            world.selected()
        };
        assert_eq!(after("jj"), "/c");
        assert_eq!(after("<Down>k<Up>"), "/b");
        assert_eq!(after("G"), "/f");
        assert_eq!(after("g"), "/a");
        assert_eq!(after("<PageDown>"), "/c", "a row of the page before stays in sight");
        assert_eq!(after("<C-f>"), "/e");
        assert_eq!(after("<PageUp>"), "/c");
        assert_eq!(after("<End>"), "/f");
        assert_eq!(after("j"), "/f");
        assert_eq!(after("<Home>k"), "/a");
    }

    #[test]
    fn the_selection_stays_with_its_lock_when_the_list_changes() {
        let mut world = world();
        world.keys("jj");
        world.list(&[("/0", 4), ("/1", 4), ("/a", 0), ("/b", 0), ("/c", 0), ("/d", 0), ("/e", 0), ("/f", 0)]);
        assert_eq!((world.selected().as_str(), world.model.ui.locks.index()), ("/c", 4));
        world.list(&[("/a", 0), ("/b", 0)]);
        // Locks that were let go stay on the list as free ones.
        assert_eq!(world.selected(), "/c");
    }

    #[test]
    fn a_lock_without_keys_leaves_the_list_after_a_while_and_keeps_its_history() {
        let mut world = world();
        world.list(&[("/a", 0), ("/b", 0)]);
        assert_eq!(world.model.ui.lock_order.len(), 6);
        world.pass(59_000);
        assert_eq!(world.model.ui.lock_order.len(), 6);
        world.pass(2_000);
        assert_eq!(world.model.ui.lock_order.len(), 2);
        let gone = world.model.live().lock_named(b"/c").expect("it is remembered");
        assert_eq!(gone.holds().count(), 1);
        world.enqueue("/c");
        world.pass(0);
        assert_eq!(world.model.ui.lock_order.len(), 3);
    }

    #[test]
    fn an_untouched_selection_stays_on_top() {
        let mut world = world();
        world.list(&[("/a", 0), ("/z", 5)]);
        assert_eq!(world.selected(), "/z");
    }

    #[test]
    fn the_focus_goes_through_the_drawn_panes() {
        let mut world = world();
        world.also_shown(Pane::Attention, 4, 9);
        world.also_shown(Pane::Watch, 4, 2);
        let mut after = |keys: &str| {
            world.keys(keys);
            world.model.ui.focused()
        };
        assert_eq!(after("<Tab>"), Pane::Attention);
        assert_eq!(after("<Tab>"), Pane::Watch);
        assert_eq!(after("l"), Pane::Watch, "l stops at the last one");
        assert_eq!(after("<Tab>"), Pane::Locks, "and tab goes round");
        assert_eq!(after("h"), Pane::Locks);
        assert_eq!(after("<S-Tab>"), Pane::Watch);
        assert_eq!(after("3"), Pane::Leases, "another screen, another focus");
    }

    #[test]
    fn a_pane_that_is_not_drawn_any_more_loses_the_focus() {
        let mut world = world();
        world.also_shown(Pane::Attention, 4, 9);
        world.keys("<Tab>");
        world.shown(Pane::Locks, 3, 6);
        world.input(Input::Resize(60, 16));
        assert_eq!(world.model.ui.focused(), Pane::Locks);
    }

    #[test]
    fn a_pane_without_a_selection_scrolls_to_its_end_and_no_further() {
        let mut world = world();
        world.also_shown(Pane::Attention, 4, 9);
        world.keys("<Tab>jjjjjjjjjjjj");
        assert_eq!(world.model.ui.scrolled(Pane::Attention), 5);
        world.keys("k");
        assert_eq!(world.model.ui.scrolled(Pane::Attention), 4);
        world.keys("G");
        assert_eq!(world.model.ui.scrolled(Pane::Attention), 5);
        world.keys("g");
        assert_eq!(world.model.ui.scrolled(Pane::Attention), 0);
    }

    #[test]
    fn the_wheel_scrolls_what_lies_under_it() {
        let mut world = world();
        let wheel = |kind| Input::Mouse(Mouse { kind, column: 5, row: 2 });
        world.input(wheel(MouseKind::WheelDown));
        assert_eq!(world.model.ui.locks.window(3, 6), 3..6);
        world.input(wheel(MouseKind::WheelUp));
        assert_eq!(world.model.ui.locks.window(3, 6), 0..3);
        world.also_shown(Pane::Help, 10, 40);
        world.input(wheel(MouseKind::WheelDown));
        assert_eq!((world.model.ui.scrolled(Pane::Help), world.model.ui.locks.window(3, 6)), (3, 0..3));
    }
}
