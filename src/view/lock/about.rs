//! What is known of one lock besides its queue: its fencing token and how to guard with it,
//! how long it is held and waited for, its recipe, and what the holder's value says.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Millis, Timestamp};
use crate::layout::Layout;
use crate::layout::value::kubernetes;
use crate::model::{Facts, KeyView, LockView, TtlState};
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::locks::row::length;
use crate::view::text::{Cut, duration, escape_text, fit_bytes, grouped, padded, quantity, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::ttl::renewal;

/// The widest label that all facts have, and the most columns a label gets.
const LABEL: usize = 5;
const WIDEST_LABEL: usize = 12;

/// A labelled line.
struct Fact<'a> {
    label: &'a str,
    text: Vec<Span<'a>>,
}

/// How many rows all of it takes, frame included.
pub fn wanted_rows(facts: &Facts, lock: &LockView<'_>, theme: &Theme) -> u16 {
    u16::try_from(lines(facts, lock, 80, theme).len()).unwrap_or(u16::MAX).saturating_add(2)
}

/// Draws the facts as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, lock: &LockView<'_>) {
    let theme = canvas.theme;
    let title = theme.span(if lock.layout().is_lock() { say!("Lock") } else { say!("Keys") }, Role::Title);
    let inner = Panel::new(title).data(theme.span(recipe(lock), Role::Muted)).draw(canvas, area);
    for (y, line) in (inner.top()..inner.bottom()).zip(lines(facts, lock, usize::from(inner.width), theme)) {
        canvas.line(inner.x, y, inner.width, &line);
    }
}

fn recipe(lock: &LockView<'_>) -> String {
    match lock.family() {
        "" => lock.layout().name().to_owned(),
        family => format!("{}, {family}", lock.layout().name()),
    }
}

fn lines<'a>(facts: &'a Facts, lock: &LockView<'a>, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let now = facts.now();
    let mut all = Vec::new();
    let holder = lock.holder();
    if let Some(key) = &holder {
        fencing(lock, key, columns, theme, &mut all);
    }
    all.extend(times(lock, now, theme));
    if let Some(key) = &holder {
        let decoded = key.decoded();
        let label = decoded.fields.iter().map(|(label, _)| width(label)).fold(LABEL, usize::max).min(WIDEST_LABEL);
        lease(facts, key, columns.saturating_sub(label + 1), theme, &mut all);
        // The holder's name is on every row; the fields say where it comes from.
        for (label, text) in decoded.fields {
            let text = escape_text(&text).into_owned();
            all.push(Fact { label, text: vec![Span::raw(text)] });
        }
        if let Some(count) = version_note(lock, key) {
            all.push(Fact { label: say!("puts"), text: vec![Span::raw(count)] });
        }
    }
    let widest = all.iter().map(|fact| width(fact.label)).max().unwrap_or(0).min(WIDEST_LABEL);
    all.into_iter()
        .map(|fact| {
            let mut spans = vec![theme.span(format!("{} ", padded(fact.label, widest)), Role::Muted)];
            spans.extend(fact.text);
            Line::from(spans)
        })
        .collect()
}

/// The number that grows from holder to holder, and what a transaction compares with it.
fn fencing<'a>(lock: &LockView<'_>, key: &KeyView<'a>, columns: usize, theme: &Theme, all: &mut Vec<Fact<'a>>) {
    let room = columns.saturating_sub(10);
    let name = || theme.span(fit_bytes(key.key(), room, Cut::Middle, theme.glyphs.ellipsis), Role::Text);
    if lock.layout() == Layout::KubernetesLease {
        let transitions = kubernetes::Lease::parse(&key.entry().value).and_then(|lease| lease.transitions);
        if let Some(transitions) = transitions {
            let number = Span::raw(format!("{}  ", grouped(transitions)));
            all.push(Fact { label: say!("token"), text: vec![number, theme.span("= leaseTransitions", Role::Muted)] });
        }
        all.push(Fact { label: say!("key"), text: vec![name()] });
        let revision = grouped(key.entry().mod_revision.0);
        all.push(Fact { label: say!("guard"), text: vec![Span::raw(format!("mod_revision(key) = {revision}"))] });
        return;
    }
    let token = grouped(key.token().0);
    if lock.layout().is_lock() {
        let number = Span::raw(format!("{token}  "));
        let what = theme.span(say!("= holder's create_revision"), Role::Muted);
        all.push(Fact { label: say!("token"), text: vec![number, what] });
    }
    all.push(Fact { label: say!("key"), text: vec![name()] });
    if lock.layout().is_lock() {
        all.push(Fact { label: say!("guard"), text: vec![Span::raw(format!("create_revision(key) = {token}"))] });
    }
}

