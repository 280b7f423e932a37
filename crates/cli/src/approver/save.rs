//! Rules a person has saved with one key.

use std::io::{self, Write};
use std::path::Path;

/// Adds rules to the end of a file that only its owner reads. The file is replaced as a whole: whoever reads
/// it meanwhile sees it without the rules or with them.
pub(super) fn append(file: &Path, rules: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(rules.trim_end());
    text.push('\n');
    // A temporary file is made with 0600 and keeps that when it is renamed.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_data()?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}
