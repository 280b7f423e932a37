//! Systems without a sandbox: nothing holds, and nothing that needs it is started.

use std::path::Path;
use std::process::Command;

use charla_proto::Confinement;

use crate::error::SandboxError;
use crate::places::{Bounds, Extra, Places};
use crate::taken::Taken;
use crate::wall::Wall;

/// Starts children without confining them.
#[derive(Debug)]
pub struct Sandbox {
    wall: Wall,
    bounds: Option<Bounds>,
}

/// No confinement, ready for one child.
#[derive(Debug)]
pub struct Cell;

/// Nobody is looked behind.
#[derive(Debug)]
pub struct Arrivals;

impl Arrivals {
    /// There is no such child.
    pub fn leaves_none(&self) -> bool {
        false
    }

    /// Nothing to be moved.
    pub fn take_out(&self) -> Result<Vec<Taken>, SandboxError> {
        Ok(Vec::new())
    }
}

impl Cell {
    /// There are none.
    pub fn arrivals(&mut self) -> Option<Arrivals> {
        None
    }

    /// There is none.
    pub fn temporary(&self) -> Option<std::path::PathBuf> {
        None
    }

    /// There is none.
    pub fn attributes(&self) -> Option<std::path::PathBuf> {
        None
    }

    /// A session of its own, without a terminal, is all there is.
    pub fn apply(self, command: &mut Command) {
        #[cfg(unix)]
        own_session(command);
        #[cfg(not(unix))]
        let _ = command;
    }
}

impl Sandbox {
    /// For children that work in these places.
    pub fn new(places: Places) -> Self {
        Self::with_wall(places, Wall::look())
    }

    /// As [`Sandbox::new`].
    pub fn with_wall(_places: Places, wall: Wall) -> Self {
        Self { wall: Wall { reading: false, editing: false, ..wall }, bounds: None }
    }

    /// The same for somebody whose own word does not reach beyond the workspace: nothing is started for them.
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds: Some(bounds), ..self }
    }

    /// Whoever agrees to something here agrees to it within these bounds.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// What this machine was seen to enforce: nothing.
    pub fn proven(&self) -> &Wall {
        &self.wall
    }

    /// What this machine offers: nothing.
    pub fn wall(&self) -> &Wall {
        &self.wall
    }

    /// Files are known by their names.
    pub fn first_name(&self, _path: &Path) -> Option<std::path::PathBuf> {
        None
    }

    /// Reading and editing are refused, the others are not confined.
    pub fn prepare(
        &self,
        confinement: Confinement,
        _cwd: &Path,
        _extra: &Extra,
    ) -> Result<Cell, SandboxError> {
        match confinement {
            Confinement::Open | Confinement::Asked if self.bounds.is_none() => Ok(Cell),
            _ => Err(SandboxError::Missing(self.wall.notes.join("; "))),
        }
    }
}

/// Has a command's child leave the terminal, on which it could draw a question of ours, and read the answer.
#[cfg(unix)]
#[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
fn own_session(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let hook = || {
        // SAFETY: it takes nothing and touches no memory.
        match unsafe { libc::setsid() } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: the hook makes one system call, and its error is a number of the system's, which needs no memory.
    unsafe { command.pre_exec(hook) };
}

/// Nothing to be done.
pub fn hide_process() {}
