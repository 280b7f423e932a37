//! Servers that a test can rely on.

use std::time::Duration;

use crate::config::{Endpoint, Reach, ServerConfig};

/// A server of this name that nobody reaches.
pub(crate) fn config(name: &str) -> ServerConfig {
    let endpoint =
        Endpoint { url: "http://127.0.0.1:9/".to_owned(), headers: Vec::new(), form: Default::default() };
    ServerConfig {
        name: name.to_owned(),
        reach: Reach::Http(endpoint),
        timeout: Duration::from_secs(30),
        include: None,
        exclude: Vec::new(),
    }
}
