//! The command line: parses, merges the settings, runs a command, maps its end to an exit code.
pub mod args;
