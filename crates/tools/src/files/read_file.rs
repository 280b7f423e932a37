//! `read_file`.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use charla_proto::{Display, FileLines, Part, Prepared, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::buffers::Buffers;
use super::media;
use crate::invocation::{read_plan, read_within};
use crate::paths::ResolvedPath;
use crate::text::{self, Encoding};
use crate::truncate;
use crate::typed::{PreparedCall, TypedTool};

/// The largest file that is read.
pub(super) const MOST_BYTES: u64 = 20_000_000;
/// The largest file that is shown to a model as media: more is refused by every provider.
const MOST_MEDIA_BYTES: usize = 15_000_000;
/// How many lines are shown at once.
const MOST_LINES: usize = 2000;
/// How much of a line is shown.
pub(crate) const MOST_LINE_CHARS: usize = 2000;
/// How much is shown at once: a file of long lines would fill the context otherwise.
const MOST_CHARS: usize = 400_000;
/// How long reading may take.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// Reads a file, whole or in part; shows images, PDFs, sounds and films to models that can see them.
#[derive(Default)]
pub struct ReadFile {
    buffers: Buffers,
}

impl ReadFile {
    /// The tool, looking at files as `buffers` have them.
    pub fn new(buffers: Buffers) -> Self {
        Self { buffers }
    }
}

/// What `read_file` takes.
#[derive(Deserialize, JsonSchema)]
pub struct ReadFileArgs {
    /// The file: an absolute path, or one relative to the working folder.
    #[schemars(length(min = 1))]
    file_path: String,
    /// The first line to read, counted from 1.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// The last line to read, included.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

impl TypedTool for ReadFile {
    type Args = ReadFileArgs;
    const NAME: &'static str = "read_file";
    const SCHEMA: &'static str = include_str!("../schemas/read_file.json");
    const DESCRIPTION: &'static str = "Reads a file. Text is returned as it is, at most 2000 lines at once; when \
there is more, the answer says how to read on. Images (PNG, JPEG, WEBP, GIF, BMP), PDF, audio and video files are \
shown to you.";

