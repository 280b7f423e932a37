//! The tools that find files and text.

mod glob;
mod grep;
mod left_out;
mod report;
mod traps;

use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::{BoxFuture, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::git::is_gits_folder;
use crate::invocation::{StopSignal, read_within, was_cancelled};
use crate::paths::ResolvedPath;

pub use glob::Glob;
pub use grep::GrepSearch;
pub(crate) use left_out::LeftOut;
use traps::{global_is_trap, has_trap};

/// Longer patterns are no patterns anybody means.
const LONGEST_PATTERN: usize = 10_000;
/// Files that say what is not for agents.
const OWN_IGNORE: [&str; 2] = [".geminiignore", ".charlaignore"];
/// How long a search may take.
const LIMIT: Duration = Duration::from_secs(30);
/// So many searches run at once: each holds the patterns of ignore files.
const MOST_AT_ONCE: usize = 4;
static AT_ONCE: Semaphore = Semaphore::const_new(MOST_AT_ONCE);

/// Runs a search on a thread where it may block, once few enough others run.
pub(crate) async fn search_within(
    mut cancelled: BoxFuture<'static, ()>,
    work: impl FnOnce(&StopSignal) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> ToolOutput {
    let place = tokio::select! {
        place = tokio::time::timeout(LIMIT, AT_ONCE.acquire()) => place,
        () = &mut cancelled => return was_cancelled(),
    };
    let Ok(place) = place else {
        let message =
            format!("Not begun within {} seconds: others go on. Search again later.", LIMIT.as_secs());
        return ToolOutput::failed(ToolError::new(ToolErrorKind::TimedOut, message));
    };
    read_within(LIMIT, cancelled, move |stop| {
        let _place = place;
        work(stop)
    })
    .await
}

/// The folder that a call names; the working folder when it names none.
async fn place(given: Option<String>, cx: &ToolContext) -> Result<ResolvedPath, ToolError> {
    let given = given.filter(|path| !path.is_empty());
    ResolvedPath::resolve_soon(given.unwrap_or_else(|| ".".to_owned()), cx).await
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

fn is_trapped(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir()) && has_trap(entry.path(), entry.depth())
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
/// read or is too large, such files do not count, and a folder in which one lies is not entered. Those that git's settings in `home` name count, too.
pub(crate) fn walk(folder: &Path, filter: &Filter, home: Option<&Path>) -> WalkBuilder {
    let mut walk = WalkBuilder::new(folder);
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_trap = real.ancestors().enumerate().any(|(distance, folder)| has_trap(folder, distance));
    let filter = if is_trap { &Filter::NONE } else { filter };
    walk.parents(!is_trap);
    walk.hidden(false)
        .follow_links(false)
        .require_git(false)
        .git_ignore(filter.respect_git_ignore)
        .git_global(filter.respect_git_ignore && !global_is_trap(home))
        .git_exclude(filter.respect_git_ignore)
        .ignore(filter.respect_git_ignore)
        .sort_by_file_path(Path::cmp)
        .filter_entry(|entry| entry.depth() == 0 || !(is_repository(entry) || is_trapped(entry)));
    if filter.respect_gemini_ignore {
        walk.add_custom_ignore_filename(OWN_IGNORE[0]).add_custom_ignore_filename(OWN_IGNORE[1]);
    }
    walk
}

/// A walk through the files of a folder that a person may mean: those that git does not ignore.
pub fn walk_of_names(folder: &Path, home: Option<&Path>) -> WalkBuilder {
    walk(folder, &Filter { respect_git_ignore: true, respect_gemini_ignore: false }, home)
}

/// What lies in a folder and below it, but for what is ignored, by paths from there; no more than so many.
pub fn names_under(folder: &Path, most: usize) -> Vec<PathBuf> {
    let entries = walk(folder, &Filter::new(None, None), None).build().flatten().skip(1);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn few_searches_run_at_once() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let search = |_| {
            tokio::spawn(search_within(Box::pin(std::future::pending()), |_| {
                let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::sleep(Duration::from_millis(5));
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                assert!(running <= MOST_AT_ONCE);
                Ok(ToolOutput::default())
            }))
        };
        for search in (0..24).map(search).collect::<Vec<_>>() {
            assert!(search.await.unwrap().error.is_none());
        }
    }
}
