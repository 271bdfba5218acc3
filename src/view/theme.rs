//! How things look: a palette of roles, the glyphs, and what this terminal can show of them.
//!
//! Widgets name a [`Role`], never a colour. A [`Palette`] comes from a TOML file (embedded or
//! a user's), a [`Theme`] is a palette fitted to a colour depth. The environment is passed in
//! as data; nothing here reads it.

mod choice;
mod colour;
mod palette;
#[cfg(test)]
mod sight;

use jiff::tz::TimeZone;
use ratatui::style::Style;

pub use choice::{Choice, Depth, Environment};
pub use colour::{Ansi, Colour, Rgb};
pub use palette::{Ground, Palette, ThemeError};

use super::glyphs::{self, Glyphs};

/// What a piece of the screen means; the palette says how that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Anything without a meaning of its own.
    Text,
    /// The first words of a panel's title, and the tab that is open.
    Title,
    /// Frames.
    Border,
    /// What may be overlooked: hints, units, old numbers, empty bars.
    Muted,
    /// Who holds a lock.
    Holder,
    /// Who waits for one.
    Waiter,
    /// Soon to expire, or worth a look.
    Warning,
    /// Lost, fenced off, failed.
    Error,
    /// The member that leads.
    Leader,
    /// A member without a vote.
    Learner,
    /// The selected row.
    Selection,
    /// A row that has just changed.
    Changed,
}

impl Role {
    /// All roles, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Text,
        Self::Title,
        Self::Border,
        Self::Muted,
        Self::Holder,
        Self::Waiter,
        Self::Warning,
        Self::Error,
        Self::Leader,
        Self::Learner,
        Self::Selection,
        Self::Changed,
    ];
}

// One that is left out has no style.
const _: () = assert!(Role::ALL.len() == Role::Changed as usize + 1, "a role is missing in Role::ALL");

/// Everything that drawing needs besides the model.
#[derive(Clone, Debug)]
pub struct Theme {
    name: String,
    depth: Depth,
    styles: [Style; Role::ALL.len()],
    /// The glyphs to draw with.
    pub glyphs: &'static Glyphs,
    /// Whether changes may be shown by motion; false with `--reduce-motion`.
    pub motion: bool,
    /// The zone that wall-clock times are shown in.
    pub zone: TimeZone,
}

impl Theme {
    /// Fits a palette to what the terminal can show. Without colours every palette is `mono`.
    pub fn new(palette: &Palette, depth: Depth) -> Self {
        let mono;
        let shown = if depth == Depth::None {
            mono = Palette::mono();
            &mono
        } else {
            palette
        };
        Self {
            name: palette.name().to_owned(),
            depth,
            styles: Role::ALL.map(|role| shown.look(role).style(depth)),
            glyphs: &glyphs::UNICODE,
            motion: true,
            zone: TimeZone::UTC,
        }
    }

    /// The same with these glyphs.
    #[must_use]
    pub fn with_glyphs(self, glyphs: &'static Glyphs) -> Self {
        Self { glyphs, ..self }
    }

    /// The same with or without motion.
    #[must_use]
    pub fn with_motion(self, motion: bool) -> Self {
        Self { motion, ..self }
    }

    /// The same with times shown in `zone`.
    #[must_use]
    pub fn with_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// The palette's name, for the toast after a change and the list of themes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The colour depth it was fitted to.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// Another palette in place of this one; depth, glyphs, motion and zone stay.
    #[must_use]
    pub fn repainted(&self, palette: &Palette) -> Self {
        let painted = Self::new(palette, self.depth);
        Self { glyphs: self.glyphs, motion: self.motion, zone: self.zone.clone(), ..painted }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Modifier};

    use super::*;

    #[test]
    fn a_role_finds_its_own_style() {
        for (at, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, at, "{role:?}");
        }
    }

    #[test]
    fn hues_follow_the_depth_of_the_terminal() {
        let dark = Palette::builtin("dark").unwrap();
        let holder = |depth| Theme::new(&dark, depth).style(Role::Holder).fg;
        assert_eq!(holder(Depth::True), Some(Color::Rgb(0x4c, 0xc2, 0xff)));
        assert_eq!(holder(Depth::Indexed), Some(Color::Indexed(75)));
        assert_eq!(holder(Depth::Ansi), Some(Color::Cyan));
        assert_eq!(holder(Depth::None), None);
        let error = Theme::new(&dark, Depth::Ansi).style(Role::Error);
        assert_eq!((error.fg, error.add_modifier), (Some(Color::Red), Modifier::BOLD));
    }

    #[test]
    fn without_colour_weight_carries_the_roles() {
        for name in Palette::builtin_names() {
            let theme = Theme::new(&Palette::builtin(name).unwrap(), Depth::None);
            for role in Role::ALL {
                let style = theme.style(role);
                assert_eq!((style.fg, style.bg), (None, None), "{name} {role:?}");
            }
            assert_eq!(theme.style(Role::Holder).add_modifier, Modifier::BOLD);
            assert_eq!(theme.style(Role::Warning).add_modifier, Modifier::UNDERLINED);
            assert_eq!(theme.style(Role::Error).add_modifier, Modifier::REVERSED);
            assert_eq!(theme.style(Role::Muted).add_modifier, Modifier::DIM);
        }
    }

    #[test]
    fn changing_the_palette_keeps_the_rest() {
        let theme =
            Theme::new(&Palette::builtin("dark").unwrap(), Depth::True).with_glyphs(&glyphs::ASCII).with_motion(false);
        let light = theme.repainted(&Palette::builtin("light").unwrap());
        assert_eq!((light.name(), light.motion, light.glyphs.unicode), ("light", false, false));
        assert_eq!(light.style(Role::Holder).fg, Some(Color::Rgb(0x1d, 0x4e, 0xd0)));
    }
}
