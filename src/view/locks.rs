//! The screen of all locks: the list, what wants attention, and what the watch brings; on
//! larger terminals also the selected lock, the members and the log.

pub mod attention;
pub mod changes;
pub mod row;

use std::collections::HashSet;

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::layout::{Size, bottom, left, percent, top};
use super::list::{List, position, title};
use super::lock::{about, history, holders, queue};
use super::text::{grouped, named};
use super::theme::{Role, Theme};
use super::verdict::Verdict;
use super::widget::panel::Panel;
use super::widget::table::{Row, table};
use super::{empty, log, members};
use crate::domain::{Millis, Timestamp};
use crate::input::{Pane, Sort};
use crate::model::{Diagnosis, Facts, LockIx, LockView};
use crate::say;
use attention::Attention;
use row::Worst;

/// The fewest rows of the list, frame and heading included.
const FEWEST: u16 = 8;
/// The rows of the list around its locks: frame, heading, and the verdict below.
const AROUND: u16 = 5;
/// The rows of the watch below what is wrong.
const WATCH: u16 = 4;
/// With more rows than this the list leaves one to the verdict on the selected lock.
const ROOMY: u16 = 10;

/// What the screen needs besides the facts.
pub struct Locks<'a> {
    /// The locks that are listed.
    pub rows: &'a [LockIx],
    /// How many there would be without the filter.
    pub total: usize,
    /// How many of those listed nobody has.
    pub free: usize,
    /// Whether registrations and other leased keys are listed too.
    pub all: bool,
    /// The filter as it was typed.
    pub filter: &'a str,
    /// What the list is sorted by.
    pub sort: Sort,
    /// Whether that is turned round.
    pub reversed: bool,
    /// Where the list stands.
    pub list: List<'a>,
    /// Where the queue of the selected lock stands.
    pub queue: List<'a>,
    /// Where the list of members stands.
    pub members: List<'a>,
    /// The selected lock.
    pub selected: Option<LockView<'a>>,
    /// How far a pane without a selection is scrolled.
    pub scrolled: &'a dyn Fn(Pane) -> usize,
    /// The pane that has the focus.
    pub focused: Pane,
    /// The time that goes on while the screen is paused.
    pub live_now: Timestamp,
    /// What is wrong.
    pub diagnosis: &'a Diagnosis,
}

