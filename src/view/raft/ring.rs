//! A ring of spots with lines between them and dots that travel along the lines.
//!
//! It knows where things go, not what they mean: spots bring their labels, dots their words.
//! Labels come in forms, from the richest to the poorest; the richest that leaves no two spots
//! on each other is drawn. What a dot says is left out when there is no room beside it.

use std::f64::consts::{FRAC_PI_2, TAU};

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::input::Target;
use crate::say;
use crate::view::canvas::{Canvas, columns_of};
use crate::view::text::width;
use crate::view::theme::Role;

/// The fewest columns between two labels.
const GAP: u16 = 2;

/// A place of the ring.
pub struct Spot<'a> {
    /// Its label in forms, each of some lines.
    pub forms: Vec<Vec<Line<'a>>>,
    /// Whether it is the selected one.
    pub selected: bool,
    /// What a click on it means.
    pub target: Option<Target>,
}

/// A line between two spots, by their places in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One end.
    pub from: usize,
    /// The other.
    pub to: usize,
    /// Whether nothing gets through.
    pub cut: bool,
}

/// Something that travels from one spot to another.
pub struct Dot<'a> {
    /// From where.
    pub from: usize,
    /// To where.
    pub to: usize,
    /// How far it is, in thousandths of the way.
    pub at: u32,
    /// What it looks like.
    pub glyph: &'static str,
    /// What that means.
    pub role: Role,
    /// What it says.
    pub label: Line<'a>,
}

/// Draws a ring. Dots come in the order in which they get room for their words.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, spots: &[Spot<'_>], edges: &[Edge], dots: &[Dot<'_>]) {
    if area.is_empty() || spots.is_empty() {
        return;
    }
    let (form, boxes) = placed(area, spots);
    let mut taken = Taken::new(area);
    for &spot in &boxes {
        taken.fill(spot);
    }
    for edge in edges {
        draw_edge(canvas, edge, &boxes, &mut taken);
    }
    for (spot, &at) in spots.iter().zip(&boxes) {
        draw_spot(canvas, spot, form, at);
    }
    let mut drawn = Vec::new();
    for dot in dots {
        if let Some((x, y)) = place_of(dot, &boxes, &taken) {
            canvas.text(x, y, 1, dot.glyph, dot.role);
            taken.fill(Rect::new(x, y, 1, 1));
            drawn.push((dot, x, y));
        }
    }
    let middle = area.x + area.width / 2;
    for (dot, x, y) in drawn {
        let columns = columns_of(&dot.label);
        let Some(place) = beside(x, y, columns, x < middle, area).into_iter().find(|place| taken.is_free(*place, x))
        else {
            continue;
        };
        if place.y == y {
            canvas.text(if place.x > x { x + 1 } else { x - 1 }, y, 1, " ", Role::Text);
        }
        canvas.line(place.x, place.y, columns, &dot.label);
        taken.fill(place);
    }
}

/// Where words of so many columns can stand that belong to a cell: beside it, away from the middle
/// of the ring first, then above and below it.
fn beside(x: u16, y: u16, columns: u16, is_left: bool, area: Rect) -> Vec<Rect> {
    let start = x.saturating_sub(columns / 2).clamp(area.x, area.right().saturating_sub(columns).max(area.x));
    let (left, right) = (x.checked_sub(columns + 1), x.checked_add(2));
    let (first, second) = if is_left { (left, right) } else { (right, left) };
    let level = [first, second].into_iter().flatten().map(|x| (x, y));
    let others = [y.checked_sub(1), y.checked_add(1)].into_iter().flatten().map(|y| (start, y));
    level.chain(others).map(|(x, y)| Rect { x, y, width: columns, height: 1 }).collect()
}

/// The form the labels are drawn in, and where each stands.
fn placed(area: Rect, spots: &[Spot<'_>]) -> (usize, Vec<Rect>) {
    let forms = spots.iter().map(|spot| spot.forms.len()).max().unwrap_or(0);
    let mut chosen = (0, Vec::new());
    for form in 0..forms.max(1) {
        let mut boxes = boxes(area, spots, form);
        push_apart(&mut boxes, area);
        chosen = (form, boxes);
        if are_apart(&chosen.1, area) {
            break;
        }
    }
    chosen
}

fn label<'s, 'a>(spot: &'s Spot<'a>, form: usize) -> &'s [Line<'a>] {
    spot.forms.get(form).or(spot.forms.last()).map_or(&[], Vec::as_slice)
}

