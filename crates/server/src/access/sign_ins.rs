//! Browsers that are signed in. They stay so when the server is started again.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use charla::private_file;
use serde::{Deserialize, Serialize};

use super::secrets::{Digest, Secret};

/// How long a browser stays signed in.
pub(super) const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// A browser that is signed in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SignIn {
    user: String,
    /// Until when, in seconds since 1970.
    until: u64,
}

/// The sign-ins by the hash of their secret, in a file that only the user reads.
pub(super) struct SignIns {
    path: PathBuf,
    known: Mutex<BTreeMap<String, SignIn>>,
}

impl SignIns {
    pub(super) fn read(path: PathBuf) -> io::Result<Self> {
        let known = match std::fs::read_to_string(&path) {
            // A file that cannot be understood signs nobody in.
            Ok(text) => serde_json::from_str(&text).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, known: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, SignIn>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who signed in with this secret.
    pub(super) fn user(&self, secret: &str) -> Option<String> {
        let known = self.known();
        let found = known.get(&Digest::of(secret).text())?;
        (found.until > now()).then(|| found.user.clone())
    }

    /// Signs somebody in.
    pub(super) fn add(&self, secret: &Secret, user: &str) -> io::Result<()> {
        let mut known = self.known();
        let until = now() + LIFETIME.as_secs();
        known.retain(|_, sign_in| sign_in.until > now());
        known.insert(secret.digest().text(), SignIn { user: user.to_owned(), until });
        self.write(&known)
    }

    /// Ends a sign-in.
    pub(super) fn remove(&self, secret: &str) -> io::Result<()> {
        let mut known = self.known();
        match known.remove(&Digest::of(secret).text()) {
            Some(_) => self.write(&known),
            None => Ok(()),
        }
    }

    fn write(&self, known: &BTreeMap<String, SignIn>) -> io::Result<()> {
        private_file::write(&self.path, &serde_json::to_string(known)?)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
