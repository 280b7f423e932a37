//! Asks a server which models it has.

use bytes::Bytes;
use charla_proto::{LlmError, LlmErrorKind, WireKind};
use http::Method;
use secrecy::SecretString;
use serde_json::Value;

use super::address;
use crate::endpoint::{Endpoint, ModelRow, Target};
use crate::net::Client;
use crate::wire::{self, Mode, WireRequest};

/// Most of a list that is read.
const LIST_LIMIT: usize = 8 * 1024 * 1024;

/// The ids of the models a server offers, in its own order. Every wire has such a list; what is no list
/// of models is an error, so an answer also proves that a server of this kind is there.
pub async fn list_models(
    client: &Client,
    endpoint: &Endpoint,
    key: Option<&SecretString>,
) -> Result<Vec<String>, LlmError> {
    let headers = match endpoint.wire {
        WireKind::Anthropic => vec![("anthropic-version", "2023-06-01".to_owned())],
        _ => Vec::new(),
    };
    let request = WireRequest { path: "/models".to_owned(), headers, body: Bytes::new() };
    let url = address::url(&endpoint.base_url, &request.path)?;
    let headers = address::headers(endpoint, &request, key, Mode::Unary)?;
    let mut reply = client.send(Method::GET, url, headers, request.body).await?;
    let body = reply.body.read(LIST_LIMIT).await?;
    if !(200..300).contains(&reply.status) {
        let target = Target::new(endpoint.clone().into(), ModelRow::default());
        return Err(wire::of(endpoint.wire).error(&target, reply.status, &reply.headers, &body));
    }
    ids(&body).ok_or_else(|| {
        let shown = address::shown(&endpoint.base_url);
        LlmError::new(LlmErrorKind::Protocol, format!("{shown} answers, but not with a list of models"))
    })
}

/// `data[].id` as OpenAI and Anthropic write it, `models[].name` as Gemini does.
fn ids(body: &[u8]) -> Option<Vec<String>> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let (list, key) = match document.get("data") {
        Some(list) => (list, "id"),
        None => (document.get("models")?, "name"),
    };
    // A server without a model may say null.
    let models = list.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let name = |model: &Value| {
        let name = model.get(key)?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    Some(models.filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn the_lists_of_all_wires_are_read() {
        let openai = br#"{"object":"list","data":[{"id":"qwen3:4b"},{"id":"llama3"}]}"#;
        assert_eq!(ids(openai), Some(vec!["qwen3:4b".to_owned(), "llama3".to_owned()]));
        let gemini = br#"{"models":[{"name":"models/gemini-2.5-pro"}]}"#;
        assert_eq!(ids(gemini), Some(vec!["gemini-2.5-pro".to_owned()]));
        assert_eq!(ids(br#"{"object":"list","data":null}"#), Some(Vec::new()));
    }

    #[test]
    fn another_program_on_the_port_is_no_model_server() {
        assert_eq!(ids(b"<html></html>"), None);
        assert_eq!(ids(br#"{"status":"ok"}"#), None);
    }
}
