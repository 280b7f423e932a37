//! Random secrets, and what may be kept of them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use sha2::{Digest as _, Sha256};

/// Something that only its holder knows.
pub(crate) struct Secret(String);

/// What a secret is known by. It does not tell the secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl Secret {
    /// How many characters a secret has: 32 random bytes in base64.
    pub(crate) const LENGTH: usize = 43;

    /// A new one.
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 32];
        if ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes).is_err() {
            // Nothing must be guessable: without randomness nobody gets in.
            return Self(String::new());
        }
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Digest")
    }
}

impl Digest {
    pub(crate) fn of(secret: &str) -> Self {
        Self::of_bytes(secret.as_bytes())
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The same with a key: without it nobody can try which text it is of.
    pub(crate) fn keyed(key: &hmac::Key, bytes: &[u8]) -> Self {
        let mut digest = [0; 32];
        let tag = hmac::sign(key, bytes);
        digest.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        Self(digest)
    }

    /// True for the secret that this is made of. What is compared are hashes: how long it takes tells nothing.
    pub(crate) fn is_of(&self, secret: &str) -> bool {
        !secret.is_empty() && *self == Self::of(secret)
    }

    pub(crate) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}
