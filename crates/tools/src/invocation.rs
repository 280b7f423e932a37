//! The one kind of checked call all tools here make, and running blocking work under a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use charla_proto::{
    BoxFuture, Effect, Invocation, Lane, Part, Plan, Preview, RunContext, ToolError, ToolOutput,
};

/// How long after its limit a task that does not look at its [`Stop`] is waited for.
const GRACE: Duration = Duration::from_secs(2);

type Work = Box<dyn FnOnce(RunContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A checked call: its plan and the work it stands for.
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

/// The plan of a call that only reads.
pub(crate) fn reading(tool: &str, title: String, effects: Vec<Effect>) -> Plan {
    Plan { tool: tool.to_owned(), title, effects, preview: Preview::None, lane: Lane::Shared }
}

/// The plan of a call that changes something.
pub(crate) fn changing(tool: &str, title: String, effects: Vec<Effect>, preview: Preview) -> Plan {
    Plan { tool: tool.to_owned(), title, effects, preview, lane: Lane::Exclusive }
}

/// An error of a kind with its words.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> ToolError {
    ToolError { kind: kind.to_owned(), message: message.into() }
}

/// The output of a call that failed.
pub(crate) fn failed(error: ToolError) -> ToolOutput {
    ToolOutput { error: Some(error), ..ToolOutput::default() }
}

/// Words for the model, and others for the person.
pub(crate) fn said(text: impl Into<String>, display: impl Into<String>) -> ToolOutput {
    ToolOutput {
        content: vec![Part::text(text)],
        display: Some(display.into()),
        error: None,
        changes: Vec::new(),
    }
}

/// Tells long work when to end: the user cancelled, or its time is up.
#[derive(Clone)]
pub(crate) struct Stop {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl Stop {
    fn after(limit: Duration) -> Self {
        Self { cancelled: Arc::new(AtomicBool::new(false)), deadline: Instant::now() + limit }
    }

    /// True when there is no point in going on.
    pub(crate) fn now(&self) -> bool {
        self.is_cancelled() || self.is_late()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Sets the flag when it goes, so that work whose caller is dropped ends too.
struct CancelOnDrop(Stop);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Runs reading work on a thread where it may block. Cancelling comes back at once; the thread ends when it
/// next looks at its [`Stop`].
pub(crate) async fn read_within(
    limit: Duration,
    cancelled: BoxFuture<'static, ()>,
    work: impl FnOnce(&Stop) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> ToolOutput {
    let stop = Stop::after(limit);
    let _guard = CancelOnDrop(stop.clone());
    let seen = stop.clone();
    let task = tokio::task::spawn_blocking(move || work(&seen));
    tokio::select! {
        done = task => flatten(done),
        () = cancelled => failed(failure("cancelled", "Cancelled by the user.")),
        () = tokio::time::sleep(limit + GRACE) => failed(failure(
            "timeout",
            format!("Given up after {} seconds: the file system does not answer.", limit.as_secs()),
        )),
    }
}

/// Runs changing work on a thread where it may block. Once begun it is not cancelled: it is short, and half
/// of a change helps nobody.
pub(crate) async fn change(
    work: impl FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
) -> ToolOutput {
    flatten(tokio::task::spawn_blocking(work).await)
}

/// Runs the checks of a call on a thread where they may block.
pub(crate) async fn check<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(bug()))
}

fn flatten(done: Result<Result<ToolOutput, ToolError>, tokio::task::JoinError>) -> ToolOutput {
    match done {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => failed(error),
        Err(_) => failed(bug()),
    }
}

fn bug() -> ToolError {
    failure("internal", "The tool failed inside; this is a bug in the tool.")
}
