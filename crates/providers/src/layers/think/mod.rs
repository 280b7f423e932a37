//! Thoughts that a model writes into its text become thoughts, and models that cannot be told otherwise are asked in
//! words not to think.

mod splitter;
mod switch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{
    Candidate, Content, FinishReason, GenerateRequest, GenerateResponse, LlmError, Part, PartKind, Role,
};
use serde::{Deserialize, Serialize};

use super::remembered::Remembered;
use super::{Layer, Reader};
use crate::generator::judge::Judge;
use splitter::{Piece, Splitter};
pub use switch::ThinkSwitch;

/// Whether an answer begins within a thought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkStart {
    /// Found out: text that turns out to have been a thought is withdrawn, and from then on answers are expected to
    /// begin with one.
    #[default]
    Auto,
    /// The prompt ends with the opening tag, so the answer begins with a thought.
    Inside,
    /// Never: a closing tag without an opening one is text.
    Outside,
}

/// How [`ThinkFilter`] reads its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThinkOptions {
    /// Whether an answer begins within a thought.
    pub start: ThinkStart,
    /// How the model is asked not to think.
    pub switch: ThinkSwitch,
}

/// The layer that finds the thoughts in a model's text.
///
/// `<think>`, `<thinking>`, `[THINK]`, `◁think▷` and gpt-oss's analysis channel become thought parts while they
/// stream. An opening tag counts at the beginning of the answer, or alone on a line outside code. A closing tag that
/// is missing leaves the rest a thought. Nothing is held back to wait for a closing tag without an opening one: when one
/// comes, the text before it is taken back (`replaces`, see [`charla_proto::Assembler`]) and given as a thought.
/// An answer that turns out to hold nothing but thoughts ends in the same error as on wires that mark thoughts.
pub struct ThinkFilter {
    options: ThinkOptions,
    /// The model was seen to begin within a thought.
    begins_inside: Arc<AtomicBool>,
    marked: Mutex<Remembered>,
}

impl ThinkFilter {
    /// A filter for a model of this kind.
    pub fn new(options: ThinkOptions) -> Self {
        let begins_inside = Arc::new(AtomicBool::new(options.start == ThinkStart::Inside));
        Self { options, begins_inside, marked: Mutex::default() }
    }
}

impl Layer for ThinkFilter {
    fn outgoing(&self, request: &GenerateRequest) -> Option<GenerateRequest> {
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        self.options.switch.apply(request, &mut marked)
    }

    fn incoming(&self, _: &GenerateRequest) -> Option<Box<dyn Reader>> {
        Some(Box::new(Reading {
            start: self.options.start,
            begins_inside: self.begins_inside.clone(),
            answers: BTreeMap::new(),
            judge: Judge::default(),
            thoughts: false,
        }))
    }
}

/// One answer on its way in.
struct Reading {
    start: ThinkStart,
    begins_inside: Arc<AtomicBool>,
    answers: BTreeMap<u32, Answer>,
    judge: Judge,
    /// The filter found some.
    thoughts: bool,
}

struct Answer {
    splitter: Splitter,
    /// What was given as a thought because one was expected.
    expected: String,
    done: bool,
}

impl Reader for Reading {
    fn reset(&mut self) {
        self.answers.clear();
        self.judge = Judge::default();
        self.thoughts = false;
    }

    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        for candidate in &mut chunk.candidates {
            self.read_candidate(candidate);
        }
        self.judge.see(&chunk);
        chunk
    }

    /// What is left when no finish reason came.
    fn finish(&mut self) -> Option<GenerateResponse> {
        let open: Vec<u32> =
            self.answers.iter().filter(|(_, answer)| !answer.done).map(|(i, _)| *i).collect();
        let mut candidates = Vec::new();
        for index in open {
            let parts = self.close(index, None);
            if !parts.is_empty() {
                let content = Some(Content::new(Role::Model, parts));
                candidates.push(Candidate { index, content, ..Candidate::default() });
            }
        }
        let rest = GenerateResponse { candidates, ..GenerateResponse::default() };
        self.judge.see(&rest);
        (!rest.candidates.is_empty()).then_some(rest)
    }

    /// The server's own thoughts were judged below; ours were text there.
    fn verdict(&self) -> Result<(), LlmError> {
        if self.thoughts { self.judge.verdict() } else { Ok(()) }
    }
}

