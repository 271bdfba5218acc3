//! Every source of settings read, and put over each other.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::args::{self, Cli, Command};
use super::exit::{Exit, Failure};
use super::password;
use crate::config::{self, Config, ConfigError, File, Format, Layer, Origin};
use crate::nearest::nearest;
use crate::runtime;

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
    pub fn layers(&self) -> Result<Vec<(Origin, Layer)>, Failure> {
        let missing = self.path.as_deref().filter(|_| !self.is_there);
        let context = config::chosen(&[&self.flags, &self.environment], &self.file, missing);
        let context = context.map_err(|error| match &self.path {
            // Nobody else chooses one.
            Some(path) if self.flags.context.is_none() && self.environment.context.is_none() => {
                self.file.refuse(path, None, "context", &error.to_string()).into()
            }
            _ => error,
        })?;
        let context = context.map(|(name, layer)| (Origin::Context(name), layer));
        // Who types --context means that cluster, whatever an environment still says of another one.
        let is_typed = self.flags.context.is_some();
        let mut layers = vec![(Origin::Flags, self.flags.clone()), (Origin::Environment, self.environment.clone())];
        if let Some(context) = context {
            layers.insert(if is_typed { 1 } else { 2 }, context);
        }
        let path = self.path.clone().filter(|_| self.is_there);
        layers.extend(path.map(|path| (Origin::File(path), self.file.layer.clone())));
        layers.push((Origin::Locale, Layer::from_locale(variable)));
        self.check_theme(&layers)?;
        Ok(layers)
    }

    /// Whether there is the theme that is asked for: commands that draw nothing refuse the same names.
    fn check_theme(&self, layers: &[(Origin, Layer)]) -> Result<(), Failure> {
        let said = layers.iter().find_map(|(origin, layer)| Some((origin, layer.theme.as_deref()?)));
        let Some((origin, name)) = said.filter(|(_, name)| !name.is_empty()) else { return Ok(()) };
        let known = runtime::theme_names();
        if known.iter().any(|theme| theme == name) {
            return Ok(());
        }
        let why = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("there is no theme `{name}`; did you mean `{near}`?"),
            None => format!("there is no theme `{name}`; there are {}", known.join(", ")),
        };
        Err(self.refuse(origin, "theme", &why))
    }

    /// That what this source says of a setting is no good: a place in the file, or a bad argument.
    fn refuse(&self, origin: &Origin, setting: &str, why: &str) -> Failure {
        let context = match origin {
            Origin::Context(name) => Some(name.as_str()),
            Origin::File(_) => None,
            other => return Failure::new(Exit::BadArguments, format!("{}: {why}", other.words_for(setting))),
        };
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        ConfigError::from(self.file.refuse(path, context, setting, why)).into()
    }

    /// The same of what follows from several settings together.
    fn blamed(&self, layers: &[(Origin, Layer)], error: ConfigError) -> Failure {
        let ConfigError::HalfAnIdentity { given, missing } = error else { return error.into() };
        let says = |layer: &Layer| layer.said().iter().any(|(name, value)| *name == given && value.is_some());
        match layers.iter().find(|(_, layer)| says(layer)) {
            Some((origin @ (Origin::Context(_) | Origin::File(_)), _)) => {
                let why = format!("`{given}` is given without `{missing}`: a client certificate needs both files");
                self.refuse(origin, given, &why)
            }
            _ => error.into(),
        }
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
    /// What a person has to know of the cluster before a command speaks to it.
    pub fn warning(&self) -> Option<String> {
        let (name, from) = (self.config.context.as_ref()?, self.config.endpoints_from.as_ref()?);
        let endpoints = self.config.connection.endpoints.join(",");
        Some(format!("lockscope: warning: the endpoints are those of {from} ({endpoints}), not of context `{name}`"))
    }

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
        let mut config = Config {
            recording: cli.recording(),
            ..config::merge(&layers, ask).map_err(|error| sources.blamed(&layers, error))?
        };
        let file_typed = cli.own.config.as_ref().map(|path| ("config", path.to_string_lossy().into_owned()));
        config.reach.flags.splice(0..0, file_typed);
        if config.recording.file.is_some() && !cli.has_screen() {
            return Err(Failure::new(Exit::BadArguments, "--record is for what is shown on a screen")
                .hint("`lockscope record FILE` records without one."));
        }
        Ok(Self { file, path, config })
    }
}
