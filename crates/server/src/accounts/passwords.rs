//! Passwords, of which only Argon2's hash is kept.

use std::fmt;
use std::sync::OnceLock;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, PasswordHash};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

/// The shortest password.
const SHORTEST: usize = 10;
/// The longest one: hashing takes time for each character.
const LONGEST: usize = 1024;

/// What is kept of a password: the PHC string of its Argon2id hash.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

/// Why a password is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// It is guessed too soon.
    #[error("a password has at least {SHORTEST} characters")]
    Short,
    /// It takes too long.
    #[error("a password has at most {LONGEST} characters")]
    Long,
    /// There is nothing to make it from.
    #[error("this machine gives no random numbers")]
    NoRandomness,
}

impl Password {
    /// The hash of a new password. Takes tens of milliseconds and 19 MiB.
    pub fn new(password: &str) -> Result<Self, WeakPassword> {
        match () {
            () if password.chars().count() < SHORTEST => Err(WeakPassword::Short),
            () if password.chars().count() > LONGEST => Err(WeakPassword::Long),
            () => Self::hash(password),
        }
    }

    fn hash(password: &str) -> Result<Self, WeakPassword> {
        let mut salt = [0; 16];
        SystemRandom::new().fill(&mut salt).map_err(|_| WeakPassword::NoRandomness)?;
        let hash: PasswordHash = Argon2::default()
            .hash_password_with_salt(password.as_bytes(), &salt)
            .map_err(|_| WeakPassword::NoRandomness)?;
        Ok(Self(hash.to_string()))
    }

    fn is(&self, password: &str) -> bool {
        Argon2::default().verify_password(password.as_bytes(), self.0.as_str()).is_ok()
    }

    /// Whether this is the password behind `kept`. Where there is none, it takes as long to say no.
    pub fn verify(kept: Option<&Password>, password: &str) -> bool {
        static NOBODY: OnceLock<Option<Password>> = OnceLock::new();
        if password.chars().count() > LONGEST {
            return false;
        }
        match kept {
            Some(kept) => kept.is(password),
            None => {
                let nobody = NOBODY.get_or_init(|| Self::hash("nobody's password").ok());
                // Only the time it takes counts.
                let _ = nobody.as_ref().map(|nobody| nobody.is(password));
                false
            }
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Password")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let kept = Password::new("correct horse").unwrap();
        assert!(kept.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", kept.0);
        assert!(Password::verify(Some(&kept), "correct horse"));
        assert!(!Password::verify(Some(&kept), "correct horsf"));
        assert!(!Password::verify(Some(&kept), ""));
        assert!(!Password::verify(None, "nobody's password"));
        assert_ne!(kept, Password::new("correct horse").unwrap(), "each has a salt of its own");
        assert_eq!(format!("{kept:?}"), "Password");
        assert!(!Password::verify(Some(&Password("garbage".into())), "garbage"));
    }

    #[test]
    fn what_is_too_short_or_too_long_is_not_taken() {
        assert_eq!(Password::new("short").unwrap_err(), WeakPassword::Short);
        assert_eq!(Password::new(&"x".repeat(2000)).unwrap_err(), WeakPassword::Long);
    }
}
