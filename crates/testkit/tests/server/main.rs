//! The server, byte by byte, with a client that knows no HTTP library.

mod client;
mod faults;
mod framing;
mod refusals;
mod thoughts;
mod wires;
