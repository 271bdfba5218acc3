//! Arguments of the commands about the program itself: its settings and its documents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is done with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a configuration file with every setting and its default, all commented out
    ///
    /// It is written where `lockscope info` looks for it, for its owner alone. A file that is there
    /// already is left alone.
    Init(InitArgs),
    /// Print the settings in force, and where each came from
    ///
    /// No connection is made. A password is never shown.
    ///
    /// Fields: setting, value as the file would have it, the flag, variable, context or file that said it.
    Show,
    /// Print the path of the configuration file, whether it is there or not
    Path,
    /// List the contexts of the configuration file
    ///
    /// Fields: name, whether it is chosen, endpoints, user, whether it is read-only, prefixes. What a
    /// context leaves to the rest of the file is shown as that has it.
    Contexts,
}

/// Arguments of `config init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Print it instead of writing a file
    #[arg(long)]
    pub stdout: bool,
    /// Write over a file that is there
    #[arg(short, long, conflicts_with = "stdout")]
    pub force: bool,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for every command into this folder instead, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
