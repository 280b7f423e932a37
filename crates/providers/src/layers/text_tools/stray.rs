//! Calls that a model with native tools writes into its text.
//!
//! A server that does not know its model's template hands such a call out as words. They are no answer: nothing was done,
//! and nobody wants to read them. The model is told, by a call that is never run, and may call again.

use charla_proto::{
    Candidate, Content, FinishReason, FunctionCall, GenerateRequest, GenerateResponse, InvalidArgs, Part,
    PartKind, Role,
};
use serde_json::Value;

use super::dialect::{Declared, RawCall};
use super::incoming::withdrawal;
use super::scan::{self, Piece, Scanner};
use super::{Layer, Reader, outgoing};
use crate::wire::make_call_id;

const REASON: &str = "it was written into the text of the answer, where nobody reads it. Make the call by the \
                      function calling interface, or answer in plain words";

/// The layer over a model that calls tools by its wire.
pub(in crate::layers) struct StrayCalls;

impl Layer for StrayCalls {
    fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
        let config = request.tool_config.clone().unwrap_or_default().function_calling_config;
        let declared = Declared::new(outgoing::offered(request, &config));
        (!declared.is_empty()).then(|| Box::new(Watch::new(declared)) as Box<dyn Reader>)
    }
}

/// Watches the first candidate of one answer; all of it passes.
struct Watch {
    declared: Declared,
    /// The text since the last part that was something else.
    text: String,
    /// There is a call, or the answer is over.
    settled: bool,
}

impl Watch {
    fn new(declared: Declared) -> Self {
        Self { declared, text: String::new(), settled: false }
    }

    fn note(&mut self, part: &Part) {
        match &part.kind {
            _ if part.thought => {}
            PartKind::FunctionCall(_) => self.settled = true,
            PartKind::Text(text) => {
                if let Some(replaced) = part.extra.get("replaces").and_then(Value::as_u64) {
                    let kept =
                        self.text.len().saturating_sub(usize::try_from(replaced).unwrap_or(usize::MAX));
                    let kept = self.text.get(..kept).unwrap_or_default().len();
                    self.text.truncate(kept);
                }
                self.text.push_str(text);
            }
            _ => self.text.clear(),
        }
    }

    /// What comes behind an answer that ends with calls in its text: that is taken back, the words before it stay.
    fn correction(&mut self) -> Vec<Part> {
        if std::mem::replace(&mut self.settled, true) || !self.text.contains(['<', '[', '{']) {
            return Vec::new();
        }
        let Some((words, calls)) = self.stray_calls() else { return Vec::new() };
        let mut parts: Vec<Part> = withdrawal(self.text.len()).into_iter().collect();
        parts.extend((!words.trim().is_empty()).then(|| Part::text(words.trim_end())));
        parts.extend(calls.into_iter().map(|call| told(call, &self.text)));
        parts
    }

    /// The words before the calls that end the answer, and those. Words count beside calls with marks of their own
    /// only: JSON after words may be what the words are about.
    fn stray_calls(&self) -> Option<(String, Vec<RawCall>)> {
        let mut scanner = Scanner::new(self.declared.clone());
        let mut pieces = scanner.push(&self.text);
        pieces.extend(scanner.finish());
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty()));
        let (mut words, mut found, mut marked) = (String::new(), Vec::new(), true);
        for piece in pieces {
            match piece {
                Piece::Text(text) if found.is_empty() => words.push_str(&text),
                Piece::Text(_) => return None,
                Piece::Calls { calls, source } => {
                    marked &= source.trim_start().starts_with(['<', '[']);
                    found.extend(calls);
                }
            }
        }
        if found.is_empty() && self.text.trim_start().starts_with(['<', '[']) && is_marked(&self.text) {
            return Some((String::new(), scan::unusable(&self.text))).filter(|(_, calls)| !calls.is_empty());
        }
        (!found.is_empty() && (marked || words.is_empty())).then_some((words, found))
    }
}

/// True for text that begins with a mark of calls rather than with JSON.
fn is_marked(text: &str) -> bool {
    !text.trim_start().trim_start_matches('[').trim_start().starts_with(['{', '"', ']'])
}

