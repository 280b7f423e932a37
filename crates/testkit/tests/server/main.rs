//! The server, byte by byte, with a client that knows no HTTP library.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod faults;
mod framing;
mod recorded;
mod refusals;
mod thoughts;
mod wires;
