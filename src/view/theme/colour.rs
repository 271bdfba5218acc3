//! Colours, and the nearest one a poorer terminal has.

use std::str::FromStr;

use ratatui::style::Color;
use serde::Deserialize;

use super::Depth;

/// A colour of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// One of the terminal's own sixteen colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Ansi {
    Black,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
    BrightBlack,
    BrightRed,
    BrightGreen,
    BrightYellow,
    BrightBlue,
    BrightMagenta,
    BrightCyan,
    BrightWhite,
}

/// A colour as a theme file writes it: `"#4CC2FF"` or `"bright-black"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Colour {
    /// An exact colour.
    Rgb(Rgb),
    /// One of the terminal's own.
    Ansi(Ansi),
}

impl Colour {
    /// This colour, or the nearest to it at a colour depth. `Depth::None` has none.
    pub fn at(self, depth: Depth) -> Option<Color> {
        match (self, depth) {
            (_, Depth::None) => None,
            (Self::Ansi(ansi), _) => Some(ansi.into()),
            (Self::Rgb(Rgb(r, g, b)), Depth::True) => Some(Color::Rgb(r, g, b)),
            (Self::Rgb(rgb), Depth::Indexed) => Some(Color::Indexed(nearest_indexed(rgb))),
            (Self::Rgb(rgb), Depth::Ansi) => Some(nearest_ansi(rgb).into()),
        }
    }
}

impl FromStr for Colour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(digits) = text.strip_prefix('#') {
            return parse_hex(digits).map(Self::Rgb).ok_or_else(|| {
                format!("{text:?} is not a colour: six hex digits are wanted after #, such as \"#4CC2FF\"")
            });
        }
        Ansi::NAMES.iter().find(|(name, _)| *name == text).map(|&(_, ansi)| Self::Ansi(ansi)).ok_or_else(|| {
            let names: Vec<&str> = Ansi::NAMES.iter().map(|&(name, _)| name).collect();
            format!("{text:?} is not a colour: write \"#RRGGBB\" or one of {}", names.join(", "))
        })
    }
}

impl TryFrom<String> for Colour {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Ansi {
    const NAMES: [(&str, Self); 16] = [
        ("black", Self::Black),
        ("red", Self::Red),
        ("green", Self::Green),
        ("yellow", Self::Yellow),
        ("blue", Self::Blue),
        ("magenta", Self::Magenta),
        ("cyan", Self::Cyan),
        ("white", Self::White),
        ("bright-black", Self::BrightBlack),
        ("bright-red", Self::BrightRed),
        ("bright-green", Self::BrightGreen),
        ("bright-yellow", Self::BrightYellow),
        ("bright-blue", Self::BrightBlue),
        ("bright-magenta", Self::BrightMagenta),
        ("bright-cyan", Self::BrightCyan),
        ("bright-white", Self::BrightWhite),
    ];

