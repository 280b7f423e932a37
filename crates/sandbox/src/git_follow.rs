//! What the settings of a repository lead to: folders of hooks, and files with more settings.
//!
//! Git reads its settings from the repository, from the home and from every file that those name. Which of them hold under which
//! condition is not asked: each may.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use charla_proto::text::join_path;

/// How many files are followed; git itself follows ten levels.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 1 << 20;

/// Where the settings of a repository lead.
#[derive(Debug, Default)]
pub struct Followed {
    /// Folders whose programs git runs.
    pub hooks: BTreeSet<PathBuf>,
    /// Files with more settings.
    pub files: BTreeSet<PathBuf>,
}

impl Followed {
    /// Follows those of git's folder `git`, whose working tree is `work`, and the user's own in `home`. Paths are real ones where
    /// there is something.
    pub fn of(git: &[&Path], work: &Path, home: Option<&Path>) -> Self {
        let own = git.iter().flat_map(|folder| [folder.join("config"), folder.join("config.worktree")]);
        let users = home.map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
        let mut waiting: Vec<PathBuf> = own.chain(users.into_iter().flatten()).collect();
        let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
        let mut followed = Self::default();
        while let Some(file) = waiting.pop() {
            let Some(text) = small(&file) else { continue };
            let beside = file.parent().unwrap_or(&file);
            for (key, value) in settings(&text) {
                match key.to_ascii_lowercase().as_str() {
                    "hookspath" => drop(followed.hooks.insert(place(work, &value, home))),
                    "path" => {
                        let next = place(beside, &value, home);
                        if seen.len() < MOST_FILES && seen.insert(next.clone()) {
                            followed.files.insert(next.clone());
                            waiting.push(next);
                        }
                    }
                    _ => {}
                }
            }
        }
        followed
    }
}

/// Keys and their values. A key may follow its section on the same line.
fn settings(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = if line.starts_with('[') { line.rsplit(']').next().unwrap_or(line) } else { line };
        let (key, value) = line.split_once('=')?;
        let value = value.trim();
        // Behind the quotes there may be a comment.
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
            None => value.split([';', '#']).next().unwrap_or(value).trim(),
        };
        (!value.is_empty()).then(|| (key.trim(), value.to_owned()))
    })
}

fn place(from: &Path, value: &str, home: Option<&Path>) -> PathBuf {
    let named = match (value.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => from.join(value),
    };
    named.canonicalize().unwrap_or_else(|_| join_path(Path::new("/"), &named))
}

fn small(file: &Path) -> Option<String> {
    let found = fs::metadata(file).ok()?;
    let bytes =
        if found.is_file() && found.len() <= MOST_BYTES { fs::read(file).ok()? } else { return None };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_followed_to_hooks_and_to_more_settings() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for folder in ["w/.git", "w/h1", "w/h2", "w/h3", "home/.config/git", "home/h4", "home/deep"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, text) in [
            ("w/.git/config", "[include]\n\tpath = ../more.cfg\n[core] hooksPath = h1\n"),
            ("w/.git/config.worktree", "[core]\n\thooksPath = \"h2\" ; mine\n"),
            ("w/more.cfg", "[includeIf \"gitdir:x\"]\n\tpath = more.cfg\n\tpath = other.cfg\n"),
            ("w/other.cfg", "[core]\n\thookspath = h3\n"),
            ("home/.gitconfig", "[include]\n\tpath = ~/deep/one\n"),
            ("home/deep/one", "[core]\n\thooksPath = ~/h4\n"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        let followed = Followed::of(&[&at("w/.git")], &at("w"), Some(&at("home")));
        assert_eq!(followed.hooks, ["w/h1", "w/h2", "w/h3", "home/h4"].map(at).into());
        assert_eq!(followed.files, ["w/more.cfg", "w/other.cfg", "home/deep/one"].map(at).into());
    }
}
