//! Palettes, read from TOML: the embedded ones and a user's own.
//!
//! A file names itself, says for which ground (dark or light) it is made, and gives a table
//! for each role it changes; the rest comes from its `base`, by default our `dark` or `light`.

use std::fs;
use std::path::Path;

use ratatui::style::{Modifier, Style};
use serde::Deserialize;
use thiserror::Error;

use super::colour::Colour;
use super::{Depth, Role};
use crate::domain::line_and_column;

/// The embedded themes, in the order in which `t` goes through them.
const BUILTIN: [(&str, &str); 8] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.toml")),
    ("mono", include_str!("../../../assets/themes/mono.toml")),
    ("solarized-dark", include_str!("../../../assets/themes/solarized-dark.toml")),
    ("solarized-light", include_str!("../../../assets/themes/solarized-light.toml")),
    ("gruvbox", include_str!("../../../assets/themes/gruvbox.toml")),
    ("nord", include_str!("../../../assets/themes/nord.toml")),
];

/// Which ground a palette is made for, or a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ground {
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

/// How each role looks, at every colour depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    name: String,
    ground: Ground,
    backgrounds: Vec<Colour>,
    looks: [Look; Role::ALL.len()],
}

/// Why a theme cannot be used.
#[derive(Debug, Error)]
pub enum ThemeError {
    /// No theme has the name that was asked for.
    #[error("there is no theme {name:?}; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read theme {path}: {why}")]
    Read {
        /// The file.
        path: String,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The file is not a theme.
    #[error("theme {path}, line {line}, column {column}: {why}")]
    Syntax {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
}

/// One role's look, as written in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Look {
    fg: Option<Colour>,
    bg: Option<Colour>,
    /// The foreground where there are sixteen colours; the nearest to `fg` when absent.
    ansi: Option<Colour>,
    ansi_bg: Option<Colour>,
    style: Option<Vec<Weight>>,
    /// In place of `style` where there are sixteen colours.
    ansi_style: Option<Vec<Weight>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Bold,
    Dim,
    Italic,
    Underlined,
    Reversed,
}

/// The file itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    base: Option<String>,
    #[serde(default = "dark")]
    ground: Ground,
    #[serde(default)]
    backgrounds: Vec<Colour>,
    text: Option<Look>,
    title: Option<Look>,
    border: Option<Look>,
    muted: Option<Look>,
    holder: Option<Look>,
    waiter: Option<Look>,
    warning: Option<Look>,
    error: Option<Look>,
    leader: Option<Look>,
    learner: Option<Look>,
    selection: Option<Look>,
    changed: Option<Look>,
}

fn dark() -> Ground {
    Ground::Dark
}

impl Palette {
    /// The embedded theme of that name.
    pub fn builtin(name: &str) -> Option<Self> {
        let (name, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Self::parse(name, text).ok()
    }

    /// The names of the embedded themes.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }

    /// The embedded theme without colours.
    pub fn mono() -> Self {
        // A test reads every embedded theme; without this one there would be no weights either.
        Self::builtin("mono").unwrap_or_else(|| Self {
            name: "mono".into(),
            ground: Ground::Dark,
            backgrounds: Vec::new(),
            looks: Default::default(),
        })
    }

    /// The theme of that name, a user's before an embedded one.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(name: &str, user: &[Self]) -> Result<Self, ThemeError> {
        if let Some(found) = user.iter().find(|palette| palette.name == name) {
            return Ok(found.clone());
        }
        Self::builtin(name).ok_or_else(|| {
            let mut known: Vec<&str> = Self::builtin_names().collect();
            known.extend(user.iter().map(|palette| palette.name.as_str()));
            ThemeError::Unknown { name: name.into(), known: known.join(", ") }
        })
    }

