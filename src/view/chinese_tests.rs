//! The screens in Chinese: nothing on them is English that has a Chinese word, nothing is cut
//! off that was not, and columns stand below each other.

use super::testing::*;
use crate::domain::write::{Write, WriteResult};
use crate::domain::{Alarm, AlarmKind, KeyRange, Lang, LeaseId, MemberId, Millis, Revision};
use crate::event::{Denied, EndpointError, LinkState, NoStatus, Observation};
use crate::input::Screen;
use crate::input::keymap::{BINDINGS, Context};
use crate::lang;
use crate::model::ui::{Notice, Toast};

/// The names of the sample and of how it is laid out, and the fields of etcd.
const NAMES: &[&str] = &["queue", "go-concurrency", "single-key", "etcdctl", "create_revision", "RAFT", "NOSPACE"];

fn chinese(mut cluster: Cluster) -> Cluster {
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

fn no_english(text: &str, allowed: &[&str]) {
    let left = english_left(text, &[NAMES, allowed].concat());
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
    assert!(text.contains("单键：持有者") && text.contains("谁也数不出来"), "{text}");
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
    cluster.press("/zz\n", 80, 24);
    assert!(cluster.draw(80, 24, &plain()).text().contains("没有匹配 zz 的内容"));
}

#[test]
fn messages_and_mistakes_in_commands() {
    let mut cluster = chinese(sample());
    for (typed, said) in [
        (":sort nonsense\n", "`sort` 需要 weight、wait、name、held、ttl 或 handovers，而不是 `nonsense`"),
        (":frob\n", "没有命令 `frob`；按 Tab 逐个查看命令"),
        (":kill n1\n", "`kill` 需要内置集群：用 `lockscope demo` 启动"),
        ("a", "全部带租约的键"),
        ("yk", "已复制键"),
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
