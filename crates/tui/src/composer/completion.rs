//! Completions of what is being typed: files behind an `@`, commands behind a `/`.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::buffer::Buffer;
use super::files::FileIndex;
use crate::text::{Line, Role};

/// How many are offered at once.
const OFFERED: usize = 8;
/// The columns of a name before its explanation.
const NAME: usize = 24;

/// Something that could be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What takes the place of the word that was begun.
    pub text: String,
    /// What it is, in a few words.
    pub help: String,
    /// Nothing has to follow: choosing it with Enter sends it.
    pub is_whole: bool,
}

/// Who knows what could be typed behind a mark.
pub trait WordSource: Send {
    /// What could stand in the place of the last word, the best first: `typed` is what stands behind the mark, up to the cursor. A
    /// command's mark, `/`, begins the line; that of a resource, `@`, begins the word.
    fn candidates(&self, typed: &str) -> Vec<Candidate>;
}

/// Nobody does.
impl WordSource for () {
    fn candidates(&self, _typed: &str) -> Vec<Candidate> {
        Vec::new()
    }
}

/// Where completions come from.
pub struct Sources {
    /// The commands.
    pub commands: Box<dyn WordSource>,
    /// Resources of MCP servers, which are named as files are.
    pub resources: Box<dyn WordSource>,
    /// The folder whose files can be named; without one, none can.
    pub folder: Option<PathBuf>,
    /// The home whose git settings say which files are of no interest anywhere.
    pub home: Option<PathBuf>,
    /// Called from another thread when more files were found: [`super::Composer::refresh`] shows them.
    pub found_more: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            commands: Box::new(()),
            resources: Box::new(()),
            folder: None,
            home: None,
            found_more: Arc::new(|| {}),
        }
    }
}

/// What is offered for the word at the cursor.
struct Offer {
    /// The word that was begun.
    word: Range<usize>,
    candidates: Vec<Candidate>,
    chosen: usize,
    /// The person went through them.
    is_chosen_by_hand: bool,
}

/// The completions of one composer.
pub struct Completion {
    sources: Sources,
    files: Option<FileIndex>,
    offer: Option<Offer>,
    /// The beginning of the word whose offer was closed: it stays closed.
    closed: Option<usize>,
}

impl Completion {
    pub fn new(sources: Sources) -> Self {
        Self { sources, files: None, offer: None, closed: None }
    }

    /// True while something is offered.
    pub fn is_open(&self) -> bool {
        self.offer.is_some()
    }

    /// Offers nothing more for this word.
    pub fn close(&mut self) {
        self.closed = self.offer.take().map(|offer| offer.word.start);
    }

    /// Offers something again, also for this word.
    pub fn reopen(&mut self) {
        self.closed = None;
    }

    /// Offers what suits the word at the cursor.
    pub fn update(&mut self, buffer: &Buffer) {
        let earlier = self.offer.take();
        let Some((word, kind)) = word(buffer) else {
            self.closed = None;
            return;
        };
        if self.closed.is_some_and(|start| start == word.start) {
            return;
        }
        self.closed = None;
        let candidates = match kind {
            Kind::Command => {
                self.sources.commands.candidates(buffer.before().strip_prefix('/').unwrap_or_default())
            }
            Kind::File => {
                let is_new = earlier.as_ref().is_none_or(|offer| offer.word.start != word.start);
                let typed = buffer.slice(word.clone());
                let resources = self.sources.resources.candidates(typed.trim_start_matches('@'));
                let files = self.files(typed, is_new);
                // Nothing says yet that no file is meant.
                let (first, then) = if typed == "@" { (files, resources) } else { (resources, files) };
                first.into_iter().chain(then).collect()
            }
        };
        if candidates.is_empty() {
            return;
        }
        let kept = earlier
            .filter(|offer| offer.is_chosen_by_hand)
            .and_then(|offer| offer.candidates.into_iter().nth(offer.chosen));
        let chosen = kept.and_then(|kept| candidates.iter().position(|candidate| *candidate == kept));
        let is_chosen_by_hand = chosen.is_some();
        self.offer = Some(Offer { word, candidates, chosen: chosen.unwrap_or_default(), is_chosen_by_hand });
    }

