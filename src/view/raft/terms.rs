//! The terms so far: who stood for election, who voted for whom, who led, and for how long.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::raft::{RaftPicture, TermRecord, Told};
use crate::input::Pane;
use crate::model::raft;
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::text::{cluster_clock, grouped, lasting};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::table::{Cell, Column, Row, table};

const COLUMNS: [Column; 5] = [
    Column::new("TERM").right(),
    Column::new("BEGAN").right().drop(1),
    // That nobody led is ten columns in Chinese.
    Column::new("LEADER").at_least(10),
    Column::new("LED FOR").right().drop(2),
    Column::new("VOTES").at_least(8).fills(),
];

/// Draws the terms as a panel, newest first, the first `top` of them scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, top: usize, focused: bool) {
    let theme = canvas.theme;
    let count = picture.terms.len();
    // Between two answers of a real etcd a term can come and go.
    let all = picture.told == Told::All;
    let title = theme.span(if all { say!("Elections") } else { say!("Terms seen") }, Role::Title);
    let title = vec![title, Span::raw(format!(" {count}"))];
    let panel = Panel::new(Line::from(title)).data(theme.span(say!("newest first"), Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    let capacity = inner.height.saturating_sub(1);
    canvas.hit_pane(area, Pane::Terms, capacity, count);
    if count == 0 {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("none yet"), Role::Muted);
        return;
    }
    let top = top.min(count.saturating_sub(usize::from(capacity)));
    let shown = picture.terms.iter().rev().skip(top).take(usize::from(capacity));
    let rows: Vec<Row<'_>> = shown.map(|record| row(picture, record, theme)).collect();
    // Votes come last.
    table(canvas, inner, if all { &COLUMNS } else { &COLUMNS[..COLUMNS.len() - 1] }, &rows);
}

fn row<'a>(picture: &RaftPicture, record: &TermRecord, theme: &Theme) -> Row<'a> {
    let newest = record.term == raft::term(picture);
    let (leader, led) = match (record.leader, record.ended) {
        (Some((leader, since)), ended) => {
            let role = if ended.is_some() { Role::Text } else { Role::Leader };
            let name = theme.span(format!("{} {leader}", theme.glyphs.leader), role);
            let length = lasting(ended.unwrap_or(picture.now).since(since));
            (name, theme.span(length, if ended.is_some() { Role::Muted } else { Role::Text }))
        }
        (None, _) if picture.told == Told::Status => {
            (theme.span(say!("none seen"), Role::Warning), theme.span("-", Role::Muted))
        }
        (None, None) if newest => (theme.span(say!("voting"), Role::Warning), theme.span("-", Role::Muted)),
        (None, _) => (theme.span(say!("nobody"), Role::Warning), theme.span("-", Role::Muted)),
    };
    let mut cells = vec![
        Cell::new(grouped(record.term.0)),
        Cell::new(cluster_clock(record.began)),
        Cell::span(leader),
        Cell::span(led),
    ];
    if picture.told == Told::All {
        cells.push(Cell::Forms(votes(record).into_iter().map(Line::from).collect()));
    }
    Row::new(cells)
}

/// For whom the votes went, in forms: by name, and by number.
fn votes(record: &TermRecord) -> Vec<String> {
    let of = |candidate| record.votes.iter().filter(move |(_, to)| *to == candidate).map(|(by, _)| by.to_string());
    // Those who got votes although nobody saw them stand.
    let mut candidates = record.candidates.clone();
    for (_, to) in &record.votes {
        if !candidates.contains(to) {
            candidates.push(*to);
        }
    }
    let named = candidates.iter().map(|&candidate| {
        let by: Vec<String> = of(candidate).collect();
        if by.is_empty() {
            say!("{candidate} by none", candidate)
        } else {
            say!("{candidate} by {nodes}", candidate, nodes = by.join(" "))
        }
    });
    let counted = candidates.iter().map(|&candidate| format!("{candidate}: {}", of(candidate).count()));
    let brief = say!("{count} stood", count = candidates.len());
    [named.collect::<Vec<_>>().join(say!(", ")), counted.collect::<Vec<_>>().join(say!(", ")), brief].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;
    use crate::domain::raft::{ClusterTime, NodeId};

    #[test]
    fn votes_are_named_or_counted() {
        let record = TermRecord {
            term: Term(4),
            began: ClusterTime(0),
            candidates: vec![NodeId(1), NodeId(3)],
            votes: vec![(NodeId(1), NodeId(1)), (NodeId(2), NodeId(1))],
            leader: None,
            ended: None,
        };
        assert_eq!(votes(&record), ["n1 by n1 n2, n3 by none", "n1: 2, n3: 0", "2 stood"]);
    }
}
