//! `charla -p`: one prompt, one answer.

use std::sync::Arc;

use charla_core::{CancellationToken, Turn};
use charla_proto::{ContentGenerator, GenerateRequest};
use charla_providers::layers::LogSink;
use serde_json::Value;

use crate::choice::{Choice, Chooser};
use crate::environment::Environment;
use crate::exit::Failure;
use crate::headless::View;
use crate::intent::Ask;
use crate::log_file::LogFile;
use crate::printer::Printer;
use crate::settings::{self, OutputFormat, Settings};
use crate::{input, wiring};

/// Runs a prompt to its end and returns the exit code.
///
/// From here on every ending goes through the view, so that a program that asked for JSON gets JSON
/// whatever fails.
pub async fn run(ask: Ask, environment: &Environment, printer: Printer) -> i32 {
    let session_id = uuid::Uuid::now_v7().to_string();
    let mut view = View::new(format_flag(&ask), false, session_id.clone(), printer);
    let effective = match settings::load(environment, ask.flags) {
        Ok(effective) => effective,
        Err(failure) => return view.fail(&failure),
    };
    let settings = effective.settings;
    let format = settings.output.format.unwrap_or_default();
    view = view.with_format(format, settings.output.thoughts.unwrap_or(false));
    effective.notices.iter().for_each(|notice| view.warning(notice));

    let cancel = wiring::cancel_on_signals();
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::cancelled()),
        prepared = prepare(ask.prompt, &settings, environment, &session_id, &mut view) => prepared,
    };
    match prepared {
        Ok(prepared) => prepared.show(view, cancel).await,
        Err(failure) => view.fail(&failure),
    }
}

/// The format asked for by flag; it holds even when the settings cannot be read.
fn format_flag(ask: &Ask) -> OutputFormat {
    let given = ask.flags.iter().find(|(path, _, _)| path == &["output", "format"]);
    given
        .and_then(|(_, value, _): &(_, Value, _)| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default()
}

/// Everything that is needed to ask.
struct Prepared {
    prompt: String,
    reference: String,
    generator: Arc<dyn ContentGenerator>,
    request: GenerateRequest,
}

impl Prepared {
    async fn show(self, view: View, cancel: CancellationToken) -> i32 {
        let mut turn = Turn::new(self.generator, self.request, cancel);
        view.show(&self.reference, &self.prompt, &mut turn).await
    }
}

async fn prepare(
    words: Option<String>,
    settings: &Settings,
    environment: &Environment,
    session_id: &str,
    view: &mut View,
) -> Result<Prepared, Failure> {
    let waiting = "waiting for standard input to end (use </dev/null if there is none)";
    let prompt = input::gather(words, environment, || view.warning(waiting)).await?;
    let (chain, left_out) = Chooser::new(settings, environment).chain().await?;
    left_out.iter().for_each(|reason| view.warning(reason));
    let log = open_log(settings, environment, session_id)?;
    let reference = chain.first().map(Choice::reference).unwrap_or_default();
    let model = chain.first().map(|choice| choice.model.clone()).unwrap_or_default();
    let client = wiring::client(settings, environment, chain.iter().any(Choice::is_encrypted))?;
    tracing::debug!(%reference, fallbacks = chain.len() - 1, "asking");
    let generator = wiring::generator(chain, settings, &client, log)?;
    let request = wiring::request(prompt.clone(), &model, settings);
    Ok(Prepared { prompt, reference, generator, request })
}

fn open_log(
    settings: &Settings,
    environment: &Environment,
    session_id: &str,
) -> Result<Option<Arc<dyn LogSink>>, Failure> {
    let Some(file) = &settings.logging.file else { return Ok(None) };
    let path = environment.expand(file, &environment.directory);
    Ok(Some(Arc::new(LogFile::open(&path, session_id)?)))
}
