//! How the dashboard looks on this terminal: which theme, how many colours, which glyphs.
//!
//! Decided by `view::theme` from data that is gathered here: flags, environment variables,
//! and the terminal's own answer to what its background is (OSC 11).

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use terminal_colorsaurus::{Error, QueryOptions, background_color};
use tracing::{debug, warn};

use super::terminal::LateReply;
use crate::config::{self, Display};
use crate::domain::Lang;
use crate::view::glyphs::{ASCII, UNICODE};
use crate::view::theme::{Choice, Depth, Environment, Ground, Palette, Theme, ThemeError};

/// How long the terminal may take to tell its background.
const PATIENCE: Duration = Duration::from_millis(100);

/// What was decided, and what can be changed to.
pub struct Appearance {
    /// The theme to start with.
    pub theme: Theme,
    /// The names of all themes.
    pub names: Vec<String>,
    /// The language that the person reads and the terminal can show.
    pub lang: Lang,
    /// The user's own themes.
    user: Vec<Palette>,
}

/// The environment variables that matter, owned.
struct Variables {
    term: Option<String>,
    colorterm: Option<String>,
    no_color: Option<String>,
    locale: Option<String>,
}

impl Appearance {
    /// Decides. Asks the terminal if nothing else says what to use; that has to be done
    /// before anything else reads from it, and returns what is still to come of its answer.
    ///
    /// # Errors
    /// When a theme is asked for that there is none of.
    pub async fn decide(display: &Display, lang: Lang) -> Result<(Self, LateReply), ThemeError> {
        let variables = Variables::read();
        let environment = variables.environment();
        let depth = environment.depth();
        let user = user_palettes();
        let mut choice =
            Choice { named: display.theme.as_deref(), no_color: environment.no_color, ..Choice::default() };
        let mut late_reply = LateReply::default();
        if choice.named.is_none() && depth != Depth::None && environment.no_color.is_none_or(str::is_empty) {
            (choice.background, late_reply) = ask_background().await;
        }
        let palette = choice.palette(&user)?;
        let glyphs = if is_ascii(display) { &ASCII } else { &UNICODE };
        let lang = if variables.can_show(lang) && !display.ascii { lang } else { Lang::English };
        let theme = Theme::new(&palette, depth)
            .with_glyphs(glyphs)
            .with_motion(!display.reduce_motion)
            .with_zone(TimeZone::system());
        let mut names: Vec<String> = Palette::builtin_names().map(String::from).collect();
        let own = user.iter().map(|palette| palette.name().to_owned());
        names.extend(own.filter(|name| Palette::builtin(name).is_none()));
        Ok((Self { theme, names, lang, user }, late_reply))
    }

    /// Changes to the theme of this name, if there is one.
    pub fn change_to(&mut self, name: &str) {
        if self.theme.name() != name
            && let Ok(palette) = Palette::find(name, &self.user)
        {
            self.theme = self.theme.repainted(&palette);
        }
    }
}

impl Variables {
    fn read() -> Self {
        let read = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            term: read("TERM"),
            colorterm: read("COLORTERM"),
            no_color: read("NO_COLOR"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(read),
        }
    }

    /// Whether the locale's encoding can show the language. Only a locale of that very language is
    /// judged: whoever chose Chinese under `LANG=C` is believed.
    fn can_show(&self, lang: Lang) -> bool {
        let of_locale = self.locale.as_deref().map(Lang::of_locale);
        lang == Lang::English || of_locale != Some(lang) || self.environment().utf8()
    }

    fn environment(&self) -> Environment<'_> {
        Environment {
            term: self.term.as_deref(),
            colorterm: self.colorterm.as_deref(),
            no_color: self.no_color.as_deref(),
            locale: self.locale.as_deref(),
        }
    }
}

async fn ask_background() -> (Option<Ground>, LateReply) {
    let asked = tokio::task::spawn_blocking(|| {
        let mut options = QueryOptions::default();
        options.timeout = PATIENCE;
        background_color(options)
    });
    // It has a limit of its own for each read; this one is for whatever else may keep it.
    let Ok(answer) = tokio::time::timeout(PATIENCE * 2, asked).await else {
        warn!("the terminal could not be asked for its background");
        return (None, LateReply::due());
    };
    match answer {
        Ok(Ok(colour)) if colour.perceived_lightness() > 0.5 => (Some(Ground::Light), LateReply::default()),
        Ok(Ok(_)) => (Some(Ground::Dark), LateReply::default()),
        Ok(Err(Error::Timeout(_))) => (None, LateReply::due()),
        Ok(Err(error)) => {
            debug!("the terminal does not tell its background: {error}");
            (None, LateReply::default())
        }
        Err(error) => {
            warn!("asking the terminal for its background failed: {error}");
            (None, LateReply::due())
        }
    }
}

/// Whether only ASCII is to be shown, by the settings or by the locale.
pub fn is_ascii(display: &Display) -> bool {
    display.ascii || !Variables::read().environment().utf8()
}

/// Whether there is the theme that is asked for, if one is.
///
/// # Errors
/// When there is not.
pub fn check_theme(display: &Display) -> Result<(), ThemeError> {
    let Some(name) = &display.theme else { return Ok(()) };
    Palette::find(name, &user_palettes()).map(drop)
}

/// The user's own themes.
fn user_palettes() -> Vec<Palette> {
    themes_folder().map(|folder| read_themes(&folder)).unwrap_or_default()
}

/// Where the user's own themes are looked for.
pub fn themes_folder() -> Option<PathBuf> {
    let file = config::default_path(|name| env::var_os(name).filter(|value| !value.is_empty()))?;
    Some(file.parent()?.join("themes"))
}

/// The themes in a folder, by file name. One that cannot be read is told of in the log and
/// keeps nobody from using the others.
fn read_themes(folder: &Path) -> Vec<Palette> {
    let Ok(files) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = paths.iter().filter_map(|path| match Palette::read(path) {
        Ok(palette) => Some(palette),
        Err(error) => {
            warn!("{error}");
            None
        }
    });
    read.collect()
}
