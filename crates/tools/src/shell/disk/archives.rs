//! Which secrets lie in the folders that a command takes along as a whole.

use std::path::{Path, PathBuf};

use charla_proto::{Effect, Word, looks_secret};

use super::Disk;
use super::links::walk;

/// A folder with more entries than this is not looked through.
const MOST: usize = 100_000;
/// A list of files that is longer is not read.
const MOST_BYTES: u64 = 1 << 20;

impl Disk<'_> {
    /// What `tar` puts into an archive: folders with all that is in them, and what a list names.
    pub(super) fn archived(&mut self, operands: &[Word], cwd: &Path, command: &str) {
        let words: Vec<&str> = operands.iter().filter_map(Word::known).collect();
        if !words.iter().enumerate().any(|(at, word)| creates(word, at == 0)) {
            return;
        }
        let here = walk(cwd);
        let mut bases = vec![here.clone()];
        let mut taken: Vec<String> = Vec::new();
        let mut rest = words.into_iter();
        while let Some(word) = rest.next() {
            let value = word.split_once('=').map(|(_, value)| value);
            match word {
                "-C" | "--directory" => bases.extend(rest.next().map(|folder| walk(&here.join(folder)))),
                _ if word.starts_with("--directory=") => {
                    bases.extend(value.map(|folder| walk(&here.join(folder))))
                }
                _ if names_list(word) => {
                    let glued = word.strip_prefix("-T").filter(|glued| !glued.is_empty());
                    let Some(list) = value.or(glued).or_else(|| rest.next()) else { continue };
                    match listed(&here.join(list)) {
                        Some(names) => taken.extend(names),
                        None => self.unclear(command, &format!("which files {list} names is not known")),
                    }
                }
                _ if word.starts_with('-') => {}
                _ => taken.push(word.to_owned()),
            }
        }
        for base in bases {
            for name in &taken {
                self.held_by(&base.join(name), command);
            }
        }
    }

    /// The secret that a path is, or that lies below it. One is enough to be asked about.
    pub(super) fn held_by(&mut self, path: &Path, command: &str) {
        let path = walk(path);
        let mut waiting: Vec<PathBuf> = vec![path];
        let mut left = MOST;
        while let Some(next) = waiting.pop() {
            let Ok(found) = next.symlink_metadata() else { continue };
            let secret = looks_secret(&next) && !next.ends_with(".git/config");
            if let Some(path) = self
                .files
                .first_name(&next)
                .filter(|first| looks_secret(first))
                .or(secret.then(|| next.clone()))
            {
                return self.found.push(Effect::Read { path });
            }
            if !found.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
                let Some(now) = left.checked_sub(1) else {
                    return self.unclear(command, "the folder is too large to be looked at");
                };
                left = now;
                waiting.push(entry.path());
            }
        }
    }
}

/// True for a word that makes `tar` fill an archive. The first one needs no dash.
fn creates(word: &str, first: bool) -> bool {
    match word.strip_prefix("--") {
        Some(long) => {
            ["create", "append", "update"].iter().any(|name| long.len() > 1 && name.starts_with(long))
        }
        None => (first || word.starts_with('-')) && word.contains(['c', 'r', 'u']),
    }
}

fn names_list(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    word.starts_with("-T") || name.len() > 4 && "--files-from".starts_with(name)
}

/// The names in a list, one in a line.
fn listed(list: &Path) -> Option<Vec<String>> {
    let found = std::fs::metadata(list).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES)?;
    let text = String::from_utf8(std::fs::read(list).ok()?).ok().filter(|_| found.is_file())?;
    Some(text.split(['\n', '\0']).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
