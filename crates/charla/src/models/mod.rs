//! Which model answers, and how it is spoken to.

mod auth_type;
pub(crate) mod bound;
pub(crate) mod choice;
pub(crate) mod chooser;
pub(crate) mod directory;
mod keep_alive;
pub(crate) mod own;
pub(crate) mod planning;
mod prices;
pub mod probe;
mod recordings;
mod servers;
pub mod survey;
mod wiring;

pub(crate) use auth_type::check as check_auth_type;
pub(crate) use bound::BoundModel;
pub(crate) use choice::PromptSize;
pub use choice::{Access, Choice};
pub(crate) use chooser::{Chain, Chooser};
pub use directory::{Directory, Entry};
pub(crate) use keep_alive::begin as keep_loaded;
pub use prices::Prices;
