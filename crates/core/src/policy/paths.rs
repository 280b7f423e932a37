//! Paths, told apart by their text: inside the workspace or not, secret, protected, free.

use std::path::{Component, Path, PathBuf};

use charla_proto::{PatternDots, looks_secret, pattern_may_match_secret, word_names_secret};
use globset::GlobSet;

use super::Scope;
use super::links::under;
use super::patterns::is_wild;
use super::protected::protected;

impl Scope {
    /// True for what lies in the workspace.
    pub(super) fn contains(&self, path: &Path) -> bool {
        lies_in(&self.roots, path)
    }

    /// True for what may be read without being asked about.
    pub(super) fn readable(&self, path: &Path) -> bool {
        // Reading it never ends.
        let endless = path == Path::new("/dev/zero");
        self.contains(path)
            || lies_in(&self.readable, path)
            || (is_free(path) && !endless)
            || harmless_system_file(path)
    }

    /// True for what may be written as a plan: a text in the folder of plans that neither runs nor instructs anybody later.
    pub(super) fn is_plan(&self, path: &Path) -> bool {
        let plans = self.plans.as_ref().filter(|plans| lies_in(std::slice::from_ref(plans), path));
        let below = plans.and_then(|plans| path.strip_prefix(plans).ok());
        let is_text = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        is_text && below.is_some_and(|below| protected(below).is_none() && !looks_secret(below))
    }

    /// True when a rule's globs name `path`: as it is, from a root, or from `~`.
    pub(super) fn named_by(&self, globs: &GlobSet, path: &Path) -> bool {
        let mut from_root = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let mut from_home = self.homes().filter_map(|home| path.strip_prefix(home).ok());
        globs.is_match(path)
            || from_root.any(|relative| globs.is_match(relative))
            || from_home.any(|relative| globs.is_match(under(Path::new("~"), relative)))
    }

    /// The same under any name of the path: a restriction holds for all of them, an allowance for the real one.
    pub(super) fn restricted_by(&self, globs: &GlobSet, path: &Path) -> bool {
        self.names(path).any(|name| self.named_by(globs, &name))
    }

    /// True when `path`, which may be a pattern, may match what one of a rule's patterns matches, or be a
    /// folder above it.
    pub(super) fn may_reach(&self, patterns: &[String], path: &Path) -> bool {
        let absolute: Vec<PathBuf> = patterns.iter().flat_map(|pattern| self.absolute(pattern)).collect();
        self.names(path).any(|name| absolute.iter().any(|pattern| components_meet(&name, pattern)))
    }

    /// True when `path`, which may be a pattern, may itself be what one of a rule's patterns matches.
    pub(super) fn may_name(&self, patterns: &[String], path: &Path) -> bool {
        let absolute: Vec<PathBuf> = patterns.iter().flat_map(|pattern| self.absolute(pattern)).collect();
        self.names(path).any(|name| absolute.iter().any(|pattern| patterns_meet(&name, pattern)))
    }

    /// A rule's pattern from `/` on, for each folder that it may be meant from.
    pub(super) fn absolute(&self, pattern: &str) -> Vec<PathBuf> {
        match pattern.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => self.homes().map(|home| home.join(rest.trim_start_matches('/'))).collect(),
            None => self.roots.iter().map(|root| root.join(pattern)).collect(),
        }
    }
}

/// What goes up again lies in no folder: where that leads, only the disk knows.
pub(super) fn lies_in(folders: &[PathBuf], path: &Path) -> bool {
    let goes_up = || path.components().any(|part| part == Component::ParentDir);
    folders.iter().any(|folder| below(path, folder).is_some()) && !goes_up()
}

/// What is below a folder, as `strip_prefix` tells it. Most paths that are asked about lie in none of the folders, and that can be
/// seen without taking both apart.
pub(super) fn below<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let (bytes, beginning) = (path.as_os_str().as_encoded_bytes(), folder.as_os_str().as_encoded_bytes());
    if !bytes.starts_with(beginning) && is_plain(bytes) && is_plain(beginning) {
        return None;
    }
    path.strip_prefix(folder).ok()
}

/// True for a path that is written in only one way: nothing in it stands for nothing.
fn is_plain(path: &[u8]) -> bool {
    let empty = |part: &[u8]| part.starts_with(b"//") || part == b"/./";
    cfg!(unix) && !path.windows(3).any(empty) && !path.ends_with(b"/") && !path.ends_with(b"/.")
}

