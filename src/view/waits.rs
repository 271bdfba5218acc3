//! Who waits for whom, across locks: a tree below each root blocker, deadlocks first.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::client;
use super::empty;
use super::list::{List, position, title};
use super::locks::row::length;
use super::text::{cut_middle, escape_text, grouped, named, quantity};
use super::theme::{Role, Theme};
use super::widget::notice::notice;
use super::widget::panel::Panel;
use super::widget::table::{Cell, Column, Row, table};
use super::widget::ttl::{renewal_forms, ttl_forms};
use crate::domain::{LeaseId, Timestamp};
use crate::input::{Pane, Target};
use crate::model::ui::WaitsUi;
use crate::model::ui::waits::{Called, WaitRow, WaitWhat};
use crate::model::{Facts, LeaseView, Renewal, Since};
use crate::say;

/// Where the tree stops going right: deeper rows stand below each other.
const DEEPEST: usize = 5;
/// How many clients of a circle are named.
const NAMED: usize = 6;

const COLUMNS: [Column; 7] = [
    Column::new("CLIENT").at_least(12).at_most(36),
    Column::new("WAITS FOR").at_least(12).fills(),
    Column::new("HOLDS").at_least(12).fills(),
    Column::new("FOR").right().steady(5),
    Column::new("TTL").at_least(8).at_most(20),
    Column::new("RENEWED").at_least(11).drop(0),
    Column::new("BEHIND").right(),
];

/// What the screen needs besides the facts.
pub struct Waits<'a> {
    /// The rows, and how many wait in all.
    pub ui: &'a WaitsUi,
    /// The filter as it was typed.
    pub filter: &'a str,
    /// Where the list stands.
    pub list: List<'a>,
    /// The time that goes on while the screen is paused.
    pub live_now: Timestamp,
}

impl Waits<'_> {
    /// Draws the screen.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        let theme = canvas.theme;
        let rows = self.ui.rows();
        let capacity = area.height.saturating_sub(3);
        let window = self.list.window(usize::from(capacity), rows.len());
        let data = if rows.len() > usize::from(capacity) {
            position(&window, rows.len())
        } else {
            String::from(if rows.is_empty() { "" } else { say!("the worst first") })
        };
        let panel = Panel::new(title("Waits", self.ui.shown(), self.ui.total(), self.filter, theme))
            .data(theme.span(data, Role::Muted))
            .focused(self.list.focused);
        let inner = panel.draw(canvas, area);
        canvas.hit_pane(area, Pane::Waits, capacity, rows.len());
        if rows.is_empty() {
            return self.draw_empty(canvas, inner, facts);
        }
        let shown: Vec<Row<'_>> = window
            .filter_map(|at| Some((at, rows.get(at)?)))
            .map(|(at, shown)| Row {
                selected: self.list.selected == Some(at),
                target: Some(Target::Wait(shown.id.clone())),
                ..row(shown, facts, theme)
            })
            .collect();
        table(canvas, inner, &COLUMNS, &shown);
    }

    fn draw_empty(&self, canvas: &mut Canvas<'_>, inner: Rect, facts: &Facts) {
        let theme = canvas.theme;
        let none_at_all = self.ui.total() == 0;
        if !facts.link.listed || facts.link.is_denied() || !none_at_all {
            return empty::draw(canvas, inner, facts, self.live_now, self.filter);
        }
        let muted = |text: &'static str| Line::from(theme.span(text, Role::Muted));
        let lines = [
            Line::from(theme.span(say!("Nobody waits."), Role::Title)),
            Line::default(),
            muted(say!("Who waits on a single key, or polls, leaves no trace in etcd.")),
            muted(say!("1 shows the locks, 3 the leases")),
        ];
        notice(canvas, inner, &lines);
    }
}

