//! Where there are no sockets with an owner: nobody listens, and nobody is reached.

use std::path::Path;

use charla_proto::{BoxFuture, Inbox, Mailbox, PostError};

pub(crate) struct FileMailbox;

impl FileMailbox {
    pub(crate) fn new(_: &Path, _: &str) -> Self {
        Self
    }
}

impl Mailbox for FileMailbox {
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        Box::pin(std::future::ready(Err(unsupported())))
    }
}

pub(crate) async fn post(_: &Path, _: &str, _: &[u8]) -> Result<Vec<u8>, PostError> {
    Err(unsupported())
}

fn unsupported() -> PostError {
    PostError::Unreachable("this system has no sockets for it".to_owned())
}
