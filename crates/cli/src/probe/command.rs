//! `charla models probe`: asks a model afresh and shows all that was found out.

use charla_local::WindowSource;
use charla_providers::layers::ToolMode;
use charla_providers::probe::Finding;
use serde_json::{Value, json};

use super::{Findings, Kept, ask, is_unknown, seconds, with_progress};
use crate::choice::{Choice, Chooser};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::{Settings, without_secrets};
use crate::{wiring, wording};

/// The address of the engine.
const STARTED: &str = "started when it is needed";

/// Asks the model that the settings name, or that a run would choose, whatever is kept about it.
pub async fn run(
    json: bool,
    settings: &Settings,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let chain = Chooser::new(settings, environment).chain().await?;
    if let Some(note) = &chain.note {
        printer.note(&wording::notice(note));
    }
    let Some(choice) = chain.models.into_iter().next() else { return Ok(()) };
    let report = match choice.is_built_in() {
        true => Report::of_built_in(&choice, settings),
        false => Report::of_server(choice, settings, environment, printer).await?,
    };
    match json {
        true => printer.result(&format!("{:#}\n", report.to_json())),
        false => printer.words(&report.to_text()),
    }
}

/// What is shown.
struct Report {
    reference: String,
    address: String,
    wire: &'static str,
    server: Option<&'static str>,
    window: Option<(u32, &'static str)>,
    /// How tools are called in a run, and why.
    tools: (ToolMode, String),
    /// What the exchange showed; `None` when there was none.
    finding: Option<Finding>,
    /// Where it is kept, or why not.
    kept: Result<String, String>,
}

impl Report {
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
        choice: Choice,
        settings: &Settings,
        environment: &Environment,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let endpoint = choice.entry.endpoint()?;
        let client = wiring::client(settings, environment, choice.is_encrypted())?;
        let waiting = format!("asking {}", choice.reference());
        let asked = with_progress(ask(&choice, settings, &client, None), &waiting, printer).await;
        let finding = asked.map_err(|error| Failure::from(&error))?;
        let kept = keep(&choice, &finding, settings, environment);
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
            window: window(&choice),
            tools: (tools, why),
            finding: Some(finding),
            kept,
        })
    }

    fn to_text(&self) -> String {
        let window = match self.window {
            Some((tokens, source)) => format!("{tokens} tokens ({source})"),
            None => "unknown; `providers.<name>.models.<id>.contextWindow` sets it".to_owned(),
        };
        let (mode, why) = &self.tools;
        let thinking = match &self.finding {
            Some(finding) if finding.thoughts => "seen",
            Some(_) => "not seen",
            None => "not asked",
        };
        let kept = match &self.kept {
            Ok(place) => place,
            Err(reason) => reason,
        };
        format!(
            "{}\n  endpoint  {} ({})\n  server    {}\n  window    {window}\n  tools     {}: {why}\n  \
             thinking  {thinking}\n  kept      {kept}\n",
            self.reference,
            self.address,
            self.wire,
            self.server.unwrap_or("unknown"),
            mode.name(),
        )
    }

    fn to_json(&self) -> Value {
        let (mode, why) = &self.tools;
        json!({
            "model": self.reference,
            "baseUrl": self.address,
            "wire": self.wire,
            "server": self.server,
            "contextWindow": self.window.map(|(tokens, _)| tokens),
            "contextWindowSource": self.window.map(|(_, source)| source),
            "toolMode": mode.name(),
            "reason": why,
            "found": self.finding.as_ref().map(|finding| finding.tools.name()),
            "thinking": self.finding.as_ref().map(|finding| finding.thoughts),
            "exchanges": self.finding.as_ref().map_or(0, |finding| finding.exchanges),
            "kept": self.kept.is_ok(),
            "file": self.kept.as_ref().ok(),
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
        (None, Some(told)) if told.source == WindowSource::Loaded => "loaded",
        (None, Some(_)) => "expected when loaded",
        (None, None) => "catalog",
    };
    Some((tokens, source))
}
