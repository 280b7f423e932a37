//! An agent at work: its task is said, its questions are passed on, its answer is brought back.

use std::collections::HashSet;
use std::sync::Arc;

use charla_core::session::{Follower, SessionHandle};
use charla_proto::{
    ApprovalMode, BoxFuture, CancelTarget, Command, Confirmation, Content, Display, Outcome, Part,
    PassedQuestion, PassingOn, Refusal, Role, RunContext, Spent, ToolError, ToolErrorKind, ToolOutput,
    TurnEvent, UsageMetadata,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{oneshot, watch};

use super::agent_bounds::AgentBounds;
use crate::agents::Agent;

/// So much of an agent's answer its caller is told.
const MOST_CHARS: usize = 60_000;
/// Who speaks to an agent.
const CALLER: &str = "invoke_agent";

/// A session that works for a call.
pub(super) trait Child: Send + Sync {
    fn handle(&self) -> &SessionHandle;
    /// An earlier process left a turn of it.
    fn is_open(&self) -> bool;
    fn close(&self) -> BoxFuture<'_, ()>;
    /// What it has cost from its beginning on.
    fn spent(&self) -> BoxFuture<'_, Vec<Spent>>;
}

/// An agent at work.
pub(super) struct Work<'a> {
    pub child: &'a dyn Child,
    pub agent: &'a Agent,
    /// Those who are asked where its caller is.
    pub asked: Arc<dyn PassingOn>,
    pub bounds: Bounds<'a>,
}

/// The bounds of an agent: those of all that work for its caller, and whose part of them it is.
pub(super) struct Bounds<'a> {
    pub all: &'a AgentBounds,
    /// The call that it works for.
    pub call: String,
    /// The model that answers it.
    pub model: String,
}

/// The mode of an agent's caller as it changes, and the one that holds for the agent.
pub(super) type Modes = (watch::Receiver<ApprovalMode>, ApprovalMode);

/// The answers that questions of an agent are waited for.
type Answers = FuturesUnordered<BoxFuture<'static, (PassedQuestion, Option<(Outcome, String)>)>>;

/// Why an agent is told to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    ByUser,
    Late,
    Spent,
}

