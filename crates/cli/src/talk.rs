//! Bare `charla` at a terminal: a conversation.

use std::sync::Arc;

use charla::settings::Settings;
use charla::trust::TrustDemand;
use charla::{Begin, Charla, Failure, FirstRun, OpenRequest};
use charla_terminal::exit::{CANCELLED, OK, code};
use charla_terminal::printer::Printer;
use charla_tui::app::{Demands, Ending, Launch, Look, ME, Reason};
use charla_tui::linear::{self, Scene};

use crate::intent::Ask;

/// The words to whoever interrupted it, as scripts that drive Gemini CLI expect them.
const GOODBYE: &str = "Agent powering down. Goodbye!";

/// How a conversation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// On a screen.
    Screen,
    /// Line by line.
    Lines,
}

/// How somebody wants to talk, if they do: there is a terminal, and nothing that a script would say.
pub fn wanted(ask: &Ask, charla: &Charla) -> Option<Form> {
    let given = |key: &[&str]| ask.flags.iter().any(|flag| flag.key == key);
    let is_script = ask.prompt.is_some()
        || !ask.attached.is_empty()
        || ask.options.output_schema.is_some()
        || given(&["output", "format"]);
    if is_script || !charla_tui::terminal::is_there() {
        return None;
    }
    let settings = charla.settings(ask.flags.clone(), &ask.trust).map(|effective| effective.settings);
    // What is wrong with the settings is told when they are needed.
    let wants_lines = settings.is_ok_and(|settings| settings.terminal.screen_reader.unwrap_or(false));
    match (wants_lines, is_plain(charla)) {
        (true, _) => Some(Form::Lines),
        // An open turn is gone on with and that is all, as scripts on such terminals expect.
        (_, true) if matches!(ask.begin, Begin::Resume(_)) && ask.opening.is_none() => None,
        (_, true) => Some(Form::Lines),
        _ => Some(Form::Screen),
    }
}

/// True where the terminal knows no sequences.
pub fn is_plain(charla: &Charla) -> bool {
    matches!(charla.environment().variable("TERM"), None | Some("dumb"))
}

/// The settings that hold, and the session that is wanted.
pub fn begun(ask: &Ask, charla: &Charla, printer: &mut Printer) -> Result<(Settings, OpenRequest), Failure> {
    let effective = charla.settings(ask.flags.clone(), &ask.trust)?;
    effective.notices.iter().for_each(|notice| charla::Notices::warning(printer, notice));
    let request = OpenRequest {
        other_model: ask.flags.iter().any(|flag| flag.key == ["model", "name"]),
        begin: ask.begin.clone(),
        options: ask.options.clone(),
        ..OpenRequest::default()
    };
    Ok((effective.settings, request))
}

/// What is chosen first, where this is a first run. Whoever begins with something particular wants no questions before it.
fn first_run(ask: &Ask, charla: &Charla, settings: &Settings) -> Option<FirstRun> {
    let is_plain_start =
        ask.begin == Begin::New && ask.opening.is_none() && ask.trust == TrustDemand::default();
    is_plain_start.then(|| FirstRun::of(charla.environment(), settings, ask.flags.clone())).flatten()
}

/// Talks until the person leaves, and returns the exit code.
pub async fn run(ask: Ask, charla: &Charla, no_color: bool, mut printer: Printer) -> i32 {
    let (settings, request) = match begun(&ask, charla, &mut printer) {
        Ok(begun) => begun,
        Err(failure) => return printer.refuse(&failure),
    };
    let launch = Launch {
        source: Arc::new(charla.clone()),
        me: ME.to_owned(),
        first_run: first_run(&ask, charla, &settings),
        settings,
        demands: Demands { overrides: ask.flags.clone(), trust: ask.trust.clone() },
        request,
        prompt: ask.opening,
        look: Look::of(charla.environment(), no_color),
        charla: charla.clone(),
    };
    on_screen(launch, "charla --resume", &mut printer).await
}

/// Talks on a screen. `again` opens a session again, with its id behind it.
pub async fn on_screen(launch: Launch, again: &str, printer: &mut Printer) -> i32 {
    ended(charla_tui::run(launch).await, again, printer)
}

/// Talks line by line. `again` opens a session again, with its id behind it.
pub async fn in_lines(scene: Scene, again: &str, printer: &mut Printer) -> i32 {
    let ending = linear::talk(scene, printer).await;
    ended(ending, again, printer)
}

fn ended(ending: Result<Ending, Failure>, again: &str, printer: &mut Printer) -> i32 {
    match ending {
        Ok(ending) => farewell(&ending, again, printer),
        Err(failure) => printer.refuse(&failure),
    }
}

/// Says how to come back, and why it ended where that is no matter of course.
fn farewell(ending: &Ending, again: &str, printer: &mut Printer) -> i32 {
    let exit = match &ending.reason {
        Reason::Left => OK,
        Reason::Dismissed | Reason::Interrupted => {
            if ending.is_read {
                printer.note(GOODBYE);
            }
            // Where nothing was said, nothing was broken off; Gemini CLI's own tests want it so.
            let is_idle = matches!(ending.reason, Reason::Dismissed) && ending.session.is_none();
            if is_idle { OK } else { CANCELLED }
        }
        Reason::Failed(failure) => {
            if ending.is_read {
                printer.failure(failure);
            }
            code(failure.kind)
        }
    };
    // Words to a terminal that does not read would be waited for without end.
    if let Some(session) = ending.session.as_ref().filter(|_| ending.is_read) {
        printer.note(&format!("go on with: {again} {session}"));
    }
    exit
}

/// Talks line by line until the person leaves, and returns the exit code.
pub async fn line_by_line(ask: Ask, charla: &Charla, mut printer: Printer) -> i32 {
    let (settings, request) = match begun(&ask, charla, &mut printer) {
        Ok(begun) => begun,
        Err(failure) => return printer.refuse(&failure),
    };
    let scene = Scene {
        charla: charla.clone(),
        source: Arc::new(charla.clone()),
        me: ME.to_owned(),
        first_run: first_run(&ask, charla, &settings),
        settings,
        request,
        opening: ask.opening,
    };
    in_lines(scene, "charla --resume", &mut printer).await
}
