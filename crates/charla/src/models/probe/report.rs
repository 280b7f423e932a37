//! A model asked afresh, and all that was found out.

use charla_providers::layers::ToolMode;
use charla_providers::probe::Finding;

use super::{Findings, Kept, ask, is_unknown, with_progress};
use crate::clock::seconds;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::models::{Choice, Chooser};
use crate::network;
use crate::notices::Notices;
use crate::settings::{Settings, without_secrets};

/// The address of the engine.
const STARTED: &str = "started when it is needed";

/// What is known of a model, and how it was found out.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// `provider/model`.
    pub reference: String,
    /// Where it is.
    pub address: String,
    /// How it is spoken to.
    pub wire: &'static str,
    /// The kind of its server.
    pub server: Option<&'static str>,
    /// Its window in tokens, and who says so.
    pub window: Option<(u32, &'static str)>,
    /// How tools are called in a run, and why.
    pub tools: (ToolMode, String),
    /// What the exchange showed; `None` when there was none.
    pub finding: Option<Finding>,
    /// Where it is kept, or why not.
    pub kept: Result<String, String>,
}

impl ProbeReport {
    /// Asks the model that the settings name, or that a run would choose, whatever is kept about it.
    pub async fn make(
        settings: &Settings,
        environment: &Environment,
        notices: &mut dyn Notices,
    ) -> Result<Self, Failure> {
        let chain = Chooser::new(settings, environment).chain().await?;
        chain.note.iter().for_each(|note| notices.note(note));
        match chain.first.is_built_in() {
            true => Ok(Self::of_built_in(&chain.first, settings)),
            false => Self::of_server(&chain.first, settings, environment, notices).await,
        }
    }

    /// Nothing has to be found out about the built-in model: the engine is set up for it.
    fn of_built_in(choice: &Choice, settings: &Settings) -> Self {
        let options = choice.engine().map(|engine| engine.options().window);
        let source = if settings.local.context_window.is_some() { "settings" } else { "built in" };
        Self {
            reference: choice.reference(),
            address: STARTED.to_owned(),
            wire: "openai-chat",
            server: Some("llama.cpp"),
            window: options.map(|window| (window, source)),
            tools: (ToolMode::Native, "the engine itself sees to it".to_owned()),
            finding: None,
            kept: Err("not asked, nothing to keep".to_owned()),
        }
    }

    async fn of_server(
        choice: &Choice,
        settings: &Settings,
        environment: &Environment,
        notices: &mut dyn Notices,
    ) -> Result<Self, Failure> {
        let endpoint = choice.entry.endpoint()?;
        let client = network::client(settings, environment, choice.is_encrypted())?;
        let waiting = format!("asking {}", choice.reference());
        let asked = with_progress(ask(choice, settings, &client, None), &waiting, notices).await;
        let finding = asked.map_err(|error| Failure::from(&error))?;
        let kept = keep(choice, &finding, settings, environment);
        let set = choice.tool_mode(settings);
        let (tools, why) = match set {
            ToolMode::Auto => (finding.tools, finding.reason.clone()),
            set => (set, format!("set so; found was {}: {}", finding.tools.name(), finding.reason)),
        };
        Ok(Self {
            reference: choice.reference(),
            address: match choice.engine() {
                Some(_) => STARTED.to_owned(),
                None => without_secrets(&endpoint.base_url),
            },
            wire: endpoint.wire.name(),
            server: choice.server.kind.map(|kind| kind.title()),
            window: window(choice),
            tools: (tools, why),
            finding: Some(finding),
            kept,
        })
    }
}

/// Keeps what later runs would look for.
fn keep(
    choice: &Choice,
    finding: &Finding,
    settings: &Settings,
    environment: &Environment,
) -> Result<String, String> {
    if !is_unknown(choice, settings) {
        return Err("no: runs do not ask this model".to_owned());
    }
    let findings = Findings::of(environment);
    let Some(path) = findings.path(choice) else { return Err("no: there is no cache folder".to_owned()) };
    match findings.keep(choice, &Kept::new(choice, finding, seconds())) {
        Ok(()) => Ok(path.display().to_string()),
        Err(error) => Err(format!("no: {}: {error}", path.display())),
    }
}

/// The window that counts, and who says so.
fn window(choice: &Choice) -> Option<(u32, &'static str)> {
    let tokens = choice.row().context_window?;
    let source = match (choice.set_window(), choice.server.window) {
        (Some(_), _) => "settings",
        (None, Some(told)) if told.is_loaded => "loaded",
        (None, Some(_)) => "expected when loaded",
        (None, None) => "catalog",
    };
    Some((tokens, source))
}
