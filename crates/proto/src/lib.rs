//! The tongue every part of Charla speaks.
//!
//! [`Content`], [`Part`], [`FunctionCall`] and [`FunctionResponse`] are at once the form in memory, the
//! form in the journal and the form front ends see. Vendors' formats never come this far: they are turned
//! into these types at the edge, in `charla-providers`.
//!
//! This crate does nothing: no I/O, no clock, no runtime. It declares the words and the ports
//! ([`ContentGenerator`] and its siblings) through which the other crates meet.

mod approval;
mod aside;
mod assemble;
mod command;
mod confinement;
mod content;
pub mod diff;
mod editor;
mod embedders;
mod error;
mod event;
mod extra;
mod fetch;
mod files;
mod fold;
mod hint;
mod hook;
mod invocation;
pub mod json;
mod note;
mod output;
mod parts;
mod passing;
mod port;
mod record;
mod request;
mod response;
mod secret;
mod standing;
mod store;
pub mod text;
pub mod tool;
mod tool_of_server;
mod view;

pub use approval::{
    ApprovalMode, CallStatus, Confirmation, ConfirmationDetail, Consent, Missing, Outcome, Policy, Verdict,
    means_approval,
};
pub use aside::{Aside, AsideAnswer, SampleAnswer, SampleRequest};
pub use assemble::Assembler;
pub use command::{CancelTarget, Command, Delivery, FileConflict, Refusal, Reply, Request, RevertSelection};
pub use confinement::Confinement;
pub use content::{
    Blob, Content, FileData, FunctionCall, FunctionResponse, InvalidArgs, OWN_CALL_ID, Origin, Part,
    PartKind, Role, WireKind,
};
pub use editor::Editor;
pub use embedders::{
    append_to_last_text_part, flat_map_text_parts, parts_to_string, to_content, to_contents,
};
pub use error::{ErrorDetail, LlmError, LlmErrorKind};
pub use event::{
    Assistant, CompressionReport, CompressionStatus, CompressionTrigger, ModelSwitch, PreCompress,
    RetryNotice, SessionEvent, StreamEvent, ToolFailure, ToolResult, TurnEnd, TurnEvent,
};
pub use extra::Extra;
pub use fetch::{Fetch, FetchAnswer, FetchRequest};
pub use files::{FileJudge, FirstName, Withheld};
pub use fold::{
    ClientCall, Conversation, Grant, Granted, OpenApproval, OpenCall, OpenTurn, PastTurns, QueuedPrompt,
    Shortening, Untold,
};
pub use hint::{Hint, WindowPart};
pub use hook::{CallHooks, HookEffect, HookEvent, HookRan, TurnHooks};
pub use invocation::{Invocation, Prepared};
pub use note::{NOTE, own_parts, own_text, own_words};
pub use output::{Display, FileLines, Todo, TodoStatus, ToolError, ToolErrorKind, ToolOutput};
pub use parts::{part_to_string, thought_subject};
pub use passing::{Begun, PassedQuestion, PassingOn};
pub use port::{BoxFuture, ChunkStream, ContentGenerator};
pub use record::{
    AgentLink, ApprovalAnswered, CallAsked, CallEnded, CallStarted, ChangesReverted, ClientCallStarted,
    Compressed, CompressionFailed, Fact, FileChange, Glance, GrantRevoked, HookActed, Imported,
    JOURNAL_VERSION, ModeChanged, ModelChanged, ModelContent, OutputsCut, PromptJoined, PromptQueued,
    PromptWithdrawn, Record, Restored, RevertedFile, Rewound, RulesSaved, Sampled, SessionStarted, Spent,
    TurnEnded, TurnResumed, TurnStarted,
};
pub use request::{
    EmbedRequest, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, GenerateRequest,
    NativeTool, Thinking, ThinkingLevel, Tool, ToolConfig,
};
pub use response::{
    Candidate, Citation, EmbedResponse, FinishReason, GenerateResponse, PromptFeedback, TokenCount,
    UsageMetadata,
};
pub use secret::{
    GITS_OWN, GITS_SETTINGS, HOME_SECRETS, PatternDots, carries_credential, is_open_in_git,
    is_secret_of_home, looks_secret, makes_secret, pattern_may_match_secret, secret_attributes,
    word_names_secret,
};
pub use standing::{Standing, WaitingQuestion};
pub use store::{
    Inbox, Journal, JournalError, JournalReader, MAX_POST, Mailbox, Owned, PostError, Posted, PrunedSessions,
    RecordStream, SessionList, SessionStore, SessionSummary, Skipped, SnapshotError, Snapshots, content_hash,
};
pub use tool::{
    Args, Effect, Lane, Plan, Preview, Question, QuestionKind, QuestionOption, RunContext, ToolContext, Word,
    WordKind,
};
pub use tool_of_server::ToolOfServer;
pub use view::{Choices, Phase, Room, RunningStep, Said, SessionSnapshot};
