//! Every source of settings read, and put over each other.

use std::ffi::OsString;
use std::path::PathBuf;

use super::args::{self, Cli, Command};
use super::exit::{Exit, Failure};
use super::password;
use crate::config::{self, Config, ConfigError, File, Format, Layer, Origin};

/// The variable of the format of output.
const WRITE_OUT_VARIABLE: &str = "ETCDCTL_WRITE_OUT";

/// What each source says.
#[derive(Debug)]
pub struct Sources {
    /// Where the configuration file is looked for; none when nothing tells.
    pub path: Option<PathBuf>,
    /// Whether it is there.
    pub is_there: bool,
    /// What it says.
    pub file: File,
    flags: Layer,
    environment: Layer,
}

/// The file the settings were read from, and the settings.
#[derive(Debug)]
pub struct Settings {
    /// The file; none when there is none.
    pub file: Option<PathBuf>,
    /// Where it is looked for.
    pub path: Option<PathBuf>,
    /// The settings.
    pub config: Config,
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where the configuration file is looked for, and whether somebody named it.
pub fn path(cli: &Cli) -> (Option<PathBuf>, bool) {
    let named = cli.own.config.clone().or_else(|| variable(args::CONFIG_VARIABLE).map(PathBuf::from));
    let asked_for = named.is_some();
    (named.or_else(|| config::default_path(variable)), asked_for)
}

/// The format of output that a flag or the variable asks for, whatever stands in the file or in
/// other variables.
///
/// # Errors
/// When the variable's value is no good.
pub fn write_out(cli: &Cli) -> Result<Option<Format>, Failure> {
    let alone = |name: &str| variable(name).filter(|_| name == WRITE_OUT_VARIABLE);
    Ok(cli.output.write_out.or(Layer::from_environment(alone)?.write_out))
}

impl Sources {
    /// Reads them.
    ///
    /// # Errors
    /// When a variable or the file is no good.
    pub fn read(cli: &Cli) -> Result<Self, Failure> {
        let (path, asked_for) = path(cli);
        let file = match &path {
            Some(path) => File::read(path, asked_for).map_err(ConfigError::from)?,
            None => None,
        };
        Ok(Self {
            path,
            is_there: file.is_some(),
            file: file.unwrap_or_default(),
            flags: cli.layer(),
            environment: Layer::from_environment(variable)?,
        })
    }

    /// The layers, the strongest first, with the chosen context among them.
    ///
    /// # Errors
    /// When there is no context of the name that is chosen.
    pub fn layers(self) -> Result<Vec<(Origin, Layer)>, Failure> {
        let context = config::chosen(&[&self.flags, &self.environment], &self.file)?;
        let context = context.map(|(name, layer)| (Origin::Context(name), layer));
        // Who types --context means that cluster, whatever an environment still says of another one.
        let is_typed = self.flags.context.is_some();
        let mut layers = vec![(Origin::Flags, self.flags), (Origin::Environment, self.environment)];
        if let Some(context) = context {
            layers.insert(if is_typed { 1 } else { 2 }, context);
        }
        layers.extend(self.path.filter(|_| self.is_there).map(|path| (Origin::File(path), self.file.layer)));
        layers.push((Origin::Locale, Layer::from_locale(variable)));
        Ok(layers)
    }

    /// The format of output that is asked for, whatever a context says.
    pub fn write_out(&self) -> Option<Format> {
        [&self.flags, &self.environment, &self.file.layer].into_iter().find_map(|layer| layer.write_out)
    }

    /// The name of the chosen context, whether there is one of that name or not.
    pub fn context(&self) -> Option<&str> {
        let named =
            [&self.flags, &self.environment, &self.file.layer].into_iter().find_map(|layer| layer.context.as_deref());
        named.filter(|name| !name.is_empty())
    }
}

impl Settings {
    /// Reads every source of settings and merges them; asks for a password that none has.
    ///
    /// # Errors
    /// When a source is no good, settings contradict each other, or the password is not to be had.
    pub fn read(cli: &Cli) -> Result<Self, Failure> {
        let sources = Sources::read(cli)?;
        let path = sources.path.clone();
        let file = path.clone().filter(|_| sources.is_there);
        let layers = sources.layers()?;
        // Nobody logs in to a recording.
        let ask: fn(&str) -> _ =
            if matches!(cli.command, Some(Command::Replay(_))) { password::never } else { password::ask };
        let mut config = Config { recording: cli.recording(), ..config::merge(layers, ask)? };
        let file_typed = cli.own.config.as_ref().map(|path| ("config", path.to_string_lossy().into_owned()));
        config.reach.flags.splice(0..0, file_typed);
        if config.recording.file.is_some() && !cli.has_screen() {
            return Err(Failure::new(Exit::BadArguments, "--record is for what is shown on a screen")
                .hint("`lockscope record FILE` records without one."));
        }
        Ok(Self { file, path, config })
    }
}
