//! The dialog before a write, drawn whole: at every size, without colours, in ASCII.

use insta::assert_snapshot;

use crate::domain::write::{Write, WriteId, WriteResult};
use crate::domain::{Alarm, AlarmKind, Key, LeaseId, MemberId, Revision};
use crate::event::{LinkState, Observation, OnLease, WriteDone};
use crate::view::testing::{Cluster, Screenshot, ascii, lease, leased, mono, plain, queued, sample};
use crate::view::theme::{Role, Theme};

/// The lease that holds the report, renewed a moment ago, with a second lock and a key that
/// nobody watches.
pub(super) const HOLDER: i64 = lease(0xa305);

pub(super) fn cluster() -> Cluster {
    let mut cluster = sample();
    cluster.put(queued("/jobs/archive", HOLDER, 84_230));
    cluster.wait(3);
    cluster.ttl(HOLDER, 60, 57);
    cluster.wait(3);
    cluster
}

pub(super) fn keys() -> Vec<(Key, Revision)> {
    let key = |name: String, created| (name.as_str().into(), Revision(created));
    let lease = LeaseId(HOLDER);
    vec![
        key("/elsewhere/config".into(), 70_001),
        key(format!("/jobs/archive/{lease}"), 84_230),
        key(format!("/jobs/nightly-report/{lease}"), 84_190),
    ]
}

pub(super) fn told(cluster: &mut Cluster, keys: Vec<(Key, Revision)>) {
    cluster.tell(Observation::LeaseKeys(LeaseId(HOLDER), OnLease::Keys(keys)));
}

/// The dialog about revoking it, with everything shown.
pub(super) fn revoke(width: u16, height: u16) -> Cluster {
    let mut cluster = cluster();
    cluster.press(&format!(":revoke {}\n", LeaseId(HOLDER)), width, height);
    told(&mut cluster, keys());
    cluster
}

/// The same, confirmed.
pub(super) fn confirmed() -> Cluster {
    let mut cluster = revoke(80, 24);
    cluster.press(&format!("{}\n", LeaseId(HOLDER)), 80, 24);
    cluster
}

pub(super) fn end(cluster: &mut Cluster, result: WriteResult, notes: &[&str]) {
    let write = Write::Revoke { lease: LeaseId(HOLDER) };
    let notes = notes.iter().map(ToString::to_string).collect();
    let id = WriteId(cluster.model.ui.writes);
    cluster.tell(Observation::WriteDone(Box::new(WriteDone { id, write, result, notes })));
}

fn drawn(cluster: &mut Cluster, width: u16, height: u16, theme: &Theme) -> Screenshot {
    cluster.draw(width, height, theme)
}

#[test]
fn a_revoke_at_80x24() {
    assert_snapshot!(drawn(&mut revoke(80, 24), 80, 24, &plain()).text());
}

#[test]
fn a_revoke_at_60x16() {
    assert_snapshot!(drawn(&mut revoke(60, 16), 60, 16, &plain()).text());
}

#[test]
fn a_revoke_at_120x36() {
    assert_snapshot!(drawn(&mut revoke(120, 36), 120, 36, &plain()).text());
}

#[test]
fn a_revoke_in_ascii() {
    let shot = drawn(&mut revoke(80, 24), 80, 24, &ascii());
    assert!(shot.text().is_ascii(), "{}", shot.text());
    assert_snapshot!(shot.text());
}

#[test]
fn without_colours_warnings_stand_out_by_their_sign_and_style() {
    let theme = mono();
    let shot = drawn(&mut revoke(80, 24), 80, 24, &theme);
    assert!(shot.has_role("! Its client is alive", &theme, Role::Warning));
    assert!(shot.has_role("not watched", &theme, Role::Warning));
    assert_eq!(shot.text(), drawn(&mut revoke(80, 24), 80, 24, &plain()).text(), "the words are the same");
}

#[test]
fn at_60x16_the_rest_scrolls_into_sight() {
    let mut cluster = revoke(60, 16);
    let text = drawn(&mut cluster, 60, 16, &plain()).text();
    assert!(!text.contains("created at 84,190"), "{text}");
    for _ in 0..30 {
        let hits = drawn(&mut cluster, 60, 16, &plain()).hits;
        let down = crate::input::Chord::plain(crate::input::Code::Down);
        crate::update::update(&mut cluster.model, crate::event::Event::Input(crate::input::Input::Key(down), hits));
    }
    let text = drawn(&mut cluster, 60, 16, &plain()).text();
    assert!(text.contains("created at 84,190"), "{text}");
    assert!(text.contains("type 694d82254d5fa305 to revoke it"), "what is typed stays in sight: {text}");
}

