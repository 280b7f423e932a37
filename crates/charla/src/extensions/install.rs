//! Installs and updates extensions. What is shown, agreed to and installed is one copy, which nobody else can change.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::book::{Entry, Origin, Source};
use super::consent::Consent;
use super::manifest::Manifest;
use super::{Extension, Extensions, copying, fetching};
use crate::failure::Failure;
use crate::private_file;

/// What folders of copies begin with: of what is looked at, of what is fetched, of what is replaced. No extension has such a name.
const COPIES: [&str; 3] = [".new-", ".git-", ".old-"];
/// A copy that nothing was changed in for so long belongs to nobody.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// An extension that may be installed: a copy of it, and what it brings.
pub struct Candidate {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Where it came from.
    pub source: Source,
    /// What a person is to agree to.
    pub consent: Consent,
    /// Files that are not part of the copy: links, and what is no file.
    pub left_out: Vec<String>,
    copy: TempDir,
}

impl Extensions<'_> {
    /// The folder that a source names, whatever links lead there; nothing for one that is no folder.
    pub fn source_folder(&self, source: &str) -> Option<PathBuf> {
        let folder = self.environment.expand(source, &self.environment.directory);
        folder.canonicalize().ok().filter(|real| real.is_dir())
    }

    /// Copies the extension in a folder, or in a repository, to be looked at. Nothing is installed yet.
    pub fn candidate(&self, source: &str) -> Result<Candidate, Failure> {
        let source = match self.source_folder(source) {
            Some(real) => Source { origin: Origin::Local, place: real.to_string_lossy().into_owned() },
            None if fetching::is_address(source) => Source { origin: Origin::Git, place: source.to_owned() },
            None => {
                let folder = self.environment.expand(source, &self.environment.directory);
                return Err(Failure::input(format!("{} is no folder", folder.display()))
                    .with_hint("name a folder, or the address of a git repository"));
            }
        };
        self.copied(source)
    }

    /// The newest of an installed one, from where it came.
    pub fn newest(&self, extension: &Extension) -> Result<Candidate, Failure> {
        let candidate = self.copied(extension.source.clone())?;
        let (new, name) = (&candidate.manifest.name, &extension.manifest.name);
        match new == name {
            true => Ok(candidate),
            false => Err(Failure::input(format!("{} is {new} by now, no longer {name}", extension.source))),
        }
    }

    /// The version of an installed one where it came from, if it is another. Only folders are looked at: nothing is fetched.
    pub fn newer(&self, extension: &Extension) -> Option<String> {
        let place = Some(Path::new(&extension.source.place));
        let place = place.filter(|_| extension.source.origin == Origin::Local)?;
        let there = Manifest::read(place).ok()?;
        let is_it = there.name == extension.manifest.name && there.version != extension.manifest.version;
        is_it.then_some(there.version)
    }

    fn copied(&self, source: Source) -> Result<Candidate, Failure> {
        let failed = |error: std::io::Error| {
            Failure::system(format!("cannot write in {}: {error}", self.folder.display()))
        };
        private_file::make_folder(&self.folder).map_err(failed)?;
        remove_leftovers(&self.folder);
        let copy = tempfile::Builder::new().prefix(COPIES[0]).tempdir_in(&self.folder).map_err(failed)?;
        let left_out = match source.origin {
            Origin::Local => copying::copy(Path::new(&source.place), copy.path())?,
            Origin::Git => {
                let fetched =
                    tempfile::Builder::new().prefix(COPIES[1]).tempdir_in(&self.folder).map_err(failed)?;
                let folder = fetched.path().join("repository");
                fetching::fetch(&source.place, &folder, self.environment)?;
                copying::copy(&folder, copy.path())?
            }
        };
        let manifest = Manifest::read(copy.path())
            .map_err(|why| Failure::input(format!("{source} is no extension: {why}")))?;
        let consent = Consent::of(&manifest, copy.path());
        Ok(Candidate { manifest, source, consent, left_out, copy })
    }

    /// Installs one that its user has agreed to, in place of an earlier one of that name.
    pub fn install(&self, candidate: Candidate) -> Result<Manifest, Failure> {
        let Candidate { manifest, source, consent, copy, .. } = candidate;
        let failed = |error: std::io::Error| {
            Failure::system(format!("cannot write in {}: {error}", self.folder.display()))
        };
        let _turn = self.book().turn()?;
        let mut entries = self.book().read()?;
        let enabled = entries.get(&manifest.name).is_none_or(|entry| entry.enabled);
        let folder = self.folder.join(&manifest.name);
        // Aside first, so that there is one of them at any time, if perhaps not the newest.
        let aside = tempfile::Builder::new().prefix(COPIES[2]).tempdir_in(&self.folder).map_err(failed)?;
        if folder.exists() {
            std::fs::rename(&folder, aside.path().join("old")).map_err(failed)?;
        }
        std::fs::rename(copy.keep(), &folder).map_err(failed)?;
        entries.insert(manifest.name.clone(), Entry { source, enabled, agreed: consent.hash() });
        self.book().write(&entries)?;
        Ok(manifest)
    }
}

/// Removes copies of programs that were killed before they were done with them. No one works on a copy for so long.
fn remove_leftovers(folder: &Path) {
    let is_old = |entry: &DirEntry| {
        let changed = entry.metadata().and_then(|found| found.modified()).ok();
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > LEFT_BEHIND)
    };
    let is_copy = |entry: &DirEntry| {
        let name = entry.file_name();
        COPIES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_copy).filter(is_old) {
        // What stays takes room and nothing else.
        drop(std::fs::remove_dir_all(entry.path()));
    }
}

impl Extension {
    /// What it brings, for a person.
    pub fn consent(&self) -> Consent {
        Consent::of(&self.manifest, &self.folder)
    }

    /// True when a candidate brings something else than was agreed to.
    pub fn agrees_to_other_than(&self, candidate: &Candidate) -> bool {
        self.agreed != candidate.consent.hash()
    }

    /// True when a candidate brings what was agreed to, but for places of remote servers on the hosts where they were.
    pub fn agrees_in_kind(&self, candidate: &Candidate) -> bool {
        let before = self.consent();
        self.agreed == before.hash() && candidate.consent.is_like(&before)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn copies_of_killed_programs_go_and_those_under_way_stay() {
        let folder = tempfile::tempdir().unwrap();
        let names = [".new-killed", ".git-killed", ".old-killed", ".new-running", "mine", ".mine"];
        for name in names {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("file"), "x").unwrap();
            if !name.ends_with("running") {
                let day = SystemTime::now() - LEFT_BEHIND - Duration::from_secs(60);
                File::open(folder.path().join(name)).unwrap().set_modified(day).unwrap();
            }
        }
        remove_leftovers(folder.path());
        let left: Vec<&str> = names.into_iter().filter(|name| folder.path().join(name).exists()).collect();
        assert_eq!(left, [".new-running", "mine", ".mine"]);
    }
}
