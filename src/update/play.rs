//! Things a person does to the simulated clients, what is told of them, and looking along their
//! lanes.

use crate::domain::play::{ClientId, Ill, Life, Order, Whom};
use crate::effect::{Effect, Effects};
use crate::input::Pane;
use crate::input::action::{Blow, Look};
use crate::model::ui::{Notice, PlayUi, Ui};
use crate::model::{Model, Play};

/// How many columns a step along the lanes is.
const STEP: i64 = 8;

/// Does something to the selected client.
pub fn client(model: &mut Model, blow: Blow) -> Effects {
    let (facts, ui) = model.shown_and_ui();
    let Some(run) = facts.play.as_deref() else {
        model.tell(Notice::NeedsPlay);
        return Effects::new();
    };
    let Some(id) = ui.play.meant(run, blow) else {
        model.tell(Notice::NoClient);
        return Effects::new();
    };
    // Which is meant can be seen, also while the screen is paused; how it is, is what it is now.
    let (facts, ui) = model.live_and_ui();
    let Some(client) = facts.play.as_deref().and_then(|run| run.picture().client(id)) else {
        model.tell(Notice::NoClient);
        return Effects::new();
    };
    ui.play.note_done(blow, id);
    let ill = match blow {
        Blow::PauseOrResume if client.life == Life::Paused => Ill::Resume,
        Blow::PauseOrResume => Ill::Pause,
        Blow::Crash => Ill::Crash,
        Blow::Revoke => Ill::Revoke,
        Blow::CutOrMend if client.cut => Ill::Mend,
        Blow::CutOrMend => Ill::Cut,
        Blow::SlowHeartbeat => Ill::Heartbeat(ui.play.other_heartbeat(id, client.heartbeat)),
        Blow::SkewClock if client.skew_ms != 0 => Ill::Skew(0),
        Blow::SkewClock => Ill::Skew(-i64::try_from(client.ttl.as_millis() / 2).unwrap_or(i64::MAX)),
        Blow::Release => Ill::Release,
        Blow::HoldLonger => Ill::Hold(ui.play.other_hold(client, true)),
        Blow::HoldShorter => Ill::Hold(ui.play.other_hold(client, false)),
        Blow::Remove => Ill::Remove,
    };
    vec![Effect::Order(Order::Client(Whom::Client(id), ill))]
}

/// Follows an order, whoever it means by name: who is told of it is told whom it met.
pub fn order(model: &Model, order: Order) -> Effects {
    let run = model.live().play.as_deref();
    let meant = match &order {
        Order::Client(Whom::Holder, _) => run.and_then(Play::holder),
        Order::Client(Whom::Waiter, _) => run.and_then(Play::waiter),
        Order::Client(Whom::Client(_), _) | Order::Add(_) => None,
    };
    let order = match (order, meant) {
        (Order::Client(_, ill), Some(id)) => Order::Client(Whom::Client(id), ill),
        (order, _) => order,
    };
    vec![Effect::Order(order)]
}

/// Lets so many clients more join.
pub fn join(model: &mut Model, count: u16) -> Effects {
    if !model.plays() {
        model.tell(Notice::NeedsPlay);
        return Effects::new();
    }
    vec![Effect::Order(Order::Add(count))]
}

/// Looks at another stretch of time.
pub fn look(model: &mut Model, look: Look) {
    let (facts, ui) = model.shown_and_ui();
    let Some(run) = facts.play.as_deref() else { return };
    let columns = PlayUi::columns(ui.size.0);
    match look {
        Look::Nearer => ui.play.zoom(run, columns, true),
        Look::Farther => ui.play.zoom(run, columns, false),
        Look::Back if ui.play.span(run, columns).start.0 == 0 => {
            let whole = ui.play.follows();
            model.tell(if whole { Notice::WholeRun } else { Notice::RunBegins });
        }
        Look::Back => ui.play.pan(run, columns, -STEP),
        Look::Forward => ui.play.pan(run, columns, STEP),
        Look::Follow => {
            ui.play.follow();
        }
    }
}

/// Tells what an order led to.
pub fn done(model: &mut Model, order: Order, result: Result<(), String>) {
    match result {
        Ok(()) => model.tell(Notice::Ordered(order)),
        Err(why) => model.tell(Notice::NotOrdered(order, why)),
    }
}

