//! A command's end as the model reads it.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use charla_proto::{Confinement, Display, Part, PartKind, ToolError, ToolErrorKind, ToolOutput};

use crate::process::{Ending, StopReason};

/// A command that ended. A failing command is no failing tool: the model reads its exit code.
pub(super) fn ended(
    output: &str,
    group: i32,
    ending: &Ending,
    silence: Duration,
) -> Result<ToolOutput, ToolError> {
    match ending.stopped {
        None => {
            let text = facts(output, group, ending);
            let (code, signal) = (ending.code, ending.signal);
            Ok(ToolOutput {
                content: vec![Part::text(text)],
                display: Some(Display::Command { output: output.trim_end().to_owned(), code, signal }),
                ..ToolOutput::default()
            })
        }
        Some(StopReason::Asked) => Err(ToolError::new(
            ToolErrorKind::Cancelled,
            so_far("The command was cancelled by the user before it ended.", output),
        )),
        Some(StopReason::Silent) => {
            let said = format!(
                "The command was ended because it wrote nothing for {} seconds. If it needs input, answer in \
                 advance with flags; if it is a server, run it with is_background.",
                silence.as_secs()
            );
            Err(ToolError::new(ToolErrorKind::TimedOut, so_far(&said, output)))
        }
        Some(StopReason::Limit(what)) => {
            let said = format!(
                "The command was ended because {what}, which is the most that runs without a person being asked.\
                 {UNCONFINED}"
            );
            Err(ToolError::new(ToolErrorKind::TimedOut, so_far(&said, output)))
        }
    }
}

/// What can be done about a command that the sandbox stopped.
pub(super) const UNCONFINED: &str = " To run it outside the sandbox, call again with `unconfined: true` and say why in \
    `description`; a person is asked.";

/// Tells that the sandbox may have refused something.
pub(super) fn with_denial(output: ToolOutput, confinement: Confinement, sign: &str) -> ToolOutput {
    with_words(output, &format!("\nThe sandbox ({confinement}) may have refused this: {sign}.{UNCONFINED}"))
}

/// Tells which changed files git did not get to see.
pub(super) fn with_unseen(output: ToolOutput, unseen: &[PathBuf]) -> ToolOutput {
    let names: Vec<String> = unseen.iter().map(|path| path.display().to_string()).collect();
    let told = format!(
        "\nGit took these changed files as unchanged, because their content is hidden: {}.",
        names.join(", ")
    );
    with_words(output, &told)
}

/// Tells what the command made and may not have, to the person too.
pub(super) fn with_cleared(mut output: ToolOutput, told: &str) -> ToolOutput {
    if let Some(Display::Command { output, .. }) = &mut output.display {
        output.push('\n');
        output.push_str(told);
    }
    with_words(output, &format!("\n{told}"))
}

fn with_words(mut output: ToolOutput, told: &str) -> ToolOutput {
    let text = output.content.first_mut().and_then(|part| match &mut part.kind {
        PartKind::Text(text) => Some(text),
        _ => None,
    });
    match (text, &mut output.error) {
        (_, Some(error)) => error.message.push_str(told),
        (Some(text), None) => text.push_str(told),
        (None, None) => output.content.push(Part::text(told)),
    }
    output
}

fn so_far(said: &str, output: &str) -> String {
    match output.trim_end() {
        "" => format!("{said} It had written nothing."),
        output => format!("{said} Its output until then:\n{output}"),
    }
}

/// The lines that say something.
fn facts(output: &str, group: i32, ending: &Ending) -> String {
    let output = output.trim_end_matches('\n');
    let mut text = format!("Output: {}", if output.is_empty() { "(empty)" } else { output });
    // Writing to a string does not fail.
    if let Some(code) = ending.code.filter(|code| *code != 0) {
        let _ = write!(text, "\nExit Code: {code}");
    }
    if let Some(signal) = ending.signal {
        let _ = write!(text, "\nSignal: {signal}{}", name(signal));
    }
    if ending.code.is_none() && ending.signal.is_none() {
        text.push_str("\nError: its end could not be observed");
    }
    if !ending.strays.is_empty() {
        let strays: Vec<String> = ending.strays.iter().map(i32::to_string).collect();
        let _ = write!(text, "\nBackground PIDs: {}\nProcess Group PGID: {group}", strays.join(", "));
    }
    text
}

fn name(signal: i32) -> String {
    const NAMES: [(i32, &str); 10] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (6, "ABRT"),
        (8, "FPE"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (15, "TERM"),
    ];
    let known = NAMES.iter().find(|(number, _)| *number == signal);
    known.map(|(_, name)| format!(" (SIG{name})")).unwrap_or_default()
}

/// A command left in the background; one that has already ended says how.
pub(super) fn left_running(first: &str, id: i32, ending: Option<&Ending>) -> String {
    match ending {
        Some(ending) => {
            let facts = facts(first, id, ending);
            format!("The background command has already ended.\n{facts}{}", cleared(ending))
        }
        None => {
            let first = if first.is_empty() { "(nothing yet)" } else { first };
            format!(
                "The command runs in the background.\nPID: {id}\nOutput so far: {first}\n\
                 Use read_background_output with this pid to see more."
            )
        }
    }
}

/// What a command made and may not have, on lines of their own.
pub(super) fn cleared(ending: &Ending) -> String {
    ending.cleared.words().map(|told| format!("\n{told}")).unwrap_or_default()
}

/// How a background process stands, in a few words.
pub(super) fn state(ending: Option<&Ending>, over: bool) -> String {
    match ending {
        None => "running".to_owned(),
        Some(ending) if !ending.strays.is_empty() && !over => "ended, but left processes running".to_owned(),
        Some(Ending { stopped: Some(_), .. }) => "ended by us".to_owned(),
        Some(Ending { code: Some(code), .. }) => format!("exited with code {code}"),
        Some(Ending { signal: Some(signal), .. }) => format!("ended by signal {signal}{}", name(*signal)),
        Some(_) => "ended".to_owned(),
    }
}
