//! A screen that moves, as SVG that moves by CSS alone. Whoever asks for less motion sees its end.
//!
//! The screen is cut into pieces that change together. What a piece shows at several times is there
//! once, and all that is seen at the same times is in one group, which shows and hides.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::frame::{Frame, Mark};
use crate::svg::{Caption, Classes, document, drawn};

/// Columns that are looked at together; fewer make more groups, more repeat what did not change.
const BLOCK: u16 = 8;

/// Frames at an even pace.
pub struct Film {
    pub frames: Vec<Frame>,
    pub pace: Duration,
}

/// In which frames something is seen.
type Times = Vec<bool>;

impl Film {
    /// Takes what was on at each beat; `shots` are drawings with how long they stood.
    pub fn of(shots: &[(Duration, Frame)], pace: Duration) -> Self {
        let mut frames = Vec::new();
        let (mut over, mut beat) = (Duration::ZERO, Duration::ZERO);
        for (stood, frame) in shots {
            over += *stood;
            while beat < over {
                frames.push(frame.clone());
                beat += pace;
            }
        }
        Self { frames, pace }
    }

    /// The picture.
    pub fn moving(&self, caption: &Caption<'_>) -> String {
        let Some(last) = self.frames.last() else { return String::new() };
        let mut classes = Classes::default();
        let mut groups: BTreeMap<Times, String> = BTreeMap::new();
        for row in 0..last.rows.len() {
            let over_time: Vec<&[Mark]> = self.frames.iter().map(|frame| frame.rows[row].as_slice()).collect();
            for piece in pieces(&over_time, last.columns) {
                for (marks, times) in seen(&piece) {
                    let drawing = drawn(marks, u16::try_from(row).unwrap_or(u16::MAX), caption.ground, &mut classes);
                    groups.entry(times).or_default().push_str(&drawing);
                }
            }
        }
        let seconds = (self.pace * u32::try_from(self.frames.len()).unwrap_or(u32::MAX)).as_secs_f32();
        let mut style = classes.style();
        let _ = write!(
            style,
            ".k{{visibility:hidden;animation:{seconds}s step-end infinite}}.e{{visibility:visible}}\n\
             @media (prefers-reduced-motion:reduce){{.k{{animation-name:none!important}}}}\n"
        );
        let mut body = String::new();
        for (number, (times, drawing)) in groups.iter().filter(|(_, drawing)| !drawing.is_empty()).enumerate() {
            if times.iter().all(|seen| *seen) {
                let _ = writeln!(body, "{drawing}");
                continue;
            }
            let at_the_end = if times.last() == Some(&true) { " e" } else { "" };
            let _ =
                writeln!(style, ".k{number}{{animation-name:k{number}}}@keyframes k{number}{{{}}}", keyframes(times));
            let _ = writeln!(body, "<g class=\"k{at_the_end} k{number}\">{drawing}</g>");
        }
        document(last, caption, &style, &body)
    }
}

/// A row cut into stretches of columns in which changes come at the same times: for each, what
/// stands there in every frame.
fn pieces<'a>(over_time: &[&'a [Mark]], columns: u16) -> Vec<Vec<&'a [Mark]>> {
    let blocks = columns.div_ceil(BLOCK);
    let changes: Vec<Times> = (0..blocks)
        .map(|block| {
            let shown: Vec<_> = over_time.iter().map(|row| part(row, block, block + 1)).collect();
            shown.windows(2).map(|two| two[0] != two[1]).collect()
        })
        .collect();
    let mut pieces = Vec::new();
    let mut from = 0;
    for alike in changes.chunk_by(|one, next| one == next) {
        let to = from + u16::try_from(alike.len()).unwrap_or(u16::MAX);
        pieces.push(over_time.iter().map(|row| part(row, from, to)).collect());
        from = to;
    }
    pieces
}

/// The marks that begin in these blocks of a row.
fn part(row: &[Mark], from: u16, to: u16) -> &[Mark] {
    let start = row.partition_point(|mark| mark.column < from * BLOCK);
    let end = row.partition_point(|mark| mark.column < to * BLOCK);
    &row[start..end]
}

/// Each different thing that a piece shows, with the frames in which it does.
fn seen<'a>(piece: &[&'a [Mark]]) -> Vec<(&'a [Mark], Times)> {
    let mut seen: Vec<(&[Mark], Times)> = Vec::new();
    for (number, marks) in piece.iter().enumerate() {
        let found = seen.iter().position(|(shown, _)| shown == marks).unwrap_or_else(|| {
            seen.push((marks, vec![false; piece.len()]));
            seen.len() - 1
        });
        seen[found].1[number] = true;
    }
    seen
}

/// When something shows and hides, in shares of the whole.
fn keyframes(times: &[bool]) -> String {
    let share = |number: usize| {
        let percent = format!("{:.2}", 100.0 * exact(number) / exact(times.len()));
        percent.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let mut rules = String::new();
    for (number, seen) in times.iter().enumerate() {
        if number == 0 || times[number - 1] != *seen {
            let is = if *seen { "visible" } else { "hidden" };
            let _ = write!(rules, "{}%{{visibility:{is}}}", share(number));
        }
    }
    let last = if times.last() == Some(&true) { "visible" } else { "hidden" };
    let _ = write!(rules, "to{{visibility:{last}}}");
    rules
}

fn exact(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(u16::MAX))
}
