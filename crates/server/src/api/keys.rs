//! A user's own keys for providers. What is kept is never told.

use axum::response::Response;
use charla::Failure;
use charla::credentials::{KeyRing, Keys};
use charla::models::Directory;
use charla::trust::TrustDemand;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::nothing;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    provider: String,
    key: String,
}

fn ring(call: &Call) -> Result<KeyRing, Problem> {
    let ring = Keys::new(call.user.hub.charla().environment()).ring();
    ring.ok_or_else(|| Failure::config("there is no folder to keep keys in").into())
}

/// The name of a provider that there is.
fn provider(call: &Call, name: &str) -> Result<String, Problem> {
    let effective = call.user.hub.charla().settings(Vec::new(), &TrustDemand::default())?;
    Ok(Directory::new(&effective.settings).find(name)?.name)
}

/// For which providers a key is kept.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let providers = ring(&call)?.providers()?;
    let shown: Vec<_> = providers.into_iter().map(|name| json!({ "provider": name })).collect();
    call::json(StatusCode::OK, &json!({ "keys": shown }))
}

/// Keeps a key.
pub(crate) async fn set(call: Call) -> Result<Answer, Problem> {
    let NewKey { provider: name, key } = call.json()?;
    let key = key.trim();
    if key.is_empty() || key.contains(char::is_whitespace) || key.contains(char::is_control) {
        return Err(Problem::bad_request("a key is one word"));
    }
    ring(&call)?.set(&provider(&call, &name)?, &key.to_owned().into())?;
    Ok(nothing())
}

/// Forgets a key.
pub(crate) async fn remove(call: Call) -> Result<Answer, Problem> {
    let name = provider(&call, call.part("provider"))?;
    match ring(&call)?.remove(&name)? {
        true => Ok(nothing()),
        false => Err(Problem::not_found(format!("no key is kept for {name}"))),
    }
}
