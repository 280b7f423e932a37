//! A checked call: what would happen, and doing it.

use std::sync::Arc;

use crate::tool::{Args, Plan, RunContext};
use crate::{Aside, Begun, BoxFuture, FileChange, ToolOutput};

/// One checked call, ready to run.
pub trait Invocation: Send + Sync {
    /// What would happen.
    fn plan(&self) -> &Plan;

    /// Takes what the person said to the questions of [`Preview::Questions`](crate::Preview::Questions). Called before
    /// [`Self::run`], and only for such a plan: answers never come through the arguments, where a model could make them up.
    fn answered(&mut self, _answers: Vec<String>) {}

    /// Takes the way to the session that it may ask while it runs. Called before [`Self::run`], where there is such a way.
    fn attended(&mut self, _aside: Arc<dyn Aside>) {}

    /// The arguments with which the same call would give its file exactly this content; `None` for calls that
    /// write no file. A person who edits what a call would write approves a call with these.
    fn args_for_content(&self, _content: &str) -> Option<Args> {
        None
    }

    /// The file changes it is about to make, as far as they are known. They are recorded before it runs.
    fn changes(&self) -> Vec<FileChange> {
        Vec::new()
    }

    /// Takes what a call needs that has another session work for it. Called before [`Self::run`].
    fn begins(&mut self, _begun: Begun) {}

    /// Does it. Always comes back with an output, cancelled or not.
    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput>;
}

type Work = Box<dyn FnOnce(RunContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A checked call as most tools make it: its plan and the work it stands for.
pub struct Prepared {
    plan: Plan,
    work: Work,
}

impl Prepared {
    /// A call that does this work.
    pub fn boxed<F>(
        plan: Plan,
        work: impl FnOnce(RunContext) -> F + Send + Sync + 'static,
    ) -> Box<dyn Invocation>
    where
        F: Future<Output = ToolOutput> + Send + 'static,
    {
        Box::new(Self { plan, work: Box::new(|cx| Box::pin(work(cx))) })
    }
}

impl Invocation for Prepared {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        (self.work)(cx)
    }
}
