//! The dialog before a write in Chinese, in each of its stages: no English word is left but the
//! command and the word to be typed.

use ratatui::layout::Rect;

use super::tests::{HOLDER, cluster, confirmed, end, keys, revoke, told};
use crate::domain::write::WriteResult;
use crate::domain::{Alarm, AlarmKind, Key, Lang, LeaseId, MemberId, Revision};
use crate::event::{LinkState, Observation, OnLease};
use crate::view::chinese_tests::{chinese, no_english};
use crate::view::testing::{Cluster, leased, plain};

/// What the program calls what is typed, and how it is typed.
const TYPED: &[&str] =
    &["lease", "revoke", "nightly-report", "Ctrl-Y", "txn", "printf", "create", "del", "alarm", "dry-run"];

/// What is inside the frame of the dialog at the sizes of terminals, at each of which it was
/// looked at for English words.
fn drawn(cluster: &mut Cluster, allowed: &[&str]) -> String {
    cluster.model.ui.lang = Lang::Chinese;
    let mut all = String::new();
    for (width, height) in [(80, 24), (120, 36)] {
        let shot = cluster.draw(width, height, &plain());
        let titles = ["╭ 撤销租约", "╭ 释放", "╭ 把领导权", "╭ 解除"];
        let (x, y) = titles.iter().find_map(|title| shot.position(title)).unwrap_or_else(|| panic!("{}", shot.text()));
        let below = shot.crop(Rect { x, y, width: 1, height: height - y });
        let rows = below.lines().position(|edge| edge == "╰").unwrap();
        let text = shot.crop(Rect { x, y, width: width.min(100), height: u16::try_from(rows).unwrap() });
        no_english(&text, &[TYPED, allowed].concat());
        all.push_str(&text);
    }
    all
}

#[test]
fn a_revoke_from_the_question_to_the_end() {
    let mut asking = cluster();
    asking.press(&format!(":revoke {}\n", LeaseId(HOLDER)), 80, 24);
    assert!(drawn(&mut asking, &[]).contains("正在询问"));
    asking.tell(Observation::LeaseKeys(LeaseId(HOLDER), OnLease::NotTold("9".into())));
    assert!(drawn(&mut asking, &[]).contains("正在重新询问：9"));

    let mut shown = revoke(80, 24);
    assert!(drawn(&mut shown, &[]).contains("输入 694d82254d5fa305 以撤销"));
    shown.press("694d\n", 80, 24);
    assert!(drawn(&mut shown, &[]).contains("输入有误：输入 694d82254d5fa305 以撤销"));
    let mut now = keys();
    now.remove(0);
    now.push(("/jobs/new".into(), Revision(84_231)));
    told(&mut shown, now);
    assert!(drawn(&mut shown, &[]).contains("租约变了：请重新看一遍。新增 1 个键。"));
    let next_at = shown.now;
    shown.tell(Observation::Link(LinkState::Retrying { attempt: 1, next_at, why: Vec::new() }));
    assert!(drawn(&mut shown, &[]).contains("目前没有连接"));

    let mut running = confirmed();
    running.wait(2);
    assert!(drawn(&mut running, &[]).contains("已执行 2s。Esc 离开"));
}

#[test]
fn what_came_of_it() {
    let gone: Vec<Key> = keys().into_iter().map(|(key, _)| key).collect();
    for (result, said, allowed) in [
        (WriteResult::Done { revision: Revision(84_240), gone }, "已完成：租约连同 3 个键已消失，见于修订号", &[][..]),
        (WriteResult::Done { revision: Revision(0), gone: Vec::new() }, "已完成：租约已消失。", &[]),
        (WriteResult::Gone, "未执行：这个租约已经不在了。", &[]),
        (WriteResult::NotSent { why: "9".into() }, "未发送：9", &[]),
        (WriteResult::Refused { why: "9".into() }, "被拒绝：9", &[]),
        (WriteResult::Unknown { why: "9".into() }, "先查看，再重试。", &[]),
    ] {
        let mut cluster = confirmed();
        end(&mut cluster, result, &[]);
        cluster.delete(&format!("/jobs/nightly-report/{}", LeaseId(HOLDER)));
        let text = drawn(&mut cluster, allowed);
        assert!(text.contains(said), "{said}:\n{text}");
    }
}

#[test]
fn a_release_the_lead_and_alarms() {
    // A command has a comment, which is English as the command is.
    let allowed = &["move-leader", "disarm", "every", "of", "member", "CORRUPT"];
    let mut cluster = cluster();
    cluster.press(":release /jobs/nightly-report\n", 80, 24);
    assert!(drawn(&mut cluster, allowed).contains("将交给 694d82254e18770c"));
    cluster.press("\x1b", 80, 24);
    cluster.press(&format!(":release /jobs/nightly-report/{}\n", LeaseId(0x694d_8225_4e18_c0de)), 80, 24);
    assert!(drawn(&mut cluster, allowed).contains("仍归 694d82254d5fa305"));
    cluster.press("\x1b", 80, 24);
    cluster.press(":move-leader etcd-1\n", 80, 24);
    assert!(drawn(&mut cluster, allowed).contains("集群的领导权从 etcd-2 移交给 etcd-1。"));
    cluster.press("\x1b", 80, 24);
    for (kind, said) in [(AlarmKind::NoSpace, "集群重新接受写入"), (AlarmKind::Corrupt, "修复不了数据")] {
        cluster.tell(Observation::Alarms(vec![Alarm { member: MemberId(3), kind }]));
        cluster.press(":disarm\n", 80, 24);
        assert!(drawn(&mut cluster, allowed).contains(said));
        cluster.press("\x1b", 80, 24);
    }
}

#[test]
fn a_key_without_a_lease() {
    let mut cluster = chinese(Cluster::connected());
    let mut first = leased("/s/job/c3", 0xc3, 500);
    cluster.list_at(501, vec![first.clone(), leased("/s/job/c4", 0xc4, 501)]);
    (first.lease, first.version, first.mod_revision) = (LeaseId::NONE, 2, Revision(502));
    cluster.put(first);
    cluster.press(":release /s/job\n", 80, 24);
    let text = drawn(&mut cluster, &[]);
    assert!(text.contains("不删除它，锁就不会释放") && text.contains("将交给 c4"), "{text}");
}
