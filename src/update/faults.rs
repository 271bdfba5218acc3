//! Things a person does to the embedded cluster, and what is told of them.

use crate::domain::raft::{Fault, Life, NodeId, NodePicture, RaftPicture, Speed};
use crate::effect::{Effect, Effects};
use crate::input::action::{NodeDeed, Pace};
use crate::input::{Chord, Screen, keymap};
use crate::model::Model;
use crate::model::raft;
use crate::model::ui::{Layer, Notice};

/// The speeds of the cluster's clock that keys go through.
const SPEEDS: [Speed; 7] = [Speed(50), Speed(100), Speed(250), Speed(500), Speed(1_000), Speed(2_000), Speed(4_000)];

/// Does something to the selected node.
pub fn node(model: &mut Model, deed: NodeDeed) -> Effects {
    let target = target(model, deed);
    let Some(picture) = picture(model) else { return Effects::new() };
    let known = target.and_then(|id| Some((id, raft::node(picture, id)?.life, raft::is_isolated(picture, id))));
    let Some((id, life, is_isolated)) = known else {
        model.tell(Notice::NoNode);
        return Effects::new();
    };
    if shows_nodes(model.ui.screen) {
        // Whoever did something to a node looks at it from then on, so that the same key takes it
        // back.
        model.ui.raft.nodes.pin(Some(id));
    } else if deed == NodeDeed::KillOrStart {
        model.ui.raft.killed = (life != Life::Killed).then_some(id);
    }
    let fault = match (deed, life) {
        (NodeDeed::KillOrStart, Life::Killed) => Fault::Start(id),
        (NodeDeed::KillOrStart, Life::Up | Life::Paused) => Fault::Kill(id),
        (NodeDeed::PauseOrResume, Life::Paused) => Fault::Resume(id),
        (NodeDeed::PauseOrResume, Life::Up | Life::Killed) => Fault::Pause(id),
        (NodeDeed::Isolate, _) if is_isolated => {
            model.tell(Notice::IsolatedAlready(id));
            return Effects::new();
        }
        (NodeDeed::Isolate, _) => Fault::Isolate(id),
        (NodeDeed::Campaign, _) => Fault::Campaign(id),
        (NodeDeed::Transfer, _) => Fault::Transfer(id),
    };
    vec![Effect::Fault(fault)]
}

/// Changes how the cluster's clock runs.
pub fn pace(model: &mut Model, pace: Pace) -> Effects {
    let Some(picture) = picture(model) else { return Effects::new() };
    let (shown, paused) = (picture.speed, picture.paused);
    // Keys are pressed faster than pictures come.
    let now = model.ui.raft.asked_speed.unwrap_or(shown);
    let fault = match pace {
        Pace::Slower => SPEEDS.into_iter().rev().find(|&speed| speed < now).map(Fault::Speed),
        Pace::Faster => SPEEDS.into_iter().find(|&speed| speed > now).map(Fault::Speed),
        Pace::FreezeOrThaw => Some(if paused { Fault::Thaw } else { Fault::Freeze }),
        Pace::Step => Some(Fault::Step),
    };
    let Some(fault) = fault else {
        model.tell(Notice::SpeedLimit(now));
        return Effects::new();
    };
    note(model, fault);
    vec![Effect::Fault(fault)]
}

/// Does something to the cluster as a whole.
pub fn cluster(model: &mut Model, fault: Fault) -> Effects {
    if picture(model).is_none() {
        return Effects::new();
    }
    note(model, fault);
    vec![Effect::Fault(fault)]
}

/// Hands the lead over to the next node that could have it.
pub fn move_lead(model: &mut Model) -> Effects {
    let Some(picture) = picture(model) else { return Effects::new() };
    let leader = raft::leader(picture).map(|node| node.id);
    let could = |node: &&NodePicture| node.life == Life::Up && !node.learner && Some(node.id) != leader;
    let others = || picture.nodes.iter().filter(could).map(|node| node.id);
    let heir = others().find(|&id| Some(id) > leader).or_else(|| others().next());
    if let Some(heir) = heir.filter(|_| leader.is_some()) {
        return vec![Effect::Fault(Fault::Transfer(heir))];
    }
    model.tell(Notice::NoHeir);
    Effects::new()
}

/// Remembers a speed that is asked for.
const fn note(model: &mut Model, fault: Fault) {
    if let Fault::Speed(speed) = fault {
        model.ui.raft.asked_speed = Some(speed);
    }
}

