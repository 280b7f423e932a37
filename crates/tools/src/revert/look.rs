//! A file as it is now, without following any link.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::Obstacle;
use crate::paths::folder::{Folder, is_link};

/// What stands at a path.
#[derive(Debug)]
pub(super) struct FileNow {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: Option<u32>,
}

/// The regular file at `path`; `None` when there is nothing.
pub(super) fn look(path: &Path) -> Result<Option<FileNow>, Obstacle> {
    let obstacle = |error: io::Error| match is_link(&error) {
        true => Obstacle::Link(linked(path)),
        false => Obstacle::Unreadable(error.to_string()),
    };
    let (folder, name) = match Folder::of(path) {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(obstacle(error)),
    };
    match folder.look(name).map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::RegularFile) => {}
        Ok(FileType::Symlink) => return Err(Obstacle::Link(path.to_owned())),
        Ok(_) => return Err(Obstacle::NoFile),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(obstacle(error)),
    }
    let read = || {
        let mut file = folder.file(name)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        Ok(FileNow { bytes, mode: Some(mode) })
    };
    read().map(Some).map_err(obstacle)
}

/// The outermost part of a path that is a link, to tell a person.
fn linked(path: &Path) -> PathBuf {
    let mut ways: Vec<&Path> = path.ancestors().collect();
    ways.reverse();
    let link = ways.into_iter().find(|way| fs::symlink_metadata(way).is_ok_and(|data| data.is_symlink()));
    link.unwrap_or(path).to_owned()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
