//! How a command ends: etcdctl's exit codes, and what is said on standard error.

use std::fmt;
use std::io;
use std::process::ExitCode;

use color_eyre::Report;

use super::prose;
use crate::config::{ConfigError, FileError};
use crate::view::text::sanitise;

/// The exit codes, which are etcdctl's (`etcdctl/ctlv3/command/util.go` and `pkg/cobrautl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Something went wrong that no other code names.
    Error = 1,
    /// No endpoint could be connected to.
    Connect = 2,
    /// What was asked for cannot be.
    BadInput = 3,
    /// A person broke off.
    Interrupted = 5,
    /// A file could not be read or written.
    File = 6,
    /// `doctor` found something as bad as `--fail-on`.
    Found = 8,
    /// Flags, variables or arguments are no good.
    BadArguments = 128,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// Something a person can read and act on.
    Said {
        /// The exit code.
        exit: Exit,
        /// What went wrong; further lines are details.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Clap says it itself, as it says `--help`.
    Arguments(Box<clap::Error>),
    /// A person broke off: they know.
    Interrupted,
    /// Nothing may be read, which was said already.
    Refused,
    /// What was asked for was not answered, which was said already.
    Unanswered,
    /// Nobody knows what came of a write, which was said already.
    Unknown,
    /// A recording is not whole, which was said already.
    NotRecorded,
    /// Something as bad as was asked for was found, and printed.
    Found,
    /// Nobody reads standard output any more, which is a quiet success.
    ClosedPipe,
    /// What should not happen, with its causes.
    Unexpected(Report),
}

impl Failure {
    /// A failure with a message.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self::Said { exit, what: what.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Said { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// What went wrong as one line.
    pub fn words(&self) -> String {
        match self {
            Self::Said { what, .. } => {
                sanitise(&what.lines().map(str::trim).collect::<Vec<_>>().join(" ")).into_owned()
            }
            Self::Arguments(error) => sanitise(&error.to_string()).into_owned(),
            Self::Interrupted => "interrupted".into(),
            Self::Refused => "it may not be read".into(),
            Self::Unanswered => "it was not answered".into(),
            Self::Unknown => "it is unknown whether it was done".into(),
            Self::NotRecorded => "the recording is not whole".into(),
            Self::Found | Self::ClosedPipe => String::new(),
            Self::Unexpected(report) => sanitise(&report.to_string()).into_owned(),
        }
    }

    /// Says on standard error what there is to say; returns the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Said { exit, what, hint } => {
                say(format_args!("lockscope: {what}"));
                if let Some(hint) = hint {
                    say(format_args!("{hint}"));
                }
                (*exit).into()
            }
            Self::Arguments(error) => {
                // Help and version are no errors and go to standard output; a closed pipe is none either.
                let _ = error.print();
                if error.use_stderr() { Exit::BadArguments.into() } else { ExitCode::SUCCESS }
            }
            Self::Interrupted => Exit::Interrupted.into(),
            Self::Refused | Self::Unanswered | Self::Unknown => Exit::Error.into(),
            Self::NotRecorded => Exit::File.into(),
            Self::Found => Exit::Found.into(),
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Unexpected(report) => {
                say(format_args!("lockscope: {report:?}"));
                Exit::Error.into()
            }
        }
    }
}

/// Writes to standard error what is harmless to print: messages may quote what a server
/// said. When standard error is closed there is nobody left to tell.
pub fn say(text: fmt::Arguments<'_>) {
    use io::Write as _;
    let mut to = io::stderr().lock();
    let columns = prose::columns(&to);
    for line in text.to_string().lines() {
        for line in prose::wrapped(&sanitise(line), columns) {
            let _ = writeln!(to, "{line}");
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Interrupted => Self::Interrupted,
            ConfigError::File(FileError::Read { .. } | FileError::Unknown { .. } | FileError::Invalid { .. }) => {
                Self::new(Exit::File, error.to_string())
            }
            ConfigError::NoPassword { .. } => Self::new(Exit::BadArguments, error.to_string())
                .hint("Give it as --password, as --user NAME:PASSWORD or in ETCDCTL_PASSWORD."),
            ConfigError::Variable { .. } | ConfigError::HalfAnIdentity { .. } | ConfigError::UnknownContext { .. } => {
                Self::new(Exit::BadArguments, error.to_string())
            }
        }
    }
}

impl From<io::Error> for Failure {
    /// For errors of standard output: what else does I/O has messages of its own.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::new(Exit::File, format!("cannot write to standard output: {error}"))
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(_) => Self::from(io::Error::from(error)),
            None => Self::Unexpected(Report::new(error).wrap_err("cannot write JSON")),
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Arguments(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_told_from_a_full_disk() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(closed, Failure::ClosedPipe));
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, Failure::Said { exit: Exit::File, .. }));
        let closed = Failure::from(serde_json::Error::io(io::ErrorKind::BrokenPipe.into()));
        assert!(matches!(closed, Failure::ClosedPipe));
    }
}
