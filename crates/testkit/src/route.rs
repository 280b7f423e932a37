//! Which wire, operation and model a path means.

use charla_proto::WireKind;

use crate::http::Request;

/// How an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One document.
    Unary,
    /// An event stream.
    Events,
    /// One JSON array, element by element (Gemini without `alt=sse`).
    Array,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Generate(Form),
    CountTokens,
    Embed,
    EmbedBatch,
    ListModels,
}

/// Where a path leads. `model` is only there when the path names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub wire: WireKind,
    pub operation: Operation,
    pub model: Option<String>,
}

impl Route {
    /// The route of a request; `None` for a path no vendor has.
    ///
    /// Whether an OpenAI or Anthropic body asks for a stream stands in the body, so `streaming` is told.
    pub(crate) fn of(request: &Request, streaming: bool) -> Option<Self> {
        let path = request.path.as_str();
        if request.method == "GET" {
            return Self::list(request);
        }
        if let Some((model, method)) = gemini_model(path) {
            return Self::gemini(request, model, method);
        }
        let form = if streaming { Form::Events } else { Form::Unary };
        let path = path.strip_prefix("/v1").unwrap_or(path);
        let (wire, operation) = match path {
            "/chat/completions" => (WireKind::OpenaiChat, Operation::Generate(form)),
            "/embeddings" => (WireKind::OpenaiChat, Operation::Embed),
            "/responses" => (WireKind::OpenaiResponses, Operation::Generate(form)),
            "/messages" => (WireKind::Anthropic, Operation::Generate(form)),
            "/messages/count_tokens" => (WireKind::Anthropic, Operation::CountTokens),
            _ => return None,
        };
        Some(Self { wire, operation, model: None })
    }

    fn list(request: &Request) -> Option<Self> {
        let has = |name: &str| request.headers.get(name).is_some();
        let wire = match request.path.as_str() {
            "/v1beta/models" => WireKind::Gemini,
            // Three vendors have this path; the way the key is sent tells them apart.
            "/v1/models" | "/models" if has("x-goog-api-key") => WireKind::Gemini,
            "/v1/models" | "/models" if has("anthropic-version") => WireKind::Anthropic,
            "/v1/models" | "/models" => WireKind::OpenaiChat,
            _ => return None,
        };
        Some(Self { wire, operation: Operation::ListModels, model: None })
    }

    fn gemini(request: &Request, model: &str, method: &str) -> Option<Self> {
        let events = request.query.iter().any(|(name, value)| name == "alt" && value == "sse");
        let operation = match method {
            "generateContent" => Operation::Generate(Form::Unary),
            "streamGenerateContent" if events => Operation::Generate(Form::Events),
            "streamGenerateContent" => Operation::Generate(Form::Array),
            "countTokens" => Operation::CountTokens,
            "embedContent" => Operation::Embed,
            "batchEmbedContents" => Operation::EmbedBatch,
            _ => return None,
        };
        Some(Self { wire: WireKind::Gemini, operation, model: Some(model.to_owned()) })
    }
}

/// Model and method of `/v1beta/models/M:method` (the version may be missing), or of Vertex AI's
/// `/v1/projects/P/locations/L/publishers/google/models/M:method`.
fn gemini_model(path: &str) -> Option<(&str, &str)> {
    let version = ["/v1beta1", "/v1beta", "/v1"].into_iter().find_map(|version| path.strip_prefix(version));
    let path = version.unwrap_or(path);
    let rest = path.strip_prefix("/models/").or_else(|| {
        let (prefix, rest) = path.split_once("/publishers/google/models/")?;
        let express = prefix.is_empty();
        (express || prefix.starts_with("/projects/") && prefix.contains("/locations/")).then_some(rest)
    })?;
    rest.rsplit_once(':').filter(|(model, _)| !model.is_empty() && !model.contains('/'))
}
