//! Another model is offered to whoever is there when the one that answers is over its limit.

use charla_proto::{
    CallAsked, Command, Confirmation, ConfirmationDetail, Fact, LlmError, LlmErrorKind, Outcome, Question,
    QuestionKind, Reply, Request,
};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::ending::{Ending, Stop};
use super::inbox::{Asked, Incoming};
use super::questions::answered;
use super::requests::{Requests, Signal};
use super::turn::Session;
use super::{NOBODY, SESSION};

/// What stands for a tool's name in the question.
const MODEL: &str = "model";
/// What is said of a question that was left open.
const ASKED_AGAIN: &str = "the model is asked again";

/// Offers another model on behalf of a session.
pub(super) struct Offer<'a>(pub(super) &'a mut Session);

impl Offer<'_> {
    /// How the turn ends, if it does: not, when the person chooses to go on with another model.
    pub(super) async fn instead_of(mut self, ending: Ending) -> Result<Option<Ending>, Stop> {
        let is_limit =
            |error: &&LlmError| matches!(error.kind, LlmErrorKind::RateLimit | LlmErrorKind::Quota);
        let Some(error) = ending.error.as_ref().filter(is_limit) else { return Ok(Some(ending)) };
        let binding = &self.0.binding;
        let next = binding.host.next_model(&binding.model.reference).filter(|_| self.0.inbox.somebody());
        let Some(next) = next else { return Ok(Some(ending)) };
        self.ask(&next, error).await?;
        match self.answer().await? {
            Answered::By(by) => self.switch(next, by, ending).await,
            Answered::No => Ok(Some(ending)),
            Answered::Cancelled { by } => Ok(Some(self.0.cancelled(by))),
        }
    }

    /// A question that an earlier process left open is closed: the model is asked again.
    pub(super) fn closing(self) -> Option<Fact> {
        let open = self.question().filter(|open| open.1.is_none())?;
        Some(answered(open.0, Outcome::Cancel { reason: Some(ASKED_AGAIN.to_owned()) }, SESSION, None))
    }

    /// The question of the turn, and its answer.
    fn question(&self) -> Option<(String, Option<(Outcome, String)>)> {
        let open = self.0.ledger.conversation.turn.as_ref()?.question.as_ref()?;
        Some((open.asked.approval.clone(), open.answer.clone()))
    }

    async fn ask(&mut self, next: &str, error: &LlmError) -> Result<(), Stop> {
        let model = &self.0.binding.model.reference;
        let title = format!("Go on with {next}?");
        let question = Question {
            question: format!("{model} is over its limit ({error}). Go on with {next}?"),
            header: MODEL.to_owned(),
            kind: QuestionKind::Yesno,
            ..Question::default()
        };
        let conversation = &self.0.ledger.conversation;
        let id = conversation.started.as_ref().map(|started| started.session.as_str()).unwrap_or_default();
        let asked = CallAsked {
            turn: conversation.past.count,
            call: String::new(),
            stands_for: None,
            approval: format!("{id}:{}", conversation.seq.saturating_add(1)),
            confirmation: Confirmation {
                tool: MODEL.to_owned(),
                title,
                detail: ConfirmationDetail::AskUser { questions: vec![question] },
                rule: SESSION.to_owned(),
                confinement: None,
                isolation: String::new(),
                reasons: Vec::new(),
                always: None,
            },
        };
        Ok(self.0.ledger.commit_one(Fact::CallAsked(Box::new(asked))).await?)
    }

    /// Waits for the answer; with nobody left it is no.
    async fn answer(&mut self) -> Result<Answered, Stop> {
        loop {
            if let Some((_, Some((outcome, by)))) = self.question() {
                let is_yes = matches!(&outcome, Outcome::Answers { answers } if answers.first().is_some_and(|word| word == "yes"));
                return Ok(if is_yes { Answered::By(by) } else { Answered::No });
            }
            // Nobody can answer any more in this process: another one asks the model again.
            if self.0.inbox.is_closed() {
                return Err(Stop::Abandoned);
            }
            if !self.0.inbox.somebody() {
                let open = self.question().map(|(approval, _)| approval).unwrap_or_default();
                let fact = answered(open, Outcome::Cancel { reason: None }, NOBODY, None);
                self.0.ledger.commit_one(fact).await?;
                return Ok(Answered::No);
            }
            let Incoming::Message(message) = self.0.inbox.recv_or_clients().await else { continue };
            match self.0.message(message.map(|message| *message)).await? {
                Signal::Cancel { by } => return Ok(Answered::Cancelled { by }),
                Signal::Answer(answer) => Requests(self.0).answer_outside_calls(answer).await?,
                Signal::Nothing => {}
            }
        }
    }

    /// Goes on with the other model, unless that cannot be had.
    async fn switch(self, model: String, by: String, ending: Ending) -> Result<Option<Ending>, Stop> {
        let (reply, mut replied) = oneshot::channel();
        let request = Request { by, command: Command::SetModel { model: model.clone() } };
        Requests(self.0).bind(model, Asked { request, reply });
        loop {
            let message = self.0.inbox.recv().await;
            match self.0.message(message).await? {
                Signal::Cancel { by } => return Ok(Some(self.0.cancelled(by))),
                Signal::Answer(answer) => Requests(self.0).answer_outside_calls(answer).await?,
                Signal::Nothing => {}
            }
            match replied.try_recv() {
                Ok(Reply::Done) => return Ok(None),
                Err(TryRecvError::Empty) if self.0.inbox.is_closed() => return Err(Stop::Abandoned),
                Err(TryRecvError::Empty) => {}
                _ => return Ok(Some(ending)),
            }
        }
    }
}

/// What came of the question.
enum Answered {
    /// Yes, from this one.
    By(String),
    No,
    Cancelled {
        by: String,
    },
}
