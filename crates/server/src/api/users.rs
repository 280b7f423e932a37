//! Accounts, for those who look after them.

use std::path::{Path, PathBuf};

use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{done, nothing};
use crate::accounts::{Account, Book, Budget, Password, Reserved, Role, Spending, workspace};
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
    role: Role,
    workspace: PathBuf,
    password: Option<String>,
    identity: Option<String>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    budget: Budget,
}

/// What is left out stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserChange {
    role: Option<Role>,
    workspace: Option<PathBuf>,
    password: Option<String>,
    identity: Option<String>,
    network: Option<bool>,
    budget: Option<Budget>,
}

fn shown_in(book: &Book, name: &str) -> Result<Value, Problem> {
    let mut shown = book.account(name)?.shown(name);
    shown["reaches"] = json!(book.reached_from(name));
    Ok(shown)
}

/// All accounts.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let book = call.app.people.book()?;
    let users: Vec<Value> =
        book.accounts.keys().map(|name| shown_in(&book, name)).collect::<Result<_, _>>()?;
    call::json(StatusCode::OK, &json!({ "users": users }))
}

/// The hash of a password; making it takes a while.
pub(super) async fn hashed(password: Option<String>) -> Result<Option<Password>, Problem> {
    let Some(password) = password else { return Ok(None) };
    let made = tokio::task::spawn_blocking(move || Password::new(&password)).await;
    let made = made.map_err(|_| Problem::internal("the password could not be kept"))?;
    made.map(Some).map_err(|weak| Problem::bad_request(weak.to_string()))
}

/// A folder that whoever asks may give: this machine's own user nearly any, others those that were set aside for it.
fn given(call: &Call, folder: &Path) -> Result<PathBuf, Problem> {
    if !folder.is_absolute() {
        return Err(Problem::bad_request(format!("{} is no whole path", folder.display())));
    }
    let people = &call.app.people;
    let home = people.owner.hub.charla().environment().charla_home().unwrap_or_default();
    let given = workspace(folder, &home)?;
    let is_set_aside = || people.workspaces().is_some_and(|root| given != root && given.starts_with(root));
    match call.user.id == people.owner.id || is_set_aside() {
        true => Ok(given),
        false => {
            let hint = match people.workspaces() {
                Some(root) => format!("give a folder in {}", root.display()),
                None => "whoever runs the server sets a folder aside for workspaces, or does this themselves"
                    .to_owned(),
            };
            Err(Problem::forbidden("this folder is not yours to give").with_hint(hint))
        }
    }
}

/// What somebody may spend in a day, if it is an amount.
fn allowance(budget: Budget) -> Result<Budget, Problem> {
    match budget.usd.is_some_and(|usd| !(usd.is_finite() && usd >= 0.0)) {
        // Nothing is nothing, whichever its sign.
        false => Ok(Budget { usd: budget.usd.map(f64::abs), ..budget }),
        true => Err(Problem::bad_request("a budget is nothing or more: `usd` is less")),
    }
}

/// Adds an account.
pub(crate) async fn create(call: Call) -> Result<Answer, Problem> {
    let new: NewUser = call.json()?;
    if new.network {
        call.app.access.must_allow_network()?;
    }
    let account = Account {
        id: String::new(),
        role: new.role,
        password: hashed(new.password).await?,
        identity: new.identity,
        workspace: given(&call, &new.workspace)?,
        network: new.network,
        budget: allowance(new.budget)?,
        spent: Spending::default(),
        reserved: Reserved::default(),
    };
    let name = new.name.clone();
    let book = call.change(move |book| book.add(&name, account.clone())).await?;
    done(StatusCode::CREATED, &shown_in(&book, &new.name)?)
}

/// Changes an account. Another password signs every browser of the user out; what runs ends for one who may only look from now on.
pub(crate) async fn change(call: Call) -> Result<Answer, Problem> {
    let change: UserChange = call.json()?;
    let name = call.part("user").to_owned();
    if change.network == Some(true) {
        call.app.access.must_allow_network()?;
    }
    let folder = change.workspace.as_deref().map(|folder| given(&call, folder)).transpose()?;
    let budget = change.budget.map(allowance).transpose()?;
    let password = hashed(change.password).await?;
    let who = name.clone();
    let changed = call.change(move |book| {
        if let Some(identity) = &change.identity {
            book.must_be_free(identity, &who)?;
        }
        if password.is_some() {
            book.sign_out(&who);
        }
        let account = book.account_mut(&who)?;
        account.role = change.role.unwrap_or(account.role);
        account.network = change.network.unwrap_or(account.network);
        account.budget = budget.unwrap_or(account.budget);
        account.workspace = folder.clone().unwrap_or_else(|| account.workspace.clone());
        account.identity = change.identity.clone().or_else(|| account.identity.take());
        account.password = password.clone().or_else(|| account.password.take());
        Ok(())
    });
    let book = changed.await?;
    call.app.people.end_denied();
    done(StatusCode::OK, &shown_in(&book, &name)?)
}

/// Removes an account, and ends what runs for it. What its user kept stays in the server's folder.
pub(crate) async fn remove(call: Call) -> Result<Answer, Problem> {
    let name = call.part("user").to_owned();
    call.change(move |book| book.remove(&name)).await?;
    call.app.people.end_denied();
    Ok(nothing())
}