impl Work<'_> {
    /// Has the task done, or gone on with, and says what came of it.
    pub(super) async fn to_the_end(
        &self,
        prompt: &str,
        again: bool,
        mut cx: RunContext,
        mut left: oneshot::Receiver<()>,
        (mut mode, mut held): Modes,
    ) -> ToolOutput {
        let mut events = Follower::new(self.child.handle().subscribe());
        if again && let Some(answer) = self.answered_before().await {
            return self.told(answer);
        }
        let (mut answers, mut passed) = (Answers::new(), HashSet::new());
        for question in self.left_open(again).await {
            self.pass_on(question, &mut passed, &answers);
        }
        if let Err(why) = self.begin(prompt).await {
            return failed(ToolErrorKind::Other, why);
        }
        let late = tokio::time::sleep(self.agent.timeout);
        tokio::pin!(late);
        let (mut answer, mut stopped, mut spent) = (String::new(), None, String::new());
        loop {
            let event = tokio::select! {
                biased;
                () = &mut cx.cancelled, if stopped.is_none() => {
                    stopped = Some(Stopped::ByUser);
                    self.stop().await;
                    continue;
                }
                () = &mut late, if stopped.is_none() => {
                    stopped = Some(Stopped::Late);
                    self.stop().await;
                    continue;
                }
                // Nobody answers in this process any more: another one goes on.
                _ = &mut left, if stopped.is_none() => return self.ended(Some(Stopped::ByUser)),
                Ok(()) = mode.changed(), if stopped.is_none() => {
                    let now = *mode.borrow_and_update();
                    // What its caller is not free to do any more, it is not either.
                    if now < held {
                        held = now;
                        self.child.handle().send(Command::SetMode { mode: now }, CALLER).await;
                    }
                    continue;
                }
                Some((question, answer)) = answers.next() => {
                    if let Some(question) = self.forward(question, answer).await {
                        passed.remove(&question.approval);
                        self.pass_on(question, &mut passed, &answers);
                    }
                    continue;
                }
                event = events.next() => event,
            };
            match event {
                Some(TurnEvent::ToolCallConfirmation { approval, confirmation, .. }) => {
                    let confirmation = Confirmation::clone(&confirmation);
                    self.pass_on(PassedQuestion { approval, confirmation }, &mut passed, &answers);
                }
                Some(TurnEvent::ToolCallAnswered { approval, answer, by }) => {
                    self.asked.answered(approval, answer, by).await;
                }
                Some(TurnEvent::Content { content, delta: true, .. }) => answer.push_str(&content),
                Some(TurnEvent::Content { content, .. }) => answer = content,
                Some(TurnEvent::StepEnded { usage }) => {
                    answer.clear();
                    let over = usage.and_then(|usage| self.bounds.spent(&usage));
                    if let Some(why) = over.filter(|_| stopped.is_none()) {
                        (stopped, spent) = (Some(Stopped::Spent), why);
                        self.stop().await;
                    }
                }
                Some(TurnEvent::Retry(_)) => answer.clear(),
                Some(TurnEvent::ToolCallRequest { name, .. }) => {
                    (cx.live)(&format!("{}: {name}\n", self.agent.name))
                }
                Some(TurnEvent::Finished { .. }) => return self.told(answer),
                Some(TurnEvent::UserCancelled) | None if stopped == Some(Stopped::Spent) => {
                    return self.unfinished(&spent, &answer);
                }
                Some(TurnEvent::UserCancelled) | None => return self.ended(stopped),
                Some(TurnEvent::Stopped { detail, .. }) => return self.unfinished(&detail, &answer),
                Some(
                    TurnEvent::Error { error }
                    | TurnEvent::InvalidStream { error }
                    | TurnEvent::ContextOverflow { error },
                ) => return self.unfinished(&error.to_string(), &answer),
                Some(_) => {}
            }
        }
    }

    /// Tells the agent what was answered where its caller is. False where it holds something else to be allowed: what its caller
    /// was told counts.
    pub(super) async fn takes(&self, (approval, outcome, by): &(String, Outcome, String)) -> bool {
        match self.child.handle().answer(approval, outcome.clone(), by).await {
            Err(Refusal::Late { outcome: held, .. }) => held == *outcome || !held.allows(),
            _ => true,
        }
    }

    /// Ends the turn that the agent had open, without anything more of it.
    pub(super) async fn refused(&self) -> ToolOutput {
        self.stop().await;
        self.ended(None)
    }

    /// The questions that an earlier process left open.
    async fn left_open(&self, again: bool) -> Vec<PassedQuestion> {
        let snapshot = match again {
            true => self.child.handle().snapshot().await,
            false => None,
        };
        let calls = snapshot.map(|(snapshot, _)| snapshot.calls).unwrap_or_default();
        let open = calls.into_iter().filter_map(|call| call.approval).filter(|open| open.answer.is_none());
        open.map(|open| PassedQuestion {
            approval: open.asked.approval.clone(),
            confirmation: open.asked.confirmation.clone(),
        })
        .collect()
    }

    /// Has a question asked where the caller is, once.
    fn pass_on(&self, question: PassedQuestion, passed: &mut HashSet<String>, answers: &Answers) {
        if passed.insert(question.approval.clone()) {
            let mut shown = question.clone();
            shown.confirmation.title = format!("{} ({})", question.confirmation.title, self.agent.name);
            let answer = self.asked.pass_on(shown);
            answers.push(Box::pin(async move { (question, answer.await) }));
        }
    }

    /// Brings an answer to who asked; the question again where it does not fit.
    async fn forward(
        &self,
        question: PassedQuestion,
        answer: Option<(Outcome, String)>,
    ) -> Option<PassedQuestion> {
        let (outcome, by) = answer?;
        match self.child.handle().answer(&question.approval, outcome, &by).await {
            Err(Refusal::DoesNotFit { .. }) => Some(question),
            _ => None,
        }
    }

    /// Says the task, unless an earlier process has: then what it left is gone on with.
    async fn begin(&self, prompt: &str) -> Result<(), String> {
        let handle = self.child.handle();
        if self.child.is_open() {
            handle.send(Command::Continue, CALLER).await;
            return Ok(());
        }
        let said = handle.prompt(Content::user(prompt), CALLER).await;
        said.map(drop).map_err(|refusal| refusal.to_string())
    }

    /// The answer of an agent whose caller died before it heard it.
    async fn answered_before(&self) -> Option<String> {
        let (snapshot, _) = self.child.handle().snapshot().await?;
        if self.child.is_open() {
            return None;
        }
        let last = snapshot.contents.iter().rev().find(|said| said.content.role == Role::Model)?;
        Some(last.content.text())
    }

    async fn stop(&self) {
        self.child.handle().send(Command::Cancel { target: CancelTarget::Turn }, CALLER).await;
    }

    fn told(&self, answer: String) -> ToolOutput {
        let name = &self.agent.name;
        let mut words: String = answer.trim().chars().take(MOST_CHARS).collect();
        if words.len() < answer.trim().len() {
            words.push_str("\n[cut here]");
        }
        let display = Some(Display::text(format!("{name}: {words}")));
        ToolOutput { content: vec![Part::text(words)], display, ..ToolOutput::default() }
    }

    fn ended(&self, stopped: Option<Stopped>) -> ToolOutput {
        let name = &self.agent.name;
        match stopped {
            Some(Stopped::ByUser) => failed(ToolErrorKind::Cancelled, "Cancelled by the user."),
            Some(Stopped::Late) => {
                let seconds = self.agent.timeout.as_secs();
                failed(
                    ToolErrorKind::TimedOut,
                    format!("The agent {name} was stopped after {seconds} seconds."),
                )
            }
            Some(Stopped::Spent) | None => {
                failed(ToolErrorKind::RefusedByPerson, format!("The user stopped the agent {name}."))
            }
        }
    }

    fn unfinished(&self, why: &str, said: &str) -> ToolOutput {
        let last: String = said.chars().take(MOST_CHARS).collect();
        let last = if last.trim().is_empty() { String::new() } else { format!(" Its last words: {last}") };
        failed(ToolErrorKind::Other, format!("The agent {} did not finish: {why}.{last}", self.agent.name))
    }
}

impl Bounds<'_> {
    /// The agent spent this; why it goes no further, if it must not.
    fn spent(&self, usage: &UsageMetadata) -> Option<String> {
        self.all.spent(&self.call, &self.model, usage)
    }
}

pub(super) fn failed(kind: ToolErrorKind, message: impl Into<String>) -> ToolOutput {
    ToolOutput::failed(ToolError::new(kind, message))
}
