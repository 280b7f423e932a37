//! What opens the door to a provider.

pub mod google;
mod keys;

pub use keys::{FoundKey, KeyPlace, KeyRing, Keys};
