//! What only who may read our files knows.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

/// A word before every command.
#[derive(Clone)]
pub(super) struct Key(String);

impl Key {
    pub(super) const LENGTH: usize = 64;

    /// The key of a folder of sessions, made if there is none.
    pub(super) fn made(path: &Path) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(path);
        match Self::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            known => return known,
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).as_bytes())?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Self::read(path),
        }
    }

    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        match text.len() == Self::LENGTH {
            true => Ok(Self(text)),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "the key of the sessions is damaged")),
        }
    }

    /// A line that carries it.
    pub(super) fn before(&self, line: &[u8]) -> Vec<u8> {
        [self.0.as_bytes(), line].concat()
    }

    /// What a line says that carries it.
    pub(super) fn taken_from(&self, line: &[u8]) -> io::Result<Vec<u8>> {
        let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "it does not know the key");
        let (key, rest) = line.split_at_checked(Self::LENGTH).ok_or_else(refused)?;
        let differing =
            key.iter().zip(self.0.as_bytes()).fold(0, |found, (one, other)| found | (one ^ other));
        if differing == 0 { Ok(rest.to_owned()) } else { Err(refused()) }
    }
}
