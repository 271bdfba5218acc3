//! What a person who sees the demo for the first time is told: what it is, and the first keys
//! to press. It takes its rows from the screen and covers nothing; whatever is pressed takes it
//! away.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, columns_of};
use super::layout::{Size, top};
use super::raft::{PLAYGROUND, REAL};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use crate::input::action::{Blow, NodeDeed, Pace};
use crate::input::keymap::{BINDINGS, Context};
use crate::input::{Action, Screen, Target};
use crate::model::ui::Demo;
use crate::{lang, say};

/// A key worth pressing first, with what it does.
type First = (Context, Action, &'static str);

/// Those for where clients play.
const PLAY: [First; 6] = [
    (Context::Playground, Action::Client(Blow::PauseOrResume), "pause the holder past its lease; again to wake it"),
    (Context::Playground, Action::Client(Blow::Crash), "kill it: no release"),
    (Context::Embedded, Action::Node(NodeDeed::KillOrStart), "kill the leader"),
    (Context::Browse, Action::Show(Screen::Raft), "look at Raft"),
    (Context::Browse, Action::Help, "all keys"),
    (Context::Browse, Action::Quit, "quit"),
];

/// Those for a cluster alone.
const FIRST: [First; 6] = [
    (Context::Browse, Action::Show(Screen::Raft), "look at Raft: terms, votes, messages, logs"),
    (Context::Embedded, Action::Node(NodeDeed::KillOrStart), "kill the leader; again to start it"),
    (Context::Embedded, Action::Node(NodeDeed::Isolate), "isolate it; H heals"),
    (Context::Embedded, Action::Pace(Pace::Slower), "slow time down; ] speeds it up"),
    (Context::Browse, Action::Help, "all keys"),
    (Context::Browse, Action::Quit, "quit"),
];

/// Draws the hint on top of an area; returns what is left of that.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, demo: &Demo, plays: bool, size: Size) -> Rect {
    let theme = canvas.theme;
    let first = if plays { PLAY } else { FIRST };
    let rows = lines(demo, &first, area.width.saturating_sub(4), theme);
    let about = about(demo);
    // A small screen keeps most of itself.
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2 + u16::from(size > Size::Single));
    if height > area.height / 2 {
        return area;
    }
    let (hint, rest) = top(area, height);
    let panel = Panel::new(theme.span(say!("DEMO"), Role::Title))
        .data(theme.span(say!("any key takes this away"), Role::Muted));
    let inner = panel.focused(true).draw(canvas, hint);
    let columns = inner.width.saturating_sub(2);
    let about = (size > Size::Single).then(|| vec![(None, theme.sentence(about, usize::from(columns), Role::Muted))]);
    let about = about.into_iter().map(|spans| spans.into_iter().map(|(action, span)| (action, vec![span])).collect());
    for (y, row) in (inner.top()..inner.bottom()).zip(about.chain(rows)) {
        draw_row(canvas, Rect { x: inner.x + 1, y, width: columns, height: 1 }, row);
    }
    rest
}

/// A piece of a line and what a click on it does.
type Piece<'a> = (Option<Action>, Vec<Span<'a>>);

fn draw_row(canvas: &mut Canvas<'_>, row: Rect, pieces: Vec<Piece<'_>>) {
    let mut x = row.x;
    for (action, spans) in pieces {
        let taken = canvas.line(x, row.y, row.right().saturating_sub(x), &Line::from(spans));
        if let Some(action) = action {
            canvas.hit(Rect { x, width: taken, ..row }, Target::Do(action));
        }
        x = x.saturating_add(taken + 3);
    }
}

fn about(demo: &Demo) -> String {
    let what = lang::text(if demo.real { REAL } else { PLAYGROUND });
    let members = demo.members;
    match (demo.real, members) {
        (true, 1) => {
            say!("a real etcd with one member, started for this, and clients inside this program: {what}", what)
        }
        (true, _) => say!(
            "a real etcd with {members} members, started for this, and clients inside this program: {what}",
            members,
            what
        ),
        (false, 1) => say!("etcd with one member, and its clients, inside this program: {what}", what),
        (false, _) => {
            say!("etcd with {members} members, and its clients, inside this program: {what}", members, what)
        }
    }
}