fn row<'a>(row: &'a WaitRow, facts: &'a Facts, theme: &Theme) -> Row<'a> {
    let now = facts.now();
    let lock = row.lock.as_ref().map_or(&[][..], |(_, name)| name.as_bytes());
    Row::new(match &row.what {
        WaitWhat::Circle { clients, certain, since, behind } => {
            let (word, role) = if *certain { (say!("deadlock"), Role::Error) } else { (say!("circle"), Role::Warning) };
            let head = format!("{} {word}", if *certain { theme.glyphs.lost } else { theme.glyphs.warning });
            vec![
                Cell::span(theme.span(head, role)),
                circle_cell(clients, facts, theme),
                Cell::new(""),
                Cell::new(age(Some(*since), now)),
                Cell::new(""),
                Cell::new(""),
                behind_cell(*behind, theme),
            ]
        }
        WaitWhat::Client { called, leases, position, more, for_itself, since, behind } => {
            let waits = if position.is_some() { waits_cell(lock, *more, *for_itself, theme) } else { Cell::new("") };
            let (ttl, renewed) = time_forms(called, facts, theme);
            vec![
                client_cell(row.depth, called, position.is_some(), facts, theme),
                waits,
                holds_cell(leases, if position.is_none() { lock } else { &[] }, facts, theme),
                Cell::new(age(*since, now)),
                Cell::Forms(ttl),
                Cell::Forms(renewed),
                behind_cell(behind.all, theme),
            ]
        }
        WaitWhat::Fold { count, is_open } => {
            let count = grouped(*count);
            let form =
                |text: String| Line::from(theme.span(format!("{}{text}", indent(row.depth, theme)), Role::Muted));
            let forms = if *is_open {
                vec![form(say!("fold {count} again", count)), form(say!("fold {count}", count))]
            } else {
                let ellipsis = theme.glyphs.ellipsis;
                vec![form(say!("{ellipsis} {count} more", ellipsis, count)), form(format!("{ellipsis} {count}"))]
            };
            let mut cells = vec![Cell::Forms(forms), Cell::Name(lock, theme.style(Role::Muted))];
            cells.resize_with(COLUMNS.len(), || Cell::new(""));
            cells
        }
    })
}

/// How much time a client's first lease has, and whether it is kept alive. Where there is no room for
/// the words, a sign behind the time says that it is not.
fn time_forms<'a>(called: &Called, facts: &Facts, theme: &Theme) -> (Vec<Line<'a>>, Vec<Line<'a>>) {
    let Some(lease) = facts.lease(called.lease) else {
        let without = facts.key(&called.key).map(|key| ttl_forms(key.ttl(), theme));
        return (without.unwrap_or_default(), Vec::new());
    };
    let renewal = lease.renewal();
    let mut ttl = ttl_forms(lease.ttl(), theme);
    if matches!(renewal, Renewal::NotRenewed { .. }) {
        for form in ttl.iter_mut().filter(|form| !form.to_string().ends_with(theme.glyphs.warning)) {
            form.push_span(theme.span(format!(" {}", theme.glyphs.warning), Role::Warning));
        }
    }
    (ttl, renewal_forms(renewal, theme))
}

/// The spaces in front of a row, and where it hangs.
fn indent(depth: usize, theme: &Theme) -> String {
    let elbow = if depth > 0 { theme.glyphs.elbow } else { "" };
    format!("{}{elbow}", " ".repeat(depth.saturating_sub(1).min(DEEPEST)))
}

/// A client's names, from the longest to the shortest.
fn names(called: &Called, facts: &Facts, theme: &Theme) -> Vec<String> {
    let owner = called.process.clone().or_else(|| facts.key(&called.key).and_then(|key| client::named(&key)));
    let mut names = Vec::new();
    if let Some(owner) = owner {
        let owner = escape_text(&owner);
        names.extend([24, 12, 8].map(|columns| cut_middle(&owner, columns, theme.glyphs.ellipsis).into_owned()));
        names.dedup();
    }
    names.push(client::short(facts.leases().digits(), called.lease, &called.key).into_owned());
    names
}

