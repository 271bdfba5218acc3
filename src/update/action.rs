//! A person did something: what it means, and what comes of it.

use crate::domain::raft::Fault;
use crate::effect::{Effect, Effects};
use crate::input::action::{Action, Replay};
use crate::input::{Chord, Hits, Input, Mouse, MouseKind, keymap};
use crate::model::Model;
use crate::model::ui::{Layer, Notice, Prompt, Purpose, Refresh};

use super::{copying, dialog, faults, moving, navigating, play, pointer, raft, replay, typing};

/// Takes in what a person did, given where things were drawn when it was done.
pub fn input(model: &mut Model, input: Input, hits: &Hits) -> Effects {
    model.ui.panes.clear();
    model.ui.panes.extend_from_slice(hits.panes());
    if let Some(demo) = &mut model.ui.demo {
        // Whatever is done takes the hint away, and is done.
        let done = matches!(input, Input::Key(_) | Input::Mouse(Mouse { kind: MouseKind::Press, .. }));
        demo.hint &= !done;
    }
    if matches!(input, Input::Key(_) | Input::Mouse(Mouse { kind: MouseKind::Press, .. })) {
        // What was said to what was done before must not look like the answer to this.
        model.ui.toast = None;
    }
    let effects = match input {
        Input::Key(chord) => key(model, chord),
        Input::Mouse(mouse) => pointer::mouse(model, mouse, hits),
        Input::Paste(text) => {
            insert(model, &text);
            Effects::new()
        }
        Input::Resize(columns, rows) => {
            model.ui.size = (columns, rows);
            Effects::new()
        }
        // While it was behind others, something else may have written into the terminal.
        Input::Focus(true) => vec![Effect::Redraw],
        Input::Focus(false) => return Effects::new(),
    };
    model.ui.touch();
    effects
}

fn key(model: &mut Model, chord: Chord) -> Effects {
    if let Some(action) = keymap::action(model.contexts(), chord) {
        return perform(model, action);
    }
    if model.ui.dialog.is_none() {
        faults::explain(model, chord);
    }
    if model.ui.prompt.is_some() || model.ui.dialog.is_some() {
        if let Some(char) = chord.typed() {
            insert(model, char.encode_utf8(&mut [0; 4]));
        }
    } else if model.ui.layer == Layer::Copy {
        // A key that copies nothing takes the question away.
        model.ui.layer = Layer::None;
    }
    Effects::new()
}

/// Puts text where one types.
fn insert(model: &mut Model, text: &str) {
    match &mut model.ui.dialog {
        Some(dialog) => dialog::insert(dialog, text),
        None => typing::insert(model, text),
    }
}

