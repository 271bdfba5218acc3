//! Each stage of the dialog before a write, and each way out of it.

use crate::domain::write::{Confirmed, Write, WriteId, WriteResult};
use crate::domain::{
    Alarm, AlarmKind, ClusterId, Key, KeyEvent, KeyValue, LeaseId, MemberId, Revision, Status, Term, Value,
};
use crate::effect::{Effect, Effects};
use crate::event::{Change, Observation, OnLease, WriteDone};
use crate::input::{Action, Input, Mouse, MouseKind, Pane, Screen, Target};
use crate::model::ui::Notice;
use crate::model::ui::dialog::{Dialog, Refusal, Stage};
use crate::update::testing::{World, copied, lease_of};

/// A lock with a holder and waiters, the one that is selected.
fn world() -> World {
    World::new(&[("/a", 0), ("/jobs/reindex", 2)])
}

fn lease() -> LeaseId {
    lease_of("/jobs/reindex", 0)
}

fn dialog(world: &World) -> &Dialog {
    world.model.ui.dialog.as_ref().expect("a dialog is open")
}

fn stage(world: &World) -> &Stage {
    &dialog(world).stage
}

/// The keys on a lease that the watch knows.
fn watched(world: &World, lease: LeaseId) -> Vec<(Key, Revision)> {
    let keys = world.model.live().lease(lease).unwrap().keys();
    keys.into_iter().map(|key| (key.key().into(), key.token())).collect()
}

fn unwatched(name: &str, created: i64) -> (Key, Revision) {
    (name.into(), Revision(created))
}

/// The cluster tells what hangs on the lease.
fn tell(world: &mut World, keys: Vec<(Key, Revision)>) {
    world.observe(Observation::LeaseKeys(lease(), OnLease::Keys(keys)));
}

/// A world with the dialog about the holder's lease, which has a key that nobody watches.
fn shown() -> (World, Vec<(Key, Revision)>) {
    let mut world = world();
    assert_eq!(world.keys("R"), [Effect::LeaseKeys(lease())]);
    let mut keys = watched(&world, lease());
    keys.push(unwatched("/elsewhere/config", 3));
    tell(&mut world, keys.clone());
    keys.sort();
    (world, keys)
}

/// The same, confirmed and under way.
fn running() -> World {
    let (mut world, _) = shown();
    world.keys(&format!("{}<Enter>", lease()));
    assert!(matches!(stage(&world), Stage::Running { .. }));
    world
}

fn end(world: &mut World, result: WriteResult) {
    let write = Write::Revoke { lease: lease() };
    let id = WriteId(world.model.ui.writes);
    world.observe(Observation::WriteDone(Box::new(WriteDone { id, write, result, notes: Vec::new() })));
}

fn write_of(effects: &Effects) -> &Confirmed {
    match &effects[..] {
        [Effect::Write { confirmed, .. }] => confirmed,
        other => panic!("no write in {other:?}"),
    }
}

#[test]
fn it_asks_for_all_keys_first_and_nothing_can_be_typed_meanwhile() {
    let mut world = world();
    assert_eq!(world.keys("R"), [Effect::LeaseKeys(lease())]);
    assert_eq!(stage(&world), &Stage::Asking);
    world.keys(&lease().to_string());
    assert_eq!(dialog(&world).line.text(), "");
    assert_eq!(world.keys("<Enter>"), [], "which leaves a dialog that has nothing to confirm");
    assert_eq!(world.model.ui.dialog.as_ref().map(|_| ()), None);
}

#[test]
fn what_nobody_watches_is_shown_and_confirmed_with_the_rest() {
    let (mut world, keys) = shown();
    assert_eq!(stage(&world), &Stage::Shown);
    assert_eq!(dialog(&world).radius.keys, keys);
    let locks: Vec<_> = dialog(&world).radius.locks.iter().map(|lock| (lock.name.clone(), lock.freed)).collect();
    assert_eq!(locks, [("/jobs/reindex".into(), true)]);
    world.keys(&lease().to_string());
    let effects = world.keys("<Enter>");
    assert_eq!(*write_of(&effects), Confirmed { write: Write::Revoke { lease: lease() }, shown: keys });
    assert!(matches!(stage(&world), Stage::Running { .. }));
    assert_eq!(world.keys("<Enter>"), [], "once");
}

