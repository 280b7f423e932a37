//! The first use of a model of which nothing is known: how it calls tools is found out once, and kept.
//!
//! Asked are models of local servers, model files that the engine runs, and models of the user's own entries
//! that speak OpenAI Chat, when nobody has set how they call tools. Hosted providers of the catalog and the
//! vendors' own wires are never asked: they have function calls. Neither are fallbacks: asking would load a
//! second model that may never be needed, so of them only what is kept already is used.

mod command;
mod kept;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind};
use charla_providers::layers::{LogSink, Logging, Redactor, ToolMode};
use charla_providers::probe::{self, Finding};
use charla_providers::{Client, catalog};

pub use command::run;
pub use kept::{Findings, Kept};

use crate::choice::Choice;
use crate::environment::Environment;
use crate::exit::Failure;
use crate::headless::View;
use crate::sessions::now;
use crate::settings::Settings;
use crate::wiring;

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
pub async fn first_use(
    chain: &mut [Choice],
    offers_tools: bool,
    settings: &Settings,
    environment: &Environment,
    log: Option<Arc<dyn LogSink>>,
    view: &mut View,
) {
    let findings = Findings::of(environment);
    for (place, choice) in chain.iter_mut().enumerate().filter(|(_, choice)| is_uncatalogued(choice)) {
        let kept = match findings.find(choice, seconds()) {
            Ok(kept) => kept,
            Err(damage) => {
                view.warning(&format!("{damage}; it is found out again"));
                None
            }
        };
        // What is loaded can change with every start of the server, so its own word goes first.
        choice.window = choice.window.or(kept.as_ref().and_then(|kept| kept.window));
        if !offers_tools || !is_unknown(choice, settings) {
            continue;
        }
        choice.probed = kept.map(|kept| kept.tools);
        if choice.probed.is_none() && place == 0 {
            choice.probed = ask_first(choice, settings, environment, log.clone(), &findings, view).await;
        }
    }
    if let Some(first) = chain.first().filter(|first| first.probed == Some(ToolMode::None)) {
        view.note(&about_chat_only(first));
    }
}

async fn ask_first(
    choice: &Choice,
    settings: &Settings,
    environment: &Environment,
    log: Option<Arc<dyn LogSink>>,
    findings: &Findings,
    view: &mut View,
) -> Option<ToolMode> {
    let client = wiring::client(settings, environment, choice.is_encrypted()).ok()?;
    let waiting = format!("first use of {}: finding out how it calls tools", choice.reference());
    let asked = with_notice(ask(choice, settings, &client, log), || match view.is_watched() {
        true => view.fleeting(&waiting),
        false => view.note(&waiting),
    });
    let asked = asked.await;
    view.clear_fleeting();
    let finding = match asked {
        Ok(finding) => finding,
        Err(error) => {
            tracing::debug!(model = %choice.reference(), %error, "nothing was found out");
            // Everything else is told when the real request fails by it.
            if matches!(error.kind, LlmErrorKind::InvalidStream) {
                view.note(&about_undecided(choice, &error));
            }
            return None;
        }
    };
    if finding.tools == ToolMode::Text {
        view.note(&format!("{} calls tools in its text: {}", choice.reference(), finding.reason));
    }
    if let Err(error) = findings.keep(choice, &Kept::new(choice, &finding, seconds())) {
        view.warning(&format!("what was found out about {} cannot be kept: {error}", choice.reference()));
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

/// Runs `work` and tells that it does when it takes long.
async fn with_notice<T>(work: impl Future<Output = T>, tell: impl FnOnce()) -> T {
    tokio::pin!(work);
    match tokio::time::timeout(SHOWN_AFTER, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            tell();
            work.await
        }
    }
}

fn about_chat_only(choice: &Choice) -> String {
    format!(
        "{} called no tool when it was asked to, so it is offered none; --tool-mode native or text offers them all \
         the same, `charla models probe` asks it again",
        choice.reference()
    )
}

fn about_undecided(choice: &Choice, error: &LlmError) -> String {
    format!(
        "it could not be found out how {} calls tools ({error}); function calls are tried, --tool-mode text writes \
         them as text",
        choice.reference()
    )
}

/// Seconds since 1970.
pub fn seconds() -> u64 {
    now() / 1000
}
