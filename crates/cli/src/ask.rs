//! `charla -p`: one prompt, one answer.

use std::sync::Arc;

use charla_core::CancellationToken;
use charla_core::session::{Command, SessionHandle};
use charla_proto::{ApprovalMode, Content};
use charla_providers::layers::LogSink;
use serde_json::Value;

use crate::agent::Agent;
use crate::answer::{Answer, OutputSchema};
use crate::choice::{Choice, Chooser};
use crate::environment::Environment;
use crate::exit::Failure;
use crate::headless::View;
use crate::intent::Ask;
use crate::log_file::LogFile;
use crate::printer::Printer;
use crate::sessions::Sessions;
use crate::settings::{self, OutputFormat, Settings};
use crate::{input, local, wiring};

/// Runs a prompt to its end and returns the exit code.
///
/// From here on every ending goes through the view, so that a program that asked for JSON gets JSON
/// whatever fails.
pub async fn run(ask: Ask, environment: &Environment, printer: Printer) -> i32 {
    let session_id = uuid::Uuid::now_v7().to_string();
    let mut view = View::new(format_flag(&ask), false, session_id.clone(), printer);
    let effective = match settings::load(environment, ask.flags.clone()) {
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
        prepared = prepare(ask, &settings, environment, &session_id, &mut view) => prepared,
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
    session: SessionHandle,
    mode: ApprovalMode,
    schema: Option<OutputSchema>,
}

impl Prepared {
    async fn show(self, view: View, cancel: CancellationToken) -> i32 {
        let mut answer = Answer::new(self.session.clone(), self.schema);
        self.session.send(Command::SetMode(self.mode)).await;
        self.session.send(Command::Prompt(Content::user(self.prompt.clone()))).await;
        let session = self.session.clone();
        let stop = tokio::spawn(async move {
            cancel.cancelled().await;
            session.send(Command::Cancel).await;
        });
        let code = view.show(&self.reference, &self.prompt, &mut answer).await;
        stop.abort();
        code
    }
}

async fn prepare(
    ask: Ask,
    settings: &Settings,
    environment: &Environment,
    session_id: &str,
    view: &mut View,
) -> Result<Prepared, Failure> {
    let waiting = "waiting for standard input to end (use </dev/null if there is none)";
    let prompt = input::gather(ask.prompt, environment, || view.warning(waiting)).await?;
    let schema = OutputSchema::read(ask.conduct.schema.as_deref(), environment)?;
    let (mut chain, left_out) = Chooser::new(settings, environment).chain().await?;
    left_out.iter().for_each(|reason| view.warning(reason));
    let by_default = settings.model.name.is_none();
    let small = match chain.first_mut() {
        Some(first) => local::begin(first, by_default, view).await?,
        None => false,
    };
    let log = open_log(settings, environment, session_id)?;
    let reference = chain.first().map(Choice::reference).unwrap_or_default();
    let model = chain.first().map(|choice| choice.model.clone()).unwrap_or_default();
    let price = chain.first().and_then(|choice| choice.entry.model(&choice.model).price);
    let client = wiring::client(settings, environment, chain.iter().any(Choice::is_encrypted))?;
    tracing::debug!(%reference, fallbacks = chain.len() - 1, "asking");
    let generator = wiring::generator(chain, settings, &client, log)?;
    let template = wiring::request(&model, settings);
    let sessions = Sessions::new(environment)?;
    let open = sessions.open(&ask.begin, session_id, &reference)?;
    view.in_session(&open.id);
    let agent = Agent::new(settings, environment, &ask.conduct, &sessions).for_small_model(small);
    let text = schema.as_ref().map(OutputSchema::text);
    let (setup, conversation, notices) = agent.setup(open, generator, template, price, text)?;
    notices.iter().for_each(|notice| view.warning(notice));
    let session = SessionHandle::start(setup, conversation);
    let mode = settings.tools.approval_mode.unwrap_or_default();
    Ok(Prepared { prompt, reference, session, mode, schema })
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
