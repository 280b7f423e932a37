//! Charla's engine.
//!
//! [`session`] is where a conversation goes on: an [`Exchange`] with a model, the calls that come of it, and
//! again. Front ends subscribe and send commands; they decide nothing. [`policy`] decides what may run, [`undo`] knows what can be taken back.

pub mod chat;
pub mod compress;
pub mod exchange;
pub mod hooks;
pub mod loop_guard;
mod note;
pub mod policy;
pub mod prompt;
mod repetition;
pub mod replay;
pub mod scheduler;
pub mod session;
pub mod undo;

pub use chat::Chat;
pub use exchange::Exchange;
pub use loop_guard::LoopGuard;
pub use tokio_util::sync::CancellationToken;
