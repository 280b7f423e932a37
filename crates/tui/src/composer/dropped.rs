//! Files that were dragged onto the terminal: it types or pastes their paths.

use std::path::PathBuf;

use charla_proto::text::shell_split;

/// The paths that a pasted text consists of, if it is nothing else: quoted or escaped as a shell wants them, or as
/// `file://` addresses. Whether they are there is for the caller to see.
pub fn dropped_paths(pasted: &str) -> Option<Vec<PathBuf>> {
    let words = shell_split(pasted.trim()).filter(|words| !words.is_empty())?;
    words.iter().map(|word| path(word)).collect()
}

/// An absolute path, or one in the home folder that its owner resolves.
fn path(word: &str) -> Option<PathBuf> {
    if let Some(address) = word.strip_prefix("file://") {
        return decoded(address.strip_prefix("localhost").unwrap_or(address))
            .filter(|path| path.is_absolute());
    }
    (word.starts_with('/') || word.starts_with("~/")).then(|| PathBuf::from(word))
}

/// An address with its `%20` as blanks.
fn decoded(address: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