/// Tells what a fault led to.
pub fn done(model: &mut Model, fault: Fault, result: Result<(), String>) {
    if let Fault::Speed(speed) = fault {
        if model.ui.raft.asked_speed == Some(speed) {
            model.ui.raft.asked_speed = None;
        }
        if let Some(picture) = model.live_mut().raft.as_mut().filter(|_| result.is_ok()) {
            picture.speed = speed;
        }
    }
    match result {
        // It is pressed again and again, and what it did is to be seen.
        Ok(()) if fault == Fault::Step => {}
        Ok(()) => model.tell(Notice::Done(fault)),
        Err(why) => model.tell(Notice::NotDone(fault, why)),
    }
}

/// The screens that every cluster has.
const SCREENS: [keymap::Context; 5] = {
    use keymap::Context::{Leases, Lock, Locks, Members, Waits};
    [Locks, Lock, Leases, Members, Waits]
};

/// Tells why a key does nothing that would do something on an embedded cluster or on other screens.
pub fn explain(model: &mut Model, chord: Chord) {
    use keymap::Context::{Embedded, Raft};
    let contexts: &[_] = if model.ui.screen == Screen::Raft { &[Raft, Embedded] } else { &[Embedded] };
    let free = model.ui.prompt.is_none() && model.ui.layer == Layer::None;
    if free && chord == Chord::char('/') {
        return model.tell(Notice::NothingToFilter);
    }
    if !free {
        return;
    }
    if !model.is_embedded() && keymap::action(contexts, chord).is_some() {
        return model.tell(Notice::NeedsEmbedded);
    }
    let binds = |context: &keymap::Context| keymap::action(&[*context], chord).is_some();
    let elsewhere: Vec<_> = SCREENS.into_iter().filter(binds).collect();
    if !elsewhere.is_empty() {
        return model.tell(Notice::NotHere(chord, elsewhere));
    }
    if binds(&keymap::Context::Playground) {
        return model.tell(Notice::NeedsPlay);
    }
    if binds(&keymap::Context::Replay) {
        model.tell(Notice::NeedsReplay);
    }
}

/// The live picture; when there is none, the reason is told.
fn picture(model: &mut Model) -> Option<&RaftPicture> {
    if model.live().raft.is_none() {
        let embedded = model.is_embedded();
        model.tell(if embedded { Notice::NoNode } else { Notice::NeedsEmbedded });
    }
    model.live().raft.as_deref()
}

/// Whether a screen shows nodes of which one can be selected.
const fn shows_nodes(screen: Screen) -> bool {
    matches!(screen, Screen::Raft | Screen::Way | Screen::Members)
}

