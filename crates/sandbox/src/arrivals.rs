//! Protected places that an editing child made.
//!
//! The kernel keeps a place from being written that is there; it has no rule for a name that is not there yet. So when the
//! child has ended, the workspace is looked through again, and what came into being is moved out of it. Nothing is lost:
//! somebody else may have made it at the same time.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, renameat};
use rustix::io::Errno;

use crate::error::SandboxError;
use crate::memory::Memory;
use crate::places::Places;
use crate::taken::Taken;
use crate::tree::{self, Identity};

/// A folder's name in which moved places are kept. It has no lock, so no session sweeps it away.
const PREFIX: &str = "charla-kept-";

/// The protected places of a workspace before an editing child.
#[derive(Debug)]
pub struct Arrivals {
    places: Places,
    memory: Arc<Memory>,
    before: BTreeMap<PathBuf, Identity>,
}

impl Arrivals {
    pub(crate) fn new(places: &Places, memory: Arc<Memory>, before: BTreeMap<PathBuf, Identity>) -> Self {
        Self { places: places.clone(), memory, before }
    }

    /// Moves every protected place out of the workspace that was not there before. Looks through the workspace, so it
    /// blocks for some milliseconds when that is large. For when nothing of the child runs any more.
    pub fn take_out(self) -> Result<Vec<Taken>, SandboxError> {
        let after = tree::look_again(&self.places, &self.memory)?;
        let mut kept = Kept { place: &self.places.temporary, folder: None, count: 0 };
        let new = after.iter().filter(|(path, found)| !self.knows(path, found));
        let take = |(path, _): (&PathBuf, _)| Taken {
            to: self.take(path, &mut kept).map_err(|error| error.to_string()),
            from: path.clone(),
        };
        Ok(new.map(take).collect())
    }

    /// True for a place that the child cannot have made: it stands where it stood, or was moved with its folder.
    fn knows(&self, path: &Path, found: &Identity) -> bool {
        let stays =
            self.before.get(path).is_some_and(|old| old.parent == found.parent && old.link == found.link);
        stays || self.before.values().any(|old| old.is_moved_to(found))
    }

    fn take(&self, path: &Path, kept: &mut Kept) -> io::Result<PathBuf> {
        let outside = || io::Error::from(io::ErrorKind::InvalidInput);
        let root = self.places.roots.iter().find(|root| path.starts_with(root)).ok_or_else(outside)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(outside()) };
        let parent = Parent::open(root, parent)?;
        let to = kept.next()?.join(name);
        match parent.rename(name.as_ref(), &to) {
            Err(Errno::XDEV) => move_by_copy(&parent.path().join(name), &to)?,
            Err(Errno::ACCESS | Errno::PERM) => parent.opened_up(name.as_ref(), &to)?,
            renamed => renamed?,
        }
        Ok(to)
    }
}

/// Where moved places go: each into a folder of its own, in one that only the user can open.
struct Kept<'a> {
    place: &'a Path,
    folder: Option<PathBuf>,
    count: usize,
}

impl Kept<'_> {
    fn next(&mut self) -> io::Result<PathBuf> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(self.place)?;
                self.folder.insert(made.keep().canonicalize()?)
            }
        };
        self.count += 1;
        let next = folder.join(self.count.to_string());
        fs::create_dir(&next)?;
        Ok(next)
    }
}

/// The folder of a place, held open: a link put in its way later leads nowhere else.
struct Parent(OwnedFd);

impl Parent {
    fn open(root: &Path, folder: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root_fd = rustix::fs::open(root, flags, Mode::empty())?;
        let below = folder.strip_prefix(root).map_err(io::Error::other)?;
        if below.as_os_str().is_empty() {
            return Ok(Self(root_fd));
        }
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok(Self(openat2(&root_fd, below, flags, Mode::empty(), beneath)?))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    fn rename(&self, name: &Path, to: &Path) -> Result<(), Errno> {
        renameat(&self.0, name, CWD, to)
    }

    /// Moves a place that its modes keep where it is. Those of the folder are put back.
    fn opened_up(&self, name: &Path, to: &Path) -> io::Result<()> {
        let folder = self.path();
        let mode = fs::metadata(&folder)?.permissions();
        fs::set_permissions(&folder, Permissions::from_mode(mode.mode() | 0o700))?;
        let from = folder.join(name);
        let moved = open_for_owner(&from).and_then(|()| match self.rename(name, to) {
            Err(Errno::XDEV) => move_by_copy(&from, to),
            renamed => Ok(renamed?),
        });
        fs::set_permissions(&folder, mode)?;
        moved
    }
}

/// A folder moves to another only for who may write it.
fn open_for_owner(path: &Path) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    match found.is_dir() {
        true => fs::set_permissions(path, Permissions::from_mode(found.permissions().mode() | 0o700)),
        false => Ok(()),
    }
}

/// To another file system. Nothing is removed unless all of it was copied.
fn move_by_copy(from: &Path, to: &Path) -> io::Result<()> {
    copy(from, to)?;
    match from.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(from),
        false => fs::remove_file(from),
    }
}

/// Links as links; what is neither file, folder nor link holds nothing.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = from.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        return fs::copy(from, to).map(drop);
    }
    if kind.is_dir() {
        open_for_owner(from)?;
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_folder_has_its_links_and_is_gone_from_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::write(from.join("deep/file"), "x").unwrap();
        symlink("/nowhere", from.join("link")).unwrap();
        move_by_copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("deep/file")).unwrap(), "x");
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("/nowhere"));
        assert!(!from.exists());
    }
}
