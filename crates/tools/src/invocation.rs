//! Plans as most tools here make them, and running blocking work under a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use charla_proto::{
    Args, BoxFuture, Display, Effect, Lane, Part, Plan, Preview, ToolError, ToolErrorKind, ToolOutput,
};

/// How long after its limit a task that does not look at its [`StopSignal`] is waited for.
const GRACE: Duration = Duration::from_secs(2);

/// The plan of a call that only reads.
pub(crate) fn read_plan(tool: &str, title: String, effects: Vec<Effect>) -> Plan {
    Plan {
        tool: tool.to_owned(),
        args: Args::new(),
        title,
        effects,
        preview: Preview::None,
        lane: Lane::Shared,
    }
}

/// The plan of a call that changes something.
pub(crate) fn write_plan(tool: &str, title: String, effects: Vec<Effect>, preview: Preview) -> Plan {
    Plan { tool: tool.to_owned(), args: Args::new(), title, effects, preview, lane: Lane::Exclusive }
}

/// Words for the model, and others for the person.
pub(crate) fn text_output(text: impl Into<String>, display: impl Into<String>) -> ToolOutput {
    ToolOutput {
        content: vec![Part::text(text)],
        display: Some(Display::text(display)),
        ..ToolOutput::default()
    }
}

/// Tells long work when to end: the user cancelled, or its time is up.
#[derive(Clone)]
pub(crate) struct StopSignal {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl StopSignal {
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
struct CancelOnDrop(StopSignal);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Runs reading work on a thread where it may block. Cancelling comes back at once; the thread ends when it
/// next looks at its [`StopSignal`].
pub(crate) async fn read_within(
    limit: Duration,
    cancelled: BoxFuture<'static, ()>,
    work: impl FnOnce(&StopSignal) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> ToolOutput {
    let stop = StopSignal::after(limit);
    let seen = stop.clone();
    read_until(stop, limit, cancelled, Box::new(move || work(&seen))).await
}

/// Work on a thread where it may block. What runs it is compiled once for each kind of result, not for each work.
type Blocking<T> = Box<dyn FnOnce() -> Result<T, ToolError> + Send>;

async fn read_until(
    stop: StopSignal,
    limit: Duration,
    cancelled: BoxFuture<'static, ()>,
    work: Blocking<ToolOutput>,
) -> ToolOutput {
    let _guard = CancelOnDrop(stop);
    let task = tokio::task::spawn_blocking(work);
    tokio::select! {
        done = task => flatten(done),
        () = cancelled => was_cancelled(),
        () = tokio::time::sleep(limit + GRACE) => ToolOutput::failed(ToolError::new(
            ToolErrorKind::TimedOut,
            format!("Given up after {} seconds: the file system does not answer.", limit.as_secs()),
        )),
    }
}

/// What a call that the user cancelled gives.
pub(crate) fn was_cancelled() -> ToolOutput {
    ToolOutput::failed(ToolError::new(ToolErrorKind::Cancelled, "Cancelled by the user."))
}

/// Runs changing work on a thread where it may block. Once begun it is not cancelled: it is short, and half
/// of a change helps nobody.
pub(crate) async fn change(
    work: impl FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
) -> ToolOutput {
    flatten(tokio::task::spawn_blocking(Box::new(work) as Blocking<ToolOutput>).await)
}

/// Runs the checks of a call on a thread where they may block.
pub(crate) async fn check<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(Box::new(work) as Blocking<T>).await.unwrap_or_else(|_| Err(bug()))
}

fn flatten(done: Result<Result<ToolOutput, ToolError>, tokio::task::JoinError>) -> ToolOutput {
    match done {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => ToolOutput::failed(error),
        Err(_) => ToolOutput::failed(bug()),
    }
}

fn bug() -> ToolError {
    ToolError::new(ToolErrorKind::Internal, "The tool failed inside; this is a bug in the tool.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_sees_that_its_time_is_up_and_gives_what_it_has() {
        let output = read_within(Duration::ZERO, Box::pin(std::future::pending()), |stop| {
            assert!(stop.now() && stop.is_late() && !stop.is_cancelled());
            Ok(text_output("half", "half"))
        });
        assert_eq!(output.await.content, [Part::text("half")]);
    }

    #[tokio::test]
    async fn work_whose_caller_is_gone_is_told_to_stop() {
        let (send, receive) = std::sync::mpsc::channel();
        let begun = Arc::new(tokio::sync::Notify::new());
        let started = begun.clone();
        let work = read_within(Duration::from_secs(60), Box::pin(std::future::pending()), move |stop| {
            started.notify_one();
            while !stop.now() {
                std::thread::yield_now();
            }
            let _ = send.send(stop.is_cancelled());
            Ok(ToolOutput::default())
        });
        let task = tokio::spawn(work);
        begun.notified().await;
        task.abort();
        assert!(tokio::task::spawn_blocking(move || receive.recv().unwrap()).await.unwrap());
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error() {
        let output = change(|| panic!("a bug")).await;
        assert_eq!(output.error.unwrap().kind, ToolErrorKind::Internal);
    }
}