/// Compares two patterns folder by folder, up to the end of the shorter one.
fn components_meet(path: &Path, pattern: &Path) -> bool {
    for (left, right) in path.iter().zip(pattern.iter()) {
        let (left, right) = (left.to_string_lossy(), right.to_string_lossy());
        if right.contains("**") || left.contains("**") {
            return true;
        }
        if !names_meet(&left, &right) {
            return false;
        }
    }
    true
}

/// True when some path is matched by both patterns. `**` stands for any number of folders, none among them.
fn patterns_meet(path: &Path, pattern: &Path) -> bool {
    let parts = |path: &Path| path.iter().map(|part| part.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let (left, right) = (parts(path), parts(pattern));
    // For each part of `right`: whether what is before it may be what was seen of `left`.
    let mut met: Vec<bool> = Vec::with_capacity(right.len() + 1);
    met.push(true);
    for part in &right {
        let before = met.last().copied().unwrap_or_default();
        met.push(before && part.contains("**"));
    }
    for part in &left {
        let any = part.contains("**");
        let mut next = vec![any && met.first().copied().unwrap_or_default()];
        for (index, wanted) in right.iter().enumerate() {
            let at = |met: &[bool], index: usize| met.get(index).copied().unwrap_or_default();
            let skips = wanted.contains("**") && (at(&met, index + 1) || at(&next, index));
            let spans = any && (at(&met, index + 1) || at(&next, index));
            let same = !any && !wanted.contains("**") && at(&met, index) && names_meet(part, wanted);
            next.push(skips || spans || same);
        }
        met = next;
    }
    met.last().copied().unwrap_or_default()
}

/// True when some name is matched by both.
fn names_meet(left: &str, right: &str) -> bool {
    // What is not read as the shell reads it may be any name between its ends.
    let matches = |pattern: &str, text: &str| match globset::Glob::new(pattern) {
        Ok(glob) if is_plain_glob(pattern) => glob.compile_matcher().is_match(text),
        _ => ends_meet(pattern, text),
    };
    match (is_wild(left), is_wild(right)) {
        (true, true) => ends_meet(left, right),
        (true, false) => matches(left, right),
        (false, true) => matches(right, left),
        (false, false) => left == right,
    }
}

/// False for a pattern with what only the shell reads: classes such as `[[:lower:]]`, and `@(a|b)`.
fn is_plain_glob(pattern: &str) -> bool {
    !["[:", "[.", "[=", "("].iter().any(|mark| pattern.contains(mark))
}

/// False when what two patterns say before their first and behind their last wildcard rules out that they match the same name:
/// `*.md` and `*.key`.
fn ends_meet(left: &str, right: &str) -> bool {
    const WILD: [char; 10] = ['*', '?', '[', ']', '{', '}', '\\', '(', ')', '|'];
    let (first, second) = (left.split(WILD).next(), right.split(WILD).next());
    let heads = first.zip(second).is_none_or(|(one, other)| one.starts_with(other) || other.starts_with(one));
    let (first, second) = (left.rsplit(WILD).next(), right.rsplit(WILD).next());
    heads && first.zip(second).is_none_or(|(one, other)| one.ends_with(other) || other.ends_with(one))
}

/// True for the targets every command may write to. The terminal is none: a person reads there what we ask.
pub(super) fn is_free(path: &Path) -> bool {
    let text = path.to_string_lossy();
    matches!(&*text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/zero")
        || text.strip_prefix("/dev/fd/").is_some_and(|fd| fd.bytes().all(|byte| byte.is_ascii_digit()))
}

fn harmless_system_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    matches!(
        &*text,
        "/etc/os-release"
            | "/usr/lib/os-release"
            | "/etc/debian_version"
            | "/etc/lsb-release"
            | "/etc/timezone"
            | "/etc/hostname"
            | "/etc/issue"
            | "/etc/shells"
            | "/proc/cpuinfo"
            | "/proc/meminfo"
            | "/proc/version"
            | "/proc/loadavg"
            | "/proc/uptime"
    )
}

/// Why a path, or a word that may hold one, is to be kept from eyes it was not meant for.
pub(super) fn secret(word: &str) -> Option<&'static str> {
    word_names_secret(word).then_some("it may hold secrets")
}

