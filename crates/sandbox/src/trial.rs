//! Finds out what the kernel enforces.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use crate::child::before_exec;
use crate::error::SandboxError;
use crate::mounts::{c_path, is_administrator};
use crate::places::{Extra, Places, Treatment};
use crate::sandbox::{Cell, Sandbox};
use crate::sys;
use crate::wall::Wall;

/// The first version of Landlock that keeps files from being cut short.
const NEEDED: u32 = 3;
/// The first that keeps signals in.
const SIGNALS: u32 = 6;
/// A trial in a child answers through the error number of a program that could not be started. No error of the system
/// is as large.
const ANSWER: i32 = 1 << 20;

pub(crate) fn look() -> Wall {
    let landlock = sys::landlock_version().unwrap_or_default();
    let mut notes = Vec::new();
    if landlock == 0 {
        notes.push("the kernel has no Landlock, or it is switched off".to_owned());
    } else if landlock < NEEDED {
        notes.push(format!("Landlock has version {landlock} here, and {NEEDED} is needed"));
    } else if landlock < SIGNALS {
        notes.push("signals to other processes are not refused: that needs Landlock 6".to_owned());
    }
    let filters = sys::can_filter();
    if !filters {
        notes.push("system calls cannot be filtered (seccomp)".to_owned());
    }
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if !known {
        notes.push("there are no filters for this processor".to_owned());
    }
    let reading = landlock >= NEEDED && filters && known;
    let namespaces = is_administrator() || user_namespaces();
    if !namespaces {
        notes.push("mount namespaces are not allowed: editing commands ask".to_owned());
    }
    Wall { reading, editing: reading && namespaces, landlock, notes }
}

/// Whether the system's settings let a user have namespaces of its own.
fn user_namespaces() -> bool {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    number("/proc/sys/user/max_user_namespaces").is_some_and(|most| most > 0)
        && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
        && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").unwrap_or_default() == 0
}

pub(crate) fn prove() -> Wall {
    let mut wall = look();
    if !wall.reading {
        return wall;
    }
    let ground = match Ground::make() {
        Ok(ground) => ground,
        Err(error) => {
            let notes = vec![format!("it could not be tried: {error}")];
            return Wall { reading: false, editing: false, notes, ..wall };
        }
    };
    let sandbox = Sandbox::with_wall(ground.places(), wall.clone());
    let mut tried = |name: &str, cell: Result<Cell, SandboxError>, trials: Vec<Trial>| {
        let why = match cell {
            Ok(cell) => attempt(cell, trials),
            Err(error) => Some(error.to_string()),
        };
        why.inspect(|why| wall.notes.push(format!("{name} does not hold: {why}"))).is_none()
    };
    let temporary = sandbox.private().map(|private| private.temporary()).unwrap_or_default();
    let reading =
        tried("reading", sandbox.reading(&ground.root(), &Extra::default()), ground.reading(&temporary));
    let possible = sandbox.wall().editing && reading;
    let editing =
        possible && tried("editing", sandbox.editing(&ground.root(), &Extra::default()), ground.editing());
    Wall { reading, editing, ..wall }
}

/// Something a child tries, and whether it must succeed.
struct Trial {
    what: &'static str,
    attempt: Attempt,
    allowed: bool,
}

enum Attempt {
    Read(CString),
    Write(CString),
    Socket(i32),
}

impl Trial {
    /// Only system calls: runs after a fork.
    fn holds(&self) -> bool {
        let done = match &self.attempt {
            Attempt::Read(path) => sys::try_open(path, libc::O_RDONLY).is_ok(),
            Attempt::Write(path) => sys::try_open(path, libc::O_WRONLY | libc::O_CREAT).is_ok(),
            Attempt::Socket(family) => sys::try_socket(*family).is_ok(),
        };
        done == self.allowed
    }
}

