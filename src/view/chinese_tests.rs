//! The screens in Chinese: nothing on them is English that has a Chinese word, nothing is cut
//! off that was not, and columns stand below each other.

use super::testing::*;
use crate::domain::write::{Write, WriteResult};
use crate::domain::{Alarm, AlarmKind, KeyRange, KeyValue, Lang, LeaseId, MemberId, Millis, Revision};
use crate::event::{Denied, EndpointError, LinkState, NoStatus, Observation};
use crate::input::keymap::{BINDINGS, Context};
use crate::input::{Screen, SeekTo};
use crate::lang;
use crate::model::findings::RULES;
use crate::model::ui::{Landed, Notice, RecordingUi, ReplayUi, Toast};

/// The names of the sample and of how it is laid out, and the fields of etcd.
const NAMES: &[&str] = &["queue", "go-concurrency", "single-key", "etcdctl", "create_revision", "RAFT", "NOSPACE"];

pub(super) fn chinese(mut cluster: Cluster) -> Cluster {
    cluster.model.ui.lang = Lang::Chinese;
    cluster
}

/// The rows of a frame from the one with `from` up to the one before `to`.
fn rows(shot: &Screenshot, from: &str, to: &str) -> String {
    let lines = shot.lines();
    let at = |needle: &str| {
        lines.iter().position(|line| line.contains(needle)).unwrap_or_else(|| panic!("no {needle}:\n{}", shot.text()))
    };
    lines[at(from)..at(to)].join("\n")
}

pub(super) fn no_english(text: &str, allowed: &[&str]) {
    let codes = RULES.iter().map(|rule| rule.code);
    let left = english_left(text, &codes.chain([NAMES, allowed].concat()).collect::<Vec<_>>());
    assert!(left.is_empty(), "{left:?} in\n{text}");
}

#[test]
fn the_lines_around_a_screen() {
    let mut cluster = chinese(sample());
    let shot = cluster.draw(80, 24, &plain());
    let lines = shot.lines();
    for at in [0, 1, 22, 23] {
        no_english(&lines[at], &[]);
    }
    assert!(lines[1].contains("1 锁 ") && lines[1].contains("/ 过滤"), "{}", lines[1]);
    assert!(lines[22].contains("个租约") && lines[23].contains("q 退出"), "{}", shot.text());
    cluster.press(" ", 80, 24);
    assert!(cluster.draw(80, 24, &plain()).lines()[0].contains("已暂停 +0"));
}

