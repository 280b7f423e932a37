//! Is this an answer? Judged by what the stream did, never by who sent it.

use charla_proto::{Candidate, FinishReason, GenerateResponse, Hint, LlmError, LlmErrorKind, PartKind};

/// [`charla_proto::ErrorDetail::code`] of an answer that the output limit left without words: the same
/// request comes to the same end.
pub(crate) const OUTPUT_LIMIT: &str = "MAX_TOKENS";

/// Reasons by which a provider's filter ends an answer, beside those with a name of their own.
const FILTERED: [&str; 6] =
    ["BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"];

/// The reason of an answer that ended because conversation and answer together filled the window.
const WINDOW_FULL: &str = "model_context_window_exceeded";

/// What has been seen of an answer.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    finish: Option<FinishReason>,
    finish_message: Option<String>,
    block: Option<String>,
    /// A call whose arguments are whole.
    call: bool,
    /// A call whose arguments cannot be used.
    broken_call: bool,
    /// Words that are no thoughts, or media.
    visible: bool,
    thoughts: bool,
    /// Something was said after a finish reason: this server's reasons do not mean the end.
    said_after_finish: bool,
}

impl Judge {
    /// Takes note of a chunk.
    pub(crate) fn see(&mut self, chunk: &GenerateResponse) {
        if let Some(feedback) = &chunk.prompt_feedback
            && let Some(reason) = &feedback.block_reason
        {
            let message = feedback.block_reason_message.as_deref();
            self.block =
                Some(message.map_or_else(|| reason.clone(), |message| format!("{message} ({reason})")));
        }
        for candidate in &chunk.candidates {
            self.see_candidate(candidate);
        }
    }

    fn see_candidate(&mut self, candidate: &Candidate) {
        let speaks = candidate.content.as_ref().is_some_and(|content| !content.parts.is_empty());
        self.said_after_finish |= self.finish.is_some() && speaks;
        if candidate.finish_reason.is_some() {
            self.finish.clone_from(&candidate.finish_reason);
        }
        if candidate.finish_message.is_some() {
            self.finish_message.clone_from(&candidate.finish_message);
        }
        for part in candidate.content.iter().flat_map(|content| &content.parts) {
            match &part.kind {
                PartKind::Text(_) if part.thought => self.thoughts = true,
                PartKind::Text(text) => self.visible = self.visible || !text.trim().is_empty(),
                PartKind::InlineData(_) | PartKind::FileData(_) => self.visible = true,
                PartKind::FunctionCall(call) => match &call.invalid {
                    None => self.call = true,
                    Some(_) => self.broken_call = true,
                },
                PartKind::Opaque(_) => self.thoughts = true,
                PartKind::FunctionResponse(_) | PartKind::Other => {}
            }
        }
    }

    /// True when nothing more needs to come: what the connection does from now on takes nothing away.
    pub(crate) fn is_complete(&self) -> bool {
        let ended = matches!(self.finish, Some(FinishReason::Stop | FinishReason::MaxTokens));
        ended && !self.said_after_finish && (self.visible || self.call || self.broken_call)
    }

    /// True when something was said and no reason given for its end.
    pub(crate) fn lacks_finish(&self) -> bool {
        self.finish.is_none() && (self.visible || self.broken_call)
    }

    /// What to make of it, now that it has ended.
    pub(crate) fn verdict(&self) -> Result<(), LlmError> {
        if self.call {
            return Ok(());
        }
        if let Some(reason) = &self.block {
            return Err(blocked(format!("the provider refused the prompt: {reason}")));
        }
        let Some(finish) = &self.finish else { return Err(self.unfinished()) };
        match finish {
            // The provider wants the content back before it goes on.
            FinishReason::Pause => Ok(()),
            FinishReason::MalformedFunctionCall => {
                Err(invalid(self.explained("the model wrote a call the provider could not read")))
            }
            FinishReason::UnexpectedToolCall => {
                Err(invalid(self.explained("the model called a tool it was not offered")))
            }
            // The model is told what is wrong with its call and can make a better one. Asked again it would run into
            // the same limit, or make the same mistake.
            _ if self.visible || self.broken_call => Ok(()),
            _ => Err(self.wordless(finish)),
        }
    }

    /// An answer without an end, or without anything at all: some local servers tell no error once they have
    /// promised success.
    fn unfinished(&self) -> LlmError {
        if self.visible || self.thoughts || self.broken_call {
            return invalid("the answer broke off: the stream ended without a finish reason");
        }
        invalid("the server ended its answer without having said anything").with_hint(Hint::CheckServerLog)
    }

