//! `glob`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use charla_proto::text::printable;
use charla_proto::{Effect, FileJudge, Prepared, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Filter, LIMIT, LeftOut, patterns, place, shown, walk};
use crate::files::expect_folder;
use crate::invocation::{StopSignal, read_plan, read_within, text_output};
use crate::paths::{FileKind, ResolvedPath, kind_of, look, modified};
use crate::typed::{PreparedCall, TypedTool};

/// How many paths are shown.
const MOST_PATHS: usize = 1000;
/// How many are found at all: beyond that the pattern is too wide to be of use.
const MOST_FOUND: usize = 100_000;
/// Files changed within this time come first, the last changed at the top.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// Finds files by a pattern of their path.
pub struct Glob;

/// What `glob` takes.
#[derive(Deserialize, JsonSchema)]
pub struct GlobArgs {
    /// The pattern, relative to the folder. `*` stays in one folder, `**` goes through all.
    #[schemars(length(min = 1))]
    pattern: String,
    /// The folder to look in; the working folder if left out.
    dir_path: Option<String>,
    /// Tell upper case from lower case. Default: false.
    #[serde(default)]
    case_sensitive: bool,
    /// Leave out what .gitignore names. Default: true.
    respect_git_ignore: Option<bool>,
    /// Leave out what .geminiignore and .charlaignore name. Default: true.
    respect_gemini_ignore: Option<bool>,
}

impl TypedTool for Glob {
    type Args = GlobArgs;
    const NAME: &'static str = "glob";
    const SCHEMA: &'static str = include_str!("../schemas/glob.json");
    const DESCRIPTION: &'static str = "Finds files by a glob pattern (`src/**/*.rs`, `*.{md,txt}`) and returns \
their absolute paths, recently changed ones first.";

    async fn prepare(&self, mut args: GlobArgs, cx: &ToolContext) -> PreparedCall {
        let place = place(args.dir_path.take(), cx).await?;
        let search = GlobQuery::new(&args, place)?;
        let by_name = search.place.restricted_name(cx).map(|path| Effect::Read { path });
        let real = Effect::Read { path: search.place.real.clone() };
        let effects = std::iter::once(real).chain(by_name).collect();
        let title = format!("Find {} in {}", shown(&args.pattern), search.place.title(cx));
        let plan = read_plan(Self::NAME, title, effects);
        Ok(Prepared::boxed(plan, move |cx| {
            read_within(LIMIT, cx.cancelled, move |stop| search.run(&cx.files, stop))
        }))
    }
}

struct GlobQuery {
    place: ResolvedPath,
    /// The folder below it that the pattern names before its first wildcard.
    start: PathBuf,
    pattern: String,
    set: GlobSet,
    filter: Filter,
}

struct FoundFile {
    path: PathBuf,
    changed: SystemTime,
}

impl GlobQuery {
    fn new(args: &GlobArgs, place: ResolvedPath) -> Result<Self, ToolError> {
        let pattern = relative(&args.pattern, &place)?;
        let set = patterns(&[&pattern], args.case_sensitive)?;
        // Without regard to case `SRC/*.rs` may be meant for `src`: only a walk can tell.
        let below = if args.case_sensitive { literal_folder(&pattern) } else { PathBuf::new() };
        let start = place.real.join(below).components().collect();
        let filter = Filter::new(args.respect_git_ignore, args.respect_gemini_ignore);
        Ok(Self { place, start, pattern, set, filter })
    }

    fn run(&self, files: &FileJudge, stop: &StopSignal) -> Result<ToolOutput, ToolError> {
        self.place.recheck()?;
        expect_folder(&self.place)?;
        let mut found = Vec::new();
        let mut left_out = LeftOut::default();
        let mut looked_at = 0_u64;
        for entry in walk(self.start(), &self.filter).build() {
            if stop.now() || found.len() >= MOST_FOUND {
                break;
            }
            let Ok(entry) = entry else { continue };
            looked_at += 1;
            let path = entry.path().strip_prefix(&self.place.real).unwrap_or(entry.path());
            if entry.file_type().is_some_and(|kind| kind.is_dir()) || !self.set.is_match(path) {
                continue;
            }
            let Ok(data) = look(entry.path()) else { continue };
            if kind_of(entry.path(), &data) != FileKind::Directory
                && !left_out.takes_name(files, entry.path())
            {
                found.push(FoundFile { path: path.to_owned(), changed: modified(&data) });
            }
        }
        sort(&mut found, SystemTime::now());
        let mut text = self.in_words(&found, looked_at, stop);
        left_out.by_rules().for_each(|note| text.push_str(&format!("\n[{note}]")));
        Ok(text_output(text, format!("Found {} files matching {}", found.len(), shown(&self.pattern))))
    }

    /// Where the walk begins: in the pattern's own folder, unless a link leads there, which might lead out.
    fn start(&self) -> &Path {
        let no_links = fs::canonicalize(&self.start).is_ok_and(|real| real == self.start);
        if no_links { &self.start } else { &self.place.real }
    }

    fn in_words(&self, found: &[FoundFile], looked_at: u64, stop: &StopSignal) -> String {
        let folder = printable(&self.place.path);
        let pattern = shown(&self.pattern);
        let mut text = match found.len() {
            0 => format!("No files match {pattern} in {folder} ({looked_at} entries were looked at)."),
            count => format!("{count} file(s) match {pattern} in {folder}, recently changed ones first:"),
        };
        for found in found.iter().take(MOST_PATHS) {
            text.push('\n');
            text.push_str(&printable(&self.place.path.join(&found.path)));
        }
        if found.len() > MOST_PATHS {
            text.push_str(&format!(
                "\n[Only the first {MOST_PATHS} are shown. Use a narrower pattern or dir_path.]"
            ));
        }
        if stop.is_late() {
            text.push_str(&format!("\n[Stopped after {} seconds: there may be more.]", LIMIT.as_secs()));
        }
        text
    }
}

/// The pattern relative to the folder searched.
fn relative(pattern: &str, place: &ResolvedPath) -> Result<String, ToolError> {
    if pattern.contains('\0') {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            "The pattern has a NUL character in it, which no path can have.",
        ));
    }
    let below = [&place.path, &place.real].into_iter().find_map(|folder| {
        let rest = Path::new(pattern).strip_prefix(folder).ok()?;
        Some(rest.to_string_lossy().into_owned())
    });
    let pattern = below.unwrap_or_else(|| pattern.trim_start_matches("./").to_owned());
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            "The pattern leads out of the folder it is searched in. Give that folder as dir_path and a pattern relative to it.",
        ));
    }
    Ok(pattern)
}

/// The folders a pattern begins with before its first wildcard.
fn literal_folder(pattern: &str) -> PathBuf {
    let mut parts: Vec<&str> = pattern.split('/').collect();
    parts.pop();
    parts.into_iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).collect()
}

fn sort(found: &mut [FoundFile], now: SystemTime) {
    let is_recent = |changed: SystemTime| now.duration_since(changed).is_ok_and(|age| age < RECENT);
    found.sort_by(|a, b| match (is_recent(a.changed), is_recent(b.changed)) {
        (true, true) => b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)),
        (true, false) => std::cmp::Ordering::Less,
        (false, true) => std::cmp::Ordering::Greater,
        (false, false) => a.path.cmp(&b.path),
    });
}
