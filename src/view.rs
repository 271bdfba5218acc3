//! Everything that is drawn.
//!
//! ```text
//! (&Model, &Theme, Frame) ──► screen ──► widgets ──► canvas ──► cells
//!                                                      └──► Hits: what lies where
//! ```
//!
//! The view holds no state and changes nothing: the same model gives the same cells. Only
//! rows that can be seen are turned into widgets, so that a frame costs the same for a
//! hundred locks and for a hundred thousand.

pub mod canvas;
#[cfg(test)]
mod chinese_tests;
mod client;
pub mod dialog;
mod empty;
pub mod glyphs;
mod header;
mod hint;
mod layout;
mod leases;
mod list;
mod lock;
mod locks;
mod log;
mod members;
mod playground;
mod prompt;
mod raft;
mod replay;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod text;
pub mod theme;
mod verdict;
mod waits;
mod way;
pub mod widget;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::domain::Millis;
use crate::input::{Hits, Pane, Screen};
use crate::lang;
use crate::model::Model;
use crate::model::ui::Layer;
use crate::say;
use canvas::Canvas;
use layout::{Chrome, SMALLEST, Size};
use leases::Leases;
use list::List;
use lock::Lock;
use locks::Locks;
use theme::{Role, Theme};
use waits::Waits;
use widget::{footer, help, notice};

/// Draws a frame; returns what lies where on it.
pub fn draw(model: &Model, theme: &Theme, frame: &mut Frame<'_>) -> Hits {
    let (hits, cursor) = draw_cells(model, theme, frame.buffer_mut());
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
    hits
}

/// Draws a frame on these cells, whatever was there; returns what lies where on it, and where the
/// cursor is shown, if anywhere.
pub fn draw_cells(model: &Model, theme: &Theme, cells: &mut Buffer) -> (Hits, Option<Position>) {
    let mut canvas = Canvas::new(cells, theme);
    let cursor = lang::within(model.ui.lang, || {
        draw_on(&mut canvas, model);
        draw_dialog(&mut canvas, model).or(prompt::draw(&mut canvas, model))
    });
    (canvas.hits, cursor)
}

/// The dialog lies between the header and the messages.
fn draw_dialog(canvas: &mut Canvas<'_>, model: &Model) -> Option<Position> {
    let dialog = model.ui.dialog.as_ref()?;
    let area = canvas.area();
    if Size::of(area) == Size::TooSmall {
        return None;
    }
    let Chrome { tabs, body, .. } = Chrome::of(area);
    let area = tabs.union(body);
    // What is done is done to the cluster as it is, whether or not the screen is held still.
    dialog::draw(canvas, area, dialog, (model.live(), &model.ui.reach), model.ui.scrolled(Pane::Dialog))
}

fn draw_on(canvas: &mut Canvas<'_>, model: &Model) {
    let area = canvas.area();
    let size = Size::of(area);
    if size == Size::TooSmall {
        return draw_too_small(canvas, area);
    }
    let chrome = Chrome::of(area);
    header::draw(canvas, chrome.header, model);
    let plays = plays(model);
    let body = match &model.ui.demo {
        Some(demo) if demo.hint => hint::draw(canvas, chrome.body, demo, plays, size),
        _ => chrome.body,
    };
    let oldest = draw_screen(canvas, body, model, size);
    let right = tabs_right(model, canvas.theme, usize::from(chrome.tabs.width.saturating_sub(63)));
    let is_there = |screen: &Screen| *screen != Screen::Playground || plays || model.ui.screen == Screen::Playground;
    let tabs = Screen::ALL.into_iter().filter(is_there);
    header::draw_tabs(canvas, chrome.tabs, tabs, model.ui.screen.tab(), &right);
    match (&model.shown().raft, &model.shown().play) {
        _ if model.is_replay() => replay::draw_status(canvas, chrome.status, model),
        (_, Some(play)) if model.ui.screen == Screen::Playground => {
            playground::draw_status(canvas, chrome.status, play, &model.ui);
        }
        (Some(picture), _) if matches!(model.ui.screen, Screen::Raft | Screen::Way) => {
            raft::draw_status(canvas, chrome.status, picture);
        }
        _ => header::draw_status(canvas, chrome.status, model, oldest),
    }
    footer::footer(canvas, chrome.footer, model.contexts(), offer(model));
    match &model.ui.layer {
        Layer::None => {}
        Layer::Help { filter } => {
            let first = model.ui.screen_context();
            let (embedded, plays, replay) = (model.is_embedded(), model.plays(), model.is_replay());
            let help = help::Help { first, filter, embedded, plays, replay };
            help.draw(canvas, chrome.body, model.ui.scrolled(Pane::Help));
        }
        Layer::Copy => prompt::draw_choices(canvas, chrome.body, say!("Copy"), model.contexts()),
    }
}

/// What the footer says of writes.
fn offer(model: &Model) -> footer::Offer {
    let key = model.ui.acted_on(model.shown()).map(|(_, key)| key);
    let selects = matches!(model.ui.screen, Screen::Locks | Screen::Lock);
    let leaseless = selects && key.is_some_and(|key| key.lease().is_none());
    footer::Offer { read_only: model.ui.read_only.is_some(), leaseless }
}

/// Whether clients play here, or are about to.
const fn plays(model: &Model) -> bool {
    model.plays() || model.ui.play.awaited
}

