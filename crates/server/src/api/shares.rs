//! Sessions that a user lets others read, or approve in.

use std::collections::BTreeMap;

use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::nothing;
use crate::accounts::{OWNER, Right, Share};
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
    let with = book.shares.get(call.part("id")).map(|share| share.with.clone()).unwrap_or_default();
    let shown: Vec<_> = with.iter().map(|(user, right)| json!({ "user": user, "right": right })).collect();
    call::json(StatusCode::OK, &json!({ "shares": shown }))
}

/// Lets another user in.
pub(crate) async fn share(call: Call) -> Result<Answer, Problem> {
    let NewShare { user, right } = call.json()?;
    if right == Right::Own {
        return Err(Problem::bad_request("a session is shared to `read` or to `approve`"));
    }
    if user == call.user.name {
        return Err(Problem::bad_request("the session is yours already"));
    }
    let (session, owner) = (call.part("id").to_owned(), call.user.name.clone());
    call.app
        .people
        .change(move |book| {
            if user != OWNER {
                book.account(&user)?;
            }
            let share = book.shares.entry(session).or_insert_with(|| Share { owner, with: BTreeMap::new() });
            share.with.insert(user, right);
            Ok(())
        })
        .await?;
    Ok(nothing())
}

/// Lets them in no longer.
pub(crate) async fn unshare(call: Call) -> Result<Answer, Problem> {
    let (session, user) = (call.part("id").to_owned(), call.part("user").to_owned());
    let book = call.app.people.book()?;
    if !book.shares.get(&session).is_some_and(|share| share.with.contains_key(&user)) {
        return Err(Problem::not_found(format!("the session is not shared with `{user}`")));
    }
    call.app
        .people
        .change(move |book| {
            if let Some(share) = book.shares.get_mut(&session) {
                share.with.remove(&user);
            }
            book.shares.retain(|_, share| !share.with.is_empty());
            Ok(())
        })
        .await?;
    Ok(nothing())
}
