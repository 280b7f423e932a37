//! The shortest way for a program that embeds Charla: a turn with a callback.

use charla_core::session::Follower;
use charla_proto::{Confirmation, Outcome, TurnEvent};

use crate::failure::{Failure, FailureKind};
use crate::session::OpenedSession;

/// Who speaks for a program.
const PROGRAM: &str = "program";

impl OpenedSession {
    /// Says something and waits for the answer. What needs approval is decided by `approve`; what it does not
    /// allow does not run.
    pub async fn ask(
        &self,
        prompt: &str,
        approve: impl AsyncFn(&Confirmation) -> Outcome,
    ) -> Result<String, Failure> {
        let _client = self.attach();
        let events = Follower::new(self.handle.subscribe());
        let id =
            self.prompt(prompt, PROGRAM).await.map_err(|refusal| Failure::system(refusal.to_string()))?;
        let mut events = events.of_prompt(id);
        let mut answer = String::new();
        while let Some(event) = events.next().await {
            match event {
                TurnEvent::Content { content, delta: true, .. } => answer.push_str(&content),
                TurnEvent::Content { content, .. } => answer = content,
                TurnEvent::StepEnded { .. } | TurnEvent::Retry(_) => answer.clear(),
                TurnEvent::ToolCallConfirmation { approval, confirmation, .. } => {
                    let outcome = approve(&confirmation).await;
                    // Somebody else may have been quicker: then theirs counts.
                    let _ = self.handle.answer(&approval, outcome, PROGRAM).await;
                }
                TurnEvent::Finished { .. } => return Ok(answer),
                TurnEvent::UserCancelled => return Err(Failure::cancelled()),
                TurnEvent::Stopped { detail, .. } => return Err(Failure::new(FailureKind::Limit, detail)),
                TurnEvent::Error { error }
                | TurnEvent::InvalidStream { error }
                | TurnEvent::ContextOverflow { error } => return Err(Failure::from(&error)),
                _ => {}
            }
        }
        Err(Failure::system("the session ended"))
    }
}
