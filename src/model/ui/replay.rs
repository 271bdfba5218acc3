//! What a person sees of a replay: where it is, how fast it goes, what the recording lacks.

use std::fmt;

use crate::domain::{Millis, Timestamp};

/// A recording that is replayed, in place of a cluster.
#[expect(clippy::struct_excessive_bools, reason = "each is said by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayUi {
    /// Whether its clock runs.
    pub playing: bool,
    /// How fast.
    pub speed: ReplaySpeed,
    /// When the recording begins.
    pub begin: Timestamp,
    /// The time of what is shown.
    pub at: Timestamp,
    /// When the recording ends, as far as it is written.
    pub end: Timestamp,
    /// How many observations were taken in.
    pub count: u64,
    /// How many bytes of the file lie before that.
    pub offset: u64,
    /// How many bytes the file has.
    pub size: u64,
    /// Whether nothing follows.
    pub ended: bool,
    /// Whether its end is waited at, for more.
    pub follow: bool,
    /// Whether it is on its way to another place.
    pub busy: bool,
    /// Whether it ended without a closing line.
    pub truncated: bool,
    /// How many observations the recorder left out.
    pub dropped: u64,
    /// How many lines could not be read.
    pub broken: u64,
    /// The text that was looked for last.
    pub sought: Option<String>,
}

impl ReplayUi {
    /// How much of the recording lies before what is shown, in thousandths.
    pub fn thousandths(&self) -> u16 {
        let (past, whole) = (self.at.since(self.begin), self.end.since(self.begin));
        // A recording of no length, or one whose end is not known, is measured in bytes.
        let (past, whole) = match whole {
            Millis(0) => (i128::from(self.offset), i128::from(self.size)),
            Millis(whole) => (i128::from(past.0), i128::from(whole)),
        };
        if self.ended || whole == 0 {
            return 1_000;
        }
        u16::try_from((past * 1_000 / whole).clamp(0, 1_000)).unwrap_or(1_000)
    }
}

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplaySpeed(u8);

/// The speeds in thousandths of that of the recording, each with its name; the last is as fast as
/// it goes.
const SPEEDS: [(u32, &str); 10] = [
    (250, "0.25"),
    (500, "0.5"),
    (1_000, "1"),
    (2_000, "2"),
    (4_000, "4"),
    (8_000, "8"),
    (16_000, "16"),
    (32_000, "32"),
    (64_000, "64"),
    (u32::MAX, "max"),
];

impl Default for ReplaySpeed {
    fn default() -> Self {
        Self(2)
    }
}

impl ReplaySpeed {
    /// The speed of this name, with or without an `x`.
    pub fn named(name: &str) -> Option<Self> {
        let number = name.strip_suffix('x').unwrap_or(name);
        let is = |known: &str| known == name || known == number || known.trim_start_matches('0') == number;
        let at = SPEEDS.iter().position(|(_, known)| is(known))?;
        u8::try_from(at).ok().map(Self)
    }

    /// All names.
    pub fn names() -> String {
        SPEEDS.map(|(_, name)| name).join(", ")
    }

    /// In thousandths of the recording's own speed; `None` for as fast as it goes.
    pub fn thousandths(self) -> Option<u32> {
        Some(SPEEDS[usize::from(self.0)].0).filter(|&speed| speed < u32::MAX)
    }

    /// The next one; `None` when there is none that is faster.
    pub fn faster(self) -> Option<Self> {
        (usize::from(self.0) + 1 < SPEEDS.len()).then_some(Self(self.0 + 1))
    }

    /// The one before; `None` when there is none that is slower.
    pub fn slower(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

impl fmt::Display for ReplaySpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = SPEEDS[usize::from(self.0)].1;
        if self.thousandths().is_some() { write!(f, "{name}x") } else { f.write_str(name) }
    }
}

/// What is recorded of this session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingUi {
    /// Bytes in the file.
    pub bytes: u64,
    /// How many observations were left out because the disk was too slow.
    pub dropped: u64,
    /// Whether it stopped by itself.
    pub failed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_have_names_and_neighbours() {
        assert_eq!(ReplaySpeed::default().to_string(), "1x");
        assert_eq!(ReplaySpeed::named("0.25").and_then(ReplaySpeed::slower), None);
        assert_eq!(ReplaySpeed::named("max").and_then(ReplaySpeed::faster), None);
        assert_eq!(ReplaySpeed::named("64x").and_then(ReplaySpeed::faster), ReplaySpeed::named("max"));
        assert_eq!(ReplaySpeed::named(".5").and_then(ReplaySpeed::thousandths), Some(500));
        for name in ["", "3", "-1", "x"] {
            assert_eq!(ReplaySpeed::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_place_is_told_in_time_and_without_time_in_bytes() {
        let mut replay =
            ReplayUi { begin: Timestamp(1_000), at: Timestamp(2_000), end: Timestamp(5_000), ..ReplayUi::default() };
        assert_eq!(replay.thousandths(), 250);
        replay.at = Timestamp(9_000);
        assert_eq!(replay.thousandths(), 1_000);
        replay = ReplayUi { offset: 10, size: 40, ..ReplayUi::default() };
        assert_eq!(replay.thousandths(), 250);
        assert_eq!(ReplayUi::default().thousandths(), 1_000);
    }
}
