//! The sender's end.

use std::io;
use std::path::Path;

use charla_proto::{MAX_POST, PostError};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{Address, Key, LINE_PATIENCE, REPLY_PATIENCE, as_line, check_peer, read_line};

/// Hands a command to whoever listens for this session and gives back the reply.
pub(crate) async fn post(sessions: &Path, session: &str, command: &[u8]) -> Result<Vec<u8>, PostError> {
    if command.len() > MAX_POST {
        return Err(PostError::TooLarge(command.len()));
    }
    let unreachable = |error: io::Error| PostError::Unreachable(error.to_string());
    let sending = send(Address::new(sessions, session), as_line(command));
    let stream =
        timeout(LINE_PATIENCE, sending).await.map_err(io::Error::from).flatten().map_err(unreachable)?;
    let reply = read_line(stream, REPLY_PATIENCE + LINE_PATIENCE).await;
    reply.map_err(|error| PostError::NoReply(error.to_string()))
}

async fn send(address: Address, line: Vec<u8>) -> io::Result<UnixStream> {
    let reachable = address.reach()?;
    let mut stream = UnixStream::connect(&reachable.path).await?;
    check_peer(&stream)?;
    stream.write_all(&Key::read(&address.key)?.before(&line)).await?;
    Ok(stream)
}