    /// Reads a user's theme.
    ///
    /// # Errors
    /// When the file cannot be read or is not a theme; the error says where.
    pub fn read(path: &Path) -> Result<Self, ThemeError> {
        let text =
            fs::read_to_string(path).map_err(|why| ThemeError::Read { path: path.display().to_string(), why })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a theme from text; `path` names it in errors.
    ///
    /// # Errors
    /// When it is not a theme; the error says where.
    pub fn parse(path: &str, text: &str) -> Result<Self, ThemeError> {
        let syntax = |at: usize, why: String| {
            let (line, column) = line_and_column(text, at);
            ThemeError::Syntax { path: path.into(), line, column, why }
        };
        let file: File = toml::from_str(text)
            .map_err(|error| syntax(error.span().map_or(0, |span| span.start), error.message().into()))?;
        let base = match (&file.base, file.ground) {
            (Some(base), _) if BUILTIN.iter().all(|(name, _)| name != base) => {
                let known: Vec<&str> = Self::builtin_names().collect();
                let at = text.find("base").unwrap_or_default();
                return Err(syntax(
                    at,
                    format!("there is no theme {base:?} to build on; there are {}", known.join(", ")),
                ));
            }
            (Some(base), _) if *base == file.name => None,
            (Some(base), _) => Self::builtin(base),
            // Our own `dark` and `light` stand on nothing.
            (None, _) if BUILTIN.iter().any(|&(_, known)| known == text) => None,
            (None, Ground::Dark) => Self::builtin("dark"),
            (None, Ground::Light) => Self::builtin("light"),
        };
        Ok(Self::assemble(file, base.as_ref()))
    }

    fn assemble(file: File, base: Option<&Self>) -> Self {
        let mut looks = base.map_or_else(Default::default, |base| base.looks.clone());
        let changes = [
            (Role::Text, file.text),
            (Role::Title, file.title),
            (Role::Border, file.border),
            (Role::Muted, file.muted),
            (Role::Holder, file.holder),
            (Role::Waiter, file.waiter),
            (Role::Warning, file.warning),
            (Role::Error, file.error),
            (Role::Leader, file.leader),
            (Role::Learner, file.learner),
            (Role::Selection, file.selection),
            (Role::Changed, file.changed),
        ];
        for (role, change) in changes {
            if let Some(change) = change {
                looks[role as usize] = change.over(&looks[role as usize]);
            }
        }
        Self { name: file.name, ground: file.ground, backgrounds: file.backgrounds, looks }
    }

    /// The theme's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The ground it is made for.
    pub fn ground(&self) -> Ground {
        self.ground
    }

    /// The backgrounds it is known to be readable on.
    pub fn backgrounds(&self) -> &[Colour] {
        &self.backgrounds
    }

    pub(super) fn look(&self, role: Role) -> &Look {
        &self.looks[role as usize]
    }
}

impl Look {
    /// This look, with what it does not say taken from `base`. A new colour without a word
    /// on the sixteen keeps the base's word on them.
    fn over(self, base: &Self) -> Self {
        Self {
            fg: self.fg.or(base.fg),
            bg: self.bg.or(base.bg),
            ansi: self.ansi.or(base.ansi),
            ansi_bg: self.ansi_bg.or(base.ansi_bg),
            // A style given for all depths replaces the base's for sixteen colours as well.
            ansi_style: self.ansi_style.or_else(|| if self.style.is_some() { None } else { base.ansi_style.clone() }),
            style: self.style.or_else(|| base.style.clone()),
        }
    }

