//! The binary as people and scripts run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod answers;
mod bad_input;
mod commands;
mod engine;
mod faults;
mod mistakes;
mod place;
