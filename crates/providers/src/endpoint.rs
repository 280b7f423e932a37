//! Endpoints and models as rows of data.

use std::sync::Arc;

use charla_proto::{Origin, WireKind};
use serde::{Deserialize, Serialize};

mod quirks;

pub use quirks::{
    DocumentStyle, MaxTokensField, QuirkOverlay, QuirkRow, Quirks, ReasoningReplay, ThinkingStyle, ToolIds,
};

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
