//! How the built-in model is spoken to: in the form that its adapter was trained on.
//!
//! `model/README.md` is the contract. The model reads a conversation as plain text, with one call a message, and writes
//! `<result/>` where a tool's result belongs. What it cannot know is checked here: a call is mended where only one thing can
//! be meant, and words that nobody gave it are not passed on.

mod conversation;
mod grounds;
mod mending;
mod place;
mod prompt;
mod reading;
mod results;

use std::path::PathBuf;

use charla_proto::{FunctionCallingMode, GenerateRequest};
use charla_providers::layers::{Layer, Reader};
use charla_providers::tokens;
use serde_json::json;

pub use prompt::{TOOLS, system};

use conversation::Turn;
use reading::AnswerReader;

/// No answer that was trained is longer.
const MOST_OUTPUT: u32 = 160;

/// The layer over the engine's generator that makes requests as they were trained and understands the answers.
#[derive(Clone, Debug)]
pub struct SmallModel {
    /// The folder that is worked in.
    folder: PathBuf,
}

impl SmallModel {
    /// For work in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The tokens of what is sent of a request: of a long conversation that is little.
    pub fn tokens(&self, request: &GenerateRequest) -> u64 {
        tokens::estimate(&sent(request))
    }
}

impl Layer for SmallModel {
    fn outgoing(&self, request: &GenerateRequest) -> Option<GenerateRequest> {
        Some(sent(request))
    }

    fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
        if forbids_calls(request) {
            return None;
        }
        let turn = Turn::all(&request.contents).pop().unwrap_or_default();
        let (offers, folder) = (request.function_declarations().next().is_some(), self.folder.clone());
        Some(Box::new(AnswerReader { turn, folder, offers, text: String::new(), passed: 0 }))
    }
}

fn sent(request: &GenerateRequest) -> GenerateRequest {
    let mut sent = GenerateRequest {
        tools: Vec::new(),
        tool_config: None,
        temperature: request.temperature.or(Some(0.0)),
        ..request.clone()
    };
    if forbids_calls(request) {
        // It asks for a summary, which the adapter was not trained for.
        sent.extra.insert("lora", json!([{"id": 0, "scale": 0.0}]));
        return sent;
    }
    sent.contents = prompt::contents(&Turn::all(&request.contents));
    sent.max_output_tokens = request.max_output_tokens.or(Some(MOST_OUTPUT));
    sent.extra.insert("grammar", json!(prompt::grammar()));
    sent
}

fn forbids_calls(request: &GenerateRequest) -> bool {
    let config = request.tool_config.as_ref().map(|config| &config.function_calling_config);
    config.is_some_and(|config| config.mode == FunctionCallingMode::None)
}

#[cfg(test)]
mod tests;