/// A call that says why it was not run.
fn told(call: RawCall, text: &str) -> Part {
    let invalid = InvalidArgs { raw: text.to_owned(), reason: REASON.to_owned() };
    Part::function_call(FunctionCall {
        id: Some(make_call_id()),
        name: call.name,
        invalid: Some(Box::new(invalid)),
        ..FunctionCall::default()
    })
}

impl Reader for Watch {
    fn reset(&mut self) {
        self.text.clear();
        self.settled = false;
    }

    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        for candidate in chunk.candidates.iter_mut().filter(|candidate| candidate.index == 0) {
            candidate.content.iter().flat_map(|content| &content.parts).for_each(|part| self.note(part));
            if candidate.finish_reason == Some(FinishReason::Stop) {
                let parts = self.correction();
                if !parts.is_empty() {
                    let content =
                        candidate.content.get_or_insert_with(|| Content::new(Role::Model, Vec::new()));
                    content.parts.extend(parts);
                }
            }
        }
        chunk
    }

    fn finish(&mut self) -> Option<GenerateResponse> {
        let parts = self.correction();
        let content = (!parts.is_empty()).then(|| Content::new(Role::Model, parts))?;
        let candidates = vec![Candidate { content: Some(content), ..Candidate::default() }];
        Some(GenerateResponse { candidates, ..GenerateResponse::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::FunctionDeclaration;

    use super::*;

    /// The visible words and the called names of an answer that comes in pieces of this many characters.
    fn read(answer: &str, size: usize) -> (String, Vec<String>) {
        let declaration =
            FunctionDeclaration { name: "read_file".to_owned(), ..FunctionDeclaration::default() };
        let mut watch = Watch::new(Declared::new([&Arc::new(declaration)]));
        let mut whole = charla_proto::Assembler::new();
        let characters: Vec<char> = answer.chars().collect();
        let pieces = characters.chunks(size).map(|piece| piece.iter().collect::<String>());
        for piece in pieces.map(Some).chain([None]) {
            let finish_reason = piece.is_none().then_some(FinishReason::Stop);
            let content = piece.map(Content::model);
            let candidate = Candidate { content, finish_reason, ..Candidate::default() };
            whole.push(watch.read(GenerateResponse { candidates: vec![candidate], ..Default::default() }));
        }
        assert_eq!(watch.finish(), None);
        let content = whole.response().content().cloned().unwrap_or_default();
        assert!(content.function_calls().all(|call| call.invalid.is_some()));
        (content.text(), content.function_calls().map(|call| call.name.clone()).collect())
    }

    #[test]
    fn calls_in_the_text_of_a_model_with_native_tools_are_told_and_nothing_else_is() {
        let hermes = r#"<tool_call>{"name": "read_file", "arguments": {"file_path": "a"}}</tool_call>"#;
        let unknown = r#"<tool_call>{"name": "no_such", "arguments": {}}</tool_call>"#;
        let explicit = r#"{"tool_call": {"name": "read_file", "arguments": {"file_path": "a"}}}"#;
        let rows: [(String, &str, usize); 11] = [
            (hermes.to_owned(), "", 1),
            (format!("I will look.\n\n{hermes}\n"), "I will look.", 1),
            (format!("{hermes}\n{hermes}"), "", 2),
            (unknown.to_owned(), "", 1),
            (explicit.to_owned(), "", 1),
            (format!("```json\n{explicit}\n```"), "", 1),
            (format!("A call looks so:\n```json\n{explicit}\n```\nThat is all."), "same", 0),
            (format!("Here is what was asked for:\n\n{explicit}"), "same", 0),
            ("[{\"name\": \"Bob\", \"arguments\": {}}]".to_owned(), "same", 0),
            ("{\"name\": \"Bob\", \"age\": 4}".to_owned(), "same", 0),
            ("Use `a < b` and <b>bold</b>.".to_owned(), "same", 0),
        ];
        for (answer, words, count) in rows {
            for size in [1, 7, 10_000] {
                let (text, calls) = read(&answer, size);
                let words = if words == "same" { answer.as_str() } else { words };
                assert_eq!((text.as_str(), calls.len()), (words, count), "{answer} by {size}");
            }
        }
    }
}
