//! Questions of a session that are put to the editor's user. Dropped, nobody waits for their answers.

use std::collections::HashMap;
use std::sync::Arc;

use charla_core::session::SessionHandle;
use charla_proto::CallAsked;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};

use crate::ME;
use crate::permission::Asking;

/// The questions that wait.
#[derive(Default)]
pub(crate) struct Questions {
    tasks: JoinSet<()>,
    /// Those that were put, by approval.
    put: HashMap<String, AbortHandle>,
    /// Those of a replay that have no answer yet, with the calls as they are shown.
    waiting: Vec<(CallAsked, Value)>,
}

impl Questions {
    /// It has no answer as far as the replay has come.
    pub(crate) fn wait(&mut self, asked: CallAsked, shown: Value) {
        self.waiting.push((asked, shown));
    }

    /// The questions of the replay that nobody has answered.
    pub(crate) fn unanswered(&mut self) -> Vec<(CallAsked, Value)> {
        std::mem::take(&mut self.waiting)
    }

    /// Puts a question. Whoever answers first has answered.
    pub(crate) fn put(
        &mut self,
        asked: CallAsked,
        shown: Value,
        asking: Arc<Asking>,
        session: SessionHandle,
    ) {
        let approval = asked.approval.clone();
        let task = self.tasks.spawn(async move {
            if let Some(outcome) = asking.ask(&asked.confirmation, shown).await {
                // Somebody else may have been quicker: then theirs counts.
                let _ = session.answer(&asked.approval, outcome, ME).await;
            }
        });
        self.put.insert(approval, task);
        // What is done is forgotten.
        while self.tasks.try_join_next().is_some() {}
    }

    /// It has its answer.
    pub(crate) fn close(&mut self, approval: &str) {
        self.waiting.retain(|(asked, _)| asked.approval != approval);
        if let Some(task) = self.put.remove(approval) {
            task.abort();
        }
    }

    /// The call is over: nobody needs to say anything about it.
    pub(crate) fn close_of(&mut self, call: &str) {
        self.waiting.retain(|(asked, _)| asked.call != call);
    }

    /// The turn is over.
    pub(crate) fn close_all(&mut self) {
        self.waiting.clear();
        self.put.drain().for_each(|(_, task)| task.abort());
    }
}
