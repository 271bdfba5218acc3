//! How much time a lease has, and whether it is kept alive.
//!
//! A TTL is polled, so its age belongs to it: an old one is dim and marked as "about". What
//! is not a number is a word.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::domain::Millis;
use crate::model::{Renewal, TtlState};
use crate::say;
use crate::view::glyphs::Glyphs;
use crate::view::text::{duration, short_duration};
use crate::view::theme::{Role, Theme};

/// The cells of a bar.
const CELLS: u32 = 10;

/// From this age on a poll is old.
pub const OLD: Millis = Millis(5_000);

/// What is left of a lease, in the forms of a table's cell: bar, number and mark in 16
/// columns, or the number and mark alone. Words come in one form.
pub fn ttl_forms<'a>(state: TtlState, theme: &Theme) -> Vec<Line<'a>> {
    match state {
        TtlState::NoLease => vec![word(say!("no lease"), Role::Error, theme)],
        TtlState::Unpolled => {
            let bar = theme.glyphs.no_bar.repeat(CELLS as usize);
            vec![
                Line::from(vec![theme.span(bar, Role::Muted), theme.span("   ?", Role::Muted)]),
                word("?", Role::Muted, theme),
            ]
        }
        TtlState::Live { granted, remaining, age, .. } => {
            countdown(Millis::from_secs(granted), remaining, age.0 > OLD.0, theme)
        }
        TtlState::Overdue { by, .. } => vec![
            Line::from(theme.span(say!("overdue {by}", by = duration(by)), Role::Error)),
            Line::from(theme.span(format!("-{}", short_duration(by)), Role::Error)),
        ],
        TtlState::Gone => vec![word(say!("gone"), Role::Error, theme)],
        TtlState::Unknown => vec![word(say!("unknown"), Role::Muted, theme)],
    }
}

/// A bar with what is `left` of `whole`, in the forms of a table's cell.
pub fn countdown<'a>(whole: Millis, left: Millis, old: bool, theme: &Theme) -> Vec<Line<'a>> {
    let low = is_low(whole, left);
    let style = match (low, old) {
        (true, true) => theme.style(Role::Warning).add_modifier(Modifier::DIM),
        (true, false) => theme.style(Role::Warning),
        (false, true) => theme.style(Role::Muted),
        (false, false) => Style::new(),
    };
    let about = if old { Span::styled(theme.glyphs.about, style) } else { Span::raw(" ") };
    let number = short_duration(left);
    // The blanks in front are nobody's: an underlined warning starts with its number.
    let blanks = Span::raw(" ".repeat(3_usize.saturating_sub(number.len())));
    let mut poor = vec![about, blanks, Span::styled(number, style)];
    if low {
        poor.push(Span::styled(format!(" {}", theme.glyphs.warning), style));
    }
    let rich: Vec<Span<'a>> = bar(whole, left, style, theme).into_iter().chain(poor.iter().cloned()).collect();
    vec![Line::from(rich), Line::from(poor)]
}

/// Whether less than a quarter is left.
pub const fn is_low(whole: Millis, left: Millis) -> bool {
    left.0.saturating_mul(4) < whole.0
}

/// Whether the lease is kept alive, in words; nothing when that cannot be told yet.
pub fn renewal<'a>(renewal: Renewal, theme: &Theme) -> Option<Span<'a>> {
    match renewal {
        Renewal::Unknown => None,
        Renewal::Renewed { ago } => {
            Some(theme.span(say!("renewed {ago} ago", ago = duration(whole_seconds(ago))), Role::Text))
        }
        Renewal::NotRenewed { since } => {
            Some(theme.span(say!("not renewed for {since}", since = duration(whole_seconds(since))), Role::Warning))
        }
    }
}

/// The same in the forms of a table's cell: `renewed 3s ago` or `3s ago`, `not renewed for
/// 21s` or `not for 21s`; a dash when it cannot be told yet.
pub fn renewal_forms<'a>(state: Renewal, theme: &Theme) -> Vec<Line<'a>> {
    let short = match state {
        Renewal::Unknown => return vec![Line::from(theme.span("-", Role::Muted))],
        Renewal::Renewed { ago } => theme.span(say!("{ago} ago", ago = duration(whole_seconds(ago))), Role::Text),
        Renewal::NotRenewed { since } => {
            theme.span(say!("not for {since}", since = duration(whole_seconds(since))), Role::Warning)
        }
    };
    renewal(state, theme).into_iter().chain([short]).map(Line::from).collect()
}

/// Tenths of a second would only flicker.
pub const fn whole_seconds(length: Millis) -> Millis {
    if length.0 < 1_000 { Millis(1_000) } else { length }
}

