//! Questions that wait, across sessions: one that an agent asks and its caller passes on is one question with one answer.
//!
//! The caller's record of it is where it is answered: a session has one owner, so of two answers one is the first. The agent's own
//! record is told when the caller goes on.

use std::collections::HashSet;

use charla_proto::{
    AgentLink, CallAsked, Fact, OpenApproval, Outcome, Refusal, SessionStarted, SessionSummary,
    means_approval,
};

use super::error::SessionError;
use super::store::{Sessions, WaitingApproval};

impl Sessions {
    /// Every question of every session that waits for an answer, those of agents where their callers ask them.
    pub async fn approvals(&self) -> Result<Vec<WaitingApproval>, SessionError> {
        let mut waiting = self.approvals_of("").await?;
        let asked = waiting.iter().map(|one| (&*one.asked, one.agent.as_ref()));
        let others = self.asked_elsewhere(asked).await?;
        waiting.retain(|one| !others.contains(&one.asked.approval));
        Ok(waiting)
    }

    /// The questions that wait and that this id means ([`means_approval`]). A question's id begins with its session's.
    pub(super) async fn approvals_of(&self, id: &str) -> Result<Vec<WaitingApproval>, SessionError> {
        let mut waiting = Vec::new();
        let of = id.split_once(':').map_or(id, |(session, _)| session);
        for SessionSummary { session, started, .. } in self.list().await?.sessions {
            if !session.starts_with(of) {
                continue;
            }
            let conversation = match self.folded(&session).await {
                Ok(conversation) => conversation,
                // Removed since it was listed.
                Err(SessionError::Unknown(_)) => continue,
                Err(error) => return Err(error),
            };
            let open = conversation.open_approvals().filter(|open| means_approval(id, &open.asked.approval));
            waiting.extend(open.map(|open| WaitingApproval {
                session: session.clone(),
                folder: started.cwd.clone(),
                agent: started.agent.clone(),
                asked: open.asked.clone(),
            }));
        }
        Ok(waiting)
    }

    /// Of all questions that wait, each with the call that its session works for, those that nobody is to be asked: an agent's
    /// that its caller asks or has an answer to, and a caller's that was answered where the agent is.
    pub async fn asked_elsewhere<'a>(
        &self,
        waiting: impl Iterator<Item = (&'a CallAsked, Option<&'a AgentLink>)> + Clone,
    ) -> Result<HashSet<String>, SessionError> {
        let open: HashSet<&str> = waiting.clone().map(|(asked, _)| asked.approval.as_str()).collect();
        let passed: HashSet<&str> =
            waiting.clone().filter_map(|(asked, _)| asked.stands_for.as_deref()).collect();
        let mut elsewhere = HashSet::new();
        for (asked, agent) in waiting {
            let is_elsewhere = match (&asked.stands_for, agent) {
                (Some(there), _) => !open.contains(there.as_str()) && self.answer_to(there).await.is_some(),
                (None, _) if passed.contains(asked.approval.as_str()) => true,
                (None, Some(agent)) => self.passed_on(&asked.approval, agent).await?.is_some(),
                (None, None) => false,
            };
            if is_elsewhere {
                elsewhere.insert(asked.approval.clone());
            }
        }
        Ok(elsewhere)
    }

    /// The question to answer in place of this one: an agent's where its caller asks it. Refused where it has its answer at either
    /// end.
    pub async fn to_answer(&self, approval: &str) -> Result<Result<String, Refusal>, SessionError> {
        let session = approval.split_once(':').map_or(approval, |(session, _)| session);
        let passed = match self.summary(session).await {
            Ok(SessionSummary { started: SessionStarted { agent: Some(agent), .. }, .. }) => {
                self.passed_on(approval, &agent).await?
            }
            Ok(_) | Err(SessionError::Unknown(_)) => None,
            Err(error) => return Err(error),
        };
        let (asked, answer) = match passed {
            Some(OpenApproval { asked, answer: None }) => {
                (asked.approval.clone(), self.answer_to(approval).await)
            }
            Some(OpenApproval { asked, answer }) => (asked.approval.clone(), answer),
            None => (approval.to_owned(), self.answer_where_it_is_asked(approval, session).await?),
        };
        Ok(match answer {
            Some((outcome, by)) => Err(Refusal::Late { outcome, by }),
            None => Ok(asked),
        })
    }

    /// What was answered where an agent asks the question that this one of its caller stands for.
    async fn answer_where_it_is_asked(
        &self,
        approval: &str,
        session: &str,
    ) -> Result<Option<(Outcome, String)>, SessionError> {
        let conversation = match self.folded(session).await {
            Ok(conversation) => conversation,
            Err(SessionError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let open = conversation.open_approvals().find(|open| open.asked.approval == approval);
        Ok(match open.and_then(|open| open.asked.stands_for.as_deref()) {
            Some(there) => self.answer_to(there).await,
            None => None,
        })
    }

    /// How the call that an agent works for has passed on this question of it.
    async fn passed_on(
        &self,
        approval: &str,
        agent: &AgentLink,
    ) -> Result<Option<OpenApproval>, SessionError> {
        let caller = match self.folded(&agent.session).await {
            Ok(caller) => caller,
            Err(SessionError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut asked = caller.unanswered().filter_map(|call| call.approval.as_ref());
        Ok(asked.find(|open| open.asked.stands_for.as_deref() == Some(approval)).cloned())
    }

    /// The first answer to the question of this id, if its session's records tell of one. They tell it whoever has the session open.
    pub(super) async fn answer_to(&self, approval: &str) -> Option<(Outcome, String)> {
        let (session, _) = approval.split_once(':')?;
        let records = self.records(session).await.ok()?;
        records.into_iter().find_map(|record| match record.fact {
            Fact::ApprovalAnswered(answered) if answered.approval == approval => {
                Some((answered.outcome, answered.by))
            }
            _ => None,
        })
    }
}