fn boxes(area: Rect, spots: &[Spot<'_>], form: usize) -> Vec<Rect> {
    let (across, down) = shares(spots.len());
    let sized = spots.iter().map(|spot| {
        let lines = label(spot, form);
        let width = lines.iter().map(columns_of).max().unwrap_or(0).min(area.width);
        (width, u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height))
    });
    let place = |((width, height), (across, down))| {
        let (x, y) = (cells(across, area.width - width), cells(down, area.height - height));
        Rect { x: area.x + x, y: area.y + y, width, height }
    };
    sized.zip(across.into_iter().zip(down)).map(place).collect()
}

/// Where the spots of a ring stand, in parts of its width and of its height: the first on top,
/// the others clockwise. Two stand side by side.
fn shares(count: usize) -> (Vec<f64>, Vec<f64>) {
    let first = if count == 2 { -FRAC_PI_2 * 2.0 } else { -FRAC_PI_2 };
    #[expect(clippy::cast_precision_loss, reason = "a ring has few spots")]
    let angles: Vec<f64> = (0..count).map(|at| first + TAU * at as f64 / count as f64).collect();
    (stretched(angles.iter().map(|angle| angle.cos())), stretched(angles.iter().map(|angle| angle.sin())))
}

/// Numbers stretched so that they go from 0 to 1; all in the middle when they are all the same.
fn stretched(numbers: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let least = numbers.clone().fold(f64::INFINITY, f64::min);
    let span = numbers.clone().fold(f64::NEG_INFINITY, f64::max) - least;
    numbers.map(|number| if span < 1e-6 { 0.5 } else { (number - least) / span }).collect()
}

/// A part, between 0 and 1, of so many cells.
fn cells(part: f64, of: u16) -> u16 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the part is between 0 and 1")]
    let cells = (part.clamp(0.0, 1.0) * f64::from(of)).round() as u16;
    cells.min(of)
}

/// Whether there are some free cells between any two spots; beside each other more of them, so
/// that lines and words find room.
fn are_apart(boxes: &[Rect], area: Rect) -> bool {
    boxes.iter().enumerate().all(|(at, one)| {
        let (wide, high) = (GAP, if area.height > 9 { 2 } else { 0 });
        let around = Rect { width: one.width + wide, height: one.height + high, ..*one };
        boxes.iter().enumerate().all(|(other_at, other)| {
            let other = Rect { width: other.width + wide, height: other.height + high, ..*other };
            at == other_at || !around.intersects(other)
        })
    })
}

/// Moves labels that are beside each other apart, as far as the area lets them.
fn push_apart(boxes: &mut [Rect], area: Rect) {
    for at in 0..boxes.len() {
        for other in 0..boxes.len() {
            let (one, two) = (boxes[at], boxes[other]);
            let level = one.top() < two.bottom() && two.top() < one.bottom();
            let short = (one.right() + GAP).saturating_sub(two.x);
            if at == other || !level || one.x > two.x || (one.x == two.x && at > other) || short == 0 {
                continue;
            }
            let half = short.div_ceil(2).min(one.x - area.x);
            let right = (short - half).min(area.right().saturating_sub(two.right()));
            boxes[at].x -= (short - right).min(one.x - area.x);
            boxes[other].x += right;
        }
    }
}

fn draw_spot(canvas: &mut Canvas<'_>, spot: &Spot<'_>, form: usize, at: Rect) {
    for (y, line) in (at.top()..at.bottom()).zip(label(spot, form)) {
        canvas.line(at.x, y, at.width, line);
    }
    if spot.selected {
        let first = label(spot, form).first().map_or(0, columns_of).min(at.width);
        canvas.select(Rect { width: first, height: at.height.min(1), ..at });
    }
    if let Some(target) = &spot.target {
        canvas.hit(at, target.clone());
    }
}

/// The cells from one spot to another that lie in neither.
fn path(from: Rect, to: Rect) -> Vec<(u16, u16)> {
    let middle = |of: Rect| (i32::from(of.x) * 2 + i32::from(of.width), i32::from(of.y) * 2 + i32::from(of.height));
    // In half cells.
    let ((x1, y1), (x2, y2)) = (middle(from), middle(to));
    let steps = (x2 - x1).abs().max((y2 - y1).abs()).max(1);
    let mut cells: Vec<(u16, u16)> = Vec::new();
    for step in 0..=steps {
        let between = |a: i32, b: i32| u16::try_from((a * steps + (b - a) * step) / steps / 2).unwrap_or(0);
        let cell = (between(x1, x2), between(y1, y2));
        // A blank stays between a label and what leads to it.
        let inside = |of: Rect| Rect { x: of.x.saturating_sub(1), width: of.width + 2, ..of }.contains(cell.into());
        if !inside(from) && !inside(to) && cells.last() != Some(&cell) {
            cells.push(cell);
        }
    }
    cells
}