/// The keys, as many in a line as there is room for.
fn lines<'a>(demo: &Demo, first: &[First], columns: u16, theme: &Theme) -> Vec<Vec<Piece<'a>>> {
    let mut lines: Vec<Vec<Piece<'a>>> = vec![Vec::new()];
    let mut left = columns;
    for &(context, action, text) in first {
        let text = match action {
            // Its clock is the wall's.
            Action::Pace(_) if demo.real => continue,
            Action::Show(Screen::Raft) if demo.real => "look at Raft: who leads, terms, indexes",
            _ => text,
        };
        let key = BINDINGS.iter().find(|row| row.context == context && row.action == action);
        let Some(key) = key.and_then(|row| row.keys.first()) else { continue };
        let label = key.symbol(!theme.glyphs.unicode);
        let spans = vec![theme.span(label, Role::Title), theme.span(format!(" {}", lang::text(text)), Role::Text)];
        let wanted = columns_of(&Line::from(spans.clone())) + 3;
        if wanted > left + 3 {
            lines.push(Vec::new());
            left = columns;
        }
        left = left.saturating_sub(wanted);
        if let Some(line) = lines.last_mut() {
            line.push((Some(action), spans));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, ascii, english_left, plain};

    fn drawn(width: u16, height: u16, plays: bool, theme: &Theme) -> (Screenshot, Rect) {
        let area = Rect::new(0, 0, width, height);
        let mut rest = area;
        let size = Size::of(Rect::new(0, 0, width, height + 4));
        let shot = Screenshot::of(width, height, theme, |canvas| {
            rest = draw(canvas, area, &Demo::new(42, 3), plays, size);
        });
        (shot, rest)
    }

    #[test]
    fn every_key_of_the_hint_is_in_the_keymap() {
        for (context, action, text) in FIRST.into_iter().chain(PLAY) {
            assert!(BINDINGS.iter().any(|row| row.context == context && row.action == action), "{text}");
        }
    }

    #[test]
    fn the_hint_covers_nothing_and_leaves_most_of_the_screen() {
        for (width, height) in [(60, 12), (80, 20), (120, 32), (200, 56)] {
            for plays in [false, true] {
                let (shot, rest) = drawn(width, height, plays, &plain());
                assert!(rest.height * 2 >= height && rest.bottom() == height, "{width}x{height}");
                for y in rest.top()..rest.bottom() {
                    assert_eq!(shot.lines()[usize::from(y)].trim(), "");
                }
                let text = shot.text();
                assert!(text.contains("kill the leader") && text.contains("q quit"), "{text}");
                assert_eq!(text.contains("pause the holder"), plays);
            }
        }
        assert!(drawn(100, 30, true, &ascii()).0.text().is_ascii());
    }

    #[test]
    fn what_it_is_and_what_it_is_not_is_said() {
        let text = drawn(120, 32, false, &plain()).0.text();
        assert!(text.contains("a playground; for anything real point lockscope at etcd"), "{text}");
    }

    #[test]
    fn on_real_etcds_it_says_so_and_offers_nothing_they_cannot_do() {
        let area = Rect::new(0, 0, 120, 32);
        let demo = Demo::new(42, 3).of_real_etcds();
        let shot = Screenshot::of(120, 32, &plain(), |canvas| {
            draw(canvas, area, &demo, false, Size::of(Rect::new(0, 0, 120, 36)));
        });
        let text = shot.text();
        assert!(text.contains("a real etcd with 3 members") && text.contains("kill the leader"), "{text}");
        assert!(!text.contains("slow time down") && !text.contains("votes"), "{text}");
    }

    #[test]
    fn every_key_of_the_hint_is_told_in_chinese() {
        lang::within(crate::domain::Lang::Chinese, || {
            for (.., text) in FIRST.into_iter().chain(PLAY) {
                assert_eq!(english_left(lang::text(text), &[]), Vec::<String>::new());
            }
            let text = drawn(80, 20, true, &plain()).0.text();
            assert!(text.contains("╭ 演示 ") && text.contains("k 杀死它：不释放锁"), "{text}");
        });
    }

    #[test]
    fn its_keys_can_be_clicked() {
        let (shot, _) = drawn(120, 32, true, &plain());
        let (x, y) = shot.position("look at Raft").unwrap();
        assert_eq!(shot.hits.at(x, y), Some(&Target::Do(Action::Show(Screen::Raft))));
    }
}
