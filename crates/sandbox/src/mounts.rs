//! A view of the files in which a workspace can be written, parts of it not, and some are not to be seen.
//!
//! Landlock gives rights to a folder and everything below, and cannot take them away again further down. So an
//! editing child gets a mount namespace: everything read-only, the workspace writable on top, protected places
//! read-only on top of that, hidden ones covered.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::error::SandboxError;
use crate::sys;
use crate::tree::Found;

const SYS_ADMIN: u64 = 1 << 21;

/// Everything the child needs to make the view.
#[derive(Debug)]
pub(crate) struct Mounts {
    user: Option<UserMaps>,
    writable: Vec<Writable>,
    protected: Vec<CString>,
    hidden_files: Vec<CString>,
    hidden_folders: Vec<CString>,
    cwd: CString,
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
        if found.hidden.len() + found.protected.len() > Self::MOST {
            return Err(SandboxError::Missing(format!(
                "the workspace has more than {} protected and secret places",
                Self::MOST
            )));
        }
        let (folders, files): (Vec<_>, Vec<_>) = found.hidden.iter().partition(|path| path.is_dir());
        let all =
            |paths: Vec<&PathBuf>| paths.into_iter().map(|path| c_path(path)).collect::<Result<Vec<_>, _>>();
        let one = |path| Ok(Writable { path: c_path(path)?, mount: AtomicI32::new(-1) });
        Ok(Self {
            user: (!is_administrator()).then(UserMaps::of_process),
            writable: writable.map(one).collect::<Result<_, SandboxError>>()?,
            protected: all(found.protected.iter().collect())?,
            hidden_files: all(files)?,
            hidden_folders: all(folders)?,
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
        for place in &self.writable {
            place.mount.store(sys::clone_mount(&place.path)?.into_raw_fd(), Ordering::Relaxed);
        }
        sys::make_everything_read_only()?;
        for place in &self.writable {
            sys::place_mount(place.take().as_fd(), &place.path)?;
        }
        for path in &self.protected {
            let Some(mount) = there(sys::clone_mount(path))? else { continue };
            sys::make_read_only(mount.as_fd())?;
            sys::place_mount(mount.as_fd(), path)?;
        }
        for path in &self.hidden_files {
            let cover = sys::clone_mount(c"/dev/null")?;
            sys::make_read_only(cover.as_fd())?;
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
