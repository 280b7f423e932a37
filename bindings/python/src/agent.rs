//! One user's sessions.

use std::collections::HashMap;
use std::path::PathBuf;

use charla::settings::Override;
use charla::{Begin, Charla, Environment, Failure, Notice, OpenRequest, RunOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::notice;
use crate::runtime::{begin, text};
use crate::session::Session;
use crate::tool::{Handed, tool};

/// What an agent is told of its surroundings.
#[derive(Deserialize)]
struct Surroundings {
    variables: HashMap<String, String>,
    workspace: PathBuf,
    home: Option<PathBuf>,
    temporary: PathBuf,
}

/// What a session is opened with.
#[derive(Deserialize)]
struct Wishes {
    /// Settings that hold for this session, in the form of a settings file.
    settings: Map<String, Value>,
    /// The session to go on with; a new one without.
    resume: Option<String>,
    /// The settings name a model, which counts more than the one that the session had.
    other_model: bool,
    /// Tools that run without asking.
    allow: Vec<String>,
    /// Files of rules.
    rules: Vec<PathBuf>,
    /// Further folders of the workspace.
    folders: Vec<PathBuf>,
    /// A text behind the system prompt.
    instructions: Option<String>,
    /// Somebody answers questions.
    asks: bool,
    /// Tools are offered at all.
    offers_tools: bool,
}

impl Wishes {
    fn request(self, tools: Vec<Handed>) -> PyResult<OpenRequest> {
        let unusable = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let tools = tools.into_iter().map(tool).collect::<Result<_, _>>().map_err(unusable)?;
        Ok(OpenRequest {
            overrides: vec![Override {
                key: &[],
                value: Value::Object(self.settings),
                source: "the program",
            }],
            begin: self.resume.map_or(Begin::New, Begin::Resume),
            other_model: self.other_model,
            options: RunOptions {
                allowed_tools: self.allow,
                rule_files: self.rules,
                directories: self.folders,
                added_prompt: self.instructions,
                no_tools: !self.offers_tools,
                how_to_allow: Some(
                    "in the program, with its arguments `allow`, `mode` or `approve`".to_owned(),
                ),
                ..RunOptions::default()
            },
            tools,
            ..OpenRequest::default()
        })
    }
}

/// One user's sessions, in one workspace.
#[pyclass(frozen)]
pub(crate) struct Agent {
    charla: Charla,
}

#[pymethods]
impl Agent {
    #[new]
    fn new(surroundings: &str) -> PyResult<Self> {
        let told: Surroundings =
            serde_json::from_str(surroundings).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut environment = Environment::of(told.variables);
        environment.directory = told.workspace;
        environment.home = told.home;
        environment.temporary = told.temporary;
        Ok(Self { charla: Charla::new(environment) })
    }

    /// Opens a session and replies with it.
    fn open(&self, wishes: &str, tools: Vec<Handed>, reply: Py<PyAny>) -> PyResult<()> {
        let wishes: Wishes =
            serde_json::from_str(wishes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let asks = wishes.asks;
        let request = wishes.request(tools)?;
        let charla = self.charla.clone();
        let work = async move {
            let mut notices: Vec<Notice> = Vec::new();
            let opened = charla.open(request, &mut notices).await?;
            Ok(Session::new(opened, notices.iter().map(notice).collect(), asks))
        };
        begin(reply, work, |py, session| Ok(Py::new(py, session)?.into_any()))
    }

    /// Replies with the sessions that are kept, the latest first, as JSON.
    fn sessions(&self, reply: Py<PyAny>) -> PyResult<()> {
        let charla = self.charla.clone();
        let work = async move {
            let list = charla.sessions().map_err(Failure::from)?.list().await.map_err(Failure::from)?;
            serde_json::to_string(&list.sessions).map_err(|error| Failure::system(error.to_string()))
        };
        begin(reply, work, text)
    }
}
