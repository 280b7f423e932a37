//! Changing files: looked at before, kept for undo, written whole or not at all.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::text::printable;
use charla_proto::{FileChange, Preview, Snapshots, ToolError, ToolErrorKind};
use sha2::{Digest, Sha256};

use super::buffers::Buffers;
use super::read_file::{MOST_BYTES, binary};
use super::unified::unified;
use crate::paths::folder::Folder;
use crate::paths::{FileKind, ResolvedPath, io_failure, is_directory, special};
use crate::text::{self, Decoded, Encoding};

/// What the tools that change files share in a session.
pub struct Workbench {
    snapshots: Arc<dyn Snapshots>,
    buffers: Buffers,
    /// Hashes of what was last written to a file here: a change by an earlier call of the same step is not
    /// somebody else's.
    written: Mutex<HashMap<PathBuf, Hash>>,
}

type Hash = [u8; 32];

/// A text file as it is now.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) bytes: Vec<u8>,
    pub(super) decoded: Decoded,
}

impl Workbench {
    /// A workbench that keeps what it changes in `snapshots`, and looks at files as `buffers` have them.
    pub fn new(snapshots: Arc<dyn Snapshots>, buffers: Buffers) -> Self {
        Self { snapshots, buffers, written: Mutex::default() }
    }

    /// The text file at a place with what is not saved of it yet, as [`look`] gives it.
    pub(super) fn look(&self, place: &ResolvedPath) -> Result<Option<Current>, ToolError> {
        let Some(saved) = look(place)? else { return Ok(None) };
        let decoded = self.buffers.latest(place, saved.decoded.clone());
        if decoded.text == saved.decoded.text {
            return Ok(Some(saved));
        }
        let bytes = encode(&decoded.text, decoded.encoding, &place.path)?;
        Ok(Some(Current { bytes, decoded }))
    }

    /// Writes a file as [`Self::write`] does, through the editor where there is one. `bytes` are the text in the file's
    /// encoding; what the editor makes of it (it may format what it saves) is what counts afterwards.
    pub(super) fn write_text(
        &self,
        place: &ResolvedPath,
        before: Option<&[u8]>,
        (text, bytes): (&str, &[u8]),
    ) -> Result<FileChange, ToolError> {
        let before_hash = before.map(|bytes| self.keep(bytes)).transpose()?;
        if before.is_none() {
            Folder::made_for(&place.real).map_err(|error| io_failure(&place.path, &error))?;
        }
        if !self.buffers.write(place, text)? {
            return self.write(place, before, bytes);
        }
        let after = place.read(MOST_BYTES).unwrap_or_else(|_| bytes.to_vec());
        let change =
            FileChange { path: place.real.clone(), before: before_hash, after: Some(self.keep(&after)?) };
        let seen = self.look(place).ok().flatten().map_or(after, |now| now.bytes);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(place.real.clone(), hash(&seen));
        Ok(change)
    }

    /// True when the file is as it was, or as these tools themselves left it.
    pub(super) fn is_expected(
        &self,
        place: &ResolvedPath,
        then: Option<&Current>,
        now: Option<&Current>,
    ) -> bool {
        if then.map(|then| &then.bytes) == now.map(|now| &now.bytes) {
            return true;
        }
        let Some(now) = now else { return false };
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.get(&place.real) == Some(&hash(&now.bytes))
    }

    /// Writes a file, keeping what it held before and holds after.
    pub(super) fn write(
        &self,
        place: &ResolvedPath,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> Result<FileChange, ToolError> {
        let before_hash = before.map(|bytes| self.keep(bytes)).transpose()?;
        let after_hash = self.keep(after)?;
        let written = match before {
            Some(_) => Folder::of(&place.real).and_then(|(folder, name)| folder.overwrite(name, after)),
            None => Folder::made_for(&place.real).and_then(|(folder, name)| folder.create(name, after, None)),
        };
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists if before.is_none() => changed_meanwhile(&place.path),
            _ => io_failure(&place.path, &error),
        })?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(place.real.clone(), hash(after));
        Ok(FileChange { path: place.real.clone(), before: before_hash, after: Some(after_hash) })
    }

    fn keep(&self, bytes: &[u8]) -> Result<String, ToolError> {
        self.snapshots.keep(bytes).map_err(|error| {
            let message =
                format!("Nothing was changed: what is needed to undo it could not be kept ({error}).");
            ToolError::new(ToolErrorKind::Io, message)
        })
    }
}

fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The text file at a place; `None` when there is none. Anything that is no writable text file is refused.
pub(super) fn look(place: &ResolvedPath) -> Result<Option<Current>, ToolError> {
    match place.kind()? {
        FileKind::Missing => return place.refuse_below_file().map(|()| None),
        FileKind::Directory => return Err(is_directory(&place.path)),
        FileKind::Special(what) => return Err(special(&place.path, what)),
        FileKind::File { .. } => {}
    }
    let (bytes, data) = place.read_with_data(MOST_BYTES)?;
    if data.permissions().readonly() {
        let message =
            format!("{} is read-only. The user would have to make it writable.", place.path.display());
        return Err(ToolError::new(ToolErrorKind::PermissionDenied, message));
    }
    let decoded = text::decode(&bytes).map_err(|_| binary(&place.path, bytes.len()))?;
    Ok(Some(Current { bytes, decoded }))
}

/// `text` as bytes for a file that is encoded like `current`.
pub(super) fn encode(text: &str, encoding: Encoding, path: &Path) -> Result<Vec<u8>, ToolError> {
    let bytes = text::encode(text, encoding).map_err(|lacking| {
        let message = format!(
            "{} is {}, which has no character '{lacking}'. Use other characters, or ask the user to convert the file to UTF-8.",
            path.display(),
            encoding.name()
        );
        ToolError::new(ToolErrorKind::Encoding, message)
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ToolError::new(
            ToolErrorKind::TooLarge,
            format!("{} would have {} bytes.", path.display(), bytes.len()),
        ));
    }
    Ok(bytes)
}

/// The change as a person is shown it.
pub(super) fn preview(place: &ResolvedPath, before: Option<&str>, after: &str) -> Preview {
    Preview::Diff {
        path: place.real.clone(),
        before: before.map(str::to_owned),
        after: after.to_owned(),
        diff: diff(&place.path, before, after),
    }
}

/// A unified diff.
pub(crate) fn diff(path: &Path, before: Option<&str>, after: &str) -> String {
    let name = printable(path);
    let old_name = if before.is_some() { name.as_str() } else { "/dev/null" };
    unified((old_name, before.unwrap_or_default()), (&name, after))
}

/// The refusal of a change to a file that somebody else has changed meanwhile.
pub(super) fn changed_meanwhile(path: &Path) -> ToolError {
    let message = format!(
        "{} was changed by somebody else after this call was prepared. Nothing was written. Read it again and repeat the change.",
        path.display()
    );
    ToolError::new(ToolErrorKind::Conflict, message)
}
