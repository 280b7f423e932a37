//! Memory files: what the user and the project want every session to know.
//!
//! `CHARLA.md`, `AGENTS.md` and `GEMINI.md` are read from the user's folder and from every folder between
//! the project's root and the working folder, outermost first, so that what is nearer comes later and wins.
//! Other files are brought in with `@path`. The caller decides whether the project is trusted before asking.

mod imports;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use imports::Importer;
use rustix::fs::OFlags;

/// The names looked for in each folder, in this order.
pub const MEMORY_FILES: [&str; 3] = ["CHARLA.md", "AGENTS.md", "GEMINI.md"];

/// How many characters all memory together may have: it is sent with every request.
pub const MEMORY_LIMIT: usize = 100_000;

/// No single file is read further than this.
const FILE_BYTES: u64 = 1024 * 1024;

/// Where to look. Everything is handed in.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlaces {
    /// The user's own folder.
    pub user_folder: Option<PathBuf>,
    /// The outermost folder of the project; only the working folder is looked at when it is not inside.
    pub project_root: PathBuf,
    /// The working folder.
    pub cwd: PathBuf,
    /// Folders that files may be imported from, beside the project's and the user's.
    pub roots: Vec<PathBuf>,
    /// What `~/` stands for in imports.
    pub home: Option<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// One text, each file between markers with its path; empty when there is none.
    pub text: String,
    /// The files it came from, imports included, in the order they were read.
    pub files: Vec<PathBuf>,
    /// What the user should know: missing imports, cuts, files that cannot be read.
    pub notices: Vec<String>,
}

/// Reads the memory files. Blocks on the disk.
pub fn load(places: &MemoryPlaces) -> Memory {
    load_within(places, MEMORY_LIMIT)
}

fn load_within(places: &MemoryPlaces, limit: usize) -> Memory {
    let mut memory = Memory::default();
    let mut seen = HashSet::new();
    let mut room = limit;
    for path in candidates(places) {
        let Ok(real) = path.canonicalize() else { continue };
        // One file under several names is said once.
        if !real.is_file() || !seen.insert(real.clone()) {
            continue;
        }
        let text = match read(&real) {
            Ok(text) => text,
            Err(error) => {
                memory.notices.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        memory.files.push(path.clone());
        let text = Importer::new(places, &mut memory).expand(&text, &real);
        let text = text.trim();
        if text.is_empty() || memory.text.contains(&format!("\n{text}\n")) {
            continue;
        }
        let length = text.chars().count();
        let text = if length > room {
            let notice = format!(
                "{}: cut, because all memory files together may have {limit} characters",
                path.display()
            );
            memory.notices.push(notice.clone());
            let kept: String = text.chars().take(room).collect();
            format!("{kept}\n[… {notice} …]")
        } else {
            text.to_owned()
        };
        room = room.saturating_sub(length);
        let path = path.display();
        memory.text.push_str(&format!(
            "--- Context from: {path} ---\n{text}\n--- End of context from: {path} ---\n\n"
        ));
    }
    memory
}

/// Every place a file may be, outermost first.
fn candidates(places: &MemoryPlaces) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = places
        .cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(&places.project_root))
        .map(Path::to_owned)
        .collect();
    if folders.is_empty() {
        folders.push(places.cwd.clone());
    }
    folders.extend(places.user_folder.clone());
    let names = |folder: PathBuf| MEMORY_FILES.map(|name| folder.join(name));
    folders.into_iter().rev().flat_map(names).collect()
}

/// Reads a text file, as far as [`FILE_BYTES`]. Only regular files: a pipe would never end.
fn read(path: &Path) -> io::Result<String> {
    // Opening a pipe that nobody writes to waits for ever otherwise.
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(without_waiting).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Err(io::Error::other("not a text file"));
    }
    let mut text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned();
    if metadata.len() > FILE_BYTES {
        text.push_str(&format!("\n[… cut: only the first {FILE_BYTES} bytes of this file were read …]"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
