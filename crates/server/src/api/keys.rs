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

/// The longest key.
const LONGEST: usize = 8192;

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
    let found = Directory::new(&effective.settings).find(name);
    Ok(found.map_err(|unknown| Problem::not_found(unknown.message))?.name)
}

/// For which providers a key is kept.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    call.user.hub.refresh().await?;
    let providers = ring(&call)?.providers()?;
    let shown: Vec<_> = providers.into_iter().map(|name| json!({ "provider": name })).collect();
    call::json(StatusCode::OK, &json!({ "keys": shown }))
}

/// Keeps a key.
pub(crate) async fn set(call: Call) -> Result<Answer, Problem> {
    let NewKey { provider: name, key } = call.json()?;
    if key.is_empty() || key.len() > LONGEST || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Problem::bad_request("a key is one word of letters, digits and signs"));
    }
    let (ring, name) = (ring(&call)?, provider(&call, &name)?);
    changed(&call, || Ok(ring.set(&name, &key.as_str().into())?)).await?;
    Ok(nothing())
}

/// Changes kept keys, here and for every other node.
async fn changed<T>(call: &Call, change: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    call.user.hub.refresh().await?;
    let changed = change()?;
    call.user.hub.refresh().await?;
    Ok(changed)
}

/// Forgets a key.
pub(crate) async fn remove(call: Call) -> Result<Answer, Problem> {
    let name = provider(&call, call.part("provider"))?;
    let ring = ring(&call)?;
    match changed(&call, || Ok(ring.remove(&name)?)).await? {
        true => Ok(nothing()),
        false => Err(Problem::not_found(format!("no key is kept for {name}"))),
    }
}
