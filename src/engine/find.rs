//! The `etcd` that is found on PATH, and which one it is.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::EngineError;

/// How long it may take to say which version it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// An etcd on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Etcd {
    /// The program.
    pub program: PathBuf,
    /// Its version, such as `3.5.30`.
    pub version: String,
    /// Major and minor version.
    number: (u32, u32),
}

impl Etcd {
    /// The first `etcd` in the folders of `path`, a value of PATH, that can be run.
    ///
    /// # Errors
    /// When there is none, or it does not say which version it is.
    pub async fn find(path: &OsStr) -> Result<Self, EngineError> {
        let programs = std::env::split_paths(path).map(|folder| folder.join("etcd"));
        let program = programs.into_iter().find(|program| can_be_run(program)).ok_or(EngineError::NotFound)?;
        let said = match timeout(PATIENCE, asked(&program)).await {
            Ok(Ok(said)) => said,
            Ok(Err(why)) => return Err(EngineError::NoVersion { program, why: why.to_string() }),
            Err(_) => return Err(EngineError::NoVersion { program, why: format!("no answer after {PATIENCE:?}") }),
        };
        match version(&said) {
            Some((version, number)) => Ok(Self { program, version, number }),
            None => Err(EngineError::NoVersion { program, why: "it names no version of etcd".into() }),
        }
    }

    /// Whether it is at least this version.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        self.number >= (major, minor)
    }
}

fn can_be_run(program: &Path) -> bool {
    program.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

async fn asked(program: &Path) -> std::io::Result<String> {
    let mut command = Command::new(program);
    let said = super::process::without_settings(&mut command).arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    Ok(String::from_utf8_lossy(&said.output().await?.stdout).into_owned())
}

/// Reads `etcd Version: 3.5.30`, the first line of what `etcd --version` says.
fn version(said: &str) -> Option<(String, (u32, u32))> {
    let version = said.lines().next()?.strip_prefix("etcd Version:")?.trim();
    let mut parts = version.split('.').map(str::parse);
    let number = (parts.next()?.ok()?, parts.next()?.ok()?);
    Some((crate::domain::escape::escape_text(version).into_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_first_line() {
        let said = "etcd Version: 3.5.30\nGit SHA: 0123\nGo Version: go1.24\n";
        assert_eq!(version(said), Some(("3.5.30".into(), (3, 5))));
        assert_eq!(version("etcd Version: 3.7.0-alpha.0\n").map(|(_, number)| number), Some((3, 7)));
        for other in ["", "etcdctl version: 3.5.30", "etcd Version: new"] {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn without_an_etcd_the_error_tells_what_to_install_and_what_needs_none() {
        let folder = tempfile::tempdir().unwrap();
        // Neither a folder nor a file that cannot be run is an etcd.
        std::fs::create_dir(folder.path().join("etcd")).unwrap();
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("etcd"), "").unwrap();
        let path = std::env::join_paths([folder.path(), other.path()]).unwrap();
        let said = Etcd::find(&path).await.unwrap_err().to_string();
        for words in ["no `etcd` on PATH", "etcd-server", "Debian", "etcd-io/etcd", "`lockscope demo`"] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[tokio::test]
    async fn a_program_that_only_has_the_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/echo", folder.path().join("etcd")).unwrap();
        let said = Etcd::find(folder.path().as_os_str()).await.unwrap_err().to_string();
        assert!(said.contains("/etcd --version") && said.contains("names no version of etcd"), "{said}");
    }
}
