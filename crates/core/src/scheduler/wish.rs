//! What a running call wants of its session.

use charla_proto::{
    Aside, AsideAnswer, BoxFuture, Outcome, PassedQuestion, PassingOn, Plan, SampleAnswer, SampleRequest,
};
use tokio::sync::{mpsc, oneshot};

/// Something a running call wants, and where it waits for it.
pub enum Wish {
    /// The word of a person, or of a rule.
    Ask {
        /// What would happen, or what is asked.
        plan: Box<Plan>,
        /// Where the answer goes.
        reply: oneshot::Sender<AsideAnswer>,
    },
    /// An answer of the model.
    Sample {
        /// What it is asked.
        request: Box<SampleRequest>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<SampleAnswer, String>>,
    },
    /// That what another session says be passed on.
    Pass(Passed),
}

/// What a running call passes on of another session that works for it.
pub enum Passed {
    /// A question.
    Question {
        /// What is asked, and its id there.
        question: Box<PassedQuestion>,
        /// Where the answer goes, and whose it is.
        reply: oneshot::Sender<(Outcome, String)>,
    },
    /// A question was answered there.
    Answered {
        /// Its id there.
        approval: String,
        /// The answer.
        outcome: Outcome,
        /// Whose it is.
        by: String,
    },
}

/// The way from a running call to its session.
pub(super) struct WayToSession {
    pub(super) index: usize,
    /// Weak: a call that outlives its step finds nobody there.
    pub(super) wishes: mpsc::WeakSender<(usize, Wish)>,
}

impl WayToSession {
    /// Says what is wanted; false where nobody is there.
    fn send(&self, wish: Wish) -> BoxFuture<'static, bool> {
        let (index, wishes) = (self.index, self.wishes.clone());
        Box::pin(async move {
            let Some(wishes) = wishes.upgrade() else { return false };
            wishes.send((index, wish)).await.is_ok()
        })
    }
}

impl Aside for WayToSession {
    fn ask(&self, plan: Plan) -> BoxFuture<'static, AsideAnswer> {
        let (reply, replied) = oneshot::channel();
        let sent = self.send(Wish::Ask { plan: Box::new(plan), reply });
        Box::pin(async move {
            sent.await;
            replied.await.unwrap_or(AsideAnswer::Nobody)
        })
    }

    fn sample(&self, request: SampleRequest) -> BoxFuture<'static, Result<SampleAnswer, String>> {
        let (reply, replied) = oneshot::channel();
        let sent = self.send(Wish::Sample { request: Box::new(request), reply });
        Box::pin(async move {
            sent.await;
            replied.await.unwrap_or_else(|_| Err("the call is over".to_owned()))
        })
    }
}

impl PassingOn for WayToSession {
    fn pass_on(&self, question: PassedQuestion) -> BoxFuture<'static, Option<(Outcome, String)>> {
        let (reply, replied) = oneshot::channel();
        let sent = self.send(Wish::Pass(Passed::Question { question: Box::new(question), reply }));
        Box::pin(async move {
            sent.await;
            replied.await.ok()
        })
    }

    fn answered(&self, approval: String, outcome: Outcome, by: String) -> BoxFuture<'static, ()> {
        let sent = self.send(Wish::Pass(Passed::Answered { approval, outcome, by }));
        Box::pin(async move {
            // A step that is over hears nothing.
            sent.await;
        })
    }
}
