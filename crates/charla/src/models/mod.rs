//! Which model answers, and how it is spoken to.

pub mod bound;
pub mod choice;
pub mod directory;
mod keep_alive;
pub mod probe;
mod servers;
pub mod survey;
mod wiring;

pub use bound::BoundModel;
pub use choice::{Access, Chain, Choice, Chooser, PromptSize};
pub use directory::{Directory, Entry};
pub(crate) use keep_alive::begin as keep_loaded;
