//! Going on here with a session that another process has open: whoever is there is asked, once it is known that it could be opened.

use std::sync::Arc;

use charla_proto::{Command, Reply, Request};
use http::StatusCode;

use super::{Hub, Need, State};
use crate::problem::{IN_USE, NO_REPLY, Problem};

/// Takes sessions of a user.
pub(crate) struct Taking<'a>(pub(crate) &'a Arc<Hub>);

impl Taking<'_> {
    /// Opens a session here, or asks the process to let go of it that has it open. True when it runs here.
    pub(crate) async fn take(&self, id: &str, request: &Request) -> Result<bool, Problem> {
        let hub = self.0;
        hub.before.must_have_ended(id).await?;
        if let Some(running) = hub.running(id) {
            running.touch();
            return Ok(true);
        }
        match hub.states(&hub.charla.sessions()?, &[id.to_owned()]).await.pop() {
            Some((_, Some(node))) => {
                let detail = format!("node {node} has the session open, and takes every request from here");
                return Err(Problem::new(StatusCode::CONFLICT, IN_USE, detail));
            }
            Some((State::InUse, None)) => self.could_open(id).await?,
            _ => {}
        }
        match hub.post(id, request).await {
            Ok(Some(Reply::Refused(refusal))) => return Err(Problem::refused(refusal)),
            Ok(Some(_)) => return Ok(false),
            // Whoever had it may have ended while they were asked.
            Err(problem) if problem.kind == NO_REPLY => {}
            not_open => drop(not_open?),
        }
        match hub.resume(id, Need::Room).await {
            Ok(running) => {
                if running.session.is_open {
                    // Refused where there is nothing left to spend: the turn stays as it was left.
                    let go_on = Request { by: request.by.clone(), command: Command::Continue };
                    let _ = hub.request(id, go_on).await;
                }
                Ok(true)
            }
            // It is being left at this moment.
            Err(problem) if problem.kind == IN_USE => Ok(false),
            Err(problem) => Err(problem),
        }
    }

    /// An error where a session that somebody is asked to leave could not be opened here once they have.
    async fn could_open(&self, id: &str) -> Result<(), Problem> {
        let hub = self.0;
        let summary = hub.summary(id).await?;
        hub.refresh().await?;
        let workspace = hub.workspace(&summary.started.cwd)?;
        // Somebody else may take it meanwhile: then there is none for this one, as for any other.
        drop(hub.rooms.take(Need::Room, hub.slots.put_one_to_sleep()).await?);
        Ok(hub.charla.can_resume(id, Some(workspace)).await?)
    }
}
