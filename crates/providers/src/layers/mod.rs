//! Generators over generators: each layer adds one thing and knows nothing of the others.
//!
//! From the outside in: [`Logging`] sees what the caller sees, retries included; [`Resilient`] tries
//! again and falls back; under it stand the models of the chain, each a leaf generator with what it
//! needs ([`stack`]): [`NamedParameters`] over [`TextTools`] over [`Reworded`] over [`ThinkFilter`].

mod logging;
mod parameters;
mod redact;
mod remembered;
mod resilient;
mod retry;
mod reworded;
mod stack;
mod text_tools;
mod think;

pub use logging::{LogCall, LogEntry, LogError, LogEvent, LogSink, Logging};
pub use parameters::{NamedParameters, ParameterMap};
pub use redact::Redactor;
pub use resilient::{Link, Resilient};
pub use retry::{Random, RetryPolicy};
pub use reworded::{Reworded, Rewording};
pub use stack::{StackOptions, ToolMode, stack};
pub use text_tools::{GuidancePlace, GuidanceStyle, TextPiece, TextTools, TextToolsOptions, split_text};
pub use think::{ThinkFilter, ThinkOptions, ThinkStart, ThinkSwitch};
