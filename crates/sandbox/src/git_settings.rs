//! What came into git's folders that says which programs git runs.
//!
//! What a broad rule allows may clone and make repositories, so a new folder of git's stays. Its settings and hooks stay as far as
//! they are known to run nothing; those that came to a folder which was there before are judged alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::kept;
use crate::tree::Identity;

/// Sections and keys that git, and what clones for people, write into a repository's settings, and that run nothing.
const PLAIN: [(&str, &[&str]); 9] = [
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
        ],
    ),
    ("extensions", &["compatobjectformat", "objectformat", "partialclone", "refstorage", "worktreeconfig"]),
    ("remote", &["fetch", "mirror", "partialclonefilter", "promisor", "prune", "pushurl", "tagopt", "url"]),
    ("branch", &["description", "merge", "rebase", "remote"]),
    ("submodule", &["active", "branch", "fetchrecursesubmodules", "url"]),
    ("user", &["email", "name"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("gc", &["auto"]),
];

/// The folders of git's in a workspace.
pub(crate) struct Gits {
    /// Those of the workspace itself, which nobody but a person changes.
    own: Vec<PathBuf>,
    all: BTreeSet<PathBuf>,
}

impl Gits {
    /// Of the folders that were found, those of submodules and other working trees included.
    pub(crate) fn of(found: &BTreeSet<PathBuf>, roots: &[PathBuf], history: &[PathBuf]) -> Self {
        let mut all: BTreeSet<PathBuf> = found.iter().chain(history).cloned().collect();
        let nested: Vec<PathBuf> = all.iter().flat_map(|folder| kept::nested(folder)).collect();
        all.extend(nested);
        let own = roots.iter().map(|root| root.join(".git")).chain(history.iter().cloned()).collect();
        Self { own, all }
    }

    /// Everything in them that is there and says which programs run.
    pub(crate) fn settings(&self) -> BTreeMap<PathBuf, Identity> {
        let settings = self.all.iter().flat_map(|folder| kept::settings_of(folder));
        settings.map(|path| (path.clone(), Identity::of(&path))).collect()
    }

    /// True for what runs nothing, and leads to nothing that does: a setting of one of these folders, or a file `.git`.
    pub(crate) fn is_harmless(&self, path: &Path) -> bool {
        let Ok(found) = path.symlink_metadata() else { return true };
        let Some(folder) = path.parent() else { return false };
        let text = || kept::text(path).filter(|_| found.is_file());
        let leads_home = |link: &str| folder.join(link).canonicalize().is_ok_and(|to| self.is_believed(&to));
        match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
            "config" | "config.worktree" => text().is_some_and(|text| self.is_plain(&text, folder)),
            "hooks" => found.is_dir() && has_only_samples(path),
            "attributes" => found.is_file() && found.len() == 0,
            "gitdir" => folder.parent().is_some_and(|parent| parent.ends_with("worktrees")),
            "commondir" => text().is_some_and(|text| leads_home(text.trim_end())),
            ".git" if found.is_file() => text().is_some_and(|text| {
                text.trim_end().strip_prefix("gitdir:").is_some_and(|link| leads_home(link.trim()))
            }),
            _ => false,
        }
    }

    /// A folder of git's that belongs to the workspace, or of which nothing runs.
    fn is_believed(&self, folder: &Path) -> bool {
        let is_own = self.own.iter().any(|own| folder.starts_with(own));
        // Its own word on where its settings are would lead in a circle.
        let runs_nothing =
            |path: &PathBuf| !path.ends_with("commondir") && !path.is_symlink() && self.is_harmless(path);
        self.all.contains(folder) && (is_own || kept::settings_of(folder).iter().all(runs_nothing))
    }

    /// True for settings in which nothing but these keys is set. What is written in an uncommon way is not understood.
    fn is_plain(&self, text: &str, folder: &Path) -> bool {
        let mut section = "";
        for line in
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
        {
            if let Some(header) = line.strip_prefix('[') {
                let Some(header) = header.strip_suffix(']').filter(|header| !header.contains(']')) else {
                    return false;
                };
                section = header.split([' ', '"']).next().unwrap_or_default();
                continue;
            }
            let (key, value) =
                line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
            let is_known = PLAIN.iter().any(|(name, keys)| {
                section.eq_ignore_ascii_case(name) && keys.iter().any(|known| key.eq_ignore_ascii_case(known))
            });
            let stays_inside = || {
                let is_tree = section.eq_ignore_ascii_case("core") && key.eq_ignore_ascii_case("worktree");
                is_tree && self.is_tree_of_own(&folder.join(value))
            };
            // `ext::…` and its like name programs; what goes on in the next line was not seen.
            if value.contains("::") || value.ends_with('\\') || !(is_known || stays_inside()) {
                return false;
            }
        }
        true
    }

    /// The working tree of a submodule lies beside the folder of git's that holds the submodule's.
    fn is_tree_of_own(&self, tree: &Path) -> bool {
        let Ok(tree) = tree.canonicalize() else { return false };
        let tops = self.all.iter().filter(|folder| folder.ends_with(".git")).filter_map(|git| git.parent());
        tops.into_iter().any(|top| tree.starts_with(top) && tree != top)
    }
}

fn has_only_samples(hooks: &Path) -> bool {
    let Ok(entries) = fs::read_dir(hooks) else { return false };
    entries.flatten().all(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_file())
            && entry.path().extension() == Some("sample".as_ref())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_by_itself_is_told_from_what_runs_programs() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let git = root.join("new/.git");
        fs::create_dir_all(git.join("modules/part")).unwrap();
        fs::create_dir_all(root.join("new/part")).unwrap();
        fs::write(git.join("modules/part/HEAD"), "ref").unwrap();
        let gits = Gits::of(&[git.clone()].into(), std::slice::from_ref(&root), &[]);
        let is_plain = |text: &str| gits.is_plain(text, &git.join("modules/part"));
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "# mine\n[Core]\n\tworktree = ../../../part\n",
            "[user]\nname = a\n",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "[core]\n\tfsmonitor = ./evil\n",
            "[core] fsmonitor = ./evil\n",
            "[core]\n\thooksPath = x\n",
            "[include]\n\tpath = x\n",
            "[core]\n\tworktree = /\n",
            "[core]\n\tworktree = ../../../../other\n",
            "[alias]\n\tst = !evil\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\tuploadpack = evil\n",
            "[user]\n\tname = a\\\n[core]\n",
            "fsmonitor = x",
            "[filter \"a\"]\n\tclean = x\n",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