/// Does what a key, a click or a command asks for.
pub fn perform(model: &mut Model, action: Action) -> Effects {
    if model.is_replay() && replay::is_refused(action) {
        return replay::refuse(model);
    }
    if action == Action::Pause && model.is_replay() {
        return replay::keyed(model, Replay::PlayOrPause);
    }
    let ui = &mut model.ui;
    match action {
        Action::Go(motion) => moving::go(model, motion),
        Action::NextPane => moving::focus(ui, 1, true),
        Action::PreviousPane => moving::focus(ui, -1, true),
        Action::PaneRight => moving::focus(ui, 1, false),
        Action::PaneLeft => moving::focus(ui, -1, false),
        Action::Show(screen) => navigating::show(model, screen),
        Action::Open => navigating::open(model),
        Action::Back => navigating::back(model),
        Action::Filter => match &ui.layer {
            Layer::Help { filter } => ui.prompt = Some(Prompt::new(Purpose::HelpFilter, filter)),
            _ => ui.prompt = Some(Prompt::new(Purpose::Filter, ui.filter.text())),
        },
        Action::Command => ui.prompt = Some(Prompt::new(Purpose::Command, "")),
        Action::NextSort => {
            (ui.sort, ui.reversed) = (ui.sort.next(), false);
            ui.spoil();
        }
        Action::SortBy(sort) => {
            ui.reversed = ui.sort == sort && !ui.reversed;
            ui.sort = sort;
            ui.spoil();
        }
        Action::ReverseSort => {
            ui.reversed = !ui.reversed;
            ui.spoil();
        }
        Action::Pause => {
            if model.is_paused() {
                model.resume();
            } else {
                model.pause();
            }
            model.ui.spoil();
        }
        Action::Faster => refresh(model, Refresh::faster),
        Action::Slower => refresh(model, Refresh::slower),
        Action::Copy => ui.layer = Layer::Copy,
        Action::CopyOne(what) => {
            ui.layer = Layer::None;
            return copying::copy(model, what);
        }
        Action::NextTheme => next_theme(model),
        Action::Mouse => {
            ui.mouse = !ui.mouse;
            let captured = ui.mouse;
            model.tell(Notice::Mouse(captured));
            return vec![Effect::CaptureMouse(captured)];
        }
        Action::All => {
            ui.all = !ui.all;
            ui.spoil();
            let all = ui.all;
            model.tell(Notice::All(all));
        }
        Action::Help => {
            ui.layer = match ui.layer {
                Layer::Help { .. } => Layer::None,
                _ => Layer::Help { filter: String::new() },
            };
            ui.scrolled[crate::input::Pane::Help as usize] = 0;
        }
        Action::Dismiss => dismiss(model),
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Quit => return vec![Effect::Quit],
        Action::Edit(edit) if ui.dialog.is_some() => return dialog::edit(model, edit),
        Action::Edit(edit) => return typing::edit(model, edit),
        Action::NextNode => raft::next_node(model, 1),
        Action::PreviousNode => raft::next_node(model, -1),
        Action::EntryBefore => raft::go_to_entry(model, false),
        Action::EntryAfter => raft::go_to_entry(model, true),
        Action::Elections => {
            ui.raft.elections = !ui.raft.elections;
            ui.focus = ui.raft.elections.then_some(crate::input::Pane::Terms);
        }
        Action::Node(deed) => return faults::node(model, deed),
        Action::Heal => return faults::cluster(model, Fault::Heal),
        Action::Pace(pace) => return faults::pace(model, pace),
        Action::MoveLead => return faults::move_lead(model),
        Action::Replay(what) => return replay::keyed(model, what),
        Action::Record => return vec![Effect::Record(None)],
        Action::Client(blow) => return play::client(model, blow),
        Action::Join(count) => return play::join(model, count),
        Action::Lanes(look) => play::look(model, look),
        Action::Expectations => {
            ui.play.expectations = !ui.play.expectations;
            ui.focus = ui.play.expectations.then_some(crate::input::Pane::Expected);
        }
        Action::Write(wish) => return dialog::wish(model, wish),
        Action::CopyCommand => return copying::command(model),
    }
    Effects::new()
}

/// Takes note of what is over.
fn dismiss(model: &mut Model) {
    let notice = if model.dismiss() { Notice::Dismissed } else { Notice::NothingToDismiss };
    model.tell(notice);
}

/// Uses a theme.
pub fn use_theme(model: &mut Model, name: String) {
    model.ui.theme.clone_from(&name);
    model.tell(Notice::Theme(name));
}

fn next_theme(model: &mut Model) {
    let ui = &model.ui;
    let at = ui.themes.iter().position(|name| *name == ui.theme);
    let next = at.map_or(0, |at| (at + 1) % ui.themes.len());
    if let Some(name) = ui.themes.get(next).cloned() {
        use_theme(model, name);
    }
}

