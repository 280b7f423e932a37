//! Looks through a workspace for what is hidden and what is protected.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use charla_proto::GITS_OWN;

use crate::error::SandboxError;
use crate::kept;
use crate::memory::{Entry, Kind, Memory, Recall};
use crate::places::{Places, Treatment};
use crate::twins;

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
    /// What of that a rule denies.
    pub(crate) denied: BTreeSet<PathBuf>,
    /// Content that only version control reads.
    pub(crate) kept: BTreeSet<PathBuf>,
    /// What is not written.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// What an editing child may not make: protected places, links and hidden ones among them, and folders that cannot be
    /// looked into.
    pub(crate) guarded: BTreeMap<PathBuf, Identity>,
    /// Folders that git takes for its own.
    pub(crate) gits: BTreeSet<PathBuf>,
    /// All folders that were looked into.
    pub(crate) folders: Folders,
}

/// Folders by their paths. Of a path its hash is kept: there are many, and one that is taken for known is the safe mistake.
#[derive(Debug, Default)]
pub(crate) struct Folders(HashSet<u64>);

impl Folders {
    fn take(&mut self, folder: &Path) {
        self.0.insert(Self::hash(folder));
    }

    pub(crate) fn has(&self, folder: &Path) -> bool {
        self.0.contains(&Self::hash(folder))
    }

    fn hash(folder: &Path) -> u64 {
        let mut hasher = DefaultHasher::new();
        folder.hash(&mut hasher);
        hasher.finish()
    }
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
    pub(crate) fn of(path: &Path) -> Self {
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
pub(crate) fn look(places: &Places, memory: &Memory) -> Result<Found, SandboxError> {
    look_at(places, memory, LIMIT)
}

/// The files of the workspace that are hidden or protected, each under the name that makes it so.
pub(crate) fn by_first_names(
    places: &Places,
    memory: &Memory,
) -> Result<HashMap<twins::Identity, PathBuf>, SandboxError> {
    let by_name =
        |path: &PathBuf| path.ancestors().any(|above| (places.treatment)(above) != Treatment::Plain);
    let mut found = look(places, memory)?;
    let mut protected = found.protected_files();
    found.hidden.retain(by_name);
    protected.retain(by_name);
    let mut files = twins::files(&protected, LIMIT);
    // That a file is secret says more of it.
    files.extend(twins::files(&found.hidden, LIMIT));
    Ok(files)
}

/// The same behind a child.
pub(crate) fn look_again(places: &Places, memory: &Memory) -> Result<Found, SandboxError> {
    look_at(places, memory, LIMIT_AGAIN)
}

/// What nobody reads, and what only version control does, in folders beside the workspace. Of one with too many entries that is
/// the whole of it.
pub(crate) fn look_beside(places: &Places, folders: &[PathBuf], memory: &Memory) -> BTreeSet<PathBuf> {
    let mut found = Found::default();
    let mut walk = Walk { places, recall: memory.recall(places), left: LIMIT, limit: LIMIT };
    for folder in folders {
        if walk.through(folder, &mut found).is_err() {
            found.hidden.insert(folder.clone());
        }
    }
    found.hidden.append(&mut found.kept);
    found.hidden
}

/// What rules deny in places beside the workspace. One with too many entries is left to those who read command lines.
pub(crate) fn look_for_denied(places: &Places, beside: &[PathBuf], memory: &Memory) -> BTreeSet<PathBuf> {
    let mut denied = BTreeSet::new();
    let mut walk = Walk { places, recall: memory.recall(places), left: LIMIT, limit: LIMIT };
    for place in beside {
        if matches!((places.treatment)(place), Treatment::Hidden { denied: true, .. }) {
            denied.insert(place.clone());
            continue;
        }
        let mut found = Found::default();
        if walk.through(place, &mut found).is_ok() {
            denied.append(&mut found.denied);
        }
    }
    denied
}

fn look_at(places: &Places, memory: &Memory, limit: usize) -> Result<Found, SandboxError> {
    let mut found = Found::default();
    let mut walk = Walk { places, recall: memory.recall(places), left: limit, limit };
    for root in outermost(&places.roots) {
        walk.through(root, &mut found)?;
    }
    for folder in &places.history {
        kept::repository(folder, places.home.as_deref(), &mut found);
    }
    found.take_twins(places);
    Ok(found)
}

/// A walk through folders that looks at so many entries and no more.
struct Walk<'a> {
    places: &'a Places,
    recall: Recall<'a>,
    left: usize,
    limit: usize,
}

impl Walk<'_> {
    fn through(&mut self, root: &Path, found: &mut Found) -> Result<(), SandboxError> {
        let mut folders = vec![(root.to_owned(), Cover::Nothing)];
        while let Some((folder, cover)) = folders.pop() {
            found.folders.take(&folder);
            let Some(listing) = self.recall.listing(&folder, self.left) else {
                // What we cannot list, the child cannot either; but it may have closed what it filled.
                found.guard(folder, cover);
                continue;
            };
            let too_large = || SandboxError::TooLarge { root: root.to_owned(), limit: self.limit };
            self.left = self.left.checked_sub(listing.count).ok_or_else(too_large)?;
            match listing.is_repository {
                true if folder == *root => kept::bare_workspace(&folder, found),
                true => kept::bare(&folder, self.places.home.as_deref(), found),
                false => {}
            }
            if listing.has_head && cover != Cover::Protected {
                found.gits.insert(folder.clone());
            }
            if listing.has_head && cover == Cover::Nothing {
                found.protect_git(&folder, self.places);
            }
            for entry in &listing.entries {
                if let Some(cover) = found.take(self.places, entry, cover)
                    && entry.kind == Kind::Folder
                    && !(entry.treatment == Treatment::Plain && is_filled_by_others(&entry.path))
                {
                    folders.push((entry.path.clone(), cover));
                }
            }
        }
        Ok(())
    }
}

