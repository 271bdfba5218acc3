//! The mouse: clicks do what keys do, the wheel scrolls what lies under it.

use crate::effect::Effects;
use crate::input::keymap::Context;
use crate::input::{Hits, Mouse, MouseKind, Pane, Screen, Target, keymap};
use crate::model::Model;
use crate::model::ui::{Layer, queue};

use super::action::perform;
use super::{moving, navigating};

/// Rows a step of the wheel scrolls.
const WHEEL: isize = 3;

/// Takes in what the mouse did.
pub fn mouse(model: &mut Model, mouse: Mouse, hits: &Hits) -> Effects {
    let pane = hits.pane_at(mouse.column, mouse.row);
    if model.ui.dialog.is_some() {
        return mouse_in_dialog(model, mouse.kind, pane, hits.at(mouse.column, mouse.row));
    }
    match (mouse.kind, pane) {
        (MouseKind::Press, _) => click(model, hits.at(mouse.column, mouse.row)),
        (MouseKind::WheelUp, Some(pane)) => scroll(model, pane, -WHEEL),
        (MouseKind::WheelDown, Some(pane)) => scroll(model, pane, WHEEL),
        (MouseKind::WheelUp | MouseKind::WheelDown, None) => Effects::new(),
    }
}

/// With a dialog on top, the mouse reaches what lies in it and the hints of its keys.
fn mouse_in_dialog(model: &mut Model, kind: MouseKind, pane: Option<Pane>, target: Option<&Target>) -> Effects {
    match (kind, target) {
        (MouseKind::Press, Some(Target::Do(action))) => {
            let is_offered = model.contexts().iter().flat_map(|&context| keymap::of(context)).any(|row| {
                // What is offered everywhere is not a part of the dialog.
                row.context != Context::Anywhere && row.action == *action
            });
            if is_offered { perform(model, *action) } else { Effects::new() }
        }
        (MouseKind::WheelUp, _) if pane == Some(Pane::Dialog) => scroll(model, Pane::Dialog, -WHEEL),
        (MouseKind::WheelDown, _) if pane == Some(Pane::Dialog) => scroll(model, Pane::Dialog, WHEEL),
        _ => Effects::new(),
    }
}

fn scroll(model: &mut Model, pane: Pane, by: isize) -> Effects {
    moving::scroll(model, pane, by);
    Effects::new()
}

fn click(model: &mut Model, target: Option<&Target>) -> Effects {
    // A click elsewhere ends what is being typed and closes what lies on top.
    model.ui.prompt = None;
    let on_top = match target {
        Some(Target::Do(_)) => true,
        Some(Target::Pane(pane)) => *pane == Pane::Help,
        _ => false,
    };
    if model.ui.layer != Layer::None && !on_top {
        model.ui.layer = Layer::None;
        return Effects::new();
    }
    match target {
        Some(Target::Do(action)) => return perform(model, *action),
        Some(Target::Pane(pane)) => model.ui.focus = Some(*pane),
        Some(row) => click_row(model, row),
        None => {}
    }
    Effects::new()
}

/// Selects a row, or opens it when it was picked before. Rows are told by what they are, so a
/// list that was sorted anew since the frame was drawn leads to no wrong row.
fn click_row(model: &mut Model, target: &Target) {
    if leads_elsewhere(model, target) {
        return;
    }
    let (facts, ui) = model.shown_and_ui();
    let (pane, row, picked) = match target {
        Target::Lock(name) => (Pane::Locks, navigating::row_of_lock(ui, facts, name), ui.locks.picked() == Some(name)),
        Target::Queued(key) => {
            let row = ui.shown_lock(facts).and_then(|lock| queue(&lock).position(|queued| queued.key() == &**key));
            (Pane::Queue, row, ui.queue.picked() == Some(key))
        }
        Target::Lease(lease) => {
            let row = ui.lease_order.rows().iter().position(|listed| listed == lease);
            (Pane::Leases, row, ui.leases.picked() == Some(lease))
        }
        Target::Wait(id) => (Pane::Waits, ui.waits.row_of(id), ui.waits.cursor.picked() == Some(id)),
        Target::Member(id) => {
            let row = facts.cluster.members().iter().position(|listed| listed.member.id == *id);
            (Pane::Members, row, ui.members.picked() == Some(id))
        }
        Target::Node(id) | Target::Entry(id, _) => {
            let Some(picture) = &facts.raft else { return };
            if let Target::Entry(_, index) = target {
                ui.raft.entry = Some(*index);
            }
            (Pane::Nodes, picture.nodes.iter().position(|node| node.id == *id), false)
        }
        Target::Request(id) => {
            let Some(picture) = &facts.raft else { return };
            let newest_first = picture.traces.iter().rev().position(|trace| trace.id == *id);
            (Pane::Requests, newest_first, ui.raft.requests.picked() == Some(id))
        }
        Target::Client(id) => {
            (Pane::Lanes, facts.play.as_ref().and_then(|play| play.row(*id)), ui.play.clients.picked() == Some(id))
        }
        Target::Moment(number) => {
            let Some(play) = &facts.play else { return };
            let row = play.happened().iter().rev().position(|happened| happened.number == *number);
            (Pane::Happened, row, false)
        }
        Target::Do(_) | Target::Pane(_) => return,
    };
    let Some(row) = row else { return };
    ui.focus = Some(pane);
    let opens = picked && ui.screen.main_pane() == pane && pane != Pane::Members;
    if opens {
        navigating::open(model);
    } else {
        moving::select(ui, facts, pane, row);
    }
}

