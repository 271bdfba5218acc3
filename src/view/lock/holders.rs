//! Who held a lock over the last ten minutes, as a strip drawn to scale.

use ratatui::layout::Rect;

use crate::domain::{Millis, Timestamp};
use crate::model::{Cause, Hold, LockView};
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::layout::left;
use crate::view::text::named;
use crate::view::theme::Role;
use crate::view::widget::lanes::{Ending, Fill, Stretch, Window, lane, scale};
use crate::view::widget::panel::Panel;

/// How far back the strip goes.
const SPAN: Millis = Millis(600_000);

/// Draws the holders of one lock as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, lock: &LockView<'_>, now: Timestamp) {
    let inner = Panel::new(canvas.theme.span(say!("Holders, last 10 min"), Role::Title)).draw(canvas, area);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let window = Window { end: now, span: SPAN };
    lane(canvas, inner, window, &stretches(lock, now));
    scale(canvas, Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner }, window);
}

/// Draws the holders of several locks below each other, each with its name in front.
pub fn draw_several(canvas: &mut Canvas<'_>, area: Rect, locks: &[LockView<'_>], now: Timestamp) {
    let inner = Panel::new(canvas.theme.span(say!("Holders, last 10 min"), Role::Title)).draw(canvas, area);
    let (names, lanes) = left(inner, inner.width / 4);
    let lanes = Rect { x: lanes.x + 1, width: lanes.width.saturating_sub(2), ..lanes };
    let window = Window { end: now, span: SPAN };
    let room = inner.height.saturating_sub(1);
    for (y, lock) in (inner.y..inner.y + room).zip(locks) {
        let name = canvas.theme.key(named(lock.name()), usize::from(names.width.saturating_sub(2)), Role::Text);
        canvas.line(names.x + 1, y, names.width.saturating_sub(1), &name.into());
        lane(canvas, Rect { y, height: 1, ..lanes }, window, &stretches(lock, now));
    }
    let drawn = room.min(u16::try_from(locks.len()).unwrap_or(u16::MAX));
    scale(canvas, Rect { y: inner.y + drawn, height: inner.height - drawn, ..lanes }, window);
}

/// The holds as stretches; one that was there before us starts where we first saw it.
fn stretches<'a>(lock: &LockView<'a>, now: Timestamp) -> Vec<Stretch<'a>> {
    let mut stretches: Vec<Stretch<'a>> = lock.holds().filter_map(|hold| stretch(hold, lock.digits())).collect();
    // What holds since before the first change is in no history yet.
    let open = lock.holds().any(|hold| hold.ended.is_none());
    if let (Some(holder), Some(since), false) = (lock.holder(), lock.held_since(), open) {
        stretches.push(Stretch {
            from: since.at.min(now),
            to: None,
            label: client::short(lock.digits(), holder.lease(), holder.key()),
            fill: Fill::Holding,
            end: Ending::Quiet,
        });
    }
    stretches
}

/// A hold to scale; `None` when its times are not known.
fn stretch(hold: &Hold, digits: usize) -> Option<Stretch<'_>> {
    let lost = |cause| matches!(cause, Cause::Expired | Cause::Revoked);
    let to = match hold.ended {
        Some(end) => Some(end.at?),
        None => None,
    };
    Some(Stretch {
        from: hold.began?.at,
        to,
        label: client::short(digits, hold.lease, &hold.key),
        fill: Fill::Holding,
        end: if hold.ended.is_some_and(|end| lost(end.cause)) { Ending::Lost } else { Ending::Quiet },
    })
}