fn client_cell<'a>(depth: usize, called: &Called, waits: bool, facts: &Facts, theme: &Theme) -> Cell<'a> {
    let (glyph, role) = if waits { (theme.glyphs.waiter, Role::Waiter) } else { (theme.glyphs.holder, Role::Holder) };
    let indent = indent(depth, theme);
    let form = |name: String| {
        Line::from(vec![theme.span(indent.clone(), Role::Muted), theme.span(format!("{glyph} {name}"), role)])
    };
    Cell::Forms(names(called, facts, theme).into_iter().map(form).collect())
}

/// The circle in its order, closed: `a305 → 770a → a305`.
fn circle_cell<'a>(clients: &[Called], facts: &Facts, theme: &Theme) -> Cell<'a> {
    let arrow = format!(" {} ", theme.glyphs.crumb);
    let short = |called: &Called| names(called, facts, theme).pop().unwrap_or_default();
    let mut named: Vec<String> = clients.iter().take(NAMED).map(short).collect();
    named.extend((clients.len() > NAMED).then(|| theme.glyphs.ellipsis.to_owned()));
    named.extend(clients.first().map(short));
    let forms = [named.join(&arrow), quantity(clients.len(), "client")];
    Cell::Forms(forms.map(|text| Line::from(theme.span(text, Role::Text))).into())
}

fn waits_cell<'a>(lock: &'a [u8], more: usize, for_itself: bool, theme: &Theme) -> Cell<'a> {
    if more == 0 && !for_itself {
        return Cell::Name(lock, Style::new());
    }
    let form = |columns: usize| {
        let mut spans = vec![theme.key(lock, columns, Role::Text)];
        if more > 0 {
            spans.push(theme.span(format!(" +{more}"), Role::Muted));
        }
        if for_itself {
            spans.push(theme.span(format!(" {} {}", theme.glyphs.warning, say!("itself")), Role::Warning));
        }
        Line::from(spans)
    };
    Cell::Forms([60, 40, 30, 24, 18, 12, 8].map(form).into())
}

/// The locks that its leases hold; of a key without a lease, and of a large lease, the one it leads.
fn holds_cell<'a>(leases: &[LeaseId], own: &'a [u8], facts: &'a Facts, theme: &Theme) -> Cell<'a> {
    let (large, small): (Vec<_>, Vec<_>) =
        leases.iter().filter_map(|&lease| facts.lease(lease)).partition(LeaseView::is_large);
    let mut names: Vec<&'a [u8]> = small.iter().flat_map(LeaseView::holds).map(|lock| lock.name()).collect();
    // The one that others wait for goes first.
    if let Some(at) = names.iter().position(|name| *name == own) {
        names[..=at].rotate_right(1);
    } else if !own.is_empty() && (leases.is_empty() || !large.is_empty()) {
        names.push(own);
    }
    match names[..] {
        [] => Cell::new(""),
        [only] => Cell::Name(named(only), theme.style(Role::Holder)),
        [first, ..] => {
            let form = |columns: usize| {
                Line::from(vec![
                    theme.key(named(first), columns, Role::Holder),
                    theme.span(format!(" +{}", names.len() - 1), Role::Muted),
                ])
            };
            Cell::Forms([60, 40, 30, 24, 18, 12, 8].map(form).into())
        }
    }
}

fn behind_cell<'a>(behind: usize, theme: &Theme) -> Cell<'a> {
    if behind == 0 {
        return Cell::span(theme.span("-", Role::Muted));
    }
    Cell::new(grouped(behind))
}

