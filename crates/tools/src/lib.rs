//! Charla's tools.

mod arguments;
pub mod ask_user;
pub mod command;
pub mod discovery;
pub mod edit;
pub mod memory;
pub mod process;
pub mod web_fetch;
