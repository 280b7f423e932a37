//! The key that all nodes of a database have, what is encrypted with it, and what else is made of it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use charla::private_file;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::access::Secret;

/// What the key of requests is made for; texts are encrypted with the key itself.
const REQUESTS: &[u8] = b"charla: requests that were sent again";

/// Encrypts texts, each bound to what it is.
pub(crate) struct Seal {
    texts: LessSafeKey,
    requests: hmac::Key,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    /// Others have it, too.
    #[error(
        "others than its owner may use the file (its mode is {0:04o}), and whoever has the key reads what users keep in the database"
    )]
    Open(u32),
    /// It cannot be read, or is none.
    #[error(transparent)]
    Unusable(#[from] io::Error),
}

/// An error where anybody but its owner may read or write the file.
#[cfg(unix)]
fn must_be_private(file: &File) -> Result<(), SealError> {
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o7777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(SealError::Open(mode)),
    }
}

#[cfg(not(unix))]
fn must_be_private(_file: &File) -> Result<(), SealError> {
    Ok(())
}

fn unusable(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{} is no key: {why}", path.display()))
}

impl Seal {
    /// The key in this file: 32 bytes in base64, for its owner alone.
    pub(crate) fn read(path: &Path) -> Result<Self, SealError> {
        let (mut file, mut text) = (File::open(path)?, String::new());
        must_be_private(&file)?;
        file.read_to_string(&mut text)?;
        let text = text.trim();
        let bytes = STANDARD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text));
        let bytes = bytes.map_err(|_| unusable(path, "it is not base64"))?;
        Ok(Self::of(&bytes).map_err(|why| unusable(path, why))?)
    }

    /// A key that nobody else has, until the process ends.
    pub(crate) fn passing() -> io::Result<Self> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("there is no randomness"))?;
        Self::of(&bytes).map_err(io::Error::other)
    }

    fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| "it has not 32 bytes")?;
        let derived = Salt::new(HKDF_SHA256, &[]).extract(bytes);
        let requests = derived.expand(&[REQUESTS], hmac::HMAC_SHA256);
        let requests = requests.map_err(|_| "nothing can be made of it")?;
        Ok(Self { texts: LessSafeKey::new(key), requests: requests.into() })
    }

    /// The key of the hashes by which requests are known that may be sent again: they hold passwords, and the database keeps their hashes.
    pub(crate) fn requests(&self) -> hmac::Key {
        self.requests.clone()
    }

    /// The same; made where there is none. Of several nodes that make one in a folder that they share, one does.
    pub(crate) fn read_or_make(path: &Path) -> Result<Self, SealError> {
        if !path.exists() {
            let secret = Secret::new();
            let new = path.with_extension(format!("new-{}", charla::new_id()));
            private_file::write(&new, &format!("{}\n", secret.text()))?;
            let made = fs::hard_link(&new, path);
            fs::remove_file(&new)?;
            match made {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                _ => {}
            }
        }
        Self::read(path)
    }

    /// The text, readable with the key alone.
    pub(crate) fn close(&self, about: &str, text: &str) -> io::Result<Vec<u8>> {
        let failed = |_| io::Error::other("it cannot be encrypted");
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut sealed = text.as_bytes().to_vec();
        let bound = Aad::from(about.as_bytes());
        self.texts
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut sealed)
            .map_err(failed)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// The text again; nothing where it was encrypted with another key, is another's, or was changed.
    pub(crate) fn open(&self, about: &str, mut sealed: Vec<u8>) -> Option<String> {
        let nonce = *sealed.first_chunk::<NONCE_LEN>()?;
        let bound = Aad::from(about.as_bytes());
        let text =
            self.texts.open_within(Nonce::assume_unique_for_key(nonce), bound, &mut sealed, NONCE_LEN..);
        String::from_utf8(text.ok()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Digest;

    #[test]
    fn a_text_is_read_with_its_key_as_what_it_is_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let seal = Seal::read_or_make(&path).unwrap();
        let sealed = seal.close("anna/keys.json", "the secret").unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains("secret"));
        let again = Seal::read_or_make(&path).unwrap();
        assert_eq!(again.open("anna/keys.json", sealed.clone()).as_deref(), Some("the secret"));
        assert_eq!(again.open("ben/keys.json", sealed.clone()), None);
        let other = Seal::read_or_make(&folder.path().join("other")).unwrap();
        assert_eq!(other.open("anna/keys.json", sealed.clone()), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(again.open("anna/keys.json", changed), None, "{at}");
        }
        assert_eq!(again.open("anna/keys.json", vec![1, 2]), None);
        let known_by = |seal: &Seal| Digest::keyed(&seal.requests(), b"POST /password").text();
        assert_eq!(known_by(&seal), known_by(&again), "every node knows a request by the same");
        assert!(
            known_by(&seal) != known_by(&other) && known_by(&seal) != Digest::of("POST /password").text()
        );
        fs::write(&path, "c2hvcnQ=\n").unwrap();
        assert!(Seal::read(&path).is_err_and(|error| error.to_string().contains("32 bytes")));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_use_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        Seal::read_or_make(&path).unwrap();
        for (mode, is_fine) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = Seal::read(&path);
            assert_eq!(read.is_ok(), is_fine, "{mode:o}");
            assert!(is_fine || matches!(read, Err(SealError::Open(told)) if told == mode));
        }
    }
}
