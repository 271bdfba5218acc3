//! `config`: the configuration file written, and the settings in force shown.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::args::{Cli, ConfigCommand, InitArgs};
use super::exit::{Exit, Failure, say};
use super::json;
use super::settings::{self, Sources};
use super::table::{self, Align, Column};
use crate::config::{self, Format, InForce};
use crate::view::text::escape_text;

/// Runs one of the commands.
///
/// # Errors
/// When a source of settings is no good, or the file cannot be written.
pub fn run(command: &ConfigCommand, cli: &Cli, to: &mut impl Write) -> Result<(), Failure> {
    match command {
        ConfigCommand::Init(args) => init(args, cli, to),
        ConfigCommand::Show => show(&Sources::read(cli)?, to),
        ConfigCommand::Path => path(cli, to),
        ConfigCommand::Contexts => contexts(&Sources::read(cli)?, to),
    }
}

fn init(args: &InitArgs, cli: &Cli, to: &mut impl Write) -> Result<(), Failure> {
    let text = config::commented_file();
    if args.stdout {
        return Ok(to.write_all(text.as_bytes())?);
    }
    let path = place(cli)?;
    match write(&path, &text, args.force) {
        Ok(()) => {
            say(format_args!("wrote {}: take the # away from what is to be in force", path.display()));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::new(Exit::File, format!("{} is there already and was left alone", path.display()))
                .hint("`lockscope config init --force` writes over it, `--stdout` prints what it would be."))
        }
        Err(error) => Err(Failure::new(Exit::File, format!("cannot write {}: {error}", path.display()))),
    }
}

/// Where the configuration file is or would be.
fn place(cli: &Cli) -> Result<PathBuf, Failure> {
    settings::path(cli).0.ok_or_else(|| {
        let what = "no place for a configuration file is known: neither XDG_CONFIG_HOME nor HOME is set";
        Failure::new(Exit::File, what).hint("Name one with --config FILE.")
    })
}

/// Writes a file for its owner alone, whole or not at all.
fn write(path: &Path, text: &str, over: bool) -> io::Result<()> {
    // The file that a link leads to is meant, where people keep theirs in another place.
    let path = if over { fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
    if over && path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(format!(".{}", std::process::id()));
    let beside = folder.join(name);
    // One of this name was left by a run that was killed.
    let _ = fs::remove_file(&beside);
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // A second name is refused where something is there, a renaming is not.
        if over { fs::rename(&beside, &path) } else { fs::hard_link(&beside, &path) }
    });
    // After a renaming it is not there any more.
    let _ = fs::remove_file(&beside);
    written
}

fn path(cli: &Cli, to: &mut impl Write) -> Result<(), Failure> {
    let place = place(cli)?;
    let config_path = place.display().to_string();
    if settings::write_out(cli)? == Some(Format::Json) {
        let is_there = place.exists();
        return Ok(json::write(&json::ConfigPath { schema: json::SCHEMA, config_path, is_there }, to)?);
    }
    Ok(writeln!(to, "{}", escape_text(&config_path))?)
}

fn show(sources: &Sources, to: &mut impl Write) -> Result<(), Failure> {
    let layers = sources.layers()?;
    let all = config::in_force(&layers);
    let format = layers.iter().find_map(|(_, layer)| layer.write_out).unwrap_or(Format::Simple);
    if format == Format::Json {
        return Ok(json::write(&json::SettingsInForce::of(&all), to)?);
    }
    let columns = [Column("SETTING", Align::Left), Column("VALUE", Align::Left), Column("FROM", Align::Left)];
    Ok(table::print(format, columns, all.iter().map(row), to)?)
}

fn row(setting: &InForce) -> [String; 3] {
    let value = setting.value.as_ref().map(ToString::to_string).unwrap_or_default();
    [setting.name.clone(), escape_text(&value).into_owned(), escape_text(&setting.origin_words()).into_owned()]
}

fn contexts(sources: &Sources, to: &mut impl Write) -> Result<(), Failure> {
    let chosen = sources.context();
    let base = &sources.file.layer;
    let all: Vec<_> = sources
        .file
        .contexts
        .iter()
        .map(|(name, layer)| json::Context::of(name, Some(name.as_str()) == chosen, &layer.clone().over(base.clone())))
        .collect();
    let format = sources.write_out().unwrap_or(Format::Simple);
    if format == Format::Json {
        return Ok(json::write(&json::Contexts { schema: json::SCHEMA, contexts: all }, to)?);
    }
    if all.is_empty() {
        say(format_args!("the configuration file has no contexts: write a section [contexts.NAME]"));
    }
    let columns =
        ["NAME", "CHOSEN", "ENDPOINTS", "USER", "READ ONLY", "PREFIXES"].map(|name| Column(name, Align::Left));
    let rows = all.into_iter().map(|context| {
        let escaped = |text: &str| escape_text(text).into_owned();
        [
            escaped(&context.name),
            if context.chosen { "*".into() } else { String::new() },
            escaped(&context.endpoints.join(",")),
            escaped(&context.user.unwrap_or_default()),
            context.read_only.to_string(),
            escaped(&context.prefixes.join(",")),
        ]
    });
    Ok(table::print(format, columns, rows, to)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_written_for_its_owner_alone_and_nothing_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("config.toml");
        write(&path, "one", false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(write(&path, "two", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, "three", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_one_and_a_folder_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("config.toml"));
        fs::write(&real, "old").unwrap();
        symlink(&real, &link).unwrap();
        assert!(write(&link, "new", false).is_err());
        write(&link, "new", true).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(write(folder.path(), "new", true).is_err());
    }
}