/// Tries it in a child that never runs a program. What went wrong; nothing when all is as it should be.
fn attempt(cell: Cell, trials: Vec<Trial>) -> Option<String> {
    let trials = Arc::new(trials);
    let mut command = Command::new("/");
    command.current_dir("/").env_clear();
    cell.apply(&mut command);
    let tried = trials.clone();
    before_exec(&mut command, move || {
        let wrong = tried.iter().position(|trial| !trial.holds()).map_or(0, |index| index + 1);
        Err(io::Error::from_raw_os_error(ANSWER | i32::try_from(wrong).unwrap_or(i32::MAX)))
    });
    let error = match command.spawn() {
        Ok(mut child) => {
            // Not reached: a folder is no program.
            let _ = child.wait();
            return Some("a child ran that should not have".to_owned());
        }
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(ANSWER) => None,
        Some(answer) if answer & ANSWER != 0 => {
            let index = usize::try_from(answer & !ANSWER).unwrap_or_default();
            trials.get(index.wrapping_sub(1)).map(|trial| trial.what.to_owned())
        }
        _ => Some(error.to_string()),
    }
}

/// A small workspace to try things in; gone when dropped.
struct Ground {
    _removed: TempDir,
    folder: PathBuf,
}

impl Ground {
    fn make() -> io::Result<Self> {
        // A name that nobody can foresee: one that is taken would leave this machine without a wall.
        let made = tempfile::Builder::new().prefix("charla-trial-").tempdir()?;
        let ground = Self { folder: made.path().canonicalize()?, _removed: made };
        fs::create_dir_all(ground.root().join("protected"))?;
        fs::write(ground.root().join("plain"), "x")?;
        fs::write(ground.root().join("hidden"), "x")?;
        fs::write(ground.folder.join("outside"), "x")?;
        Ok(ground)
    }

    fn root(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn places(&self) -> Places {
        let treatment = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
            Some("protected") => Treatment::Protected { closed: true },
            Some("hidden") => Treatment::Hidden { guarded: false, denied: false },
            _ => Treatment::Plain,
        };
        Places {
            roots: vec![self.root()],
            home: None,
            temporary: self.folder.clone(),
            programs: Vec::new(),
            readable: Vec::new(),
            history: Vec::new(),
            secrets: Vec::new(),
            denied: Vec::new(),
            treatment: Arc::new(treatment),
        }
    }

    fn trials(&self, wanted: &[(&'static str, bool, bool, &Path)]) -> Vec<Trial> {
        let file = |(what, allowed, writes, name): &(&'static str, bool, bool, &Path)| {
            let path = c_path(&self.folder.join(name)).ok()?;
            let attempt = if *writes { Attempt::Write(path) } else { Attempt::Read(path) };
            Some(Trial { what, attempt, allowed: *allowed })
        };
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
        let sockets = families.map(|family| Trial {
            what: "a socket could be made",
            attempt: Attempt::Socket(family),
            allowed: false,
        });
        wanted.iter().filter_map(file).chain(sockets).collect()
    }

    fn reading(&self, temporary: &Path) -> Vec<Trial> {
        self.trials(&[
            ("the workspace could not be read", true, false, Path::new("workspace/plain")),
            ("a hidden file could be read", false, false, Path::new("workspace/hidden")),
            ("a file outside could be read", false, false, Path::new("outside")),
            ("the workspace could be written", false, true, Path::new("workspace/plain")),
            ("a file could be made", false, true, Path::new("workspace/new")),
            ("the temporary folder could not be written", true, true, &temporary.join("new")),
        ])
    }

    fn editing(&self) -> Vec<Trial> {
        self.trials(&[
            ("the workspace could not be written", true, true, Path::new("workspace/new")),
            ("a protected place could be written", false, true, Path::new("workspace/protected/new")),
            ("a file outside could be read", false, false, Path::new("outside")),
            ("a file outside could be written", false, true, Path::new("outside")),
        ])
    }
}
