//! Time passes.

use crate::domain::Timestamp;
use crate::effect::{Effect, Effects};
use crate::input::Screen;
use crate::model::Model;
use crate::model::rebuilt::{ToRead, own_range};

use super::dialog;

/// Moves the model to `now`, and asks for the lease polls that are due.
pub fn tick(model: &mut Model, now: Timestamp) -> Effects {
    // What is visible matters only when there is something to ask.
    let asks = model.live().next_deadline().is_some_and(|due| due <= now);
    let visible = if asks { model.ui.visible_leases(model.shown()) } else { Vec::new() };
    let due = model.live_mut().pass_time(now, &visible);
    model.settle(now);
    let polls = (!due.is_empty()).then_some(Effect::PollLeases(due));
    let past = read_past(model);
    polls.into_iter().chain(past).chain(dialog::tick(model)).collect()
}

/// Has the past of the lock read that is open, once.
fn read_past(model: &mut Model) -> Option<Effect> {
    let is_open = model.ui.screen == Screen::Lock && model.live().link.is_live() && !model.is_paused();
    let open = model.ui.shown_lock(model.live()).filter(|_| is_open);
    let open = open.filter(|lock| lock.layout().is_lock()).map(|lock| (lock.name().into(), own_range(&lock)));
    let wanted = match model.live_mut().open_past(open)? {
        ToRead::Past(lock, range) => Some((lock, range)),
        ToRead::Nothing => None,
    };
    Some(Effect::ReadPast(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LeaseId, Member, MemberId, Millis, Status, Value};
    use crate::event::{Event, LeasePollCost, Observation, Past};
    use crate::input::Pane;
    use crate::input::key::{Chord, Code};
    use crate::input::{Hits, Input};
    use crate::model::Severity;
    use crate::model::findings::Thresholds;
    use crate::update::testing::{START, World, lease_of};
    use crate::update::update;

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
            (0..count).for_each(|nth| world.ttl(lease_of(name, nth), 60, 50));
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

    /// Presses a key, and what is to be read of the past then, if that changed.
    fn past(world: &mut World, code: Code) -> Option<String> {
        let input = Event::Input(Input::Key(Chord::plain(code)), Hits::default());
        update(&mut world.model, input);
        world.pass(1_000).into_iter().find_map(|effect| match effect {
            Effect::ReadPast(open) => {
                Some(open.map_or_else(|| "nothing".into(), |(lock, _)| String::from_utf8_lossy(&lock).into_owned()))
            }
            _ => None,
        })
    }

    #[test]
    fn the_past_of_a_lock_is_read_once_when_it_is_opened() {
        let mut world = world(5);
        assert_eq!(past(&mut world, Code::Home), None, "nothing is read for a list");
        assert_eq!(past(&mut world, Code::Enter).as_deref(), Some("/b"), "most wait for it");
        assert_eq!(past(&mut world, Code::Home), None);
        world.observe(Observation::Past { lock: "/b".into(), part: Past::Ended { why: None } });
        assert_eq!(past(&mut world, Code::Esc), None, "it is all there");
        assert_eq!(past(&mut world, Code::Enter), None, "and stays");
    }

    #[test]
    fn leaving_the_screen_ends_the_reading() {
        let mut world = world(5);
        assert_eq!(past(&mut world, Code::Enter).as_deref(), Some("/b"));
        assert_eq!(past(&mut world, Code::Esc).as_deref(), Some("nothing"));
        world.keys("j");
        assert_eq!(past(&mut world, Code::Enter).as_deref(), Some("/a"));
    }

    #[test]
    fn on_the_log_no_lease_is_visible() {
        let mut world = world(5);
        world.keys("6");
        assert_eq!(world.model.ui.visible_leases(world.model.shown()), []);
    }

    fn codes(model: &Model) -> Vec<&'static str> {
        model.diagnosis().codes(b"/a")
    }

    const COST: LeasePollCost = LeasePollCost { asked: 1, failed: 0, took: Millis(1) };

    /// A world whose only lock is in order.
    fn sound() -> World {
        let mut world = World::new(&[("/a", 1)]);
        world.ttl(lease_of("/a", 0), 60, 50);
        world.pass(1_000);
        world
    }

    #[test]
    fn a_change_is_looked_at_within_half_a_second_and_no_sooner() {
        let mut world = sound();
        assert_eq!(codes(&world.model), [""; 0]);
        world.ttl(lease_of("/a", 0), 60, -3);
        world.pass(100);
        assert_eq!(codes(&world.model), [""; 0], "the last look is no half second ago");
        assert!(world.model.next_tick().is_some_and(|at| at <= START + Millis(1_500)));
        world.pass(400);
        assert_eq!(codes(&world.model), ["lease-overdue"]);
        assert_eq!(world.model.diagnosis().severity(b"/a"), Some(Severity::Error));
    }

    #[test]
    fn what_is_frozen_is_diagnosed_as_it_stood() {
        let mut world = sound();
        world.keys(" ");
        world.ttl(lease_of("/a", 0), 60, -3);
        world.pass(10_000);
        assert_eq!(codes(&world.model), [""; 0]);
        world.keys(" ");
        world.pass(1_000);
        assert_eq!(codes(&world.model), ["lease-overdue"]);
    }

    #[test]
    fn what_time_alone_changes_is_looked_at_when_the_program_is_awake_anyhow() {
        let mut world = sound();
        world.ttl(lease_of("/a", 0), 60, 30);
        world.let_pass(1_000);
        world.ttl(lease_of("/a", 0), 60, 29);
        world.pass(1_000);
        let left = |world: &World| world.model.diagnosis().findings()[0].evidence.value("remaining").cloned();
        assert_eq!(left(&world), Some(Value::Length(Millis(28_000))));
        let version = world.model.live().version();
        // How fast a poll was answered is no news.
        for after in [4_000, 1_000] {
            world.let_pass(after);
            world.observe(Observation::LeasesPolled(COST));
        }
        assert_eq!(world.model.live().version(), version, "no fact changed");
        assert_eq!(left(&world), Some(Value::Length(Millis(23_000))));
    }

    #[test]
    fn an_idle_world_is_not_woken_for_its_diagnosis() {
        let mut world = World::new(&[]);
        world.observe(Observation::LeaseList(vec![]));
        world.pass(1_000);
        assert_eq!(world.model.next_tick(), None);
        assert_eq!(world.model.next_frame(world.now()), None);
        // Members that say the same again are no reason either.
        let member = Member { id: MemberId(1), ..Member::default() };
        world.observe(Observation::Members(vec![member.clone()]));
        for _ in 0..3 {
            world.observe(Observation::Status { member: member.id, answer: Ok(Status::default()) });
            world.observe(Observation::Members(vec![member.clone()]));
            world.observe(Observation::Alarms(vec![]));
            world.observe(Observation::LeaseList(vec![]));
            world.pass(5_000);
            assert_eq!(world.model.next_tick(), None);
        }
        let seen = world.model.live().version();
        world.observe(Observation::Status { member: member.id, answer: Ok(Status::default()) });
        world.observe(Observation::LeaseList(vec![]));
        assert_eq!((world.model.live().version(), world.model.next_tick()), (seen, None));
    }

    #[test]
    fn nobody_looks_when_nobody_wants_to_know() {
        let mut world = sound();
        world.model.diagnose_by(None);
        world.ttl(lease_of("/a", 0), 60, -3);
        world.pass(10_000);
        assert_eq!(codes(&world.model), [""; 0]);
        world.model.diagnose_by(Some(Thresholds::default()));
        world.pass(0);
        assert_eq!(codes(&world.model), ["lease-overdue"]);
    }
}
