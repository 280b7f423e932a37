//! Turns a model's text back into prose and calls.

use std::collections::BTreeMap;

use charla_proto::{Candidate, Content, FinishReason, FunctionCall, GenerateResponse, Part, PartKind, Role};
use serde_json::Value;

use super::Reader;
use super::dialect::{Declared, RawCall};
use super::scan::{self, Piece, Scanner};
use crate::wire::make_call_id;

/// One answer on its way in.
///
/// Calls come out together with the finish reason: nothing is run before the answer is over, and until then a
/// correction of the text (see [`charla_proto::Assembler`]) may still take them back.
#[derive(Debug)]
pub(super) struct Incoming {
    declared: Declared,
    keep_prose: bool,
    candidates: BTreeMap<u32, Answer>,
}

#[derive(Debug)]
struct Answer {
    scanner: Scanner,
    /// All text since the last part that was something else, to be read again after a correction.
    raw: String,
    /// Bytes of it that were given out.
    shown: usize,
    /// White space that is given out only when words follow.
    space: String,
    /// Prose held back until it is known whether there are calls.
    prose: String,
    calls: Vec<RawCall>,
    done: bool,
}

impl Answer {
    fn new(declared: &Declared) -> Self {
        Self {
            scanner: Scanner::new(declared.clone()),
            raw: String::new(),
            shown: 0,
            space: String::new(),
            prose: String::new(),
            calls: Vec::new(),
            done: false,
        }
    }

    /// The visible text of some pieces; their calls are kept.
    fn take(&mut self, pieces: Vec<Piece>) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Calls { calls, .. } => self.calls.extend(calls),
                Piece::Text(words) => {
                    self.space.push_str(&words);
                    let kept = self.space.trim_end().len();
                    let space = self.space.split_off(kept);
                    text.push_str(&std::mem::replace(&mut self.space, space));
                }
            }
        }
        text
    }
}

impl Incoming {
    pub(super) fn new(declared: Declared, keep_prose: bool) -> Self {
        Self { declared, keep_prose, candidates: BTreeMap::new() }
    }
}

impl Reader for Incoming {
    fn reset(&mut self) {
        self.candidates.clear();
    }

    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        for candidate in &mut chunk.candidates {
            self.read_candidate(candidate);
        }
        chunk
    }

    /// What is left when the stream ends without a finish reason.
    fn finish(&mut self) -> Option<GenerateResponse> {
        let open: Vec<u32> =
            self.candidates.iter().filter(|(_, answer)| !answer.done).map(|(index, _)| *index).collect();
        let mut candidates = Vec::new();
        for index in open {
            let parts = self.close(index);
            if !parts.is_empty() {
                let content = Some(Content::new(Role::Model, parts));
                candidates.push(Candidate { index, content, ..Candidate::default() });
            }
        }
        (!candidates.is_empty()).then(|| GenerateResponse { candidates, ..GenerateResponse::default() })
    }
}

impl Incoming {
    fn read_candidate(&mut self, candidate: &mut Candidate) {
        let index = candidate.index;
        let mut parts = Vec::new();
        if let Some(content) = &mut candidate.content {
            for part in std::mem::take(&mut content.parts) {
                self.read_part(index, part, &mut parts);
            }
        }
        if candidate.finish_reason.is_some() {
            parts.extend(self.close(index));
            let called = self.candidates.get(&index).map_or(&[][..], |answer| &answer.calls);
            // A cut call keeps the reason it was cut for.
            let cut = candidate.finish_reason == Some(FinishReason::MaxTokens)
                && called.iter().any(|call| call.args.is_err());
            if !called.is_empty() && !cut {
                candidate.finish_reason = Some(FinishReason::Stop);
            }
        }
        match &mut candidate.content {
            Some(content) => content.parts = parts,
            None if !parts.is_empty() => candidate.content = Some(Content::new(Role::Model, parts)),
            None => {}
        }
    }

    fn read_part(&mut self, index: u32, mut part: Part, parts: &mut Vec<Part>) {
        let answer = self.candidates.entry(index).or_insert_with(|| Answer::new(&self.declared));
        let replaced = part.extra.get("replaces").and_then(Value::as_u64);
        let plain = !part.thought && (part.extra.is_empty() || replaced.is_some());
        let (PartKind::Text(text), true) = (&mut part.kind, plain) else {
            // Words after a thought are a paragraph of their own, but one answer.
            if !part.thought {
                answer.raw.clear();
                answer.shown = 0;
            }
            parts.push(part);
            return;
        };
        let text = std::mem::take(text);
        let visible = match replaced {
            None => {
                answer.raw.push_str(&text);
                let pieces = answer.scanner.push(&text);
                answer.take(pieces)
            }
            Some(count) => {
                let kept = answer.raw.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
                let raw = answer.raw.get(..kept).unwrap_or_default().to_owned() + &text;
                let shown = answer.shown;
                *answer = Answer { raw: raw.clone(), ..Answer::new(&self.declared) };
                let pieces = answer.scanner.push(&raw);
                part.extra.insert("replaces", shown.into());
                answer.take(pieces)
            }
        };
        if !self.keep_prose {
            answer.prose.push_str(&visible);
            return;
        }
        answer.shown += visible.len();
        if !visible.is_empty() || replaced.is_some() || part.thought_signature.is_some() {
            part.kind = PartKind::Text(visible);
            parts.push(part);
        }
    }

    /// What comes out at the end: the rest of the prose, then the calls.
    fn close(&mut self, index: u32) -> Vec<Part> {
        let Some(answer) = self.candidates.get_mut(&index).filter(|answer| !answer.done) else {
            return Vec::new();
        };
        answer.done = true;
        let pieces = answer.scanner.finish();
        let rest = answer.take(pieces);
        let mut visible = std::mem::take(&mut answer.prose) + &rest;
        let mut parts = Vec::new();
        if answer.calls.is_empty() && !self.declared.is_empty() {
            answer.calls = scan::unusable(&answer.raw);
            if !answer.calls.is_empty() {
                visible.clear();
                parts.extend(withdrawal(answer.shown));
            }
        }
        if !self.keep_prose && !answer.calls.is_empty() {
            visible.clear();
        }
        if !visible.is_empty() {
            parts.push(Part::text(visible));
        }
        parts.extend(answer.calls.iter().map(finished).map(Part::function_call));
        parts
    }
}

/// Takes back this many bytes of what was shown: they were no words for a person.
pub(super) fn withdrawal(shown: usize) -> Option<Part> {
    let mut nothing = Part::text("");
    nothing.extra.insert("replaces", shown.into());
    (shown > 0).then_some(nothing)
}

/// A call with an id.
fn finished(raw: &RawCall) -> FunctionCall {
    let mut call =
        FunctionCall { id: Some(make_call_id()), name: raw.name.clone(), ..FunctionCall::default() };
    match &raw.args {
        Ok(args) => call.args = args.clone(),
        Err(invalid) => call.invalid = Some(Box::new(invalid.clone())),
    }
    call
}
