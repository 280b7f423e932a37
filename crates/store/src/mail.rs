//! Reaching a session's owner: a socket beside the sessions, one line of JSON each way.
//!
//! The socket is made when the owner listens. Its folder is open to its user only, and both ends look who the other
//! is. Everything has a limit in size and time, so that neither end can be held up by the other.
//!
//! The kernel does not keep the processes of tools from connecting to a socket of their user, wherever it is. It keeps them
//! from reading files of this folder: so who sends a command shows that it can.

mod key;
mod listen;
mod post;

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::{MAX_POST, content_hash};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::UnixStream;

use crate::make_private_folder;

use key::Key;
pub(crate) use listen::FileMailbox;
pub(crate) use post::post;

/// How long the other end may take to send or to take a line.
const LINE_PATIENCE: Duration = Duration::from_secs(5);
/// How long an owner may think about a command.
const REPLY_PATIENCE: Duration = Duration::from_secs(30);
/// The longest address that every system takes.
const MAX_ADDRESS: usize = 100;

/// Where a session's socket is, or would be.
#[derive(Clone, Debug)]
struct Address {
    folder: PathBuf,
    key: PathBuf,
    /// Short whatever the session's id.
    name: String,
}

/// An address as the kernel takes it.
struct Reachable {
    path: PathBuf,
    /// The path may lead through this descriptor.
    _folder: Option<File>,
}

impl Address {
    fn new(sessions: &Path, session: &str) -> Self {
        let name = content_hash(session.as_bytes()).chars().take(16).collect();
        Self { folder: sessions.join("run"), key: sessions.join("mail.key"), name }
    }

    /// The path, by way of the folder's descriptor where it is too long for a socket's address.
    fn reach(&self) -> io::Result<Reachable> {
        let path = self.folder.join(&self.name);
        if path.as_os_str().len() <= MAX_ADDRESS {
            return Ok(Reachable { path, _folder: None });
        }
        if !cfg!(target_os = "linux") {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path to its socket is too long"));
        }
        let folder = File::open(&self.folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(&self.name);
        Ok(Reachable { path, _folder: Some(folder) })
    }

    /// Makes the folder, open to us only.
    fn make_folder(&self) -> io::Result<()> {
        make_private_folder(&self.folder)?;
        let found = fs::symlink_metadata(&self.folder)?;
        if !found.is_dir() || found.uid() != our_uid() {
            let message = format!("{} is not a folder of ours", self.folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
}

fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// An error unless the other end is a process of our user.
fn check_peer(stream: &UnixStream) -> io::Result<()> {
    match stream.peer_cred()?.uid() == our_uid() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other end is another user's")),
    }
}

/// Reads one line of at most [`MAX_POST`] bytes and a key, without its end.
async fn read_line(stream: impl AsyncRead + Unpin, patience: Duration) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let reading = async {
        let most = (MAX_POST + Key::LENGTH) as u64 + 1;
        BufReader::new(stream.take(most)).read_until(b'\n', &mut line).await
    };
    tokio::time::timeout(patience, reading).await??;
    match line.pop() {
        Some(b'\n') => Ok(line),
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the line has no end")),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// JSON as one line. Between values a newline is as good as a space, and within them there is none.
fn as_line(json: &[u8]) -> Vec<u8> {
    let one_line = json.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte });
    one_line.chain([b'\n']).collect()
}
