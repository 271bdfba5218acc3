//! The settings of one run, and the run itself: files in, files out.
//!
//! Names and defaults are those of the real crate, because build scripts are compiled
//! against them. What becomes of a service's methods is `service`'s.

use std::io;
use std::path::{Path, PathBuf};

use crate::service::Stubs;

/// Starts with what the real crate starts with: clients and servers, written to `OUT_DIR`.
pub fn configure() -> Builder {
    Builder { client: true, server: true, out_dir: None }
}

/// What to generate, and where to put it.
#[derive(Clone, Debug)]
#[must_use = "nothing is generated before `compile_protos`"]
pub struct Builder {
    client: bool,
    server: bool,
    out_dir: Option<PathBuf>,
}

impl Builder {
    /// Whether to generate a client for each service.
    pub fn build_client(mut self, enable: bool) -> Self {
        self.client = enable;
        self
    }

    /// Whether to generate a server trait for each service.
    pub fn build_server(mut self, enable: bool) -> Self {
        self.server = enable;
        self
    }

    /// The folder to write to, in place of the `OUT_DIR` that cargo gives to build scripts.
    pub fn out_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.out_dir = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Compiles `protos`, whose imports are looked up in `includes`, and writes one Rust file
    /// a package, imported packages included, as the real crate does.
    ///
    /// # Errors
    /// When a file cannot be read or is not valid, with file, line and column; when there is
    /// no folder to write to, or it cannot be written.
    pub fn compile_protos(self, protos: &[impl AsRef<Path>], includes: &[impl AsRef<Path>]) -> io::Result<()> {
        // protox's Debug, unlike its Display, says in which file and where.
        let descriptors = protox::compile(protos, includes).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut config = prost_build::Config::new();
        if let Some(folder) = self.out_dir {
            config.out_dir(folder);
        }
        config.service_generator(Box::new(Stubs { client: self.client, server: self.server }));
        config.compile_fds(descriptors)
    }
}
