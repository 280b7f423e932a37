//! What a running call passes on of another session that works for it.

use charla_proto::{BoxFuture, Outcome, PassedQuestion, PassingOn};
use tokio::sync::{mpsc, oneshot};

/// Something that a running call passes on.
pub enum Passed {
    /// A question.
    Question {
        /// What is asked, and its id there.
        question: PassedQuestion,
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
pub(super) struct WayUp {
    pub(super) index: usize,
    /// Weak: a call that outlives its step finds nobody there.
    pub(super) passed: mpsc::WeakSender<(usize, Passed)>,
}

impl WayUp {
    fn send(&self, passed: Passed) -> BoxFuture<'static, ()> {
        let (index, sender) = (self.index, self.passed.upgrade());
        Box::pin(async move {
            if let Some(sender) = sender {
                // A step that is over hears nothing.
                let _ = sender.send((index, passed)).await;
            }
        })
    }
}

impl PassingOn for WayUp {
    fn pass_on(&self, question: PassedQuestion) -> BoxFuture<'static, Option<(Outcome, String)>> {
        let (reply, replied) = oneshot::channel();
        let sent = self.send(Passed::Question { question, reply });
        Box::pin(async move {
            sent.await;
            replied.await.ok()
        })
    }

    fn answered(&self, approval: String, outcome: Outcome, by: String) -> BoxFuture<'static, ()> {
        self.send(Passed::Answered { approval, outcome, by })
    }
}