/// Why a file name pattern may match a secret, by the shell's rules: a wildcard matches no leading dot.
pub(super) fn secret_pattern(pattern: &str) -> Option<&'static str> {
    may_match(pattern, PatternDots::Written)
}

/// The same for patterns that a program matches itself (`grep --include`, `rg -g`): theirs match leading dots.
pub(super) fn secret_include(pattern: &str) -> Option<&'static str> {
    may_match(pattern, PatternDots::Matched)
}

/// Why a pattern is meant for secrets, and not for any file: by a leading dot, by what it says beside its wildcards, or by
/// a disguise.
pub(super) fn aimed_at_secret(pattern: &str) -> Option<&'static str> {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    let sample = pattern.replace(['*', '?'], "x");
    let aimed = name.starts_with('.') || name.contains('[') || secret(&sample).is_some();
    aimed.then(|| secret_pattern(pattern)).flatten()
}

fn may_match(pattern: &str, dots: PatternDots) -> Option<&'static str> {
    pattern_may_match_secret(pattern, dots).then_some("it may match a file that holds secrets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_wherever_the_name_hides() {
        for word in [
            ".env",
            "a/.env",
            "HEAD:.env",
            "--file=.env.local",
            "@.env",
            "-f.env",
            "~/.ssh/config",
            "key.pem",
            ".AWS/credentials",
            "/proc/self/environ",
            "prod.env",
            "/etc/shadow",
            ".ENV",
        ] {
            assert!(secret(word).is_some(), "{word}");
        }
        for word in
            [".env.example", "environment.rs", "process.env", "src/env.rs", "keyboard.rs", "pem", "README"]
        {
            assert!(secret(word).is_none(), "{word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_below_a_folder_is_what_the_parts_of_both_say(path in "[a./]{0,9}", folder in "[a./]{0,7}") {
            let (path, folder) = (Path::new(&path), Path::new(&folder));
            proptest::prop_assert_eq!(below(path, folder), path.strip_prefix(folder).ok());
        }
    }

    #[test]
    fn patterns_that_have_a_path_in_common_meet() {
        let meet = |path: &str, pattern: &str| patterns_meet(Path::new(path), Path::new(pattern));
        for (path, pattern) in [
            ("/w/private/a", "/w/**/private/**"),
            ("/w/x/y/private/a", "/w/**/private/**"),
            ("/w/p*", "/w/**/private/**"),
            ("/w/*/a", "/w/**/private/**"),
            ("/w/**", "/w/**/private/**"),
            ("/w/**", "/w/a/b"),
            ("/w/**/b", "/w/a/**"),
            ("/w/a", "/w/a/**"),
            ("/w/*.rs", "/w/a.rs"),
            ("/w/**/x/**/y", "/w/x/y"),
            ("/w/*.@(md|key)", "/w/*.key"),
            ("/w/a*", "/w/*b"),
            ("/w/[[:lower:]]*/a", "/w/private/**"),
            ("/w/[[:lower:]]rivate", "/w/private"),
            ("/w/privat[[.e.]]", "/w/private"),
            ("/w/[a", "/w/[a"),
            ("/w/[z-a]rivate", "/w/private"),
            ("/w/*.tar.gz", "/w/*.gz"),
        ] {
            assert!(meet(path, pattern), "{path} {pattern}");
        }
        for (path, pattern) in [
            ("/w/*.md", "/w/**/private/**"),
            ("/w/src/*.rs", "/w/**/private/*.key"),
            ("/w/src/a", "/w/**/private/**"),
            ("/w/*.md", "/w/**/*.key"),
            ("/w/a*", "/w/b?"),
            ("/w/[[:lower:]].md", "/w/private"),
            ("/w/a", "/w/a/b"),
            ("/w/**/b", "/x/**"),
            ("/w/*/a", "/w/a"),
        ] {
            assert!(!meet(path, pattern), "{path} {pattern}");
        }
    }

    #[test]
    fn patterns_are_compared_with_secrets() {
        for pattern in ["*", ".e*", "*.pem", ".*", "id_*", "config/*", "[a-z]*", "*.json"] {
            assert!(secret_pattern(pattern).is_some(), "{pattern}");
        }
        for pattern in ["*.rs", "src/*.py", "test_*.c", "README*"] {
            assert!(secret_pattern(pattern).is_none() && secret_include(pattern).is_none(), "{pattern}");
        }
        assert!(secret_pattern("*.npmrc").is_none() && secret_include("*.npmrc").is_some());
    }
}