#[test]
fn a_wrong_word_does_nothing() {
    let (mut world, _) = shown();
    for typed in ["", "yes", "694d", "0"] {
        assert_eq!(world.keys(&format!("{typed}<Enter>")), [], "{typed:?}");
        assert_eq!(dialog(&world).refusal, Some(Refusal::WrongWord));
        assert_eq!(stage(&world), &Stage::Shown);
        world.keys("<C-u>");
        assert_eq!(dialog(&world).refusal, None, "typing on takes the complaint away");
    }
}

#[test]
fn a_lease_id_may_be_typed_in_every_form_that_is_read_elsewhere() {
    for form in [format!("0x{}", lease()), format!("{:016x}", lease().0), format!(" {} ", lease())] {
        let (mut world, _) = shown();
        world.keys(&form);
        write_of(&world.keys("<Enter>"));
    }
}

#[test]
fn keys_in_the_dialog_reach_nothing_below() {
    let (mut world, _) = shown();
    let before = (world.model.ui.screen, world.selected(), world.model.ui.sort);
    world.keys("123456rsStamqjkGg:/? <Tab><Left><Home>");
    assert_eq!((world.model.ui.screen, world.selected(), world.model.ui.sort), before);
    assert!(world.model.ui.prompt.is_none() && !world.model.is_paused());
    assert_eq!(dialog(&world).line.text(), "123456rsStamqjkGg:/? ");
    let mut world = running();
    assert_eq!(world.keys("1sS6jk:"), []);
    assert!(world.model.ui.prompt.is_none() && world.model.ui.screen == Screen::Locks);
    assert_eq!(world.keys("<C-c>"), [Effect::Quit], "but for leaving the program");
}

#[test]
fn the_mouse_reaches_nothing_below_either() {
    let (mut world, _) = shown();
    for target in [
        Target::Do(Action::Show(Screen::Members)),
        Target::Do(Action::Quit),
        Target::Lock("/a".into()),
        Target::Pane(Pane::Locks),
    ] {
        assert_eq!(world.click(target.clone()), [], "{target:?}");
        assert_eq!((world.model.ui.screen, stage(&world)), (Screen::Locks, &Stage::Shown), "{target:?}");
    }
    assert_eq!(world.selected(), "/jobs/reindex");
    assert!(matches!(world.click(Target::Do(Action::CopyCommand))[..], [Effect::CopyCommand(_)]));
    world.also_shown(Pane::Dialog, 5, 30);
    world.input(Input::Mouse(Mouse { kind: MouseKind::WheelDown, column: 5, row: 2 }));
    assert_eq!(world.model.ui.scrolled(Pane::Dialog), 3);
}

#[test]
fn a_key_that_comes_while_it_is_shown_is_asked_for_and_takes_back_what_was_typed() {
    let (mut world, keys) = shown();
    world.keys(&lease().to_string());
    let kv = KeyValue {
        key: format!("/jobs/other/{}", lease()).as_str().into(),
        create_revision: Revision(900),
        mod_revision: Revision(900),
        version: 1,
        lease: lease(),
        ..KeyValue::default()
    };
    let fresh = (kv.key.clone(), kv.create_revision);
    world.observe(Observation::Watched(vec![Change { revision: Revision(900), event: KeyEvent::Put(kv) }]));
    let (facts, ui) = world.model.live_and_ui();
    let dialog_now = ui.dialog.as_mut().unwrap();
    assert_eq!((dialog_now.confirm(facts), dialog_now.refusal), (None, Some(Refusal::AskingAgain)));
    let asks = world.pass(0);
    assert_eq!(asks, [Effect::LeaseKeys(lease())]);
    assert_eq!(dialog(&world).line.text(), lease().to_string(), "until the cluster has told");
    let mut now = keys.clone();
    now.push(fresh.clone());
    tell(&mut world, now);
    assert_eq!((stage(&world), dialog(&world).line.text()), (&Stage::Shown, ""));
    assert!(dialog(&world).is_fresh(&fresh) && !dialog(&world).is_fresh(&keys[0]));
    assert_eq!(world.keys("<Enter>"), []);
    world.keys(&lease().to_string());
    assert!(write_of(&world.keys("<Enter>")).shown.contains(&fresh));
}

