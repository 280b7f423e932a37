//! `charla -p`: one prompt, one answer.

use charla::models::Prices;
use charla::session::{CommandPlace, Filler, LATEST, PromptDraft};
use charla::settings::{OutputFormat, Override, Settings};
use charla::{Begin, Charla, Failure, Notices, OpenRequest, OpenedSession};
use charla_core::CancellationToken;
use charla_core::session::{Clients, Follower};
use charla_proto::{Command, Content, Refusal, Reply, SessionSnapshot};
use charla_terminal::answer::Answer;
use charla_terminal::approver::{Approver, Seat, TERMINAL};
use charla_terminal::headless::View;
use charla_terminal::lines::Lines;
use charla_terminal::printer::Printer;
use charla_terminal::slash;

use crate::input;
use crate::intent::Ask;
use charla_terminal::exit::ABANDONED;
use charla_terminal::signals::cancel_on_signals;

/// Who speaks at a terminal or in a script.
const USER: &str = "user";

/// Runs a prompt to its end and returns the exit code.
///
/// From here on every ending goes through the view, so that a program that asked for JSON gets JSON
/// whatever fails.
pub async fn run(ask: Ask, charla: &Charla, printer: Printer) -> i32 {
    let session_id = charla::new_id();
    let mut view = View::new(format_flag(&ask.flags), false, session_id.clone(), printer);
    if ask.opening.is_some() && !input::is_terminal() {
        return view.fail(&no_conversation());
    }
    if let Some(failure) = ask.prompt.as_deref().and_then(slash::refused) {
        return view.fail(&failure);
    }
    let effective = match charla.settings(ask.flags.clone(), &ask.trust) {
        Ok(effective) => effective,
        Err(failure) => return view.fail(&failure),
    };
    let settings = effective.settings;
    let format = settings.output.format.unwrap_or_default();
    view = view.with_format(format, settings.output.thoughts.unwrap_or(false));
    view.priced(Prices::new(&settings));
    view.wants_json(ask.options.output_schema.is_some());
    effective.notices.iter().for_each(|notice| view.warning(notice));

    let cancel = cancel_on_signals();
    let clients = Clients::default();
    let somebody = somebody_is_there(&settings, charla, view.printer()).then(|| clients.attach());
    let goes_on = matches!(ask.begin, Begin::Resume(_));
    let is_unnamed = matches!(&ask.begin, Begin::Resume(session) if session == LATEST);
    let other_model = ask.flags.iter().any(|flag| flag.key == ["model", "name"]);
    let request = OpenRequest {
        begin: ask.begin,
        other_model,
        new_id: Some(session_id),
        options: ask.options,
        clients,
        cancel: cancel.clone(),
        ..OpenRequest::default()
    };
    let typed = ask.prompt.clone().unwrap_or_default();
    let rule_files = request.options.rule_files.clone();
    let draft = PromptDraft { files: ask.attached, rule_files: rule_files.clone(), ..PromptDraft::default() };
    let opened = match prompt(ask.prompt, draft, goes_on, &cancel, charla, &mut view).await {
        Ok(prompt) => charla.open_with(&settings, request, &mut view).await.map(|session| (prompt, session)),
        Err(failure) => Err(failure),
    };
    match opened {
        Ok((mut prompt, session)) => {
            if is_unnamed {
                view.goes_on(&session.id);
            }
            if let Some(content) = &mut prompt {
                let (environment, rule_files) = (charla.environment(), rule_files.as_slice());
                let place = CommandPlace { settings: &settings, environment, rule_files };
                let filler = Filler { by: USER, unread: true, cancel: &cancel };
                let filled = session.fill_prompt(&typed, content, place, filler, &mut view);
                // A server may take its time: what a person wants goes first.
                let filled = tokio::select! {
                    filled = filled => filled,
                    () = cancel.cancelled() => Err(Failure::cancelled()),
                };
                if let Err(failure) = filled {
                    session.close_if_said().await;
                    return view.fail(&failure);
                }
            }
            let approver = somebody.map(|client| {
                let seat = Seat {
                    me: TERMINAL,
                    environment: charla.environment(),
                    settings: &settings,
                    printer: view.printer().another(),
                    lines: Lines::default(),
                    leaving: None,
                };
                Approver::start(session.handle.clone(), client, seat)
            });
            // Nobody was told when the model was chosen by name.
            view.advises(settings.model.name.is_some());
            let command = prompt.as_ref().and_then(|prompt| command(prompt, &typed));
            show(session, prompt, command, approver, view, &cancel).await
        }
        Err(failure) => view.fail(&failure),
    }
}

