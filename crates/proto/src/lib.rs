//! The tongue every part of Charla speaks.
//!
//! [`Content`], [`Part`], [`FunctionCall`] and [`FunctionResponse`] are at once the form in memory, the
//! form in the journal and the form front ends see. Vendors' formats never come this far: they are turned
//! into these types at the edge, in `charla-providers`.
//!
//! This crate does nothing: no I/O, no clock, no runtime. It declares the words and the ports
//! ([`ContentGenerator`] and its siblings) through which the other crates meet.

mod approval;
mod assemble;
mod content;
mod embedders;
mod error;
mod event;
mod extra;
mod fold;
mod journal;
mod output;
mod parts;
mod port;
mod record;
mod request;
mod response;
mod secret;
mod snapshot;
pub mod text;
pub mod tool;

pub use approval::{
    ApprovalMode, CallStatus, Confirmation, ConfirmationDetail, Missing, Outcome, Policy, Verdict,
};
pub use assemble::Assembler;
pub use content::{
    Blob, Content, FileData, FunctionCall, FunctionResponse, InvalidArgs, Origin, Part, PartKind, Role,
    WireKind,
};
pub use embedders::{
    append_to_last_text_part, flat_map_text_parts, parts_to_string, to_content, to_contents,
};
pub use error::{ErrorDetail, LlmError, LlmErrorKind, exit};
pub use event::{
    CompressionReport, CompressionStatus, CompressionTrigger, PreCompress, RetryNotice, StreamEvent, TurnEnd,
    TurnEvent,
};
pub use extra::Extra;
pub use fold::{Conversation, OpenApproval, OpenCall, OpenTurn};
pub use journal::{Journal, JournalError, JournalReader};
pub use output::{Display, FileLines, Todo, TodoStatus, ToolError, ToolErrorKind, ToolOutput};
pub use parts::part_to_string;
pub use port::{BoxFuture, ChunkStream, ContentGenerator};
pub use record::{
    ApprovalAnswered, CallAsked, CallEnded, CallStarted, ChangesReverted, Compressed, CompressionFailed,
    Fact, FileChange, JOURNAL_VERSION, ModeChanged, ModelChanged, ModelContent, OutputsCut, Record, Restored,
    RevertedFile, Rewound, SessionStarted, TurnEnded, TurnStarted,
};
pub use request::{
    EmbedRequest, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, GenerateRequest,
    NativeTool, Thinking, ThinkingLevel, Tool, ToolConfig,
};
pub use response::{
    Candidate, Citation, EmbedResponse, FinishReason, GenerateResponse, PromptFeedback, TokenCount,
    UsageMetadata,
};
pub use secret::looks_secret;
pub use snapshot::{SnapshotError, Snapshots};
pub use tool::{
    Args, Effect, Invocation, Lane, Plan, Preview, Question, QuestionKind, QuestionOption, RunContext,
    ToolContext, Word, WordKind,
};
