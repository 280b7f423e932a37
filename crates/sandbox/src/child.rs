//! What a child does between fork and exec.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::filter::Program;
use crate::mounts::Mounts;
use crate::sys;

/// What each process may use that nobody was asked about: seconds of a processor, bytes of memory of its own, bytes in a
/// file it writes, and no copy of its memory when it crashes. How many there are, whoever starts them counts.
pub(crate) const UNASKED_BOUNDS: &[(Resource, u64)] =
    &[(Resource::Cpu, 600), (Resource::Data, 8 << 30), (Resource::Fsize, 1 << 30), (Resource::Core, 0)];

/// Everything prepared for one child.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The view of the files it gets.
    pub(crate) mounts: Option<Mounts>,
    /// What keeps a child without confinement from undoing its view: no mount is changed under it.
    pub(crate) seal: Option<Arc<OwnedFd>>,
    /// What holds it in; absent for a child without confinement.
    pub(crate) limits: Option<Limits>,
}

/// What holds a child in.
#[derive(Debug)]
pub(crate) struct Limits {
    /// How much it may use; absent for one that a person agreed to.
    pub(crate) bounds: Option<&'static [(Resource, u64)]>,
    /// The capabilities it keeps, where it has any.
    pub(crate) capabilities: u64,
    /// The files it may touch.
    pub(crate) ruleset: Arc<OwnedFd>,
    /// The system calls it may make.
    pub(crate) program: Arc<Program>,
}

impl Steps {
    /// Confines the process that calls it. Only system calls: this runs after a fork, where another thread may
    /// have held any lock, the allocator's included.
    pub(crate) fn enter(&self) -> io::Result<()> {
        sys::new_session()?;
        sys::close_others_on_exec();
        if let Some(mounts) = &self.mounts {
            mounts.enter()?;
        }
        if let Some(seal) = &self.seal {
            sys::restrict_files(seal.as_fd())?;
        }
        if let Some(limits) = &self.limits {
            for (resource, most) in limits.bounds.unwrap_or_default() {
                bound(*resource, *most)?;
            }
            sys::no_new_privileges()?;
            sys::keep_capabilities(limits.capabilities)?;
            sys::restrict_files(limits.ruleset.as_fd())?;
            sys::restrict_calls(&limits.program)?;
        }
        Ok(())
    }
}

/// Lowers a limit; one that is lower already stays.
fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let held = getrlimit(resource).maximum.map_or(most, |held| held.min(most));
    setrlimit(resource, Rlimit { current: Some(held), maximum: Some(held) })?;
    Ok(())
}

/// Has a command's child call `hook` before it runs its program.
#[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
pub(crate) fn before_exec(
    command: &mut std::process::Command,
    hook: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) {
    use std::os::unix::process::CommandExt;
    let parent = rustix::process::getpid();
    let hook = move || {
        let done = hook();
        // Who has ended waits for nothing: a failure would be told to nobody, and noisily.
        if rustix::process::getppid() != Some(parent) {
            sys::leave();
        }
        done
    };
    // SAFETY: every hook of this crate makes system calls only, with memory that was made before the fork, and
    // the errors it gives back are numbers of the system's, which need no memory.
    unsafe { command.pre_exec(hook) };
}
