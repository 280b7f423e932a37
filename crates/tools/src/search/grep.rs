//! `grep_search`.

use std::io;
use std::path::Path;

use charla_proto::{FileJudge, Prepared, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use globset::GlobSet;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::report::{FileMatches, Line, Report};
use super::{Filter, LIMIT, LONGEST_PATTERN, name_patterns, place, shown, walk};
use crate::invocation::{StopSignal, read_plan, read_within};
use crate::paths::folder::open_regular;
use crate::paths::{FileKind, ResolvedPath, missing, special};
use crate::typed::{PreparedCall, TypedTool};

/// How many matches are shown by default.
const MATCHES: usize = 100;
/// How many may be asked for.
const MOST_MATCHES: usize = 20_000;
/// How many lines around a match may be asked for.
const MOST_CONTEXT: usize = 200;
/// Files with longer lines than this are left out.
const MOST_LINE_BYTES: usize = 32 << 20;

/// Finds text in files by a regular expression.
pub struct GrepSearch;

/// What `grep_search` takes.
#[derive(Deserialize, JsonSchema)]
pub struct GrepSearchArgs {
    /// The regular expression, or plain text with fixed_strings.
    #[schemars(length(min = 1))]
    pattern: String,
    /// The folder or file to search; the working folder if left out.
    dir_path: Option<String>,
    /// A glob of the files to search (`*.rs`, `src/**`).
    include_pattern: Option<String>,
    /// A regular expression; matching lines that match it too are left out.
    exclude_pattern: Option<String>,
    /// Return only the names of the files with matches.
    #[serde(default)]
    names_only: bool,
    /// The most matches from one file.
    #[schemars(range(min = 1))]
    max_matches_per_file: Option<usize>,
    /// The most matches altogether. Default: 100.
    #[schemars(range(min = 1))]
    total_max_matches: Option<usize>,
    /// Tell upper case from lower case. Default: false.
    #[serde(default)]
    case_sensitive: bool,
    /// Take the pattern as plain text. Default: false.
    #[serde(default)]
    fixed_strings: bool,
    /// Lines to show before and after each match.
    context: Option<usize>,
    /// Lines to show after each match.
    after: Option<usize>,
    /// Lines to show before each match.
    before: Option<usize>,
    /// Search ignored files too. Default: false.
    #[serde(default)]
    no_ignore: bool,
}

impl TypedTool for GrepSearch {
    type Args = GrepSearchArgs;
    const NAME: &'static str = "grep_search";
    const SCHEMA: &'static str = include_str!("../schemas/grep_search.json");
    const DESCRIPTION: &'static str = "Finds lines in files by a regular expression (Rust syntax, line by line) \
and returns them with their line numbers. Binary and ignored files are left out.";

    async fn prepare(&self, mut args: GrepSearchArgs, cx: &ToolContext) -> PreparedCall {
        let place = place(args.dir_path.take(), cx).await?;
        let search = GrepQuery::new(args, place)?;
        let effects = search.place.reading(cx);
        let title = format!("Search {} for {}", search.place.title(cx), shown(&search.args.pattern));
        let plan = read_plan(Self::NAME, title, effects);
        Ok(Prepared::boxed(plan, move |cx| {
            read_within(LIMIT, cx.cancelled, move |stop| search.run(&cx.files, stop))
        }))
    }
}

struct GrepQuery {
    place: ResolvedPath,
    args: GrepSearchArgs,
    matcher: RegexMatcher,
    excluded: Option<RegexMatcher>,
    included: Option<GlobSet>,
}

impl GrepQuery {
    fn new(args: GrepSearchArgs, place: ResolvedPath) -> Result<Self, ToolError> {
        let matcher = matcher(&args.pattern, args.case_sensitive, args.fixed_strings)?;
        let excluded = args.exclude_pattern.as_deref().filter(|pattern| !pattern.is_empty());
        let excluded =
            excluded.map(|pattern| self::matcher(pattern, args.case_sensitive, false)).transpose()?;
        let included = name_patterns(args.include_pattern.as_deref())?;
        Ok(Self { place, args, matcher, excluded, included })
    }

    fn run(&self, files: &FileJudge, stop: &StopSignal) -> Result<ToolOutput, ToolError> {
        self.place.recheck()?;
        let (before, after) = self.context();
        let mut report = Report::default();
        let kind = self.place.kind()?;
        match kind {
            FileKind::Missing => return Err(missing(&self.place.path)),
            FileKind::Special(what) => return Err(special(&self.place.path, what)),
            FileKind::File { .. } => {
                let name = self.place.real.file_name().map(Path::new).unwrap_or(&self.place.real);
                self.search(&self.place.real, name, before, after, &mut report, stop);
            }
            FileKind::Directory => self.search_folder(files, (before, after), &mut report, stop),
        }
        if before == 0 && after == 0 && self.args.context.is_none() && !self.args.names_only {
            self.widen(kind == FileKind::Directory, &mut report, stop);
        }
        report.late = stop.is_late();
        Ok(report.in_words(&self.place, &shown(&self.args.pattern), self.args.names_only))
    }

    /// Lines before and after each match.
    fn context(&self) -> (usize, usize) {
        let both = self.args.context.unwrap_or(0);
        let lines = |own: Option<usize>| own.unwrap_or(both).min(MOST_CONTEXT);
        (lines(self.args.before), lines(self.args.after))
    }

    fn most(&self) -> usize {
        self.args.total_max_matches.unwrap_or(MATCHES).min(MOST_MATCHES)
    }

    fn search_folder(
        &self,
        files: &FileJudge,
        (before, after): (usize, usize),
        report: &mut Report,
        stop: &StopSignal,
    ) {
        let filter = Filter::new(Some(!self.args.no_ignore), Some(!self.args.no_ignore));
        for entry in walk(&self.place.real, &filter).build() {
            if stop.now() || report.capped {
                return;
            }
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let name = entry.path().strip_prefix(&self.place.real).unwrap_or(entry.path());
            if self.included.as_ref().is_some_and(|set| !set.is_match(name)) {
                continue;
            }
            if report.left_out.takes(files, entry.path()).is_some() {
                continue;
            }
            self.search(entry.path(), name, before, after, report, stop);
        }
    }

    fn search(
        &self,
        path: &Path,
        name: &Path,
        before: usize,
        after: usize,
        report: &mut Report,
        stop: &StopSignal,
    ) {
        let left = self.most().saturating_sub(report.matches);
        let per_file = self.args.max_matches_per_file.unwrap_or(usize::MAX);
        let mut sink = Collector {
            search: self,
            stop,
            most: if self.args.names_only { 1 } else { left.min(per_file) },
            matches: 0,
            more: false,
            lines: Vec::new(),
        };
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .before_context(before)
            .after_context(after)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MOST_LINE_BYTES))
            .build();
        report.searched += 1;
        let searched =
            open_regular(path).and_then(|file| searcher.search_file(&self.matcher, &file, &mut sink));
        report.unreadable += usize::from(searched.is_err());
        let (matches, more, lines) = (sink.matches, sink.more, sink.lines);
        if matches > 0 {
            report.matches += matches;
            report.files.push(FileMatches { name: name.to_owned(), matches, lines });
        }
        report.capped |= report.matches >= self.most();
        report.cut_files += usize::from(more && !self.args.names_only && matches >= per_file);
    }

    /// With very few matches, shows what is around them: it saves the model from reading the files.
    fn widen(&self, in_folder: bool, report: &mut Report, stop: &StopSignal) {
        let around = match report.matches {
            1 => 50,
            2 | 3 => 15,
            _ => return,
        };
        let names: Vec<_> = std::mem::take(&mut report.files).into_iter().map(|file| file.name).collect();
        (report.matches, report.searched) = (0, report.searched - names.len());
        for name in names {
            let path = if in_folder { self.place.real.join(&name) } else { self.place.real.clone() };
            self.search(&path, &name, around, around, report, stop);
        }
    }
}

