//! Tools that are Python functions.

use std::sync::{Arc, Mutex, PoisonError};

use charla::FunctionTool;
use charla::proto::tool::Tool;
use pyo3::prelude::*;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::runtime::in_python;

/// A tool as the package hands it over: its name, what it does, the JSON Schema of its arguments, and what is called.
pub(crate) type Handed = (String, String, String, Py<PyAny>);

type Said = Result<String, String>;

/// The tool of a Python callable. It is called with the arguments as JSON and with what takes the answer, and gives back
/// what stops it. It must not take long: the package puts the work on its event loop.
pub(crate) fn tool((name, description, schema, call): Handed) -> Result<Arc<dyn Tool>, serde_json::Error> {
    let schema: Value = serde_json::from_str(&schema)?;
    let call = Arc::new(call);
    let run = move |args| run(call.clone(), Value::Object(args));
    Ok(Arc::new(FunctionTool::new(&name, &description, schema, run)))
}

async fn run(call: Arc<Py<PyAny>>, args: Value) -> Said {
    let (sender, answer) = oneshot::channel();
    let begun = in_python(move |py| {
        let answer = Py::new(py, Answer(Mutex::new(Some(sender))))?;
        call.call1(py, (args.to_string(), answer))
    });
    let _running = match begun.await {
        Some(Ok(stop)) => Running(Some(stop)),
        Some(Err(error)) => return Err(error.to_string()),
        None => return Err("the program ends".to_owned()),
    };
    answer.await.unwrap_or_else(|_| Err("the tool gave no answer".to_owned()))
}

/// Takes what a tool says, once.
#[pyclass(frozen)]
struct Answer(Mutex<Option<oneshot::Sender<Said>>>);

#[pymethods]
impl Answer {
    fn __call__(&self, done: bool, text: String) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // Whoever asked may have gone.
            let _ = sender.send(if done { Ok(text) } else { Err(text) });
        }
    }
}

/// A call that is stopped when nobody waits for it any more; one that is over does not mind.
struct Running(Option<Py<PyAny>>);

impl Drop for Running {
    fn drop(&mut self) {
        let Some(stop) = self.0.take() else { return };
        let stopping = in_python(move |py| {
            if let Err(error) = stop.call0(py) {
                error.write_unraisable(py, None);
            }
        });
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(stopping);
        }
    }
}