/// A conversation needs somebody at a terminal; what is piped is no answer to a question.
fn no_conversation() -> Failure {
    Failure::input("the --prompt-interactive flag cannot be used when input is piped from stdin")
        .with_hint("for one answer to what is piped: git diff | charla -p \"Review this\"")
}

/// The format asked for by flag; it holds even when the settings cannot be read.
fn format_flag(flags: &[Override]) -> OutputFormat {
    let given = flags.iter().find(|flag| flag.key == ["output", "format"]);
    given.and_then(|flag| serde_json::from_value(flag.value.clone()).ok()).unwrap_or_default()
}

/// True when a question can be put to a person: they see it and can answer, and nothing says that this is a
/// program's run.
pub fn somebody_is_there(settings: &Settings, charla: &Charla, printer: &Printer) -> bool {
    input::is_terminal()
        && printer.err_terminal
        && settings.output.format.unwrap_or_default() == OutputFormat::Text
        && charla.environment().variable("CI").is_none()
}

/// The prompt with its files; none when an earlier session is gone on with and nothing is said.
async fn prompt(
    words: Option<String>,
    draft: PromptDraft,
    goes_on: bool,
    cancel: &CancellationToken,
    charla: &Charla,
    view: &mut View,
) -> Result<Option<Content>, Failure> {
    let waiting = "waiting for standard input to end (use </dev/null if there is none)";
    let optional = goes_on && draft.files.is_empty();
    let gathered = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Failure::cancelled()),
        prompt = input::gather(words, optional, || view.warning(&waiting.into())) => prompt?,
    };
    let Some((words, piped)) = gathered else { return Ok(None) };
    PromptDraft { words, piped, ..draft }.content(charla.environment(), view).map(Some)
}

/// The command that a prompt is. What a command of a user's or a server's prompt stands for is words, whatever they are.
fn command(prompt: &Content, typed: &str) -> Option<Command> {
    let said = prompt.text();
    let said = Some(said.trim()).filter(|said| typed.is_empty() || typed.trim() == *said);
    match said? {
        "/compress" => Some(Command::Compress),
        "/uncompress" => Some(Command::Restore),
        _ => None,
    }
}

async fn show(
    session: OpenedSession,
    prompt: Option<Content>,
    command: Option<Command>,
    approver: Option<Approver>,
    mut view: View,
    cancel: &CancellationToken,
) -> i32 {
    view.in_session(&session.id);
    // The view that begins the session's hooks: what they say is heard.
    let (earlier, events) = match session.handle.snapshot().await {
        Some((snapshot, events)) => (snapshot, events),
        None => (SessionSnapshot::default(), session.handle.subscribe()),
    };
    let mut follower = Follower::new(events);
    let words = prompt.as_ref().map(Content::text).unwrap_or_default();
    match begin(&session, prompt, command).await {
        Ok(Some(id)) => follower = follower.of_prompt(id),
        Ok(None) => {}
        // A journal that failed is told by the events.
        Err(Refusal::Ended) => {}
        Err(refusal) => {
            session.close().await;
            return view.fail(&nothing_to_do(&refusal));
        }
    }
    if approver.is_some() {
        view.with_somebody_to_ask();
    }
    if !earlier.contents.is_empty() {
        view.advises(false);
    }
    // What an earlier process asked and nobody answered is asked again, once the prompt is recorded.
    let mut events = Answer::new(follower, approver, &earlier.calls);
    let code = view.show(&session.model, &words, &mut events).await;
    if code == ABANDONED {
        // Nobody wants the rest.
        cancel.cancel();
    }
    session.close().await;
    code
}

/// Says the prompt, does what it stands for, or goes on with what was left open; the id of a prompt.
async fn begin(
    session: &OpenedSession,
    prompt: Option<Content>,
    command: Option<Command>,
) -> Result<Option<String>, Refusal> {
    let command = match (prompt, command) {
        (_, Some(command)) => command,
        (None, None) => Command::Continue,
        (Some(prompt), None) => return session.say(prompt, USER).await.map(Some),
    };
    if command == Command::Continue {
        return match session.send(command, USER).await {
            Reply::Refused(refusal) => Err(refusal),
            _ => Ok(None),
        };
    }
    // What it comes to is told by the events.
    let handle = session.handle.clone();
    tokio::spawn(async move { handle.send(command, USER).await });
    Ok(None)
}

fn nothing_to_do(refusal: &Refusal) -> Failure {
    Failure::input(refusal.to_string()).with_hint("give a prompt: charla --resume -p \"…\"")
}
