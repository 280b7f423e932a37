//! Putting files back: everything is checked first, then everything is done, or nothing is.
//!
//! A file is touched only while it holds exactly what it is expected to hold. Links are never followed: a
//! recorded path was free of links when it was recorded, so one that has a link in it now leads elsewhere.

mod check;
mod look;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use charla_proto::{FileChange, RevertedFile, SnapshotError, Snapshots};

pub use check::{Conflict, Obstacle, difference};
use look::look;

use crate::paths::folder::Folder;

/// A change of one file: from a content it should hold now to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file; `before` is what it should hold now, `after` what it shall hold.
    pub change: FileChange,
    /// Permissions for a file that comes back, where they are known.
    pub mode: Option<u32>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It gets its other content.
    Restored,
    /// It goes away.
    Removed,
    /// It comes back.
    BroughtBack,
    /// It is already as it shall be.
    Nothing,
}

/// Why nothing was put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevertError {
    /// A content that is needed is not there.
    #[error("{path}: {error}")]
    Content {
        /// The file.
        path: String,
        /// Why.
        error: SnapshotError,
    },
    /// A file could not be written; the others are as they were.
    #[error("{path}: {reason}; nothing was changed")]
    Write {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file could not be written, and others could not be put back to where they were.
    #[error("{path}: {reason}; these files could not be put back either: {left}")]
    Torn {
        /// The file.
        path: String,
        /// Why.
        reason: String,
        /// Files that are now changed.
        left: String,
    },
}

/// Steps that were checked and can be taken.
#[derive(Debug)]
pub struct Reversal {
    moves: Vec<Move>,
}

#[derive(Debug)]
struct Move {
    step: Step,
    deed: Deed,
    /// What the file shall hold, and what it holds now.
    wanted: Option<Vec<u8>>,
    current: Option<Vec<u8>>,
    mode: Option<u32>,
}

impl Reversal {
    /// Looks at every file and gets every content. Nothing is changed. An error names all files that are in
    /// the way, not only the first.
    pub fn check(steps: Vec<Step>, snapshots: &dyn Snapshots) -> Result<Self, CheckError> {
        let mut moves = Vec::new();
        let mut conflicts = Vec::new();
        for step in steps {
            match check::check(step, snapshots) {
                Ok(found) => moves.push(found),
                Err(CheckError::Conflicts(found)) => conflicts.extend(found),
                Err(error) => return Err(error),
            }
        }
        if conflicts.is_empty() { Ok(Self { moves }) } else { Err(CheckError::Conflicts(conflicts)) }
    }

    /// What will happen to each file.
    pub fn deeds(&self) -> impl Iterator<Item = (&PathBuf, Deed)> {
        self.moves.iter().map(|one| (&one.step.change.path, one.deed))
    }

    /// For the record: each file with what it held and holds, and its permissions until now.
    pub fn files(&self) -> Vec<RevertedFile> {
        let file = |one: &Move| RevertedFile {
            change: one.step.change.clone(),
            mode: if one.current.is_some() { one.mode } else { one.step.mode },
        };
        self.moves.iter().map(file).collect()
    }

    /// Does it all. When a file cannot be changed, those that were are put back.
    pub fn apply(&self) -> Result<(), RevertError> {
        for (position, one) in self.moves.iter().enumerate() {
            if let Err(error) = one.forth() {
                let done = self.moves.get(..position).unwrap_or_default();
                return Err(give_up(one, &error, done));
            }
        }
        Ok(())
    }

    /// Undoes [`Self::apply`], for when what was done could not be recorded.
    pub fn withdraw(&self) -> Result<(), RevertError> {
        for one in self.moves.iter().rev() {
            one.back().map_err(|error| RevertError::Torn {
                path: one.name(),
                reason: error.to_string(),
                left: one.name(),
            })?;
        }
        Ok(())
    }
}

/// Why steps cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub enum CheckError {
    /// These files are not as they were left.
    Conflicts(Vec<Conflict>),
    /// A content is missing.
    Failed(RevertError),
}

fn give_up(failed: &Move, error: &io::Error, done: &[Move]) -> RevertError {
    let left: Vec<String> = done.iter().rev().filter(|one| one.back().is_err()).map(Move::name).collect();
    let (path, reason) = (failed.name(), error.to_string());
    match left.is_empty() {
        true => RevertError::Write { path, reason },
        false => RevertError::Torn { path, reason, left: left.join(", ") },
    }
}

impl Move {
    fn name(&self) -> String {
        self.step.change.path.display().to_string()
    }

    fn forth(&self) -> io::Result<()> {
        self.put(self.current.as_deref(), self.wanted.as_deref(), self.step.mode)
    }

    fn back(&self) -> io::Result<()> {
        self.put(self.wanted.as_deref(), self.current.as_deref(), self.mode)
    }

    fn put(&self, expected: Option<&[u8]>, bytes: Option<&[u8]>, mode: Option<u32>) -> io::Result<()> {
        if self.deed == Deed::Nothing {
            return Ok(());
        }
        let path = &self.step.change.path;
        // Between the check and now somebody may have written: then this is no longer ours to change.
        let now = look(path).map_err(|obstacle| io::Error::other(obstacle.to_string()))?;
        if now.as_ref().map(|file| file.bytes.as_slice()) != expected {
            return Err(io::Error::other("it was changed just now by somebody else"));
        }
        match (now, bytes) {
            (_, None) => Folder::of(path).and_then(|(folder, name)| folder.remove(name)),
            (Some(_), Some(bytes)) => {
                Folder::of(path).and_then(|(folder, name)| folder.overwrite(name, bytes))
            }
            (None, Some(bytes)) => Folder::made_for(path)
                .and_then(|(folder, name)| folder.create(name, bytes, mode.map(Permissions::from_mode))),
        }
    }
}

#[cfg(test)]
mod tests;
