mod decoding;
mod encoding;
mod errors;

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, GenerateRequest, Part, Role, WireKind};
use serde_json::{Map, Value, json};

use super::Gemini;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks, Target};
use crate::wire::{Fragments, Mode, Wire};

fn target(model: &str, thinking: ModelThinking) -> Target {
    target_with(model, thinking, Quirks::default())
}

fn target_with(model: &str, thinking: ModelThinking, quirks: Quirks) -> Target {
    let endpoint = Endpoint {
        name: "gemini".to_owned(),
        wire: WireKind::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta".to_owned(),
        auth: AuthStyle::GoogApiKey,
        headers: Vec::new(),
        quirks,
    };
    let media_in_function_response = thinking == ModelThinking::Levels;
    let model =
        ModelRow { id: model.to_owned(), thinking, media_in_function_response, ..ModelRow::default() };
    Target::new(Arc::new(endpoint), model)
}

fn vertex() -> Target {
    let mut target = target("gemini-2.5-flash", ModelThinking::Budget);
    let mut endpoint = (*target.endpoint).clone();
    endpoint.base_url =
        "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google".to_owned();
    target.endpoint = Arc::new(endpoint);
    target
}

fn body(request: &GenerateRequest, target: &Target) -> Value {
    let encoded = Gemini.encode(request, target, Mode::Stream, &mut Fragments::default()).unwrap();
    serde_json::from_slice(&encoded.body).unwrap()
}

fn call(id: &str, name: &str) -> FunctionCall {
    FunctionCall::new(id, name, Map::from_iter([("path".to_owned(), json!("a.txt"))]))
}

/// A model content of `target`'s making.
fn made(target: &Target, parts: Vec<Part>) -> Content {
    Content { origin: Some(target.origin.clone()), ..Content::new(Role::Model, parts) }
}

fn request(contents: Vec<Content>) -> GenerateRequest {
    GenerateRequest::new("m", contents.into_iter().map(Arc::new).collect())
}
