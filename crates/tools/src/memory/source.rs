//! Where a memory file may lie, and how it is opened so that it cannot lie elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use charla_proto::looks_secret;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::owner::{Owners, belongs_to_another};

/// No single file is read further than this.
const FILE_BYTES: u64 = 1024 * 1024;

/// The folders that a memory file and what it imports come from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Real paths.
    pub(super) roots: Vec<PathBuf>,
    /// What is not for these files although it lies there, and why.
    pub(super) except: Option<(PathBuf, &'static str)>,
    /// What the roots are called.
    pub(super) name: &'static str,
    pub(super) owners: Owners,
}

impl Source {
    /// The text of a file, by its real path; else why it is left out.
    pub(super) fn read(&self, real: &Path) -> Result<String, String> {
        if let Some((folder, why)) = &self.except
            && real.starts_with(folder)
        {
            return Err((*why).to_owned());
        }
        let Some(root) = self.roots.iter().find(|root| real.starts_with(root)) else {
            return Err(format!("{} is outside {}", real.display(), self.name));
        };
        if looks_secret(real) {
            return Err("it looks like a secret".to_owned());
        }
        let file = open_beneath(root, real).map_err(|error| error.to_string())?;
        let facts = file.metadata().map_err(|error| error.to_string())?;
        if let Some(owner) = self.owners.stranger(&facts) {
            return Err(belongs_to_another(owner));
        }
        text_of(file).map_err(|error| error.to_string())
    }
}

/// Opens a file by its real path, step by step from the root: a link that was put on the way since is not followed.
fn open_beneath(root: &Path, real: &Path) -> io::Result<File> {
    let outside = || io::Error::other("it is no file there");
    let steps = real.strip_prefix(root).map_err(|_| outside())?;
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Opening a pipe that nobody writes to waits for ever otherwise.
    let last = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, folder, Mode::empty())?;
    let mut steps = steps.components().peekable();
    while let Some(step) = steps.next() {
        let Component::Normal(name) = step else { return Err(outside()) };
        let flags = if steps.peek().is_some() { folder | OFlags::NOFOLLOW } else { last };
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(File::from(at))
}

/// The text of a regular file, as far as [`FILE_BYTES`]: a pipe would never end.
fn text_of(file: File) -> io::Result<String> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Err(io::Error::other("not a text file"));
    }
    let mut text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned();
    if metadata.len() > FILE_BYTES {
        text.push_str(&format!("\n[… cut: only the first {FILE_BYTES} bytes of this file were read …]"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("root/sub")).unwrap();
        std::fs::create_dir_all(base.join("outside")).unwrap();
        std::fs::write(base.join("root/sub/a.md"), "inside").unwrap();
        std::fs::write(base.join("outside/a.md"), "outside").unwrap();
        let root = base.join("root");
        assert!(open_beneath(&root, &root.join("sub/a.md")).is_ok());
        // As when somebody swaps the folder after its real path was found.
        std::fs::rename(root.join("sub"), root.join("gone")).unwrap();
        std::os::unix::fs::symlink(base.join("outside"), root.join("sub")).unwrap();
        assert!(open_beneath(&root, &root.join("sub/a.md")).is_err());
        std::os::unix::fs::symlink(base.join("outside/a.md"), root.join("b.md")).unwrap();
        assert!(open_beneath(&root, &root.join("b.md")).is_err());
        assert!(open_beneath(&root, &root.join("../outside/a.md")).is_err());
    }
}
