//! Tokens of a user's programs.

use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::{done, nothing};
use crate::access::Secret;
use crate::accounts::{Token, now};
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

/// The longest label, and the most tokens of one user.
const LABEL: usize = 100;
const MOST: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    label: String,
}

/// The user's tokens. Their secrets are nowhere.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let book = call.app.people.book()?;
    let own = book.tokens.values().filter(|token| token.whose.user == call.user.name);
    let shown = own.map(|token| json!({ "id": token.id, "label": token.label, "made": token.made }));
    call::json(StatusCode::OK, &json!({ "tokens": shown.collect::<Vec<_>>() }))
}

/// Makes a token.
pub(crate) async fn create(call: Call) -> Result<Answer, Problem> {
    let NewToken { label } = call.json()?;
    if label.trim().is_empty() || label.chars().count() > LABEL {
        return Err(Problem::bad_request(format!("a label has 1 to {LABEL} characters")));
    }
    let whose = call.user.whose();
    let owned = |token: &&Token| token.whose.user == whose.user;
    if call.app.people.book()?.tokens.values().filter(owned).count() >= MOST {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "too_many",
            format!("nobody has more than {MOST} tokens"),
        )
        .with_hint("take one back that is not used any more"));
    }
    let (secret, id) = (Secret::new(), charla::new_id());
    let hash = secret.digest().text();
    let token = Token { id: id.clone(), whose, label, made: now() };
    call.change(move |book| {
        book.tokens.insert(hash.clone(), token.clone());
        Ok(())
    })
    .await?;
    done(StatusCode::CREATED, &json!({ "id": id, "token": secret.text() }))
}

/// Takes a token back.
pub(crate) async fn revoke(call: Call) -> Result<Answer, Problem> {
    let (id, user) = (call.part("token").to_owned(), call.user.name.clone());
    let is_it = move |token: &Token| token.id == id && token.whose.user == user;
    if !call.app.people.book()?.tokens.values().any(&is_it) {
        return Err(Problem::not_found("there is no such token of yours"));
    }
    call.change(move |book| {
        book.revoke(&is_it);
        Ok(())
    })
    .await?;
    Ok(nothing())
}
