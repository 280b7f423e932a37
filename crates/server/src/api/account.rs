//! Signing in and out, and who somebody is.

use std::time::Instant;

use axum::response::{IntoResponse, Response};
use charla::engine;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::{done, nothing, users};
use crate::access::Access;
use crate::accounts::{OWNER, now};
use crate::attempts::SignedIn;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum SignIn {
    Link { code: String },
    Password { name: String, password: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    old: String,
    new: String,
}

/// Signs a browser in.
pub(crate) async fn sign_in(call: Call) -> Result<Response, Problem> {
    let shown = match call.json()? {
        SignIn::Link { code } => Access::link(&code),
        SignIn::Password { name, password } => {
            must_not_guess(&call, &name)?;
            let shown = call.app.access.check_password(&name, password).await?;
            call.app.limits.names.give_back(&name);
            shown
        }
    };
    let (name, cookie) = call.app.access.sign_in(shown).await?;
    let mut response = call::json(StatusCode::OK, &told(&call, &name)?)?;
    response.extensions_mut().insert(SignedIn(name));
    with_cookie(response, &cookie)
}

/// Passwords of one account are not guessed quickly, wherever from.
fn must_not_guess(call: &Call, name: &str) -> Result<(), Problem> {
    match call.app.limits.names.take(name.to_owned(), Instant::now()) {
        true => Ok(()),
        false => Err(call::too_often()),
    }
}

/// Signs the browser out.
pub(crate) async fn sign_out(call: Call) -> Result<Response, Problem> {
    let cookie = call.app.access.sign_out(&call.head.headers).await?;
    with_cookie(StatusCode::NO_CONTENT.into_response(), &cookie)
}

pub(super) fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, Problem> {
    let cookie = HeaderValue::from_str(cookie).map_err(|error| Problem::internal(error.to_string()))?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Changes the caller's own password.
pub(crate) async fn set_password(call: Call) -> Result<Answer, Problem> {
    let NewPassword { old, new } = call.json()?;
    let name = call.user.name.clone();
    if name == OWNER {
        let why = "this machine's own user has no password here";
        return Err(Problem::new(StatusCode::CONFLICT, "no_password", why));
    }
    must_not_guess(&call, &name)?;
    // Who is signed in and does not know the password is not unauthorized: they are refused.
    let checked = call.app.access.check_password(&name, old).await;
    checked.map_err(|_| Problem::forbidden("the old password is wrong"))?;
    let password = users::hashed(Some(new)).await?;
    call.change(move |book| {
        book.account_mut(&name)?.password.clone_from(&password);
        book.sign_out(&name);
        Ok(())
    })
    .await?;
    Ok(nothing())
}

/// A one-time link for another browser.
pub(crate) async fn new_link(call: Call) -> Result<Answer, Problem> {
    let (secret, keep) = call.app.access.new_link(call.user.whose(), call.credential.as_ref());
    call.change(keep).await?;
    done(StatusCode::CREATED, &json!({ "path": crate::page::sign_in_path(secret.text()) }))
}

/// Who asks.
pub(crate) async fn me(call: Call) -> Result<Response, Problem> {
    call::json(StatusCode::OK, &told(&call, &call.user.name)?)
}

/// What somebody is told about themselves.
fn told(call: &Call, name: &str) -> Result<serde_json::Value, Problem> {
    let book = call.app.people.book()?;
    let known = call.app.people.find(&book, name);
    let (user, role) = known.ok_or_else(|| Problem::not_found("the account is gone"))?;
    let mut told = json!({
        "name": user.name,
        "role": role,
        "workspace": user.hub.charla().environment().directory,
        "version": env!("CARGO_PKG_VERSION"),
        // It hands on what tools return, to the letter: its answers are no Markdown.
        "plain_model": format!("{}/{}", engine::PROVIDER, engine::WEIGHTS_NAME),
    });
    if let Some(account) = book.accounts.get(name) {
        let spent = account.spent.on(now());
        told["budget"] = json!(account.budget);
        told["spent_today"] = json!({ "tokens": spent.tokens, "usd": spent.usd });
    }
    Ok(told)
}