#[test]
fn a_key_that_nobody_watches_is_noticed_by_asking_again() {
    let (mut world, keys) = shown();
    world.keys("6");
    assert!(!world.pass(1_000).contains(&Effect::LeaseKeys(lease())), "not every second");
    assert!(world.pass(1_000).contains(&Effect::LeaseKeys(lease())));
    tell(&mut world, keys.clone());
    assert_eq!(dialog(&world).line.text(), "6", "the same as before: nothing to look at again");
    assert_eq!(dialog(&world).news, None);
    world.pass(2_000);
    tell(&mut world, vec![keys[1].clone()]);
    let news = dialog(&world).news.as_ref().unwrap();
    assert_eq!((news.fresh.len(), news.gone, news.at_confirmation), (0, 1, false));
    assert_eq!(dialog(&world).line.text(), "");
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again() {
    let mut world = world();
    world.keys("R");
    assert!(!world.pass(5_000).contains(&Effect::LeaseKeys(lease())));
    assert!(world.pass(10_000).contains(&Effect::LeaseKeys(lease())));
    world.observe(Observation::LeaseKeys(lease(), OnLease::NotTold("permission denied".into())));
    assert_eq!((stage(&world), dialog(&world).trouble.as_deref()), (&Stage::Asking, Some("permission denied")));
    assert!(world.pass(2_000).contains(&Effect::LeaseKeys(lease())));
    tell(&mut world, vec![]);
    assert_eq!((stage(&world), dialog(&world).trouble.as_deref()), (&Stage::Shown, None));
}

#[test]
fn what_the_cluster_does_not_tell_any_more_is_not_confirmed() {
    let (mut world, _) = shown();
    world.observe(Observation::LeaseKeys(lease(), OnLease::NotTold("no leader".into())));
    world.keys(&lease().to_string());
    assert_eq!(world.keys("<Enter>"), []);
    assert_eq!(dialog(&world).refusal, Some(Refusal::AskingAgain));
}

#[test]
fn an_answer_about_another_lease_changes_nothing() {
    let mut world = world();
    world.keys("R");
    world.observe(Observation::LeaseKeys(LeaseId(9), OnLease::Gone));
    assert_eq!(stage(&world), &Stage::Asking);
}

#[test]
fn a_lease_that_ends_meanwhile_leaves_nothing_to_do() {
    let (mut world, _) = shown();
    world.observe(Observation::LeaseKeys(lease(), OnLease::Gone));
    assert_eq!(stage(&world), &Stage::Over(WriteResult::Gone));
    assert_eq!(world.pass(60_000).iter().filter(|effect| matches!(effect, Effect::LeaseKeys(_))).count(), 0);
    world.keys("<Enter>");
    assert!(world.model.ui.dialog.is_none());
}

#[test]
fn another_cluster_at_the_same_address_ends_the_dialog() {
    let (mut world, _) = shown();
    world.keys(&lease().to_string());
    world.observe(Observation::Cluster(ClusterId(2)));
    world.pass(0);
    assert_eq!(stage(&world), &Stage::Over(WriteResult::Gone));
    assert!(!dialog(&world).is_of(world.model.live()));
    assert_eq!(world.keys("<Enter>"), []);
}

#[test]
fn what_changed_before_it_was_carried_out_is_shown_again() {
    let mut world = running();
    let now = vec![unwatched("/new", 77)];
    end(&mut world, WriteResult::Changed { now: now.clone() });
    assert_eq!((stage(&world), &dialog(&world).radius.keys), (&Stage::Shown, &now));
    assert!(dialog(&world).news.as_ref().unwrap().at_confirmation);
    assert_eq!(dialog(&world).line.text(), "");
    assert_eq!(world.model.ui.writing, None);
    world.keys(&lease().to_string());
    assert_eq!(write_of(&world.keys("<Enter>")).shown, now, "what was shown last is confirmed");
}

#[test]
fn every_outcome_is_shown_until_it_is_left() {
    let outcomes = [
        WriteResult::Done { revision: Revision(90), gone: vec![] },
        WriteResult::Gone,
        WriteResult::Refused { why: "permission denied".into() },
        WriteResult::Unknown { why: "the connection was lost".into() },
    ];
    for outcome in outcomes {
        for leave in ["<Esc>", "<Enter>", "q"] {
            let mut world = running();
            end(&mut world, outcome.clone());
            assert_eq!(stage(&world), &Stage::Over(outcome.clone()));
            assert_eq!(world.model.ui.writing, None);
            assert_eq!(world.keys(leave), []);
            assert!(world.model.ui.dialog.is_none());
            assert_eq!(world.toast(), "");
        }
    }
}

#[test]
fn esc_leaves_at_every_stage_and_nothing_was_done() {
    let mut asking = world();
    asking.keys("R");
    let (mut typed, _) = shown();
    typed.keys(&lease().to_string());
    for mut world in [asking, typed] {
        assert_eq!(world.keys("<Esc>"), []);
        assert!(world.model.ui.dialog.is_none() && world.model.ui.writing.is_none());
        assert_eq!(world.keys("q"), [Effect::Quit], "keys mean what they meant");
    }
}

#[test]
fn a_dialog_that_is_left_while_it_runs_says_what_comes_of_it() {
    let mut world = running();
    world.keys("<Esc>");
    assert!(world.model.ui.dialog.is_none());
    assert!(world.toast().contains("goes on"), "{}", world.toast());
    assert_eq!(world.keys("R"), [], "one write at a time");
    assert!(world.toast().contains("being carried out"), "{}", world.toast());
    end(&mut world, WriteResult::Unknown { why: "lost".into() });
    assert_eq!(world.toast(), format!("UNKNOWN whether done: revoke lease {}: lost", lease()));
    assert!(world.model.ui.toast.as_ref().unwrap().notice.is_error());
    assert_eq!(world.keys("R"), [Effect::LeaseKeys(lease())]);
}

#[test]
fn an_outcome_without_a_dialog_is_told_and_changes_nothing_else() {
    let mut world = world();
    end(&mut world, WriteResult::Done { revision: Revision(90), gone: vec![] });
    assert_eq!(world.toast(), format!("done: revoke lease {}, at revision 90", lease()));
    assert!(world.model.ui.dialog.is_none());
}

#[test]
fn y_copies_the_command_while_nothing_is_typed_and_ctrl_y_always() {
    let text = |effects: &Effects| match &effects[..] {
        [Effect::CopyCommand(command)] => crate::view::text::command(command),
        other => panic!("no command in {other:?}"),
    };
    let (mut world, _) = shown();
    let command = format!("etcdctl lease revoke {}", lease());
    assert_eq!(text(&world.keys("y")), command);
    assert_eq!(world.toast(), "command sent to the terminal's clipboard");
    assert_eq!(world.keys("6y"), [], "a letter of the word");
    assert_eq!(dialog(&world).line.text(), "6y");
    assert_eq!(text(&world.keys("<C-y>")), command);
    assert_eq!(copied(&world.keys("<C-y>")), None, "quoted by whoever writes to the clipboard");
    let mut world = running();
    assert_eq!(text(&world.keys("y")), command);
    end(&mut world, WriteResult::Unknown { why: String::new() });
    assert_ne!(text(&world.keys("y")), command, "a look, and not the write again");
}

#[test]
fn a_release_asks_for_the_last_segment_of_the_name_and_deletes_the_key_that_was_shown() {
    let mut world = world();
    assert_eq!(world.keys("D"), []);
    assert_eq!((stage(&world), dialog(&world).word()), (&Stage::Shown, "reindex"));
    let keys = watched(&world, lease());
    assert_eq!(world.keys("/jobs/reindex<Enter>"), [], "the segment, not the name");
    world.keys("<C-u>reindex");
    let (key, create_revision) = keys[0].clone();
    let write = Write::Release { lock: "/jobs/reindex".into(), key, create_revision };
    assert_eq!(*write_of(&world.keys("<Enter>")), Confirmed { write, shown: keys });
}

#[test]
fn a_released_key_that_goes_by_itself_leaves_nothing_to_do() {
    let mut world = world();
    world.keys("Drein");
    let key = format!("/jobs/reindex/{}", lease()).as_str().into();
    let event = KeyEvent::Delete { key, previous: None };
    world.observe(Observation::Watched(vec![Change { revision: Revision(900), event }]));
    world.pass(0);
    assert_eq!(stage(&world), &Stage::Over(WriteResult::Gone));
}

#[test]
fn in_a_queue_it_is_about_the_selected_key_and_on_the_list_about_the_holder() {
    let waiter = lease_of("/jobs/reindex", 2);
    let mut world = world();
    assert_eq!(world.keys("<Enter>jjR"), [Effect::LeaseKeys(waiter)]);
    world.keys("<Esc>D");
    let Write::Release { key, .. } = dialog(&world).write() else { panic!("{:?}", dialog(&world).write()) };
    assert_eq!(*key, format!("/jobs/reindex/{waiter}").as_str().into());
    world.keys("<Esc><Esc>");
    assert_eq!(world.keys("R"), [Effect::LeaseKeys(lease())]);
}

#[test]
fn on_the_leases_it_is_about_the_selected_lease() {
    let mut world = World::new(&[("/b", 0)]);
    assert_eq!(world.keys("3R"), [Effect::LeaseKeys(lease_of("/b", 0))]);
}

#[test]
fn where_nothing_can_be_written_to_it_says_so() {
    for (keys, told) in [
        ("R", "nobody holds what is selected: there is no lease to revoke"),
        ("D", "nobody holds what is selected: there is no key to delete"),
        ("3R", "there is no lease to revoke here; D deletes a key without one"),
        ("4D", "no alarm is raised"),
        (":release /nowhere<Enter>", "neither a key nor a held lock is called `/nowhere`"),
        (":move-leader z<Enter>", "no member is called `z`"),
    ] {
        let mut world = World::new(&[]);
        assert_eq!((world.keys(keys), world.toast().as_str()), (Effects::new(), told), "{keys}");
        assert!(world.model.ui.dialog.is_none());
    }
}

#[test]
fn a_holder_without_a_lease_is_released_and_not_revoked() {
    let mut world = World::new(&[]);
    let kv = |key: &str| KeyValue { key: key.into(), version: 1, ..KeyValue::default() };
    let put = |created, key, lease| {
        let kv = KeyValue { create_revision: Revision(created), mod_revision: Revision(created), lease, ..kv(key) };
        Observation::Watched(vec![Change { revision: Revision(created), event: KeyEvent::Put(kv) }])
    };
    // One whose lease was taken off it by a put without one.
    world.observe(put(500, "/s/job/c3", LeaseId(0xc3)));
    world.observe(put(501, "/s/job/c4", LeaseId(0xc4)));
    let detached =
        KeyValue { create_revision: Revision(500), mod_revision: Revision(502), version: 2, ..kv("/s/job/c3") };
    world.observe(Observation::Watched(vec![Change { revision: Revision(502), event: KeyEvent::Put(detached) }]));
    world.pass(0);
    assert_eq!(world.keys("R"), []);
    assert!(world.toast().contains("D deletes"), "{}", world.toast());
    world.keys("D/s/job");
    let confirmed = world.keys("<Enter>");
    assert_eq!(write_of(&confirmed).shown, [unwatched("/s/job/c3", 500)]);
}

#[test]
fn the_lead_moves_to_the_selected_member_by_its_name() {
    let mut world = world();
    let status = Status { leader: Some(MemberId(1)), term: Term(3), ..Status::default() };
    world.observe(Observation::Status { member: MemberId(1), answer: Ok(status) });
    world.keys("4L");
    assert_eq!(world.toast(), "this member leads already");
    world.shown(Pane::Members, 3, 3);
    world.keys("jL");
    assert_eq!(dialog(&world).word(), "move-leader b");
    world.keys("move-leader b");
    let write = Write::MoveLeader { to: MemberId(2) };
    assert_eq!(*write_of(&world.keys("<Enter>")), Confirmed { write: write.clone(), shown: vec![] });
    world.keys("<Esc>");
    world.model.ui.writing = None;
    world.keys(":move-leader c<Enter>");
    assert_eq!(*dialog(&world).write(), Write::MoveLeader { to: MemberId(3) });
}

#[test]
fn the_selected_members_alarm_is_disarmed_or_the_first_on_all_members() {
    let alarm = |member, kind| Alarm { member: MemberId(member), kind };
    let mut world = world();
    let corrupt = alarm(3, AlarmKind::Corrupt);
    world.observe(Observation::Alarms(vec![alarm(2, AlarmKind::NoSpace), corrupt]));
    world.shown(Pane::Members, 3, 3);
    world.keys("4D");
    assert_eq!(*dialog(&world).write(), Write::Disarm(AlarmKind::NoSpace));
    world.keys("<Esc>jjD");
    assert_eq!(*dialog(&world).write(), Write::Disarm(AlarmKind::Corrupt));
    world.observe(Observation::Alarms(vec![alarm(1, AlarmKind::Corrupt)]));
    world.pass(0);
    assert_eq!(stage(&world), &Stage::Shown, "another member still has it");
    world.observe(Observation::Alarms(vec![]));
    world.pass(0);
    assert_eq!(stage(&world), &Stage::Over(WriteResult::Gone));
}

#[test]
fn commands_open_the_same_dialogs() {
    let mut world = world();
    let other = lease_of("/a", 0);
    assert_eq!(world.keys(&format!(":revoke 0x{other}<Enter>")), [Effect::LeaseKeys(other)]);
    world.keys("<Esc>:release /a<Enter>");
    let key = format!("/a/{other}");
    let Write::Release { key: of_lock, .. } = dialog(&world).write().clone() else { panic!() };
    assert_eq!(of_lock, key.as_str().into());
    world.keys(&format!("<Esc>:release {key}<Enter>"));
    assert!(matches!(dialog(&world).write(), Write::Release { key: named, .. } if *named == of_lock));
    world.keys("<Esc>:release<Enter>");
    assert_eq!(dialog(&world).word(), "reindex", "without a name it is what is selected");
    world.keys("<Esc>");
    assert_eq!(world.keys(":revoke<Enter>"), [Effect::LeaseKeys(lease())]);
}

#[test]
fn where_writes_are_taken_away_the_dialog_is_a_preview() {
    let mut world = world();
    world.observe(Observation::Alarms(vec![Alarm { member: MemberId(1), kind: AlarmKind::NoSpace }]));
    world.model.ui.read_only = Some("--read-only".into());
    for keys in ["R", "D", "<Enter>R", "D", "3R", "4D", ":release<Enter>", ":revoke a1<Enter>", ":disarm<Enter>"] {
        world.keys(keys);
        tell(&mut world, vec![]);
        assert_eq!(dialog(&world).forbidden.as_deref(), Some("--read-only"), "{keys}");
        let typed = dialog(&world).word().to_owned();
        world.input(Input::Paste(typed));
        assert!(dialog(&world).line.text().is_empty(), "nothing can be typed: {keys}");
        assert_eq!(world.keys("<Enter>"), [], "{keys}");
        assert!(world.model.ui.dialog.is_none(), "and Enter leaves: {keys}");
    }
}

#[test]
fn a_lock_that_is_acted_on_stays_selected_when_the_list_moves() {
    let mut world = World::new(&[("/a", 3), ("/b", 1)]);
    world.keys("D");
    let Write::Release { lock, .. } = dialog(&world).write().clone() else { panic!("a release") };
    world.list(&[("/a", 0), ("/b", 1)]);
    world.keys("<Esc>");
    assert_eq!((lock.as_bytes(), world.selected().as_str()), (&b"/a"[..], "/a"));
    assert_eq!(world.listed(), ["/b", "/a"], "it was the first");
}

#[test]
fn a_paused_screen_does_not_hide_what_goes_on() {
    let mut world = world();
    world.keys(" R");
    tell(&mut world, vec![]);
    assert_eq!(stage(&world), &Stage::Shown);
    world.observe(Observation::Watched(vec![Change {
        revision: Revision(900),
        event: KeyEvent::Put(KeyValue {
            key: "/late".into(),
            create_revision: Revision(900),
            mod_revision: Revision(900),
            version: 1,
            lease: lease(),
            ..KeyValue::default()
        }),
    }]));
    assert_eq!(world.pass(0), [Effect::LeaseKeys(lease())]);
}

#[test]
fn observations_of_writes_replay_from_their_records() {
    let done = WriteDone {
        id: WriteId(1),
        write: Write::Revoke { lease: lease() },
        result: WriteResult::Changed { now: vec![unwatched("/k\u{1b}", 3)] },
        notes: vec!["a note".into()],
    };
    let told = [
        Observation::LeaseKeys(lease(), OnLease::Keys(vec![unwatched("/k", 3)])),
        Observation::LeaseKeys(lease(), OnLease::NotTold("why".into())),
        Observation::WriteDone(Box::new(done)),
    ];
    let mut live = world();
    let mut replayed = world();
    for what in told {
        let recorded = serde_json::to_string(&what).unwrap();
        live.observe(what);
        replayed.observe(serde_json::from_str(&recorded).unwrap());
    }
    let notice = |world: &World| world.model.ui.toast.as_ref().map(|toast| toast.notice.clone());
    assert!(matches!(notice(&live), Some(Notice::Written(_))));
    assert_eq!(notice(&live), notice(&replayed));
    assert_eq!(live.model.live().version(), replayed.model.live().version());
}

/// Two clients, each of which holds what the other waits for.
fn circle() -> World {
    let mut world = World::new(&[]);
    for (revision, (key, lease)) in (901..).zip([("/d/one/1", 1), ("/d/two/2", 2), ("/d/two/1", 1), ("/d/one/2", 2)]) {
        let revision = Revision(revision);
        let kv = KeyValue {
            key: key.into(),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease: LeaseId(lease),
            ..KeyValue::default()
        };
        world.observe(Observation::Watched(vec![Change { revision, event: KeyEvent::Put(kv) }]));
    }
    world.pass(10_000);
    world.keys("7");
    world
}

#[test]
fn on_the_waits_what_is_selected_can_be_revoked_and_released() {
    let mut world = circle();
    let named = world.model.diagnosis().findings().iter().find(|finding| finding.code == "deadlock").cloned();
    let named = named.and_then(|finding| finding.remedy.value("lease").cloned());
    world.keys("R");
    let Write::Revoke { lease } = *dialog(&world).write() else { panic!("a revoke") };
    assert_eq!(named, Some(Value::Lease(lease)), "the one that the finding advises");
    world.keys("<Esc>D");
    assert!(world.toast().starts_with("R revokes the lease whose end frees them"), "{}", world.toast());
    world.shown(Pane::Waits, 10, 3);
    world.keys("jD");
    assert!(matches!(dialog(&world).write(), Write::Release { key, .. } if key.as_bytes().starts_with(b"/d/")));
    world.keys("<Esc>R");
    assert!(matches!(dialog(&world).write(), Write::Revoke { .. }));
}
