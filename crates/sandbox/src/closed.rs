//! What stays closed to children that otherwise reach the whole workspace.
//!
//! A rule that denies a path holds for every child, whatever its command line said. And where nothing but a broad rule lets a
//! command run, nobody has thought of what it does: then the secrets of the workspace are closed to it too, and what runs or
//! instructs later is not written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use charla_proto::Consent;

use crate::error::SandboxError;
use crate::kept;
use crate::memory::Memory;
use crate::mounts::Mounts;
use crate::places::Places;
use crate::tree::{self, Found};

/// How much is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// What rules deny.
    Denied,
    /// Secrets and protected places of the workspace, too.
    Secrets,
}

impl Closing {
    /// For a child of whose workspace nothing else is kept back.
    pub(crate) fn for_consent(consent: Consent) -> Self {
        match consent {
            Consent::Person | Consent::Named => Self::Denied,
            Consent::Broad => Self::Secrets,
        }
    }
}

/// The places that are closed.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    /// What nobody opens: files, and folders with too many of them.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// What is not written.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// Folders that stay where they are: git's, so that none takes the place of what is protected in them, and those above what
    /// rules deny and above secrets: both go by their paths, and would be open to the next child under another one.
    pub(crate) pinned: BTreeSet<PathBuf>,
    /// The rest of what was found in the workspace, where more than denied places are closed.
    pub(crate) found: Option<Found>,
}

impl Closed {
    /// Looks for them. `elsewhere` remembers what lies beside the workspace.
    pub(crate) fn look(
        places: &Places,
        memory: &Memory,
        elsewhere: &Memory,
        closing: Closing,
    ) -> Result<Self, SandboxError> {
        let meets = |place: &PathBuf| {
            places.roots.iter().any(|root| place.starts_with(root) || root.starts_with(place))
        };
        let (inside, beside): (Vec<_>, Vec<_>) = places.denied.iter().cloned().partition(meets);
        let mut closed = Self::default();
        let mut denied = tree::look_for_denied(places, &beside, elsewhere);
        let mut hidden = BTreeSet::new();
        if closing == Closing::Secrets {
            let mut found = tree::look(places, memory)?;
            hidden.append(&mut found.hidden);
            denied.append(&mut found.denied);
            std::mem::take(&mut found.protected).into_iter().for_each(|path| closed.protect(path));
            places.history.iter().for_each(|folder| closed.protect_git(folder));
            closed.found = Some(found);
        } else if !inside.is_empty() {
            denied.append(&mut tree::look(places, memory)?.denied);
        }
        let holds_all =
            |path: &Path| places.roots.iter().chain(&places.home).any(|kept| kept.starts_with(path));
        let inside = hidden.iter().filter(|path| places.roots.iter().any(|root| path.starts_with(root)));
        closed.pinned.extend(denied.iter().chain(inside).flat_map(|path| above(path, holds_all)));
        hidden.append(&mut denied);
        hidden.into_iter().filter(|path| !holds_all(path)).for_each(|path| closed.hide(path));
        Ok(closed)
    }

    /// Nothing is closed.
    pub(crate) fn is_empty(&self) -> bool {
        self.hidden.is_empty() && self.protected.is_empty()
    }

    fn protect(&mut self, path: PathBuf) {
        match path.is_dir() && path.join("HEAD").exists() {
            true => self.protect_git(&path),
            false => drop(self.protected.insert(path)),
        }
    }

    /// Git goes on with its work, but which programs it runs stays as it is.
    fn protect_git(&mut self, folder: &Path) {
        self.protected.extend(kept::settings(folder));
        // A link in the place of one is looked at afterwards, what it leads to is not written.
        let links = kept::settings_of(folder).into_iter().filter(|path| path.is_symlink());
        let targets = links.filter_map(|link| link.canonicalize().ok());
        self.protected.extend(targets.filter(|target| !folder.starts_with(target)));
        self.pinned.insert(folder.to_owned());
    }

    /// Of a folder each file is closed, not the folder: to version control, an empty one looks as if everything in it had been
    /// removed.
    fn hide(&mut self, path: PathBuf) {
        if path.ancestors().any(|above| self.hidden.contains(above)) {
            return;
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => drop(self.hidden.insert(path)),
            Ok(found) if found.is_dir() => {
                let mut files = BTreeSet::new();
                let room = Mounts::MOST.saturating_sub(self.hidden.len() + self.protected.len());
                match files_below(&path, room / 2, &mut files) {
                    true => self.hidden.append(&mut files),
                    false => drop(self.hidden.insert(path.clone())),
                }
                self.protected.insert(path);
            }
            // Devices and pipes hold nothing; what is not there needs no cover.
            _ => {}
        }
    }
}

/// The folders above a path, up to those that hold everything.
fn above(path: &Path, holds_all: impl Fn(&Path) -> bool) -> impl Iterator<Item = PathBuf> {
    path.ancestors().skip(1).take_while(move |folder| !holds_all(folder)).map(Path::to_owned)
}

/// Adds all files below a folder; false when there are more than `most`.
fn files_below(folder: &Path, most: usize, files: &mut BTreeSet<PathBuf>) -> bool {
    let mut folders = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > most {
                return false;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => drop(files.insert(entry.path())),
                _ => {}
            }
        }
    }
    true
}
