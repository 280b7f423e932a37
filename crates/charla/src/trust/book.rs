//! `trusted.json`: which folders are trusted, and with which content.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::now;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::private_file::{self, Turn};

/// The trusted workspaces of a user.
#[derive(Clone, Debug)]
pub struct TrustBook {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Entries {
    #[serde(default)]
    workspaces: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    sha256: String,
    /// When, in milliseconds since 1970.
    at: u64,
}

impl TrustBook {
    /// The book in Charla's home; `None` without a home.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { path: environment.charla_home()?.join("trusted.json") })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content that is trusted in this folder.
    pub fn hash(&self, folder: &Path) -> Result<Option<String>, Failure> {
        Ok(self.read()?.workspaces.remove(&name(folder)).map(|entry| entry.sha256))
    }

    /// Trusts this content in this folder.
    pub fn trust(&self, folder: &Path, sha256: String) -> Result<(), Failure> {
        let _turn = self.turn()?;
        let mut entries = self.read()?;
        entries.workspaces.insert(name(folder), Entry { sha256, at: now() });
        self.write(&entries)
    }

    /// Trusts nothing in this folder; false when nothing was trusted.
    pub fn revoke(&self, folder: &Path) -> Result<bool, Failure> {
        let _turn = self.turn()?;
        let mut entries = self.read()?;
        let known = entries.workspaces.remove(&name(folder)).is_some();
        if known {
            self.write(&entries)?;
        }
        Ok(known)
    }

    fn read(&self) -> Result<Entries, Failure> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Entries::default());
            }
            Err(error) => {
                return Err(Failure::config(format!("cannot read {}: {error}", self.path.display())));
            }
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::config(format!("{}: {error}", self.path.display())).with_hint(Hint::TrustAgain)
        })
    }

    /// A turn at changing it, so that nothing that is revoked comes back with what another process trusts.
    fn turn(&self) -> Result<Turn, Failure> {
        private_file::own_turn(&self.path)
            .map_err(|error| Failure::system(format!("cannot change {}: {error}", self.path.display())))
    }

    fn write(&self, entries: &Entries) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(entries).map_err(std::io::Error::from);
        text.and_then(|text| private_file::write(&self.path, &format!("{text}\n")))
            .map_err(|error| Failure::system(format!("cannot write {}: {error}", self.path.display())))
    }
}

/// A folder's own name, whichever links led to it. Bytes that are no text are kept apart from each other.
fn name(folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.to_str().map_or_else(|| format!("{real:?}"), str::to_owned)
}
