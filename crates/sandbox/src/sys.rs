//! System calls for a child between fork and exec. None of them allocates or takes a lock.

#![expect(unsafe_code, reason = "these system calls have no safe wrapper that may be used after a fork")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_long, c_uint, c_ulong};

/// The capabilities of a process as `capset` takes them.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// The argument of `mount_setattr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const ATTRIBUTE_READ_ONLY: u64 = 1;
const ATTRIBUTE_NO_DEVICES: u64 = 4;
const OPEN_TREE_CLONE: c_uint = 1;
const RECURSIVE: c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
const FSCONFIG_CMD_CREATE: c_uint = 6;

/// Ends the process at once, without a word.
pub(crate) fn leave() -> ! {
    // SAFETY: it does not come back, and runs nothing of ours.
    unsafe { libc::_exit(0) }
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A descriptor that a call has just given us.
fn owned(result: c_long) -> io::Result<OwnedFd> {
    let raw = c_int::try_from(checked(result)?).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the call gave it to us, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// A session of its own: no terminal.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: takes no arguments.
    checked(c_long::from(unsafe { libc::setsid() })).map(drop)
}

/// Every descriptor but the first three is closed by the next exec. Kernels before 5.11 cannot do that, nor can they
/// confine; there, those of ours that know of it are closed.
pub(crate) fn close_others_on_exec() {
    const CLOSE_ON_EXEC: c_uint = 4;
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_close_range, 3 as c_uint, c_uint::MAX, CLOSE_ON_EXEC) };
}

/// No program that is run from now on gives more rights than there are.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(c_long::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })).map(drop)
}

/// Whether other processes of the user may look into this one.
pub(crate) fn set_dumpable(dumpable: bool) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(c_long::from(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, c_ulong::from(dumpable), 0, 0, 0) }))
        .map(drop)
}

fn header() -> CapabilityHeader {
    CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 }
}

fn capabilities() -> io::Result<[CapabilityData; 2]> {
    let (mut header, mut data) = (header(), [CapabilityData::default(); 2]);
    // SAFETY: both point to structures of the form that version 3 asks for.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) })?;
    Ok(data)
}

/// The capabilities in effect, one bit each.
pub(crate) fn effective_capabilities() -> u64 {
    let [low, high] = capabilities().unwrap_or_default();
    u64::from(low.effective) | u64::from(high.effective) << 32
}

/// Gives up every capability but these.
pub(crate) fn keep_capabilities(keep: u64) -> io::Result<()> {
    let mut data = capabilities()?;
    for (half, keep) in data.iter_mut().zip([keep & u64::from(u32::MAX), keep >> 32]) {
        // Both halves fit.
        let keep = u32::try_from(keep).unwrap_or_default();
        half.permitted &= keep;
        half.effective &= keep;
        half.inheritable = 0;
    }
    let mut header = header();
    // SAFETY: both point to structures of the form that version 3 asks for.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr()) }).map(drop)
}

/// The version of Landlock; an error where there is none.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const VERSION: c_uint = 1;
    let nothing = ptr::null::<u8>();
    // SAFETY: with this flag nothing is read.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    Ok(u32::try_from(checked(version)?).unwrap_or_default())
}

/// Holds this process to a ruleset.
pub(crate) fn restrict_files(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0 as c_uint) })
        .map(drop)
}

/// Whether system calls can be filtered.
pub(crate) fn can_filter() -> bool {
    const GET_ACTION_AVAIL: c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: points to a number, as this operation asks for.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0 as c_uint, &raw const action) };
    answer == 0
}

/// Filters the system calls of this process from now on.
pub(crate) fn restrict_calls(program: &[libc::sock_filter]) -> io::Result<()> {
    const SET_MODE_FILTER: c_uint = 1;
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: points to a program of that length; the kernel copies it.
    checked(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0 as c_uint, &raw const program) })
        .map(drop)
}

