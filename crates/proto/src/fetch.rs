//! The port through which a crate without an HTTP client asks a server something small.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::{BoxFuture, LlmError};

/// Asks HTTP servers and takes whole answers. Redirects are answers like any other.
pub trait Fetch: fmt::Debug + Send + Sync {
    /// One exchange; an error means that there was no whole answer. Dropping the future ends it.
    fn fetch<'a>(&'a self, request: FetchRequest<'a>) -> BoxFuture<'a, Result<FetchAnswer, LlmError>>;
}

/// A plain HTTP request.
#[derive(Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The whole address, with its scheme.
    pub url: &'a str,
    /// Sent as a bearer token.
    pub key: Option<&'a str>,
    /// JSON to post; without it the request is a GET.
    pub body: Option<&'a Value>,
    /// How long the whole exchange may take.
    pub limit: Duration,
    /// The longest answer that is taken.
    pub most_bytes: usize,
}

/// An answer with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}