/// The node that is meant: on the screen of the members the one in the selected row, on the Raft
/// screen the selected node, elsewhere the leader, unless one that was killed there is to start.
fn target(model: &Model, deed: NodeDeed) -> Option<NodeId> {
    let picture = model.shown().raft.as_deref()?;
    if !shows_nodes(model.ui.screen) {
        let lies = |id: &NodeId| raft::node(picture, *id).is_some_and(|node| node.life == Life::Killed);
        let killed = model.ui.raft.killed.filter(lies).filter(|_| deed == NodeDeed::KillOrStart);
        let leader = || raft::leader(picture).map(|node| node.id);
        return killed.or_else(leader).or_else(|| model.ui.raft.node(picture));
    }
    let of_row = || {
        let member = model.shown().cluster.members().get(model.ui.members.index())?;
        picture.nodes.iter().find(|node| node.member == member.member.id).map(|node| node.id)
    };
    let in_row = if model.ui.screen == Screen::Members { of_row() } else { None };
    in_row.or_else(|| model.ui.raft.node(picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;
    use crate::domain::raft::RaftRole;
    use crate::event::Observation;
    use crate::update::testing::World;

    /// An embedded cluster of three, the second of which leads.
    fn picture() -> RaftPicture {
        let node = |id| NodePicture {
            id: NodeId(id),
            member: crate::domain::MemberId(id),
            term: Term(7),
            role: if id == 2 { RaftRole::Leader } else { RaftRole::Follower },
            ..NodePicture::default()
        };
        RaftPicture { nodes: (1..=3).map(node).collect(), ..RaftPicture::default() }
    }

    fn world() -> World {
        let mut world = World::new(&[("/a", 1)]);
        world.observe(Observation::Raft(Box::new(picture())));
        world.pass(0);
        world
    }

    fn show(world: &mut World, change: impl FnOnce(&mut RaftPicture)) {
        let mut picture = world.model.live().raft.as_deref().cloned().unwrap();
        change(&mut picture);
        world.observe(Observation::Raft(Box::new(picture)));
        world.pass(0);
    }

    #[test]
    fn a_key_of_another_screen_says_so_and_an_old_notice_does_not_answer() {
        let mut world = World::new(&[("/a", 1)]);
        for (keys, told) in [
            ("6D", "D does nothing here, only on Locks, Lock, Members and Waits"),
            ("6a", "a does nothing here, only on Locks"),
            ("6L", "L does nothing here, only on Members"),
            ("6u", "no clients play here: `lockscope demo` has some"),
            ("6n", "this needs a recording: `lockscope replay FILE` shows one"),
            ("5", "no clients play here; r shows what etcd tells of Raft, 4 the members"),
            ("6D6", ""),
            ("6D*", ""),
        ] {
            world.keys(keys);
            assert_eq!(world.toast(), told, "{keys}");
        }
    }

    fn fault(effects: &[Effect]) -> String {
        match effects {
            [Effect::Fault(fault)] => fault.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn on_the_raft_screen_every_fault_has_its_key() {
        for (key, line) in [
            ("k", "kill n2"),
            ("p", "pause n2"),
            ("P", "isolate n2"),
            ("c", "campaign n2"),
            ("m", "transfer n2"),
            ("h", "heal"),
            ("-", "speed 0.5"),
            ("+", "speed 2"),
            ("=", "speed 2"),
            ("f", "freeze"),
            (".", "step"),
            ("<Tab>k", "kill n3"),
            ("<Tab><Tab>k", "kill n1"),
            ("<S-Tab>k", "kill n1"),
            ("<Up>k", "kill n1"),
            ("<Down>k", "kill n3"),
        ] {
            let mut world = world();
            world.keys("r");
            world.shown(crate::input::Pane::Nodes, 3, 3);
            assert_eq!(fault(&world.keys(key)), line, "{key}");
        }
    }

    #[test]
    fn a_second_press_takes_it_back_on_the_same_node() {
        let mut world = world();
        assert_eq!(fault(&world.keys("rk")), "kill n2");
        show(&mut world, |picture| {
            picture.nodes[1].life = Life::Killed;
            picture.nodes[0].role = RaftRole::Leader;
        });
        assert_eq!(fault(&world.keys("k")), "start n2", "though another one leads by now");
        show(&mut world, |picture| picture.nodes[1].life = Life::Paused);
        assert_eq!(fault(&world.keys("p")), "resume n2");
        show(&mut world, |picture| picture.paused = true);
        assert_eq!(fault(&world.keys("f")), "thaw");
    }

    #[test]
    fn the_leader_can_be_killed_from_every_screen() {
        for screen in ["1", "2", "3", "6"] {
            let mut world = world();
            world.keys(screen);
            assert_eq!(fault(&world.keys("K")), "kill n2", "{screen}");
            assert_eq!(fault(&world.keys("[")), "speed 0.5");
        }
        let mut world = world();
        world.keys("4");
        world.shown(crate::input::Pane::Members, 3, 3);
        world.keys("jj");
        assert_eq!(fault(&world.keys("K")), "kill n3", "on the members it is the selected row");
    }

    #[test]
    fn elsewhere_the_key_starts_what_it_killed_and_then_kills_whoever_leads() {
        let mut world = world();
        world.keys("r<Down>5");
        let leads = |world: &mut World, leader: usize, killed: Option<usize>| {
            show(world, |picture| {
                for (at, node) in picture.nodes.iter_mut().enumerate() {
                    node.role = if at == leader { RaftRole::Leader } else { RaftRole::Follower };
                    node.life = if Some(at) == killed { Life::Killed } else { Life::Up };
                }
            });
        };
        assert_eq!(fault(&world.keys("K")), "kill n2", "not the one that is selected on the Raft screen");
        leads(&mut world, 0, Some(1));
        assert_eq!(fault(&world.keys("P")), "isolate n1", "which means the leader as well");
        assert_eq!(fault(&world.keys("K")), "start n2");
        leads(&mut world, 0, None);
        assert_eq!(fault(&world.keys("K")), "kill n1");
        leads(&mut world, 2, Some(0));
        assert_eq!(fault(&world.keys("K")), "start n1");
        leads(&mut world, 2, Some(1));
        assert_eq!(fault(&world.keys("K")), "kill n3", "one that somebody else killed is left alone");
        assert_eq!(fault(&world.keys("rk")), "kill n3", "what was selected there is selected still");
    }

    #[test]
    fn the_lead_moves_to_the_next_that_could_have_it() {
        let mut world = world();
        assert_eq!(fault(&move_lead(&mut world.model)), "transfer n3");
        show(&mut world, |picture| picture.nodes[2].life = Life::Killed);
        assert_eq!(fault(&move_lead(&mut world.model)), "transfer n1");
        show(&mut world, |picture| picture.nodes[0].learner = true);
        assert_eq!(move_lead(&mut world.model), []);
        assert_eq!(world.toast(), "there is no other node that could lead");
    }

    #[test]
    fn speeds_go_in_steps_and_end() {
        let mut world = world();
        show(&mut world, |picture| picture.speed = Speed(300));
        assert_eq!(fault(&world.keys("[")), "speed 0.25");
        assert_eq!(fault(&world.keys("]")), "speed 0.5");
        world.observe(Observation::FaultDone(Fault::Speed(Speed(500)), Ok(())));
        show(&mut world, |picture| picture.speed = Speed::SLOWEST);
        assert_eq!(world.keys("["), []);
        assert_eq!(world.toast(), "the cluster's clock runs at 0.05 times already");
    }

    #[test]
    fn each_of_some_quick_presses_counts() {
        let mut world = world();
        let asked: Vec<String> = (0..4).map(|_| fault(&world.keys("["))).collect();
        assert_eq!(asked, ["speed 0.5", "speed 0.25", "speed 0.1", "speed 0.05"]);
        assert_eq!(world.keys("["), []);
        world.observe(Observation::FaultDone(Fault::Speed(Speed(500)), Ok(())));
        assert_eq!(fault(&world.keys("]")), "speed 0.1", "what was asked for last is not answered yet");
        world.observe(Observation::FaultDone(Fault::Speed(Speed(100)), Err("it is gone".into())));
        assert_eq!(fault(&world.keys("]")), "speed 1", "from what is known to be");
        world.observe(Observation::FaultDone(Fault::Speed(Speed(1_000)), Ok(())));
        assert_eq!(fault(&world.keys("]")), "speed 2", "before a picture says so");
    }

    #[test]
    fn an_isolated_node_says_how_to_mend_it() {
        let mut world = world();
        show(&mut world, |picture| picture.network.cuts = vec![(NodeId(1), NodeId(2)), (NodeId(2), NodeId(3))]);
        assert_eq!(world.keys("rP"), []);
        assert_eq!(world.toast(), "n2 is cut off from all others already; h heals all cuts");
    }

    #[test]
    fn commands_speak_the_words_of_standard_input() {
        let mut world = world();
        assert_eq!(fault(&world.keys(":delay 200ms<Enter>")), "delay 200ms");
        assert_eq!(fault(&world.keys(":cut n1 n2<Enter>")), "cut n1 n2");
        assert_eq!(world.keys(":loss much<Enter>"), []);
        assert_eq!(world.toast(), "`loss` wants a percentage from 0% to 100%, not `much`");
        world.keys(":kill <Tab>");
        assert_eq!(world.model.ui.prompt.as_ref().unwrap().line.text(), "kill n1");
    }

    #[test]
    fn what_a_fault_led_to_is_told() {
        let mut world = world();
        let before = world.model.version();
        world.observe(Observation::FaultDone(Fault::Kill(NodeId(2)), Ok(())));
        assert_eq!(world.toast(), "killed n2");
        assert!(world.model.version() > before, "which is something to draw");
        world.observe(Observation::FaultDone(Fault::Kill(NodeId(9)), Err("there is no node n9".into())));
        assert_eq!(world.toast(), "kill n9: there is no node n9");
        assert!(world.model.ui.toast.as_ref().unwrap().notice.is_error());
    }

    #[test]
    fn without_an_embedded_cluster_these_keys_say_what_they_need() {
        for keys in ["K", "rp", "r.", "[", "f"] {
            let mut world = World::new(&[("/a", 1)]);
            assert_eq!(world.keys(keys), [], "{keys}");
            assert_eq!(world.toast(), "this key needs an embedded cluster: `lockscope demo` starts one", "{keys}");
        }
        let mut world = World::new(&[("/a", 1)]);
        assert_eq!(world.keys(":kill n1<Enter>"), []);
        assert_eq!(world.toast(), "`kill` needs an embedded cluster: `lockscope demo` starts one");
        world.model.ui.toast = None;
        world.keys("rk");
        assert_eq!(world.toast(), "", "k goes up, as on every screen");
    }

    #[test]
    fn where_there_is_nothing_to_filter_the_key_says_so() {
        let mut world = world();
        assert_eq!(world.keys("5/"), []);
        assert_eq!(world.toast(), "there is nothing to filter here: Locks and Leases have a filter");
        assert!(world.model.ui.prompt.is_none());
    }

    #[test]
    fn a_demo_that_has_not_told_anything_yet_says_so() {
        let mut world = World::new(&[]);
        world.model.ui.demo = Some(crate::model::ui::Demo::new(42, 3));
        assert_eq!(world.keys("K"), []);
        assert_eq!(world.toast(), "the cluster has told of no node yet");
    }
}
