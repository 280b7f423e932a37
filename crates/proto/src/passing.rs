//! Questions that a running call passes on: those of another session that works for it.

use std::sync::Arc;

use crate::{BoxFuture, Confirmation, Outcome};

/// What a call is told that begins to run.
#[derive(Clone)]
pub struct Begun {
    /// Its id.
    pub call: String,
    /// An earlier process left it running.
    pub again: bool,
    /// A question that it had passed on then and that was answered since: its id in the other session, the answer, and whose.
    pub answered: Option<(String, Outcome, String)>,
    /// The way to those who are asked.
    pub asked: Arc<dyn PassingOn>,
}

/// A question of another session.
#[derive(Clone, Debug, PartialEq)]
pub struct PassedQuestion {
    /// Its id there.
    pub approval: String,
    /// What a person is shown.
    pub confirmation: Confirmation,
}

/// The way from a running call to those who are asked.
pub trait PassingOn: Send + Sync {
    /// Puts a question of another session to them. Comes back with the answer and whose it is; with nothing where the call is
    /// over.
    fn pass_on(&self, question: PassedQuestion) -> BoxFuture<'static, Option<(Outcome, String)>>;

    /// The question of this id was answered there: nobody need answer it here.
    fn answered(&self, approval: String, outcome: Outcome, by: String) -> BoxFuture<'static, ()>;
}