/// Has the cursor stand on the selected client, which until one is picked is the holder.
pub fn stand_on_selected(ui: &mut Ui, run: &Play, rows: usize) {
    if ui.play.clients.picked().is_none()
        && let Some(row) = ui.play.client(run).and_then(|id| run.row(id))
    {
        ui.play.clients.position.place(row, rows, run.clients().len());
    }
}

/// Has the selection stay with what stands where it is; a moment is marked in the lanes.
pub fn pin(ui: &mut Ui, run: &Play, pane: Pane) {
    if pane == Pane::Happened {
        let newest_first = run.happened().iter().rev().nth(ui.play.happened.index());
        ui.play.happened.pin(newest_first.map(|happened| happened.number));
        ui.play.show_marked(run, PlayUi::columns(ui.size.0));
        return;
    }
    let client: Option<ClientId> = run.in_row(ui.play.clients.index()).map(|client| client.id);
    ui.play.clients.pin(client);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::play::{Belief, ClientPicture, Happening, Moment, PlayPicture};
    use crate::domain::raft::ClusterTime;
    use crate::domain::{Key, Millis};
    use crate::event::Observation;
    use crate::input::{Screen, Target};
    use crate::update::testing::World;

    /// Five clients of which the third holds, for a minute.
    fn picture(before: u64) -> PlayPicture {
        let client = |id| ClientPicture {
            id: ClientId(id),
            belief: if id == 3 { Belief::Holding } else { Belief::Waiting },
            place: Some(if id == 3 { 0 } else { 4 }),
            ttl: Duration::from_secs(15),
            heartbeat: Duration::from_secs(4),
            hold: Duration::from_secs(6),
            ..ClientPicture::default()
        };
        let moment = |second: u64| Moment {
            at: ClusterTime(second * 1_000_000),
            lock: Key::default(),
            client: Some(ClientId(3)),
            what: Happening::Resumed,
        };
        PlayPicture {
            now: ClusterTime(60_000_000),
            clients: (1..=5).map(client).collect(),
            moments: if before == 0 { (0..60).map(moment).collect() } else { Vec::new() },
            before,
            ..PlayPicture::default()
        }
    }

    fn world() -> World {
        let mut world = World::new(&[("/a", 1)]);
        world.observe(Observation::Play(Box::new(picture(0))));
        world.pass(0);
        world.keys("5");
        world.shown(Pane::Lanes, 8, 5);
        world.also_shown(Pane::Happened, 6, 60);
        world
    }

    fn show(world: &mut World, change: impl FnOnce(&mut PlayPicture)) {
        let mut picture = picture(60);
        change(&mut picture);
        world.observe(Observation::Play(Box::new(picture)));
        world.pass(0);
    }

    fn order(effects: &[Effect]) -> String {
        match effects {
            [Effect::Order(order)] => order.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_deed_has_its_key_and_means_the_holder_until_a_client_is_picked() {
        for (keys, line) in [
            ("p", "pause client-3"),
            ("k", "crash client-3"),
            ("x", "revoke client-3"),
            ("d", "cut client-3"),
            ("s", "heartbeat client-3 12s"),
            ("ss", "heartbeat client-3 4s"),
            ("t", "skew client-3 -7.5s"),
            ("u", "release client-3"),
            ("+", "hold client-3 12s"),
            ("++-", "hold client-3 12s"),
            ("-", "hold client-3 3s"),
            ("D", "remove client-3"),
            ("a", "add 1"),
            ("A", "add 10"),
            ("<Down>p", "pause client-4"),
            ("<Up><Up>p", "pause client-1"),
        ] {
            assert_eq!(order(&world().keys(keys)), line, "{keys}");
        }
    }

    #[test]
    fn a_third_of_a_lease_is_slowed_down_to_whole_milliseconds() {
        let mut world = world();
        show(&mut world, |picture| picture.clients[2].heartbeat = Duration::from_secs(10) / 3);
        assert_eq!(order(&world.keys("s")), "heartbeat client-3 10s");
        assert_eq!(order(&world.keys("s")), "heartbeat client-3 3.333s");
    }

    #[test]
    fn the_same_key_takes_it_back_though_another_holds_by_then() {
        let mut world = world();
        world.keys("pdst");
        show(&mut world, |picture| {
            (picture.clients[2].life, picture.clients[2].place) = (Life::Paused, None);
            (picture.clients[2].cut, picture.clients[2].skew_ms) = (true, -7_500);
            picture.clients[0].place = Some(0);
        });
        assert_eq!(order(&world.keys("p")), "resume client-3");
        assert_eq!(order(&world.keys("d")), "mend client-3");
        assert_eq!(order(&world.keys("s")), "heartbeat client-3 4s");
        assert_eq!(order(&world.keys("t")), "skew client-3 0ms");
        for (key, line) in [("k", "crash client-1"), ("x", "revoke client-1"), ("u", "release client-1")] {
            assert_eq!(order(&world.keys(key)), line, "what is not taken back means the holder");
        }
        show(&mut world, |picture| picture.clients[0].place = Some(0));
        assert_eq!(order(&world.keys("p")), "pause client-1", "what was taken back is done with");
        show(&mut world, |picture| drop(picture.clients.remove(2)));
        assert_eq!(order(&world.keys("p")), "pause client-1", "one that is gone is not meant any more");
    }

    #[test]
    fn who_stands_still_is_woken_before_another_is_stopped() {
        let mut world = world();
        show(&mut world, |picture| picture.clients[3].life = Life::Paused);
        assert_eq!(order(&world.keys("p")), "resume client-4", "though no key had stopped it");
        assert_eq!(order(&world.keys("k")), "crash client-3", "other keys mean the holder");
    }

    #[test]
    fn a_deed_picks_nobody_and_who_was_picked_is_let_go_again() {
        let mut world = world();
        let picked = |world: &World| world.model.ui.play.clients.picked().copied();
        world.keys("kxpds");
        assert_eq!(picked(&world), None);
        for key in ["F", "<Esc>"] {
            world.keys("<Down>");
            assert_eq!((picked(&world), order(&world.keys("x"))), (Some(ClientId(4)), "revoke client-4".into()));
            world.keys(key);
            assert_eq!((picked(&world), order(&world.keys("x"))), (None, "revoke client-3".into()), "{key}");
            assert_eq!(world.model.ui.screen, Screen::Playground);
        }
    }

    #[test]
    fn where_nobody_holds_for_a_moment_the_last_holder_is_meant() {
        let mut world = world();
        show(&mut world, |picture| {
            picture.clients[2].place = None;
            picture.clients[2].belief = Belief::Idle;
        });
        assert_eq!(order(&world.keys("x")), "revoke client-3");
    }

    #[test]
    fn of_many_clients_the_holder_is_in_sight_while_the_run_is_followed() {
        let mut world = world();
        world.shown(Pane::Lanes, 2, 5);
        let window = |world: &World| world.model.ui.play.clients.window(2, 5);
        show(&mut world, |_| ());
        assert!(window(&world).contains(&2));
        show(&mut world, |picture| {
            (picture.clients[2].place, picture.clients[4].place) = (Some(1), Some(0));
        });
        assert!(window(&world).contains(&4));
        world.keys("<Home>");
        show(&mut world, |_| ());
        assert_eq!(window(&world), 0..2, "who is picked stays");
    }

    #[test]
    fn where_there_is_nothing_before_the_key_says_so() {
        let mut world = world();
        for _ in 0..40 {
            world.keys("<Left>");
        }
        assert_eq!(world.toast(), "here the run begins; F follows it again");
        world.keys("FZZZ<Left>");
        assert_eq!(world.toast(), "the whole run is on the screen; z shows it in more detail");
        assert!(span(&world).2, "and goes on being followed");
    }

    #[test]
    fn what_an_order_led_to_is_told() {
        let mut world = world();
        world.observe(Observation::OrderDone("crash client-3".parse().unwrap(), Ok(())));
        assert_eq!(world.toast(), "client-3 crashed: its key stays until its lease runs out");
        world.observe(Observation::OrderDone("add 3".parse().unwrap(), Err("the run is over".into())));
        assert_eq!(world.toast(), "add 3: the run is over");
        assert!(world.model.ui.toast.as_ref().unwrap().notice.is_error());
        for (order, said) in [
            ("skew client-2 0ms", "the clock of client-2 is right again"),
            ("skew client-2 -3s", "the clock of client-2 is 3s behind; t sets it right"),
            ("heartbeat client-2 12s", "client-2 sends a heartbeat every 12s from now on"),
            ("hold client-2 1500ms", "client-2 holds for 1.5s from now on"),
            ("add 1", "one client more joins"),
            ("add 3", "3 clients more join"),
        ] {
            world.observe(Observation::OrderDone(order.parse().unwrap(), Ok(())));
            assert_eq!(world.toast(), said);
        }
    }

    #[test]
    fn a_command_that_means_somebody_by_what_it_does_is_told_by_name() {
        let mut world = world();
        assert_eq!(order(&world.keys(":pause holder<Enter>")), "pause client-3");
        assert_eq!(order(&world.keys(":crash waiter<Enter>")), "crash client-1");
        show(&mut world, |picture| picture.clients.iter_mut().for_each(|client| client.place = None));
        assert_eq!(order(&world.keys(":crash waiter<Enter>")), "crash waiter", "the run says why that cannot be");
    }

    #[test]
    fn where_nobody_plays_the_screen_has_no_keys_of_its_own() {
        let mut world = World::new(&[("/a", 1)]);
        world.keys("5");
        assert_eq!(world.model.ui.screen, Screen::Playground);
        assert_eq!(world.keys("x"), []);
        world.keys(":crash holder<Enter>");
        assert_eq!(world.toast(), "`crash` needs clients that play: `lockscope demo` has some");
        world.keys("<Esc>");
        assert_eq!(world.model.ui.screen, Screen::Locks);
    }

    fn span(world: &World) -> (u64, u64, bool) {
        let (run, ui) = (world.model.shown().play.as_deref().unwrap(), &world.model.ui.play);
        let span = ui.span(run, PlayUi::columns(80));
        (span.start.0 / 1_000, span.end.0 / 1_000, ui.follows())
    }

    #[test]
    fn lanes_are_panned_zoomed_and_follow_again() {
        let mut world = world();
        assert_eq!(span(&world), (46_000, 60_000, true), "56 columns of a quarter of a second");
        world.keys("<Left>");
        assert_eq!(span(&world), (44_000, 58_000, false));
        world.keys("<Right>");
        assert_eq!(span(&world), (46_000, 60_000, true), "at the present it follows");
        world.keys("z");
        assert_eq!(span(&world), (53_000, 60_000, true));
        world.keys("ZZ<Left><Left>F");
        assert_eq!(span(&world), (32_000, 60_000, true));
        world.keys("<Left><Esc>");
        assert_eq!((span(&world).2, world.model.ui.screen), (true, Screen::Playground));
        for _ in 0..40 {
            world.keys("<Left>");
        }
        let (start, end, _) = span(&world);
        assert!(start == 0 && end <= 30_000, "not beyond the beginning: {start} {end}");
        for _ in 0..40 {
            world.keys("z");
        }
        for _ in 0..80 {
            world.keys("Z");
        }
    }

    #[test]
    fn a_selected_sentence_marks_its_moment_and_the_lanes_stay_there() {
        let mut world = world();
        world.keys("<Tab><Down><Down>");
        let marked = |world: &World| world.model.ui.play.marked(world.model.shown().play.as_deref().unwrap());
        assert_eq!(marked(&world), Some(ClusterTime(57_000_000)));
        assert_eq!(span(&world), (46_000, 60_000, false), "it is seen already");
        world.keys("<End>");
        assert_eq!(marked(&world), Some(ClusterTime(0)));
        assert_eq!(span(&world).0, 0);
        world.click(Target::Moment(30));
        assert_eq!(marked(&world), Some(ClusterTime(30_000_000)));
        let (start, end, follows) = span(&world);
        assert!((start..end).contains(&30_000) && !follows);
        world.keys("F");
        assert_eq!((marked(&world), span(&world).2), (None, true));
    }

    #[test]
    fn a_picture_is_drawn_where_it_is_shown_and_twenty_times_a_second_at_most() {
        let mut world = world();
        world.pass(1_000);
        let (drawn, version) = (world.now(), world.model.version());
        world.pass(1);
        show(&mut world, |_| ());
        assert_eq!(world.model.next_frame(drawn), None, "nothing moved");
        show(&mut world, |picture| picture.now = ClusterTime(60_050_000));
        assert_eq!(world.model.version(), version);
        assert_eq!(world.model.next_frame(drawn), Some(drawn + Millis(50)));
        world.model.ui.reduce_motion = true;
        assert_eq!(world.model.next_frame(drawn), None);
        world.keys("6");
        assert_eq!(world.model.next_frame(drawn), None);
    }

    #[test]
    fn a_click_on_a_lane_selects_its_client() {
        let mut world = world();
        world.click(Target::Client(ClientId(5)));
        assert_eq!(order(&world.keys("x")), "revoke client-5");
    }
}
