//! The binary as people and scripts run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod answers;
mod commands;
mod mistakes;
mod place;
