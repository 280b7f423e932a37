//! Runs child processes in a sandbox that the Linux kernel enforces.
//!
//! What a command line says is no proof of what it does. So every child process of a tool gets a
//! [`Confinement`], and the kernel holds it to that: Landlock for files, TCP and signals, seccomp for other
//! sockets and for calls that reach around files, a mount namespace where parts of a writable folder stay
//! protected; and for every child a session of its own without a terminal and no descriptor but 0, 1 and 2.
//!
//! A [`Sandbox`] belongs to one session and knows its [`Places`]. [`Sandbox::prepare`] does all the work that
//! needs memory (looking for secrets, opening folders, compiling filters) and gives a [`Cell`], which is put on one
//! [`std::process::Command`]. What a child made and may not make, [`Arrivals`] take out afterwards. [`Wall`] says what holds on this machine; [`Wall::prove`] tries it.
//!
//! Between fork and exec only system calls are made, with what was prepared before. We do not start a
//! launcher program first: that would cost a second exec for every command, and a program that embeds the library
//! has no launcher to offer. It is the reason why this crate, alone, uses `unsafe`; it is in `child` (the hook),
//! and in `sys` (the calls).

mod denial;
mod error;
mod git_follow;
mod places;
mod taken;
mod wall;
mod words;

#[cfg(target_os = "linux")]
mod arrivals;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod closed;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod git_settings;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod private;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod twins;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere as sandbox;
#[cfg(not(target_os = "linux"))]
use elsewhere as arrivals;

pub use arrivals::Arrivals;
pub use charla_proto::{Confinement, Consent};
pub use denial::denial;
pub use error::SandboxError;
pub use git_follow::Followed;
pub use places::{BUILD_CACHES, Bounds, Extra, Places, RUNS_LATER, SYSTEM_FOLDERS, TOOL_CHAINS, Treatment};
pub use sandbox::{Cell, Sandbox, hide_process};
pub use taken::Taken;
pub use wall::Wall;
pub use words::isolation;
