//! What is asked of a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Content, Extra, WireKind};

/// One request to a model.
///
/// Contents are shared, not copied: a session keeps its history as `Arc<Content>` and every step's
/// request points at the same values, so a codec may remember what it has encoded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateRequest {
    /// The model's name as its provider knows it.
    pub model: String,
    /// The conversation, oldest first.
    pub contents: Vec<Arc<Content>>,
    /// Standing instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Arc<Content>>,
    /// Tools the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Whether and what it must call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Top-k sampling, where the wire has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Most tokens to produce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How many answers; absent means one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_count: Option<u32>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// How much to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// `application/json` for a JSON answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mime_type: Option<String>,
    /// The answer's JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_json_schema: Option<Arc<Value>>,
    /// Most times the request may be sent, tries by other models included; unset leaves it to the settings.
    /// For requests whose failure the caller can live with: it must not cost as much as an answer.
    #[serde(skip)]
    pub max_attempts: Option<u32>,
    /// Fields for the wire's body as they are (settings' `extraBody`).
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl GenerateRequest {
    /// A request of `model` with these contents, everything else unset.
    pub fn new(model: impl Into<String>, contents: Vec<Arc<Content>>) -> Self {
        Self { model: model.into(), contents, ..Self::default() }
    }

    /// The declared functions of all tools.
    pub fn function_declarations(&self) -> impl Iterator<Item = &Arc<FunctionDeclaration>> {
        self.tools.iter().flat_map(|tool| tool.function_declarations.iter())
    }
}

/// A group of functions, or one tool that runs at the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Functions we run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub function_declarations: Vec<Arc<FunctionDeclaration>>,
    /// A tool the provider runs (search, code execution), in its own wire's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeTool>,
}

impl Tool {
    /// A tool of these functions.
    pub fn functions(declarations: Vec<Arc<FunctionDeclaration>>) -> Self {
        Self { function_declarations: declarations, native: None }
    }
}

/// A tool the provider runs. Sent only on its wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeTool {
    /// The wire whose form `value` has.
    pub wire: WireKind,
    /// The tool object of that wire.
    pub value: Value,
}

/// A function the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionDeclaration {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments; null means none.
    #[serde(default, alias = "parameters", skip_serializing_if = "Value::is_null")]
    pub parameters_json_schema: Value,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Whether and what the model must call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolConfig {
    /// The only field of it in use.
    #[serde(default)]
    pub function_calling_config: FunctionCallingConfig,
}

/// See [`ToolConfig`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCallingConfig {
    /// Free, forced or off.
    #[serde(default)]
    pub mode: FunctionCallingMode,
    /// With [`FunctionCallingMode::Any`]: only these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_function_names: Vec<String>,
}

/// Whether the model must call a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FunctionCallingMode {
    /// The model decides whether it calls.
    #[default]
    Auto,
    /// It must call one.
    Any,
    /// It must not call any.
    None,
}

/// How much to think, and whether to show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thinking {
    /// Ask for thoughts in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_thoughts: Option<bool>,
    /// Tokens to think with; 0 is off, -1 leaves it to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<i64>,
    /// A level, for models that take levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
}

impl Thinking {
    /// True when it says how much to think, rather than only whether to show it.
    pub fn is_wish(&self) -> bool {
        self.thinking_budget.is_some() || self.thinking_level.is_some()
    }

    /// True when no thinking is wanted.
    pub fn is_off(&self) -> bool {
        match self.thinking_level {
            Some(level) => level == ThinkingLevel::Minimal,
            None => self.thinking_budget == Some(0),
        }
    }
}

/// A level of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// As little as the model can.
    #[serde(alias = "MINIMAL", alias = "none")]
    Minimal,
    /// Little: quick and cheap.
    #[serde(alias = "LOW")]
    Low,
    /// Between low and high.
    #[serde(alias = "MEDIUM")]
    Medium,
    /// Much: slow and thorough.
    #[serde(alias = "HIGH", alias = "xhigh", alias = "max")]
    High,
}

/// Texts to turn into vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbedRequest {
    /// The embedding model.
    pub model: String,
    /// The texts, one vector each.
    pub texts: Vec<String>,
    /// Wanted vector length, where the model can cut it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_dimensionality: Option<u32>,
}
