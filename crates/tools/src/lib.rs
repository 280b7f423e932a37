//! Charla's tools.
//!
//! [`shell`] says what a command line would do, before anybody runs it.

pub mod shell;
