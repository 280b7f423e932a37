//! What can be chosen for a session: its mode and its model.

use std::sync::{Mutex, MutexGuard, PoisonError};

use charla::Environment;
use charla::models::survey::survey;
use charla::settings::Settings;
use charla_proto::{ApprovalMode, Choices};
use serde_json::{Value, json};

/// The choices of a session, as its records tell them.
pub(crate) struct Options {
    state: Mutex<State>,
}

struct State {
    choices: Choices,
    /// Models that are ready.
    models: Vec<String>,
}

impl Options {
    pub(crate) fn new(choices: Choices) -> Self {
        Self { state: Mutex::new(State { choices, models: Vec::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_mode(&self, mode: ApprovalMode) {
        self.state().choices.mode = mode;
    }

    pub(crate) fn set_model(&self, model: &str) {
        self.state().choices.model = model.to_owned();
    }

    /// Finds out which models are ready; true when there are others than before.
    pub(crate) async fn find_models(&self, settings: &Settings, environment: &Environment) -> bool {
        let rows = survey(settings, environment).await;
        let ready = rows.iter().filter(|row| row.state.is_ok());
        let models: Vec<String> = ready
            .flat_map(|row| row.models.iter().map(|model| format!("{}/{model}", row.entry.name)))
            .collect();
        let mut state = self.state();
        let is_news = state.models != models;
        state.models = models;
        is_news
    }

    /// The modes, for editors that have a place for nothing else.
    pub(crate) fn modes(&self) -> Value {
        let mode = |mode: &ApprovalMode| {
            let (name, about) = about(*mode);
            json!({"id": mode.to_string(), "name": name, "description": about})
        };
        let modes: Vec<Value> = ApprovalMode::ALL.iter().map(mode).collect();
        json!({"currentModeId": self.state().choices.mode.to_string(), "availableModes": modes})
    }

    /// Everything that can be chosen.
    pub(crate) fn all(&self) -> Value {
        let state = self.state();
        let modes = ApprovalMode::ALL.iter().map(|mode| {
            let (name, about) = about(*mode);
            json!({"value": mode.to_string(), "name": name, "description": about})
        });
        let current = &state.choices.model;
        // One that is in no list answers all the same.
        let listed = state.models.iter().filter(|model| *model != current);
        let models = std::iter::once(current).chain(listed);
        let models = models.map(|model| json!({"value": model, "name": model}));
        json!([
            {
                "id": "mode", "name": "Mode", "category": "mode", "type": "select",
                "description": "What runs without asking",
                "currentValue": state.choices.mode.to_string(), "options": modes.collect::<Vec<_>>(),
            },
            {
                "id": "model", "name": "Model", "category": "model", "type": "select",
                "description": "Which model answers",
                "currentValue": current, "options": models.collect::<Vec<_>>(),
            },
        ])
    }
}

/// The mode of this name.
pub(crate) fn mode(name: &str) -> Option<ApprovalMode> {
    ApprovalMode::ALL.into_iter().find(|mode| mode.to_string() == name)
}

fn about(mode: ApprovalMode) -> (&'static str, &'static str) {
    match mode {
        ApprovalMode::Plan => ("Plan", "Nothing is written or run"),
        ApprovalMode::Default => ("Default", "Reading is free, everything else asks"),
        ApprovalMode::AutoEdit => ("Auto edit", "Editing files of the workspace is free, too"),
        ApprovalMode::Yolo => ("Yolo", "Nothing asks; what a rule denies stays denied"),
    }
}
