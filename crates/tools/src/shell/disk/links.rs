//! Paths as the kernel walks them, and the names that are there.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// A pattern that looks at more names than this, or names more files, is not followed.
const MAX_NAMES: usize = 4096;
const MAX_MATCHES: usize = 512;
/// A folder with more entries than this is not listed.
const MAX_ENTRIES: usize = 256;

/// Where an absolute path leads, step by step: links are followed where they stand, so that `..` behind one goes
/// up from where it leads. What does not exist yet stays as it is written.
pub(super) fn walk(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    let mut waiting: Vec<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = waiting.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match next.read_link() {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                waiting.extend(parts(&target));
            }
            _ => real = next,
        }
    }
    real
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    let mut parts: Vec<OsString> = named.collect();
    parts.reverse();
    parts
}

/// The paths a pattern names as seen from `cwd`; absent when they are too many or it is not understood.
pub(super) fn matches(cwd: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    let mut found = vec![if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() }];
    let mut looked_at = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '?', '[']) {
            let name = part.replace('\\', "");
            found.iter_mut().for_each(|path| path.push(&name));
            continue;
        }
        // Classes are the shell's own.
        if ["[:", "[.", "[="].iter().any(|class| part.contains(class)) {
            return None;
        }
        let glob = globset::GlobBuilder::new(&plain_braces(part))
            .literal_separator(true)
            .build()
            .ok()?
            .compile_matcher();
        let mut next = Vec::new();
        for folder in &found {
            // What is no folder, or cannot be read, has no names for the shell either.
            let Ok(names) = std::fs::read_dir(cwd.join(folder)) else { continue };
            for name in names.flatten().map(|entry| entry.file_name()) {
                looked_at += 1;
                let hidden = name.to_string_lossy().starts_with('.') && !part.starts_with('.');
                if !hidden && glob.is_match(Path::new(&name)) {
                    next.push(folder.join(name));
                }
            }
            if looked_at > MAX_NAMES || next.len() > MAX_MATCHES {
                return None;
            }
        }
        found = next;
    }
    found.retain(|path| cwd.join(path).symlink_metadata().is_ok());
    Some(found)
}

/// A brace that is left in a pattern stands for itself.
fn plain_braces(part: &str) -> String {
    let mut plain = String::new();
    let mut rest = part.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => plain.extend(['\\'].into_iter().chain(rest.next())),
            '{' | '}' => plain.extend(['\\', next]),
            _ => plain.push(next),
        }
    }
    plain
}

/// Everything below a folder, from the folder; absent when it is too much.
pub(super) fn entries(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut listed = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        for entry in std::fs::read_dir(folder.join(&below)).ok()? {
            let entry = entry.ok()?;
            let path = below.join(entry.file_name());
            if entry.file_type().ok()?.is_dir() {
                waiting.push(path.clone());
            }
            listed.push(path);
            if listed.len() > MAX_ENTRIES {
                return None;
            }
        }
    }
    Some(listed)
}
