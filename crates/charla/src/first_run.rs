//! A user's first run: what they may choose once, before anything is said.

use std::path::PathBuf;

use serde_json::json;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::models::survey::{Row, survey};
use crate::private_file;
use crate::settings::{self, Effective, Override, Settings};
use crate::trust::{Standing, TrustBook, TrustDemand, WorkspaceContent};

/// The file that says that it was done.
const MARK: &str = "welcomed";

/// The first run of a user who has chosen nothing yet.
#[derive(Clone)]
pub struct FirstRun {
    environment: Environment,
    /// What holds for this run beside the settings.
    overrides: Vec<Override>,
    mark: PathBuf,
}

impl FirstRun {
    /// It, if this is one: no model is named and none is replayed, the settings do not forbid it, and there is a home without
    /// its mark.
    pub fn of(environment: &Environment, settings: &Settings, overrides: Vec<Override>) -> Option<Self> {
        let mark = environment.charla_home()?.join(MARK);
        let is_chosen = settings.model.name.is_some() || settings.model.responses.replay.is_some();
        let is_wanted = !is_chosen && settings.terminal.setup.unwrap_or(true);
        (is_wanted && !mark.exists()).then(|| Self { environment: environment.clone(), overrides, mark })
    }

    /// What is ready here: keys, servers, the built-in model.
    pub async fn survey(&self) -> Result<Vec<Row>, Failure> {
        let settings = self.settings()?.settings;
        let rows = survey(&settings, &self.environment).await;
        Ok(rows.into_iter().filter(|row| row.state.is_ok()).collect())
    }

    /// Keeps a model as the one that answers, in the user's settings.
    pub fn keep_model(&self, model: &str) -> Result<PathBuf, Failure> {
        settings::keep(&self.environment, &["model", "name"], &json!(model))
    }

    /// What the workspace brings that its user was never asked about.
    pub fn untrusted(&self) -> Result<Option<WorkspaceContent>, Failure> {
        let content = WorkspaceContent::read(&self.environment);
        let is_new = content.known(&self.environment)? == Standing::Unknown;
        Ok(is_new.then_some(content))
    }

    /// Trusts exactly this content of the workspace.
    pub fn trust(&self, content: &WorkspaceContent) -> Result<(), Failure> {
        match TrustBook::of(&self.environment) {
            Some(book) => book.trust(&self.environment.directory, content.hash()),
            None => Err(Failure::config("there is no home directory to remember trust in")),
        }
    }

    /// The settings that hold by what was chosen so far.
    pub fn settings(&self) -> Result<Effective, Failure> {
        settings::load_trusting(&self.environment, self.overrides.clone(), &TrustDemand::default())
    }

    /// It is over and does not come again. Where that cannot be kept, it does.
    pub fn done(&self) {
        let _ = private_file::write(&self.mark, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_once_and_only_to_whom_has_chosen_nothing() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let first = |settings: &Settings| FirstRun::of(&environment, settings, Vec::new());
        let mut chosen = Settings::default();
        chosen.model.name = Some("a/b".to_owned());
        let mut unwanted = Settings::default();
        unwanted.terminal.setup = Some(false);
        let mut replayed = Settings::default();
        replayed.model.responses.replay = Some("answers.jsonl".into());
        assert!([chosen, unwanted, replayed].iter().all(|settings| first(settings).is_none()));
        let run = first(&Settings::default()).unwrap();
        let file = run.keep_model("openai/x").unwrap();
        assert!(std::fs::read_to_string(file).unwrap().contains("\"openai/x\""));
        assert_eq!(run.settings().unwrap().settings.model.name.as_deref(), Some("openai/x"));
        run.done();
        assert!(first(&Settings::default()).is_none());
    }
}
