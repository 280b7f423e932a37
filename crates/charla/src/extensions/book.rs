//! `extensions.json`: which extensions are installed, from where, and what was agreed to.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::private_file::{self, Turn};

/// Where an extension came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What kind of place it is.
    pub origin: Origin,
    /// The folder with no link on the way, or the repository's address.
    pub place: String,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.place)
    }
}

/// What kind of place an extension came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A folder of this machine.
    Local,
    /// A repository.
    Git,
}

/// An extension in the book.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) source: Source,
    pub(super) enabled: bool,
    /// The hash of what its user has agreed to.
    pub(super) agreed: String,
}

/// The book of extensions.
pub(super) struct Book {
    path: PathBuf,
}

impl Book {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// All of them, by name.
    pub(super) fn read(&self) -> Result<BTreeMap<String, Entry>, Failure> {
        let failed = |why: String| Failure::config(format!("cannot read {}: {why}", self.path.display()));
        match std::fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(BTreeMap::new()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// A turn at changing it: from reading it to writing it, nobody else does.
    pub(super) fn turn(&self) -> Result<Turn, Failure> {
        private_file::own_turn(&self.path)
            .map_err(|error| Failure::system(format!("cannot change {}: {error}", self.path.display())))
    }

    pub(super) fn write(&self, entries: &BTreeMap<String, Entry>) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(entries).map_err(std::io::Error::from);
        text.and_then(|text| private_file::write(&self.path, &format!("{text}\n")))
            .map_err(|error| Failure::system(format!("cannot write {}: {error}", self.path.display())))
    }
}
