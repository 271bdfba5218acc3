//! The program: parses arguments, runs, and maps an error to an exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    lockscope::cli::run(std::env::args_os())
}