    /// An answer that ended properly and says nothing.
    fn wordless(&self, finish: &FinishReason) -> LlmError {
        match finish {
            FinishReason::Safety | FinishReason::Recitation => {
                blocked(self.explained(&format!("the provider stopped the answer ({finish})")))
            }
            FinishReason::Other(name) if FILTERED.contains(&name.as_str()) => {
                blocked(self.explained(&format!("the provider stopped the answer ({name})")))
            }
            FinishReason::Other(name) if name == WINDOW_FULL => LlmError::new(
                LlmErrorKind::ContextOverflow,
                "the conversation filled the model's context window before it wrote an answer",
            ),
            FinishReason::MaxTokens => {
                let message = if self.thoughts {
                    "the model used its whole output limit for thinking and wrote no answer"
                } else {
                    "the output limit was reached before the model wrote anything"
                };
                let mut error = invalid(message).with_hint(Hint::RaiseOutputLimit);
                error.detail.code = Some(OUTPUT_LIMIT.to_owned());
                error
            }
            _ if self.thoughts => invalid("the answer holds only thoughts"),
            _ => invalid("the answer is empty"),
        }
    }

    fn explained(&self, what: &str) -> String {
        match &self.finish_message {
            Some(message) => format!("{what}: {message}"),
            None => what.to_owned(),
        }
    }
}

fn invalid(message: impl Into<String>) -> LlmError {
    LlmError::new(LlmErrorKind::InvalidStream, message)
}

fn blocked(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Blocked, message)
}

#[cfg(test)]
mod tests {
    use charla_proto::{Content, FunctionCall, Part, PromptFeedback, Role};
    use serde_json::json;

    use super::*;

    fn verdict(parts: Vec<Part>, finish: Option<FinishReason>) -> Result<(), LlmError> {
        let content = Some(Content::new(Role::Model, parts));
        let candidate = Candidate { content, finish_reason: finish, ..Candidate::default() };
        let mut judge = Judge::default();
        judge.see(&GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() });
        judge.verdict()
    }

    fn call(args: &str) -> Part {
        let mut call = FunctionCall::new("1", "read", serde_json::Map::new());
        call.set_args_text(args);
        Part::function_call(call)
    }

    #[test]
    fn answers_are_judged_by_what_came() {
        use FinishReason::*;
        let text = || vec![Part::text("hi")];
        let thought = || vec![Part::thought("hm")];
        let cut = || vec![Part::text("let me look"), call(r#"{"path": "#)];
        let ok = |parts, finish| assert_eq!(verdict(parts, finish), Ok(()));
        ok(text(), Some(Stop));
        ok(text(), Some(MaxTokens));
        ok(text(), Some(Safety));
        ok(text(), Some(Other("NEW".into())));
        ok(vec![Part::inline_data("image/png", "AA==")], Some(Stop));
        ok(vec![call("{}")], Some(Stop));
        ok(vec![call("{}")], None);
        ok(vec![call("{}")], Some(MalformedFunctionCall));
        ok(vec![call(r#"{"pa"#), call("{}")], Some(MaxTokens));
        ok(cut(), Some(MaxTokens));
        ok(cut(), Some(Stop));
        ok(vec![call(r#"{"path": "#)], Some(Stop));
        ok(thought(), Some(Pause));

        let wrong = |parts, finish, kind, words: &str| {
            let error = verdict(parts, finish).unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.message.contains(words), "{error}");
        };
        let invalid = LlmErrorKind::InvalidStream;
        wrong(text(), None, invalid, "broke off");
        wrong(vec![], None, invalid, "without having said anything");
        wrong(vec![], Some(Stop), invalid, "empty");
        wrong(vec![Part::text(" \n")], Some(Stop), invalid, "empty");
        wrong(thought(), Some(Stop), invalid, "only thoughts");
        wrong(vec![Part::opaque(json!({}))], Some(Stop), invalid, "only thoughts");
        wrong(text(), Some(MalformedFunctionCall), invalid, "could not read");
        wrong(vec![], Some(UnexpectedToolCall), invalid, "not offered");
        wrong(cut(), None, invalid, "broke off");
        wrong(thought(), Some(MaxTokens), invalid, "for thinking");
        wrong(vec![], Some(Safety), LlmErrorKind::Blocked, "SAFETY");
        wrong(thought(), Some(Recitation), LlmErrorKind::Blocked, "RECITATION");
        wrong(vec![], Some(Other("SPII".into())), LlmErrorKind::Blocked, "SPII");
        let full = || Some(Other(WINDOW_FULL.into()));
        ok(text(), full());
        wrong(thought(), full(), LlmErrorKind::ContextOverflow, "context window");
    }

    #[test]
    fn a_refused_prompt_says_why() {
        let feedback = PromptFeedback {
            block_reason: Some("SAFETY".into()),
            block_reason_message: Some("too dangerous".into()),
            ..PromptFeedback::default()
        };
        let mut judge = Judge::default();
        judge.see(&GenerateResponse { prompt_feedback: Some(feedback), ..GenerateResponse::default() });
        let error = judge.verdict().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Blocked);
        assert_eq!(error.message, "the provider refused the prompt: too dangerous (SAFETY)");
    }

    #[test]
    fn an_answer_used_up_by_thinking_carries_its_code() {
        let error = verdict(vec![Part::thought("hm")], Some(FinishReason::MaxTokens)).unwrap_err();
        assert_eq!(error.detail.code.as_deref(), Some(OUTPUT_LIMIT));
    }
}
