//! A server for tests: one answer for each path.

use charla_proto::{BoxFuture, Fetch, FetchAnswer, FetchRequest, LlmError};

use crate::LocalServer;

/// Paths and what is answered there; everything else is not found.
#[derive(Debug)]
pub(crate) struct Answers<'a>(pub(crate) &'a [(&'a str, &'a str)]);

impl Answers<'_> {
    pub(crate) fn server(&self) -> LocalServer<'_> {
        LocalServer { http: self, base_url: "http://here/v1", key: None }
    }
}

impl Fetch for Answers<'_> {
    fn fetch<'a>(&'a self, request: FetchRequest<'a>) -> BoxFuture<'a, Result<FetchAnswer, LlmError>> {
        let found = self.0.iter().find(|(path, _)| request.url.strip_prefix("http://here") == Some(path));
        let (status, body) = found.map_or((404, "{}"), |(_, body)| (200, *body));
        Box::pin(async move { Ok(FetchAnswer { status, body: body.into() }) })
    }
}
