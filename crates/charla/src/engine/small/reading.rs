//! What the model answered: words for the person, or a call.

use std::path::PathBuf;

use charla_proto::{
    Candidate, Content, FunctionCall, GenerateResponse, LlmError, LlmErrorKind, Part, PartKind, Role,
};
use charla_providers::layers::Reader;
use serde_json::Value;

use super::conversation::{RESULT, Turn};
use super::prompt::{CALL, CALL_END};
use super::{grounds, mending, results};

/// Calls of one turn.
const MOST_STEPS: usize = 3;

/// What it says to a question that it should not answer.
const UNKNOWN: &str = "I do not know that: I am a very small model.";

/// What it says where it would change something else than the request names.
const UNSURE: &str = "The built-in model is not sure which line to change, and changed nothing.";

/// Reads one answer. One about what a tool returned, or to a question of fact, is held back until it is whole: only then can
/// it be judged.
pub(super) struct AnswerReader {
    turn: Turn,
    /// The turn before.
    before: Option<Turn>,
    folder: PathBuf,
    /// Tools may be called.
    offers: bool,
    text: String,
    /// Bytes of it that were passed on.
    passed: usize,
}

/// What an answer is.
enum Answer {
    Words(String),
    Call(FunctionCall),
    Failure(String),
}

impl AnswerReader {
    pub(super) fn new(turn: Turn, before: Option<Turn>, folder: PathBuf, offers: bool) -> Self {
        Self { turn, before, folder, offers, text: String::new(), passed: 0 }
    }

    /// The words that can be passed on already.
    fn more(&mut self) -> String {
        let begun = self.text.trim_start();
        let is_judged = !self.turn.steps.is_empty() || grounds::is_of_fact(&self.turn.said);
        if is_judged || CALL.starts_with(begun) || begun.starts_with(CALL) {
            return String::new();
        }
        let marked = (1..=RESULT.len()).rev().find_map(|length| {
            RESULT.get(..length).filter(|beginning| self.text.ends_with(beginning)).map(str::len)
        });
        let until = self.text.len() - marked.unwrap_or(0);
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
        let Some(call) = parsed(text) else {
            return Answer::Failure("The built-in model began a call and did not finish it.".to_owned());
        };
        if !self.offers {
            let why =
                format!("The built-in model would call {}, and there are no tools in this run.", call.name);
            return Answer::Failure(why);
        }
        let call = mending::mended(call, &self.turn, self.before.as_ref(), &self.folder);
        if !is_asked_for(&self.turn, &call) {
            return Answer::Failure(UNSURE.to_owned());
        }
        let again =
            self.turn.steps.iter().any(|step| step.call.name == call.name && step.call.args == call.args);
        match (again || self.turn.steps.len() >= MOST_STEPS, self.error()) {
            (false, _) => Answer::Call(call),
            (true, Some(error)) => Answer::Failure(error),
            (true, None) => Answer::Words(results::unfolded(&self.turn, RESULT)),
        }
    }

    fn said(&self, text: &str) -> Answer {
        if let Some(missing) = self.missing() {
            return Answer::Words(missing);
        }
        if let Some(error) = self.error() {
            return Answer::Failure(error);
        }
        if self.turn.steps.is_empty() {
            if grounds::is_of_fact(&self.turn.said) && !grounds::may_be_so(&self.turn.said, text) {
                return Answer::Words(UNKNOWN.to_owned());
            }
            let rest = self.text.get(self.passed..).unwrap_or_default();
            return Answer::Words(rest.replace(RESULT, ""));
        }
        let held =
            if text.contains(RESULT) { Some(text.to_owned()) } else { grounds::borne_out(&self.turn, text) };
        Answer::Words(match held {
            Some(held) => results::unfolded(&self.turn, &held),
            None => results::doubted(&self.turn, text),
        })
    }

    /// A file or folder that was to be shown and is not there: that is the answer.
    fn missing(&self) -> Option<String> {
        let (step, _) = self.turn.last().filter(|(_, result)| result.is_error())?;
        let (name, kind) = match step.call.name.as_str() {
            "read_file" => ("file_path", "file"),
            "list_directory" => ("dir_path", "folder"),
            _ => return None,
        };
        let path = step.argument(name)?;
        (!self.folder.join(path).exists()).then(|| format!("There is no {kind} {path}."))
    }

    /// What went wrong with the last call. That is no answer, whatever the model says about it.
    fn error(&self) -> Option<String> {
        let (_, result) = self.turn.last().filter(|(_, result)| result.is_error())?;
        let text = result.to_text();
        Some(text.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned())
    }
}

/// True for every call but a change that nobody asked for.
fn is_asked_for(turn: &Turn, call: &FunctionCall) -> bool {
    let argument = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
    call.name != "replace" || grounds::is_asked_for(turn, argument("old_string"), argument("new_string"))
}

/// The call in the text behind its mark.
fn parsed(text: &str) -> Option<FunctionCall> {
    let text = text.trim().strip_suffix(CALL_END)?;
    let mut call: Value = serde_json::from_str(text).ok()?;
    let Value::Object(args) = call.get_mut("arguments")?.take() else { return None };
    let name = call.get("name")?.as_str()?.to_owned();
    Some(FunctionCall { name, args, ..FunctionCall::default() })
}

impl Reader for AnswerReader {
    fn read(&mut self, mut chunk: GenerateResponse) -> GenerateResponse {
        if let Some(content) = chunk.candidates.first_mut().and_then(|candidate| candidate.content.as_mut()) {
            self.text.push_str(&content.text());
            content.parts.retain(|part| !matches!(part.kind, PartKind::Text(_)));
            let more = self.more();
            if !more.is_empty() {
                content.parts.push(Part::text(more));
            }
        }
        chunk
    }

    fn reset(&mut self) {
        self.text.clear();
        self.passed = 0;
    }

    fn finish(&mut self) -> Option<GenerateResponse> {
        let part = match self.answer() {
            Answer::Words(text) if !text.is_empty() => Part::text(text),
            Answer::Call(call) => Part::function_call(call),
            Answer::Words(_) | Answer::Failure(_) => return None,
        };
        let content = Content::new(Role::Model, vec![part]);
        let candidate = Candidate { content: Some(content), ..Candidate::default() };
        Some(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() })
    }

    fn verdict(&self) -> Result<(), LlmError> {
        match self.answer() {
            Answer::Failure(why) => Err(LlmError::new(LlmErrorKind::NotSupported, why)),
            Answer::Words(_) | Answer::Call(_) => Ok(()),
        }
    }
}
