//! Events: what a stream tells its caller, and what a turn tells the front ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Citation, FinishReason, FunctionCall, GenerateResponse, LlmError, UsageMetadata};

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
    /// Thinking.
    Thought(String),
    /// The model asks for a tool.
    ToolCallRequest(FunctionCall),
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
    /// Every attempt gave an empty, cut or malformed answer.
    InvalidStream(LlmError),
    /// The conversation does not fit the window.
    ContextOverflow(LlmError),
    /// Any other failure.
    Error(LlmError),
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
