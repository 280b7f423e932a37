//! What a turn made of each file, to be looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::undo::{ChangeHistory, NetChange};
use charla_proto::{FileChange, JournalError, SnapshotError, Snapshots};
use charla_tools::revert::difference;
use serde::Serialize;

use super::error::SessionError;
use super::store::Sessions;

/// How much of a file, before and after it together, is compared: what is longer is for an editor.
const MOST_COMPARED: usize = 4 * 1024 * 1024;
/// How many files of a turn are compared.
const MOST_FILES: usize = 200;

/// What a turn made of one file, from what it held before the turn to what it held afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file.
    pub path: PathBuf,
    /// The change as a unified diff, or in words why it cannot be shown as one.
    pub diff: String,
    /// How many lines came.
    pub added: usize,
    /// How many lines went.
    pub removed: usize,
    /// Somebody has taken it back.
    pub undone: bool,
    /// Something else changed the file during the turn: what is shown, and what an undo takes back, holds that, too.
    pub mixed: bool,
}

impl Sessions {
    /// What a turn of a session made of each file; nothing where there is no such turn, or it was rewound. Turns that ran elsewhere
    /// changed nothing here.
    pub async fn turn_diffs(&self, id: &str, turn: u64) -> Result<Option<Vec<FileDiff>>, SessionError> {
        let history = ChangeHistory::of(&self.records(id).await?);
        let Some(files) = history.turn(turn).map(|turn| turn.files.clone()) else { return Ok(None) };
        let snapshots = self.snapshots();
        // Contents are read from a disk or a database, and compared for as long as that takes.
        let compare = move || files.iter().take(MOST_FILES).map(|file| compared(file, &snapshots)).collect();
        let compared = tokio::task::spawn_blocking(compare).await;
        compared.map(Some).map_err(|error| JournalError::Io(error.to_string()).into())
    }
}

fn compared(file: &NetChange, snapshots: &Arc<dyn Snapshots>) -> FileDiff {
    let NetChange { change, undone, mixed, .. } = file;
    let diff = contents(change, snapshots.as_ref());
    let diff = match diff {
        Ok((before, after)) => shown(&change.path, before.as_deref(), after.as_deref()),
        Err(error) => format!("{}: {error}\n", change.path.display()),
    };
    let (added, removed) = counted(&diff);
    FileDiff { path: change.path.clone(), diff, added, removed, undone: *undone, mixed: *mixed }
}

type Bytes = Option<Vec<u8>>;

fn contents(change: &FileChange, snapshots: &dyn Snapshots) -> Result<(Bytes, Bytes), SnapshotError> {
    let load = |hash: &Option<String>| hash.as_deref().map(|hash| snapshots.load(hash)).transpose();
    Ok((load(&change.before)?, load(&change.after)?))
}

fn shown(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let size = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let sizes = (size(before), size(after));
    if sizes.0.saturating_add(sizes.1) > MOST_COMPARED {
        let (then, now) = sizes;
        return format!("{}: too long to be shown: {then} bytes before, {now} after\n", path.display());
    }
    difference(path, before, after)
}

/// How many lines a unified diff adds and removes.
fn counted(diff: &str) -> (usize, usize) {
    let lines = || diff.lines().skip_while(|line| !line.starts_with("@@"));
    let of = |sign: char| lines().filter(|line| line.starts_with(sign)).count();
    (of('+'), of('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_names_of_files_are_not() {
        assert_eq!(counted("--- a\n+++ b\n@@ -1,2 +1,3 @@\n x\n-y\n+z\n++\n"), (2, 1));
        assert_eq!(counted(""), (0, 0));
    }

    #[test]
    fn what_came_went_is_no_text_or_is_too_long_is_told() {
        let path = Path::new("/project/a");
        assert!(shown(path, None, Some(b"x\n")).contains("/dev/null"));
        assert!(shown(path, Some(b"x\n"), None).ends_with("-x\n"));
        assert_eq!(shown(path, Some(b"\0"), Some(b"xy")), "/project/a: not text: 1 bytes then, 2 now\n");
        let long = vec![b'x'; MOST_COMPARED];
        assert!(shown(path, Some(&long), Some(b"x")).contains("too long"));
    }
}
