//! What the model answered: words for the person, or a call.

use std::path::PathBuf;

use charla_proto::{
    Candidate, Content, FunctionCall, GenerateResponse, LlmError, LlmErrorKind, Part, PartKind, Role,
};
use charla_providers::layers::Reader;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::conversation::{RESULT, Turn, argument};
use super::prompt::{CALL, CALL_END};
use super::{grounds, mending, results};

/// Calls of one turn.
const MOST_STEPS: usize = 3;
/// What it says where it would change something else than the request names.
const UNSURE: &str = "The built-in model is not sure what to change, and changed nothing.";
const UNFINISHED: &str = "The built-in model began a call and did not finish it.";

/// Reads one answer. One about what a tool returned is held back until it is whole: only then can it be judged.
pub(super) struct AnswerReader {
    pub(super) turn: Turn,
    pub(super) folder: PathBuf,
    /// Tools may be called.
    pub(super) offers: bool,
    pub(super) text: String,
    /// Bytes of it that were passed on.
    pub(super) passed: usize,
}

/// What an answer is: words or a call, else why it is none.
type Answer = Result<Part, String>;

/// A call as the model writes it.
#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

impl AnswerReader {
    /// The words that can be passed on already.
    fn more(&mut self) -> String {
        let begun = self.text.trim_start();
        if !self.turn.steps.is_empty() || CALL.starts_with(begun) || begun.starts_with(CALL) {
            return String::new();
        }
        let is_begun = |length: &usize| RESULT.get(..*length).is_some_and(|mark| self.text.ends_with(mark));
        let until = self.text.len() - (1..=RESULT.len()).rev().find(is_begun).unwrap_or(0);
        let more = self.text.get(self.passed..until).unwrap_or_default().replace(RESULT, "");
        self.passed = until.max(self.passed);
        more
    }

    fn answer(&self) -> Answer {
        let text = self.text.trim();
        match text.strip_prefix(CALL) {
            Some(call) => self.called(call),
            None => self.said(text),
        }
    }

    fn called(&self, text: &str) -> Answer {
        let call = text.strip_suffix(CALL_END).and_then(|text| serde_json::from_str(text).ok());
        let Call { name, arguments: args } = call.ok_or(UNFINISHED)?;
        if !self.offers {
            return Err(format!("The built-in model would call {name}, and there are no tools in this run."));
        }
        let call = FunctionCall { name, args, ..FunctionCall::default() };
        let call = mending::mended(call, &self.turn, &self.folder).ok_or(UNSURE)?;
        let again = |made: &FunctionCall| made.name == call.name && made.args == call.args;
        let is_enough =
            self.turn.steps.len() >= MOST_STEPS || self.turn.steps.iter().any(|(made, _)| again(made));
        match is_enough {
            false => Ok(Part::function_call(call)),
            true => self.failed().unwrap_or_else(|| Ok(Part::text(results::unfolded(&self.turn, RESULT)))),
        }
    }

    fn said(&self, text: &str) -> Answer {
        if let Some(failed) = self.failed() {
            return failed;
        }
        if self.turn.steps.is_empty() {
            return Ok(Part::text(self.text.get(self.passed..).unwrap_or_default().replace(RESULT, "")));
        }
        let holds = text.contains(RESULT) || grounds::is_borne_out(&self.turn, text);
        let (doubt, text) = if holds { ("", text) } else { (results::DOUBT, RESULT) };
        Ok(Part::text(doubt.to_owned() + &results::unfolded(&self.turn, text)))
    }

    /// What went wrong with the last call. That is no answer, whatever the model says about it, unless it is that a file or folder
    /// which was to be shown is not there.
    fn failed(&self) -> Option<Answer> {
        let (call, result) = self.turn.last().filter(|(_, result)| result.is_error())?;
        let text = result.to_text().replace(&format!("{}/", self.folder.display()), "");
        let why = text.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned();
        let path = match call.name.as_str() {
            "read_file" => Some(argument(call, "file_path")),
            "list_directory" => Some(argument(call, "dir_path")),
            _ => None,
        };
        let is_missing = path.is_some_and(|path| !self.folder.join(path).exists());
        Some(if is_missing { Ok(Part::text(why)) } else { Err(why) })
    }
}

impl Reader for AnswerReader {
    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        if let Some(content) = chunk.candidates.first_mut().and_then(|candidate| candidate.content.as_mut()) {
            self.text.push_str(&content.text());
            content.parts.retain(|part| !matches!(part.kind, PartKind::Text(_)));
            let more = self.more();
            content.parts.extend(Some(Part::text(more)).filter(|part| part.as_text() != Some("")));
        }
        chunk
    }

    fn reset(&mut self) {
        self.text.clear();
        self.passed = 0;
    }

    fn finish(&mut self) -> Option<GenerateResponse> {
        let part = self.answer().ok().filter(|part| part.as_text() != Some(""))?;
        let content = Some(Content::new(Role::Model, vec![part]));
        let candidates = vec![Candidate { content, ..Candidate::default() }];
        Some(GenerateResponse { candidates, ..GenerateResponse::default() })
    }

    fn verdict(&self) -> Result<(), LlmError> {
        self.answer().map(|_| ()).map_err(|why| LlmError::new(LlmErrorKind::NotSupported, why))
    }
}
