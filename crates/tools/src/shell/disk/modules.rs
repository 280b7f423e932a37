//! Modules of a working folder that Python would take instead of its own.

use std::path::{Path, PathBuf};

use charla_proto::Word;

/// A folder with more names is not looked through.
const MOST_NAMES: usize = 20_000;

/// True for Python that is to run one of its own modules: it looks for that, and for all that it needs, in the working folder first.
pub(super) fn runs_module(name: &str, words: &[Word]) -> bool {
    name.starts_with("python") && words.first().and_then(Word::known) == Some("-m")
}

/// A module that lies in the folder, or the folder itself where that cannot be told.
pub(super) fn module_in(folder: &Path) -> Option<PathBuf> {
    let Ok(names) = std::fs::read_dir(folder) else { return Some(folder.to_owned()) };
    for (number, entry) in names.enumerate() {
        let Ok(entry) = entry else { return Some(folder.to_owned()) };
        if number >= MOST_NAMES || is_module(&entry.path()) {
            return Some(entry.path());
        }
    }
    None
}

fn is_module(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let is_code =
        ending.is_some_and(|ending| ["py", "pyc", "pyw", "so", "pyd", "dylib"].contains(&ending.as_str()));
    let begins = |name: std::ffi::OsString| name.to_string_lossy().to_lowercase().starts_with("__init__.");
    is_code
        || path.is_dir()
            && std::fs::read_dir(path)
                .map_or(true, |names| names.flatten().any(|entry| begins(entry.file_name())))
}
