//! What running calls want of their session: a word of the person, an answer of the model.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use charla_proto::{
    AsideAnswer, CallAsked, Content, Fact, FunctionCall, GenerateRequest, GenerateResponse, LlmError,
    Outcome, Part, Plan, Refusal, Reply, Role, SampleAnswer, SampleRequest, Sampled, TurnEvent, Verdict,
};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::NOBODY;
use super::approvals::misfit;
use super::ending::Stop;
use super::hooking::Hooking;
use super::host::BoundModel;
use super::questions::{answered, question, take_grant};
use super::requests::Answer;
use super::turn::Session;
use crate::scheduler::Wish;

/// So often may one call ask the model.
const MOST_SAMPLES: usize = 10;
/// So many tokens may the model answer it with.
const MOST_TOKENS: u32 = 8192;
/// A question has an answer that fits no running call.
const NOT_THAT: &str = "the call runs already: it can be answered, or refused";

/// What the running calls of a step want, by their places.
#[derive(Default)]
pub(super) struct Asides {
    /// One question of a call is open at a time; the others wait for it.
    questions: HashMap<usize, VecDeque<Question>>,
    samples: JoinSet<Sample>,
    /// How often each call has asked the model.
    asked: HashMap<usize, usize>,
}

struct Question {
    plan: Box<Plan>,
    reply: oneshot::Sender<AsideAnswer>,
    /// The question's id, once it is asked.
    approval: Option<String>,
}

/// What the model said to a call.
pub(super) struct Sample {
    call: String,
    model: String,
    answer: Result<GenerateResponse, LlmError>,
    reply: oneshot::Sender<Result<SampleAnswer, String>>,
}

impl Asides {
    /// Takes what a running call wants.
    pub(super) async fn take(
        &mut self,
        session: &mut Session,
        index: usize,
        call: &FunctionCall,
        wish: Wish,
    ) -> Result<(), Stop> {
        match wish {
            Wish::Ask { plan, reply } => {
                let waiting = self.questions.entry(index).or_default();
                waiting.push_back(Question { plan, reply, approval: None });
                self.pose(session, index, call).await
            }
            Wish::Sample { request, reply } => {
                let asked = self.asked.entry(index).or_default();
                *asked += 1;
                if *asked > MOST_SAMPLES {
                    let _ = reply.send(Err(format!("one call may ask the model {MOST_SAMPLES} times")));
                } else {
                    let call = call.id.clone().unwrap_or_default();
                    self.samples.spawn(sample(session.binding.model.clone(), *request, call, reply));
                }
                Ok(())
            }
            Wish::Pass(_) => Ok(()),
        }
    }

    /// Asks the first question of a call that waits, unless the rules answer it.
    async fn pose(&mut self, session: &mut Session, index: usize, call: &FunctionCall) -> Result<(), Stop> {
        let Some(questions) = self.questions.get_mut(&index) else { return Ok(()) };
        while let Some(front) = questions.front_mut().filter(|front| front.approval.is_none()) {
            let verdict = session.approvals.judge(&front.plan, session.mode());
            let answer = match verdict {
                Verdict::Allow { .. } => AsideAnswer::Allowed,
                Verdict::Deny { reason, .. } => AsideAnswer::Refused(Some(reason)),
                verdict => {
                    let asked = question(session, &front.plan, call, verdict, 0);
                    let (approval, confirmation) = (asked.approval.clone(), asked.confirmation.clone());
                    let mut facts = vec![Fact::CallAsked(Box::new(asked))];
                    let somebody = session.inbox.somebody();
                    if !somebody {
                        facts.push(answered(approval.clone(), no(), NOBODY, None));
                    }
                    session.ledger.commit(facts).await?;
                    if somebody {
                        front.approval = Some(approval);
                        Hooking(session).notify(&confirmation);
                        return Ok(());
                    }
                    AsideAnswer::Nobody
                }
            };
            if let Some(question) = questions.pop_front() {
                let _ = question.reply.send(answer);
            }
        }
        Ok(())
    }

    /// The call whose open question this is.
    pub(super) fn whose(&self, approval: &str) -> Option<usize> {
        let is_it = |question: &Question| question.approval.as_deref() == Some(approval);
        self.questions.iter().find(|(_, waiting)| waiting.front().is_some_and(is_it)).map(|(index, _)| *index)
    }