fn draw_screen(canvas: &mut Canvas<'_>, area: Rect, model: &Model, size: Size) -> Option<Millis> {
    let (ui, facts, live_now) = (&model.ui, model.shown(), model.live().now());
    let focused = ui.focused();
    let queue = List::of(&ui.queue, focused == Pane::Queue);
    let members = List::of(&ui.members, focused == Pane::Members);
    match ui.screen {
        Screen::Locks => {
            let screen = Locks {
                rows: ui.lock_order.rows(),
                total: ui.lock_order.total(),
                free: ui.lock_order.free(),
                all: ui.all,
                filter: ui.filter.text(),
                sort: ui.sort,
                reversed: ui.reversed,
                list: List::of(&ui.locks, focused == Pane::Locks),
                // Beside the list of locks a row is only marked once it can be moved.
                queue: queue.marked_with_focus(),
                members: members.marked_with_focus(),
                selected: ui.selected_lock(facts),
                scrolled: &|pane| ui.scrolled(pane),
                focused,
                live_now,
                diagnosis: model.diagnosis(),
            };
            screen.draw(canvas, area, facts, size)
        }
        Screen::Lock => {
            let lock = ui.shown_lock(facts);
            let oldest = lock.and_then(|lock| lock.holders().filter_map(|key| lock::queue::age(key.ttl())).max());
            let scrolled = &|pane| ui.scrolled(pane);
            Lock { open: lock, queue, scrolled, focused, diagnosis: model.diagnosis(), reach: &ui.given }
                .draw(canvas, area, facts);
            oldest
        }
        Screen::Leases => {
            let screen = Leases {
                rows: ui.lease_order.rows(),
                total: ui.lease_order.total(),
                filter: ui.filter.text(),
                list: List::of(&ui.leases, focused == Pane::Leases),
                live_now,
            };
            screen.draw(canvas, area, facts);
            None
        }
        Screen::Members => {
            members::draw(canvas, area, facts, live_now, &members);
            None
        }
        Screen::Raft | Screen::Way => {
            match (&facts.raft, ui.screen) {
                (Some(picture), Screen::Way) => way::draw(canvas, area, picture, ui, size),
                (Some(picture), _) => raft::draw(canvas, area, picture, ui, size),
                (None, _) => raft::draw_told(canvas, area, facts, live_now, &members),
            }
            None
        }
        Screen::Playground => {
            match &facts.play {
                Some(play) => playground::draw(canvas, area, play, ui, model.is_embedded(), size),
                None => playground::draw_empty(canvas, area, ui.play.awaited),
            }
            None
        }
        Screen::Waits => {
            let list = List::of(&ui.waits.cursor, focused == Pane::Waits);
            Waits { ui: &ui.waits, filter: ui.filter.text(), list, live_now }.draw(canvas, area, facts);
            None
        }
        Screen::Log => {
            log::draw(canvas, area, live_now, ui.scrolled(Pane::Log), focused == Pane::Log);
            None
        }
    }
}

/// What the tabs' line says on its right: the open lock, or the filter.
fn tabs_right<'a>(model: &'a Model, theme: &Theme, columns: usize) -> Line<'a> {
    let ui = &model.ui;
    match ui.screen {
        Screen::Lock => match ui.shown_lock(model.shown()) {
            Some(lock) => Line::from(theme.key(lock.name(), columns, Role::Title)),
            None => Line::default(),
        },
        Screen::Locks | Screen::Leases | Screen::Waits if !ui.filter.text().is_empty() => {
            let text = format!("/{}", text::escape_text(ui.filter.text()));
            Line::from(theme.sentence(text, columns, Role::Warning))
        }
        Screen::Locks | Screen::Leases | Screen::Waits => Line::from(theme.span(say!("/ filter"), Role::Muted)),
        Screen::Raft | Screen::Way => {
            let clock = model.shown().raft.as_deref().map(|picture| raft::clock(picture, theme));
            clock.unwrap_or_default()
        }
        Screen::Playground => {
            let (raft, play) = (model.shown().raft.as_deref(), model.shown().play.as_deref());
            let of_cluster = raft.map(|picture| raft::clock(picture, theme));
            of_cluster.or_else(|| play.map(|play| playground::clock(play, theme))).unwrap_or_default()
        }
        Screen::Members | Screen::Log => Line::default(),
    }
}

fn draw_too_small(canvas: &mut Canvas<'_>, area: Rect) {
    let (columns, rows) = SMALLEST;
    let (width, height) = (area.width, area.height);
    let text =
        say!("{width}x{height} is too small: lockscope needs {columns}x{rows}; q quits", width, height, columns, rows);
    let forms =
        [text, say!("needs {columns}x{rows}; q quits", columns, rows), say!("needs {columns}x{rows}", columns, rows)];
    let without = say!("`lockscope ls` needs no screen").to_owned();
    let fits = |text: &String| text::width(text) <= usize::from(width);
    let last = forms.len() - 1;
    let at = forms.iter().position(fits).unwrap_or(last);
    let shown = forms.into_iter().nth(at).into_iter().chain(Some(without).filter(fits));
    let lines: Vec<_> = shown.map(|text| Line::from(canvas.theme.span(text, Role::Text))).collect();
    notice::notice(canvas, area, &lines);
}
