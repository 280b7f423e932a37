//! What the client needs from its program: processes and connections.

use std::any::Any;

use charla_proto::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::config::ServerCommand;

/// Starts the programs of servers.
pub trait Launch: Send + Sync {
    /// Starts one; in words why not.
    fn launch<'a>(&'a self, command: &'a ServerCommand) -> BoxFuture<'a, Result<Pipes, String>>;
}

/// A program that was started.
pub struct Pipes {
    /// What it reads.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it says.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// What it complains about.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// Ends it, with everything it started, when dropped.
    pub holder: Box<dyn Any + Send>,
}

/// Speaks HTTP.
pub trait Http: Send + Sync {
    /// Sends a request and gives what comes back; in words why nothing did. Dropping an answer ends it.
    fn send<'a>(&'a self, request: HttpRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, String>>;
}

/// A request over HTTP.
pub struct HttpRequest<'a> {
    /// What is done there.
    pub method: HttpMethod<'a>,
    /// The server, by its address in the settings: what a login is for.
    pub server: &'a str,
    /// The address that is spoken to.
    pub url: &'a str,
    /// Headers, beside those about content.
    pub headers: &'a [(String, String)],
}

/// What is done at an address.
#[derive(Clone, Copy)]
pub enum HttpMethod<'a> {
    /// Listens.
    Get,
    /// Sends this.
    Post(&'a Value),
}

/// What came back.
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The session that the server opened.
    pub session: Option<String>,
    /// What it says.
    pub body: HttpBody,
}

/// What an answer says.
pub enum HttpBody {
    /// One text, bounded.
    Whole(String),
    /// Events as they come. An `Err` is the last one.
    Events(BoxStream<'static, Result<HttpEvent, String>>),
}

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpEvent {
    /// Its name; empty when it has none.
    pub name: String,
    /// What it says.
    pub data: String,
}
