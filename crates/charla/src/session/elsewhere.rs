//! Requests to sessions wherever they run: in another process, which is told at once, or in none.

use std::sync::Arc;

use charla_proto::{CallAsked, Command, Outcome, PostError, Refusal, Reply, Request, RevertedFile};

use super::error::SessionError;
use super::offline;
use super::store::{Sessions, WaitingApproval};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::Notices;

/// How often a session may be opened or closed by others while we look for who has it.
const TRIES: usize = 3;

/// A question that was answered.
#[derive(Clone, Debug)]
pub struct AnsweredApproval {
    /// The session that had asked; an agent's caller, where that asks for it.
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

/// Asks something of a user's sessions.
pub(crate) struct Elsewhere<'a> {
    /// The sessions.
    pub sessions: Sessions,
    /// The user's surroundings.
    pub environment: &'a Environment,
    /// Takes what a person should know about a session that is opened for it.
    pub notices: &'a mut dyn Notices,
}

impl Elsewhere<'_> {
    /// Answers the question of this id, or of which it is the beginning.
    pub(crate) async fn answer(
        &mut self,
        id: &str,
        outcome: Outcome,
        by: &str,
    ) -> Result<AnsweredApproval, Failure> {
        if id.trim().is_empty() {
            return Err(Failure::input("the question's id is empty"));
        }
        let waiting = self.sessions.approvals_of(id).await?;
        let WaitingApproval { asked, .. } = match waiting.as_slice() {
            [] => {
                let unknown = || {
                    Failure::input(format!("nothing waits for an answer under `{id}`"))
                        .with_hint(Hint::ListQuestions)
                };
                return Err(self.who_won(id).await.unwrap_or_else(unknown));
            }
            [one] => one.clone(),
            several => match several.iter().find(|waiting| waiting.asked.approval == id) {
                Some(exact) => exact.clone(),
                None => {
                    let count = several.len();
                    return Err(Failure::input(format!("`{id}` is the beginning of {count} questions"))
                        .with_hint("give more of the id"));
                }
            },
        };
        let approval =
            self.sessions.to_answer(&asked.approval).await?.map_err(|refusal| refused(&refusal))?;
        let session = approval.split_once(':').map_or(approval.as_str(), |(session, _)| session).to_owned();
        let command = Command::Answer { approval: approval.clone(), outcome };
        match self.request(&session, command, by).await {
            Ok((Reply::Refused(refusal), _)) => Err(refused(&refusal)),
            Ok((_, runs)) => Ok(AnsweredApproval { session, asked, runs }),
            // Whoever was quicker may have it open, or its process may be ending.
            Err(error) => Err(match (self.who_won(&approval).await, error) {
                (Some(late), _) => late,
                (None, error @ SessionError::InUse(_)) => {
                    Failure::from(error).with_hint("answer it there, or end that process first")
                }
                (None, error) => error.into(),
            }),
        }
    }

    /// That somebody has answered the question of this id.
    async fn who_won(&self, id: &str) -> Option<Failure> {
        let (outcome, by) = self.sessions.answer_to(id).await?;
        Some(refused(&Refusal::Late { outcome, by }))
    }

    /// Makes an earlier message of a session the last one.
    pub(crate) async fn rewind(
        &mut self,
        which: &str,
        to: u64,
        files: bool,
    ) -> Result<RewoundSession, Failure> {
        let id = self.sessions.find(which).await?;
        match self.request(&id, Command::Rewind { to, files }, "user").await?.0 {
            Reply::Reverted { files, .. } => Ok(RewoundSession { session: id, to, files }),
            Reply::Refused(refusal @ Refusal::Conflict { .. }) => {
                Err(Failure::conflict(format!("nothing was changed: {refusal}")))
            }
            Reply::Refused(refusal @ Refusal::Unknown { .. }) => {
                Err(refused(&refusal).with_hint(Hint::ListMessages))
            }
            Reply::Refused(refusal) => Err(refused(&refusal)),
            _ => Err(Failure::system("the session said something else than what was asked")),
        }
    }

    /// Asks something of the process that has the session of this id open, or in its place when none has. True when
    /// one has. A process that takes no requests, or none of this kind while its turn runs, has it to itself.
    pub(super) async fn request(
        &mut self,
        id: &str,
        command: Command,
        by: &str,
    ) -> Result<(Reply, bool), SessionError> {
        let request = Request { by: by.to_owned(), command };
        let in_use = || SessionError::InUse(id.to_owned());
        for _ in 0..TRIES {
            match self.sessions.post(id, &request).await {
                Ok(Reply::Refused(Refusal::Busy)) | Err(PostError::Unreachable(_)) => return Err(in_use()),
                // It ends at this moment.
                Ok(Reply::Refused(Refusal::Ended)) | Err(PostError::NotOwned) => {}
                Ok(reply) => return Ok((reply, true)),
                Err(error) => {
                    return Err(SessionError::NoReply { session: id.to_owned(), why: error.to_string() });
                }
            }
            match offline::open(&self.sessions, id, self.environment, self.notices).await {
                Ok(session) => {
                    let reply = match offline::problem_with(&session, &request.command).await {
                        Some(why) => Reply::Refused(Refusal::DoesNotFit { why }),
                        None => session.request(request).await,
                    };
                    session.close().await;
                    return Ok((reply, false));
                }
                // Somebody has opened it meanwhile.
                Err(SessionError::InUse(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(in_use())
    }
}

fn refused(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::Failed { message } => Failure::system(message.clone()),
        Refusal::Late { by, outcome } => {
            Failure::conflict(format!("{by} has answered already: {}", in_a_word(outcome)))
        }
        refusal => Failure::input(refusal.to_string()),
    }
}

/// An answer as a person would say it.
fn in_a_word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::ProceedOnce => "yes".to_owned(),
        Outcome::ProceedAlways => "always".to_owned(),
        Outcome::ProceedAlwaysAndSave => "always, saved as a rule".to_owned(),
        Outcome::ProceedAlwaysTool => "always this tool".to_owned(),
        Outcome::ProceedAlwaysServer => "always this server".to_owned(),
        Outcome::Modify { .. } | Outcome::ModifyWithEditor { .. } => "yes, with other arguments".to_owned(),
        Outcome::Answers { answers } => answers.join(", "),
        Outcome::Cancel { reason: Some(reason) } => format!("no, {reason}"),
        Outcome::Cancel { reason: None } => "no".to_owned(),
    }
}
