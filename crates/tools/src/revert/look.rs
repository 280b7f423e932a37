//! A file as it is now, without following any link.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Obstacle;

/// What stands at a path.
#[derive(Debug)]
pub(super) struct FileNow {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: Option<u32>,
}

/// The regular file at `path`; `None` when there is nothing.
pub(super) fn look(path: &Path) -> Result<Option<FileNow>, Obstacle> {
    refuse_links(path)?;
    let unreadable = |error: io::Error| Obstacle::Unreadable(error.to_string());
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if data.is_symlink() {
        return Err(Obstacle::Link(path.to_owned()));
    }
    if !data.is_file() {
        return Err(Obstacle::NoFile);
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(unreadable)?;
    Ok(Some(FileNow { bytes, mode: mode(&data) }))
}

/// The folder that a file is in, as far as it exists, must be where its name says.
fn refuse_links(path: &Path) -> Result<(), Obstacle> {
    let folders = path.ancestors().skip(1);
    for folder in folders {
        match folder.canonicalize() {
            Ok(real) if real == folder => return Ok(()),
            Ok(_) => return Err(Obstacle::Link(linked(folder))),
            Err(error) if is_absent(&error) && fs::symlink_metadata(folder).is_err() => {}
            Err(error) if is_absent(&error) => return Err(Obstacle::Link(folder.to_owned())),
            Err(error) => return Err(Obstacle::Unreadable(error.to_string())),
        }
    }
    Ok(())
}

/// The outermost folder on the way that is a link.
fn linked(folder: &Path) -> PathBuf {
    let mut ways: Vec<&Path> = folder.ancestors().collect();
    ways.reverse();
    let link = ways.into_iter().find(|way| fs::symlink_metadata(way).is_ok_and(|data| data.is_symlink()));
    link.unwrap_or(folder).to_owned()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn mode(data: &fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> Option<u32> {
    None
}
