//! Looks through a workspace for what is hidden and what is protected.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::places::{Places, Treatment};

/// How many entries of the workspace are looked at.
const LIMIT: usize = 200_000;
/// How many are looked at behind a child, which may have made more.
const LIMIT_AGAIN: usize = 10 * LIMIT;
/// Folders of packages and builds, which others filled: nothing in them is looked at.
const FILLED_BY_OTHERS: [&str; 5] = ["node_modules", "__pycache__", ".venv", "venv", ".tox"];

/// What was found in the workspace.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Content that nobody reads.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// What is not written.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// What an editing child may not make: protected places, links and hidden ones among them, and folders that cannot be
    /// looked into.
    pub(crate) guarded: BTreeMap<PathBuf, Identity>,
}

/// What tells a place from another of its name.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    own: Inode,
    pub(crate) parent: Inode,
    /// Where it leads, for a link.
    pub(crate) link: Option<PathBuf>,
}

/// The device and the number of a file; zeros where they cannot be told.
type Inode = (u64, u64);

impl Identity {
    fn of(path: &Path) -> Self {
        let inode = |path: &Path| path.symlink_metadata().map(|found| (found.dev(), found.ino()));
        let parent = path.parent().unwrap_or(path);
        Self {
            own: inode(path).unwrap_or_default(),
            parent: inode(parent).unwrap_or_default(),
            link: fs::read_link(path).ok(),
        }
    }

    /// True when this is `found` at another path. A child can move a folder with what it holds, but not a protected file
    /// or folder alone; links it can, so theirs must be the folder they were in.
    pub(crate) fn is_moved_to(&self, found: &Self) -> bool {
        self.own == found.own
            && self.own != Inode::default()
            && self.link == found.link
            && (self.link.is_none() || self.parent == found.parent)
    }
}

/// What covers a folder of the workspace for editing children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cover {
    Nothing,
    Protected,
    Hidden,
}

/// Looks at every entry. More than the limit is an error: what was not looked at may be secret.
pub(crate) fn look(places: &Places) -> Result<Found, SandboxError> {
    look_at(places, LIMIT)
}

/// What an editing child may not make and is there.
pub(crate) fn look_again(places: &Places) -> Result<BTreeMap<PathBuf, Identity>, SandboxError> {
    Ok(look_at(places, LIMIT_AGAIN)?.guarded)
}

fn look_at(places: &Places, limit: usize) -> Result<Found, SandboxError> {
    let mut found = Found::default();
    let mut seen = 0;
    for root in outermost(&places.roots) {
        let mut folders = vec![(root.clone(), Cover::Nothing)];
        while let Some((folder, cover)) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                // What we cannot list, the child cannot either; but it may have closed what it filled.
                found.guard(folder, cover);
                continue;
            };
            for entry in entries.flatten() {
                seen += 1;
                if seen > limit {
                    return Err(SandboxError::TooLarge { root: root.clone(), limit });
                }
                let path = entry.path();
                let kind = entry.file_type().ok();
                let is_folder = kind.is_some_and(|kind| kind.is_dir());
                let is_link = kind.is_some_and(|kind| kind.is_symlink());
                let treatment = (places.treatment)(&path);
                if let Some(cover) = found.take(&path, treatment, is_link, cover)
                    && is_folder
                    && !(treatment == Treatment::Plain && is_filled_by_others(&path))
                {
                    folders.push((path, cover));
                }
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Notes an entry of a folder under this cover, and says which covers what is in it, if that matters.
    fn take(&mut self, path: &Path, treatment: Treatment, is_link: bool, cover: Cover) -> Option<Cover> {
        match treatment {
            Treatment::Plain => Some(cover),
            Treatment::Hidden { guarded } => {
                if guarded {
                    self.guard(path.to_owned(), cover);
                }
                if cover != Cover::Hidden {
                    hide(path.to_owned(), is_link, self);
                }
                (cover != Cover::Protected).then_some(Cover::Hidden)
            }
            Treatment::Protected { closed } => {
                self.guard(path.to_owned(), cover);
                // One inside another is protected with it.
                if cover == Cover::Nothing && !is_link {
                    self.protected.insert(path.to_owned());
                }
                (!closed && cover != Cover::Hidden).then_some(Cover::Protected)
            }
        }
    }

    fn guard(&mut self, path: PathBuf, cover: Cover) {
        // What is in a protected place is moved with it.
        if cover != Cover::Protected {
            let identity = Identity::of(&path);
            self.guarded.insert(path, identity);
        }
    }
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
