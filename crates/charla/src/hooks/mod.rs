//! Hooks: programs of the user that run at points of a session, by Gemini CLI's events and JSON.
//!
//! [`HookSet`] is what is configured, from the settings and whatever else brings hooks; `HookRunner` runs them for one
//! session. What a session does with their answers is the session's: see [`charla_core::hooks`].

mod decision;
mod input;
mod list;
mod merge;
mod output;
mod places;
mod runner;
mod set;

pub use list::{HookStanding, listed};
pub(crate) use runner::HookRunner;
pub use set::{Hook, HookSet};
