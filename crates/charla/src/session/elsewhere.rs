//! Requests to sessions that this process does not run: answers and rewinds.

use std::sync::Arc;

use charla_proto::{CallAsked, Command, Outcome, Refusal, Reply, RevertedFile};

use super::offline;
use super::store::{Sessions, WaitingApproval};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::notices::Notices;

/// A question that was answered.
#[derive(Clone, Debug)]
pub struct AnsweredApproval {
    /// The session that had asked.
    pub session: String,
    /// What it had asked.
    pub asked: Arc<CallAsked>,
    /// It runs in another process, which goes on; otherwise the answer is kept until it does.
    pub runs: bool,
}

/// A session that was rewound.
#[derive(Clone, Debug)]
pub struct RewoundSession {
    /// Its id.
    pub session: String,
    /// The message that is the last one now.
    pub to: u64,
    /// Files that were put back.
    pub files: Vec<RevertedFile>,
}

/// Answers the question of this id, or of which it is the beginning.
pub(crate) async fn answer(
    id: &str,
    outcome: Outcome,
    by: &str,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<AnsweredApproval, Failure> {
    let sessions = Sessions::new(environment)?;
    let waiting = sessions.approvals()?;
    let found: Vec<&WaitingApproval> =
        waiting.iter().filter(|waiting| waiting.asked.approval.starts_with(id)).collect();
    let exact = found.iter().find(|waiting| waiting.asked.approval == id);
    let command = |approval: &str| Command::Answer { approval: approval.to_owned(), outcome: outcome.clone() };
    let found = match (exact, found.as_slice()) {
        (Some(exact), _) => *exact,
        (None, [one]) => *one,
        (None, []) => return Err(nothing_waits(id, command(id), by, &sessions, environment, notices).await),
        (None, several) => {
            let count = several.len();
            return Err(Failure::input(format!("`{id}` is the beginning of {count} questions"))
                .with_hint("give more of the id"));
        }
    };
    let command = command(&found.asked.approval);
    let (reply, runs) = request(&found.session, command, by, &sessions, environment, notices).await?;
    match reply {
        Reply::Refused(refusal) => Err(refused(&refusal)),
        _ => Ok(AnsweredApproval { session: found.session.clone(), asked: found.asked.clone(), runs }),
    }
}

/// Nothing of that id waits: who answered it, if somebody did.
async fn nothing_waits(
    id: &str,
    command: Command,
    by: &str,
    sessions: &Sessions,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Failure {
    let unknown = Failure::input(format!("nothing waits for an answer under `{id}`"));
    let Some((session, _)) = id.split_once(':') else { return unknown };
    match request(session, command, by, sessions, environment, notices).await {
        Ok((Reply::Refused(refusal @ Refusal::Late { .. }), _)) => refused(&refusal),
        _ => unknown,
    }
}

fn refused(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::Failed { message } => Failure::system(message.clone()),
        Refusal::Late { by, outcome } => {
            let word = if outcome.allows() { "yes" } else { "no" };
            Failure::conflict(format!("{by} has answered already: {word}"))
        }
        refusal => Failure::input(refusal.to_string()),
    }
}

/// Makes an earlier message of a session the last one.
pub(crate) async fn rewind(
    which: &str,
    to: u64,
    files: bool,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<RewoundSession, Failure> {
    let sessions = Sessions::new(environment)?;
    let id = sessions.find(which)?;
    let command = Command::Rewind { to, files };
    match request(&id, command, "user", &sessions, environment, notices).await?.0 {
        Reply::Reverted { files, .. } => Ok(RewoundSession { session: id, to, files }),
        Reply::Refused(refusal @ Refusal::Conflict { .. }) => {
            Err(Failure::conflict(format!("nothing was changed: {refusal}")))
        }
        Reply::Refused(refusal) => Err(refused(&refusal)),
        _ => Err(Failure::system("the session said something else than what was asked")),
    }
}

/// Asks something of a session: of the process that runs it, or in its place when none does. True when one does.
async fn request(
    id: &str,
    command: Command,
    by: &str,
    sessions: &Sessions,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<(Reply, bool), Failure> {
    let (handle, _) = offline::open(sessions, id, environment, notices)?;
    Ok((handle.send(command, by).await, false))
}
