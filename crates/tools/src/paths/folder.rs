//! Folders and files opened without following a link.
//!
//! A path is resolved and judged as text; minutes or microseconds later it is opened here, in one step of the
//! kernel's, and a link anywhere on the way is an error. So what is opened is what was judged, or nothing,
//! whoever exchanges folders for links meanwhile. What is done in a folder is done relative to its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

/// A folder is opened to do something in it, which needs no right to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// A pipe may have taken a file's place: opening it must not wait for its other end.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// An open folder.
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder at an absolute path in which nothing may be a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, FOLDER)?))
    }

    /// The folder that a file is in, and the file's name.
    pub(crate) fn of(path: &Path) -> io::Result<(Self, &OsStr)> {
        let (folder, name) = split(path)?;
        Ok((Self::open(folder)?, name))
    }

    /// The same, with the folders that are missing made.
    pub(crate) fn made_for(path: &Path) -> io::Result<(Self, &OsStr)> {
        let (folder, name) = split(path)?;
        Ok((Self::made(folder)?, name))
    }

    fn made(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (above, name) = split(path)?;
                let above = Self::made(above)?;
                match rustix::fs::mkdirat(&above.0, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                let folder = rustix::fs::openat(&above.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
                Ok(Self(folder.map_err(|error| as_link(&above.0, name, error))?))
            }
            opened => opened,
        }
    }

    /// What is there under a name; a link is a link.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Where a link leads.
    pub(crate) fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// The names in it.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Dir::new(listed)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// A regular file in it, for reading.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
        regular(self.open_file(name, OFlags::RDONLY)?)
    }

    fn open_file(&self, name: &OsStr, how: OFlags) -> io::Result<OwnedFd> {
        let opened = rustix::fs::openat(&self.0, name, FILE | how, Mode::from_raw_mode(0o666));
        opened.map_err(io::Error::from)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Makes a file whole or not at all. Fails when something has that name already.
    pub(crate) fn create(
        &self,
        name: &OsStr,
        bytes: &[u8],
        permissions: Option<Permissions>,
    ) -> io::Result<()> {
        let file = Unnamed::new(self, bytes, permissions)?;
        match rustix::fs::renameat_with(&self.0, &file.name, &self.0, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                file.keep();
                Ok(())
            }
            // The file system does not know how: a second name does the same, and the first one goes.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                Ok(rustix::fs::linkat(&self.0, &file.name, &self.0, name, AtFlags::empty())?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a file another content, whole or not at all. Its permissions stay.
    pub(crate) fn overwrite(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let now = self.look(name)?;
        if !FileType::from_raw_mode(now.st_mode).is_file() {
            return Err(no_regular_file());
        }
        if must_stay_in_place(&now) {
            return self.write_in_place(name, bytes);
        }
        #[allow(clippy::useless_conversion, reason = "its type differs between systems")]
        let permissions = Permissions::from_mode(now.st_mode.into());
        match Unnamed::new(self, bytes, Some(permissions)) {
            Ok(file) => {
                rustix::fs::renameat(&self.0, &file.name, &self.0, name)?;
                file.keep();
                Ok(())
            }
            // The file may be written though its folder may not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.write_in_place(name, bytes),
            Err(error) => Err(error),
        }
    }

    fn write_in_place(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let mut file = regular(self.open_file(name, OFlags::WRONLY)?)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()
    }
}

/// A whole file beside its place, to be given its name once it is complete; gone if it never is.
struct Unnamed<'a> {
    folder: &'a Folder,
    name: OsString,
    kept: bool,
}

impl<'a> Unnamed<'a> {
    fn new(folder: &'a Folder, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<Self> {
        let name = OsString::from(format!(".charla-{}", uuid::Uuid::new_v4().simple()));
        let opened = folder.open_file(&name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let file = Self { folder, name, kept: false };
        let mut opened = File::from(opened);
        opened.write_all(bytes)?;
        if let Some(permissions) = permissions {
            opened.set_permissions(permissions)?;
        }
        opened.sync_all()?;
        Ok(file)
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Unnamed<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// Opens a regular file at an absolute path in which nothing may be a link. Never waits.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular(open(path, FILE)?)
}

/// True when an absolute path leads to something and nothing in it is a link, as far as the kernel knows by heart: no file
/// system is waited for.
#[cfg(target_os = "linux")]
pub(crate) fn is_known_without_links(path: &Path) -> bool {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
    rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
}

/// Other kernels cannot be asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_known_without_links(_: &Path) -> bool {
    false
}

/// True when something was refused because a link is on the way.
pub(crate) fn is_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

fn regular(file: OwnedFd) -> io::Result<File> {
    let file = File::from(file);
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_regular_file()) }
}

fn no_regular_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "no regular file")
}

#[cfg(target_os = "linux")]
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        // An old kernel, or a container that does not know the call and forbids it.
        Err(Errno::NOSYS | Errno::PERM) => walk(path, flags),
        opened => Ok(opened?),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    walk(path, flags)
}

/// The same, folder by folder.
fn walk(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => names.push(name),
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL.into()),
        }
    }
    let mut at = rustix::fs::openat(CWD, "/", FOLDER, Mode::empty())?;
    let Some((last, folders)) = names.split_last() else { return Ok(at) };
    for name in folders {
        let next = rustix::fs::openat(&at, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        at = next.map_err(|error| as_link(&at, name, error))?;
    }
    let last = rustix::fs::openat(&at, *last, flags | OFlags::NOFOLLOW, Mode::empty())
        .map_err(|error| as_link(&at, last, error))?;
    Ok(last)
}

/// A link that is opened as a folder is refused as no folder; the kernel's own walk says that it is a link.
fn as_link(folder: impl AsFd, name: &OsStr, error: Errno) -> io::Error {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let link = found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_symlink());
    if error == Errno::NOTDIR && link { Errno::LOOP.into() } else { error.into() }
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(no_regular_file)
}

/// A file with several names, or of another owner, would lose them if another took its place.
fn must_stay_in_place(data: &Stat) -> bool {
    data.st_nlink > 1 || data.st_uid != rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests;