/// Goes to what the screen does not list: a line of Attention can be about anything. Whether it
/// went there for good.
fn leads_elsewhere(model: &mut Model, target: &Target) -> bool {
    let (facts, ui) = model.shown_and_ui();
    let lists = |pane: Pane| ui.screen.main_pane() == pane || ui.panes.iter().any(|(shown, _)| *shown == pane);
    match target {
        Target::Lock(name) => {
            let unlisted = !lists(Pane::Locks) || navigating::row_of_lock(ui, facts, name).is_none();
            match facts.lock_named(name).filter(|_| unlisted) {
                Some(lock) => navigating::open_lock(ui, &lock),
                None => return false,
            }
            true
        }
        Target::Lease(lease) if !lists(Pane::Leases) => {
            navigating::open_lease(model, *lease);
            true
        }
        Target::Member(_) if !lists(Pane::Members) => {
            navigating::switch(ui, Screen::Members);
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MemberId;
    use crate::effect::Effect;
    use crate::input::Action;
    use crate::update::testing::{World, lease_of};

    fn world() -> World {
        World::new(&[("/a", 1), ("/b", 3), ("/c", 0)])
    }

    #[test]
    fn a_click_selects_and_a_second_one_opens() {
        let mut world = world();
        world.click(Target::Lock("/c".into()));
        assert_eq!((world.model.ui.screen, world.selected().as_str()), (Screen::Locks, "/c"));
        world.click(Target::Lock("/c".into()));
        assert_eq!(world.model.ui.screen, Screen::Lock);
    }

    #[test]
    fn a_click_means_the_lock_that_was_drawn_there_whatever_moved_since() {
        let mut world = world();
        world.list(&[("/a", 1), ("/b", 3), ("/c", 0), ("/0", 9)]);
        world.click(Target::Lock("/a".into()));
        assert_eq!(world.selected(), "/a");
        world.click(Target::Lock("/was-there".into()));
        assert_eq!(world.selected(), "/a", "a row that is gone selects nothing");
    }

    #[test]
    fn clicks_on_tabs_and_hints_do_what_their_keys_do() {
        let mut world = world();
        world.click(Target::Do(Action::Show(Screen::Members)));
        assert_eq!(world.model.ui.screen, Screen::Members);
        world.click(Target::Member(MemberId(2)));
        assert_eq!(world.model.ui.members.picked(), Some(&MemberId(2)));
        assert_eq!(world.click(Target::Do(Action::Quit)), [Effect::Quit]);
    }

    #[test]
    fn keys_of_a_queue_and_leases_are_clicked_alike() {
        let mut world = world();
        world.keys("<Enter>");
        let key = format!("/b/{}", lease_of("/b", 1));
        world.click(Target::Queued(key.as_str().into()));
        assert_eq!(world.model.ui.queue.index(), 1);
        world.click(Target::Queued(key.as_str().into()));
        assert_eq!((world.model.ui.screen, world.model.ui.selected_lease()), (Screen::Leases, Some(lease_of("/b", 1))));
        world.click(Target::Lease(lease_of("/b", 3)));
        world.click(Target::Lease(lease_of("/b", 3)));
        assert_eq!((world.model.ui.screen, world.model.ui.queue.index()), (Screen::Lock, 3));
    }

    #[test]
    fn a_click_beside_what_lies_on_top_closes_it() {
        let mut world = world();
        world.keys("?");
        world.click(Target::Pane(Pane::Help));
        assert!(matches!(world.model.ui.layer, Layer::Help { .. }));
        world.click(Target::Lock("/c".into()));
        assert_eq!((&world.model.ui.layer, world.selected().as_str()), (&Layer::None, "/b"));
        world.keys("y");
        assert!(
            crate::update::testing::copied(
                &world.click(Target::Do(Action::CopyOne(crate::input::action::Copied::Name)))
            )
            .is_some()
        );
    }

    #[test]
    fn what_attention_names_is_gone_to_wherever_it_is_listed() {
        let mut world = world();
        world.click(Target::Lease(lease_of("/b", 2)));
        assert_eq!((world.model.ui.screen, world.model.ui.selected_lease()), (Screen::Leases, Some(lease_of("/b", 2))));
        world.keys("1");
        world.click(Target::Member(MemberId(3)));
        assert_eq!((world.model.ui.screen, world.model.ui.members.index()), (Screen::Members, 2));
        world.keys("1/c<Enter>");
        world.click(Target::Lock("/a".into()));
        let opened = world.model.ui.shown_lock(world.model.shown()).map(|lock| lock.name().to_vec());
        assert_eq!((world.model.ui.screen, opened), (Screen::Lock, Some(b"/a".to_vec())), "the filter hides it");
    }

    #[test]
    fn a_click_ends_typing_and_keeps_the_filter() {
        let mut world = world();
        world.keys("/b");
        world.click(Target::Pane(Pane::Locks));
        assert!(world.model.ui.prompt.is_none());
        assert_eq!(world.listed(), ["/b"]);
    }
}
