//! Is a file as it was left? If not, what is in the way?

use std::fmt;
use std::path::{Path, PathBuf};

use charla_proto::{Snapshots, content_hash};

use super::look::{FileNow, look};
use super::{CheckError, Deed, Move, RevertError, Step};
use crate::files::diff;

/// A file that is not as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: PathBuf,
    /// What is in the way.
    pub obstacle: Obstacle,
    /// The hash of what it holds now; `None` when there is no file.
    pub now: Option<String>,
    /// What was changed since, as a diff or in words.
    pub diff: String,
}

/// What is in the way of changing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It holds something else.
    Changed,
    /// There is a file where none was.
    Appeared,
    /// This part of its path is a link now.
    Link(PathBuf),
    /// It is a folder, a pipe, a device.
    NoFile,
    /// It cannot be read.
    Unreadable(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Obstacle::Changed => f.write_str("was changed since"),
            Obstacle::Appeared => f.write_str("was created since"),
            Obstacle::Link(path) => write!(f, "cannot be reached: {} is a link now", path.display()),
            Obstacle::NoFile => f.write_str("is no regular file any more"),
            Obstacle::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

pub(super) fn check(step: Step, snapshots: &dyn Snapshots) -> Result<Move, CheckError> {
    let path = &step.change.path;
    let conflict = |obstacle, now, diff| {
        CheckError::Conflicts(vec![Conflict { path: path.clone(), obstacle, now, diff }])
    };
    let found = look(path).map_err(|obstacle| conflict(obstacle, None, String::new()))?;
    let now = found.as_ref().map(|found| content_hash(&found.bytes));
    if now == step.change.after {
        return Ok(settled(step, found));
    }
    let load = |hash: &Option<String>| match hash {
        Some(hash) => snapshots.load(hash).map(Some),
        None => Ok(None),
    };
    // A file that somebody removed since holds nothing that could be lost: it comes back as it shall be.
    if now.is_some() && now != step.change.before {
        let obstacle = match step.change.before {
            None => Obstacle::Appeared,
            Some(_) => Obstacle::Changed,
        };
        // Without the content it was left with there is still a conflict, only no diff.
        let left = load(&step.change.before).ok();
        let holds = found.as_ref().map(|found| found.bytes.as_slice());
        let diff = left.map(|left| difference(path, left.as_deref(), holds)).unwrap_or_default();
        return Err(conflict(obstacle, now, diff));
    }
    let wanted = load(&step.change.after).map_err(|error| {
        CheckError::Failed(RevertError::Content { path: path.display().to_string(), error })
    })?;
    let deed = match (&found, &wanted) {
        (_, None) => Deed::Removed,
        (None, Some(_)) => Deed::BroughtBack,
        (Some(_), Some(_)) => Deed::Restored,
    };
    let (current, mode) = found.map(|found| (found.bytes, found.mode)).unzip();
    Ok(Move { step, deed, wanted, current, mode: mode.flatten() })
}

/// Nothing is to be done: the file already is as it shall be.
fn settled(step: Step, found: Option<FileNow>) -> Move {
    let mode = found.and_then(|found| found.mode);
    Move { step, deed: Deed::Nothing, wanted: None, current: None, mode }
}

/// From what a file held to what it holds: a unified diff, or the sizes where one of them is no text.
pub fn difference(path: &Path, left: Option<&[u8]>, now: Option<&[u8]>) -> String {
    let text = |bytes: Option<&[u8]>| match bytes {
        None => Some(String::new()),
        Some(bytes) if bytes.contains(&0) => None,
        Some(bytes) => String::from_utf8(bytes.to_vec()).ok(),
    };
    match (text(left), text(now)) {
        (Some(before), Some(after)) => diff(path, left.is_some().then_some(before.as_str()), &after),
        _ => {
            let size = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
            format!("{}: not text: {} bytes then, {} now\n", path.display(), size(left), size(now))
        }
    }
}
