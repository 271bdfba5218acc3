//! What a real etcd tells of its Raft state: roles, terms, indexes, and who led before.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::ring::{self, Edge, Spot};
use crate::domain::Timestamp;
use crate::input::Target;
use crate::model::{Facts, MemberFacts, cluster};
use crate::view::canvas::Canvas;
use crate::view::layout::{bottom, left, percent, top};
use crate::view::list::List;
use crate::view::text::{grouped, split_at_width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::{empty, members};
use crate::{lang, say};

/// What etcd has no call for, and where it can be seen.
pub const UNTOLD: &str = "etcd tells roles, terms and indexes, and nothing of messages, votes, timers and log entries. \
                      `lockscope demo` starts an embedded cluster that shows all of them.";

/// Draws the screen. `live_now` is the time that goes on while the screen is paused.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, live_now: Timestamp, list: &List<'_>) {
    let known = facts.cluster.members();
    let wanted = u16::try_from(known.len()).unwrap_or(u16::MAX).saturating_add(3);
    let (table, rest) = top(area, wanted.clamp(5, area.height.max(10) / 2));
    members::draw_table(canvas, table, facts, list);
    if known.is_empty() {
        empty::draw(canvas, rest, facts, live_now, "");
        return;
    }
    let (ring, other) = left(rest, percent(rest.width, 50, 30));
    draw_ring(canvas, ring, facts, list);
    let (changes, note) = bottom(other, if other.height > 14 { 8 } else { other.height / 2 });
    members::draw_changes(canvas, changes, facts);
    draw_note(canvas, note, say!("Not told"), lang::text(UNTOLD));
}

fn draw_ring(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, list: &List<'_>) {
    let theme = canvas.theme;
    let cluster = &facts.cluster;
    let known = cluster.members();
    let data = say!("term {term}", term = grouped(cluster.term().0));
    let inner =
        Panel::new(theme.span(say!("Cluster"), Role::Title)).data(theme.span(data, Role::Muted)).draw(canvas, area);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let selected = list.selected.filter(|_| list.focused);
    let spots: Vec<Spot<'_>> = known
        .iter()
        .enumerate()
        .map(|(at, member)| Spot {
            forms: forms(cluster, member, theme),
            selected: selected == Some(at),
            target: Some(Target::Member(member.member.id)),
        })
        .collect();
    let leader = known.iter().position(|member| Some(member.member.id) == cluster.leader());
    let edges: Vec<Edge> = leader
        .into_iter()
        .flat_map(|from| (0..known.len()).filter(move |&to| to != from).map(move |to| Edge { from, to, cut: false }))
        .collect();
    ring::draw(canvas, inner, &spots, &edges, &[]);
}

fn forms<'a>(cluster: &cluster::Cluster, member: &MemberFacts, theme: &Theme) -> Vec<Vec<Line<'a>>> {
    let role = cluster.role(member);
    let (glyph, style) = members::look(role, theme);
    let name = |columns| {
        let name = members::name(member).into_owned();
        vec![theme.span(format!("{glyph} "), style), theme.sentence(name, columns, style)]
    };
    let full = |columns| {
        let mut spans = name(columns);
        spans.push(theme.span(format!(" {}", lang::text(role.name())), style));
        Line::from(spans)
    };
    let Some(status) = &member.status else { return vec![vec![full(24)], vec![full(10)], vec![Line::from(name(8))]] };
    let lag = cluster.lag(member).map_or(String::new(), |lag| format!("  {}", say!("lag {lag}", lag)));
    let term = say!("term {term}", term = status.term);
    let applied = say!("applied {index}", index = status.applied_index);
    let detail = Line::from(vec![Span::raw(format!("  {term}")), theme.span(format!("  {applied}{lag}"), Role::Muted)]);
    let term = Line::from(Span::raw(format!("  {term}{lag}")));
    vec![vec![full(24), detail], vec![full(14), term], vec![full(10)], vec![Line::from(name(8))]]
}

/// Draws a panel that says what cannot be shown in it, as far as there is room.
pub fn draw_note(canvas: &mut Canvas<'_>, area: Rect, title: &'static str, said: &str) {
    let theme = canvas.theme;
    let inner = Panel::new(theme.span(title, Role::Title)).draw(canvas, area);
    let columns = usize::from(inner.width.saturating_sub(2));
    let mut rest = said;
    for y in inner.top()..inner.bottom() {
        if rest.is_empty() || columns == 0 {
            break;
        }
        let (line, more) = split_at_width(rest, columns);
        canvas.text(inner.x + 1, y, inner.width.saturating_sub(2), line.trim_end(), Role::Muted);
        rest = more;
    }
}
