//! The file and search tools, called as the scheduler calls them, on real files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bench;
mod changing;
mod edits;
mod hostile;
mod reading;
mod rules;
mod searching;
mod swapped;
