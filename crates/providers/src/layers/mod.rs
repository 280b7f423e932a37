//! Generators over generators: each layer adds one thing and knows nothing of the others.
//!
//! From the outside in: [`Logging`] sees what the caller sees, retries included; [`Resilient`] tries
//! again and falls back; under it stand the models of the chain, each a leaf generator with what it
//! needs ([`stack`]): [`NamedParameters`] over [`TextTools`] over [`RewriteRequests`] over [`ThinkFilter`]. Those four
//! only say what they do to requests and answers ([`Layer`]); [`Layered`] makes generators of them.

mod layered;
mod logging;
mod parameters;
mod redact;
mod remembered;
mod resilient;
mod retry;
mod rewrite;
mod stack;
mod text_tools;
mod think;
mod usage;

pub use layered::{Layer, Layered, Reader};
pub use logging::{LogCall, LogEntry, LogError, LogEvent, LogSink, Logging};
pub use parameters::{NamedParameters, ParameterMap};
pub use redact::Redactor;
pub use resilient::{Link, Resilient};
pub use retry::{Random, RetryPolicy};
pub use rewrite::{Rewrite, RewriteRequests};
pub use stack::{StackOptions, ToolMode, stack};
pub use text_tools::{GuidancePlace, GuidanceStyle, TextPiece, TextTools, TextToolsOptions, split_text};
pub use think::{ThinkFilter, ThinkOptions, ThinkStart, ThinkSwitch};
pub use usage::EstimatedUsage;
