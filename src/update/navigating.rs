//! Going from screen to screen.

use crate::domain::{Key, LeaseId};
use crate::input::{Pane, Screen, WaitId};
use crate::model::Model;
use crate::model::ui::{Filter, Notice, Opened, Ui, queue};
use crate::model::{Facts, LockView};

use super::{moving, raft};

/// Changes to a screen.
pub fn show(model: &mut Model, screen: Screen) {
    if screen == Screen::Lock && model.ui.screen != Screen::Lock {
        hold(model);
    }
    let (facts, ui) = model.shown_and_ui();
    if screen == Screen::Lock && ui.screen != Screen::Lock {
        // Without a selected lock the one that was opened last comes back.
        let opened = ui.selected_lock(facts).map(|lock| opened(&lock));
        if opened.is_some() && opened != ui.opened {
            forget_queue(ui);
            ui.opened = opened;
        }
    }
    switch(ui, screen);
    if screen == Screen::Playground && !model.plays() && !model.ui.play.awaited {
        model.tell(Notice::NobodyPlays);
    }
}

/// Opens what is selected.
pub fn open(model: &mut Model) {
    hold(model);
    match model.ui.screen {
        Screen::Locks => {
            let (facts, ui) = model.shown_and_ui();
            match ui.selected_lock(facts) {
                Some(lock) => open_lock(ui, &lock),
                None => model.tell(Notice::NothingToOpen),
            }
        }
        Screen::Lock => {
            let lease = model.ui.selected_key(model.shown()).map_or(LeaseId::NONE, |key| key.lease());
            if lease.is_none() {
                model.tell(Notice::LeaselessKey);
            } else {
                open_lease(model, lease);
            }
        }
        Screen::Leases => {
            let (facts, ui) = model.shown_and_ui();
            let lease = ui.selected_lease().and_then(|id| facts.lease(id));
            let lock = lease.and_then(|lease| lease.holds().into_iter().chain(lease.waits_for()).next());
            match (lease, lock) {
                (Some(lease), Some(lock)) => {
                    open_lock(ui, &lock);
                    if let Some(row) = queue(&lock).position(|key| key.lease() == lease.id) {
                        moving::select(ui, facts, Pane::Queue, row);
                    }
                }
                _ => model.tell(Notice::NothingToOpen),
            }
        }
        Screen::Waits => open_wait(model),
        Screen::Members => raft::show_member(model),
        Screen::Raft => raft::show_way(model),
        Screen::Way | Screen::Playground | Screen::Log => {}
    }
}

/// Opens the lock that the selected client waits for, or one it holds, at its key there; unfolds or
/// folds a branch.
fn open_wait(model: &mut Model) {
    let now = model.live().now();
    let (facts, ui) = model.shown_and_ui();
    let Some(row) = ui.waits.selected() else { return model.tell(Notice::NothingToOpen) };
    if let WaitId::Fold(client, lock) = row.id.clone() {
        ui.waits.pin();
        ui.waits.fold(&client, &lock);
        return ui.settle(facts, now);
    }
    let (known, stands) = (row.lock.clone(), row.stands.clone());
    let lock = known.and_then(|(ix, name)| {
        let same = facts.lock(ix).filter(|lock| lock.name() == name.as_bytes());
        same.or_else(|| facts.lock_named(&name))
    });
    let Some(lock) = lock else { return model.tell(Notice::NothingToOpen) };
    open_lock(ui, &lock);
    let at = stands.and_then(|stands| queue(&lock).position(|key| key.key() == stands.as_bytes()));
    if let Some(row) = at {
        moving::select(ui, facts, Pane::Queue, row);
    }
}

/// Opens the lock of a name, or says that there is none.
pub fn open_named(model: &mut Model, name: String) {
    let (facts, ui) = model.shown_and_ui();
    match facts.lock_named(name.as_bytes()) {
        Some(lock) => open_lock(ui, &lock),
        None => model.tell(Notice::NoLock(name)),
    }
}

