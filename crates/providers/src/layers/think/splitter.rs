//! Tells thoughts from the answer in a text as it comes.

use super::super::text_tools::scan::Line;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// The answer.
    Text(String),
    /// A thought.
    Thought(String),
    /// All text so far was a thought: this one. So many bytes of it were given out as text before.
    Withdrawn(String, usize),
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Piece::Text(text) | Piece::Thought(text) | Piece::Withdrawn(text, _) => text,
        }
    }
}

/// How a thought is marked.
struct Tag {
    open: &'static str,
    /// What ends it; the second says that it is taken along rather than read again.
    close: &'static [(&'static str, bool)],
}

const TAGS: [Tag; 8] = [
    Tag { open: "<think>", close: &[("</think>", true)] },
    Tag { open: "<thinking>", close: &[("</thinking>", true)] },
    Tag { open: "<thought>", close: &[("</thought>", true)] },
    Tag { open: "<reasoning>", close: &[("</reasoning>", true)] },
    Tag { open: "<seed:think>", close: &[("</seed:think>", true)] },
    Tag { open: "[THINK]", close: &[("[/THINK]", true)] },
    Tag { open: "◁think▷", close: &[("◁/think▷", true)] },
    Tag {
        open: "<|channel|>analysis<|message|>",
        close: &[("<|end|>", true), ("<|start|>", false), ("<|channel|>", false)],
    },
];

/// Ends of thoughts whose beginning stood in the prompt.
const STRAY: [&str; 4] = ["</think>", "</thinking>", "[/THINK]", "◁/think▷"];

/// The closers of a thought that began in the prompt.
static PROMPTED: Tag = Tag {
    open: "",
    close: &[("</think>", true), ("</thinking>", true), ("[/THINK]", true), ("◁/think▷", true)],
};

/// What gpt-oss writes around its answer and means nothing to a reader.
const HEADERS: [&str; 4] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant<|channel|>commentary<|message|>",
    "<|channel|>commentary<|message|>",
];
/// What ends a message of gpt-oss.
const ENDS: [&str; 2] = ["<|return|>", "<|end|>"];
const ANALYSIS: &str = "<|start|>assistant<|channel|>analysis<|message|>";

/// Splits one answer.
///
/// Thoughts are recognised at the beginning of the answer and right behind other thoughts; later only where
/// the opening tag has a line to itself, outside code. The pieces do not depend on where the text was cut.
pub(super) struct Splitter {
    held: String,
    mode: Mode,
    line: Line,
    /// White space before the first word.
    space: String,
    /// Text given out before any thought, for the case that it was one.
    said: String,
    thought_seen: bool,
    /// The thought was assumed to begin in the prompt.
    assumed: bool,
    /// A closing tag without an opening one counts.
    strays: bool,
    /// The marks of gpt-oss were seen: from then on they mean nothing anywhere.
    channels: bool,
    last: Option<char>,
}

#[derive(Clone, Copy)]
enum Mode {
    /// Nothing but white space since the beginning, or since a thought.
    Fresh,
    Text,
    Thought(&'static Tag),
}

/// What is known about the text at a place.
enum Found {
    Nothing,
    Undecided,
    /// A thought begins after so many bytes.
    Opens(&'static Tag, usize),
    /// So many bytes mean nothing.
    Noise(usize),
    /// A thought ended here, with a tag of so many bytes, that nobody saw begin.
    Stray(usize),
}

impl Splitter {
    /// `inside` says that the prompt ends with the opening tag, so the answer begins with a thought; `strays` that it
    /// may, and nobody knows.
    pub(super) fn new(inside: bool, strays: bool) -> Self {
        Self {
            held: String::new(),
            mode: if inside { Mode::Thought(&PROMPTED) } else { Mode::Fresh },
            line: Line::default(),
            space: String::new(),
            said: String::new(),
            thought_seen: inside,
            assumed: inside,
            strays,
            channels: false,
            last: None,
        }
    }

    /// True while the answer is in a thought whose beginning was only assumed.
    pub(super) fn assumed_open(&self) -> bool {
        self.assumed
    }

    /// Takes more text.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        self.advance(false)
    }

    /// The answer is over.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = self.advance(true);
        // White space alone is an answer, too: whoever judges it must see it.
        let space = std::mem::take(&mut self.space);
        if !space.is_empty() && !self.thought_seen {
            pieces.push(Piece::Text(space));
        }
        pieces
    }

    fn advance(&mut self, ended: bool) -> Vec<Piece> {
        let held = std::mem::take(&mut self.held);
        let mut pieces = Vec::new();
        let mut rest = held.as_str();
        while !rest.is_empty() {
            let used = match self.mode {
                Mode::Thought(tag) => self.thought(tag, rest, ended, &mut pieces),
                Mode::Fresh | Mode::Text => self.text(rest, ended, &mut pieces),
            };
            let Some(used) = used else { break };
            rest = rest.get(used..).unwrap_or_default();
        }
        self.held = rest.to_owned();
        pieces
    }

    /// Reads on in a thought. How many bytes were used; `None` when more text decides.
    fn thought(
        &mut self,
        tag: &'static Tag,
        rest: &str,
        ended: bool,
        pieces: &mut Vec<Piece>,
    ) -> Option<usize> {
        let closers = tag.close.iter().filter_map(|(close, taken)| Some((rest.find(close)?, close, taken)));
        if let Some((at, close, taken)) = closers.min_by_key(|(at, ..)| *at) {
            give(pieces, Piece::Thought(rest.get(..at).unwrap_or_default().to_owned()));
            self.mode = Mode::Fresh;
            self.assumed = false;
            self.space.clear();
            self.line = Line::default();
            return Some(at + if *taken { close.len() } else { 0 });
        }
        let waiting =
            if ended { 0 } else { tag.close.iter().map(|(close, _)| overlap(rest, close)).max()? };
        let used = rest.len() - waiting;
        give(pieces, Piece::Thought(rest.get(..used).unwrap_or_default().to_owned()));
        (used > 0).then_some(used)
    }

