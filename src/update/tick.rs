//! Time passes.

use crate::domain::Timestamp;
use crate::effect::{Effect, Effects};
use crate::input::Screen;
use crate::model::Model;
use crate::model::rebuilt::own_range;

/// Moves the model to `now`, and asks for the lease polls that are due.
pub fn tick(model: &mut Model, now: Timestamp) -> Effects {
    // What is visible matters only when there is something to ask.
    let asks = model.live().next_deadline().is_some_and(|due| due <= now);
    let visible = if asks { model.ui.visible_leases(model.shown()) } else { Vec::new() };
    let due = model.live_mut().pass_time(now, &visible);
    model.settle(now);
    let mut effects = Effects::new();
    if !due.is_empty() {
        effects.push(Effect::PollLeases(due));
    }
    effects.extend(read_past(model));
    effects
}

/// Has the past of the lock read that is open, once.
fn read_past(model: &mut Model) -> Option<Effect> {
    let is_open = model.ui.screen == Screen::Lock && model.live().link.is_live() && !model.is_paused();
    let open = model.ui.shown_lock(model.live()).filter(|_| is_open);
    let open = open.filter(|lock| lock.layout().is_lock()).map(|lock| (lock.name().into(), own_range(&lock)));
    model.live_mut().open_past(open).map(Effect::ReadPast)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;
    use crate::event::{Observation, Past};
    use crate::input::Pane;
    use crate::update::testing::{World, lease_of};

    /// The leases of the burst that is due.
    fn burst(world: &mut World) -> Vec<LeaseId> {
        let effects = world.pass(1_000);
        effects
            .into_iter()
            .find_map(|effect| if let Effect::PollLeases(ids) = effect { Some(ids) } else { None })
            .unwrap()
    }

    /// A world in which every lease was asked and runs for long, with a budget of `budget`.
    fn world(budget: u32) -> World {
        let mut world = World::with_budget(budget, &[("/a", 0), ("/b", 3), ("/c", 0), ("/d", 0)]);
        for (name, count) in [("/a", 1), ("/b", 4), ("/c", 1), ("/d", 1)] {
            (0..count).for_each(|nth| world.ttl(lease_of(name, nth), 600, 500));
        }
        world.shown(Pane::Locks, 10, 4);
        world
    }

    #[test]
    fn what_is_on_the_screen_is_asked_first() {
        let mut world = world(5);
        let first = burst(&mut world);
        let queue: Vec<_> = (0..4).map(|nth| lease_of("/b", nth)).collect();
        assert_eq!(first[..4], queue, "the selected lock with its queue");
        world.keys("jjj<Enter>");
        assert_eq!(burst(&mut world)[0], lease_of("/d", 0), "the lock that is open");
    }

    #[test]
    fn leases_out_of_sight_are_not_first() {
        let mut world = world(2);
        world.keys("3");
        let rows = world.model.ui.lease_order.rows().to_vec();
        world.model.ui.size = (80, 2);
        assert_eq!(burst(&mut world)[..2], rows[..2]);
        world.shown(Pane::Leases, 2, rows.len());
        world.keys("G");
        assert_eq!(burst(&mut world)[..2], rows[rows.len() - 2..]);
    }

    /// What is to be read of the past, if that changed.
    fn past(world: &mut World) -> Option<Option<String>> {
        world.pass(1_000).into_iter().find_map(|effect| match effect {
            Effect::ReadPast(open) => Some(open.map(|(lock, _)| String::from_utf8_lossy(&lock).into_owned())),
            _ => None,
        })
    }

    #[test]
    fn the_past_of_a_lock_is_read_once_when_it_is_opened() {
        let mut world = world(5);
        assert_eq!(past(&mut world), None, "nothing is read for a list");
        world.keys("<Enter>");
        assert_eq!(past(&mut world), Some(Some("/a".into())));
        assert_eq!(past(&mut world), None);
        world.observe(Observation::Past { lock: "/a".into(), part: Past::Ended { why: None } });
        world.keys("<Esc>");
        assert_eq!(past(&mut world), None, "it is all there");
        world.keys("<Enter>");
        assert_eq!(past(&mut world), None, "and stays");
    }

    #[test]
    fn leaving_the_screen_ends_the_reading() {
        let mut world = world(5);
        world.keys("<Enter>");
        assert_eq!(past(&mut world), Some(Some("/a".into())));
        world.keys("<Esc>");
        assert_eq!(past(&mut world), Some(None));
        world.keys("j<Enter>");
        assert_eq!(past(&mut world), Some(Some("/b".into())));
    }

    #[test]
    fn on_the_log_no_lease_is_visible() {
        let mut world = world(5);
        world.keys("6");
        assert_eq!(world.model.ui.visible_leases(world.model.shown()), []);
    }
}
