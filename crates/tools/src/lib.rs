//! Charla's tools.

pub mod edit;
pub mod process;
