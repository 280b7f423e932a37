//! The codec's behaviour beyond what the recorded corpus shows.

mod decode;
mod encode;
mod errors;
mod properties;

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionDeclaration, Origin, Part, Role, Tool};
use serde_json::json;

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks};

fn target_with(quirks: Quirks, model: ModelRow) -> Target {
    let endpoint = Endpoint {
        name: "anthropic".to_owned(),
        wire: WireKind::Anthropic,
        base_url: "http://127.0.0.1/v1".to_owned(),
        auth: AuthStyle::XApiKey,
        headers: Vec::new(),
        quirks,
    };
    Target::new(Arc::new(endpoint), ModelRow { id: "claude".to_owned(), ..model })
}

fn target() -> Target {
    target_with(Quirks::default(), ModelRow { images: true, ..ModelRow::default() })
}

fn thinker(thinking: ModelThinking) -> Target {
    target_with(Quirks::default(), ModelRow { thinking, ..ModelRow::default() })
}

/// No cache marks, for tests that look at messages as a whole.
fn plain() -> Target {
    let quirks = Quirks { no_cache_control: true, ..Quirks::default() };
    target_with(quirks, ModelRow { images: true, ..ModelRow::default() })
}

fn request(contents: Vec<Content>) -> GenerateRequest {
    GenerateRequest::new("claude", contents.into_iter().map(Arc::new).collect())
}

fn encode(request: &GenerateRequest, target: &Target) -> Value {
    let encoded = Anthropic.encode(request, target, Mode::Stream, &mut Fragments::default()).unwrap();
    serde_json::from_slice(&encoded.body).unwrap()
}

fn by(target: &Target, parts: Vec<Part>) -> Content {
    Content { origin: Some(target.origin.clone()), ..Content::new(Role::Model, parts) }
}

fn by_another(parts: Vec<Part>) -> Content {
    let origin = Origin { provider: "google".into(), wire: WireKind::Gemini, model: "gemini".into() };
    Content { origin: Some(Arc::new(origin)), ..Content::new(Role::Model, parts) }
}

fn call(id: &str, name: &str) -> Part {
    Part::function_call(FunctionCall::new(id, name, Default::default()))
}

fn tools(names: &[&str]) -> Vec<Tool> {
    let declare = |name: &&str| {
        let parameters_json_schema = json!({"type": "object", "properties": {}});
        Arc::new(FunctionDeclaration {
            name: (*name).to_owned(),
            parameters_json_schema,
            ..Default::default()
        })
    };
    vec![Tool::functions(names.iter().map(declare).collect())]
}
