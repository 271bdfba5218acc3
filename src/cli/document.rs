//! Documents made from tables: the manual page, completion scripts, the list of keys.
//!
//! They never look at the environment, the configuration or a cluster.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::args;
use super::exit::{Exit, Failure};
use crate::input::keymap;
use crate::model::findings;

/// What the pages of single commands belong to.
const SOURCE: &str = concat!("lockscope ", env!("CARGO_PKG_VERSION"));

/// Writes the completion script for a shell.
pub fn completions(shell: Shell, to: &mut impl Write) -> io::Result<()> {
    // Generated into memory: the generator panics when it cannot write, and a closed pipe is no error.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::completed(), "lockscope", &mut script);
    to.write_all(&script)
}

/// Writes the list of the dashboard's keys and commands.
pub fn keys(to: &mut impl Write) -> io::Result<()> {
    to.write_all(keymap::document().as_bytes())
}

/// Writes the list of what can be found wrong.
pub fn findings(to: &mut impl Write) -> io::Result<()> {
    to.write_all(findings::document().as_bytes())
}

/// Writes the whole manual page: every command with its own flags, then what they share.
pub fn man(to: &mut impl Write) -> io::Result<()> {
    let mut command = args::command();
    command.build();
    let page = Man::new(command.clone()).title("LOCKSCOPE").section("1").manual("lockscope manual");
    page.render_title(to)?;
    page.render_name_section(to)?;
    synopsis().to_writer(to)?;
    page.render_description_section(to)?;
    commands(&command).to_writer(to)?;
    page.render_options_section(to)?;
    closing().to_writer(to)
}

/// Writes a manual page for every command into a folder, which is made if it is not there.
///
/// # Errors
/// When a file cannot be written.
pub fn man_pages(folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| Failure::new(Exit::File, format!("cannot write {path}: {error}"))
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut command = args::command();
    command.build();
    let mut whole = Vec::new();
    man(&mut whole)?;
    let mut pages = vec![("lockscope".to_owned(), whole)];
    pages_below(&command, &mut pages)?;
    for (name, text) in pages {
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

/// The pages of the commands below one, by their names.
fn pages_below(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = sub.get_display_name().unwrap_or(sub.get_name()).to_owned();
        pages.push((name, page(sub)?));
        pages_below(sub, pages)?;
    }
    Ok(())
}

/// The page of one command. The flags that all commands share are on the main page.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let own = command
        .clone()
        .mut_args(|arg| if arg.is_global_set() || arg.get_id() == "help" { arg.hide(true) } else { arg });
    let title = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    let page = Man::new(own.clone()).title(title).section("1").source(SOURCE).manual("lockscope manual");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]);
    synopsis.text(usage(command));
    synopsis.to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    if own.get_arguments().any(|arg| !arg.is_hide_set()) {
        page.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        commands(command).to_writer(&mut text)?;
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([
        bold("lockscope"),
        roman("(1), for the flags, variables, files and exit codes that all commands share"),
    ]);
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// The generated synopsis would repeat every flag.
fn synopsis() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold("lockscope"), roman(" [OPTIONS] [COMMAND]")]);
    roff
}

/// Every command with its arguments; flags that all of them share are told once, further down.
fn commands(command: &clap::Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for sub in command.get_subcommands().flat_map(with_those_below).filter(|sub| !sub.is_hide_set()) {
        roff.control("TP", []);
        roff.text(usage(sub));
        let about = sub.get_long_about().or_else(|| sub.get_about()).map(ToString::to_string).unwrap_or_default();
        for (at, paragraph) in about.split("\n\n").enumerate() {
            if at > 0 {
                roff.control("sp", []);
            }
            roff.text([roman(if at == 0 { format!("{paragraph}.") } else { paragraph.to_owned() })]);
        }
        for arg in own_arguments(sub) {
            let Some(help) = arg.get_help() else { continue };
            roff.control("RS", []);
            roff.control("TP", []);
            roff.text([bold(label(arg))]);
            roff.text([roman(help.to_string())]);
            roff.control("RE", []);
        }
    }
    roff
}

/// A command with its own arguments, and what each takes.
fn usage(command: &clap::Command) -> Vec<Inline> {
    let mut line = vec![bold(command.get_bin_name().unwrap_or(command.get_name()))];
    line.extend(own_arguments(command).map(|arg| {
        let name = label(arg);
        roman(if arg.is_required_set() { format!(" {name}") } else { format!(" [{name}]") })
    }));
    if command.has_subcommands() {
        line.push(roman(" COMMAND"));
    }
    line
}

/// The arguments that are not those of every command.
fn own_arguments(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    command.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help")
}

/// A command that does something by itself, or those below one that only groups them.
fn with_those_below(command: &clap::Command) -> Vec<&clap::Command> {
    if command.has_subcommands() {
        return command.get_subcommands().filter(|sub| sub.get_name() != "help").collect();
    }
    vec![command]
}

fn label(arg: &clap::Arg) -> String {
    let value = arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match arg.get_long() {
        Some(long) if arg.get_action().takes_values() => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
        None => value,
    }
}

/// What is true of all commands.
fn closing() -> Roff {
    const SECTIONS: [(&str, &[(&str, &str)]); 4] = [
        (
            "OUTPUT",
            &[
                (
                    "simple",
                    "One line an item. Fields are separated by tabs; an empty one is a dash. Characters that a terminal \
                     would obey, and tabs, are written as \\t, \\x1b or \\u{202e}.",
                ),
                ("table", "The same fields in a box, with a header."),
                (
                    "json",
                    "One document with \"schema\": \"lockscope/1\" (watch: one a line). Revisions are numbers, ids of \
                     leases and members hex strings. Keys and values are strings when they are UTF-8 and \
                     {\"base64\": ...} when they are not.",
                ),
            ],
        ),
        (
            "ENVIRONMENT",
            &[
                (
                    "ETCDCTL_*",
                    "Each flag that etcdctl has is also taken from etcdctl's variable: its name in upper case, with _ \
                     for -. A variable that is set to nothing counts as not set.",
                ),
                ("LOCKSCOPE_*", "The same for the flags that etcdctl does not have."),
                ("NO_COLOR", "When it is set and not empty, nothing is coloured."),
            ],
        ),
        (
            "FILES",
            &[(
                "$XDG_CONFIG_HOME/lockscope/config.toml, else ~/.config/lockscope/config.toml",
                "Settings in TOML: the names of the flags without their dashes, such as endpoints = [\"db1:2379\"], \
                 dial-timeout = \"3s\" or read-only = true. A flag beats its variable, a variable the context, the context the rest of the file; a context typed as --context NAME beats the variables, too. A context \
                 is a section [contexts.prod] with settings for one cluster: --context prod. From \
                 when on something counts as a finding is in a section of its own, [findings]: long-hold = \"15m\", \
                 long-hold-medians = 5, long-ttl = \"5m\".",
            )],
        ),
        (
            "EXIT STATUS",
            &[
                ("0", "Done; also when nobody reads the output any more."),
                ("1", "Error; also when a lock is not found."),
                ("2", "No endpoint could be connected to."),
                ("3", "Bad input."),
                ("5", "Interrupted. Ctrl-C is how cluster, and record without --for, are meant to end, and gives 0."),
                ("6", "A file could not be read or written."),
                ("8", "doctor found something as bad as --fail-on."),
                ("128", "Bad arguments."),
            ],
        ),
    ];
    let mut roff = Roff::new();
    for (title, items) in SECTIONS {
        roff.control("SH", [title]);
        for (term, text) in items {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(*text)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("etcdctl"), roman("(1)")]);
    roff
}
