//! The temporary folder with the members' data, which goes with them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// So many names are tried: others are of processes that had this one's id and were killed.
const TRIES: u32 = 1_000;

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new folder that nobody else may look into.
    pub fn create() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        let id = std::process::id();
        for number in 0..TRIES {
            let folder = parent.join(format!("lockscope-etcd-{id}-{number}"));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a member that is just being killed still writes is left to the watchman.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_another_one_and_goes_with_its_value() {
        let (one, other) = (Folder::create().unwrap(), Folder::create().unwrap());
        assert_ne!(one.path(), other.path());
        fs::write(one.path().join("file"), "text").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
