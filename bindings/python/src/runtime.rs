//! The thread that sessions live on, and the way back into Python.

use std::future::Future;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use charla::Failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::failure::told;

/// The process that began the runtime, and the runtime. It is begun when something is first asked of it, so that a
/// program may fork before.
static RUNTIME: OnceLock<(u32, io::Result<Running>)> = OnceLock::new();

/// How long work that cannot be stopped may keep the program from its end.
const PATIENCE: Duration = Duration::from_secs(2);

/// A runtime on a thread of its own.
struct Running {
    handle: Handle,
    /// Ends it when dropped, and its thread; taken when the program is about to end.
    thread: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

fn start() -> io::Result<Running> {
    let runtime = Builder::new_current_thread().enable_all().thread_name("charla").build()?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    let run = move || {
        // Nothing is ever sent: its other end is dropped.
        let _ = runtime.block_on(ended);
        runtime.shutdown_timeout(PATIENCE);
    };
    let thread = thread::Builder::new().name("charla".to_owned()).spawn(run)?;
    Ok(Running { handle, thread: Mutex::new(Some((end, thread))) })
}

/// Ends what runs before the interpreter does: a thread that outlives it would touch what is no more.
pub(crate) fn shut_down(py: Python<'_>) {
    let Some((process, Ok(running))) = RUNTIME.get() else { return };
    if *process != std::process::id() {
        return;
    }
    let thread = running.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((end, thread)) = thread {
        drop(end);
        // It may be about to call into Python.
        py.detach(|| drop(thread.join()));
    }
}

/// The runtime of this process.
pub(crate) fn runtime() -> PyResult<&'static Handle> {
    match RUNTIME.get_or_init(|| (std::process::id(), start())) {
        // Threads do not survive a fork, and what they held at that moment is held for good.
        (process, _) if *process != std::process::id() => Err(PyRuntimeError::new_err(
            "this process was forked from one that uses charla, whose threads it does not have; start it with \
             multiprocessing's \"spawn\" or \"forkserver\" instead",
        )),
        (_, Ok(running)) if running.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none() => {
            Err(PyRuntimeError::new_err("the program is about to end"))
        }
        (_, Ok(running)) => Ok(&running.handle),
        (_, Err(error)) => Err(PyRuntimeError::new_err(format!("charla cannot start its threads: {error}"))),
    }
}

/// Does some work beside the interpreter and then calls `reply(True, value)`, or `reply(False, failure)` with the failure as
/// JSON. Nobody is called once the interpreter is about to end.
pub(crate) fn begin<T: Send + 'static>(
    reply: Py<PyAny>,
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<()> {
    runtime()?.spawn(async move {
        let done = work.await;
        in_python(move |py| {
            let called = match done {
                Ok(done) => value(py, done).and_then(|value| reply.call1(py, (true, value))),
                Err(failure) => reply.call1(py, (false, told(&failure))),
            };
            if let Err(error) = called {
                error.write_unraisable(py, None);
            }
        })
        .await;
    });
    Ok(())
}

/// Does something in Python, on a thread that may wait for the interpreter as long as it takes: sessions go on meanwhile.
/// Nothing is done once the interpreter is about to end.
pub(crate) async fn in_python<T: Send + 'static>(
    work: impl FnOnce(Python<'_>) -> T + Send + 'static,
) -> Option<T> {
    spawn_blocking(|| Python::try_attach(work)).await.ok().flatten()
}

/// A text as a Python value.
pub(crate) fn text(py: Python<'_>, text: String) -> PyResult<Py<PyAny>> {
    Ok(text.into_pyobject(py)?.into_any().unbind())
}

/// Nothing as a Python value.
pub(crate) fn nothing(py: Python<'_>, (): ()) -> PyResult<Py<PyAny>> {
    Ok(py.None())
}