/// What is seen inside the dialog, without spaces: rows are broken at one, or within a word.
fn inside(text: &str) -> String {
    let rows = text.lines().filter_map(|line| line.strip_prefix('│')?.strip_suffix('│'));
    rows.collect::<String>().replace(' ', "")
}

#[test]
fn the_command_is_shown_whole_with_where_the_cluster_is() {
    let endpoints: Vec<_> = (1..=3).map(|at| format!("https://etcd-{at}.eu.example:2379")).collect();
    let endpoints = endpoints.join(",");
    let mut cluster = revoke(80, 24);
    cluster.model.ui.reach = vec![("ETCDCTL_ENDPOINTS", endpoints.clone()), ("ETCDCTL_USER", "ops".into())];
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    let whole = format!("$ETCDCTL_ENDPOINTS={endpoints}ETCDCTL_USER=opsetcdctlleaserevoke694d82254d5fa305ycopies");
    assert!(inside(&text).contains(&whole), "{text}");
    let small = drawn(&mut cluster, 60, 16, &plain()).text();
    assert!(small.contains("y copies") && small.contains("type 694d82254d5fa305 to revoke it"), "{small}");
}

#[test]
fn it_is_said_that_nobody_knows_whether_the_client_lives() {
    let mut cluster = sample();
    let unpolled = lease(0x7e57);
    cluster.put(queued("/jobs/new", unpolled, 84_231));
    cluster.wait(1);
    cluster.press(&format!(":revoke {}\n", LeaseId(unpolled)), 80, 24);
    let key = (format!("/jobs/new/{}", LeaseId(unpolled)).as_str().into(), Revision(84_231));
    cluster.tell(Observation::LeaseKeys(LeaseId(unpolled), OnLease::Keys(vec![key])));
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("It is not known whether its client is alive"), "{text}");
}

#[test]
fn what_is_asked_says_so_and_why_it_is_not_told() {
    let mut cluster = cluster();
    cluster.press(&format!(":revoke {}\n", LeaseId(HOLDER)), 80, 24);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("asking for all keys of the lease…"), "{text}");
    let why = "permission denied\x1b[2J".to_owned();
    cluster.tell(Observation::LeaseKeys(LeaseId(HOLDER), OnLease::NotTold(why)));
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("denied\\x1b[2J"), "{text}");
}

#[test]
fn what_is_typed_stands_at_the_cursor_and_a_wrong_word_is_told() {
    let mut cluster = revoke(80, 24);
    cluster.press("694d", 80, 24);
    let shot = drawn(&mut cluster, 80, 24, &plain());
    let (x, y) = shot.position("▌ 694d").unwrap();
    assert_eq!(shot.cursor, (x + 6, y));
    cluster.press("\n", 80, 24);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("That is not the word: type 694d82254d5fa305"), "{text}");
}

#[test]
fn a_lease_that_changed_is_marked() {
    let mut cluster = revoke(80, 24);
    cluster.press("694d", 80, 24);
    let mut now = keys();
    now.remove(0);
    now.push(("/jobs/\u{1b}new".into(), Revision(84_231)));
    told(&mut cluster, now);
    let theme = plain();
    let shot = drawn(&mut cluster, 80, 24, &theme);
    assert_snapshot!(shot.text());
    assert!(shot.has_role("! The lease changed: look again.", &theme, Role::Error));
}

#[test]
fn running_says_what_leaving_means() {
    let mut cluster = confirmed();
    cluster.wait(2);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("RUNNING") && text.contains("under way for 2s. Esc leaves; it goes on then"), "{text}");
}

#[test]
fn what_was_done_is_told_with_who_holds_each_lock_now() {
    let mut cluster = confirmed();
    let gone: Vec<Key> = keys().into_iter().map(|(key, _)| key).collect();
    end(&mut cluster, WriteResult::Done { revision: Revision(84_240), gone }, &[]);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    let line = |text: &str| text.lines().find(|line| line.contains("  /jobs/nightly-report ")).unwrap().to_owned();
    assert!(line(&text).contains('…') && !line(&text).contains("held"), "the watch has not told yet: {text}");
    cluster.delete(&format!("/jobs/nightly-report/{}", LeaseId(HOLDER)));
    cluster.delete(&format!("/jobs/archive/{}", LeaseId(HOLDER)));
    assert_snapshot!(drawn(&mut cluster, 80, 24, &plain()).text());
}

#[test]
fn an_unknown_outcome_says_how_to_look() {
    let mut cluster = confirmed();
    let why = "the connection was lost\x1b".into();
    end(&mut cluster, WriteResult::Unknown { why }, &["the audit log lacks its line"]);
    let theme = plain();
    let shot = drawn(&mut cluster, 80, 24, &theme);
    assert_snapshot!(shot.text());
    assert!(shot.has_role("UNKNOWN", &theme, Role::Error));
}

