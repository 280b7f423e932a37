//! The first use of a model of which nothing is known: how it calls tools is found out once, and kept.
//!
//! Asked are models of local servers, model files that the engine runs, and models of the user's own entries
//! that speak OpenAI Chat, when nobody has set how they call tools. Hosted providers of the catalog and the
//! vendors' own wires are never asked: they have function calls. Neither are fallbacks: asking would load a
//! second model that may never be needed, so of them only what is kept already is used.

mod kept;
mod report;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind};
use charla_providers::layers::{LogSink, Logging, Redactor, ToolMode};
use charla_providers::probe::{self, Finding};
use charla_providers::{Client, catalog};

pub(crate) use kept::Findings;
pub use kept::Kept;
pub use report::ProbeReport;

use super::choice::Choice;
use super::chooser::Chain;
use super::wiring;
use crate::clock::seconds;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::network;
use crate::notices::{Notice, Notices, Progress};
use crate::settings::Settings;

/// Longer than this nobody waits for a short answer. A model that was still being loaded is loaded for the
/// real question all the same, and the next run finds out.
const PATIENCE: Duration = Duration::from_secs(90);
/// From here on a person wants to know what is going on.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// True for models that the catalog says nothing about, at a server that may have any. What a local server
/// has loaded under a known name, nobody knows; a gateway far away that has a model of the catalog has that
/// model.
fn is_uncatalogued(choice: &Choice) -> bool {
    !choice.is_built_in()
        && choice.entry.speaks_chat()
        && match choice.entry.row {
            Some(row) => row.local,
            None => {
                let known = catalog::model(&choice.entry.name, &choice.model).context_window.is_some();
                choice.entry.is_local() || !known
            }
        }
}

/// True when nobody has said how this model calls tools and it is not known either.
fn is_unknown(choice: &Choice, settings: &Settings) -> bool {
    is_uncatalogued(choice)
        && choice.tool_mode(settings) == ToolMode::Auto
        && choice.entry.endpoint().is_ok_and(|endpoint| !endpoint.quirks.no_tools)
}

/// Sees to it that the models of a run are known as well as they can be. `offers_tools` is false when the run
/// has no tools: then nobody is asked. Nothing here fails a run: where nothing can be found out, the default
/// holds, and whatever is wrong with the server shows with the real request.
pub(crate) async fn first_use(
    chain: &mut Chain,
    offers_tools: bool,
    settings: &Settings,
    environment: &Environment,
    log: Option<Arc<dyn LogSink>>,
    notices: &mut dyn Notices,
) {
    recall(chain, offers_tools, settings, environment, notices);
    let first = &mut chain.first;
    if offers_tools && first.probed.is_none() && is_unknown(first, settings) {
        let findings = Findings::of(environment);
        first.probed = ask_first(first, settings, environment, log, &findings, notices).await;
    }
    if first.probed == Some(ToolMode::None) {
        notices.note(&about_chat_only(first));
    }
}

/// What was found out about the models of a run before; nobody is asked.
pub(crate) fn recall(
    chain: &mut Chain,
    offers_tools: bool,
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) {
    let findings = Findings::of(environment);
    let models = std::iter::once(&mut chain.first).chain(&mut chain.fallbacks);
    for choice in models.filter(|choice| is_uncatalogued(choice)) {
        let kept = match findings.find(choice, seconds()) {
            Ok(kept) => kept,
            Err(damage) => {
                notices.warning(&format!("{damage}; it is found out again").into());
                None
            }
        };
        // What is loaded can change with every start of the server, so its own word goes first.
        choice.window = choice.window.or(kept.as_ref().and_then(|kept| kept.window));
        if offers_tools && is_unknown(choice, settings) {
            choice.probed = kept.map(|kept| kept.tools);
        }
    }
}

async fn ask_first(
    choice: &Choice,
    settings: &Settings,
    environment: &Environment,
    log: Option<Arc<dyn LogSink>>,
    findings: &Findings,
    notices: &mut dyn Notices,
) -> Option<ToolMode> {
    let client = network::client(settings, environment, choice.is_encrypted()).ok()?;
    let waiting = format!("first use of {}: finding out how it calls tools", choice.reference());
    let asked = with_progress(ask(choice, settings, &client, log), &waiting, notices).await;
    let finding = match asked {
        Ok(finding) => finding,
        Err(error) => {
            tracing::debug!(model = %choice.reference(), %error, "nothing was found out");
            // Everything else is told when the real request fails by it.
            if matches!(error.kind, LlmErrorKind::InvalidStream) {
                notices.note(&about_undecided(choice, &error));
            }
            return None;
        }
    };
    if finding.tools == ToolMode::Text {
        let text = format!("{} calls tools in its text: {}", choice.reference(), finding.reason);
        notices.note(&text.into());
    }
    if let Err(error) = findings.keep(choice, &Kept::new(choice, &finding, seconds())) {
        let text = format!("what was found out about {} cannot be kept: {error}", choice.reference());
        notices.warning(&text.into());
    }
    Some(finding.tools)
}

/// Asks the model itself.
async fn ask(
    choice: &Choice,
    settings: &Settings,
    client: &Client,
    log: Option<Arc<dyn LogSink>>,
) -> Result<Finding, LlmError> {
    let config = |failure: Failure| LlmError::new(LlmErrorKind::Config, failure.message);
    let generator = wiring::bare(choice, settings, client).map_err(config)?;
    let redactor = Arc::new(Redactor::new(choice.access.key().cloned()));
    let generator = Logging::over(generator, &choice.reference(), log, redactor);
    let layers = choice.layers(settings).map_err(config)?;
    let template = wiring::request(&choice.model, settings);
    let asked = probe::probe(generator, &layers, &template, choice.row().context_window);
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
        let message = format!("no short answer came within {} s", PATIENCE.as_secs());
        Err(LlmError::new(LlmErrorKind::InvalidStream, message))
    })
}

/// Does `work` and tells that it does when it takes long.
async fn with_progress<T>(work: impl Future<Output = T>, doing: &str, notices: &mut dyn Notices) -> T {
    tokio::pin!(work);
    if let Ok(done) = tokio::time::timeout(SHOWN_AFTER, &mut work).await {
        return done;
    }
    notices.progress(Progress { state: doing, began: Some(doing) });
    let done = work.await;
    notices.progress_done();
    done
}

fn about_chat_only(choice: &Choice) -> Notice {
    let text = format!("{} called no tool when it was asked to, so it is offered none", choice.reference());
    Notice::with_hint(text, Hint::OfferToolsAnyway)
}

fn about_undecided(choice: &Choice, error: &LlmError) -> Notice {
    let model = choice.reference();
    let text =
        format!("it could not be found out how {model} calls tools ({error}); function calls are tried");
    Notice::with_hint(text, Hint::CallsAsText)
}
