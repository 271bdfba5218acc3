//! The simulated clients as a table: what each believes beside what the store says.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::words;
use crate::domain::play::{Belief, ClientPicture, Life};
use crate::domain::{Millis, Revision};
use crate::input::{Pane, Target};
use crate::model::Play;
use crate::model::ui::Ui;
use crate::view::canvas::Canvas;
use crate::view::client::{FEW, short};
use crate::view::list::position;
use crate::view::text::{duration, grouped};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::table::{Cell, Column, Row, table};
use crate::{lang, say};

/// Those whose cells come and go have the width of the widest that is usual, so that the others
/// stand still.
const COLUMNS: [Column; 12] = [
    Column::new("CLIENT"),
    Column::new("LOCK").drop(1),
    Column::new("RECIPE").drop(2),
    Column::new("STEP").steady(11),
    Column::new("BELIEVES"),
    Column::new("STORE SAYS").steady(15),
    Column::new("TOKEN").right().steady(6),
    Column::new("LEASE"),
    Column::new("TTL").right().steady(4),
    Column::new("WAITS FOR").drop(4).steady(10),
    Column::new("KEY").at_least(24).steady(24).drop(0).fills(),
    Column::new("DONE TO IT").at_least(11).steady(11).drop(3),
];

/// The rows that the whole table would take, frame included.
pub fn wanted_rows(play: &Play) -> u16 {
    u16::try_from(play.clients().len()).unwrap_or(u16::MAX).saturating_add(3)
}

/// Draws the table as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    let clients = play.clients();
    let capacity = area.height.saturating_sub(3);
    let window = ui.play.clients.window(usize::from(capacity), clients.len());
    let title = vec![theme.span(say!("Clients"), Role::Title), Span::raw(format!(" {}", grouped(clients.len())))];
    let panel = Panel::new(Line::from(title))
        .data(theme.span(position(&window, clients.len()), Role::Muted))
        .focused(ui.focused() == Pane::Clients);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::Clients, capacity, clients.len());
    let selected = ui.play.client(play);
    let rows: Vec<Row<'_>> = window
        .filter_map(|at| play.in_row(at))
        .map(|client| Row { selected: selected == Some(client.id), ..row(client, play, theme) })
        .collect();
    table(canvas, inner, &COLUMNS, &rows);
}

fn row<'a>(client: &'a ClientPicture, play: &Play, theme: &Theme) -> Row<'a> {
    let dash = || Cell::span(theme.span("-", Role::Muted));
    let stake = &client.stake;
    let (says, says_role) = words::store_says(client);
    let believes = match client.belief {
        _ if client.is_stale() => Role::Error,
        Belief::Holding => Role::Holder,
        Belief::Waiting => Role::Waiter,
        Belief::Idle => Role::Muted,
        Belief::Lost => Role::Error,
    };
    let step = match client.life {
        Life::Gone => theme.span(say!("away"), Role::Error),
        Life::Stopped => theme.span(say!("ended"), Role::Muted),
        Life::Paused => theme.span(format!("{} {}", client.step.number(), say!("paused")), Role::Warning),
        Life::Up => theme.span(format!("{} {}", client.step.number(), lang::text(client.step.name())), Role::Text),
    };
    let ahead = stake.ahead.as_ref().filter(|_| client.belief == Belief::Waiting);
    let ills = words::ills(client);
    Row {
        target: Some(Target::Client(client.id)),
        ..Row::new(vec![
            Cell::new(client.id.to_string()),
            Cell::span(theme.key(words::short_name(&client.lock), 16, Role::Text)),
            Cell::span(theme.sentence(crate::view::text::escape_text(&client.recipe).into_owned(), 20, Role::Text)),
            Cell::span(step),
            Cell::span(theme.span(lang::text(client.belief.name()), believes)),
            Cell::span(theme.span(says, says_role)),
            if stake.created == Revision(0) { dash() } else { Cell::new(stake.created.to_string()) },
            if stake.lease.is_none() { dash() } else { Cell::new(short(FEW, stake.lease, b"").into_owned()) },
            Cell::new(duration(Millis::from(client.ttl))),
            ahead.map_or_else(dash, |key| Cell::span(theme.sentence(words::ahead(play, key, theme), 12, Role::Text))),
            if stake.key.is_empty() { dash() } else { Cell::Name(&stake.key, theme.style(Role::Muted)) },
            if ills.is_empty() { dash() } else { Cell::Forms(done_to_it(ills, theme)) },
        ])
    }
}

/// What was done to a client: in full, or cut where there is no room.
fn done_to_it<'a>(ills: String, theme: &Theme) -> Vec<Line<'a>> {
    let short = theme.sentence(ills.clone(), 11, Role::Warning);
    vec![Line::from(theme.span(ills, Role::Warning)), Line::from(short)]
}
