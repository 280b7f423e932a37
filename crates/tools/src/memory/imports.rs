//! `@path` in a memory file brings another file in.

use std::path::{Path, PathBuf};

use super::source::Source;
use super::{MEMORY_LIMIT, Memory, MemoryPlaces};

/// How deep imports may go.
const DEEPEST: usize = 5;
/// How many files may be brought in altogether.
const MOST_FILES: usize = 200;

/// How many bytes one memory file may bring in: more would be cut anyway.
const MOST_BYTES: usize = 4 * MEMORY_LIMIT;

/// Brings in the files that a file names.
pub(super) struct Importer<'a> {
    places: &'a MemoryPlaces,
    /// Where the file comes from, and so all that it brings in.
    source: &'a Source,
    memory: &'a mut Memory,
    /// The files being expanded, outermost first.
    open: Vec<PathBuf>,
    room: usize,
}

impl<'a> Importer<'a> {
    pub(super) fn new(places: &'a MemoryPlaces, source: &'a Source, memory: &'a mut Memory) -> Self {
        Self { places, source, memory, open: Vec::new(), room: MOST_BYTES }
    }

    /// A file's text with its imports in place. What cannot be imported stays as it is written, with the
    /// reason beside it.
    pub(super) fn expand(&mut self, text: &str, file: &Path) -> String {
        self.open.push(file.to_owned());
        let mut expanded = String::with_capacity(text.len());
        let mut fence: Option<Fence> = None;
        for line in text.split_inclusive('\n') {
            let marker = Fence::of(line);
            match (&fence, marker) {
                (None, None) => self.expand_line(line, file, &mut expanded),
                (open, marker) => {
                    let closes = matches!((open, marker), (Some(open), Some(marker)) if marker.closes(*open));
                    fence = if closes { None } else { (*open).or(marker) };
                    expanded.push_str(line);
                }
            }
        }
        self.open.pop();
        expanded
    }

    fn expand_line(&mut self, line: &str, file: &Path, expanded: &mut String) {
        for piece in pieces(line) {
            match piece {
                Piece::Text(text) => expanded.push_str(text),
                Piece::Import(path) => {
                    match self.import(path, line.trim().strip_prefix('@') == Some(path), file) {
                        Ok(text) => expanded.push_str(&text),
                        Err(reason) => {
                            expanded.push_str(&format!("@{path} <!-- not imported: {reason} -->"));
                            self.memory
                                .notices
                                .push(format!("{}: @{path} not imported: {reason}", file.display()));
                        }
                    }
                }
            }
        }
    }

    fn import(&mut self, path: &str, alone: bool, file: &Path) -> Result<String, String> {
        let folder = file.parent().unwrap_or(Path::new("/"));
        let target = match (path.strip_prefix("~/"), &self.places.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(path),
        };
        let real = target.canonicalize().map_err(|error| error.to_string())?;
        if self.open.contains(&real) {
            return Err("it imports itself".to_owned());
        }
        if self.open.len() > DEEPEST {
            return Err(format!("imports go at most {DEEPEST} deep"));
        }
        if self.memory.files.len() >= MOST_FILES {
            return Err(format!("at most {MOST_FILES} files are read"));
        }
        let text = self.source.read(&real, alone)?;
        self.room = self.room.checked_sub(text.len()).ok_or("too much is imported already")?;
        self.memory.files.push(real.clone());
        let text = self.expand(&text, &real);
        Ok(format!(
            "<!-- imported from: {path} -->\n{}\n<!-- end of import from: {path} -->",
            text.trim_end()
        ))
    }
}

/// The beginning or end of a fenced code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    character: char,
    length: usize,
    /// Nothing follows it on its line, as it must when it closes a block.
    bare: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let text = line.trim_start();
        let character = text.chars().next().filter(|character| matches!(character, '`' | '~'))?;
        let rest = text.trim_start_matches(character);
        let length = text.len() - rest.len();
        let begins = length >= 3 && !(character == '`' && rest.contains('`'));
        begins.then(|| Self { character, length, bare: rest.trim().is_empty() })
    }

    fn closes(self, open: Self) -> bool {
        self.bare && self.character == open.character && self.length >= open.length
    }
}

enum Piece<'a> {
    Text(&'a str),
    Import(&'a str),
}

/// Cuts a line at its imports. Code between backticks is text.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    let mut at_word_start = true;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with('`') {
            at += code_span(rest);
            at_word_start = false;
        } else if let Some(path) = rest.strip_prefix('@').filter(|_| at_word_start).and_then(import_path) {
            pieces.push(Piece::Text(line.get(text_from..at).unwrap_or_default()));
            pieces.push(Piece::Import(path));
            at += 1 + path.len();
            text_from = at;
            at_word_start = false;
        } else {
            let character = rest.chars().next().unwrap_or_default();
            at_word_start = character.is_whitespace() || "([\"'".contains(character);
            at += character.len_utf8();
        }
    }
    pieces.push(Piece::Text(line.get(text_from..).unwrap_or_default()));
    pieces
}

/// The length of the code that begins here; only its backticks when it has no end.
fn code_span(rest: &str) -> usize {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let (opening, body) = rest.split_at(ticks);
    let mut from = 0;
    while let Some(found) = body.get(from..).and_then(|body| body.find(opening)) {
        let end = from + found;
        let run = body.get(end..).map_or(0, |tail| tail.len() - tail.trim_start_matches('`').len());
        if run == ticks {
            return ticks + end + ticks;
        }
        from = end + run;
    }
    ticks
}

/// The path after an `@`, if it looks like one: it begins like a path, or its last part has an ending. So
/// `@someone` and `@scope/package` are left alone.
fn import_path(rest: &str) -> Option<&str> {
    let end = rest.find(|character: char| character.is_whitespace() || "`\"'()[]<>,;".contains(character));
    let path = rest.get(..end.unwrap_or(rest.len()))?.trim_end_matches(['.', ':', '!', '?']);
    let begins = ["./", "../", "/", "~/"].iter().any(|start| path.starts_with(start));
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && !ending.is_empty()
            && ending.chars().all(|character| character.is_ascii_alphabetic())
    });
    (!path.is_empty() && (begins || ending)).then_some(path)
}