#[test]
fn the_leases_and_the_log() {
    let mut cluster = chinese(sample());
    cluster.press("3", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    no_english(&text, &[]);
    assert!(text.contains(" 前续约") && text.contains("持有 / 等待"), "{text}");
    cluster.press("6", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    no_english(&shot.lines()[2], &[]);
}

#[test]
fn the_members() {
    let mut cluster = chinese(sample());
    cluster.press("4", 80, 24);
    cluster.tell(Observation::Alarms(vec![Alarm { member: MemberId(1), kind: AlarmKind::NoSpace }]));
    let answer = Err(NoStatus::Denied("9".into()));
    cluster.tell(Observation::Status { member: MemberId(2), answer });
    for (width, height) in [(80, 24), (120, 36)] {
        let text = cluster.draw(width, height, &plain()).text();
        no_english(&text, &[]);
        assert!(text.contains("领导者变更") && text.contains("配额"), "{text}");
    }
}

#[test]
fn the_lock() {
    let mut cluster = chinese(sample());
    cluster.press("/nightly\n\n", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    let text = rows(&shot, "╭ 队列", "╭ 持有者，最近 10 分钟");
    no_english(&text, &["key"]);
    for words in ["3 个等待者", "(持有者)", " 前续约", "= 持有者的 create_revision", "租约过期", "令牌"]
    {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // The labels are as wide as the widest of them, in cells.
    let column = |value: &str| shot.position(value).unwrap().0;
    assert_eq!(column("create_revision(key)"), column("84,190  = "), "{text}");
}

#[test]
fn a_lock_of_a_single_key_says_what_cannot_be_seen() {
    let mut cluster = chinese(Cluster::connected());
    cluster.list(vec![leased("/service/pg/leader", lease(0xbb01), 100)]);
    cluster.ttl(lease(0xbb01), 30, 22);
    cluster.press("\n", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("单键：持有者") && text.contains("无法统计"), "{text}");
}

#[test]
fn the_help_is_whole() {
    let mut cluster = chinese(sample());
    cluster.press("?", 80, 24);
    let text = cluster.draw(80, 60, &plain()).text();
    assert!(text.contains("esc 关闭帮助") && text.contains("每个屏幕"), "{text}");
    cluster.press("/队列", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("选中的锁：队列与历史") && !text.contains("全部租约"), "{text}");
    lang::within(Lang::Chinese, || {
        for row in BINDINGS {
            no_english(lang::text(row.help), &["fg", "shell"]);
            no_english(row.hint.map_or("", |hint| lang::text(hint.text)), &[]);
        }
        for context in Context::ALL {
            no_english(lang::text(context.title()), &[]);
        }
        for screen in Screen::ALL {
            no_english(lang::text(screen.name()), &[]);
            no_english(lang::text(screen.short_name()), &[]);
        }
    });
}

#[test]
fn an_etcd_that_cannot_be_reached_or_read() {
    let mut cluster = chinese(Cluster::new());
    let why = vec![EndpointError { endpoint: "http://etcd-1.example:2379".into(), error: "(111)".into() }];
    let next_at = cluster.now + Millis(2_400);
    cluster.press("3", 80, 24);
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 3, next_at, why }));
    let text = cluster.draw(80, 24, &plain()).text();
    no_english(&text, &["endpoints", "HOST"]);
    assert!(text.contains("连不上任何 etcd") && text.contains("已试 3 次"), "{text}");

    let mut cluster = chinese(Cluster::connected());
    cluster.press("3", 80, 24);
    let range = KeyRange::prefix(b"");
    cluster.tell(Observation::Denied(Denied { range, user: "app".into(), why: "9".into() }));
    let text = cluster.draw(80, 24, &plain()).text();
    no_english(&text, &["app", "prefix", "user", "NAME"]);
    assert!(text.contains("全部键  app 无权读取"), "{text}");

    let mut cluster = chinese(Cluster::connected());
    cluster.list(vec![]);
    cluster.press("3", 80, 24);
    no_english(&cluster.draw(80, 24, &plain()).text(), &["prefix", "NAME", "lock"]);
    cluster.tell(Observation::Scope(Vec::new()));
    let text = cluster.draw(80, 24, &plain()).text();
    no_english(&text, &["prefix", "NAME", "lock"]);
    assert!(text.contains("锁是通过询问租约"), "{text}");
    cluster.press("/zz\n", 80, 24);
    assert!(cluster.draw(80, 24, &plain()).text().contains("没有匹配 zz 的内容"));
}

#[test]
fn messages_and_mistakes_in_commands() {
    let mut cluster = chinese(sample());
    for (typed, said) in [
        (":sort nonsense\n", "`sort` 需要 weight、wait、name、held、ttl 或 handovers，而不是 `nonsense`"),
        (":seek\n", "`seek` 需要 12:04:10、+30s、-1m30s、rev 84213、2026-03-01T12:04:10Z、start/end"),
        (":frob\n", "没有命令 `frob`；按 Tab 逐个查看命令"),
        (":kill n1\n", "`kill` 需要内置集群：用 `lockscope demo` 启动"),
        ("a", "全部带租约的键"),
        ("yk", "键已发往终端剪贴板：/leader/api/694d82254d5f0b1e"),
    ] {
        cluster.press(typed, 80, 24);
        assert_eq!(cluster.draw(80, 24, &plain()).lines()[22].trim(), said);
        // Only one message is seen at a time.
        cluster.wait(5);
    }
    let writes = [Write::Revoke { lease: LeaseId(0x77) }, Write::MoveLeader { to: MemberId(0xa1) }];
    let results = [
        WriteResult::Done { revision: Revision(7), gone: Vec::new() },
        WriteResult::Done { revision: Revision(0), gone: Vec::new() },
        WriteResult::Gone,
        WriteResult::Refused { why: "9".into() },
        WriteResult::Unknown { why: "9".into() },
    ];
    for (write, result) in writes.iter().flat_map(|write| results.iter().map(move |result| (write, result))) {
        let notice = Notice::Written(Box::new((write.clone(), result.clone())));
        cluster.model.ui.toast = Some(Toast::new(notice, cluster.now));
        let line = cluster.draw(80, 24, &plain()).lines()[22].clone();
        no_english(&line, &[]);
        assert!(["已完成", "未执行", "结果未知"].iter().any(|said| line.contains(said)), "{line}");
    }
}

#[test]
fn a_released_key_is_escaped_once() {
    let lock = crate::domain::Key::from("/a\x1b");
    let write = Write::Release { key: lock.clone(), lock, create_revision: Revision(5) };
    let notice = Notice::Written(Box::new((write, WriteResult::Gone)));
    let mut cluster = sample();
    cluster.model.ui.toast = Some(Toast::new(notice.clone(), cluster.now));
    let line = cluster.draw(80, 24, &plain()).lines()[22].clone();
    assert!(line.contains(r"not done: release /a\x1b: it was gone already"), "{line}");
    let mut cluster = chinese(sample());
    cluster.model.ui.toast = Some(Toast::new(notice, cluster.now));
    let line = cluster.draw(80, 24, &plain()).lines()[22].clone();
    assert!(line.contains(r"未执行：释放 /a\x1b：对象已经不在了"), "{line}");
}

#[test]
fn what_can_be_copied_is_offered() {
    let mut cluster = chinese(sample());
    cluster.press("y", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    for words in ["╭ 复制 ", "n  锁名", "k  键 ", "t  防护令牌"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

/// The sample with a queue that nobody can clear, a key that is none of its lock, a lock of
/// Kubernetes, one that several hold, and an alarm.
fn troubled() -> Cluster {
    let mut cluster = chinese(sample());
    cluster.put(leased("/jobs/stuck/694d82254d5fdead", 0, 84_300));
    cluster.put(queued("/jobs/stuck", lease(0x3001), 84_301));
    cluster.put(leased("/jobs/odd/README", 0, 84_302));
    cluster.put(queued("/jobs/odd", lease(0x3002), 84_303));
    let value = kubernetes_lease("node-1_0a1b2c3d-1111-2222-3333-444455556666", 15, cluster.now);
    cluster.put(KeyValue { value, ..leased("/registry/leases/kube-system/kube-scheduler", 0, 84_304) });
    for tail in [0x3001, 0x3002] {
        cluster.ttl(lease(tail), 60, 58);
    }
    cluster.tell(Observation::Alarms(vec![Alarm { member: MemberId(3), kind: AlarmKind::NoSpace }]));
    let next_at = cluster.now;
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 1, next_at, why: Vec::new() }));
    cluster.tell(Observation::Link(LinkState::Live { endpoint: "http://etcd-eu.example:2379".into() }));
    cluster.wait(40);
    cluster
}

#[test]
fn the_locks_and_what_wants_attention() {
    // Names that lost their ends, and what fences.
    const CUT: [&str; 5] = ["READ", "README", "kube", "kube-sch", "key"];
    for (width, height) in [(80, 24), (120, 36), (200, 60)] {
        for mut cluster in [chinese(sample()), troubled()] {
            let text = cluster.draw(width, height, &plain()).text();
            no_english(&text, &CUT);
        }
    }
}

#[test]
fn the_list_of_locks_says_by_what_it_is_sorted_and_its_columns_stand() {
    let mut cluster = chinese(sample());
    for column in ["轻重 ▼", "等待 ▼", "名称 ▲", "持有 ▼", "TTL ▲", "交接 ▼"] {
        let shot = cluster.draw(80, 24, &plain());
        assert!(shot.lines()[2].contains(&format!(" 排序：{column} ")), "{column}: {}", shot.lines()[2]);
        let starts = |needle: &str| shot.position(needle).unwrap().0;
        assert_eq!((starts("持有者  "), starts("TTL  ")), (starts("● 770a"), starts("▇▇▁")), "{}", shot.text());
        cluster.press("s", 80, 24);
    }
    cluster.press("a", 80, 24);
    assert!(cluster.draw(80, 24, &plain()).lines()[2].starts_with("╭ 全部带租约的 "));
}

#[test]
fn where_a_replay_came_to_stand_and_what_is_dismissed() {
    let (at, asked, before) = (Revision(9), Revision(8), Revision(7));
    let landed = [
        Landed::AtRevision(at),
        Landed::Between { asked, before, at },
        Landed::First { asked, at },
        Landed::Beyond { asked: SeekTo::Revision(asked), at },
        Landed::Beyond { asked: SeekTo::At(START), at },
        Landed::BeforeStart,
    ];
    let notices = landed.map(Notice::Landed).into_iter().chain([Notice::Dismissed, Notice::NothingToDismiss]);
    let mut cluster = chinese(sample());
    for notice in notices {
        cluster.model.ui.toast = Some(Toast::new(notice, cluster.now));
        let line = cluster.draw(80, 24, &plain()).lines()[22].clone();
        no_english(&line, &[]);
        assert!(!line.contains('…') && line.contains(|char: char| !char.is_ascii()), "{line}");
    }
}

#[test]
fn who_waits_for_whom() {
    for (width, height) in [(80, 24), (120, 36)] {
        let mut cluster = chinese(tangled());
        cluster.press("7", width, height);
        let text = cluster.draw(width, height, &plain()).text();
        no_english(&text, &["README"]);
    }
    let mut cluster = chinese(Cluster::connected());
    cluster.list(vec![queued("/a", lease(1), 5)]);
    cluster.press("7", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    no_english(&text, &[]);
    assert!(text.contains("没有谁在等待。"), "{text}");
}

#[test]
fn a_replay_and_a_recording() {
    for (width, height) in [(80, 24), (120, 36)] {
        let mut cluster = chinese(sample());
        let replay = ReplayUi { begin: START, at: cluster.now, end: cluster.now, count: 1_234, ..ReplayUi::default() };
        let states = [
            ReplayUi { busy: true, ..replay.clone() },
            ReplayUi { ended: true, ..replay.clone() },
            ReplayUi { playing: true, follow: true, ..replay.clone() },
            ReplayUi { dropped: 12, broken: 3, truncated: true, ..replay.clone() },
        ];
        for state in states {
            cluster.model.ui.replay = Some(state);
            let shot = cluster.draw(width, height, &plain());
            for line in [0, height - 2, height - 1] {
                no_english(&shot.lines()[usize::from(line)], &[]);
            }
        }
        cluster.model.ui.replay = None;
        let recording = RecordingUi { bytes: 2_048, ..RecordingUi::default() };
        for state in
            [RecordingUi { dropped: 7, ..recording.clone() }, RecordingUi { failed: true, ..recording.clone() }]
        {
            cluster.model.ui.recording = Some(state);
            let line = cluster.draw(width, height, &plain()).lines()[0].clone();
            no_english(&line, &[]);
        }
    }
}