    pub(super) fn style(&self, depth: Depth) -> Style {
        let sixteen = depth == Depth::Ansi;
        let pick = |rich: Option<Colour>, poor: Option<Colour>| match poor {
            Some(poor) if sixteen => poor.at(depth),
            _ => rich.and_then(|colour| colour.at(depth)),
        };
        let weights = match &self.ansi_style {
            Some(weights) if sixteen => Some(weights),
            _ => self.style.as_ref(),
        };
        let weight = weights.into_iter().flatten().fold(Modifier::empty(), |sum, weight| sum | weight.modifier());
        Style { fg: pick(self.fg, self.ansi), bg: pick(self.bg, self.ansi_bg), ..Style::new() }.add_modifier(weight)
    }
}

impl Weight {
    const fn modifier(self) -> Modifier {
        match self {
            Self::Bold => Modifier::BOLD,
            Self::Dim => Modifier::DIM,
            Self::Italic => Modifier::ITALIC,
            Self::Underlined => Modifier::UNDERLINED,
            Self::Reversed => Modifier::REVERSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::colour::Rgb;
    use super::super::sight::{EYES, apart, contrast};
    use super::*;

    const HUES: [Role; 3] = [Role::Holder, Role::Warning, Role::Error];

    fn hue(palette: &Palette, role: Role) -> Option<Rgb> {
        match palette.look(role).fg {
            Some(Colour::Rgb(rgb)) => Some(rgb),
            _ => None,
        }
    }

    #[test]
    fn every_embedded_theme_is_read_and_named_after_its_file() {
        for (name, text) in BUILTIN {
            let palette = Palette::parse(name, text).unwrap();
            assert_eq!(palette.name(), name);
            let made_for = palette.backgrounds().iter().all(|colour| {
                let Colour::Rgb(rgb) = colour else { return false };
                let dark = contrast(*rgb, Rgb(255, 255, 255)) > contrast(*rgb, Rgb(0, 0, 0));
                dark == (palette.ground() == Ground::Dark)
            });
            assert!(made_for, "{name} names a background of the other ground");
        }
    }

    #[test]
    fn every_hue_is_readable_on_every_background_of_its_theme() {
        let mut seen = 0;
        for name in Palette::builtin_names() {
            let palette = Palette::builtin(name).unwrap();
            for background in palette.backgrounds() {
                let Colour::Rgb(background) = *background else { panic!("{name}: backgrounds are exact colours") };
                for role in HUES {
                    let hue = hue(&palette, role).expect("a theme with backgrounds has exact hues");
                    let contrast = contrast(hue, background);
                    assert!(contrast >= 4.7, "{name}: {role:?} {hue:?} on {background:?} has {contrast:.2}");
                    seen += 1;
                }
                let muted = contrast(hue(&palette, Role::Muted).unwrap(), background);
                assert!(muted >= 4.5, "{name}: muted on {background:?} has {muted:.2}");
            }
        }
        assert!(seen > 50, "only {seen} pairs looked at");
    }

    #[test]
    fn hues_stay_apart_for_colour_blind_eyes() {
        for name in Palette::builtin_names() {
            let palette = Palette::builtin(name).unwrap();
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let (Some(first), Some(second)) = (hue(&palette, HUES[a]), hue(&palette, HUES[b])) else { continue };
                for (eyes, matrix) in EYES {
                    let far = apart(first, second, matrix);
                    assert!(far >= 0.1, "{name}: {:?} and {:?} are {far:.3} apart for {eyes} eyes", HUES[a], HUES[b]);
                }
            }
        }
    }

    #[test]
    fn a_theme_only_says_what_it_changes() {
        let mine =
            Palette::parse("mine.toml", "name = \"mine\"\nground = \"light\"\n[holder]\nfg = \"#000000\"\n").unwrap();
        let light = Palette::builtin("light").unwrap();
        assert_eq!(mine.look(Role::Warning), light.look(Role::Warning));
        assert_eq!(hue(&mine, Role::Holder), Some(Rgb(0, 0, 0)));
        assert_eq!(mine.look(Role::Holder).ansi, light.look(Role::Holder).ansi);
    }

    #[test]
    fn mistakes_are_shown_with_line_and_column() {
        for (text, at, word) in [
            ("name = \"x\"\n[holder]\nfg = \"#12\"\n", (3, 6), "\"#12\" is not a colour"),
            ("name = \"x\"\n[holdre]\n", (2, 2), "holdre"),
            ("name = \"x\"\n[holder]\nforeground = \"red\"\n", (3, 1), "foreground"),
            ("name = \"x\"\n[holder]\nstyle = [\"blinking\"]\n", (3, 10), "blinking"),
            ("name = \"x\"\nbase = \"drak\"\n", (2, 1), "\"drak\""),
            ("name = \"é\" ! \n", (1, 12), ""),
        ] {
            let error = Palette::parse("mine.toml", text).unwrap_err();
            let ThemeError::Syntax { line, column, ref why, .. } = error else { panic!("{error}") };
            assert_eq!((line, column), at, "{error}");
            assert!(why.contains(word), "{error}");
            assert!(error.to_string().starts_with(&format!("theme mine.toml, line {line}, column {column}: ")));
        }
        let missing = Palette::read(Path::new("/nonexistent/mine.toml")).unwrap_err();
        assert!(missing.to_string().contains("/nonexistent/mine.toml"), "{missing}");
    }
}