fn times<'a>(lock: &LockView<'_>, now: Timestamp, theme: &Theme) -> Vec<Fact<'a>> {
    let mut facts = Vec::new();
    let held = match (lock.held_since(), lock.free_since()) {
        (Some(since), _) => {
            let usual = theme.span(usual(&lock.hold_times()), Role::Muted);
            Some((say!("held"), vec![Span::raw(length(since, lock.told_until())), usual]))
        }
        (None, Some(since)) => Some((say!("free"), vec![Span::raw(duration(now.since(since)))])),
        (None, None) => None,
    };
    facts.extend(held.map(|(label, text)| Fact { label, text }));
    let waits = lock.wait_times();
    if !waits.is_empty() {
        facts.push(Fact {
            label: say!("wait"),
            text: vec![theme.span(usual(&waits).trim_start().to_owned(), Role::Text)],
        });
    }
    facts
}

/// `  median 1m50s  p95 4m31s  of 23`; nothing when there is nothing to compare with.
fn usual(sorted: &[Millis]) -> String {
    let (Some(median), Some(p95)) = (quantile(sorted, 50), quantile(sorted, 95)) else { return String::new() };
    let (median, p95, count) = (duration(median), duration(p95), sorted.len());
    format!("  {}", say!("median {median}  p95 {p95}  of {count}", median, p95, count))
}

/// The smallest value that is not below `percent` of all (nearest rank).
fn quantile(sorted: &[Millis], percent: usize) -> Option<Millis> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The holder's lease: its granted time, whether it is renewed, and what else hangs on it.
///
/// Where there is little room the id loses its start, then the grant goes; whether it is
/// renewed always stays.
fn lease(facts: &Facts, key: &KeyView<'_>, columns: usize, theme: &Theme, all: &mut Vec<Fact<'_>>) {
    if key.lease().is_none() {
        return;
    }
    let mut said: Vec<Span<'_>> = Vec::new();
    if let Some(renewed) = renewal(key.renewal(), theme) {
        said.extend([Span::raw("  "), renewed]);
    }
    let (mut granted, mut brief) = (Vec::new(), Vec::new());
    if let TtlState::Live { granted: seconds, .. } | TtlState::Overdue { granted: seconds, .. } = key.ttl() {
        granted.push(theme.span(format!("  {}", say!("{seconds}s granted", seconds)), Role::Muted));
        brief.push(theme.span(format!("  TTL {seconds}s"), Role::Muted));
    }
    let id = key.lease().to_string();
    let short =
        Span::raw(format!("{}{}", theme.glyphs.ellipsis, client::short(facts.leases().digits(), key.lease(), b"")));
    let forms = [
        [vec![Span::raw(id)], said.clone(), granted.clone()].concat(),
        [vec![short.clone()], said.clone(), granted].concat(),
        [vec![short.clone()], said.clone(), brief].concat(),
    ];
    let fits = |form: &Vec<Span<'_>>| form.iter().map(|span| width(&span.content)).sum::<usize>() <= columns;
    let text = forms.into_iter().find(fits).unwrap_or_else(|| [vec![short], said].concat());
    all.push(Fact { label: say!("lease"), text });
    let others = facts.lease(key.lease()).map_or(0, |lease| lease.key_count().saturating_sub(1));
    if others > 0 {
        let text = vec![theme.span(say!("{keys} on this lease", keys = quantity(others, "other key")), Role::Text)];
        all.push(Fact { label: say!("shares"), text });
    }
}

/// A holder that was written again is worth telling: recipes that go by mod_revision see
/// another order.
fn version_note(lock: &LockView<'_>, key: &KeyView<'_>) -> Option<String> {
    let entry = key.entry();
    let told = entry.version > 1 && lock.layout() != Layout::KubernetesLease;
    let (puts, revision) = (grouped(entry.version), grouped(entry.mod_revision.0));
    told.then(|| say!("{puts}, last at revision {revision}", puts, revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let sorted: Vec<Millis> = (1..=20).map(|secs| Millis(secs * 1_000)).collect();
        assert_eq!(quantile(&sorted, 50), Some(Millis(10_000)));
        assert_eq!(quantile(&sorted, 95), Some(Millis(19_000)));
        assert_eq!(quantile(&sorted[..1], 95), Some(Millis(1_000)));
        assert_eq!(quantile(&[], 50), None);
        assert_eq!(usual(&sorted), "  median 10s  p95 19s  of 20");
        assert_eq!(usual(&[]), "");
    }
}