fn draw_edge(canvas: &mut Canvas<'_>, edge: &Edge, boxes: &[Rect], taken: &mut Taken) {
    let (Some(&from), Some(&to)) = (boxes.get(edge.from), boxes.get(edge.to)) else { return };
    let cells = path(from, to);
    let flat = match (cells.first(), cells.last()) {
        (Some(first), Some(last)) => first.0.abs_diff(last.0) > 2 * first.1.abs_diff(last.1),
        _ => return,
    };
    // What is cut is broken in the middle.
    let whole = if edge.cut { cells.len() / 3 } else { cells.len() };
    let mut before = None;
    for (at, &(x, y)) in cells.iter().enumerate() {
        // As thick everywhere: every other cell of a flat line, one in a row of a steep one.
        let own = if flat { x % 2 == 0 } else { before.replace(y) != Some(y) };
        let drawn = own && (at < whole || at >= cells.len() - whole);
        if drawn && taken.has_room(x, y) {
            canvas.text(x, y, 1, canvas.theme.glyphs.dot, Role::Muted);
        }
    }
    if let (true, Some(&(x, y))) = (edge.cut, cells.get(cells.len() / 2)) {
        let text = say!("{mark} cut", mark = canvas.theme.glyphs.lost);
        let columns = u16::try_from(width(&text)).unwrap_or(1);
        let area = [columns, 1].map(|columns| Rect::new(x, y, columns, 1));
        if let Some(free) = area.into_iter().find(|area| taken.is_free(*area, u16::MAX)) {
            canvas.text(x, y, free.width, &text, Role::Error);
            taken.fill(free);
        }
    }
}

/// Where a dot is drawn: on its way, or beside another one that is there already.
fn place_of(dot: &Dot<'_>, boxes: &[Rect], taken: &Taken) -> Option<(u16, u16)> {
    let (from, to) = (boxes.get(dot.from)?, boxes.get(dot.to)?);
    let cells = path(*from, *to);
    let last = cells.len().checked_sub(1)?;
    let at = usize::try_from(dot.at.min(1_000)).unwrap_or(0) * last / 1_000;
    let near = [at, at.saturating_sub(1), (at + 1).min(last), at.saturating_sub(2), (at + 2).min(last)];
    near.into_iter().map(|at| cells[at]).find(|&(x, y)| taken.has_room(x, y))
}

/// Which cells something was drawn in that must not be drawn over.
struct Taken {
    area: Rect,
    cells: Vec<bool>,
}

impl Taken {
    fn new(area: Rect) -> Self {
        Self { area, cells: vec![false; usize::from(area.width) * usize::from(area.height)] }
    }

    fn index(&self, x: u16, y: u16) -> Option<usize> {
        let inside = self.area.contains((x, y).into());
        inside.then(|| usize::from(y - self.area.y) * usize::from(self.area.width) + usize::from(x - self.area.x))
    }

    fn fill(&mut self, cells: Rect) {
        for y in cells.top()..cells.bottom() {
            for x in cells.left()..cells.right() {
                if let Some(index) = self.index(x, y) {
                    self.cells[index] = true;
                }
            }
        }
    }

    /// Whether a row of cells lies in the area and is free with a cell on each side of it, the column
    /// `but` left out.
    fn is_free(&self, cells: Rect, but: u16) -> bool {
        let inside = cells.x >= self.area.x && cells.right() <= self.area.right();
        let around = cells.left().saturating_sub(1)..cells.right().saturating_add(1);
        let taken = |x: u16| x != but && self.index(x, cells.y).is_some_and(|index| self.cells[index]);
        inside && self.index(cells.x, cells.y).is_some() && !around.into_iter().any(taken)
    }

