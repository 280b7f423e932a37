//! Bare `charla` at a terminal: a conversation.

use charla::{Charla, OpenRequest};
use charla_terminal::printer::Printer;
use charla_tui::app::{Ending, Launch, Look, Reason};
use charla_tui::theme::Depth;

use crate::exit::{CANCELLED, OK, code};
use crate::intent::Ask;

/// True when somebody wants to talk: there is a terminal, and nothing that a script would say.
pub fn is_wanted(ask: &Ask, charla: &Charla) -> bool {
    let is_script = ask.prompt.is_some()
        || !ask.attached.is_empty()
        || ask.options.output_schema.is_some()
        || ask.flags.iter().any(|flag| flag.key == ["output", "format"]);
    !is_script && !is_plain(charla) && charla_tui::terminal::is_there()
}

/// True where the terminal knows no sequences.
fn is_plain(charla: &Charla) -> bool {
    matches!(charla.environment().variable("TERM"), None | Some("dumb"))
}

/// Talks until the person leaves, and returns the exit code.
pub async fn run(ask: Ask, charla: &Charla, no_color: bool, mut printer: Printer) -> i32 {
    let effective = match charla.settings(ask.flags.clone(), &ask.trust) {
        Ok(effective) => effective,
        Err(failure) => {
            printer.failure(&failure);
            return code(failure.kind);
        }
    };
    effective.notices.iter().for_each(|notice| charla::Notices::warning(&mut printer, notice));
    let request = OpenRequest {
        other_model: ask.flags.iter().any(|flag| flag.key == ["model", "name"]),
        begin: ask.begin,
        options: ask.options,
        ..OpenRequest::default()
    };
    let environment = charla.environment();
    let no_color = no_color.then_some("1");
    let depth = Depth::of(no_color, environment.variable("COLORTERM"), environment.variable("TERM"));
    let launch = Launch {
        charla: charla.clone(),
        settings: effective.settings,
        request,
        prompt: None,
        look: Look { depth },
    };
    match charla_tui::run(launch).await {
        Ok(ending) => farewell(&ending, &mut printer),
        Err(failure) => {
            printer.failure(&failure);
            code(failure.kind)
        }
    }
}

/// Says how to come back, and why it ended where that is no matter of course.
fn farewell(ending: &Ending, printer: &mut Printer) -> i32 {
    if let Some(session) = &ending.session {
        printer.note(&format!("go on with: charla --resume {session}"));
    }
    match &ending.reason {
        Reason::Left => OK,
        Reason::Interrupted => CANCELLED,
        Reason::Failed(failure) => {
            printer.failure(failure);
            code(failure.kind)
        }
    }
}