#[test]
fn a_refusal_gives_the_reason() {
    let mut cluster = confirmed();
    end(&mut cluster, WriteResult::Refused { why: "etcdserver: permission denied".into() }, &[]);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("REFUSED") && text.contains("Refused: etcdserver: permission denied"), "{text}");
    let mut cluster = confirmed();
    end(&mut cluster, WriteResult::NotSent { why: "the disk is full".into() }, &[]);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("NOT SENT") && text.contains("Not sent: the disk is full"), "{text}");
    assert!(!text.to_lowercase().contains("refused"), "{text}");
}

#[test]
fn a_release_of_the_holder_and_of_one_who_waits() {
    let mut cluster = cluster();
    cluster.press(":release /jobs/nightly-report\n", 80, 24);
    assert_snapshot!(drawn(&mut cluster, 80, 24, &plain()).text());
    cluster.press("\x1b", 80, 24);
    cluster.press(&format!(":release /jobs/nightly-report/{}\n", LeaseId(0x694d_8225_4e18_c0de)), 80, 24);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("The key of one who waits is deleted"), "{text}");
    assert!(text.contains("stays with 694d82254d5fa305"), "{text}");
}

#[test]
fn a_key_without_a_lease_says_that_nothing_else_frees_it() {
    let mut cluster = Cluster::connected();
    let mut first = leased("/s/job/c3", 0xc3, 500);
    cluster.list_at(501, vec![first.clone(), leased("/s/job/c4", 0xc4, 501)]);
    (first.lease, first.version, first.mod_revision) = (LeaseId::NONE, 2, Revision(502));
    cluster.put(first);
    cluster.press(":release /s/job\n", 80, 24);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("The key has no lease: nothing but this frees the lock."), "{text}");
    assert!(text.contains("passes to c4"), "{text}");
}

#[test]
fn the_lead_and_alarms_have_no_keys() {
    let mut cluster = cluster();
    cluster.press(":move-leader etcd-1\n", 80, 24);
    assert_snapshot!(drawn(&mut cluster, 80, 24, &plain()).text());
    cluster.press("\x1b", 80, 24);
    let raised = |member, kind| Alarm { member: MemberId(member), kind };
    let full = [raised(1, AlarmKind::NoSpace), raised(3, AlarmKind::NoSpace)];
    cluster.tell(Observation::Alarms(full.to_vec()));
    cluster.press(":disarm\n", 80, 24);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("Disarm NOSPACE of every member") && text.contains("type NOSPACE to disarm it"), "{text}");
    assert!(text.contains("taken from etcd-1, etcd-3: the cluster takes writes again"), "{text}");
    assert!(text.contains("It comes back with the next write unless space was freed"), "{text}");
    cluster.tell(Observation::Alarms([&full[..], &[raised(2, AlarmKind::Corrupt)]].concat()));
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(!text.contains("takes writes again"), "another alarm refuses them: {text}");
}

#[test]
fn a_lost_connection_is_told_where_it_matters() {
    let mut cluster = revoke(80, 24);
    let next_at = cluster.now;
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 1, next_at, why: Vec::new() }));
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("There is no connection at the moment"), "{text}");
}

#[test]
fn a_thousand_keys_cost_no_more_rows_than_there_are() {
    let mut cluster = revoke(80, 24);
    let many = (0..10_000).map(|n| (format!("/many/{n:05}").as_str().into(), Revision(n))).collect();
    told(&mut cluster, many);
    let text = drawn(&mut cluster, 80, 24, &plain()).text();
    assert!(text.contains("10,000 keys") && text.contains("of 10,00"), "{text}");
}

#[test]
fn nothing_hostile_and_no_width_breaks_the_frame() {
    let lease = LeaseId(0x77);
    for (width, height) in [(60, 16), (61, 17), (80, 24), (200, 60)] {
        let mut cluster = Cluster::connected();
        let name = "/锁/\x1b[31m\u{202e}".to_owned() + &"長".repeat(200);
        cluster.list_at(9, vec![queued(&name, lease.0, 5)]);
        cluster.press("R", width, height);
        let keys = vec![(format!("{name}/{lease}").as_str().into(), Revision(5))];
        cluster.tell(Observation::LeaseKeys(lease, OnLease::Keys(keys)));
        let revoke = drawn(&mut cluster, width, height, &plain());
        cluster.press("\x1b", width, height);
        cluster.press("D", width, height);
        cluster.press("e\u{301}x", width, height);
        let release = drawn(&mut cluster, width, height, &plain());
        assert!(release.text().contains("type release 5 to delete"), "a name nobody can type: {}", release.text());
        for shot in [revoke, release] {
            let text = shot.text();
            assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
            assert!(text.contains(" copies") && text.contains("type "), "{text}");
        }
    }
}
