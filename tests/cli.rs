//! The real binary on the command line: what it prints, where, and how it ends.

#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/settings.rs"]
mod settings;
mod support;
