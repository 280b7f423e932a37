//! Protected places that a child made which nobody has thought of: one that edits unasked, or that a broad rule allows.
//!
//! The kernel keeps a place from being written that is there; it has no rule for a name that is not there yet. So when the
//! child has ended, the workspace is looked through again, and what came into being is moved out of it. Nothing is lost:
//! somebody else may have made it at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, renameat};
use rustix::io::Errno;

use crate::error::SandboxError;
use crate::git_settings::Gits;
use crate::memory::Memory;
use crate::places::Places;
use crate::taken::Taken;
use crate::tree::{self, Folders, Found, Identity};

/// A folder's name in which moved places are kept. It has no lock, so no session sweeps it away.
const PREFIX: &str = "charla-kept-";

/// The protected places of a workspace before a child that may not make any.
#[derive(Debug)]
pub struct Arrivals {
    places: Places,
    memory: Arc<Memory>,
    before: BTreeMap<PathBuf, Identity>,
    may: May,
}

/// What a child may make all the same.
#[derive(Debug)]
enum May {
    /// Nothing, for one that edits unasked.
    Nothing,
    /// Repositories whose settings run nothing, with all that is in their new folders, for one that a broad rule allows.
    /// The folders are those that were there.
    Repositories { folders: Folders },
}

impl Arrivals {
    /// Behind a child that edits unasked.
    pub(crate) fn of_editing(places: &Places, memory: Arc<Memory>, found: Found) -> Self {
        Self { places: places.clone(), memory, before: found.guarded, may: May::Nothing }
    }

    /// Behind a child that nothing but a broad rule allows.
    pub(crate) fn of_broad(places: &Places, memory: Arc<Memory>, found: Found) -> Self {
        let mut before = Gits::of(&found.gits, &places.roots, &places.history).settings();
        before.extend(found.guarded);
        Self { places: places.clone(), memory, before, may: May::Repositories { folders: found.folders } }
    }

    /// True when nothing of the child may run on. What is left of others may be looked behind again.
    pub fn leaves_none(&self) -> bool {
        matches!(self.may, May::Nothing)
    }

    /// Moves every protected place out of the workspace that was not there before. Looks through the workspace, so it
    /// blocks for some milliseconds when that is large.
    pub fn take_out(&self) -> Result<Vec<Taken>, SandboxError> {
        let after = tree::look_again(&self.places, &self.memory)?;
        let new = match &self.may {
            May::Nothing => self.unknown(&after.guarded).cloned().collect(),
            May::Repositories { folders } => self.beside_repositories(&after, folders),
        };
        let mut kept = Kept { place: &self.places.temporary, folder: None, count: 0 };
        let take = |path: PathBuf| Taken {
            to: self.take(&path, &mut kept).map_err(|error| error.to_string()),
            from: path,
        };
        Ok(new.into_iter().map(take).collect())
    }

    /// Those that the child may have made.
    fn unknown<'a>(&self, after: &'a BTreeMap<PathBuf, Identity>) -> impl Iterator<Item = &'a PathBuf> {
        after.iter().filter(|(path, found)| !self.knows(path, found)).map(|(path, _)| path)
    }

    /// What came and is neither a repository that runs nothing nor in the new folder of one.
    fn beside_repositories(&self, after: &Found, folders: &Folders) -> Vec<PathBuf> {
        let gits = Gits::of(&after.gits, &self.places.roots, &self.places.history);
        let settings = gits.settings();
        let new: Vec<&PathBuf> = self.unknown(&after.guarded).collect();
        let is_git =
            |path: &Path| after.gits.contains(path) || path.ends_with(".git") && gits.is_harmless(path);
        let tops =
            new.iter().filter(|path| path.ends_with(".git") && is_git(path)).filter_map(|git| git.parent());
        let fresh: Vec<&Path> = tops.filter(|top| !folders.has(top)).collect();
        // A folder of git's stays, and so does what makes it one: its settings are looked at by themselves.
        let stays = |path: &PathBuf| {
            is_git(path)
                || path.ends_with("HEAD") && path.parent().is_some_and(|folder| after.gits.contains(folder))
                || !path.ends_with(".git") && fresh.iter().any(|folder| path.starts_with(folder))
        };
        let places = new.iter().copied().filter(|path| !stays(path));
        let all = places.chain(self.unknown(&settings).filter(|path| !gits.is_harmless(path)));
        all.cloned().collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }

    /// True for a place that the child cannot have made: it stands where it stood, or was moved with its folder.
    fn knows(&self, path: &Path, found: &Identity) -> bool {
        let stays =
            self.before.get(path).is_some_and(|old| old.parent == found.parent && old.link == found.link);
        stays || self.before.values().any(|old| old.is_moved_to(found))
    }

    fn take(&self, path: &Path, kept: &mut Kept) -> io::Result<PathBuf> {
        let outside = || io::Error::from(io::ErrorKind::InvalidInput);
        let mut roots = self.places.roots.iter().chain(&self.places.history);
        let root = roots.find(|root| path.starts_with(root)).ok_or_else(outside)?;
        // What lies behind a link is left alone: the link is what came.
        let mut above: Vec<&Path> = path.ancestors().take_while(|above| above != root).collect();
        above.reverse();
        let path = above.into_iter().find(|above| above.is_symlink()).unwrap_or(path);
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
