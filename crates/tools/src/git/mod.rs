//! What git keeps of a workspace, read from git's own files. Nothing here starts git, and nothing is written.
//!
//! The wall hides a secret file, but git keeps copies: in the index, in stashes, in the history. Unasked commands get
//! attributes under which git shows no content of secret names ([`charla_proto::secret_attributes`]); what is in here
//! finds the ways around those: attributes of the repository that lift them, contents named by their number, and
//! questions that are answered without showing anything.

mod attributes;
mod branch;
mod index;
mod layout;
mod merges;
mod objects;
mod revisions;
mod usage;

use std::path::{Path, PathBuf};

use crate::bounded;

pub(crate) use attributes::lifts_secrets;
pub use branch::git_branch;
pub(crate) use index::Index;
pub(crate) use layout::{is_gits_folder, part_of_repository};
pub(crate) use merges::{looks_for_renames, may_show_merge};
pub(crate) use revisions::may_be_no_commit;
pub(crate) use usage::{GitUse, folder, is_known};

/// Settings of this size are not read.
const MAX_SETTINGS: u64 = 256 * 1024;

/// A repository on the disk.
#[derive(Debug)]
pub(crate) struct Repository {
    /// Where its files are checked out.
    pub(crate) work: PathBuf,
    /// Git's folder of this working tree.
    folder: PathBuf,
    /// Git's folder of all working trees.
    common: PathBuf,
}

impl Repository {
    /// The repository that `cwd`, a real path, lies in; absent without one, and when it cannot be followed.
    pub(crate) fn of(cwd: &Path) -> Option<Self> {
        let work = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
        let mut folder = work.join(".git");
        if folder.is_file() {
            folder = work.join(read(&folder)?.trim().strip_prefix("gitdir:")?.trim());
        }
        let shared = folder.join("commondir");
        let common = if shared.exists() { folder.join(read(&shared)?.trim()) } else { folder.clone() };
        Some(Self { work: work.to_owned(), folder, common })
    }

    /// Its settings; absent when they cannot be read.
    pub(crate) fn settings(&self) -> Option<String> {
        let config = self.common.join("config");
        if config.exists() { read(&config) } else { Some(String::new()) }
    }

    /// Its index; absent when there is one that is not understood.
    pub(crate) fn index(&self) -> Option<Index> {
        Index::read(&self.folder.join("index"))
    }

    /// All folders in which it keeps something.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.objects();
        folders.extend([self.folder.clone(), self.common.clone()]);
        folders
    }

    /// The folders that hold its objects.
    fn objects(&self) -> Vec<PathBuf> {
        let own = self.common.join("objects");
        let others = read(&own.join("info/alternates")).unwrap_or_default();
        let others =
            others.lines().filter(|line| !line.is_empty()).map(|line| own.join(line)).collect::<Vec<_>>();
        std::iter::once(own).chain(others).collect()
    }
}

fn read(path: &Path) -> Option<String> {
    read_up_to(path, MAX_SETTINGS)
}

fn read_up_to(path: &Path, most: u64) -> Option<String> {
    String::from_utf8(bounded::read_up_to(path, most).ok()?).ok()
}