/// Leaves what was opened; on a list, takes the filter away.
pub fn back(model: &mut Model) {
    let ui = &mut model.ui;
    match ui.screen {
        // While something is asked, it takes the question away.
        _ if ui.layer != crate::model::ui::Layer::None => ui.layer = crate::model::ui::Layer::None,
        Screen::Lock => switch(ui, ui.came_from),
        Screen::Raft if ui.raft.follow_log() => {}
        Screen::Way => switch(ui, Screen::Raft),
        Screen::Playground if ui.play.follow() => {}
        Screen::Members | Screen::Raft | Screen::Playground | Screen::Log => switch(ui, Screen::Locks),
        Screen::Locks | Screen::Leases | Screen::Waits if ui.filter.is_empty() => switch(ui, Screen::Locks),
        Screen::Locks | Screen::Leases | Screen::Waits => take_filter_away(model),
    }
}

/// Lists everything again; the selection stays with what is selected now.
pub fn take_filter_away(model: &mut Model) {
    hold(model);
    set_filter(&mut model.ui, "");
}

/// Has the selection stay with what is selected now: what is opened or acted on must not give way to
/// something else when the list moves.
pub fn hold(model: &mut Model) {
    let (facts, ui) = model.shown_and_ui();
    // Of nothing that is listed the one before stays picked.
    if let Some(name) = ui.selected_lock(facts).map(|lock| Key::from(lock.name())) {
        ui.locks.pin(Some(name));
    }
    if let Some(lease) = ui.selected_lease() {
        ui.leases.pin(Some(lease));
    }
    if ui.waits.selected().is_some() {
        ui.waits.pin();
    }
    let in_queue = ui.screen == Screen::Lock || ui.focused() == Pane::Queue;
    if let Some(key) = ui.selected_key(facts).filter(|_| in_queue).map(|key| Key::from(key.key())) {
        ui.queue.pin(Some(key));
    }
}

/// Lists only what the text lets through.
pub fn set_filter(ui: &mut Ui, text: &str) {
    ui.filter = Filter::new(text);
    ui.spoil();
}

/// Changes the screen and nothing else.
pub fn switch(ui: &mut Ui, screen: Screen) {
    if screen == Screen::Lock && ui.screen != Screen::Lock {
        ui.came_from = match ui.screen {
            from @ (Screen::Leases | Screen::Waits) => from,
            _ => Screen::Locks,
        };
    }
    ui.screen = screen;
    ui.focus = None;
}

/// Shows a lock on its own screen.
pub fn open_lock(ui: &mut Ui, lock: &LockView<'_>) {
    let opened = opened(lock);
    if ui.opened.as_ref() != Some(&opened) {
        forget_queue(ui);
        ui.opened = Some(opened);
    }
    switch(ui, Screen::Lock);
}

/// Shows a lease in the list of leases.
pub fn open_lease(model: &mut Model, lease: LeaseId) {
    let now = model.live().now();
    let (facts, ui) = model.shown_and_ui();
    switch(ui, Screen::Leases);
    let row = |ui: &Ui| ui.lease_order.rows().iter().position(|&listed| listed == lease);
    ui.spoil();
    ui.settle(facts, now);
    if row(ui).is_none() {
        // The filter hides it, and it was asked for.
        set_filter(ui, "");
        ui.settle(facts, now);
    }
    if let Some(row) = row(ui) {
        moving::select(ui, facts, Pane::Leases, row);
    }
}

fn opened(lock: &LockView<'_>) -> Opened {
    Opened { name: Key::from(lock.name()), ix: lock.ix() }
}

fn forget_queue(ui: &mut Ui) {
    ui.queue.reset();
    ui.scrolled[Pane::History as usize] = 0;
}

