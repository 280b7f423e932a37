//! A checked call as the tools here make it.

use charla_proto::{
    Args, BoxFuture, Effect, Invocation, Lane, Plan, Preview, RunContext, ToolError, ToolErrorKind,
    ToolOutput,
};

type Work = Box<dyn FnOnce(RunContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A plan, and the work it stands for.
pub(crate) struct Prepared {
    plan: Plan,
    work: Work,
}

impl Prepared {
    pub(crate) fn boxed<F>(
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

/// The plan of a call with these effects.
pub(crate) fn plan(tool: &str, title: String, effects: Vec<Effect>, lane: Lane) -> Plan {
    Plan { tool: tool.to_owned(), args: Args::new(), title, effects, preview: Preview::None, lane }
}

/// Does the work unless the user cancels it.
pub(crate) async fn unless_cancelled(
    cancelled: BoxFuture<'static, ()>,
    work: impl Future<Output = ToolOutput>,
) -> ToolOutput {
    tokio::select! {
        output = work => output,
        () = cancelled => ToolOutput::failed(ToolError::new(
            ToolErrorKind::Cancelled,
            "Cancelled by the user. What the server had done until then is not known.",
        )),
    }
}
