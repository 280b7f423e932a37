//! A view of the files in which a workspace can be written, parts of it not, and some are not to be seen.
//!
//! Landlock gives rights to a folder and everything below, and cannot take them away again further down. So an
//! editing child gets a mount namespace: everything read-only, the workspace writable on top, protected places
//! read-only on top of that, hidden ones covered.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::closed::Closed;
use crate::error::SandboxError;
use crate::sys;
use crate::tree::Found;

const SYS_ADMIN: u64 = 1 << 21;

/// Everything the child needs to make the view.
#[derive(Debug)]
pub(crate) struct Mounts {
    user: Option<UserMaps>,
    /// What can be written; absent where that is as it was.
    writable: Option<Vec<Writable>>,
    pinned: Vec<CString>,
    protected: Vec<CString>,
    hidden_files: Vec<CString>,
    hidden_folders: Vec<CString>,
    covers: Covers,
    cwd: CString,
}

/// How a file is kept from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// It is empty.
    Empty,
    /// It cannot be opened: whoever needs it is told so, and version control does not take it for changed.
    Closed,
}

/// The user and group that we are outside, in a user namespace.
#[derive(Debug)]
struct UserMaps {
    user: Vec<u8>,
    group: Vec<u8>,
}

/// A folder that stays writable. Its mount is kept here while all others are made read-only: after a fork
/// there is no memory to be had for a list.
#[derive(Debug)]
struct Writable {
    path: CString,
    mount: AtomicI32,
}

/// A path as the kernel takes it.
pub(crate) fn c_path(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SandboxError::path(path)(io::Error::from(io::ErrorKind::InvalidInput)))
}

/// True when mounts can be made without a user namespace.
pub(crate) fn is_administrator() -> bool {
    sys::effective_capabilities() & SYS_ADMIN != 0
}

impl Mounts {
    /// How many covers a view may have.
    pub(crate) const MOST: usize = 2_000;

    pub(crate) fn new<'a>(
        writable: impl Iterator<Item = &'a Path>,
        found: &Found,
        cwd: &Path,
    ) -> Result<Self, SandboxError> {
        let one = |path| Ok(Writable { path: c_path(path)?, mount: AtomicI32::new(-1) });
        let writable = writable.map(one).collect::<Result<_, SandboxError>>()?;
        let view = Self::covering(&found.hidden, &found.protected, cwd)?;
        Ok(Self { writable: Some(writable), ..view })
    }

    /// The same view, in which hidden files cannot be opened.
    pub(crate) fn refusing(self) -> Self {
        Self { covers: Covers::Closed, ..self }
    }

    /// A view in which everything is as it was, but for what is closed. What can be written beside that is left to others.
    pub(crate) fn closing(closed: &Closed, cwd: &Path) -> Result<Self, SandboxError> {
        let view = Self::covering(&closed.hidden, &closed.protected, cwd)?;
        Ok(Self { pinned: all(closed.pinned.iter())?, covers: Covers::Closed, ..view })
    }

    /// The same view with more that is closed.
    pub(crate) fn and_closing(self, closed: &Closed) -> Result<Self, SandboxError> {
        let more = Self::closing(closed, Path::new("/"))?;
        let joined = |mut one: Vec<CString>, other: Vec<CString>| {
            one.extend(other);
            one
        };
        Ok(Self {
            pinned: more.pinned,
            protected: joined(self.protected, more.protected),
            hidden_files: joined(self.hidden_files, more.hidden_files),
            hidden_folders: joined(self.hidden_folders, more.hidden_folders),
            covers: Covers::Closed,
            ..self
        })
    }

    fn covering(
        hidden: &BTreeSet<PathBuf>,
        protected: &BTreeSet<PathBuf>,
        cwd: &Path,
    ) -> Result<Self, SandboxError> {
        if hidden.len() + protected.len() > Self::MOST {
            return Err(SandboxError::Missing(format!(
                "the workspace has more than {} protected and secret places",
                Self::MOST
            )));
        }
        let (folders, files): (Vec<_>, Vec<_>) = hidden.iter().partition(|path| path.is_dir());
        Ok(Self {
            user: (!is_administrator()).then(UserMaps::of_process),
            writable: None,
            pinned: Vec::new(),
            protected: all(protected.iter())?,
            hidden_files: all(files.into_iter())?,
            hidden_folders: all(folders.into_iter())?,
            covers: Covers::Empty,
            cwd: c_path(cwd)?,
        })
    }

    /// Makes the view and goes into it. Only system calls.
    pub(crate) fn enter(&self) -> io::Result<()> {
        match &self.user {
            Some(maps) => {
                sys::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
                maps.write()?;
            }
            None => sys::unshare(libc::CLONE_NEWNS)?,
        }
        sys::make_mounts_private()?;
        if let Some(writable) = &self.writable {
            for place in writable {
                place.mount.store(sys::clone_mount(&place.path)?.into_raw_fd(), Ordering::Relaxed);
            }
            sys::make_everything_read_only()?;
            for place in writable {
                sys::place_mount(place.take().as_fd(), &place.path)?;
            }
        }
        for path in &self.pinned {
            let Some(mount) = there(sys::clone_mount(path))? else { continue };
            sys::place_mount(mount.as_fd(), path)?;
        }
        for path in &self.protected {
            let Some(mount) = there(sys::clone_mount(path))? else { continue };
            sys::make_read_only(mount.as_fd())?;
            sys::place_mount(mount.as_fd(), path)?;
        }
        for path in &self.hidden_files {
            let cover = sys::clone_mount(c"/dev/null")?;
            match self.covers {
                Covers::Empty => sys::make_read_only(cover.as_fd())?,
                Covers::Closed => sys::make_closed(cover.as_fd())?,
            }
            there(sys::place_mount(cover.as_fd(), path))?;
        }
        for path in &self.hidden_folders {
            there(sys::place_mount(sys::empty_mount()?.as_fd(), path))?;
        }
        // The folder we are in lies below the new mounts: go there again.
        sys::change_folder(&self.cwd)
    }
}

impl Writable {
    #[expect(unsafe_code, reason = "the descriptor was kept as a number")]
    fn take(&self) -> OwnedFd {
        let raw = self.mount.swap(-1, Ordering::Relaxed);
        // SAFETY: stored a moment ago by this process, which owned it, and taken once.
        unsafe { OwnedFd::from_raw_fd(raw) }
    }
}

fn all<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<CString>, SandboxError> {
    paths.map(|path| c_path(path)).collect()
}

/// What is gone by now needs no cover.
fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

impl UserMaps {
    fn of_process() -> Self {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self {
            user: format!("{user} {user} 1\n").into_bytes(),
            group: format!("{group} {group} 1\n").into_bytes(),
        }
    }

    fn write(&self) -> io::Result<()> {
        // A process that others may not look into may not write these files of its own.
        sys::set_dumpable(true)?;
        sys::write_file(c"/proc/self/setgroups", b"deny")?;
        sys::write_file(c"/proc/self/uid_map", &self.user)?;
        sys::write_file(c"/proc/self/gid_map", &self.group)?;
        sys::set_dumpable(false)
    }
}
