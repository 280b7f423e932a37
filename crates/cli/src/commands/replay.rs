//! `charla replay`: a recorded session runs again, and its first difference is shown.

use charla::{Charla, Failure};
use charla_core::replay::{Difference, Replayed, replay};
use serde_json::json;

use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Replays a session; a difference is a failure.
pub fn run(which: &str, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (runtime, sessions) = (runtime()?, charla.sessions()?);
    let (session, records) = runtime.block_on(sessions.read(which))?;
    let replayed = runtime.block_on(replay(&records));
    match json {
        true => {
            let Replayed { turns, requests, difference } = &replayed;
            let document =
                json!({"session": session, "turns": turns, "requests": requests, "difference": difference});
            printer.result(&format!("{document:#}\n"))?;
        }
        false => printer.words(&to_text(&replayed))?,
    }
    match replayed.difference {
        None => Ok(()),
        Some(_) => Err(Failure::system(format!("the session {session} does not replay as it was recorded"))),
    }
}

fn to_text(replayed: &Replayed) -> String {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match &replayed.difference {
        None => {
            let (turns, requests) = (counted(replayed.turns, "turn"), counted(replayed.requests, "request"));
            format!("{turns}, {requests}, no difference\n")
        }
        Some(difference) => {
            let Difference { turn, step, what, .. } = difference;
            format!("turn {turn}, step {step}: {what}\n{}", difference.shown())
        }
    }
}
