//! Which theme, how many colours, which glyphs: decided from flags and the environment.

use super::palette::{Ground, Palette, ThemeError};

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: weight only.
    None,
    /// The sixteen the user chose for the terminal.
    #[default]
    Ansi,
    /// xterm's 256.
    Indexed,
    /// All of sRGB.
    True,
}

/// The environment variables that matter, as they are set; empty counts as not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment<'a> {
    /// `TERM`.
    pub term: Option<&'a str>,
    /// `COLORTERM`.
    pub colorterm: Option<&'a str>,
    /// `NO_COLOR`.
    pub no_color: Option<&'a str>,
    /// The first that is set of `LC_ALL`, `LC_CTYPE`, `LANG`.
    pub locale: Option<&'a str>,
}

impl Environment<'_> {
    /// The colour depth that `TERM` and `COLORTERM` promise.
    pub fn depth(&self) -> Depth {
        const TRUE_TERMS: [&str; 6] = ["kitty", "alacritty", "wezterm", "foot", "ghostty", "contour"];
        const COLOURLESS: [&str; 4] = ["dumb", "vt52", "vt100", "vt220"];
        let term = self.term.unwrap_or_default();
        if COLOURLESS.contains(&term) || term.ends_with("-m") || term.ends_with("-mono") {
            return Depth::None;
        }
        if matches!(self.colorterm, Some("truecolor" | "24bit"))
            || term.ends_with("-direct")
            || TRUE_TERMS.iter().any(|name| term.contains(name))
        {
            return Depth::True;
        }
        if term.contains("256color") { Depth::Indexed } else { Depth::Ansi }
    }

    /// Whether the locale says that the terminal takes UTF-8. Nothing set counts as yes: a
    /// terminal made in this century.
    pub fn utf8(&self) -> bool {
        // The kernel's own console has UTF-8 but a font without most of the glyphs.
        if self.term == Some("linux") {
            return false;
        }
        self.locale.filter(|locale| !locale.is_empty()).is_none_or(|locale| {
            let lower = locale.to_ascii_lowercase();
            lower.ends_with("utf-8") || lower.contains("utf-8@") || lower.contains("utf8")
        })
    }
}

/// What a theme is chosen from, strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The theme that the settings name: a flag, a variable or the configuration file.
    pub named: Option<&'a str>,
    /// `NO_COLOR`; set and not empty means no colour.
    pub no_color: Option<&'a str>,
    /// What the terminal said its background is, if it answered.
    pub background: Option<Ground>,
}

impl Choice<'_> {
    /// The palette: settings, `NO_COLOR`, background, dark. Names are looked up
    /// among `user` first, so that a user's `dark` replaces ours.
    ///
    /// # Errors
    /// When a name is asked for that no theme has.
    pub fn palette(&self, user: &[Palette]) -> Result<Palette, ThemeError> {
        if let Some(name) = self.named {
            return Palette::find(name, user);
        }
        if self.no_color.is_some_and(|value| !value.is_empty()) {
            return Ok(Palette::mono());
        }
        let name = if self.background == Some(Ground::Light) { "light" } else { "dark" };
        Palette::find(name, user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_says_how_many_colours_it_has() {
        let depth = |term, colorterm| Environment { term: Some(term), colorterm, ..Environment::default() }.depth();
        assert_eq!(depth("xterm-256color", Some("truecolor")), Depth::True);
        assert_eq!(depth("screen-256color", Some("24bit")), Depth::True);
        assert_eq!(depth("xterm-256color", Some("yes")), Depth::Indexed);
        assert_eq!(depth("xterm-kitty", None), Depth::True);
        assert_eq!(depth("xterm-direct", None), Depth::True);
        assert_eq!(depth("xterm", None), Depth::Ansi);
        assert_eq!(depth("linux", None), Depth::Ansi);
        assert_eq!(depth("vt100", Some("truecolor")), Depth::None);
        assert_eq!(depth("dumb", None), Depth::None);
        assert_eq!(Environment::default().depth(), Depth::Ansi);
    }

    #[test]
    fn the_locale_says_whether_utf8_may_be_sent() {
        let utf8 = |locale| Environment { locale, ..Environment::default() }.utf8();
        for yes in [None, Some(""), Some("en_GB.UTF-8"), Some("zh_CN.utf8"), Some("de_DE.UTF-8@euro")] {
            assert!(utf8(yes), "{yes:?}");
        }
        for no in [Some("C"), Some("POSIX"), Some("zh_CN.GB18030"), Some("de_DE.ISO-8859-15@euro")] {
            assert!(!utf8(no), "{no:?}");
        }
        assert!(!Environment { term: Some("linux"), locale: Some("en_GB.UTF-8"), ..Environment::default() }.utf8());
    }

    #[test]
    fn settings_beat_no_color_which_beats_the_background() {
        let all = Choice { named: Some("nord"), no_color: Some("1"), background: Some(Ground::Light) };
        let name = |choice: Choice<'_>| choice.palette(&[]).unwrap().name().to_owned();
        assert_eq!(name(all), "nord");
        assert_eq!(name(Choice { named: None, ..all }), "mono");
        assert_eq!(name(Choice { named: None, no_color: Some(""), ..all }), "light");
        assert_eq!(name(Choice::default()), "dark");
        let unknown = Choice { named: Some("drak"), ..Choice::default() }.palette(&[]).unwrap_err().to_string();
        assert!(unknown.contains("\"drak\"") && unknown.contains("dark, light"), "{unknown}");
    }

    #[test]
    fn a_users_theme_of_the_same_name_comes_first() {
        let mine =
            Palette::parse("mine.toml", "name = \"dark\"\nground = \"dark\"\n[holder]\nfg = \"#ffffff\"\n").unwrap();
        let chosen = Choice::default().palette(std::slice::from_ref(&mine)).unwrap();
        assert_eq!(chosen, mine);
    }
}
