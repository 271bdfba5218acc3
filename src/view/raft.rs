//! The Raft screen: what goes on between the members. An embedded cluster shows all of it, a
//! real etcd what it tells, in a picture of its own where this program started it.

mod cluster;
mod log;
mod nodes;
mod ring;
#[cfg(test)]
pub mod sample;
mod terms;
#[cfg(test)]
mod tests;
mod told;
pub mod words;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::layout::{Size, bottom, left, percent, top};
use super::list::List;
use super::text::{cluster_clock, lasting, width};
use super::theme::{Role, Theme};
use super::way;
use crate::domain::raft::{RaftPicture, Speed, Told};
use crate::input::Pane;
use crate::model::Ui;
use crate::{lang, say};
pub use nodes::{PLAYGROUND, REAL};
pub use told::draw as draw_told;

/// The rows of the strip of requests below everything else.
const STRIP: u16 = 16;

/// Draws the screen of a cluster of this program's own.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, ui: &Ui, size: Size) {
    let selected = ui.raft.node(picture);
    let entry = ui.raft.entry(picture);
    let focused = ui.focused();
    let log_rows = log::wanted_rows(picture.nodes.len());
    let draw_terms = |canvas: &mut Canvas<'_>, area: Rect| {
        terms::draw(canvas, area, picture, ui.scrolled(Pane::Terms), focused == Pane::Terms);
    };
    let draw_log = |canvas: &mut Canvas<'_>, area: Rect| {
        log::draw(canvas, area, picture, selected, entry, ui.raft.entry.is_none());
    };
    if size <= Size::Single {
        // The table shows every node, whatever the logs want.
        let least = u16::try_from(picture.nodes.len()).unwrap_or(u16::MAX).saturating_add(3).max(9);
        let (upper, lower) = bottom(area, log_rows.min(area.height.saturating_sub(least)).max(4));
        let (ring, table) = left(upper, percent(upper.width, 52, 30));
        cluster::draw(canvas, ring, picture, selected, focused == Pane::Nodes);
        nodes::draw(canvas, table, picture, selected);
        if ui.raft.elections {
            draw_terms(canvas, lower);
        } else {
            draw_log(canvas, lower);
        }
        return;
    }
    let (area, strip) = if size >= Size::Wide { bottom(area, STRIP) } else { (area, Rect::ZERO) };
    let (one, other) = left(area, percent(area.width, 56, 60));
    let (ring, logs) = bottom(one, log_rows);
    cluster::draw(canvas, ring, picture, selected, focused == Pane::Nodes);
    draw_log(canvas, logs);
    let (table, history) = top(other, nodes::wanted_rows(picture).min(other.height.saturating_sub(6)));
    nodes::draw(canvas, table, picture, selected);
    draw_terms(canvas, history);
    if !strip.is_empty() {
        let (list, way) = left(strip, percent(strip.width, 40, 60));
        let requests = List::of(&ui.raft.requests, focused == Pane::Requests).marked_with_focus();
        way::draw_requests(canvas, list, picture, &requests, ui.raft.gone_way(picture));
        way::draw_way(canvas, way, picture, ui.raft.shown_way(picture), ui.scrolled(Pane::Way), focused == Pane::Way);
    }
}

/// The cluster's clock and how it runs: `t 00:41.3 ×0.50`, or `FROZEN` in place of a speed.
pub fn clock<'a>(picture: &RaftPicture, theme: &Theme) -> Line<'a> {
    let mut spans = vec![theme.span("t ", Role::Muted), Span::raw(cluster_clock(picture.now))];
    // The line above tells both, and the time is to have its room.
    let how = pace(picture, theme);
    spans.extend(how.into_iter().next_back());
    Line::from(spans)
}

/// How the clock runs, when that is not as the wall's: ` ×0.50`, ` FROZEN`.
pub fn pace<'a>(picture: &RaftPicture, theme: &Theme) -> Vec<Span<'a>> {
    let times = if theme.glyphs.unicode { "×" } else { "x" };
    let speed = (picture.speed != Speed::default()).then(|| format!(" {times}{}", picture.speed));
    let frozen = picture.paused.then(|| format!(" {}", say!("FROZEN")));
    speed.into_iter().chain(frozen).map(|text| theme.span(text, Role::Warning)).collect()
}

/// Draws the line below the screen: what the cluster was started with, and what it is not.
pub fn draw_status(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture) {
    let theme = canvas.theme;
    let dot = theme.glyphs.dot;
    let rules = &picture.rules;
    let heartbeat = say!("heartbeat every {length}", length = lasting(rules.heartbeat));
    let parts = match picture.told {
        Told::All => [say!("seed {seed}", seed = picture.seed), lang::text(PLAYGROUND).to_owned(), heartbeat],
        Told::Status => [say!("real etcds").to_owned(), lang::text(REAL).to_owned(), heartbeat],
    };
    let room = usize::from(area.width.saturating_sub(2));
    let mut text = String::new();
    for part in parts {
        let gap = if text.is_empty() { String::new() } else { format!(" {dot} ") };
        if width(&text) + width(&gap) + width(&part) > room {
            break;
        }
        text = text + &gap + &part;
    }
    canvas.text(area.x + 1, area.y, area.width.saturating_sub(2), &text, Role::Muted);
}