impl Reading {
    fn read_candidate(&mut self, candidate: &mut Candidate) {
        let mut parts = Vec::new();
        if let Some(content) = &mut candidate.content {
            for part in std::mem::take(&mut content.parts) {
                self.read_part(candidate.index, part, &mut parts);
            }
        }
        if let Some(reason) = &candidate.finish_reason {
            parts.extend(self.close(candidate.index, Some(reason)));
        }
        match &mut candidate.content {
            Some(content) => content.parts = parts,
            None if !parts.is_empty() => candidate.content = Some(Content::new(Role::Model, parts)),
            None => {}
        }
    }

    fn answer(&mut self, index: u32) -> &mut Answer {
        let inside = self.begins_inside.load(Ordering::Relaxed);
        let strays = self.start != ThinkStart::Outside;
        self.answers.entry(index).or_insert_with(|| Answer {
            splitter: Splitter::new(inside, strays),
            expected: String::new(),
            done: false,
        })
    }

    fn read_part(&mut self, index: u32, mut part: Part, parts: &mut Vec<Part>) {
        if part.thought {
            // The server marks thoughts itself, so the text is none.
            let answer = self.answer(index);
            if answer.splitter.assumed_open() {
                answer.splitter = Splitter::new(false, false);
            }
        }
        let plain = !part.thought && part.extra.is_empty();
        let (PartKind::Text(text), true) = (&mut part.kind, plain) else {
            parts.push(part);
            return;
        };
        let text = std::mem::take(text);
        let pieces = self.answer(index).splitter.push(&text);
        let before = parts.len();
        self.give(index, pieces, parts);
        if part.thought_signature.is_some() {
            // The signature goes on the words it came with, if some of them are still the answer's.
            match parts.get_mut(before..).and_then(|given| given.last_mut()) {
                Some(last) if !last.thought => last.thought_signature = part.thought_signature,
                _ => parts.push(part),
            }
        }
    }

    fn give(&mut self, index: u32, pieces: Vec<Piece>, parts: &mut Vec<Part>) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => parts.push(Part::text(text)),
                Piece::Thought(text) => {
                    self.thoughts = true;
                    let answer = self.answer(index);
                    if answer.splitter.assumed_open() {
                        answer.expected.push_str(&text);
                    }
                    parts.push(Part::thought(text));
                }
                Piece::Withdrawn(text, given) => {
                    self.thoughts = true;
                    self.begins_inside.store(true, Ordering::Relaxed);
                    // What was seen of the answer so far was none.
                    self.judge = Judge::default();
                    if given > 0 {
                        let mut nothing = Part::text("");
                        nothing.extra.insert("replaces", given.into());
                        parts.push(nothing);
                    }
                    parts.push(Part::thought(text));
                }
            }
        }
    }

    fn close(&mut self, index: u32, reason: Option<&FinishReason>) -> Vec<Part> {
        let answer = self.answer(index);
        if std::mem::replace(&mut answer.done, true) {
            return Vec::new();
        }
        let pieces = answer.splitter.finish();
        let mut parts = Vec::new();
        self.give(index, pieces, &mut parts);
        let answer = self.answer(index);
        // The expected thought never ended: the model did not think this time, and that was its answer.
        if answer.splitter.assumed_open() && reason == Some(&FinishReason::Stop) {
            let text = std::mem::take(&mut answer.expected);
            if self.start == ThinkStart::Auto {
                self.begins_inside.store(false, Ordering::Relaxed);
            }
            if !text.trim().is_empty() {
                parts.push(Part::text(text));
            }
        }
        parts
    }
}
