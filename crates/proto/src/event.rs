//! Events: what a stream tells its caller, and what a turn tells the front ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Args, CallEnded, CallStatus, Citation, Confirmation, Display, FinishReason, GenerateResponse, HookRan,
    LlmError, LlmErrorKind, Outcome, Record, Spent, ToolErrorKind, UsageMetadata,
};

/// One item of a model's stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// More of the answer.
    Chunk(GenerateResponse),
    /// The attempt failed and another follows after a wait: withdraw everything shown of it.
    Retry(RetryNotice),
    /// Another model of the fallback chain takes over.
    ModelSwitched(ModelSwitch),
}

/// Another model of the fallback chain takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSwitch {
    /// `provider/model` that failed.
    pub from: String,
    /// `provider/model` that goes on.
    pub to: String,
    /// Why the first one gave up, in words.
    pub reason: String,
}

/// Why and when a request is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryNotice {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// How many there may be in all.
    pub max_attempts: u32,
    /// The wait before the next one.
    #[serde(rename = "delay_ms", with = "milliseconds")]
    pub delay: Duration,
    /// What ended the attempt.
    pub error: LlmError,
    /// True when the failed attempt had already shown something.
    pub withdraws: bool,
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(delay: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Ok(Duration::from_millis(u64::deserialize(deserializer)?))
    }
}

/// The role of a [`TurnEvent::Content`] in JSON, which Gemini CLI's readers look for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assistant {
    /// The model speaks.
    #[default]
    Assistant,
}

/// What a turn tells the front ends: the one vocabulary of headless output, event streams and screens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEvent {
    /// Visible text of the model.
    #[serde(rename = "message")]
    Content {
        /// Always the assistant.
        role: Assistant,
        /// The piece of text, or all of it.
        content: String,
        /// True for a piece that follows those before; false for all the text of this step, which replaces
        /// what was shown of it.
        delta: bool,
    },
    /// What the model thinks, where its provider shows it.
    Thought {
        /// The piece of thinking, or all of it.
        content: String,
        /// What it thinks about, once that is known: the bold words a thought begins with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// As for [`TurnEvent::Content`].
        delta: bool,
    },
    /// The model asks for a tool.
    #[serde(rename = "tool_use")]
    ToolCallRequest {
        /// The tool's name.
        #[serde(rename = "tool_name")]
        name: String,
        /// The call's id.
        #[serde(rename = "tool_id")]
        call: String,
        /// The arguments as the model gave them.
        parameters: Args,
    },
    /// A call waits for a person.
    #[serde(rename = "tool_confirmation")]
    ToolCallConfirmation {
        /// The call's id.
        #[serde(rename = "tool_id")]
        call: String,
        /// The question's id.
        approval: String,
        /// What the person is shown.
        confirmation: Arc<Confirmation>,
    },
    /// A question has its answer.
    #[serde(rename = "tool_answer")]
    ToolCallAnswered {
        /// The question's id.
        approval: String,
        /// The answer that counts.
        answer: Outcome,
        /// Who gave it.
        by: String,
    },
    /// A running tool shows something.
    #[serde(rename = "tool_output")]
    ToolCallLive {
        /// The call's id.
        #[serde(rename = "tool_id")]
        call: String,
        /// The new piece of its output.
        content: String,
        /// Always true: it follows what was shown before.
        delta: bool,
    },
    /// A call has its response.
    #[serde(rename = "tool_result")]
    ToolCallResponse(ToolResult),
    /// The model is asked again: what it said so far was not its last word.
    StepEnded {
        /// Tokens the step used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageMetadata>,
    },
    /// Somebody's words join the running turn.
    PromptJoined {
        /// The prompt's id, as its sender got it.
        prompt: String,
        /// Who said it; `charla` for the session itself.
        by: String,
        /// What was said, as text.
        content: String,
    },
    /// The model is about to be asked for a summary of the older part.
    PreCompress(PreCompress),
    /// The older part of the conversation is summarized, or is not, and why.
    ChatCompressed(CompressionReport),
    /// A source the model names.
    Citation(Citation),
    /// The attempt failed: withdraw its text and thoughts; another follows.
    Retry(RetryNotice),
    /// Another model goes on.
    ModelSwitched(ModelSwitch),
    /// A hook has run.
    HookRan(Box<HookRan>),
    /// Somebody asks to go on with the session elsewhere: yes is to leave it, no is [`Command::Keep`](crate::Command::Keep).
    HandOverAsked {
        /// Who asks.
        by: String,
    },
    /// Something a person should know that ends nothing.
    Notice {
        /// What there is to know, in words.
        message: String,
    },
    /// The answer is complete.
    Finished {
        /// Why the model stopped.
        reason: FinishReason,
        /// How the turn ended.
        end: TurnEnd,
        /// Tokens used by the last step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageMetadata>,
    },
    /// The user cancelled; what was shown stands.
    UserCancelled,
    /// The turn ended by itself: a limit, a filter, a form that was not met, or a model that went in circles.
    Stopped {
        /// Which of these it was.
        end: TurnEnd,
        /// What exactly happened, in words.
        detail: String,
    },
    /// Every attempt gave an empty, cut or malformed answer.
    InvalidStream {
        /// The last failure.
        error: LlmError,
    },
    /// The conversation does not fit the window.
    ContextOverflow {
        /// What was too long, and what would help.
        error: LlmError,
    },
    /// Any other failure.
    Error {
        /// What happened, and what would help.
        error: LlmError,
    },
}

