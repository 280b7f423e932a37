//! Sessions that a user lets others read, or approve in.

use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::nothing;
use crate::accounts::Right;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewShare {
    user: String,
    right: Right,
}

/// Who else may use the session.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let book = call.app.people.book()?;
    let with = book.share(&call.user.name, call.part("id")).into_iter().flat_map(|share| &share.with);
    let shown: Vec<_> = with.map(|(user, right)| json!({ "user": user, "right": right })).collect();
    call::json(StatusCode::OK, &json!({ "shares": shown }))
}

/// Lets another user in.
pub(crate) async fn share(call: Call) -> Result<Answer, Problem> {
    let NewShare { user, right } = call.json()?;
    if right == Right::Own {
        return Err(Problem::bad_request("a session is shared to `read` or to `approve`"));
    }
    if user == call.user.name {
        return Err(Problem::new(StatusCode::CONFLICT, "conflict", "the session is yours already"));
    }
    let (session, owner) = (call.part("id").to_owned(), call.user.name.clone());
    call.change(move |book| book.let_in(&owner, &session, &user, right)).await?;
    Ok(nothing())
}

/// Lets them in no longer.
pub(crate) async fn unshare(call: Call) -> Result<Answer, Problem> {
    let (session, user) = (call.part("id").to_owned(), call.part("user").to_owned());
    let unknown = || Problem::not_found(format!("the session is not shared with `{user}`"));
    // Who was let in knows of nobody else who was.
    if call.owner.id != call.user.id && user != call.user.name {
        return Err(unknown());
    }
    let owner = call.owner.name.clone();
    let book = call.app.people.book()?;
    if !book.share(&owner, &session).is_some_and(|share| share.with.contains_key(&user)) {
        return Err(unknown());
    }
    call.change(move |book| {
        book.take_back(&owner, &session, Some(&user));
        Ok(())
    })
    .await?;
    Ok(nothing())
}