    /// The files that suit what stands behind the `@`. A new `@` looks at the folder again.
    fn files(&mut self, word: &str, is_new: bool) -> Vec<Candidate> {
        let Some(folder) = self.sources.folder.clone() else { return Vec::new() };
        match &mut self.files {
            None => {
                let (home, found_more) = (self.sources.home.clone(), Arc::clone(&self.sources.found_more));
                self.files = Some(FileIndex::start(folder, home, found_more));
            }
            Some(files) if is_new => files.renew(),
            Some(_) => {}
        }
        let query = word.trim_start_matches(['@', '"']);
        let found = self.files.as_ref().map(|files| files.matches(query, OFFERED)).unwrap_or_default();
        let candidate = |path: String| {
            let text =
                if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") };
            Candidate { text, ..Candidate::default() }
        };
        found.into_iter().map(candidate).collect()
    }

    /// True once every file was seen that an `@` may name.
    #[cfg(test)]
    pub fn knows_all_files(&self) -> bool {
        self.files.as_ref().is_some_and(FileIndex::is_complete)
    }

    /// True when the word that was typed is one of those offered, and the person chose no other: nothing is left to complete.
    pub fn is_typed(&self, buffer: &Buffer) -> bool {
        self.offer.as_ref().is_some_and(|offer| {
            let typed = buffer.slice(offer.word.clone());
            !offer.is_chosen_by_hand && offer.candidates.iter().any(|candidate| candidate.text == typed)
        })
    }

    /// Chooses the next one, or the one before; behind the last comes the first.
    pub fn choose(&mut self, forward: bool) {
        if let Some(offer) = &mut self.offer {
            let number = offer.candidates.len();
            offer.is_chosen_by_hand = true;
            offer.chosen = (offer.chosen + if forward { 1 } else { number - 1 }) % number;
        }
    }

    /// The chosen one and the word it takes the place of; then nothing is offered until more is typed.
    pub fn take(&mut self) -> Option<(Range<usize>, Candidate)> {
        let Offer { word, mut candidates, chosen, .. } = self.offer.take()?;
        self.closed = Some(word.start);
        (chosen < candidates.len()).then(|| (word, candidates.swap_remove(chosen)))
    }

    /// What is offered, as rows.
    pub fn rows(&self, columns: usize) -> Vec<Line> {
        let Some(offer) = &self.offer else { return Vec::new() };
        let first = (offer.chosen + 1).saturating_sub(OFFERED);
        let shown = offer.candidates.iter().enumerate().skip(first).take(OFFERED);
        shown.map(|(at, candidate)| row(candidate, at == offer.chosen).truncate(columns)).collect()
    }
}

fn row(candidate: &Candidate, is_chosen: bool) -> Line {
    let (mark, role) = if is_chosen { ("▸ ", Role::Selected) } else { ("  ", Role::Plain) };
    let mut line = Line::of(role, &format!("{mark}{}", candidate.text));
    if !candidate.help.is_empty() {
        let gap = NAME.saturating_sub(line.width()).max(2);
        line.push(Role::Dim, &format!("{}{}", " ".repeat(gap), candidate.help));
    }
    line
}

enum Kind {
    Command,
    File,
}

/// The word at the cursor that can be completed.
fn word(buffer: &Buffer) -> Option<(Range<usize>, Kind)> {
    let (before, cursor) = (buffer.before(), buffer.cursor());
    if before.starts_with('/') && !before.contains('\n') {
        let start = buffer.backward(cursor, |c| c == ' ');
        return Some((start..cursor, Kind::Command));
    }
    let quoted = before.rfind("@\"").filter(|at| !buffer.slice(at + 2..cursor).contains(['"', '\n']));
    let start = quoted.unwrap_or_else(|| buffer.backward(cursor, char::is_whitespace));
    let begins =
        buffer.slice(0..start).chars().next_back().is_none_or(|c| c.is_whitespace() || "([".contains(c));
    let is_file = begins && buffer.slice(start..cursor).starts_with('@');
    is_file.then_some((start..cursor, Kind::File))
}
