//! `charla -p`: one prompt, one answer.

use std::sync::Arc;

use charla_core::CancellationToken;
use charla_core::compress::Counter;
use charla_core::session::{Command, SessionHandle};
use charla_proto::{ApprovalMode, Content};
use charla_providers::layers::{LogSink, ToolMode};
use charla_providers::tokens;
use charla_tools::process::Processes;
use serde_json::Value;

use crate::agent::{Agent, Manner, Mind};
use crate::answer::{Answer, OutputSchema};
use crate::approver::Approver;
use crate::choice::{Choice, Chooser};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::headless::View;
use crate::intent::Ask;
use crate::log_file::LogFile;
use crate::notices::Notices;
use crate::printer::Printer;
use crate::sessions::{Begin, Open, Sessions};
use crate::settings::{self, OutputFormat, Settings};
use crate::{compression, input, keep_alive, local, probe, wiring};

/// Runs a prompt to its end and returns the exit code.
///
/// From here on every ending goes through the view, so that a program that asked for JSON gets JSON
/// whatever fails.
pub async fn run(ask: Ask, environment: &Environment, printer: Printer) -> i32 {
    let session_id = uuid::Uuid::now_v7().to_string();
    let mut view = View::new(format_flag(&ask), false, session_id.clone(), printer);
    let effective = match settings::load_trusting(environment, ask.flags.clone(), &ask.trust) {
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
    approver: Option<Approver>,
    processes: Processes,
    /// Whatever the session puts aside lives as long as this.
    _sessions: Sessions,
}

impl Prepared {
    async fn show(self, view: View, cancel: CancellationToken) -> i32 {
        let mut events = Answer::new(self.session.clone(), self.schema, self.approver);
        self.session.send(Command::SetMode(self.mode)).await;
        let prompt = || Command::Prompt(Content::user(self.prompt.clone()));
        self.session.send(compression::command(&self.prompt).unwrap_or_else(prompt)).await;
        let session = self.session.clone();
        let stop = tokio::spawn(async move {
            cancel.cancelled().await;
            session.send(Command::Cancel).await;
        });
        let code = view.show(&self.reference, &self.prompt, &mut events).await;
        stop.abort();
        self.processes.shutdown().await;
        code
    }
}

/// True when a question can be put to a person: they see it and can answer, and nothing says that this is a
/// program's run.
fn somebody_is_there(settings: &Settings, environment: &Environment, view: &View) -> bool {
    environment.stdin_terminal
        && view.printer().err_terminal
        && settings.output.format.unwrap_or_default() == OutputFormat::Text
        && environment.variable("CI").is_none()
}

async fn prepare(
    ask: Ask,
    settings: &Settings,
    environment: &Environment,
    session_id: &str,
    view: &mut View,
) -> Result<Prepared, Failure> {
    let waiting = "waiting for standard input to end (use </dev/null if there is none)";
    let prompt = input::gather(ask.prompt, environment, || view.warning(&waiting.into())).await?;
    let schema = OutputSchema::read(ask.conduct.schema.as_deref(), environment)?;
    let chain = Chooser::new(settings, environment).chain().await?;
    chain.left_out.iter().for_each(|reason| view.warning(&reason.as_str().into()));
    chain.note.iter().for_each(|note| view.note(note));
    let mut chain = chain.models;
    let wanted = settings.tools.approval_mode.unwrap_or_default();
    let (mode, notice) = local::tempered(wanted, &mut chain);
    notice.iter().for_each(|notice| view.warning(notice));
    let by_default = settings.model.name.is_none();
    let small = match chain.first_mut() {
        Some(first) => local::begin(first, by_default, view).await?,
        None => false,
    };
    let log = open_log(settings, environment, session_id)?;
    let offers_tools = !ask.conduct.no_tools;
    probe::first_use(&mut chain, offers_tools, settings, environment, log.clone(), view).await;
    chain.first().into_iter().for_each(keep_alive::begin);
    let reference = chain.first().map(Choice::reference).unwrap_or_default();
    let mind = mind(chain, small, settings, environment, log)?;
    let (sessions, open) = open_session(&ask.begin, environment, session_id, &reference)?;
    view.in_session(&open.id);
    let somebody_to_ask = somebody_is_there(settings, environment, view);
    let conduct = &ask.conduct;
    let agent = Agent { settings, environment, conduct, sessions: &sessions, mode, somebody_to_ask };
    let assembled = agent.assemble(open, mind, schema.as_ref().map(OutputSchema::text)).await?;
    assembled.notices.iter().for_each(|notice| view.warning(&notice.as_str().into()));
    let session = SessionHandle::start(assembled.setup, assembled.conversation);
    let approver = somebody_to_ask.then(|| {
        view.with_somebody_to_ask();
        Approver::start(session.clone(), environment, view.printer().another())
    });
    let processes = assembled.processes;
    Ok(Prepared { prompt, reference, session, mode, schema, approver, processes, _sessions: sessions })
}

/// The models of a chain as one, with what is known of the first.
fn mind(
    chain: Vec<Choice>,
    small: bool,
    settings: &Settings,
    environment: &Environment,
    log: Option<Arc<dyn LogSink>>,
) -> Result<Mind, Failure> {
    let model = chain.first().map(|choice| choice.model.clone()).unwrap_or_default();
    let row = chain.first().map(Choice::row);
    let tools = chain.first().map(|first| first.layers(settings)).transpose()?.map(|layers| layers.tools);
    let manner = match chain.first() {
        Some(first) if first.is_built_in() => Manner::Least,
        Some(_) if small => Manner::Few,
        Some(first) if first.is_compact(settings) => Manner::Brief,
        _ => Manner::Full,
    };
    let steady = chain.first().is_some_and(Choice::is_steady);
    let count: Counter = match (manner, tools) {
        (Manner::Least, Some(ToolMode::Native)) => Arc::new(local::tokens),
        _ => Arc::new(tokens::estimate),
    };
    let client = wiring::client(settings, environment, chain.iter().any(Choice::is_encrypted))?;
    tracing::debug!(%model, fallbacks = chain.len().saturating_sub(1), "asking");
    Ok(Mind {
        generator: wiring::generator(chain, settings, &client, log)?,
        template: wiring::request(&model, settings),
        price: row.as_ref().and_then(|row| row.price),
        window: row.as_ref().and_then(|row| row.context_window),
        count,
        manner,
        chat_only: tools == Some(ToolMode::None),
        steady,
    })
}

/// The session a run goes on with. A new one that cannot be kept is better than no answer; an earlier one
/// that cannot be read is an error.
fn open_session(
    begin: &Begin,
    environment: &Environment,
    id: &str,
    model: &str,
) -> Result<(Sessions, Open), Failure> {
    let kept = Sessions::new(environment).and_then(|sessions| {
        let open = sessions.open(begin, id, model)?;
        Ok((sessions, open))
    });
    match kept {
        Err(failure) if *begin == Begin::New => Ok(Sessions::passing(environment, id, model, &failure)),
        kept => kept,
    }
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