fn refresh(model: &mut Model, choose: impl FnOnce(Refresh) -> Option<Refresh>) {
    let now = model.ui.refresh;
    let notice = match choose(now) {
        Some(refresh) => {
            model.ui.refresh = refresh;
            model.live_mut().poll_every(refresh.period());
            Notice::Refresh(refresh.period())
        }
        None => Notice::RefreshLimit(now.period()),
    };
    model.tell(notice);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Millis;
    use crate::event::{LinkState, Observation};
    use crate::input::{Screen, Sort, Target};
    use crate::update::testing::{World, lease_of};

    fn world() -> World {
        World::new(&[("/a", 1), ("/b", 3), ("/c", 0)])
    }

    #[test]
    fn q_and_ctrl_c_quit_and_ctrl_c_does_so_wherever_one_is() {
        assert_eq!(world().keys("q"), [Effect::Quit]);
        for before in ["", "/q", ":q", "?", "y", "?/x", "<Enter>", "3"] {
            let mut world = world();
            world.keys(before);
            assert_eq!(world.keys("<C-c>"), [Effect::Quit], "after {before:?}");
        }
    }

    #[test]
    fn q_types_where_one_types_and_closes_what_lies_on_top() {
        let mut world = world();
        assert_eq!(world.keys("/q"), []);
        assert_eq!(world.model.ui.filter.text(), "q");
        assert_eq!(world.keys("<Esc>?q"), [], "the help closes");
        assert_eq!(world.model.ui.layer, Layer::None);
        assert_eq!(world.keys("q"), [Effect::Quit]);
    }

    #[test]
    fn sorts_go_round_and_turn_round() {
        let mut world = world();
        assert_eq!(world.listed(), ["/b", "/a", "/c"], "most waiters first");
        world.keys("S");
        assert_eq!(world.listed(), ["/c", "/a", "/b"]);
        world.keys("ss");
        assert_eq!((world.model.ui.sort, world.listed()), (Sort::Name, ["/a", "/b", "/c"].map(String::from).to_vec()));
        for sort in [Sort::Held, Sort::Ttl, Sort::Handovers, Sort::Weight, Sort::Wait] {
            world.keys("s");
            assert_eq!((world.model.ui.sort, world.model.ui.reversed), (sort, false));
        }
    }

    #[test]
    fn least_time_left_comes_first_and_unknown_times_last() {
        let mut world = world();
        world.ttl(lease_of("/a", 0), 60, 40);
        world.ttl(lease_of("/c", 0), 60, 5);
        world.keys(":sort ttl<Enter>");
        assert_eq!(world.listed(), ["/c", "/a", "/b"]);
        world.ttl(lease_of("/b", 0), 60, -3);
        world.pass(0);
        assert_eq!(world.listed(), ["/b", "/c", "/a"], "overdue before all others");
    }

    #[test]
    fn many_locks_are_listed_anew_twice_a_second_at_most() {
        let names: Vec<String> = (0..2_001).map(|n| format!("/{n:04}")).collect();
        let many: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 0)).collect();
        let mut world = World::new(&[]);
        world.list(&many);
        world.pass(500);
        assert_eq!(world.listed().len(), 2_001);
        let more: Vec<_> = many.iter().copied().chain([("/new", 3)]).collect();
        world.list(&more);
        assert_eq!(world.listed()[0], "/0000", "not yet");
        let (list, diagnosis) = (world.now() + Millis(500), world.model.ui.checkup.due(world.model.shown()));
        let due = [Some(list), diagnosis, world.model.live().next_deadline()].into_iter().flatten().min();
        assert_eq!(world.model.next_tick(), due);
        world.pass(500);
        assert_eq!(world.listed()[0], "/new");
        world.keys("S");
        assert_eq!(world.listed()[2_001], "/new", "what a person asks for comes at once");
    }

    #[test]
    fn a_click_on_a_header_sorts_and_the_next_turns_round() {
        let mut world = world();
        world.click(Target::Do(Action::SortBy(Sort::Name)));
        assert_eq!(world.listed(), ["/a", "/b", "/c"]);
        world.click(Target::Do(Action::SortBy(Sort::Name)));
        assert_eq!(world.listed(), ["/c", "/b", "/a"]);
        world.click(Target::Do(Action::SortBy(Sort::Wait)));
        assert_eq!(world.listed(), ["/b", "/a", "/c"]);
    }

    #[test]
    fn while_paused_the_intake_goes_on_and_the_screen_stands_still() {
        let mut world = world();
        world.keys(" ");
        assert!(world.model.is_paused());
        world.list(&[("/a", 1), ("/b", 3), ("/c", 0), ("/d", 9)]);
        assert_eq!(world.listed(), ["/b", "/a", "/c"]);
        assert!(world.model.missed_while_paused() > 0);
        world.keys("S");
        assert_eq!(world.listed(), ["/c", "/a", "/b"], "what is held still can be looked at");
        world.keys("S ");
        assert_eq!(world.listed(), ["/d", "/b", "/a", "/c"]);
        assert_eq!(world.model.missed_while_paused(), 0);
    }

    #[test]
    fn nothing_counts_down_while_paused() {
        let mut world = world();
        let drawn = world.now();
        world.model.ui.reduce_motion = true;
        assert_eq!(world.model.next_frame(drawn), Some(drawn + Millis(1_000)));
        world.keys(" ");
        assert_eq!(world.model.next_frame(drawn), None);
    }

    #[test]
    fn a_free_lock_counts_since_when_it_is() {
        let mut world = World::new(&[("/a", 0)]);
        world.model.ui.reduce_motion = true;
        world.list(&[]);
        assert_eq!(world.listed(), ["/a"]);
        let next = |world: &World| world.model.next_frame(world.now());
        let second = Some(world.now() + Millis(1_000));
        assert_eq!(next(&world), second);
        world.keys("<Enter>");
        assert_eq!((world.model.ui.screen, next(&world)), (Screen::Lock, second));
    }

    #[test]
    fn a_screen_without_times_is_not_drawn_anew() {
        let mut world = world();
        let drawn = world.now() + Millis(10_000);
        world.keys("6");
        assert_eq!(world.model.next_frame(drawn), None);
        world.observe(Observation::Link(LinkState::Retrying {
            attempt: 1,
            next_at: drawn + Millis(2_500),
            why: vec![],
        }));
        assert_eq!(world.model.next_frame(drawn), Some(drawn + Millis(1_000)), "the next try counts down everywhere");
    }

    #[test]
    fn polls_alone_make_no_list_anew_unless_it_goes_by_time_left() {
        let mut world = world();
        world.model.diagnose_by(None);
        world.pass(0);
        let poll = |world: &mut World| {
            world.ttl(lease_of("/a", 0), 60, 40);
            world.model.ui.next_settling(world.model.shown())
        };
        assert_eq!(poll(&mut world), None);
        world.keys(":sort ttl<Enter>");
        world.model.ui.toast = None;
        assert!(poll(&mut world).is_some());
    }

    #[test]
    fn a_changed_row_is_marked_for_a_while_unless_motion_is_reduced() {
        let mut world = world();
        world.pass(5_000);
        let happened = world.now();
        world.enqueue("/c");
        world.pass(100);
        assert_eq!(world.model.next_frame(world.now()), Some(happened + Millis(600)));
        assert_eq!(world.model.next_frame(happened + Millis(600)), Some(happened + Millis(1_600)), "a second later");
        world.model.ui.reduce_motion = true;
        assert_eq!(world.model.next_frame(happened), Some(happened + Millis(1_000)));
    }

    #[test]
    fn what_is_over_is_dismissed_by_a_key_also_while_paused_and_comes_back_when_it_happens_anew() {
        use crate::domain::{ClusterId, Revision};
        use crate::event::WatchLoss;
        let mut world = world();
        world.keys("x");
        assert_eq!(world.toast(), "nothing to dismiss: what Attention shows goes when it is fixed");
        let over = |world: &World| {
            let findings = world.model.diagnosis().findings().iter().filter(|finding| finding.is_of_the_past());
            findings.map(|finding| finding.code).collect::<Vec<_>>()
        };
        world.observe(Observation::Cluster(ClusterId(1)));
        for (other, paused) in [(2, false), (3, true)] {
            world.observe(Observation::Cluster(ClusterId(other)));
            world.list(&[("/a", 1)]);
            world.pass(2_000);
            assert!(over(&world).contains(&"other-cluster"), "{:?}", over(&world));
            if paused {
                world.keys(" ");
            }
            world.keys("x");
            assert!(world.toast().starts_with("dismissed"), "{}", world.toast());
            world.pass(2_000);
            assert_eq!(over(&world), [""; 0]);
        }
        world.keys(" ");
        assert_eq!(over(&world), [""; 0], "what was dismissed does not come back by itself");
        world.observe(Observation::WatchLost(WatchLoss::Compacted { at: Revision(1_000_000) }));
        // What was missed is known once all is read anew.
        world.list(&[("/a", 1)]);
        world.pass(2_000);
        assert_eq!(over(&world), ["watch-gap"], "and what happens anew is told");
    }

    #[test]
    fn refresh_changes_within_its_limits_and_the_polls_follow() {
        let mut world = world();
        world.keys("+");
        assert_eq!(world.toast(), "refresh stays at every 1 s");
        world.keys("-");
        assert_eq!(world.toast(), "refresh every 2 s");
        assert_eq!(world.model.ui.refresh.period(), Millis(2_000));
        world.pass(10_000);
        assert_eq!(world.pass(1_000), [], "a burst every second no more");
        assert!(matches!(world.pass(1_000)[..], [Effect::PollLeases(_)]));
        world.keys("----");
        assert_eq!(world.toast(), "refresh stays at every 30 s");
    }

    #[test]
    fn themes_go_round_by_key_and_by_name() {
        let mut world = world();
        world.keys("t");
        assert_eq!((world.model.ui.theme.as_str(), world.toast().as_str()), ("light", "theme light"));
        world.keys("tt");
        assert_eq!(world.model.ui.theme, "dark");
        world.keys(":theme mono<Enter>");
        assert_eq!(world.model.ui.theme, "mono");
        world.model.ui.themes.clear();
        world.keys("t");
        assert_eq!(world.model.ui.theme, "mono");
    }

    #[test]
    fn the_mouse_is_left_to_the_terminal_and_taken_back() {
        let mut world = world();
        assert_eq!(world.keys("m"), [Effect::CaptureMouse(false)]);
        assert_eq!(world.keys("m"), [Effect::CaptureMouse(true)]);
    }

    #[test]
    fn a_message_goes_by_itself() {
        let mut world = world();
        world.keys("t");
        let until = world.model.ui.toast.as_ref().unwrap().until;
        assert!(world.model.next_tick().unwrap() <= until);
        world.pass(3_999);
        assert!(world.model.ui.toast.is_some());
        let before = world.model.version();
        world.pass(1);
        assert_eq!(world.model.ui.toast, None);
        assert!(world.model.version() > before, "which is something to draw");
    }

    #[test]
    fn the_help_opens_closes_and_filters() {
        let mut world = world();
        world.keys("?/sort");
        assert_eq!(world.model.ui.layer, Layer::Help { filter: "sort".into() });
        assert_eq!(world.listed().len(), 3, "the list is not filtered");
        world.keys("<Enter>");
        assert_eq!(world.model.ui.layer, Layer::Help { filter: "sort".into() });
        world.keys("/<Esc>");
        assert_eq!(world.model.ui.layer, Layer::Help { filter: String::new() });
        world.keys("<Esc>");
        assert_eq!(world.model.ui.layer, Layer::None);
    }

    #[test]
    fn suspend_and_redraw_are_left_to_the_rim() {
        assert_eq!(world().keys("<C-z>"), [Effect::Suspend]);
        assert_eq!(world().keys("<C-l>"), [Effect::Redraw]);
        assert_eq!(world().input(Input::Focus(true)), [Effect::Redraw]);
        assert_eq!(world().input(Input::Focus(false)), []);
    }

    #[test]
    fn a_paste_is_text_or_nothing() {
        let mut world = world();
        assert_eq!(world.input(Input::Paste("q:q\r".into())), []);
        assert_eq!(world.model.ui.prompt, None);
        world.keys("/");
        world.input(Input::Paste("/b\n".into()));
        assert_eq!(world.model.ui.filter.text(), "/b ");
    }

    #[test]
    fn keys_that_mean_nothing_do_nothing() {
        let mut world = world();
        let before = format!("{:?}", world.model.ui.screen);
        assert_eq!(world.keys("8Z<C-x>"), []);
        assert_eq!(format!("{:?}", world.model.ui.screen), before);
    }

    #[test]
    fn all_shows_what_is_no_lock() {
        let mut world = world();
        world.keys("a");
        assert_eq!(world.toast(), "all leased keys");
        assert!(world.model.ui.all);
        world.keys("a");
        assert_eq!(world.toast(), "locks only");
    }
}
