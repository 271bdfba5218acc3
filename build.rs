//! Tells the program what it is built from: the commit, the compiler, the target.
//!
//! No time and no path is among it: the same sources with the same compiler give the same program.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_default();
    let set = |name: &str, value: Option<String>| {
        println!("cargo::rustc-env={name}={}", value.filter(|value| !value.contains('\n')).unwrap_or_default());
    };
    set("LOCKSCOPE_TARGET", Some(variable("TARGET")));
    set("LOCKSCOPE_RUSTC", first_line(Command::new(variable("RUSTC")).arg("--version")));
    // A debug build tells no commit: each would compile everything again.
    let commit =
        if variable("PROFILE") == "release" { commit(Path::new(&variable("CARGO_MANIFEST_DIR"))) } else { None };
    set("LOCKSCOPE_COMMIT", commit);
}

/// The commit of a checkout, or the one that a package was made from; none of whatever repository
/// the sources may lie in besides.
fn commit(folder: &Path) -> Option<String> {
    let packed = folder.join(".cargo_vcs_info.json");
    println!("cargo::rerun-if-changed={}", folder.join("Cargo.toml").display());
    if let Ok(text) = fs::read_to_string(packed) {
        let hash = text.split_once("\"sha1\"")?.1.split('"').nth(1)?;
        return hash.get(..12).map(ToOwned::to_owned);
    }
    let git = |arguments: &[&str]| first_line(Command::new("git").arg("-C").arg(folder).args(arguments));
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={}", folder.join(path).display());
        }
    }
    // No tag: the commit alone, and whether anything was changed since.
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"])
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(ToOwned::to_owned)
}