/// The row of a lock in the list.
pub fn row_of_lock(ui: &Ui, facts: &Facts, name: &[u8]) -> Option<usize> {
    ui.lock_order.rows().iter().position(|&ix| facts.lock(ix).is_some_and(|lock| lock.name() == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::testing::{World, lease_of};

    fn world() -> World {
        World::new(&[("/a", 1), ("/b", 3), ("/c", 0)])
    }

    fn shown(world: &World) -> String {
        let lock = world.model.ui.shown_lock(world.model.shown());
        lock.map(|lock| String::from_utf8_lossy(lock.name()).into_owned()).unwrap_or_default()
    }

    #[test]
    fn numbers_change_the_screen() {
        let mut world = world();
        for (key, screen) in [
            ("2", Screen::Lock),
            ("3", Screen::Leases),
            ("4", Screen::Members),
            ("r", Screen::Raft),
            ("6", Screen::Log),
            ("7", Screen::Waits),
            ("1", Screen::Locks),
        ] {
            world.keys(key);
            assert_eq!(world.model.ui.screen, screen);
        }
    }

    #[test]
    fn enter_opens_the_selected_lock_and_esc_leaves_it() {
        let mut world = world();
        world.keys("j<Enter>");
        assert_eq!((world.model.ui.screen, shown(&world).as_str()), (Screen::Lock, "/a"));
        world.keys("<Esc>");
        assert_eq!((world.model.ui.screen, world.selected().as_str()), (Screen::Locks, "/a"));
    }

    #[test]
    fn an_open_lock_stays_open_however_the_list_moves() {
        let mut world = world();
        world.keys("<Enter>");
        assert_eq!(shown(&world), "/b");
        world.list(&[("/a", 1), ("/b", 3), ("/c", 0), ("/z", 9)]);
        assert_eq!((shown(&world).as_str(), world.selected().as_str()), ("/b", "/b"), "and stays selected");
    }

    #[test]
    fn enter_on_a_key_leads_to_its_lease_and_on_a_lease_to_its_lock() {
        let mut world = world();
        world.keys("<Enter>jj");
        world.keys("<Enter>");
        assert_eq!(world.model.ui.screen, Screen::Leases);
        assert_eq!(world.model.ui.selected_lease(), Some(lease_of("/b", 2)));
        world.keys("<Enter>");
        assert_eq!((world.model.ui.screen, shown(&world).as_str()), (Screen::Lock, "/b"));
        let key = world.model.ui.selected_key(world.model.shown()).map(|key| key.lease());
        assert_eq!(key, Some(lease_of("/b", 2)), "the key it came from is selected");
        world.keys("<Esc>");
        assert_eq!(world.model.ui.screen, Screen::Leases, "back where it came from");
    }

    #[test]
    fn a_filter_does_not_hide_the_lease_that_is_asked_for() {
        let mut world = world();
        world.keys("/b<Enter><Enter>");
        world.model.ui.filter = Filter::new("nothing is called that");
        world.keys("<Enter>");
        assert_eq!(world.model.ui.selected_lease(), Some(lease_of("/b", 0)));
        assert!(world.model.ui.filter.is_empty());
    }

    #[test]
    fn where_nothing_can_be_opened_one_is_told() {
        let mut world = World::new(&[]);
        world.keys("<Enter>");
        assert_eq!((world.model.ui.screen, world.toast().as_str()), (Screen::Locks, "no lock to open here"));
        world.keys(":lock /nowhere<Enter>");
        assert_eq!(world.toast(), "no lock `/nowhere`");
        world.keys("2");
        assert_eq!((world.model.ui.screen, shown(&world).as_str()), (Screen::Lock, ""));
        world.keys("j<Enter>y");
    }

    #[test]
    fn another_lock_forgets_which_key_was_selected() {
        let mut world = world();
        world.keys("<Enter>jj");
        assert_eq!(world.model.ui.queue.index(), 2);
        world.keys("<Esc>j<Enter>");
        assert_eq!(world.model.ui.queue.index(), 0);
    }

    #[test]
    fn the_selected_key_stays_selected_while_the_queue_moves_up() {
        let mut world = world();
        world.keys("<Enter>jj");
        let key = |world: &World| world.model.ui.selected_key(world.model.shown()).map(|key| key.lease());
        assert_eq!(key(&world), Some(lease_of("/b", 2)));
        let first: Key = format!("/b/{}", lease_of("/b", 0)).as_str().into();
        let change = crate::event::Change {
            revision: crate::domain::Revision(900),
            event: crate::domain::KeyEvent::Delete { key: first, previous: None },
        };
        world.observe(crate::event::Observation::Watched(vec![change]));
        world.pass(10);
        assert_eq!((key(&world), world.model.ui.queue.index()), (Some(lease_of("/b", 2)), 1));
    }
}
