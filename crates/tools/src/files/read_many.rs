//! `read_many_files`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use charla_proto::text::printable;
use charla_proto::{
    Display, Effect, FileJudge, Part, Plan, Prepared, ToolContext, ToolError, ToolErrorKind, ToolOutput,
    Withheld,
};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::buffers::Buffers;
use super::read_file::{LIMIT, LineRange, read};
use crate::invocation::{StopSignal, check, read_plan, read_within};
use crate::paths::{FileKind, ResolvedPath, look};
use crate::search::{Filter, LeftOut, patterns, walk};
use crate::typed::{PreparedCall, TypedTool};

/// How many files are read at once.
const MOST_FILES: usize = 200;
/// How much text is returned altogether.
const MOST_CHARS: usize = 400_000;
/// How much media is returned altogether, in base64.
const MOST_MEDIA: usize = 20_000_000;
/// How many files that were left out are named.
const MOST_NAMED: usize = 10;

/// What nobody means when asking for all files.
const DEFAULT_EXCLUDES: &[&str] = &[
    "**/node_modules/**",
    "**/bower_components/**",
    "**/.svn/**",
    "**/.hg/**",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.cache/**",
    "**/dist/**",
    "**/build/**",
    "**/coverage/**",
    "**/target/**",
    "**/__pycache__/**",
    "**/*.{pyc,pyo,class,o,a,so,dll,dylib,exe,bin,zip,gz,tar,bz2,xz,7z,rar,jar,war,wasm}",
    "**/.DS_Store",
];

/// Reads several files at once, named or matched by patterns.
#[derive(Default)]
pub struct ReadManyFiles {
    buffers: Buffers,
}

impl ReadManyFiles {
    /// The tool, looking at files as `buffers` have them.
    pub fn new(buffers: Buffers) -> Self {
        Self { buffers }
    }
}

/// What `read_many_files` takes.
#[derive(Deserialize, JsonSchema)]
pub struct ReadManyFilesArgs {
    /// Paths or glob patterns, relative to the working folder.
    #[schemars(length(min = 1, max = 1000), inner(length(min = 1)))]
    include: Vec<String>,
    /// Glob patterns of files to leave out.
    #[serde(default)]
    #[schemars(length(max = 1000), inner(length(min = 1)))]
    exclude: Vec<String>,
    /// Go into folders. Default: true.
    #[serde(default = "yes")]
    recursive: bool,
    /// Leave out dependencies, build results and the like. Default: true.
    #[serde(default = "yes", rename = "useDefaultExcludes")]
    use_default_excludes: bool,
    /// Which ignore files count; all do unless told otherwise.
    #[serde(default)]
    file_filtering_options: Filter,
}

fn yes() -> bool {
    true
}

impl TypedTool for ReadManyFiles {
    type Args = ReadManyFilesArgs;
    const NAME: &'static str = "read_many_files";
    const SCHEMA: &'static str = include_str!("../schemas/read_many_files.json");
    const DESCRIPTION: &'static str = "Reads several files at once, named by paths or glob patterns, and returns \
them one after the other. Binary files are left out; images, PDFs, audio and video are shown when they are named or \
their extension is.";

    async fn prepare(&self, args: ReadManyFilesArgs, cx: &ToolContext) -> PreparedCall {
        let (context, buffers) = (cx.clone(), self.buffers.clone());
        let (plan, reader) = check(move || ManyFilesReader::prepare(&args, context, buffers)).await?;
        Ok(Prepared::boxed(plan, move |cx| {
            read_within(LIMIT, cx.cancelled, move |stop| reader.run(&cx.files, stop))
        }))
    }
}

struct ManyFilesReader {
    cx: ToolContext,
    named: Vec<ResolvedPath>,
    patterns: Vec<String>,
    matching: GlobSet,
    excluded: GlobSet,
    recursive: bool,
    filter: Filter,
    buffers: Buffers,
}

impl ManyFilesReader {
    fn prepare(
        args: &ReadManyFilesArgs,
        mut cx: ToolContext,
        buffers: Buffers,
    ) -> Result<(Plan, Self), ToolError> {
        // What is found below it is compared with paths whose links are followed.
        cx.cwd = fs::canonicalize(&cx.cwd).unwrap_or(cx.cwd);
        let (mut named, mut globs) = (Vec::new(), Vec::new());
        for include in &args.include {
            if include.contains(['*', '?', '[', '{']) {
                globs.push(relative(include, &cx)?);
                continue;
            }
            let place = ResolvedPath::resolve(include, &cx)?;
            match (place.kind()?, place.real.strip_prefix(&cx.cwd)) {
                (FileKind::Directory, Ok(below)) => {
                    globs.push(below.join("**").to_string_lossy().into_owned())
                }
                _ => named.push(place),
            }
        }
        let defaults = DEFAULT_EXCLUDES.iter().filter(|_| args.use_default_excludes);
        let excludes: Vec<&str> = args.exclude.iter().map(String::as_str).chain(defaults.copied()).collect();
        let reader = Self {
            matching: patterns(&globs, false)?,
            patterns: globs,
            excluded: patterns(&excludes, false)?,
            recursive: args.recursive,
            filter: args.file_filtering_options,
            named,
            cx,
            buffers,
        };
        Ok((reader.plan(), reader))
    }

    fn plan(&self) -> Plan {
        let mut effects: Vec<Effect> = self.named.iter().flat_map(|place| place.reading(&self.cx)).collect();
        if !self.patterns.is_empty() {
            effects.push(Effect::Read { path: self.cx.cwd.clone() });
        }
        let names = self.named.iter().map(|place| place.title(&self.cx));
        let all: Vec<String> = names.chain(self.patterns.iter().cloned()).take(MOST_NAMED).collect();
        read_plan(ReadManyFiles::NAME, format!("Read {}", all.join(", ")), effects)
    }

