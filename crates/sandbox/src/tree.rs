//! Looks through a workspace for what is hidden and what is protected.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::places::{Places, Treatment};

/// How many entries of the workspace are looked at.
const LIMIT: usize = 200_000;
/// Folders of packages and builds, which others filled: nothing in them is looked at.
const FILLED_BY_OTHERS: [&str; 5] = ["node_modules", "__pycache__", ".venv", "venv", ".tox"];

/// What was found in the workspace.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Content that nobody reads.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// What is not written.
    pub(crate) protected: BTreeSet<PathBuf>,
}

/// Looks at every entry. More than the limit is an error: what was not looked at may be secret.
pub(crate) fn look(places: &Places) -> Result<Found, SandboxError> {
    look_at(places, LIMIT)
}

fn look_at(places: &Places, limit: usize) -> Result<Found, SandboxError> {
    let mut found = Found::default();
    let mut seen = 0;
    for root in outermost(&places.roots) {
        let mut folders = vec![(root.clone(), false)];
        while let Some((folder, protected)) = folders.pop() {
            // What we cannot list, the child cannot either.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > limit {
                    return Err(SandboxError::TooLarge { root: root.clone(), limit });
                }
                let path = entry.path();
                let kind = entry.file_type().ok();
                let is_folder = kind.is_some_and(|kind| kind.is_dir());
                match (places.treatment)(&path) {
                    Treatment::Plain if is_folder && is_filled_by_others(&path) => {}
                    Treatment::Plain if is_folder => folders.push((path, protected)),
                    Treatment::Plain => {}
                    Treatment::Hidden => hide(path, kind.is_some_and(|kind| kind.is_symlink()), &mut found),
                    Treatment::Protected { closed } => {
                        if is_folder && !closed {
                            folders.push((path.clone(), true));
                        }
                        // One inside another is protected with it.
                        if !protected && !kind.is_some_and(|kind| kind.is_symlink()) {
                            found.protected.insert(path);
                        }
                    }
                }
            }
        }
    }
    Ok(found)
}

fn is_filled_by_others(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    FILLED_BY_OTHERS.iter().any(|known| name == *known)
        || (name == "target" && folder.join("CACHEDIR.TAG").is_file())
}

/// A link holds nothing: what it leads to does.
fn hide(path: PathBuf, is_link: bool, found: &mut Found) {
    if !is_link {
        found.hidden.insert(path);
    } else if let Ok(target) = path.canonicalize() {
        found.hidden.insert(target);
    }
}

/// Those roots that lie in no other.
pub(crate) fn outermost(roots: &[PathBuf]) -> Vec<&PathBuf> {
    let inside = |root: &Path| roots.iter().any(|other| other != root && root.starts_with(other));
    let mut outer: Vec<&PathBuf> = roots.iter().filter(|root| !inside(root)).collect();
    outer.dedup();
    outer
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_workspace_too_large_to_look_through_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for name in 0..10 {
            fs::create_dir_all(folder.path().join(format!("{name}/a"))).unwrap();
        }
        let places = Places {
            roots: vec![folder.path().to_owned()],
            home: None,
            temporary: PathBuf::new(),
            programs: Vec::new(),
            readable: Vec::new(),
            history: Vec::new(),
            secrets: Vec::new(),
            treatment: Arc::new(|_: &Path| Treatment::Plain),
        };
        assert!(look_at(&places, 20).is_ok());
        assert!(matches!(look_at(&places, 19), Err(SandboxError::TooLarge { limit: 19, .. })));
    }
}
