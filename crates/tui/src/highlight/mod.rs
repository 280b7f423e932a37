//! Code in colours: comments, strings, numbers, words of the language, types.
//!
//! One scanner reads tables of what a language looks like. It knows tokens and no grammar, so it can be wrong about a corner
//! and never about what stands there: every character comes out as it went in.

mod code;
mod languages;
mod markup;
mod prose;

use self::code::{CodeState, Vocabulary};
use self::languages::{Kind, Language, of_name};
use self::markup::MarkupState;
use crate::text::Line;

#[cfg(test)]
mod tests;

/// Colours the lines of one piece of code, in their order.
#[derive(Clone, Debug)]
pub struct Highlighter {
    kind: State,
}

/// What is open at the end of a line.
#[derive(Clone, Debug)]
enum State {
    Code(&'static Language, Vocabulary, CodeState),
    Markup(MarkupState),
    Diff,
    Markdown,
}

impl Highlighter {
    /// For a language by one of its names, such as `rust` or `rs`; of what stands behind a fence the first word counts.
    pub fn new(language: &str) -> Option<Self> {
        let name = language.split([' ', ',', '{', ':']).next().unwrap_or_default().to_lowercase();
        let kind = match of_name(&name)? {
            Kind::Code(language) => State::Code(language, Vocabulary::of(language), CodeState::default()),
            Kind::Markup => State::Markup(MarkupState::default()),
            Kind::Diff => State::Diff,
            Kind::Markdown => State::Markdown,
        };
        Some(Self { kind })
    }

    /// For a file, by how its name ends.
    pub fn for_file(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
        Self::new(ending)
    }

    /// The next line, without its line break.
    pub fn line(&mut self, text: &str) -> Line {
        match &mut self.kind {
            State::Code(language, vocabulary, state) => state.line(language, vocabulary, text),
            State::Markup(state) => state.line(text),
            State::Diff => prose::diff(text),
            State::Markdown => prose::markdown(text),
        }
    }
}