impl Locks<'_> {
    /// Draws the screen; returns how old the oldest TTL on it is.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, size: Size) -> Option<Millis> {
        let notes = Attention { facts, diagnosis: self.diagnosis };
        match size {
            Size::TooSmall | Size::Single => self.draw_single(canvas, area, facts, &notes),
            Size::Split => self.draw_split(canvas, area, facts, &notes),
            Size::Wide => {
                let (area, below) = bottom(area, 9);
                let oldest = self.draw_split(canvas, area, facts, &notes);
                let (strip, log_area) = left(below, percent(below.width, 55, 80));
                members::draw_table(canvas, strip, facts, &self.members);
                self.draw_log(canvas, log_area, facts);
                oldest
            }
            Size::Full => self.draw_full(canvas, area, facts, &notes),
        }
    }

    /// The list on top, findings and watch below. What is wrong gets the whole width; then the
    /// watch comes below it, in rows that the list leaves empty.
    fn draw_single(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, notes: &Attention<'_>) -> Option<Millis> {
        let share = percent(area.height, 25, 5);
        if !notes.is_urgent() {
            let columns = percent(area.width, 58, 30);
            let (list, below) = bottom(area, self.lower_rows(area, share, notes, columns));
            let list = self.draw_verdict(canvas, list, facts);
            let oldest = self.draw_list(canvas, list, facts);
            let (attention_area, watch) = left(below, columns);
            self.draw_notes(canvas, attention_area, notes);
            self.draw_changes(canvas, watch, facts);
            return oldest;
        }
        let spared = area.height.saturating_sub(self.listed_rows());
        // Of nothing that is listed there is much to say.
        let is_spared = !self.rows.is_empty() && spared >= share.max(notes.all_rows()) + WATCH;
        let watch_rows = if is_spared { WATCH } else { 0 };
        let (area, watch) = bottom(area, watch_rows);
        let (list, below) = bottom(area, self.lower_rows(area, share, notes, area.width));
        let list = self.draw_verdict(canvas, list, facts);
        let oldest = self.draw_list(canvas, list, facts);
        self.draw_notes(canvas, below, notes);
        if watch.height > 0 {
            self.draw_changes(canvas, watch, facts);
        }
        oldest
    }

    /// The list on the left, the selected lock on the right, findings and watch below.
    fn draw_split(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, notes: &Attention<'_>) -> Option<Millis> {
        let columns = percent(area.width, 50, 62);
        let (upper, lower) = bottom(area, self.lower_rows(area, percent(area.height, 22, 7), notes, columns));
        let (list, right) = left(upper, columns);
        let oldest = self.draw_list(canvas, list, facts);
        self.draw_selected(canvas, right, facts);
        let (attention_area, watch) = left(lower, list.width);
        self.draw_notes(canvas, attention_area, notes);
        self.draw_changes(canvas, watch, facts);
        oldest
    }

    /// Three columns: the list with the findings, the selected lock, members and log.
    fn draw_full(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, notes: &Attention<'_>) -> Option<Millis> {
        let (first, rest) = left(area, percent(area.width, 46, 80));
        let share = percent(first.height, 22, 8);
        let (list, attention_area) = bottom(first, self.lower_rows(first, share, notes, first.width));
        let oldest = self.draw_list(canvas, list, facts);
        self.draw_notes(canvas, attention_area, notes);

        let (upper, rest) = top(rest, percent(rest.height, 34, 12));
        let (queue_area, strip) = left(upper, percent(upper.width, 64, 40));
        let (middle, rest) = top(rest, percent(rest.height, 32, 8));
        let (lanes, rest) = top(rest, 8);
        let (watch, log_area) = top(rest, rest.height / 2);
        members::draw_strip(canvas, strip, facts, &self.members);
        match &self.selected {
            Some(lock) => {
                queue::draw(
                    canvas,
                    queue_area,
                    facts,
                    lock,
                    Some(name_title(lock, queue_area, canvas.theme)),
                    &self.queue,
                );
                let (about_area, history_area) = left(middle, middle.width / 2);
                let verdict = Verdict::of(facts, lock);
                let (verdict_area, about_area) = top(about_area, verdict.wanted_rows(about_area.width));
                verdict.draw(canvas, verdict_area);
                about::draw(canvas, about_area, facts, lock);
                history::draw(
                    canvas,
                    history_area,
                    facts,
                    lock,
                    self.scroll(Pane::History),
                    self.focused == Pane::History,
                );
            }
            None => draw_nothing_selected(canvas, Rect { height: upper.height + middle.height, ..queue_area }),
        }
        holders::draw_several(canvas, lanes, &self.selected_and_next(facts), facts.now());
        self.draw_changes(canvas, watch, facts);
        self.draw_log(canvas, log_area, facts);
        oldest
    }

    /// The selected lock and those below it: what the swim lanes show.
    fn selected_and_next<'f>(&self, facts: &'f Facts) -> Vec<LockView<'f>> {
        let from = self.list.selected.unwrap_or(0).min(self.rows.len());
        self.rows[from..].iter().take(5).filter_map(|&ix| facts.lock(ix)).collect()
    }

    fn draw_selected(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        let Some(lock) = &self.selected else { return draw_nothing_selected(canvas, area) };
        let verdict = Verdict::of(facts, lock);
        let (verdict_area, area) = top(area, verdict.wanted_rows(area.width));
        verdict.draw(canvas, verdict_area);
        let wanted = about::wanted_rows(facts, lock, canvas.theme).min(area.height * 2 / 5);
        // Where rows are few the queue has no empty ones, so that the history keeps some.
        let queue = queue::wanted_rows(lock);
        let most = (area.height - wanted).saturating_sub(5).max(queue.min(8));
        let (queue_area, rest) = top(area, queue.max(8).min(most));
        queue::draw(canvas, queue_area, facts, lock, Some(name_title(lock, queue_area, canvas.theme)), &self.queue);
        let (about_area, history_area) = top(rest, wanted);
        about::draw(canvas, about_area, facts, lock);
        history::draw(canvas, history_area, facts, lock, self.scroll(Pane::History), self.focused == Pane::History);
    }

    /// A line or two on the selected lock below its list, where room is; returns what is left.
    fn draw_verdict(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) -> Rect {
        let Some(lock) = self.selected.as_ref().filter(|_| area.height > ROOMY) else { return area };
        let most = if area.height > ROOMY + 1 { 2 } else { 1 };
        let verdict = Verdict::of(facts, lock);
        let (area, lines) = bottom(area, verdict.wanted_rows(area.width).min(most));
        verdict.draw(canvas, lines);
        area
    }

    fn draw_list(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) -> Option<Millis> {
        let theme = canvas.theme;
        let capacity = area.height.saturating_sub(3);
        let window = self.list.window(usize::from(capacity), self.rows.len());
        let what = if self.all { "All leased" } else { "Locks" };
        let panel =
            Panel::new(self.list_title(what, theme)).data(self.list_data(&window, theme)).focused(self.list.focused);
        let inner = panel.draw(canvas, area);
        canvas.hit_pane(area, Pane::Locks, capacity, self.rows.len());
        if self.rows.is_empty() {
            empty::draw(canvas, inner, facts, self.live_now, self.filter);
            return None;
        }
        let shown: Vec<(usize, LockView<'_>)> =
            window.filter_map(|at| Some((at, facts.lock(*self.rows.get(at)?)?))).collect();
        let fresh = if theme.motion { row::fresh(facts) } else { HashSet::new() };
        let most = row::scale(shown.iter().map(|(_, lock)| *lock));
        let worst: Vec<_> = shown.iter().map(|(_, lock)| Worst::of(self.diagnosis, lock.name())).collect();
        // A column that says nothing is left out.
        let any = worst.iter().any(Option::is_some);
        let rows: Vec<Row<'_>> = shown
            .iter()
            .zip(&worst)
            .map(|(&(at, lock), worst)| {
                let row = row::row(lock, facts.now(), most, theme);
                Row {
                    selected: self.list.selected == Some(at),
                    changed: fresh.contains(lock.name()),
                    ..if any { row::with_worst(row, *worst, theme) } else { row }
                }
            })
            .collect();
        table(canvas, inner, &row::columns(self.sort, any, most == 0), &rows);
        shown.iter().filter_map(|(_, lock)| queue::age(lock.holder()?.ttl())).max()
    }

    /// `Locks 12, 5 free`: those that somebody has are counted apart. A filter counts what it shows.
    fn list_title<'t>(&self, what: &'static str, theme: &Theme) -> Line<'t> {
        let free = if self.filter.is_empty() { self.free } else { 0 };
        let mut line = title(what, self.rows.len() - free, self.total, self.filter, theme);
        if free > 0 {
            let count = grouped(free);
            line.push_span(theme.span(say!(", {count} free", count), Role::Muted));
        }
        line
    }

    /// `1-12 of 10,000  sort: WAIT ▼`.
    fn list_data<'t>(&self, window: &std::ops::Range<usize>, theme: &Theme) -> Line<'t> {
        let glyphs = theme.glyphs;
        let arrow = if self.sort.starts_with_largest() == self.reversed { glyphs.ascending } else { glyphs.descending };
        let place = position(window, self.rows.len());
        let gap = if place.is_empty() { "" } else { "  " };
        let sort = say!("sort: {column} {arrow}", column = sorted_by(self.sort), arrow);
        Line::from(theme.span(format!("{place}{gap}{sort}"), Role::Muted))
    }

    fn draw_notes(&self, canvas: &mut Canvas<'_>, area: Rect, notes: &Attention<'_>) {
        let selected = self.selected.as_ref().map(LockView::name);
        let focused = self.focused == Pane::Attention;
        attention::draw(canvas, area, notes, self.scroll(Pane::Attention), focused, selected);
    }

    fn draw_changes(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        changes::draw(canvas, area, facts, self.scroll(Pane::Watch), self.focused == Pane::Watch);
    }

    fn draw_log(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        log::draw(canvas, area, facts.now(), self.scroll(Pane::Log), self.focused == Pane::Log);
    }

    /// How many rows the lower part gets: its share, and more for more trouble, up to half of all;
    /// the list keeps a few. What is only worth knowing gets the rows that the list leaves empty.
    fn lower_rows(&self, area: Rect, share: u16, attention: &Attention<'_>, columns: u16) -> u16 {
        let most = (area.height / 2).min(area.height.saturating_sub(FEWEST));
        let unused = area.height.saturating_sub(self.listed_rows());
        share.max(attention.wanted_rows()).max(attention.most_rows(columns, unused)).min(most.max(share))
    }

    /// How many rows the list needs to show all its locks.
    fn listed_rows(&self) -> u16 {
        u16::try_from(self.rows.len()).unwrap_or(u16::MAX).saturating_add(AROUND)
    }

    fn scroll(&self, pane: Pane) -> usize {
        (self.scrolled)(pane)
    }
}

fn name_title<'a>(lock: &LockView<'a>, area: Rect, theme: &Theme) -> Line<'a> {
    let room = usize::from(area.width.saturating_sub(6));
    Line::from(theme.key(named(lock.name()), room, Role::Title))
}

/// What the list is sorted by, in the words of its headings where there is one.
fn sorted_by(sort: Sort) -> &'static str {
    match sort {
        Sort::Weight => say!("WEIGHT"),
        Sort::Wait => say!("WAIT"),
        Sort::Name => say!("NAME"),
        Sort::Held => say!("HELD"),
        Sort::Ttl => say!("TTL"),
        Sort::Handovers => say!("HANDOVERS"),
    }
}

fn draw_nothing_selected(canvas: &mut Canvas<'_>, area: Rect) {
    let inner = Panel::new(canvas.theme.span(say!("Lock"), Role::Title)).draw(canvas, area);
    canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("no lock is selected"), Role::Muted);
}