/// The full and the empty part; the cell between them is filled by eighths.
fn bar<'a>(whole: Millis, left: Millis, style: Style, theme: &Theme) -> Vec<Span<'a>> {
    let (full, part) = fill(whole, left, theme.glyphs);
    let steps = theme.glyphs.bar;
    let mut filled = steps[steps.len() - 1].repeat(full);
    if part > 0 {
        filled.push_str(steps[part]);
    }
    let empty = CELLS as usize - full - usize::from(part > 0);
    vec![Span::styled(filled, style), theme.span(steps[0].repeat(empty), Role::Muted)]
}

/// How many cells are full, and how far the next one is filled. Rounded up, so that a bar is
/// empty only when nothing is left.
fn fill(whole: Millis, left: Millis, glyphs: &Glyphs) -> (usize, usize) {
    let per_cell = i128::try_from(glyphs.bar.len() - 1).unwrap_or(1).max(1);
    let top = i128::from(CELLS) * per_cell;
    let whole = i128::from(whole.0.max(1));
    let steps = (i128::from(left.0.max(0)) * top + whole - 1) / whole;
    let steps = steps.min(top);
    (usize::try_from(steps / per_cell).unwrap_or(0), usize::try_from(steps % per_cell).unwrap_or(0))
}

fn word<'a>(text: &'static str, role: Role, theme: &Theme) -> Line<'a> {
    Line::from(theme.span(text, role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{ascii, mono, plain};

    fn live(granted: i64, left: i64, age: i64) -> TtlState {
        TtlState::Live { granted, polled: left, remaining: Millis::from_secs(left), age: Millis(age) }
    }

    fn rich(state: TtlState) -> String {
        ttl_forms(state, &plain())[0].to_string()
    }

    #[test]
    fn a_bar_has_ten_cells_and_a_number() {
        assert_eq!(rich(live(60, 42, 0)), "▇▇▇▇▇▇▇▁▁▁ 42s");
        assert_eq!(rich(live(60, 55, 0)), "▇▇▇▇▇▇▇▇▇▂ 55s");
        assert_eq!(rich(live(60, 60, 0)), "▇▇▇▇▇▇▇▇▇▇ 60s");
        assert_eq!(rich(live(30, 6, 0)), "▇▇▁▁▁▁▁▁▁▁  6s !");
        assert_eq!(rich(live(60, 0, 0)), "▁▁▁▁▁▁▁▁▁▁  0s !");
        assert_eq!(rich(live(600, 1, 0)), "▂▁▁▁▁▁▁▁▁▁  1s !", "a little is never nothing");
        assert_eq!(rich(live(10, 99, 0)), "▇▇▇▇▇▇▇▇▇▇ 99s", "more than granted fills the bar");
    }

    #[test]
    fn an_old_poll_is_dim_and_about() {
        let theme = mono();
        let [rich, poor] = &ttl_forms(live(60, 42, 5_001), &theme)[..] else { panic!("two forms") };
        assert_eq!(rich.to_string(), "▇▇▇▇▇▇▇▁▁▁~42s");
        assert_eq!(poor.to_string(), "~42s");
        assert!(rich.spans[0].style.add_modifier.contains(Modifier::DIM));
        assert_eq!(ttl_forms(live(60, 42, 5_000), &theme)[0].spans[0].style, Style::new());
    }

    #[test]
    fn below_a_quarter_is_a_warning() {
        let theme = plain();
        let warning = theme.style(Role::Warning);
        assert_eq!(ttl_forms(live(60, 14, 0), &theme)[0].spans[0].style, warning);
        assert_eq!(ttl_forms(live(60, 15, 0), &theme)[0].spans[0].style, Style::new());
    }

    #[test]
    fn what_is_no_number_is_a_word() {
        assert_eq!(rich(TtlState::NoLease), "no lease");
        let overdue = Millis((18 * 60 + 58) * 60_000);
        assert_eq!(rich(TtlState::Overdue { granted: 60, by: overdue, age: Millis(0) }), "overdue 18h58m");
        assert_eq!(rich(TtlState::Gone), "gone");
        assert_eq!(rich(TtlState::Unknown), "unknown");
        assert_eq!(rich(TtlState::Unpolled), "╌╌╌╌╌╌╌╌╌╌   ?");
    }

    #[test]
    fn ascii_bars_are_ascii() {
        assert_eq!(ttl_forms(live(60, 45, 0), &ascii())[0].to_string(), "#######=-- 45s");
    }

    #[test]
    fn every_form_fits_sixteen_columns() {
        for state in [live(60, 1, 9_000), live(86_400, 86_000, 0), live(i64::MAX, 1, 9_000), TtlState::Unpolled] {
            assert!(ttl_forms(state, &plain())[0].width() <= 16, "{state:?}");
        }
    }

    #[test]
    fn renewals_are_said_in_words() {
        let said = |state| renewal(state, &plain()).map(|span| span.content.into_owned());
        assert_eq!(said(Renewal::Renewed { ago: Millis(3_400) }).unwrap(), "renewed 3s ago");
        assert_eq!(said(Renewal::NotRenewed { since: Millis(21_000) }).unwrap(), "not renewed for 21s");
        assert_eq!(said(Renewal::Unknown), None);
    }
}
