//! Drives any model through one common language.
//!
//! A vendor's format exists in exactly one module, [`wire`]: a pure codec that turns our request into
//! the vendor's JSON and the vendor's bytes into our chunks. One HTTP driver ([`net`], [`generator`]) does
//! connections, timeouts and framing for all of them; [`layers`] over it log, retry and fall back.
//! Endpoints and models are rows of data, so another compatible server is a row and not a module.
//!
//! The crate never reads the environment or the disk: keys and addresses are handed in.

pub mod catalog;
pub mod endpoint;
pub mod generator;
pub mod google;
pub mod history;
pub mod layers;
pub mod net;
pub mod probe;
pub mod sse;
pub mod tokens;
pub mod wire;

pub use generator::{Credential, Generator, TokenSource};
pub use net::{Client, NetworkOptions, Proxy};