fn age(since: Option<Since>, now: Timestamp) -> String {
    since.map_or_else(String::new, |since| length(since, now))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::input::{Screen, WaitId};
    use crate::view::testing::{Cluster, ascii, lease, mono, plain, queued, tangled};

    fn shown(cluster: &mut Cluster, width: u16, height: u16) -> Vec<String> {
        cluster.draw(width, height, &plain()).lines()
    }

    #[test]
    fn the_waits_at_80x24() {
        let mut cluster = tangled();
        cluster.press("7", 80, 24);
        assert_snapshot!(cluster.draw(80, 24, &plain()).text());
        assert_snapshot!(cluster.draw(80, 24, &ascii()).text());
    }

    #[test]
    fn the_waits_at_120x36() {
        let mut cluster = tangled();
        cluster.press("7", 120, 36);
        assert_snapshot!(cluster.draw(120, 36, &mono()).text());
    }

    #[test]
    fn a_deadlock_stands_out_and_holders_differ_from_those_that_wait() {
        let theme = plain();
        let mut cluster = tangled();
        cluster.press("7", 80, 24);
        let shot = cluster.draw(80, 24, &theme);
        assert!(shot.has_role("× deadlock", &theme, Role::Error));
        assert!(shot.has_role("● c3c3", &theme, Role::Holder));
        assert!(shot.hits.areas().iter().any(|(_, target)| matches!(target, Target::Wait(WaitId::Circle(_)))));
    }

    #[test]
    fn enter_unfolds_a_long_queue_and_folds_it_again() {
        let mut cluster = tangled();
        cluster.press("7", 80, 40);
        let folded = |cluster: &mut Cluster| {
            let lines = shown(cluster, 80, 40);
            lines.iter().position(|line| line.contains("… 6") || line.contains("fold 6"))
        };
        let Some(at) = folded(&mut cluster) else { panic!("{:#?}", shown(&mut cluster, 80, 40)) };
        let before = cluster.model.ui.waits.rows().len();
        // The first row stands below the tabs, the frame and the headings.
        let down = "j".repeat(at - 4);
        cluster.press(&format!("{down}\n"), 80, 40);
        assert!(cluster.model.ui.waits.rows().len() > before);
        assert!(folded(&mut cluster).is_some_and(|now| now > at));
        assert!(cluster.model.ui.waits.selected().is_some_and(|row| matches!(row.id, WaitId::Fold(..))));
        cluster.press("\n", 80, 40);
        assert_eq!(cluster.model.ui.waits.rows().len(), before);
    }

    #[test]
    fn enter_opens_the_lock_at_the_clients_key_and_esc_comes_back() {
        let mut cluster = tangled();
        cluster.press("7jjj\n", 80, 24);
        assert_eq!(cluster.model.ui.screen, Screen::Lock);
        let key = cluster.model.ui.selected_key(cluster.model.shown()).map(|key| key.key().to_vec());
        let picked = cluster.model.ui.waits.selected().and_then(|row| row.stands.clone());
        assert_eq!(key, picked.map(|key| key.to_vec()));
        cluster.press("\x1b", 80, 24);
        assert_eq!(cluster.model.ui.screen, Screen::Waits);
    }

    #[test]
    fn the_selection_stays_with_its_client_while_others_come_and_go() {
        let mut cluster = tangled();
        cluster.press("7jjjj", 80, 24);
        let id = cluster.model.ui.waits.selected().map(|row| row.id.clone());
        let place = cluster.model.ui.waits.cursor.index();
        cluster.delete(&format!("/acct/one/{}", crate::domain::LeaseId(lease(0xa1a1))));
        cluster.wait(1);
        assert_eq!(cluster.model.ui.waits.selected().map(|row| row.id.clone()), id);
        assert_ne!(cluster.model.ui.waits.cursor.index(), place, "the circle opened");
    }

    #[test]
    fn a_filter_leaves_those_that_match_with_what_they_hang_on() {
        let mut cluster = tangled();
        cluster.press("7/815\n", 80, 24);
        let text = shown(&mut cluster, 80, 24).join("\n");
        assert!(text.contains("db7") && text.contains("db8") && !text.contains("deadlock"), "{text}");
        assert!(text.contains("Waits 1/"), "{text}");
    }

    #[test]
    fn where_nobody_waits_the_screen_says_so() {
        let mut cluster = Cluster::connected();
        cluster.list(vec![queued("/a", lease(1), 5)]);
        cluster.press("7", 80, 24);
        let text = shown(&mut cluster, 80, 24).join("\n");
        assert!(text.contains("Nobody waits."), "{text}");
    }
}
