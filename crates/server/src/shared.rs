//! What others have shared with a user, beside what is their own.

use std::collections::HashMap;
use std::sync::Arc;

use charla::session::SessionError;

use crate::accounts::{Book, Right};
use crate::app::App;
use crate::overview::{Overview, Shared};
use crate::people::User;
use crate::problem::Problem;

/// The sessions of a user and those that were shared with them, and the questions that they may answer.
pub(crate) async fn everything(app: &App, user: &User) -> Result<Overview, Problem> {
    let own = user.lookout.look().await?;
    let shared = shared_with(app, user).await?;
    Ok(together(&own, &shared))
}

/// The user's own and what was shared with them; the latest sessions first.
pub(crate) fn together(own: &Overview, shared: &Overview) -> Overview {
    let mut all = own.clone();
    all.sessions.extend(shared.sessions.iter().cloned());
    all.approvals.extend(shared.approvals.iter().cloned());
    if !shared.sessions.is_empty() {
        all.sessions.sort_by_key(|entry| std::cmp::Reverse(entry.summary.modified));
    }
    all
}

/// What others have shared with this user.
pub(crate) async fn shared_with(app: &App, user: &User) -> Result<Overview, Problem> {
    let book = app.people.book()?;
    let mut all = Overview::default();
    for (owner, sessions) in by_owner(&book, &user.name) {
        let Some((owner, _)) = app.people.find(&book, owner) else { continue };
        add(&mut all, &owner, &sessions).await?;
    }
    Ok(all)
}

type Rights<'b> = HashMap<&'b str, Right>;

fn by_owner<'b>(book: &'b Book, name: &'b str) -> HashMap<&'b str, Rights<'b>> {
    let mut owners: HashMap<&str, Rights> = HashMap::new();
    for (session, owner, right) in book.shares_with(name) {
        owners.entry(owner).or_default().insert(session, right);
    }
    owners
}

async fn add(all: &mut Overview, owner: &Arc<User>, rights: &Rights<'_>) -> Result<(), SessionError> {
    let theirs = owner.lookout.look().await?;
    for entry in &theirs.sessions {
        if let Some(right) = rights.get(entry.summary.session.as_str()) {
            let shared = Some(Shared { owner: owner.name.clone(), right: *right });
            all.sessions.push(crate::overview::Entry { shared, ..entry.clone() });
        }
    }
    let approves = |session: &str| rights.get(session).is_some_and(|right| *right >= Right::Approve);
    all.approvals.extend(theirs.approvals.iter().filter(|waiting| approves(&waiting.session)).cloned());
    Ok(())
}
