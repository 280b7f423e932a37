//! `charla sessions`: earlier conversations, listed, read, removed. Also `--list-sessions` and `--delete-session`.

use std::collections::HashMap;

use charla::models::Prices;
use charla::session::{PruneRequest, SessionError, SessionStory, Sessions};
use charla::{Charla, Failure};
use charla_proto::SessionSummary;
use charla_terminal::printer::Printer;
use charla_terminal::sessions::{age, row, show};
use serde_json::{Value, json};

use super::{moving, settings_of};
use crate::args::{ExportForm, PruneArgs, SessionsArgs, SessionsCommand};
use crate::runtime::runtime;

/// Runs `charla sessions`.
pub fn run(args: SessionsArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let json = args.json();
    match args.command.unwrap_or(SessionsCommand::List) {
        SessionsCommand::List if json => list_json(charla, printer),
        SessionsCommand::List => list(charla, printer),
        SessionsCommand::Show { session } => {
            let story = story(&session, charla, printer)?;
            match json {
                true => printer.result(&format!("{:#}\n", json!(story))),
                false => show(&story, printer),
            }
        }
        SessionsCommand::Export { session, format } => {
            let form = match format {
                _ if json => charla::session::ExportForm::Json,
                ExportForm::Markdown => charla::session::ExportForm::Markdown,
                ExportForm::Json => charla::session::ExportForm::Json,
                ExportForm::Html => charla::session::ExportForm::Html,
            };
            let prices = Prices::new(&settings_of(charla, Vec::new(), printer)?);
            let text = runtime()?.block_on(charla.sessions()?.export(&session, form, &prices))?;
            printer.words(&text)
        }
        SessionsCommand::Delete { sessions } => delete(&sessions, charla, printer),
        SessionsCommand::Push(args) => moving::push(&args, charla, printer),
        SessionsCommand::Pull(args) => moving::pull(&args, charla, printer),
        SessionsCommand::Prune(args) => prune(&args, json, charla, printer),
    }
}

/// Prints every session, the latest first.
pub fn list(charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (sessions, listed) = listed(charla, printer)?;
    let numbers: HashMap<&str, usize> = sessions.in_order(&listed).into_iter().zip(1..).collect();
    for session in &listed {
        let here = if sessions.is_here(session) { "*" } else { " " };
        let number = numbers.get(session.session.as_str()).map(usize::to_string);
        let here = format!("{here}{:<3}", number.unwrap_or_default());
        let fork = match (&session.started.agent, &session.started.parent) {
            (Some(agent), _) => format!("(agent {} of {}) ", agent.name, agent.session),
            (None, Some(_)) => "(fork) ".to_owned(),
            (None, None) => String::new(),
        };
        printer.words(&format!(
            "{} {here}{:>8}  {}  {fork}{}\n",
            session.session,
            age(session),
            session.model,
            session.title
        ))?;
    }
    if listed.is_empty() {
        printer.note("there are no sessions yet");
    }
    Ok(())
}

fn listed(charla: &Charla, printer: &mut Printer) -> Result<(Sessions, Vec<SessionSummary>), Failure> {
    let sessions = charla.sessions()?;
    let listed = runtime()?.block_on(sessions.list())?;
    for (session, reason) in &listed.unreadable {
        printer.warning(&format!(
            "the session {session} cannot be read: {reason} (`charla sessions delete {session}` removes it)"
        ));
    }
    Ok((sessions, listed.sessions))
}

/// With what each came to: for that every journal is read whole.
fn list_json(charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (sessions, listed) = listed(charla, printer)?;
    let prices = Prices::new(&settings_of(charla, Vec::new(), printer)?);
    let runtime = runtime()?;
    let read = |summary: &SessionSummary| -> Option<Value> {
        // Removed since it was listed, or damaged: then it has no row.
        let story = runtime.block_on(sessions.story(&summary.session, &prices)).ok()?;
        Some(row(summary, &story, sessions.is_here(summary)))
    };
    let rows: Vec<Value> = listed.iter().filter_map(read).collect();
    printer.result(&format!("{:#}\n", Value::from(rows)))
}

fn story(which: &str, charla: &Charla, printer: &mut Printer) -> Result<SessionStory, Failure> {
    let prices = Prices::new(&settings_of(charla, Vec::new(), printer)?);
    let sessions = charla.sessions()?;
    Ok(runtime()?.block_on(sessions.story(which, &prices))?)
}

/// Removes sessions for good. All are found first: their numbers change as they go.
pub fn delete(which: &[String], charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (sessions, runtime) = (charla.sessions()?, runtime()?);
    // One that cannot be read has no number, and is found when it is removed.
    let found = |which: &String| runtime.block_on(sessions.find(which)).unwrap_or_else(|_| which.clone());
    let ids: Vec<String> = which.iter().map(found).collect();
    ids.iter().try_for_each(|id| deleted(runtime.block_on(sessions.delete(id)), printer))
}

fn deleted(deleted: Result<String, SessionError>, printer: &mut Printer) -> Result<(), Failure> {
    let id = deleted.map_err(|error| match error {
        SessionError::InUse(_) => Failure::from(error).with_hint("end the process that uses it first"),
        error => error.into(),
    })?;
    printer.note(&format!("deleted the session {id}"));
    Ok(())
}

fn prune(args: &PruneArgs, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let PruneArgs { older_than, keep, dry_run } = *args;
    let sessions = charla.sessions()?;
    let request = PruneRequest { older_than, keep, dry_run };
    let (gone, pruned) = runtime()?.block_on(sessions.prune(request))?;
    if json {
        let ids: Vec<&str> = gone.iter().map(|session| session.session.as_str()).collect();
        let document = json!({
            "dryRun": dry_run, "deleted": ids, "inUse": pruned.in_use, "freedBytes": pruned.freed,
        });
        return printer.result(&format!("{document:#}\n"));
    }
    for session in &gone {
        printer.words(&format!("{}  {:>8}  {}\n", session.session, age(session), session.title))?;
    }
    printer.flush()?;
    for session in &pruned.in_use {
        printer.warning(&format!("the session {session} is in use and stays"));
    }
    let did = if dry_run { "would delete" } else { "deleted" };
    let journals: u64 = gone.iter().map(|session| session.size).sum();
    let kilobytes = (journals + pruned.freed).div_ceil(1000);
    printer.note(&format!("{did} {} sessions, {kilobytes} kB", gone.len()));
    Ok(())
}
