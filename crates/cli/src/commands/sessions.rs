//! `--list-sessions` and `--delete-session`.

use std::time::SystemTime;

use charla::{Charla, Failure};

use crate::printer::Printer;
use crate::runtime::runtime;

/// Prints every session, the latest first.
pub fn list(charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let sessions = charla.sessions()?;
    let listed = runtime()?.block_on(sessions.list())?;
    for (session, reason) in &listed.unreadable {
        printer.warning(&format!("the session {session} cannot be read: {reason}"));
    }
    for session in &listed.sessions {
        let age = SystemTime::now().duration_since(session.modified).unwrap_or_default();
        let here = if sessions.is_here(session) { "*" } else { " " };
        printer.words(&format!(
            "{} {here} {:>8}  {}  {}\n",
            session.session,
            in_words(age.as_secs()),
            session.model,
            session.title
        ))?;
    }
    if listed.sessions.is_empty() {
        printer.note("there are no sessions yet");
    }
    Ok(())
}

/// Removes a session for good.
pub fn delete(which: &str, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let sessions = charla.sessions()?;
    let id = runtime()?.block_on(sessions.delete(which))?;
    printer.note(&format!("deleted the session {id}"));
    Ok(())
}

fn in_words(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
