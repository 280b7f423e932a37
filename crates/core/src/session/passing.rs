//! Questions of other sessions that running calls pass on.
//!
//! They are recorded here as the calls' own, so that whoever is asked here is asked them, too; what comes of them is decided in
//! the session that asks. One question of a call is open at a time, the others wait for it.

use std::collections::{HashMap, VecDeque};

use charla_proto::{
    CallAsked, CallStatus, Fact, OpenApproval, OpenCall, Outcome, PassedQuestion, Refusal, Reply,
};
use tokio::sync::oneshot;

use super::SESSION;
use super::approvals::misfit;
use super::ending::Stop;
use super::questions::answered;
use super::requests::Answer;
use super::turn::Session;
use crate::scheduler::Passed;

const ANSWERED_ELSEWHERE: &str = "it waits no longer";

/// The questions that the running calls of a step have passed on, by their places.
pub(super) struct PassedOn {
    questions: HashMap<usize, VecDeque<Waiting>>,
    /// What an earlier process had passed on last, where its call goes on.
    left: HashMap<usize, OpenApproval>,
}

struct Waiting {
    question: Box<PassedQuestion>,
    reply: oneshot::Sender<(Outcome, String)>,
    /// The question's id here, once it is asked.
    approval: Option<String>,
}

impl PassedOn {
    /// For these calls, some of which an earlier process may have left running.
    pub(super) fn new(calls: &[OpenCall]) -> Self {
        let running = calls.iter().enumerate().filter(|(_, call)| call.status == CallStatus::Executing);
        let left = running.filter_map(|(index, call)| Some((index, call.approval.clone()?)));
        let left = left.filter(|(_, open)| open.asked.stands_for.is_some()).collect();
        Self { questions: HashMap::new(), left }
    }

    /// True when a question of this call is open.
    pub(super) fn is_open(&self, index: usize) -> bool {
        self.questions.get(&index).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Takes what a running call passes on.
    pub(super) async fn take(
        &mut self,
        session: &mut Session,
        index: usize,
        call: &str,
        passed: Passed,
    ) -> Result<(), Stop> {
        match passed {
            Passed::Question { question, reply } => {
                let waiting = Waiting { question, reply, approval: None };
                self.questions.entry(index).or_default().push_back(waiting);
            }
            Passed::Answered { approval, outcome, by } => {
                let waiting = self.questions.entry(index).or_default();
                let is_it = |waiting: &Waiting| waiting.question.approval == approval;
                let found = waiting.iter().position(is_it).and_then(|place| waiting.remove(place));
                if let Some(own) = found.and_then(|waiting| waiting.approval) {
                    session.ledger.commit_one(answered(own, outcome, &by, None)).await?;
                }
            }
        }
        self.pose(session, index, call).await
    }

    /// Asks the question of a call that waits first.
    async fn pose(&mut self, session: &mut Session, index: usize, call: &str) -> Result<(), Stop> {
        let Some(waiting) = self.questions.get_mut(&index) else { return Ok(()) };
        if let Some(first) = waiting.front_mut().filter(|first| first.approval.is_none()) {
            match self.left.remove(&index) {
                Some(OpenApproval { asked, answer: None })
                    if asked.stands_for.as_ref() == Some(&first.question.approval) =>
                {
                    first.approval = Some(asked.approval.clone());
                    return Ok(());
                }
                Some(OpenApproval { asked, answer: None }) => {
                    let outcome = Outcome::Cancel { reason: Some(ANSWERED_ELSEWHERE.to_owned()) };
                    session
                        .ledger
                        .commit_one(answered(asked.approval.clone(), outcome, SESSION, None))
                        .await?;
                }
                _ => {}
            }
            let conversation = &session.ledger.conversation;
            let id =
                conversation.started.as_ref().map(|started| started.session.as_str()).unwrap_or_default();
            let approval = format!("{id}:{}", conversation.seq.saturating_add(1));
            first.approval = Some(approval.clone());
            let asked = CallAsked {
                turn: conversation.past.count,
                call: call.to_owned(),
                approval,
                confirmation: first.question.confirmation.clone(),
                stands_for: Some(first.question.approval.clone()),
            };
            return Ok(session.ledger.commit_one(Fact::CallAsked(Box::new(asked))).await?);
        }
        Ok(())
    }

    /// The call whose open question this is.
    pub(super) fn whose(&self, approval: &str) -> Option<usize> {
        let is_it = |first: &Waiting| first.approval.as_deref() == Some(approval);
        self.questions.iter().find(|(_, waiting)| waiting.front().is_some_and(is_it)).map(|(index, _)| *index)
    }

    /// Somebody answers the open question of a call.
    pub(super) async fn answer(
        &mut self,
        session: &mut Session,
        index: usize,
        asked: &CallAsked,
        answer: Answer,
    ) -> Result<(), Stop> {
        let Answer { approval, outcome, by, reply } = answer;
        if let Some(why) = misfit(&outcome, asked) {
            let _ = reply.send(Reply::Refused(Refusal::DoesNotFit { why: why.to_owned() }));
            return Ok(());
        }
        session.ledger.commit_one(answered(approval, outcome.clone(), &by, None)).await?;
        let _ = reply.send(Reply::Done);
        if let Some(first) = self.questions.get_mut(&index).and_then(VecDeque::pop_front) {
            let _ = first.reply.send((outcome, by));
        }
        self.pose(session, index, &asked.call).await
    }

    /// The call is over: nobody waits for answers.
    pub(super) fn forget(&mut self, index: usize) {
        self.questions.remove(&index);
    }
}
