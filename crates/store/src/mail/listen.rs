//! The owner's end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use charla_proto::{BoxFuture, Inbox, MAX_POST, Mailbox, PostError, Posted};
use futures_util::Stream;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::{Address, Key, LINE_PATIENCE, REPLY_PATIENCE, as_line, check_peer, read_line};
use crate::owner::file_id;

/// How many commands are on their way at once; further ones wait to be accepted.
const AT_ONCE: usize = 32;
/// The wait after a connection could not be accepted, for want of descriptors say.
const PAUSE: Duration = Duration::from_millis(100);

/// Where the owner of a session takes commands.
pub(crate) struct FileMailbox {
    address: Address,
}

impl FileMailbox {
    pub(crate) fn new(sessions: &Path, session: &str) -> Self {
        Self { address: Address::new(sessions, session) }
    }
}

impl Mailbox for FileMailbox {
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        // Making a socket waits for nobody, so that it is done in place.
        let listening = Listening::begin(self.address.clone());
        let inbox = listening.map(|listening| Box::pin(listening) as Inbox);
        Box::pin(std::future::ready(inbox.map_err(|error| PostError::Unreachable(error.to_string()))))
    }
}

/// Commands as they come, until it is dropped.
struct Listening {
    commands: mpsc::Receiver<Posted>,
    accepting: JoinHandle<()>,
    address: Address,
    /// The socket at the address, so that another owner's is left alone.
    socket: (u64, u64),
}

impl Listening {
    fn begin(address: Address) -> io::Result<Self> {
        address.make_folder()?;
        let key = Key::made(&address.key)?;
        let reachable = address.reach()?;
        // What is there was left behind: the session is ours.
        match fs::remove_file(&reachable.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&reachable.path)?;
        fs::set_permissions(&reachable.path, Permissions::from_mode(0o600))?;
        let socket = file_id(&fs::symlink_metadata(&reachable.path)?);
        let (sender, commands) = mpsc::channel(AT_ONCE);
        let accepting = tokio::spawn(accept(listener, key, sender));
        Ok(Self { commands, accepting, address, socket })
    }
}

impl Stream for Listening {
    type Item = Posted;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<Posted>> {
        self.commands.poll_recv(context)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
        let Ok(reachable) = self.address.reach() else { return };
        if fs::symlink_metadata(&reachable.path).is_ok_and(|found| file_id(&found) == self.socket) {
            // Left behind, it is replaced by the next owner's.
            let _ = fs::remove_file(&reachable.path);
        }
    }
}

async fn accept(listener: UnixListener, key: Key, commands: mpsc::Sender<Posted>) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            _ = serving.join_next(), if !serving.is_empty() => {}
            accepted = listener.accept(), if serving.len() < AT_ONCE => match accepted {
                Ok((stream, _)) => drop(serving.spawn(serve(stream, key.clone(), commands.clone()))),
                Err(_) => sleep(PAUSE).await,
            },
        }
    }
}

/// Takes one command and gives back its reply. Whoever does not keep to the rules is hung up on.
async fn serve(mut stream: UnixStream, key: Key, commands: mpsc::Sender<Posted>) -> io::Result<()> {
    check_peer(&stream)?;
    let command = key.taken_from(&read_line(&mut stream, LINE_PATIENCE).await?)?;
    let (sender, reply) = oneshot::channel();
    let posted = Posted::new(command, move |answer| drop(sender.send(answer)));
    commands.send(posted).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
    let answer = timeout(REPLY_PATIENCE, reply).await?.map_err(io::Error::other)?;
    if answer.len() <= MAX_POST {
        timeout(LINE_PATIENCE, stream.write_all(&as_line(&answer))).await??;
    }
    Ok(())
}
