//! Tools for models that have none: calls are written into the text and read out of it again.

mod dialect;
mod guidance;
mod incoming;
mod outgoing;
pub(super) mod scan;
mod stray;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use charla_proto::GenerateRequest;
use serde::{Deserialize, Serialize};

use super::{Layer, Reader};
use dialect::Declared;
pub use guidance::GuidanceStyle;
use incoming::Incoming;
use outgoing::Outgoing;
pub(super) use stray::StrayCalls;

/// Where the guidance goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuidancePlace {
    /// Behind the system instruction.
    #[default]
    System,
    /// In front of the first user content, for models that do not heed a system instruction.
    FirstUser,
}

/// How [`TextTools`] speaks to its model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextToolsOptions {
    /// How much is said about the tools.
    pub style: GuidanceStyle,
    /// Where it is said.
    pub place: GuidancePlace,
    /// Keep the words a model writes beside a call. Without, an answer is shown only when it is over, because
    /// only then is it known to have no calls.
    pub preserve_context: bool,
}

impl Default for TextToolsOptions {
    fn default() -> Self {
        Self { style: GuidanceStyle::default(), place: GuidancePlace::default(), preserve_context: true }
    }
}

/// The layer that lets any model use tools, on any wire.
///
/// What goes out has no tools: they are explained in words, earlier calls and results stand in the
/// conversation as text. What comes in is read as it comes: prose passes, calls are held back, and only calls
/// of tools the request declares count. A conversation may change between this layer and native tools at any
/// time, because both leave the same function calls and responses in it.
pub struct TextTools {
    options: TextToolsOptions,
    outgoing: Outgoing,
}

impl TextTools {
    /// Text tools for a model of this kind.
    pub fn new(options: TextToolsOptions) -> Self {
        Self { options, outgoing: Outgoing::default() }
    }
}

impl Layer for TextTools {
    fn outgoing(&self, request: &GenerateRequest) -> Option<GenerateRequest> {
        Some(self.outgoing.convert(request, &self.options))
    }

    fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
        let config = request.tool_config.clone().unwrap_or_default().function_calling_config;
        let declared = Declared::new(outgoing::offered(request, &config));
        let keep_prose = self.options.preserve_context || declared.is_empty();
        Some(Box::new(Incoming::new(declared, keep_prose)))
    }
}

/// Splits a whole text, given in these pieces, into what is shown and the names and arguments of the calls in
/// it, with the text they were written in. For tools that look at answers outside a conversation, and for
/// tests.
pub fn split_text<'a>(
    tools: &[Arc<charla_proto::FunctionDeclaration>],
    pieces: impl IntoIterator<Item = &'a str>,
) -> Vec<TextPiece> {
    let mut scanner = scan::Scanner::new(Declared::new(tools));
    let mut found = Vec::new();
    for piece in pieces {
        found.extend(scanner.push(piece));
    }
    found.extend(scanner.finish());
    found.into_iter().map(TextPiece::from).collect()
}

/// A piece of an answer, see [`split_text`].
#[derive(Clone, Debug, PartialEq)]
pub enum TextPiece {
    /// Prose.
    Text(String),
    /// Calls, and what the model wrote for them.
    Calls {
        /// The calls, without ids.
        calls: Vec<charla_proto::FunctionCall>,
        /// Their text, marks included.
        source: String,
    },
}

impl From<scan::Piece> for TextPiece {
    fn from(piece: scan::Piece) -> Self {
        match piece {
            scan::Piece::Text(text) => TextPiece::Text(text),
            scan::Piece::Calls { calls, source } => {
                let calls = calls.into_iter().map(|raw| {
                    let (args, invalid) = match raw.args {
                        Ok(args) => (args, None),
                        Err(invalid) => (Default::default(), Some(Box::new(invalid))),
                    };
                    charla_proto::FunctionCall { name: raw.name, args, invalid, ..Default::default() }
                });
                TextPiece::Calls { calls: calls.collect(), source }
            }
        }
    }
}