    fn run(&self, files: &FileJudge, stop: &StopSignal) -> Result<ToolOutput, ToolError> {
        let mut bundle = Bundle::default();
        let found = self.find(files, &mut bundle, stop)?;
        for (place, named) in found {
            if stop.now() || bundle.files >= MOST_FILES || bundle.chars >= MOST_CHARS {
                bundle.not_reached += 1;
                continue;
            }
            bundle.add(&place, named || self.names_extension(&place.path), &self.buffers);
        }
        bundle.finish()
    }

    /// The files to read: named ones first, then those the patterns match, none twice.
    fn find(
        &self,
        files: &FileJudge,
        bundle: &mut Bundle,
        stop: &StopSignal,
    ) -> Result<Vec<(ResolvedPath, bool)>, ToolError> {
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        let mut found = Vec::new();
        for place in &self.named {
            place.recheck()?;
            if seen.insert(place.real.clone()) {
                found.push((place.clone(), true));
            }
        }
        if self.patterns.is_empty() {
            return Ok(found);
        }
        let depth = if self.recursive { None } else { Some(1) };
        for entry in walk(&self.cx.cwd, &self.filter).max_depth(depth).build() {
            if stop.now() {
                break;
            }
            let Ok(entry) = entry else { continue };
            let path = entry.path().strip_prefix(&self.cx.cwd).unwrap_or(entry.path());
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if !is_file || !self.matching.is_match(path) || self.excluded.is_match(path) {
                continue;
            }
            if look(entry.path()).is_err() {
                continue;
            }
            match bundle.withheld.takes(files, entry.path()) {
                Some(Withheld::Secret) => bundle
                    .left_out
                    .push(format!("{} (may hold secrets; name it to read it)", printable(path))),
                Some(Withheld::Rule { .. }) => {}
                None if seen.insert(entry.path().to_owned()) => {
                    found.push((ResolvedPath::found(entry.path()), false));
                }
                None => {}
            }
        }
        Ok(found)
    }

    /// True when a pattern asks for files of this extension by name.
    fn names_extension(&self, path: &Path) -> bool {
        let Some(extension) = path.extension().map(|it| it.to_string_lossy().to_lowercase()) else {
            return false;
        };
        let named = |pattern: &String| {
            let last = pattern.rsplit('/').next().unwrap_or_default().to_lowercase();
            last.split(['.', '{', '}', ',', '*']).any(|part| part == extension)
        };
        self.patterns.iter().any(named)
    }
}

fn relative(pattern: &str, cx: &ToolContext) -> Result<String, ToolError> {
    let pattern = match Path::new(pattern).strip_prefix(&cx.cwd) {
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => pattern.trim_start_matches("./").to_owned(),
    };
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") || pattern.contains('\0') {
        let message = "A pattern leads out of the working folder. Name files elsewhere by their full paths.";
        return Err(ToolError::new(ToolErrorKind::InvalidArgs, message));
    }
    Ok(pattern)
}

/// What is put together for the model.
#[derive(Default)]
struct Bundle {
    text: String,
    media: Vec<Part>,
    media_size: usize,
    files: usize,
    chars: usize,
    left_out: Vec<String>,
    /// What must not be read.
    withheld: LeftOut,
    not_reached: usize,
}

impl Bundle {
    fn add(&mut self, place: &ResolvedPath, media_wanted: bool, buffers: &Buffers) {
        let name = printable(&place.path);
        let output = match read(place, &LineRange::default(), buffers) {
            Ok(output) => output,
            Err(error) => return self.left_out.push(format!("{name} ({})", error.kind)),
        };
        for part in output.content {
            match part.as_text() {
                Some(text) => {
                    let entry = format!("--- {name} ---\n\n{text}\n\n");
                    self.chars += entry.chars().count();
                    if self.chars > MOST_CHARS && self.files > 0 {
                        self.not_reached += 1;
                        return;
                    }
                    self.text.push_str(&entry);
                }
                None if !media_wanted => return self.left_out.push(format!("{name} (media, not named)")),
                None => {
                    self.media_size += place.kind().map_or(0, |kind| match kind {
                        FileKind::File { size } => usize::try_from(size).unwrap_or(usize::MAX),
                        _ => 0,
                    });
                    if self.media_size > MOST_MEDIA {
                        return self.left_out.push(format!("{name} (too much media at once)"));
                    }
                    self.text.push_str(&format!("--- {name} --- (shown as media)\n\n"));
                    self.media.push(part);
                }
            }
        }
        self.files += 1;
    }

    fn finish(mut self) -> Result<ToolOutput, ToolError> {
        let mut notes = String::new();
        if !self.left_out.is_empty() {
            let named: Vec<&str> = self.left_out.iter().take(MOST_NAMED).map(String::as_str).collect();
            notes = format!("[{} file(s) were left out: {}]", self.left_out.len(), named.join(", "));
        }
        self.withheld.by_rules().for_each(|note| notes.push_str(&format!("[{note}]")));
        if self.not_reached > 0 {
            notes.push_str(&format!(
                "[{} more file(s) match but are too much at once. Read them with read_file or narrower patterns.]",
                self.not_reached
            ));
        }
        if self.files == 0 {
            let message = format!("No file was read: nothing matches that can be shown. {notes}");
            return Err(ToolError::new(ToolErrorKind::NotFound, message.trim_end()));
        }
        self.text.push_str(&notes);
        let mut content = vec![Part::text(self.text)];
        content.append(&mut self.media);
        let display = Some(Display::text(format!("Read {} file(s)", self.files)));
        Ok(ToolOutput { content, display, ..ToolOutput::default() })
    }
}
