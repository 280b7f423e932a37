//! Charla's tools.

mod arguments;
pub mod command;
pub mod edit;
pub mod process;