    /// Whether nothing was drawn in one cell of the area.
    fn has_room(&self, x: u16, y: u16) -> bool {
        self.index(x, y).is_some_and(|index| !self.cells[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, plain};

    fn spot(name: &'static str) -> Spot<'static> {
        let rich = vec![Line::from(format!("* {name} follower")), Line::from("  term 7")];
        Spot { forms: vec![rich, vec![Line::from(name)]], selected: false, target: None }
    }

    fn dot(from: usize, to: usize, at: u32, label: &'static str) -> Dot<'static> {
        Dot { from, to, at, glyph: "◆", role: Role::Text, label: Line::from(label) }
    }

    fn drawn(width: u16, height: u16, count: usize, dots: &[Dot<'_>], edges: &[Edge]) -> Screenshot {
        let names = ["n1", "n2", "n3", "n4", "n5", "n6", "n7"];
        let spots: Vec<_> = names.into_iter().take(count).map(spot).collect();
        Screenshot::of(width, height, &plain(), |canvas| {
            draw(canvas, Rect::new(0, 0, width, height), &spots, edges, dots);
        })
    }

    #[test]
    fn the_first_is_on_top_and_the_others_go_clockwise() {
        let shot = drawn(41, 10, 3, &[], &[]);
        let at = |name| shot.position(name).unwrap();
        assert_eq!((at("n1").1, at("n2").1, at("n3").1), (0, 8, 8));
        assert!(at("n2").0 > at("n1").0 && at("n1").0 > at("n3").0, "{}", shot.text());
        let pair = drawn(41, 10, 2, &[], &[]);
        assert_eq!(pair.position("n1").unwrap().1, pair.position("n2").unwrap().1);
    }

    #[test]
    fn labels_turn_poorer_before_they_meet() {
        assert!(drawn(60, 12, 7, &[], &[]).text().contains("follower"));
        let small = drawn(30, 6, 7, &[], &[]);
        assert!(!small.text().contains("follower"), "{}", small.text());
        for name in ["n1", "n2", "n3", "n4", "n5", "n6", "n7"] {
            assert!(small.text().contains(name), "{}", small.text());
        }
    }

    #[test]
    fn a_dot_goes_from_its_sender_to_its_receiver() {
        let row = |at| drawn(41, 12, 3, &[dot(0, 1, at, "")], &[]).position("◆").unwrap();
        let ((x0, y0), (x5, y5), (x9, y9)) = (row(0), row(500), row(1_000));
        assert!(y0 < y5 && y5 < y9 && x0 <= x5 && x5 <= x9);
        let back = drawn(41, 12, 3, &[dot(1, 0, 0, "")], &[]).position("◆").unwrap();
        assert!(back.1.abs_diff(y9) <= 1, "what comes back begins where the other ended");
    }

    #[test]
    fn words_stand_beside_their_dot_where_there_is_room() {
        let shot = drawn(41, 12, 3, &[dot(0, 1, 500, "append 95"), dot(0, 2, 500, "append 96")], &[]);
        assert!(shot.text().contains("◆ append 95") && shot.text().contains("append 96 ◆"), "{}", shot.text());
        let narrow = drawn(12, 12, 3, &[dot(0, 1, 500, "a word too long")], &[]);
        assert!(!narrow.text().contains("word"), "{}", narrow.text());
    }

    #[test]
    fn a_cut_is_marked_in_the_middle_of_a_broken_line() {
        let edges = [Edge { from: 0, to: 1, cut: true }, Edge { from: 1, to: 2, cut: false }];
        let shot = drawn(60, 14, 3, &[], &edges);
        assert!(shot.has_role("× cut", &plain(), Role::Error), "{}", shot.text());
        let bottom = &shot.lines()[12..].concat();
        assert!(bottom.contains("· · ·"), "{}", shot.text());
    }

    #[test]
    fn no_ring_leaves_its_area() {
        for count in 0..=7 {
            for (width, height) in [(0, 0), (1, 1), (3, 2), (10, 1), (20, 5), (80, 3), (90, 30)] {
                let dots = [dot(0, 1, 300, "a"), dot(1, 0, 2_000, "b"), dot(9, 0, 1, "c")];
                let edges = [Edge { from: 0, to: 6, cut: true }, Edge { from: 0, to: 1, cut: false }];
                let names = ["n1", "n2", "n3", "n4", "n5", "n6", "n7"];
                let spots: Vec<_> = names.into_iter().take(count).map(spot).collect();
                let shot = Screenshot::of(100, 34, &plain(), |canvas| {
                    draw(canvas, Rect::new(2, 2, width, height), &spots, &edges, &dots);
                });
                for y in 0..34 {
                    for x in (0..100).filter(|&x| !Rect::new(2, 2, width, height).contains((x, y).into())) {
                        assert_eq!(shot.buffer[(x, y)].symbol(), " ", "{count} {width}x{height}\n{}", shot.text());
                    }
                }
            }
        }
    }
}