fn matcher(pattern: &str, case_sensitive: bool, fixed: bool) -> Result<RegexMatcher, ToolError> {
    let shown: String = pattern.chars().take(200).collect();
    if pattern.len() > LONGEST_PATTERN {
        return Err(ToolError::new(
            ToolErrorKind::InvalidArgs,
            format!("The pattern is too long ({} bytes).", pattern.len()),
        ));
    }
    let built = RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .fixed_strings(fixed)
        .multi_line(true)
        .crlf(true)
        .build(pattern);
    built.map_err(|error| {
        let reason: String = error.to_string().chars().take(500).collect();
        let message = format!(
            "'{shown}' cannot be searched for: {reason}. The search goes line by line; to find plain text, set fixed_strings."
        );
        ToolError::new(ToolErrorKind::InvalidArgs, message)
    })
}

struct Collector<'a> {
    search: &'a GrepQuery,
    stop: &'a StopSignal,
    most: usize,
    matches: usize,
    /// There are matches beyond the most.
    more: bool,
    lines: Vec<Line>,
}

impl Collector<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        self.lines.push(Line::new(number.unwrap_or_default(), text, is_match));
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let excluded = self.search.excluded.as_ref();
        if excluded.is_some_and(|excluded| excluded.is_match(found.bytes()).unwrap_or(false)) {
            return Ok(!self.stop.now());
        }
        if self.matches >= self.most {
            self.more = true;
            return Ok(false);
        }
        self.matches += 1;
        self.push(found.line_number(), found.bytes(), true);
        Ok(!self.stop.now() && !self.search.args.names_only)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        // Once the most is reached only what follows the last match is still args.
        if self.matches >= self.most && *context.kind() == SinkContextKind::Before {
            self.more = true;
            return Ok(false);
        }
        self.push(context.line_number(), context.bytes(), false);
        Ok(!self.stop.now())
    }
}
