//! Servers that nobody starts: they stay as they are when a session begins.

use std::future::pending;

use charla_mcp::{Http, HttpAnswer, HttpRequest, Launch, Pipes, ServerCommand};
use charla_proto::BoxFuture;

/// Starts no program and reaches no address.
pub(super) struct Unstarted;

impl Launch for Unstarted {
    fn launch<'a>(&'a self, _: &'a ServerCommand) -> BoxFuture<'a, Result<Pipes, String>> {
        Box::pin(pending())
    }
}

impl Http for Unstarted {
    fn send<'a>(&'a self, _: HttpRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, String>> {
        Box::pin(pending())
    }
}
