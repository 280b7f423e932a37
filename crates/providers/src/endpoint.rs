//! Endpoints and models as rows of data.

use std::sync::Arc;

use charla_proto::{Origin, WireKind};
use serde::{Deserialize, Serialize};

/// A server that speaks one of the wires, and what is peculiar about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Its name in `provider/model`.
    pub name: String,
    /// The wire it speaks.
    pub wire: WireKind,
    /// Where it is, up to the part that the wire's paths are added to (`https://api.openai.com/v1`,
    /// `https://generativelanguage.googleapis.com/v1beta`, `https://api.anthropic.com/v1`).
    pub base_url: String,
    /// How the key is sent.
    pub auth: AuthStyle,
    /// Headers added to every request.
    pub headers: Vec<(String, String)>,
    /// What it does differently from its wire.
    pub quirks: Quirks,
}

/// How a key is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthStyle {
    /// `Authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// `x-goog-api-key: KEY`.
    GoogApiKey,
    /// `x-api-key: KEY`.
    XApiKey,
    /// `api-key: KEY` (Azure).
    ApiKey,
    /// No key.
    None,
}

/// What a server does differently from its wire. Every field's default is the wire's own behaviour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Quirks {
    /// The field for the output limit (OpenAI Chat).
    pub max_tokens_field: MaxTokensField,
    /// When thoughts go back in `reasoning_content` (OpenAI Chat).
    pub reasoning_replay: ReasoningReplay,
    /// How thinking is asked for (OpenAI Chat).
    pub thinking_style: ThinkingStyle,
    /// Tool-call ids it accepts.
    pub tool_ids: ToolIds,
    /// It refuses `stream_options.include_usage` (OpenAI Chat).
    pub no_stream_usage: bool,
    /// How documents and videos are sent (OpenAI Chat).
    pub documents: DocumentStyle,
    /// It refuses media parts: they become a note in words.
    pub no_media: bool,
    /// It refuses a system message: instructions go in front of the first user message.
    pub no_system: bool,
    /// It refuses the `tools` field.
    pub no_tools: bool,
    /// It answers client mistakes with status 500 (llama.cpp): such an answer is not retried.
    pub client_errors_as_500: bool,
    /// It has no token counting endpoint although its wire has one.
    pub no_count_tokens: bool,
    /// It marks no cache breakpoints (Anthropic).
    pub no_cache_control: bool,
}

/// See [`Quirks::max_tokens_field`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What nearly every compatible server takes.
    #[default]
    MaxTokens,
    /// What OpenAI's own newer models want.
    MaxCompletionTokens,
}

/// See [`Quirks::reasoning_replay`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// Never: the server refuses or ignores it.
    #[default]
    Never,
    /// On contents of the current tool loop (after the last user message that is not a tool result).
    ToolLoop,
    /// On every message that calls tools: the server refuses such a message without thoughts (DeepSeek, Kimi).
    /// Where there are none, because another model made the call, words that say so stand in for them.
    ToolCalls,
    /// Always.
    Always,
}

/// See [`Quirks::thinking_style`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// Nothing is sent.
    #[default]
    None,
    /// `reasoning_effort: low|medium|high` (OpenAI and many others).
    ReasoningEffort,
    /// `reasoning: {effort|max_tokens|enabled}` (OpenRouter).
    ReasoningObject,
    /// `enable_thinking: bool` and `thinking_budget` (Qwen/DashScope).
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking: bool}` (vLLM, llama.cpp).
    ChatTemplateKwargs,
    /// `thinking: {type: enabled|disabled}` (DeepSeek, Z.ai).
    ThinkingType,
}

/// See [`Quirks::tool_ids`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolIds {
    /// Any text.
    #[default]
    Any,
    /// Exactly nine letters or digits (Mistral).
    Alnum9,
}

/// See [`Quirks::documents`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStyle {
    /// Carried documents as `file`; documents and audio by address, and videos, become a note in words
    /// (OpenAI).
    #[default]
    File,
    /// `file` by address too, `video_url` and `audio_url` (OpenRouter, vLLM, Qwen).
    FileUrl,
    /// `document_url` (Mistral).
    DocumentUrl,
}

/// What is known of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRow {
    /// Its name as its provider knows it.
    pub id: String,
    /// Tokens it can read and write together; `None` when unknown.
    pub context_window: Option<u32>,
    /// Most tokens it can write.
    pub max_output: Option<u32>,
    /// It refuses temperature and its kin.
    pub no_sampling: bool,
    /// What kind of thinking switch it has.
    pub thinking: ModelThinking,
    /// It sees images.
    pub images: bool,
    /// Function responses may carry media parts (Gemini 3 and later); elsewhere media stands beside.
    pub media_in_function_response: bool,
    /// Price in US dollars for a million tokens, where known: input, output, cached input.
    pub price: Option<[f64; 3]>,
}

/// What kind of thinking switch a model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelThinking {
    /// None: no thinking field is sent.
    #[default]
    None,
    /// A budget in tokens (Gemini 2.5, Claude up to 4.5).
    Budget,
    /// Levels (Gemini 3, OpenAI).
    Levels,
    /// The model decides, an effort level may be named (newer Claude).
    Adaptive,
}

/// An endpoint and one of its models: what a codec encodes for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The server.
    pub endpoint: Arc<Endpoint>,
    /// The model.
    pub model: ModelRow,
    /// The origin that answers of this target carry.
    pub origin: Arc<Origin>,
}

impl Target {
    /// The target of a model at an endpoint.
    pub fn new(endpoint: Arc<Endpoint>, model: ModelRow) -> Self {
        let origin = Arc::new(Origin {
            provider: endpoint.name.clone(),
            wire: endpoint.wire,
            model: model.id.clone(),
        });
        Self { endpoint, model, origin }
    }

    /// `provider/model`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.endpoint.name, self.model.id)
    }

    /// True when opaque data of this content may go back to this target.
    pub fn made(&self, content: &charla_proto::Content) -> bool {
        content.origin.as_deref() == Some(&*self.origin)
    }
}
