//! `charla -p`: one prompt, one answer.

use charla::settings::{OutputFormat, Override, Settings};
use charla::{Charla, Failure, Notices, OpenRequest, OpenedSession};
use charla_core::CancellationToken;

use crate::answer::Answer;
use crate::approver::Approver;
use crate::headless::View;
use crate::input;
use crate::intent::Ask;
use crate::printer::Printer;
use crate::signals::cancel_on_signals;

/// Runs a prompt to its end and returns the exit code.
///
/// From here on every ending goes through the view, so that a program that asked for JSON gets JSON
/// whatever fails.
pub async fn run(ask: Ask, charla: &Charla, printer: Printer) -> i32 {
    let session_id = uuid::Uuid::now_v7().to_string();
    let mut view = View::new(format_flag(&ask.flags), false, session_id.clone(), printer);
    let effective = match charla.settings(ask.flags.clone(), &ask.trust) {
        Ok(effective) => effective,
        Err(failure) => return view.fail(&failure),
    };
    let settings = effective.settings;
    let format = settings.output.format.unwrap_or_default();
    view = view.with_format(format, settings.output.thoughts.unwrap_or(false));
    effective.notices.iter().for_each(|notice| view.warning(notice));

    let cancel = cancel_on_signals();
    let somebody_to_ask = somebody_is_there(&settings, charla, view.printer());
    let request = OpenRequest {
        begin: ask.begin,
        new_id: Some(session_id),
        options: ask.options,
        somebody_to_ask,
        cancel: cancel.clone(),
        ..OpenRequest::default()
    };
    let opened = match gather(ask.prompt, &cancel, &mut view).await {
        Ok(prompt) => charla.open_with(&settings, request, &mut view).await.map(|session| (prompt, session)),
        Err(failure) => Err(failure),
    };
    match opened {
        Ok((prompt, session)) => {
            let approver = somebody_to_ask.then(|| {
                let printer = view.printer().another();
                Approver::start(session.handle.clone(), charla.environment(), printer)
            });
            show(session, &prompt, approver, view).await
        }
        Err(failure) => view.fail(&failure),
    }
}

/// The format asked for by flag; it holds even when the settings cannot be read.
fn format_flag(flags: &[Override]) -> OutputFormat {
    let given = flags.iter().find(|flag| flag.key == ["output", "format"]);
    given.and_then(|flag| serde_json::from_value(flag.value.clone()).ok()).unwrap_or_default()
}

/// True when a question can be put to a person: they see it and can answer, and nothing says that this is a
/// program's run.
fn somebody_is_there(settings: &Settings, charla: &Charla, printer: &Printer) -> bool {
    input::is_terminal()
        && printer.err_terminal
        && settings.output.format.unwrap_or_default() == OutputFormat::Text
        && charla.environment().variable("CI").is_none()
}

async fn gather(
    words: Option<String>,
    cancel: &CancellationToken,
    view: &mut View,
) -> Result<String, Failure> {
    let waiting = "waiting for standard input to end (use </dev/null if there is none)";
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::cancelled()),
        prompt = input::gather(words, || view.warning(&waiting.into())) => prompt,
    }
}

async fn show(session: OpenedSession, prompt: &str, approver: Option<Approver>, mut view: View) -> i32 {
    view.in_session(&session.id);
    if approver.is_some() {
        view.with_somebody_to_ask();
    }
    let mut events = Answer::new(&session, approver);
    session.prompt(prompt).await;
    let code = view.show(&session.model, prompt, &mut events).await;
    session.close().await;
    code
}
