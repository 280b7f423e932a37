//! Copies a folder that somebody else made: no links, no more than an extension can need.

use std::fs;
use std::io;
use std::path::Path;

use crate::failure::Failure;

/// So many files an extension may have, so deep, and so many bytes together.
const MOST_FILES: usize = 5_000;
const DEEPEST: usize = 16;
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Not a part of it.
const LEFT_OUT: [&str; 1] = [".git"];

/// Copies what lies in `from` into the folder `to`, which is there. Links and what is neither file nor folder are left out;
/// gives the names of those.
pub(super) fn copy(from: &Path, to: &Path) -> Result<Vec<String>, Failure> {
    let mut copying = Copying { files: 0, bytes: 0, left_out: Vec::new() };
    copying.folder(from, to, 0)?;
    Ok(copying.left_out)
}

struct Copying {
    files: usize,
    bytes: u64,
    left_out: Vec<String>,
}

impl Copying {
    fn folder(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::system(format!("cannot copy {}: {error}", from.display()));
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(failed)?);
            if LEFT_OUT.iter().any(|left_out| name == *left_out) {
                continue;
            }
            let (source, copy) = (entry.path(), to.join(&name));
            if kind.is_dir() && depth < DEEPEST {
                fs::create_dir(&copy).map_err(failed)?;
                self.folder(&source, &copy, depth + 1)?;
            } else if kind.is_file() {
                self.count(entry.metadata().map_err(failed)?.len())?;
                fs::copy(&source, &copy).map_err(failed)?;
            } else {
                self.left_out.push(source.display().to_string());
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), Failure> {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.files > MOST_FILES || self.bytes > MOST_BYTES {
            return Err(Failure::input(format!(
                "this is too large for an extension: at most {MOST_FILES} files and {} MB are copied",
                MOST_BYTES / (1024 * 1024)
            )));
        }
        Ok(())
    }
}
