//! Signing in at a provider of identities.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::account::with_cookie;
use crate::access::{Shown, unauthorized};
use crate::attempts::SignedIn;
use crate::call::Call;
use crate::oidc::{self, Begun, Oidc};
use crate::problem::Problem;

/// What a browser began, sealed. It comes back from another site, so `SameSite=Strict` would keep it away.
const COOKIE: &str = "charla-oidc";

fn provider(call: &Call) -> Result<&Oidc, Problem> {
    call.app.oidc.as_ref().ok_or_else(|| Problem::not_found("no provider of identities is used here"))
}

/// Where the provider sends the browser back to.
fn way_back(call: &Call) -> Result<String, Problem> {
    let origin = call.app.names.origin(&call.head.headers);
    let origin = origin.ok_or_else(|| Problem::bad_request("the request does not say where it was sent"))?;
    Ok(format!("{origin}{}/oidc/callback", crate::routes::BASE))
}

fn cookie(call: &Call, value: &str, seconds: u64) -> String {
    let secure = if call.app.names.is_secure() { "; Secure" } else { "" };
    let path = crate::routes::BASE;
    format!("{COOKIE}={value}; Path={path}/oidc; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

fn began(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

fn redirect(to: &str) -> Result<Response, Problem> {
    let to = HeaderValue::from_str(to).map_err(|error| Problem::internal(error.to_string()))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response())
}

/// Sends the browser to the provider.
pub(crate) async fn begin(call: Call) -> Result<Response, Problem> {
    let Begun { sealed, address } = provider(&call)?.begin(way_back(&call)?).await?;
    with_cookie(redirect(&address)?, &cookie(&call, &sealed, oidc::PATIENCE))
}

/// Takes the browser back, and signs in whoever the provider says it is.
pub(crate) async fn callback(call: Call) -> Result<Response, Problem> {
    let provider = provider(&call)?;
    let state = call.query("state").unwrap_or_default();
    let began = began(&call.head.headers).unwrap_or_default();
    let code = call.query("code").ok_or_else(|| unauthorized("the provider of identities has said no"))?;
    let identities = provider.finish(began, &state, &code).await?;
    let book = call.app.people.fresh_book().await?;
    let known = identities.into_iter().find_map(|identity| {
        let whose = book.by_identity(&identity).and_then(|name| book.whose(name))?;
        Some(Shown::Identity(whose, identity))
    });
    let known = known.ok_or_else(|| unauthorized("nobody with this identity has an account here"))?;
    let (name, signed_in) = call.app.access.sign_in(known).await?;
    let mut response = with_cookie(redirect("/")?, &signed_in)?;
    response.extensions_mut().insert(SignedIn(name));
    with_cookie(response, &cookie(&call, "", 0))
}
