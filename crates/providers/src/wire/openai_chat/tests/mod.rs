//! What the codec must do beyond the recorded traffic.

mod decode;
mod encode;
mod errors;
mod options;

use std::sync::Arc;

use charla_proto::{Assembler, Content};

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks};

fn target(quirks: Quirks) -> Target {
    let endpoint = Endpoint {
        name: "test".to_owned(),
        wire: WireKind::OpenaiChat,
        base_url: "http://127.0.0.1".to_owned(),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks,
    };
    let model = ModelRow {
        id: "model".to_owned(),
        images: true,
        thinking: ModelThinking::Levels,
        ..ModelRow::default()
    };
    Target::new(Arc::new(endpoint), model)
}

fn plain() -> Target {
    target(Quirks::default())
}

fn request(contents: impl IntoIterator<Item = Content>) -> GenerateRequest {
    GenerateRequest::new("model", contents.into_iter().map(Arc::new).collect())
}

fn encode(request: &GenerateRequest, target: &Target) -> Value {
    let body = OpenaiChat.encode(request, target, Mode::Unary, &mut Fragments::default()).unwrap().body;
    serde_json::from_slice(&body).unwrap()
}

/// A content that the target made.
fn made_by(target: &Target, content: Content) -> Content {
    Content { origin: Some(target.origin.clone()), ..content }
}

/// The answer that these events make, and the error it ended in.
fn stream(events: &[&str]) -> (GenerateResponse, Option<LlmError>) {
    let mut decoder = OpenaiChat.decoder(&plain());
    let mut out = Vec::new();
    let read = events.iter().try_for_each(|data| decoder.event(None, data, &mut out));
    let error = read.and_then(|()| decoder.end(&mut out)).err();
    let mut assembler = Assembler::new();
    out.into_iter().for_each(|chunk| assembler.push(chunk));
    (assembler.finish(), error)
}

fn document(document: Value) -> (GenerateResponse, Option<LlmError>) {
    let mut body = BodyDecoder::new(OpenaiChat.decoder(&plain()), 1 << 20);
    let mut out = Vec::new();
    let read = body.push(document.to_string().as_bytes(), &mut out);
    let error = read.and_then(|()| body.end(&mut out)).err();
    let mut assembler = Assembler::new();
    out.into_iter().for_each(|chunk| assembler.push(chunk));
    (assembler.finish(), error)
}
