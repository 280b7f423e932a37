//! The binary `charla`, as a library so that it can be tested without a process.
//!
//! This crate is the only one that reads arguments, environment, home and standard input. It finds out
//! what was meant, builds a generator from settings and keys, and shows a turn's events. Whatever decides
//! something about a conversation belongs into `charla-core` instead.

pub mod args;
pub mod environment;
pub mod exit;
pub mod headless;
pub mod intent;
pub mod keys;
pub mod nearest;
pub mod printer;
pub mod settings;
pub mod wiring;