/// Namespaces of its own for this process.
pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: takes a number; the process has one thread, and its memory is not shared.
    checked(c_long::from(unsafe { libc::unshare(flags) })).map(drop)
}

/// Writes a small file of the kernel's at once.
pub(crate) fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    let file = owned(c_long::from(file))?;
    // SAFETY: points to as many bytes as it says.
    let written = unsafe { libc::write(file.as_raw_fd(), content.as_ptr().cast(), content.len()) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens a file as `flags` say, to see whether that is possible.
pub(crate) fn try_open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the path ends with a zero byte.
    owned(c_long::from(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600 as c_uint) }))
}

/// Makes a socket of a family, to see whether that is possible.
pub(crate) fn try_socket(family: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    owned(c_long::from(unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) }))
}

/// Changes the working folder.
pub(crate) fn change_folder(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte.
    checked(c_long::from(unsafe { libc::chdir(path.as_ptr()) })).map(drop)
}

/// No mount that is made here is seen elsewhere.
pub(crate) fn make_mounts_private() -> io::Result<()> {
    let nothing = ptr::null();
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: with these flags only the target is read, and it ends with a zero byte.
    let done = unsafe { libc::mount(nothing, c"/".as_ptr(), nothing, flags, nothing.cast()) };
    checked(c_long::from(done)).map(drop)
}

/// A second mount of a file or folder, with everything mounted below it, not yet to be seen anywhere.
pub(crate) fn clone_mount(path: &CStr) -> io::Result<OwnedFd> {
    let flags = OPEN_TREE_CLONE | RECURSIVE | libc::O_CLOEXEC as c_uint | libc::AT_SYMLINK_NOFOLLOW as c_uint;
    // SAFETY: the path ends with a zero byte.
    owned(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) })
}

/// An empty folder in memory, not yet to be seen anywhere.
pub(crate) fn empty_mount() -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: c_uint = 1;
    let nothing = ptr::null::<u8>();
    // SAFETY: the name ends with a zero byte.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), CLOSE_ON_EXEC) })?;
    let raw = context.as_raw_fd();
    // SAFETY: this command takes neither key nor value.
    checked(unsafe {
        libc::syscall(libc::SYS_fsconfig, raw, FSCONFIG_CMD_CREATE, nothing, nothing, 0 as c_int)
    })?;
    // SAFETY: takes numbers only.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, raw, CLOSE_ON_EXEC, ATTRIBUTE_READ_ONLY as c_uint) })
}

/// Shows a mount at a place.
pub(crate) fn place_mount(mount: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    let (from, empty) = (mount.as_raw_fd(), c"".as_ptr());
    // SAFETY: both paths end with a zero byte.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            from,
            empty,
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    checked(done).map(drop)
}

fn set_attributes(folder: c_int, path: &CStr, flags: c_uint, set: u64) -> io::Result<()> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let size = size_of::<MountAttributes>();
    // SAFETY: the path ends with a zero byte, and the structure is as large as it says.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, folder, path.as_ptr(), flags, &raw const attributes, size)
    };
    checked(done).map(drop)
}

/// Nothing can be written through a mount, nor through what is mounted below it.
pub(crate) fn make_read_only(mount: BorrowedFd<'_>) -> io::Result<()> {
    let flags = RECURSIVE | libc::AT_EMPTY_PATH as c_uint;
    set_attributes(mount.as_raw_fd(), c"", flags, ATTRIBUTE_READ_ONLY)
}

/// A device that is mounted so cannot be opened, whoever tries.
pub(crate) fn make_closed(device: BorrowedFd<'_>) -> io::Result<()> {
    let set = ATTRIBUTE_READ_ONLY | ATTRIBUTE_NO_DEVICES;
    set_attributes(device.as_raw_fd(), c"", libc::AT_EMPTY_PATH as c_uint, set)
}

/// Nothing can be written anywhere.
pub(crate) fn make_everything_read_only() -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, c"/", RECURSIVE, ATTRIBUTE_READ_ONLY)
}
