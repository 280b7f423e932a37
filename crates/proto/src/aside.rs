//! What a running call may ask of its session: a word of the person, an answer of the model.

use std::sync::Arc;

use crate::tool::Plan;
use crate::{BoxFuture, Citation, Content, FinishReason, Tool};

/// The way from a running call to its session. What is asked is judged, shown and recorded like any other question.
pub trait Aside: Send + Sync {
    /// Asks whether this may happen, or what its questions ask. Rules may answer in the person's place, but to questions;
    /// with nobody there the answer is no.
    fn ask(&self, plan: Plan) -> BoxFuture<'static, AsideAnswer>;

    /// Asks the session's model, without tools of ours. It is not asked about: whoever calls this has asked before.
    fn sample(&self, request: SampleRequest) -> BoxFuture<'static, Result<SampleAnswer, String>>;
}

/// What came of a question that a running call asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsideAnswer {
    /// It may happen.
    Allowed,
    /// What the person said to the questions, in their order.
    Answers(Vec<String>),
    /// A person or a rule says no, perhaps with a reason.
    Refused(Option<String>),
    /// Nobody is there, or nobody wants to know any more.
    Nobody,
}

/// What a running call asks the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleRequest {
    /// The conversation, oldest first.
    pub contents: Vec<Arc<Content>>,
    /// Standing instructions.
    pub system: Option<String>,
    /// Most tokens to produce.
    pub max_tokens: u32,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// Tools that its provider runs, such as a search; never ours.
    pub tools: Vec<Tool>,
}

/// What the model said to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleAnswer {
    /// `provider/model` that was asked.
    pub model: String,
    /// Its words.
    pub text: String,
    /// The sources it names.
    pub citations: Vec<Citation>,
    /// Why it ended.
    pub finish: Option<FinishReason>,
}
