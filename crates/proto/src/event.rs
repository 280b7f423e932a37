//! Events: what a stream tells its caller, and what a turn tells the front ends.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    CallAsked, CallEnded, Citation, FinishReason, FunctionCall, GenerateResponse, LlmError, UsageMetadata,
};

/// One item of a model's stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// More of the answer.
    Chunk(GenerateResponse),
    /// The attempt failed and another follows after a wait: withdraw everything shown of it.
    Retry(RetryNotice),
    /// Another model of the fallback chain takes over.
    ModelSwitched {
        /// `provider/model` that failed.
        from: String,
        /// `provider/model` that goes on.
        to: String,
        /// Why.
        reason: String,
    },
}

/// Why and when a request is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryNotice {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// How many there may be in all.
    pub max_attempts: u32,
    /// The wait before the next one.
    pub delay: Duration,
    /// What went wrong.
    pub error: LlmError,
    /// True when the failed attempt had already shown something.
    pub withdraws: bool,
}

/// What a turn tells the front ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TurnEvent {
    /// Visible text.
    Content(String),
    /// All the visible text of this step: what was told before was not whole.
    WholeText(String),
    /// Thinking.
    Thought(String),
    /// The model asks for a tool.
    ToolCallRequest(FunctionCall),
    /// A call waits for a person.
    ToolCallConfirmation(Arc<CallAsked>),
    /// A call has its response.
    ToolCallResponse(Arc<CallEnded>),
    /// A running tool shows something.
    ToolCallLive {
        /// The call.
        call: String,
        /// What.
        text: String,
    },
    /// The model is asked again, with what its calls brought: what it said so far was not its last word.
    StepEnded {
        /// Tokens the step used.
        usage: Option<UsageMetadata>,
    },
    /// The model is about to be asked for a summary of the older part.
    PreCompress(PreCompress),
    /// The older part of the conversation was told in short, or was not, and why.
    ChatCompressed(CompressionReport),
    /// A source the model names.
    Citation(Citation),
    /// The attempt failed: withdraw its text and thoughts; another follows.
    Retry(RetryNotice),
    /// Another model goes on.
    ModelSwitched {
        /// Who failed.
        from: String,
        /// Who goes on.
        to: String,
        /// Why.
        reason: String,
    },
    /// The answer is complete.
    Finished {
        /// Why it ended.
        reason: FinishReason,
        /// Tokens used.
        usage: Option<UsageMetadata>,
    },
    /// The user cancelled; what was shown stands.
    UserCancelled,
    /// The turn ended by itself: a limit, or a model that went in circles.
    Stopped {
        /// Which.
        end: TurnEnd,
        /// In words.
        detail: String,
    },
    /// Every attempt gave an empty, cut or malformed answer.
    InvalidStream(LlmError),
    /// The conversation does not fit the window.
    ContextOverflow(LlmError),
    /// Any other failure.
    Error(LlmError),
}

/// Who wanted a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionTrigger {
    /// Nobody: the window fills up.
    Auto,
    /// The user.
    Manual,
}

/// A compression that is about to be tried: the last moment at which the conversation is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreCompress {
    /// Who wanted it.
    pub trigger: CompressionTrigger,
    /// Tokens the next request would have.
    pub tokens: u64,
    /// The model's window, where it is known.
    pub window: Option<u32>,
    /// How many messages are going to be told in short.
    pub older: usize,
    /// How many stay as they are.
    pub kept: usize,
}

/// What came of a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionStatus {
    /// The older part is told in short from now on.
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
    /// Compressions were taken back: the whole conversation is sent again.
    Restored,
    /// There was no compression to take back.
    NothingToRestore,
}

/// What came of a compression, with the tokens before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressionReport {
    /// What.
    pub status: CompressionStatus,
    /// Tokens before.
    pub before: u64,
    /// Tokens after; the same where nothing changed.
    pub after: u64,
    /// Who wanted it.
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
    /// The process died in the middle; told by the next one.
    Interrupted,
    /// As many tool steps as allowed.
    StepLimit,
    /// As many tokens as allowed.
    TokenLimit,
    /// As much money as allowed.
    CostLimit,
    /// The same call with the same result, over and over.
    Loop,
}