    /// Reads one character of text, or one mark.
    fn text(&mut self, rest: &str, ended: bool, pieces: &mut Vec<Piece>) -> Option<usize> {
        let next = rest.chars().next()?;
        let found = match next {
            '<' | '[' | '◁' if !self.line.in_block() => self.look(rest, ended),
            _ => Found::Nothing,
        };
        match found {
            Found::Undecided => None,
            Found::Noise(length) => {
                self.channels = true;
                self.space.clear();
                Some(length)
            }
            Found::Opens(tag, length) => {
                self.mode = Mode::Thought(tag);
                self.thought_seen = true;
                self.channels |= tag.open.starts_with("<|");
                self.space.clear();
                Some(length)
            }
            Found::Stray(length) => {
                let said = std::mem::take(&mut self.said);
                // No thought was seen yet, so whatever is about to be given out is text.
                let unseen: usize = pieces.drain(..).map(|piece| piece.text().len()).sum();
                let given = said.len().saturating_sub(unseen);
                pieces.push(Piece::Withdrawn(said, given));
                self.mode = Mode::Fresh;
                self.thought_seen = true;
                self.space.clear();
                Some(length)
            }
            Found::Nothing => {
                self.say(next, pieces);
                Some(next.len_utf8())
            }
        }
    }

    fn say(&mut self, next: char, pieces: &mut Vec<Piece>) {
        self.line.push(next);
        self.last = Some(next);
        if matches!(self.mode, Mode::Fresh) {
            if next.is_whitespace() {
                self.space.push(next);
                return;
            }
            self.mode = Mode::Text;
            // Behind a thought the answer begins with its first word.
            let space = std::mem::take(&mut self.space);
            if !self.thought_seen {
                self.said.push_str(&space);
                give(pieces, Piece::Text(space));
            }
        }
        if !self.thought_seen {
            self.said.push(next);
        }
        give(pieces, Piece::Text(next.to_string()));
    }

    fn look(&self, rest: &str, ended: bool) -> Found {
        let fresh = matches!(self.mode, Mode::Fresh);
        let at_start = self.line.text().is_some_and(|text| text.trim().is_empty() && text.len() < 4);
        if !fresh && !at_start && !self.channels {
            return self.look_for_stray(rest, ended);
        }
        let mut undecided = false;
        let ends = if self.channels { &ENDS[..] } else { &[] };
        for header in HEADERS.iter().chain(ends) {
            undecided |= header.starts_with(rest);
            if rest.starts_with(header) {
                return Found::Noise(header.len());
            }
        }
        undecided |= ANALYSIS.starts_with(rest);
        if rest.starts_with(ANALYSIS) {
            return Found::Noise(ANALYSIS.len() - TAGS[TAGS.len() - 1].open.len());
        }
        for tag in &TAGS {
            undecided |= tag.open.starts_with(rest);
            let Some(after) = rest.strip_prefix(tag.open).filter(|_| fresh || at_start) else { continue };
            match line_is_over(after, ended) {
                _ if fresh => return Found::Opens(tag, tag.open.len()),
                Some(true) => return Found::Opens(tag, tag.open.len()),
                Some(false) => {}
                None => return Found::Undecided,
            }
        }
        match self.look_for_stray(rest, ended) {
            Found::Nothing if undecided && !ended => Found::Undecided,
            found => found,
        }
    }

    /// Looks for the end of a thought that nobody saw begin: the tag ends its line, and stands at its beginning or
    /// glued to a word. `the </think> tag` is talk about tags.
    fn look_for_stray(&self, rest: &str, ended: bool) -> Found {
        if self.thought_seen || !self.strays {
            return Found::Nothing;
        }
        let glued = self
            .last
            .is_none_or(|last| last == '\n' || last.is_alphanumeric() || ".!?:)…。！？".contains(last));
        let code = self.line.text().is_none_or(|text| text.matches('`').count() % 2 == 1);
        if !glued || code {
            return Found::Nothing;
        }
        for stray in STRAY {
            if let Some(after) = rest.strip_prefix(stray) {
                return match line_is_over(after, ended) {
                    Some(true) => Found::Stray(stray.len()),
                    Some(false) => Found::Nothing,
                    None => Found::Undecided,
                };
            }
        }
        let begun = !ended && STRAY.iter().any(|stray| stray.starts_with(rest));
        if begun { Found::Undecided } else { Found::Nothing }
    }
}

/// Whether nothing more stands on the line; `None` when more text decides.
fn line_is_over(after: &str, ended: bool) -> Option<bool> {
    match after.trim_start_matches([' ', '\t', '\r']).chars().next() {
        Some(next) => Some(next == '\n'),
        None if ended => Some(true),
        None => None,
    }
}

/// The length of the longest end of `text` that `word` begins with.
fn overlap(text: &str, word: &str) -> usize {
    let ends = word.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    ends.filter(|at| word.get(..*at).is_some_and(|begun| text.ends_with(begun))).max().unwrap_or(0)
}

/// Adds a piece to the last of its kind.
fn give(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (_, Piece::Text(text) | Piece::Thought(text)) if text.is_empty() => {}
        (Some(Piece::Text(last)), Piece::Text(text)) | (Some(Piece::Thought(last)), Piece::Thought(text)) => {
            last.push_str(&text);
        }
        (_, piece) => pieces.push(piece),
    }
}
