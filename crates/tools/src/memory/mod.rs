//! Memory files: what the user and the project want every session to know.
//!
//! `CHARLA.md`, `AGENTS.md` and `GEMINI.md`, or else `CLAUDE.md`, are read from the user's folder and from every folder between
//! the project's root and the working folder, outermost first, so that what is nearer comes later and wins.
//! Other files are brought in with `@path`. What a project brings stays within it: its files are read only where they really
//! lie in it, never secrets, and never those of other users.

mod imports;
mod source;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use charla_proto::FileJudge;
use imports::Importer;
use source::Source;

use crate::owner::Owners;

/// The names looked for in each folder, in this order.
pub const MEMORY_FILES: [&str; 3] = ["CHARLA.md", "AGENTS.md", "GEMINI.md"];

/// The name looked for in a folder that has none of these.
pub const OTHER_MEMORY_FILE: &str = "CLAUDE.md";

/// How many characters all memory together may have: it is sent with every request.
pub const MEMORY_LIMIT: usize = 100_000;

/// Where to look. Everything is handed in.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlaces {
    /// The user's own folder.
    pub user_folder: Option<PathBuf>,
    /// The outermost folder of the project; only the working folder is looked at when it is not inside.
    pub project_root: PathBuf,
    /// The working folder.
    pub cwd: PathBuf,
    /// What `~/` stands for in imports.
    pub home: Option<PathBuf>,
    /// Whose files are read.
    pub owners: Owners,
    /// Says which of them must not be.
    pub files: FileJudge,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// One text, each file between markers with its path; empty when there is none.
    pub text: String,
    /// The files it came from, imports included, in the order they were read.
    pub files: Vec<PathBuf>,
    /// Those of the project among them.
    pub project_files: Vec<PathBuf>,
    /// What the user should know: missing imports, cuts, files that are left out, and why.
    pub notices: Vec<String>,
    /// Where the project's part of the text begins.
    project_from: Option<usize>,
}

impl Memory {
    /// The project's part of the text.
    pub fn project_text(&self) -> &str {
        self.project_from.and_then(|from| self.text.get(from..)).unwrap_or_default()
    }
}

/// Reads the memory files. Blocks on the disk.
pub fn load(places: &MemoryPlaces) -> Memory {
    load_within(places, MEMORY_LIMIT)
}

fn load_within(places: &MemoryPlaces, limit: usize) -> Memory {
    let mut memory = Memory::default();
    let mut seen = HashSet::new();
    let mut room = limit;
    for Candidate { path, is_project } in candidates(places) {
        let Ok(real) = path.canonicalize() else { continue };
        // One file under several names is said once.
        if !real.is_file() || !seen.insert(real.clone()) {
            continue;
        }
        let source = if is_project { places.project() } else { places.user(&real) };
        let text = match source.read(&real, false) {
            Ok(text) => text,
            Err(reason) => {
                memory.notices.push(format!("{} is left out: {reason}", path.display()));
                continue;
            }
        };
        let before = memory.files.len();
        memory.files.push(path.clone());
        let text = Importer::new(places, &source, &mut memory).expand(&text, &real);
        if is_project {
            memory.project_from.get_or_insert(memory.text.len());
            let read = memory.files.get(before..).unwrap_or_default().to_vec();
            memory.project_files.extend(read);
        }
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

impl MemoryPlaces {
    /// The outermost folder of the project that the working folder is in.
    fn root(&self) -> &Path {
        if self.cwd.starts_with(&self.project_root) { &self.project_root } else { &self.cwd }
    }

    /// What the project's files may bring in: what lies in the project. In somebody's home Charla's own folder does, too.
    fn project(&self) -> Source {
        let own = self.user_folder.as_ref().and_then(|folder| folder.canonicalize().ok());
        Source {
            roots: self.root().canonicalize().into_iter().collect(),
            home: None,
            except: own.map(|folder| (folder, "it is in your own folder, which is not for projects")),
            name: "the project",
            owners: self.owners,
            files: self.files.clone(),
        }
    }

    /// What the user's own file may bring in: what lies in their folder, or beside the file if that is a link; on a line of
    /// its own anything in their home.
    fn user(&self, real: &Path) -> Source {
        let folder = self.user_folder.as_ref().and_then(|folder| folder.canonicalize().ok());
        Source {
            roots: folder.into_iter().chain(real.parent().map(Path::to_owned)).collect(),
            home: self.home.as_ref().and_then(|home| home.canonicalize().ok()),
            except: None,
            name: "your own folder",
            owners: self.owners,
            files: self.files.clone(),
        }
    }
}

/// A place where a file may be.
struct Candidate {
    path: PathBuf,
    is_project: bool,
}

/// Every place a file may be, outermost first.
fn candidates(places: &MemoryPlaces) -> Vec<Candidate> {
    let folders = places.cwd.ancestors().take_while(|folder| folder.starts_with(places.root()));
    let mut folders: Vec<(PathBuf, bool)> = folders.map(|folder| (folder.to_owned(), true)).collect();
    folders.extend(places.user_folder.clone().map(|folder| (folder, false)));
    let names = |(folder, is_project): (PathBuf, bool)| {
        let has_own = MEMORY_FILES.iter().any(|name| folder.join(name).exists());
        let names = if has_own { MEMORY_FILES.as_slice() } else { &[OTHER_MEMORY_FILE] };
        names.iter().map(move |name| Candidate { path: folder.join(name), is_project })
    };
    folders.into_iter().rev().flat_map(names).collect()
}

#[cfg(test)]
mod tests;
