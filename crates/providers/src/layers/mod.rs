//! Generators over generators: each layer adds one thing and knows nothing of the others.
//!
//! From the outside in: [`Logging`] sees what the caller sees, retries included; [`Resilient`] tries
//! again and falls back; under it stand the leaf generators, one for each model of the chain.

mod logging;
mod redact;
mod resilient;
mod retry;
mod text_tools;

pub use logging::{LogCall, LogEntry, LogError, LogEvent, LogSink, Logging};
pub use redact::Redactor;
pub use resilient::{Link, Resilient};
pub use retry::{Random, RetryPolicy};
pub use text_tools::{
    GuidancePlace, GuidanceStyle, ParameterMap, TextPiece, TextTools, TextToolsOptions, split_text,
};
