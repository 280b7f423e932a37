//! Drives any model through one common language.
//!
//! A vendor's format exists in exactly one module, [`wire`]: a pure codec that turns our request into
//! the vendor's JSON and the vendor's bytes into our chunks. One HTTP driver ([`net`], [`generator`]) does
//! connections, timeouts and framing for all of them; [`layers`] over it log, retry and fall back.
//! Endpoints and models are rows of data, so another compatible server is a row and not a module.
//!
//! Keys, addresses and options are handed in: the crate opens no file and reads no variable itself. Two things the
//! system is asked for when a connection first needs them: the certificate authorities it trusts (its store, or what
//! `SSL_CERT_FILE` and `SSL_CERT_DIR` name) and, with [`Proxy::System`], its proxies (`HTTPS_PROXY`, `NO_PROXY`, …).

pub mod catalog;
pub mod endpoint;
pub mod generator;
pub mod google;
pub mod history;
pub mod layers;
pub mod loopback;
pub mod net;
pub mod probe;
pub mod sse;
pub mod tokens;
pub mod wire;

pub use generator::{Credential, Generator, TokenSource};
pub use net::{Client, NetworkOptions, Proxy};
