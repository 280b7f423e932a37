//! Files that are likely to hold secrets, told by their names.
//!
//! This is the one list: the tools that walk folders, the policy, the imports of memory files and the
//! confinement of commands all ask here. Only names are looked at, so it can be asked about paths that do
//! not exist; a caller resolves links first. Upper and lower case are the same.

mod attributes;
mod index;
mod list;
mod pattern;
mod version_control;

use std::path::Path;

pub use attributes::secret_attributes;
pub use pattern::PatternDots;
pub use version_control::{GITS_OWN, GITS_SETTINGS, is_open_in_git};

use index::{FILES_BY_END, FOLDERS_BY_END};
use list::{FILES, FOLDERS, OF_HOME, PUBLIC, WRITINGS};

/// Files and folders below a home that hold secrets: only unconfined commands read them.
pub const HOME_SECRETS: &[&str] = OF_HOME;

/// True when what has this path is likely to hold secrets: a file of such a name, or anything in a folder
/// that holds hardly anything else.
pub fn looks_secret(path: &Path) -> bool {
    names_secret(&path.to_string_lossy().to_lowercase())
}

/// True when what has this path below a home is secret there, whatever it would be elsewhere. Texts that instruct are none:
/// agents keep theirs beside their keys.
pub fn is_secret_of_home(below: &Path) -> bool {
    let is_text = below.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    let Some(first) = below.components().next() else { return false };
    // Nearly every entry is left out by its beginning, which is compared in a fraction of the time.
    let first = first.as_os_str().as_encoded_bytes();
    let begins = |entry: &&&str| entry.as_bytes().starts_with(first);
    !is_text && OF_HOME.iter().filter(begins).any(|entry| below.starts_with(entry))
}

/// True for a folder whose files may be secret by its name, not by their own: `.kube`, of which `config` is one.
pub fn makes_secret(folder: &Path) -> bool {
    let lower = folder.to_string_lossy().to_lowercase();
    let parts: Vec<&str> = parts(&lower).collect();
    let begun = |pattern: &&str| {
        let mut beginnings = pattern.match_indices('/').filter_map(|(at, _)| pattern.get(..at));
        beginnings.any(|beginning| ends_in(&parts, beginning))
    };
    names_secret(&lower) || FILES.iter().chain(FOLDERS).any(begun)
}

/// True when a word of a command names such a path, wherever in the word it stands: `HEAD:.env`,
/// `--file=.env`, `-f.env`, `@.env`.
pub fn word_names_secret(word: &str) -> bool {
    const AROUND: [char; 18] =
        [':', '=', '@', ',', ';', '\\', '"', '\'', '`', ' ', '\n', '\t', '(', ')', '<', '>', '|', '&'];
    let lower = word.to_lowercase();
    let named = |text: &str| {
        let Some(option) = text.strip_prefix('-') else { return names_secret(text) };
        let mut letters = if option.starts_with('-') { "" } else { option }.chars();
        letters.next();
        names_secret(text) || names_secret(text.trim_start_matches('-')) || names_secret(letters.as_str())
    };
    named(&lower) || (lower.contains(AROUND) && lower.split(AROUND).any(named))
}

/// True when a file name pattern may match such a path. Decided on the pattern, not on files that exist,
/// and in doubt with yes.
pub fn pattern_may_match_secret(pattern: &str, dots: PatternDots) -> bool {
    pattern::may_match(pattern, dots)
}

fn names_secret(lower: &str) -> bool {
    let parts: Vec<&str> = parts(lower).collect();
    let Some(name) = parts.last() else { return false };
    let held = |folders: &[&str]| {
        let folder = folders.last().copied().unwrap_or_default();
        FOLDERS_BY_END.may_match(folder).any(|entry| entry.ends(folders))
    };
    (!is_public(name) && FILES_BY_END.may_match(name).any(|file| file.ends(&parts)))
        || (1..=parts.len()).filter_map(|end| parts.get(..end)).any(held)
        || version_control::is_kept(&parts)
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

/// True when the last parts of a path are those of an entry of the list.
fn ends_in(parts: &[&str], entry: &str) -> bool {
    let mut parts = parts.iter().rev();
    entry.rsplit('/').all(|wanted| parts.next().is_some_and(|part| matches(wanted, part)))
}

/// Templates, sources, public keys, and what programs say instead of a file's name (`process.env`).
fn is_public(name: &str) -> bool {
    let environment = name.starts_with(".env") || name.ends_with(".env");
    let template = |word: &str| PUBLIC.contains(&word);
    name.ends_with(".pub")
        || is_writing(name)
        || (environment && name.split(['.', '-', '_']).any(template))
        || matches!(name, "process.env" | "import.meta.env" | "meta.env")
}

fn is_writing(name: &str) -> bool {
    WRITINGS.iter().any(|ending| name.ends_with(ending))
}

/// `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    if !after.contains('*') {
        return rest.ends_with(after);
    }
    rest.char_indices()
        .map(|(index, _)| index)
        .chain([rest.len()])
        .any(|index| rest.get(index..).is_some_and(|rest| matches(after, rest)))
}

/// True when a text has an address with a password or a token in it: `://user:password@`, or a name before the `@`
/// that is too long for one.
pub fn carries_credential(text: &str) -> bool {
    text.split("://").skip(1).any(|address| {
        let authority = address.split(['/', '?', '#', ' ', '"', '\n']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user).unwrap_or_default();
        user.split_once(':').map_or(user.len() > LONGEST_NAME, |(_, password)| !password.is_empty())
    })
}

/// The longest name before an `@` that is no token.
const LONGEST_NAME: usize = 16;

#[cfg(test)]
mod tests;
