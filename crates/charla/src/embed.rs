//! The shortest way for a program that embeds Charla: a turn with a callback.

use charla_core::session::Follower;
use charla_proto::{Confirmation, Outcome, TurnEvent};

use crate::failure::{Failure, FailureKind};
use crate::session::OpenedSession;

/// Who speaks for a program.
const PROGRAM: &str = "program";

impl OpenedSession {
    /// Says something in the program's name, and follows what comes of it to the end of the turn. Questions wait for
    /// whoever is attached ([`OpenedSession::attach`]); with nobody there the answer is no.
    pub async fn turn(&self, prompt: &str) -> Result<Follower, Failure> {
        let events = Follower::new(self.handle.subscribe());
        let said = self.prompt(prompt, PROGRAM).await;
        Ok(events.of_prompt(said.map_err(|refusal| Failure::system(refusal.to_string()))?))
    }

    /// Says something and waits for the answer. What needs approval is decided by `approve`; what it does not
    /// allow does not run.
    pub async fn ask(
        &self,
        prompt: &str,
        approve: impl AsyncFn(&Confirmation) -> Outcome,
    ) -> Result<String, Failure> {
        let _client = self.attach();
        let mut events = self.turn(prompt).await?;
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
                event => match Failure::of_turn(&event) {
                    Some(failure) => return Err(failure),
                    None => continue,
                },
            }
        }
        Err(Failure::system("the session ended"))
    }
}

impl Failure {
    /// What an event says that ends a turn without an answer; nothing of any other event.
    pub fn of_turn(event: &TurnEvent) -> Option<Self> {
        match event {
            TurnEvent::UserCancelled => Some(Failure::cancelled()),
            TurnEvent::Stopped { detail, .. } => Some(Failure::new(FailureKind::Limit, detail.clone())),
            TurnEvent::Error { error }
            | TurnEvent::InvalidStream { error }
            | TurnEvent::ContextOverflow { error } => Some(Failure::from(error)),
            _ => None,
        }
    }
}
