//! Why a child cannot be confined.

use std::io;
use std::path::PathBuf;

/// Why a child cannot be confined. Then it is not started: a wall that is not there must not be believed in.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel does not offer what the confinement needs.
    #[error("this machine cannot confine it: {0}")]
    Missing(String),
    /// There is more in the workspace than is looked through.
    #[error("{} has more than {limit} entries, so it cannot be told which of them are secret", root.display())]
    TooLarge {
        /// The folder that is too large.
        root: PathBuf,
        /// How many entries are looked at.
        limit: usize,
    },
    /// A file or folder could not be looked at.
    #[error("{}: {source}", path.display())]
    Path {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SandboxError {
    pub(crate) fn path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Path { path: path.into(), source }
    }
}