    async fn prepare(&self, args: ReadFileArgs, cx: &ToolContext) -> PreparedCall {
        let (lines, buffers) = (args.lines()?, self.buffers.clone());
        let place = ResolvedPath::resolve_soon(args.file_path, cx).await?;
        let effects = place.reading(cx);
        let plan = read_plan(Self::NAME, format!("Read {}", place.title(cx)), effects);
        Ok(Prepared::boxed(plan, move |cx| {
            read_within(LIMIT, cx.cancelled, move |_| {
                place.recheck()?;
                read(&place, &lines, &buffers)
            })
        }))
    }
}

/// The lines wanted, counted from 1, both included.
#[derive(Clone, Copy, Default)]
pub(super) struct LineRange {
    first: Option<usize>,
    last: Option<usize>,
}

impl ReadFileArgs {
    fn lines(&self) -> Result<LineRange, ToolError> {
        if let (Some(first), Some(last)) = (self.start_line, self.end_line)
            && first > last
        {
            let message = format!("start_line ({first}) must not be greater than end_line ({last}).");
            return Err(ToolError::new(ToolErrorKind::InvalidArgs, message));
        }
        Ok(LineRange { first: self.start_line, last: self.end_line })
    }
}

/// Reads a file as a model is shown it.
pub(super) fn read(
    place: &ResolvedPath,
    lines: &LineRange,
    buffers: &Buffers,
) -> Result<ToolOutput, ToolError> {
    let bytes = place.read(MOST_BYTES)?;
    if let Some(mime) = media::sniff(&bytes) {
        return show(place, &bytes, mime);
    }
    let decoded = text::decode(&bytes).map_err(|_| binary(&place.path, bytes.len()))?;
    let decoded = buffers.latest(place, decoded);
    let total = decoded.text.lines().count();
    let page = page(&decoded.text, lines, &place.path, total)?;
    let mut notes = Vec::new();
    if decoded.encoding == Encoding::Latin1 {
        notes.push("The file is not UTF-8; its bytes are shown as Latin-1.".to_owned());
    }
    notes.extend(page.note(total));
    let lines = (total > 0).then_some(FileLines { first: page.first, last: page.last, total });
    let display = Display::File { path: place.real.clone(), lines };
    let text = match (notes.is_empty(), page.text.is_empty()) {
        (true, true) => "(the file is empty)".to_owned(),
        (true, false) => page.text,
        (false, _) => format!("[{}]\n{}", notes.join(" "), page.text),
    };
    Ok(ToolOutput { content: vec![Part::text(text)], display: Some(display), ..ToolOutput::default() })
}

/// What is shown of a text.
struct Page {
    text: String,
    first: usize,
    last: usize,
    cut_lines: usize,
    /// The range was given and was shown in full.
    as_wanted: bool,
}

impl Page {
    fn note(&self, total: usize) -> Option<String> {
        let mut note = String::new();
        if self.first > 1 || self.last < total {
            note = format!("Lines {}-{} of {total} are shown.", self.first, self.last);
        }
        if self.last < total && !self.as_wanted {
            note.push_str(&format!(" To read on, call read_file with start_line {}.", self.last + 1));
        }
        if self.cut_lines > 0 {
            note.push_str(&format!(
                " {} lines were cut after {MOST_LINE_CHARS} characters; use grep_search to see parts of them.",
                self.cut_lines
            ));
        }
        (!note.is_empty()).then(|| note.trim_start().to_owned())
    }
}

fn page(text: &str, lines: &LineRange, path: &Path, total: usize) -> Result<Page, ToolError> {
    let first = lines.first.unwrap_or(1);
    if first > total.max(1) {
        let message = format!("start_line is {first}, but {} has {total} lines.", path.display());
        return Err(ToolError::new(ToolErrorKind::InvalidArgs, message));
    }
    let wanted_last = lines.last.unwrap_or(usize::MAX);
    let last_allowed = wanted_last.min(first.saturating_add(MOST_LINES - 1));
    let mut page = Page { text: String::new(), first, last: first - 1, cut_lines: 0, as_wanted: false };
    let mut chars = 0;
    for (index, line) in text.split_inclusive('\n').enumerate().skip(first - 1) {
        let number = index + 1;
        if number > last_allowed {
            break;
        }
        let body = line.strip_suffix('\n').unwrap_or(line);
        let (shown, cut) = truncate::line(body, MOST_LINE_CHARS);
        chars += shown.chars().count() + 1;
        if chars > MOST_CHARS && number > first {
            break;
        }
        page.text.push_str(&shown);
        if body.len() < line.len() {
            page.text.push('\n');
        }
        page.cut_lines += usize::from(cut);
        page.last = number;
    }
    page.as_wanted = lines.last.is_some() && page.last >= wanted_last.min(total);
    Ok(page)
}

fn show(place: &ResolvedPath, bytes: &[u8], mime: &'static str) -> Result<ToolOutput, ToolError> {
    if bytes.len() > MOST_MEDIA_BYTES {
        let message = format!(
            "{} is {mime} of {} bytes, more than the {} MB that can be shown.",
            place.path.display(),
            bytes.len(),
            MOST_MEDIA_BYTES / 1_000_000
        );
        return Err(ToolError::new(ToolErrorKind::TooLarge, message));
    }
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(ToolOutput {
        content: vec![Part::inline_data(mime, data)],
        display: Some(Display::File { path: place.real.clone(), lines: None }),
        ..ToolOutput::default()
    })
}

pub(super) fn binary(path: &Path, size: usize) -> ToolError {
    let message = format!(
        "{} is a binary file ({size} bytes) and cannot be shown or edited as text. Use run_shell_command with a program that understands it.",
        path.display()
    );
    ToolError::new(ToolErrorKind::BinaryFile, message)
}
