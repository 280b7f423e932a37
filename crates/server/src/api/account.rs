//! Signing in and out, and who somebody is.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::done;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

#[derive(Deserialize)]
struct SignIn {
    code: String,
}

/// Signs a browser in.
pub(crate) async fn sign_in(call: Call) -> Result<Response, Problem> {
    let SignIn { code } = call.json()?;
    let cookie = call.app.access.sign_in(&code)?;
    with_cookie(me(call).await?, &cookie)
}

/// Signs the browser out.
pub(crate) async fn sign_out(call: Call) -> Result<Response, Problem> {
    let cookie = call.app.access.sign_out(&call.head.headers)?;
    with_cookie(StatusCode::NO_CONTENT.into_response(), &cookie)
}

fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, Problem> {
    let cookie = HeaderValue::from_str(cookie).map_err(|error| Problem::internal(error.to_string()))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// A one-time link for another browser.
pub(crate) async fn new_link(call: Call) -> Result<Answer, Problem> {
    let secret = call.app.access.new_link();
    done(StatusCode::CREATED, &json!({ "path": crate::page::sign_in_path(secret.text()) }))
}

/// Who asks.
pub(crate) async fn me(call: Call) -> Result<Response, Problem> {
    let environment = call.user.hub.charla().environment();
    call::json(
        StatusCode::OK,
        &json!({
            "name": call.user.name,
            "role": call.user.role,
            "workspace": environment.directory,
            "version": env!("CARGO_PKG_VERSION"),
        }),
    )
}