    /// What xterm draws for it by default; terminals let users change it.
    const fn usual(self) -> Rgb {
        match self {
            Self::Black => Rgb(0, 0, 0),
            Self::Red => Rgb(205, 0, 0),
            Self::Green => Rgb(0, 205, 0),
            Self::Yellow => Rgb(205, 205, 0),
            Self::Blue => Rgb(0, 0, 238),
            Self::Magenta => Rgb(205, 0, 205),
            Self::Cyan => Rgb(0, 205, 205),
            Self::White => Rgb(229, 229, 229),
            Self::BrightBlack => Rgb(127, 127, 127),
            Self::BrightRed => Rgb(255, 0, 0),
            Self::BrightGreen => Rgb(0, 255, 0),
            Self::BrightYellow => Rgb(255, 255, 0),
            Self::BrightBlue => Rgb(92, 92, 255),
            Self::BrightMagenta => Rgb(255, 0, 255),
            Self::BrightCyan => Rgb(0, 255, 255),
            Self::BrightWhite => Rgb(255, 255, 255),
        }
    }
}

impl From<Ansi> for Color {
    fn from(ansi: Ansi) -> Self {
        // ratatui calls SGR 37 "gray" and SGR 90 "dark gray".
        match ansi {
            Ansi::Black => Self::Black,
            Ansi::Red => Self::Red,
            Ansi::Green => Self::Green,
            Ansi::Yellow => Self::Yellow,
            Ansi::Blue => Self::Blue,
            Ansi::Magenta => Self::Magenta,
            Ansi::Cyan => Self::Cyan,
            Ansi::White => Self::Gray,
            Ansi::BrightBlack => Self::DarkGray,
            Ansi::BrightRed => Self::LightRed,
            Ansi::BrightGreen => Self::LightGreen,
            Ansi::BrightYellow => Self::LightYellow,
            Ansi::BrightBlue => Self::LightBlue,
            Ansi::BrightMagenta => Self::LightMagenta,
            Ansi::BrightCyan => Self::LightCyan,
            Ansi::BrightWhite => Self::White,
        }
    }
}

fn parse_hex(digits: &str) -> Option<Rgb> {
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = number.to_be_bytes();
    Some(Rgb(r, g, b))
}

/// The index among xterm's 256 colours whose look is nearest; the first sixteen are left out
/// because users change them.
fn nearest_indexed(rgb: Rgb) -> u8 {
    (16..=255).min_by(|&a, &b| distance(rgb, indexed(a)).total_cmp(&distance(rgb, indexed(b)))).unwrap_or(16)
}

/// The colour of an index from 16 on: a cube of six levels a channel, then 24 greys.
fn indexed(index: u8) -> Rgb {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    if let Some(step) = index.checked_sub(232) {
        let grey = 8 + 10 * step;
        return Rgb(grey, grey, grey);
    }
    let at = usize::from(index.saturating_sub(16));
    Rgb(LEVELS[at / 36 % 6], LEVELS[at / 6 % 6], LEVELS[at % 6])
}

fn nearest_ansi(rgb: Rgb) -> Ansi {
    let near = |ansi: Ansi| distance(rgb, ansi.usual());
    Ansi::NAMES.iter().map(|&(_, ansi)| ansi).min_by(|&a, &b| near(a).total_cmp(&near(b))).unwrap_or(Ansi::White)
}

/// How different two colours look: the squared distance in Oklab.
pub(super) fn distance(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (oklab(linear(a)), oklab(linear(b)));
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// sRGB's channels as light, 0 to 1 (IEC 61966-2-1).
pub(super) fn linear(Rgb(r, g, b): Rgb) -> [f64; 3] {
    [r, g, b].map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

/// Björn Ottosson's Oklab, in which distances follow what eyes see.
#[expect(clippy::many_single_char_names, reason = "the letters of the published formula")]
fn oklab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_as_hex_or_by_name() {
        assert_eq!("#4cC2fF".parse(), Ok(Colour::Rgb(Rgb(0x4c, 0xc2, 0xff))));
        assert_eq!("bright-black".parse(), Ok(Colour::Ansi(Ansi::BrightBlack)));
        for nonsense in ["#12345", "#1234567", "#12345g", "#+12345", "reddish", ""] {
            let error = nonsense.parse::<Colour>().unwrap_err();
            assert!(error.contains(&format!("{nonsense:?}")) && error.contains('#'), "{error}");
        }
    }

    #[test]
    fn exact_colours_find_their_own_index() {
        assert_eq!(nearest_indexed(Rgb(95, 135, 175)), 67);
        assert_eq!(nearest_indexed(Rgb(8, 8, 8)), 232);
        assert_eq!(nearest_indexed(Rgb(255, 255, 255)), 231);
        assert_eq!(nearest_indexed(Rgb(238, 238, 238)), 255);
    }

    #[test]
    fn named_colours_are_the_terminals_own_at_every_depth() {
        for depth in [Depth::Ansi, Depth::Indexed, Depth::True] {
            assert_eq!(Colour::Ansi(Ansi::BrightBlack).at(depth), Some(Color::DarkGray));
        }
        assert_eq!(Colour::Ansi(Ansi::Red).at(Depth::None), None);
        assert_eq!(Colour::Rgb(Rgb(250, 10, 10)).at(Depth::Ansi), Some(Color::LightRed));
    }
}