impl Found {
    /// Other names of what is hidden, and of what is protected. Git links what it keeps to other working trees, and nothing of that is hidden here.
    fn take_twins(&mut self, places: &Places) {
        let looked_into = |folder: &Path| !is_filled_by_others(folder) && !folder.ends_with(".git/objects");
        let names = |set: &BTreeSet<PathBuf>| {
            let files = twins::of(set, LIMIT);
            match files.is_empty() {
                true => Vec::new(),
                false => twins::names(&files, outermost(&places.roots).into_iter(), LIMIT, looked_into),
            }
        };
        self.protected.extend(names(&self.protected_files()));
        for set in [&mut self.hidden, &mut self.denied] {
            set.extend(names(set));
        }
    }

    /// Notes an entry of a folder under this cover, and says which covers what is in it, if that matters.
    fn take(&mut self, places: &Places, entry: &Entry, cover: Cover) -> Option<Cover> {
        let Entry { path, kind, treatment } = entry;
        let is_link = *kind == Kind::Link;
        if *kind == Kind::Folder {
            kept::note(path, places.home.as_deref(), self);
            if path.ends_with(".git") && cover != Cover::Protected {
                self.gits.insert(path.clone());
            }
        }
        match treatment {
            Treatment::Plain => Some(cover),
            Treatment::Hidden { guarded, denied } => {
                if *guarded {
                    self.guard(path.clone(), cover);
                }
                if cover != Cover::Hidden {
                    hide(path, is_link, &mut self.hidden);
                }
                if *denied {
                    hide(path, is_link, &mut self.denied);
                }
                (cover != Cover::Protected).then_some(Cover::Hidden)
            }
            Treatment::Protected { closed } => {
                self.guard(path.clone(), cover);
                if is_link {
                    self.protect_target(places, path);
                } else if cover == Cover::Nothing {
                    // One inside another is protected with it.
                    self.protected.insert(path.clone());
                }
                (!closed && cover != Cover::Hidden).then_some(Cover::Protected)
            }
        }
    }

    /// Nobody writes in a folder that git takes for its own, or would if there were more in it: its settings and hooks run
    /// programs. Of a workspace that is one, only those are not written. What is in it is looked at all the same: a child may have
    /// made all of it.
    fn protect_git(&mut self, folder: &Path, places: &Places) {
        if places.roots.iter().all(|root| !root.starts_with(folder)) {
            self.protected.insert(folder.to_owned());
            return;
        }
        for path in GITS_OWN.iter().map(|name| folder.join(name)).filter(|path| path.exists()) {
            self.guard(path.clone(), Cover::Nothing);
            self.protected.insert(path);
        }
    }

    /// A link holds nothing: what it leads to in the workspace does. A link to a root protects nothing, or no more
    /// could be written.
    fn protect_target(&mut self, places: &Places, link: &Path) {
        let Ok(target) = link.canonicalize() else { return };
        let holds_root = places.roots.iter().any(|root| root.starts_with(&target));
        if !holds_root && places.roots.iter().any(|root| target.starts_with(root)) {
            self.protected.insert(target);
        }
    }

    /// Hooks and settings that those of a repository name run programs, wherever they are.
    pub(crate) fn guard_named(&mut self, place: PathBuf) {
        self.guard(place.clone(), Cover::Nothing);
        self.protected.insert(place);
    }

    /// What is protected, of git's folders no more than what says which programs run. The stores of others have too many files.
    fn protected_files(&self) -> BTreeSet<PathBuf> {
        let is_git = |path: &Path| path.is_dir() && (path.ends_with(".git") || path.join("HEAD").exists());
        let is_store = |path: &Path| [".hg", ".svn", ".jj"].iter().any(|name| path.ends_with(name));
        let all = self.protected.iter().filter(|path| !is_store(path));
        all.flat_map(|path| if is_git(path) { kept::settings(path) } else { vec![path.clone()] }).collect()
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
fn hide(path: &Path, is_link: bool, hidden: &mut BTreeSet<PathBuf>) {
    if !is_link {
        hidden.insert(path.to_owned());
    } else if let Ok(target) = path.canonicalize() {
        hidden.insert(target);
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
            denied: Vec::new(),
            treatment: Arc::new(|_: &Path| Treatment::Plain),
        };
        let memory = Memory::default();
        assert!(look_at(&places, &memory, 20).is_ok());
        for _ in 0..2 {
            let result = look_at(&places, &memory, 19);
            assert!(matches!(result, Err(SandboxError::TooLarge { limit: 19, .. })));
        }
    }
}