    /// Somebody answers the open question of a call.
    pub(super) async fn answer(
        &mut self,
        session: &mut Session,
        index: usize,
        call: &FunctionCall,
        asked: &CallAsked,
        answer: Answer,
    ) -> Result<(), Stop> {
        let Answer { approval, outcome, by, reply } = answer;
        let changes = matches!(outcome, Outcome::Modify { .. } | Outcome::ModifyWithEditor { .. });
        if let Some(why) = misfit(&outcome, asked).or(changes.then_some(NOT_THAT)) {
            let _ = reply.send(Reply::Refused(Refusal::DoesNotFit { why: why.to_owned() }));
            return Ok(());
        }
        session.ledger.commit_one(answered(approval, outcome.clone(), &by, None)).await?;
        let _ = reply.send(Reply::Done);
        take_grant(session, &outcome, asked, &by).await?;
        let answer = match outcome {
            Outcome::Cancel { reason } => AsideAnswer::Refused(reason),
            Outcome::Answers { answers } => AsideAnswer::Answers(answers),
            _ => AsideAnswer::Allowed,
        };
        if let Some(question) = self.questions.get_mut(&index).and_then(VecDeque::pop_front) {
            let _ = question.reply.send(answer);
        }
        self.pose(session, index, call).await
    }

    /// Nobody answers any more: every open question is closed on behalf of `by`, and none follows it.
    pub(super) async fn close(&mut self, session: &mut Session, by: &str) -> Result<(), Stop> {
        for question in self.questions.drain().flat_map(|(_, waiting)| waiting) {
            if let Some(approval) = question.approval {
                session.ledger.commit_one(answered(approval, no(), by, None)).await?;
            }
        }
        Ok(())
    }

    /// The turn is cancelled: the model is not waited for.
    pub(super) fn stop(&mut self) {
        self.samples.abort_all();
    }

    /// The call is over: nobody waits for what it wanted.
    pub(super) fn forget(&mut self, index: usize) {
        self.questions.remove(&index);
    }

    /// The next answer of the model; waits forever when none is awaited. Safe to drop and call again.
    pub(super) async fn next_sample(&mut self) -> Sample {
        while let Some(sample) = self.samples.join_next().await {
            if let Ok(sample) = sample {
                return sample;
            }
        }
        std::future::pending().await
    }
}

impl Sample {
    /// Records what the model said, and hands it to the call.
    pub(super) async fn record(self, session: &mut Session) -> Result<(), Stop> {
        let response = match self.answer {
            Ok(response) => response,
            Err(error) => {
                let _ = self.reply.send(Err(error.to_string()));
                return Ok(());
            }
        };
        let origin = response.content().and_then(|content| content.origin.clone());
        let text = response.text();
        let content = Content { origin, ..Content::new(Role::Model, vec![Part::text(text.clone())]) };
        let usage = response.usage_metadata.clone();
        let candidate = response.candidates.into_iter().next();
        let (finish, citations) =
            candidate.map(|candidate| (candidate.finish_reason, candidate.citations)).unwrap_or_default();
        let fact = Sampled {
            turn: session.ledger.conversation.past.count,
            call: self.call,
            content: Arc::new(content),
            citations: citations.clone(),
            usage,
        };
        session.ledger.commit_one(Fact::Sampled(Box::new(fact))).await?;
        for citation in &citations {
            session.ledger.show(TurnEvent::Citation(citation.clone()));
        }
        let _ = self.reply.send(Ok(SampleAnswer { model: self.model, text, citations, finish }));
        Ok(())
    }
}

fn no() -> Outcome {
    Outcome::Cancel { reason: None }
}

async fn sample(
    model: BoundModel,
    asked: SampleRequest,
    call: String,
    reply: oneshot::Sender<Result<SampleAnswer, String>>,
) -> Sample {
    let template = model.template;
    let request = GenerateRequest {
        contents: asked.contents,
        system_instruction: asked
            .system
            .map(|words| Arc::new(Content::new(Role::User, vec![Part::text(words)]))),
        max_output_tokens: Some(asked.max_tokens.clamp(1, MOST_TOKENS)),
        temperature: asked.temperature.or(template.temperature),
        stop_sequences: asked.stop,
        tools: asked.tools,
        ..template
    };
    let answer = model.generator.generate(&request).await;
    Sample { call, model: model.reference, answer, reply }
}
