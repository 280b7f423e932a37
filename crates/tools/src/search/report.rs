//! What a search found, in words.

use std::path::PathBuf;

use charla_proto::ToolOutput;
use charla_proto::text::printable;

use super::{LIMIT, LeftOut};
use crate::files::MOST_LINE_CHARS;
use crate::invocation::text_output;
use crate::paths::ResolvedPath;
use crate::truncate;

/// How much is shown altogether.
const MOST_CHARS: usize = 100_000;

/// A line of a file with a match, or near one.
pub(super) struct Line {
    number: u64,
    text: String,
    is_match: bool,
}

impl Line {
    pub(super) fn new(number: u64, text: &str, is_match: bool) -> Self {
        Self { number, text: truncate::line(text, MOST_LINE_CHARS).0.into_owned(), is_match }
    }
}

/// The matches in one file.
pub(super) struct FileMatches {
    pub(super) name: PathBuf,
    pub(super) matches: usize,
    pub(super) lines: Vec<Line>,
}

/// Everything a search found.
#[derive(Default)]
pub(super) struct Report {
    pub(super) files: Vec<FileMatches>,
    pub(super) matches: usize,
    pub(super) searched: usize,
    /// The most matches were reached.
    pub(super) capped: bool,
    /// Files with more matches than are shown of one file.
    pub(super) cut_files: usize,
    /// Files that could not be read to their end.
    pub(super) unreadable: usize,
    /// Files that must not be read.
    pub(super) left_out: LeftOut,
    /// The time was up.
    pub(super) late: bool,
}

impl Report {
    pub(super) fn in_words(&self, place: &ResolvedPath, pattern: &str, names_only: bool) -> ToolOutput {
        let folder = printable(&place.path);
        let count = self.files.len();
        let mut text = match (count, names_only) {
            (0, _) => format!("No matches for {pattern} in {folder} ({} files searched).", self.searched),
            (_, true) => format!("{count} file(s) in {folder} have matches for {pattern}:"),
            (_, false) => format!("{} match(es) for {pattern} in {count} file(s) in {folder}:", self.matches),
        };
        let shown = if names_only { self.push_names(&mut text) } else { self.push_lines(&mut text) };
        for note in self.notes(shown) {
            text.push_str(&format!("\n[{note}]"));
        }
        let found = if names_only { format!("{count} files") } else { format!("{} matches", self.matches) };
        text_output(text, format!("Found {found} for {pattern}"))
    }

    /// Adds the files' names; gives back how many.
    fn push_names(&self, text: &mut String) -> usize {
        let mut chars = 0;
        for (index, file) in self.files.iter().enumerate() {
            let name = printable(&file.name);
            chars += name.chars().count() + 1;
            if chars > MOST_CHARS {
                return index;
            }
            text.push('\n');
            text.push_str(&name);
        }
        self.files.len()
    }

    /// Adds the files' lines; gives back how many files are shown in full.
    fn push_lines(&self, text: &mut String) -> usize {
        let mut chars = 0;
        for (index, file) in self.files.iter().enumerate() {
            text.push_str(&format!("\n---\nFile: {}", printable(&file.name)));
            let mut last = None;
            for line in &file.lines {
                chars += line.text.chars().count() + 8;
                if chars > MOST_CHARS {
                    return index;
                }
                if last.is_some_and(|last| line.number > last + 1) && file.lines.len() > file.matches {
                    text.push_str("\n  ⋮");
                }
                let mark = if line.is_match { ':' } else { '-' };
                text.push_str(&format!("\nL{}{mark} {}", line.number, line.text));
                last = Some(line.number);
            }
        }
        self.files.len()
    }

    fn notes(&self, shown: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if self.capped {
            notes.push(format!(
                "Stopped at {} matches: there may be more. Narrow the pattern or the folder, or raise total_max_matches.",
                self.matches
            ));
        }
        if shown < self.files.len() {
            notes.push(format!(
                "The output was cut: {} file(s) with matches are not shown in full. Narrow the search.",
                self.files.len() - shown
            ));
        }
        if self.cut_files > 0 {
            notes.push(format!("{} file(s) have more matches than max_matches_per_file.", self.cut_files));
        }
        if self.late {
            notes.push(format!("Stopped after {} seconds: not everything was searched.", LIMIT.as_secs()));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} file(s) could not be read.", self.unreadable));
        }
        if self.left_out.secrets > 0 {
            notes.push(format!(
                "{} file(s) that may hold secrets were left out; to search one, give it as dir_path.",
                self.left_out.secrets
            ));
        }
        notes.extend(self.left_out.by_rules());
        notes
    }
}
