//! The model that is always there: llama.cpp as an engine that Charla sets up, starts and ends by itself.
//!
//! An [`Engine`] is made from [`EngineOptions`]. [`Engine::ensure`] installs what is missing ([`Store`]), joins
//! the engine that another process of the same user runs or starts one, and gives back the address, the key
//! and the window. Nothing outlives its users: the engine ends when the last process that uses it ends,
//! however that comes, and a process that has not asked for a while counts as gone.
//!
//! [`LocalServer`] asks servers that somebody else runs what they are and how large a window they really have.
//!
//! The crate touches the folder it is given and one child process, and speaks HTTP through the [`charla_proto::Fetch`]
//! it is handed. It reads no environment and no settings. The engine needs a Unix-like system.

mod engine;
mod error;
#[cfg(test)]
mod fake;
mod packages;
mod packing;
mod process;
mod server;
mod shared;
mod store;
mod window;

pub use engine::{Engine, EngineOptions, InUse, Model};
pub use error::LocalError;
pub use packages::WEIGHTS_NAME;
pub use server::{LocalServer, ServerFacts};
pub use store::{Installed, Pip, Progress, Report, Store};
pub use window::{ServerKind, Window};
