//! The tools that find files and text.

mod glob;
mod grep;
mod left_out;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::{ToolContext, ToolError, ToolErrorKind};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounded;
use crate::git::is_gits_folder;
use crate::invocation::check;
use crate::paths::ResolvedPath;

pub use glob::Glob;
pub use grep::GrepSearch;
pub(crate) use left_out::LeftOut;

/// Longer patterns are no patterns anybody means.
const LONGEST_PATTERN: usize = 10_000;
/// Files that say what is not for agents.
const OWN_IGNORE: [&str; 2] = [".geminiignore", ".charlaignore"];
/// How long a search may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The folder that a call names; the working folder when it names none.
async fn place(given: Option<String>, cx: &ToolContext) -> Result<ResolvedPath, ToolError> {
    let given = given.filter(|path| !path.is_empty());
    let context = cx.clone();
    check(move || ResolvedPath::resolve(given.as_deref().unwrap_or("."), &context)).await
}

/// A pattern as a person is shown it.
fn shown(pattern: &str) -> String {
    let short: String = pattern.chars().filter(|c| !c.is_control()).take(200).collect();
    format!("'{short}'")
}

/// Which ignore files count.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filter {
    /// Leave out what .gitignore names.
    respect_git_ignore: bool,
    /// Leave out what .geminiignore and .charlaignore name.
    respect_gemini_ignore: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self { respect_git_ignore: true, respect_gemini_ignore: true }
    }
}

impl Filter {
    /// No such file counts.
    const NONE: Filter = Filter { respect_git_ignore: false, respect_gemini_ignore: false };

    pub(crate) fn new(git: Option<bool>, own: Option<bool>) -> Self {
        Self { respect_git_ignore: git.unwrap_or(true), respect_gemini_ignore: own.unwrap_or(true) }
    }
}

/// True for a folder with a file that says what is ignored and cannot be read, or would fill the memory.
fn has_trap(folder: &Path) -> bool {
    let names = OWN_IGNORE.into_iter().chain([".gitignore", ".ignore", ".git/info/exclude"]);
    names.map(|name| folder.join(name)).any(|file| is_trap(&file)) || leads_to_trap(&folder.join(".git"))
}

fn is_trap(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| !found.is_file() || found.len() > bounded::MOST_BYTES)
}

/// The same of a file that names git's folder, and of what the walk reads there.
fn leads_to_trap(git: &Path) -> bool {
    if git.is_dir() || std::fs::metadata(git).is_err() {
        return false;
    }
    let Ok(text) = bounded::text(git) else { return true };
    let folder = text.lines().next().and_then(|line| line.strip_prefix("gitdir: "));
    let folder = folder.map(|folder| git.with_file_name(folder.trim_end()));
    folder.is_some_and(|folder| is_trap(&folder.join("commondir")) || is_trap(&folder.join("info/exclude")))
}

fn is_trapped(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir()) && has_trap(entry.path())
}

/// True for a folder of git's.
fn is_repository(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    entry.file_name() == ".git" || is_folder && is_gits_folder(entry.path())
}

/// A walk through a folder: in order, hidden files included, links not followed, folders of git's never entered. It goes
/// by paths, so a folder that is exchanged for a link meanwhile may lead it out: what it finds is a name, to be
/// opened as [`crate::paths`] opens, and told of only if it is there.
///
/// Files that say what is ignored are read by the walk itself, whatever they are: where one that counts for all of it cannot be
/// read, such files do not count, and a folder in which one lies is not entered.
pub(crate) fn walk(folder: &Path, filter: &Filter) -> WalkBuilder {
    let mut walk = WalkBuilder::new(folder);
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_trap = real.ancestors().any(has_trap);
    let filter = if is_trap { &Filter::NONE } else { filter };
    walk.parents(!is_trap);
    walk.hidden(false)
        .follow_links(false)
        .require_git(false)
        .git_ignore(filter.respect_git_ignore)
        .git_global(filter.respect_git_ignore)
        .git_exclude(filter.respect_git_ignore)
        .ignore(filter.respect_git_ignore)
        .sort_by_file_path(Path::cmp)
        .filter_entry(|entry| entry.depth() == 0 || !(is_repository(entry) || is_trapped(entry)));
    if filter.respect_gemini_ignore {
        walk.add_custom_ignore_filename(OWN_IGNORE[0]).add_custom_ignore_filename(OWN_IGNORE[1]);
    }
    walk
}

/// What lies in a folder and below it, but for what is ignored, by paths from there; no more than so many.
pub fn names_under(folder: &Path, most: usize) -> Vec<PathBuf> {
    let entries = walk(folder, &Filter::new(None, None)).build().flatten().skip(1);
    entries.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.to_owned())).take(most).collect()
}

/// Patterns as one set. A star does not cross folders, two do.
pub(crate) fn patterns<S: AsRef<str>>(patterns: &[S], case_sensitive: bool) -> Result<GlobSet, ToolError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let invalid = |reason: &dyn std::fmt::Display| {
            let shown: String = pattern.chars().take(100).collect();
            ToolError::new(
                ToolErrorKind::InvalidArgs,
                format!("`{shown}` is no valid glob pattern: {reason}."),
            )
        };
        if pattern.len() > LONGEST_PATTERN {
            return Err(invalid(&"it is too long"));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(!case_sensitive)
            .backslash_escape(true)
            .build()
            .map_err(|error| invalid(error.kind()))?;
        set.add(glob);
    }
    set.build().map_err(|error| {
        ToolError::new(ToolErrorKind::InvalidArgs, format!("The patterns are too much at once: {error}."))
    })
}

/// A filter for file names in a search: `*.rs` means files of that name in any folder.
pub(crate) fn name_patterns(pattern: Option<&str>) -> Result<Option<GlobSet>, ToolError> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else { return Ok(None) };
    let pattern = pattern.trim_start_matches("./");
    if pattern.contains('/') {
        return patterns(&[pattern, &format!("**/{pattern}")], true).map(Some);
    }
    patterns(&[&format!("**/{pattern}"), &format!("**/{pattern}/**")], true).map(Some)
}