/// A call's response, as front ends get it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    #[serde(rename = "tool_id")]
    pub call: String,
    /// The tool's name.
    #[serde(rename = "tool_name")]
    pub name: String,
    /// Success, error or cancelled.
    pub status: CallStatus,
    /// What the model is told.
    pub output: String,
    /// What kind of failure it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolFailure>,
    /// What the person is shown, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Where the whole output is, when it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_output: Option<PathBuf>,
    /// What other sessions spent that worked for it.
    #[serde(default, skip_serializing_if = "<[Spent]>::is_empty")]
    pub spent: Box<[Spent]>,
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// The kind, for programs to act on.
    #[serde(rename = "type")]
    pub kind: ToolErrorKind,
    /// What the model is told about it.
    pub message: String,
}

impl TurnEvent {
    /// A piece of visible text.
    pub fn content(text: impl Into<String>) -> Self {
        TurnEvent::Content { role: Assistant::Assistant, content: text.into(), delta: true }
    }

    /// All the visible text of this step.
    pub fn whole_content(text: impl Into<String>) -> Self {
        TurnEvent::Content { role: Assistant::Assistant, content: text.into(), delta: false }
    }

    /// The event of a turn that fails.
    pub fn failure(error: LlmError) -> Self {
        match error.kind {
            LlmErrorKind::InvalidStream => TurnEvent::InvalidStream { error },
            LlmErrorKind::ContextOverflow => TurnEvent::ContextOverflow { error },
            _ => TurnEvent::Error { error },
        }
    }

    /// The event of a call's end.
    pub fn tool_result(ended: &CallEnded) -> Self {
        let output = ended.response.to_text();
        let error = ended.error.map(|kind| ToolFailure { kind, message: output.clone() });
        TurnEvent::ToolCallResponse(ToolResult {
            call: ended.call.clone(),
            name: ended.tool.as_ref().unwrap_or(&ended.response.name).clone(),
            status: ended.status,
            output,
            error,
            display: ended.display.clone(),
            whole_output: ended.whole_output.clone(),
            spent: ended.spent.as_slice().into(),
        })
    }
}

/// Something a subscriber of a session gets. Records are never lost; events may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A durable fact, in the journal already.
    Record(Arc<Record>),
    /// Something transient: it is not sent again.
    Turn(TurnEvent),
    /// This subscriber was too slow: transient events are lost.
    Missed,
    /// The journal cannot be written: the session takes nothing more.
    Broken(String),
}

/// Who wanted a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionTrigger {
    /// Nobody: the window fills up.
    Auto,
    /// Somebody asked for it.
    Manual,
}

/// A compression that is about to be tried: the last moment at which the conversation is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreCompress {
    /// Whether somebody asked for it.
    pub trigger: CompressionTrigger,
    /// Tokens the next request would have.
    pub tokens: u64,
    /// The model's window, where it is known.
    pub window: Option<u32>,
    /// How many messages the summary would stand for.
    pub older: usize,
    /// How many stay as they are.
    pub kept: usize,
}

/// What came of a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionStatus {
    /// A summary stands for the older part from now on.
    Compressed,
    /// There was nothing to compress.
    NotNeeded,
    /// The summary would have been longer than what it stands for.
    WouldInflate,
    /// The model gave no summary.
    EmptySummary,
    /// The model failed, or the journal could not be read.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Large outputs were cut.
    OutputsCut,
    /// The oldest part is left out from now on: no summary of it could be had.
    LeftOut,
    /// Compressions were taken back: the whole conversation is sent again.
    Restored,
    /// There was no compression to take back.
    NothingToRestore,
}

/// What came of a compression, with the tokens before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressionReport {
    /// What came of it.
    pub status: CompressionStatus,
    /// Tokens the next request would have had.
    pub before: u64,
    /// Tokens after; the same where nothing changed.
    pub after: u64,
    /// Whether somebody asked for it.
    pub trigger: CompressionTrigger,
    /// Messages the next request has.
    pub messages: usize,
    /// The model's window, where it is known.
    pub window: Option<u32>,
    /// What the summary cost, where one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model finished.
    Finished,
    /// The user cancelled.
    Cancelled,
    /// An error ended it.
    Error,
    /// The turn belongs to another session, or, in version 1, its process died.
    Interrupted,
    /// As many tool steps as allowed.
    StepLimit,
    /// As many tokens as allowed.
    TokenLimit,
    /// As much money as allowed.
    CostLimit,
    /// The same call with the same result, over and over.
    Loop,
    /// The provider's filter stopped the answer.
    Blocked,
    /// The answer was cut at the output limit; what came stands.
    Truncated,
    /// The answer does not fit the schema it was asked for in.
    SchemaMismatch,
    /// The user cancelled before anything was answered: the prompt is no part of the conversation.
    Withdrawn,
    /// A hook ended it; what was said stands.
    HookStopped,
    /// A hook did not let it through; a prompt that got no answer is no part of the conversation.
    HookBlocked,
}

impl TurnEnd {
    /// True when the model had its last word, whole or cut.
    pub fn is_answer(self) -> bool {
        matches!(self, TurnEnd::Finished | TurnEnd::Truncated)
    }

    /// True when a person ended it.
    pub fn is_cancelled(self) -> bool {
        matches!(self, TurnEnd::Cancelled | TurnEnd::Withdrawn)
    }
}
