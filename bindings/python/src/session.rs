//! A session, and one turn of it.

use std::sync::{Arc, Mutex, PoisonError};

use charla::proto::{Refusal, Reply};
use charla::{Attached, Command, Failure, OpenedSession, TurnEvent};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use crate::failure::value;
use crate::runtime::{begin, nothing, text};

/// Who speaks for a Python program.
const PROGRAM: &str = "program";
/// So many events may wait for a program that is busy; more are left with the session, which loses no fact.
const WAITING: usize = 256;

/// A running session.
#[pyclass(frozen)]
pub(crate) struct Session {
    opened: Arc<OpenedSession>,
    notices: Vec<String>,
    /// As long as it is there, questions wait for the program.
    client: Mutex<Option<Attached>>,
}

impl Session {
    pub(crate) fn new(opened: OpenedSession, notices: Vec<String>, asks: bool) -> Self {
        let client = Mutex::new(asks.then(|| opened.attach()));
        Self { opened: Arc::new(opened), notices, client }
    }
}

#[pymethods]
impl Session {
    #[getter]
    fn id(&self) -> &str {
        &self.opened.id
    }

    #[getter]
    fn model(&self) -> &str {
        &self.opened.model
    }

    #[getter]
    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    /// Says something and replies with the turn that comes of it.
    fn prompt(&self, prompt: String, reply: Py<PyAny>) -> PyResult<()> {
        let opened = self.opened.clone();
        let work = async move {
            let mut events = opened.turn(&prompt).await?;
            let (sender, waiting) = mpsc::channel(WAITING);
            tokio::spawn(async move {
                while let Some(event) = events.next().await {
                    if sender.send(event).await.is_err() {
                        break;
                    }
                }
            });
            Ok(Turn { waiting: Arc::new(AsyncMutex::new(waiting)) })
        };
        begin(reply, work, |py, turn| Ok(Py::new(py, turn)?.into_any()))
    }

    /// Asks something of the session, a command as JSON, and replies with what came of it.
    fn send(&self, command: &str, reply: Py<PyAny>) -> PyResult<()> {
        let command: Command =
            serde_json::from_str(command).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let opened = self.opened.clone();
        let work = async move {
            match opened.send(command, PROGRAM).await {
                Reply::Refused(refusal) => Err(refused(&refusal)),
                done => serde_json::to_string(&done).map_err(|error| Failure::system(error.to_string())),
            }
        };
        begin(reply, work, text)
    }

    /// Ends the session after its turn, and what its tools left running. Questions wait for nobody any more.
    fn close(&self, reply: Py<PyAny>) -> PyResult<()> {
        drop(self.client.lock().unwrap_or_else(PoisonError::into_inner).take());
        let opened = self.opened.clone();
        let work = async move {
            opened.close().await;
            Ok(())
        };
        begin(reply, work, nothing)
    }
}

fn refused(refusal: &Refusal) -> Failure {
    Failure::conflict(refusal.to_string())
}

/// What comes of a prompt.
#[pyclass(frozen)]
pub(crate) struct Turn {
    waiting: Arc<AsyncMutex<mpsc::Receiver<TurnEvent>>>,
}

/// Events, and how the turn ended if they end it without an answer.
#[derive(Serialize)]
struct Batch {
    events: Vec<TurnEvent>,
    failure: Option<serde_json::Value>,
}

#[pymethods]
impl Turn {
    /// Replies with the events that have come, as JSON, once there is one; none are left when there is none.
    fn next(&self, reply: Py<PyAny>) -> PyResult<()> {
        let waiting = self.waiting.clone();
        let work = async move {
            let mut events = Vec::new();
            waiting.lock().await.recv_many(&mut events, WAITING).await;
            let failure = events.iter().find_map(Failure::of_turn).as_ref().map(value);
            serde_json::to_string(&Batch { events, failure })
                .map_err(|error| Failure::system(error.to_string()))
        };
        begin(reply, work, text)
    }
}
