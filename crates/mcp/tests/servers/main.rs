//! Real servers: processes that are spoken to, killed, and hostile.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod hostile;
mod living;
mod world;
