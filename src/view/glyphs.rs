//! The characters that are drawn with: a Unicode set and an ASCII one.
//!
//! No emoji and no characters of special fonts: everything here is in the fonts that
//! terminals come with, and one column wide.

/// A set of glyphs. Names say what they mean, not what they look like.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Whether the set goes beyond ASCII.
    pub unicode: bool,
    /// Who holds a lock; also "live" in the header.
    pub holder: &'static str,
    /// Who waits; also a free lock.
    pub waiter: &'static str,
    /// Something ended as it should.
    pub ended: &'static str,
    /// Worth a look.
    pub warning: &'static str,
    /// Lost: expired, revoked, unreachable.
    pub lost: &'static str,
    /// Refused by the storage's fencing.
    pub refused: &'static str,
    /// The member that leads.
    pub leader: &'static str,
    /// A member without a vote.
    pub learner: &'static str,
    /// A node that stands for election.
    pub candidate: &'static str,
    /// A node that asks whether it could win one.
    pub pre_candidate: &'static str,
    /// A message that asks or tells.
    pub call: &'static str,
    /// A message that answers.
    pub reply: &'static str,
    /// Yes, to one who asked for a vote.
    pub granted: &'static str,
    /// No answer to that yet.
    pub asked: &'static str,
    /// Behind the last entry of a log that is known to be committed.
    pub commit: &'static str,
    /// Towards the left.
    pub back: &'static str,
    /// In front of the selected row.
    pub selection: &'static str,
    /// In place of what was cut out.
    pub ellipsis: &'static str,
    /// Between items of a line.
    pub dot: &'static str,
    /// Between a screen and what is open on it.
    pub crumb: &'static str,
    /// Towards the predecessor.
    pub up: &'static str,
    /// Sorted with the largest first.
    pub descending: &'static str,
    /// Sorted with the smallest first.
    pub ascending: &'static str,
    /// Where a row of a queue hangs on the row above.
    pub elbow: &'static str,
    /// The bar of a lock that has no time to show.
    pub no_bar: &'static str,
    /// An old number: "about".
    pub about: &'static str,
    /// A cell of a bar, from empty to full.
    pub bar: &'static [&'static str],
    /// A cell of a sparkline, from nothing to most.
    pub spark: &'static [&'static str],
    /// Frames.
    pub frame: Frame,
    /// Swim lanes.
    pub lane: Lane,
}

/// The pieces of a frame.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Frame {
    pub top_left: &'static str,
    pub top_right: &'static str,
    pub bottom_left: &'static str,
    pub bottom_right: &'static str,
    pub across: &'static str,
    pub down: &'static str,
}

/// The pieces of a swim lane. Time runs to the right.
#[derive(Debug, PartialEq, Eq)]
pub struct Lane {
    /// Waiting.
    pub waiting: &'static str,
    /// Holding.
    pub holding: &'static str,
    /// Paused.
    pub paused: &'static str,
    /// Believes that it holds, and does not.
    pub stale: &'static str,
    /// It is not known what was.
    pub unknown: &'static str,
    /// The end of a span that is over.
    pub end: &'static str,
    /// Goes on.
    pub now: &'static str,
    /// Nothing.
    pub nothing: &'static str,
    /// A resource took a write that came too late.
    pub damaged: &'static str,
    /// It was told of a change.
    pub saw: &'static str,
    /// It put something that others are told of.
    pub put: &'static str,
    /// On the scale, above its moment.
    pub tick: &'static str,
}

/// For terminals that take UTF-8.
pub const UNICODE: Glyphs = Glyphs {
    unicode: true,
    holder: "●",
    waiter: "○",
    ended: "◦",
    warning: "!",
    lost: "×",
    refused: "✗",
    leader: "★",
    learner: "◌",
    candidate: "▲",
    pre_candidate: "△",
    call: "◆",
    reply: "◇",
    granted: "✓",
    asked: "?",
    commit: "┊",
    back: "◀",
    selection: "▌",
    ellipsis: "…",
    dot: "·",
    crumb: "▸",
    up: "↑",
    descending: "▼",
    ascending: "▲",
    elbow: "╰",
    no_bar: "╌",
    about: "~",
    bar: &["▁", "▂", "▃", "▄", "▅", "▆", "▇"],
    spark: &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    frame: Frame {
        top_left: "╭", top_right: "╮", bottom_left: "╰", bottom_right: "╯", across: "─", down: "│"
    },
    lane: Lane {
        waiting: "░",
        holding: "█",
        paused: "≈",
        stale: "▒",
        unknown: "┄",
        end: "▏",
        now: "▶",
        nothing: "·",
        damaged: "◆",
        saw: "○",
        put: "●",
        tick: "╷",
    },
};

/// For everything else.
pub const ASCII: Glyphs = Glyphs {
    unicode: false,
    holder: "*",
    waiter: "o",
    ended: ".",
    warning: "!",
    lost: "x",
    refused: "X",
    leader: "@",
    learner: "~",
    candidate: "^",
    pre_candidate: "?",
    call: "#",
    reply: "=",
    granted: "+",
    asked: "?",
    commit: "|",
    back: "<",
    selection: ">",
    ellipsis: "..",
    dot: "-",
    crumb: ">",
    up: "^",
    descending: "v",
    ascending: "^",
    elbow: "`",
    no_bar: "-",
    about: "~",
    bar: &["-", "=", "#"],
    spark: &["_", ".", "-", "=", "+", "*", "%", "#"],
    frame: Frame { top_left: "+", top_right: "+", bottom_left: "+", bottom_right: "+", across: "-", down: "|" },
    lane: Lane {
        waiting: ".",
        holding: "#",
        paused: "~",
        stale: "%",
        unknown: "_",
        end: "|",
        now: ">",
        nothing: "-",
        damaged: "$",
        saw: "o",
        put: "@",
        tick: "|",
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::text::{is_unsafe, width};

    fn cells(glyphs: &Glyphs) -> Vec<&'static str> {
        let Frame { top_left, top_right, bottom_left, bottom_right, across, down } = glyphs.frame;
        let Lane { waiting, holding, paused, stale, unknown, end, now, nothing, damaged, saw, put, tick } = glyphs.lane;
        let mut all = vec![top_left, top_right, bottom_left, bottom_right, across, down];
        all.extend([waiting, holding, paused, stale, unknown, end, now, nothing, damaged, saw, put, tick]);
        let Glyphs { holder, waiter, ended, warning, lost, refused, leader, learner, selection, dot, .. } = *glyphs;
        all.extend([holder, waiter, ended, warning, lost, refused, leader, learner, selection, dot]);
        let Glyphs { crumb, up, descending, ascending, elbow, no_bar, about, .. } = *glyphs;
        all.extend([crumb, up, descending, ascending, elbow, no_bar, about]);
        let Glyphs { candidate, pre_candidate, call, reply, granted, asked, commit, back, .. } = *glyphs;
        all.extend([candidate, pre_candidate, call, reply, granted, asked, commit, back]);
        all.extend(glyphs.bar.iter().chain(glyphs.spark));
        all
    }

    #[test]
    fn every_glyph_fills_one_column() {
        for glyph in cells(&UNICODE).into_iter().chain(cells(&ASCII)) {
            assert_eq!(width(glyph), 1, "{glyph:?}");
            assert!(!glyph.chars().any(is_unsafe), "{glyph:?}");
        }
    }

    #[test]
    fn the_ascii_set_is_ascii() {
        assert!(cells(&ASCII).into_iter().chain([ASCII.ellipsis]).all(str::is_ascii));
    }
}
