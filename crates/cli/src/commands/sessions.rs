//! `charla sessions`: earlier conversations, listed, read, removed. Also `--list-sessions` and `--delete-session`.

use std::time::SystemTime;

use charla::models::Prices;
use charla::session::{PruneRequest, Said, SessionStory, Sessions, TurnStory};
use charla::{Charla, Failure};
use charla_proto::SessionSummary;
use serde_json::{Value, json};

use super::{moving, settings_of};
use crate::args::{ExportForm, PruneArgs, SessionsArgs, SessionsCommand};
use crate::runtime::runtime;
use charla_terminal::printer::Printer;
use charla_terminal::wording;

/// How much of a call's arguments is shown.
const SHOWN: usize = 100;

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
        SessionsCommand::Delete { sessions } => {
            sessions.iter().try_for_each(|session| delete(session, charla, printer))
        }
        SessionsCommand::Push(args) => moving::push(&args, charla, printer),
        SessionsCommand::Pull(args) => moving::pull(&args, charla, printer),
        SessionsCommand::Prune(args) => prune(&args, json, charla, printer),
    }
}

/// Prints every session, the latest first.
pub fn list(charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (sessions, listed) = listed(charla, printer)?;
    for session in &listed {
        let here = if sessions.is_here(session) { "*" } else { " " };
        let fork = if session.started.parent.is_some() { "(fork) " } else { "" };
        printer.words(&format!(
            "{} {here} {:>8}  {}  {fork}{}\n",
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
    let row = |summary: &SessionSummary| -> Option<Value> {
        // Removed since it was listed, or damaged: then it has no row.
        let story = runtime.block_on(sessions.story(&summary.session, &prices)).ok()?;
        Some(json!({
            "session": summary.session,
            "title": summary.title,
            "model": summary.model,
            "folder": story.folder,
            "here": sessions.is_here(summary),
            "forkedFrom": story.forked_from,
            "startedAt": story.started_at,
            "lastAt": story.last_at,
            "turns": story.turns.len(),
            "spent": story.spent,
            "bytes": summary.size,
        }))
    };
    let rows: Vec<Value> = listed.iter().filter_map(row).collect();
    printer.result(&format!("{:#}\n", Value::from(rows)))
}

fn story(which: &str, charla: &Charla, printer: &mut Printer) -> Result<SessionStory, Failure> {
    let prices = Prices::new(&settings_of(charla, Vec::new(), printer)?);
    Ok(runtime()?.block_on(charla.sessions()?.story(which, &prices))?)
}

fn show(story: &SessionStory, printer: &mut Printer) -> Result<(), Failure> {
    let forked = story.forked_from.as_ref();
    let forked = forked.map(|(parent, message)| format!("forked from  {parent}, message {message}\n"));
    printer.words(&format!(
        "session      {}\ntitle        {}\nfolder       {}\nmodel        {}\n{}spent        {}\n",
        story.session,
        story.title,
        story.folder.display(),
        story.model,
        forked.unwrap_or_default(),
        story.spent.in_words()
    ))?;
    for turn in &story.turns {
        show_turn(turn, story, printer)?;
    }
    printer.flush()?;
    if !story.turns.is_empty() {
        let id = &story.session;
        printer.note(&format!(
            "`charla undo TURN --session {id}` takes a turn's file changes back, `charla rewind MESSAGE --session {id}` \
             makes a message the last one"
        ));
    }
    Ok(())
}

fn show_turn(turn: &TurnStory, story: &SessionStory, printer: &mut Printer) -> Result<(), Failure> {
    let end = turn.end.filter(|end| !end.is_answer()).map(|end| format!(", {}", json!(end)));
    let end = end.unwrap_or_default().replace('"', "");
    printer.words(&format!("\nturn {} ({}{end})\n", turn.turn, turn.spent.in_words()))?;
    for said in &turn.said {
        let line = match said {
            Said::User { message, text } => format!("{message:>6}  you    {}\n", indented(text)),
            Said::Model { message, text } => format!("{message:>6}  model  {}\n", indented(text)),
            Said::Summary { .. } => "        (the older part was summarized here)\n".to_owned(),
            Said::Tool { name, arguments, success, .. } => {
                let arguments: String = arguments.chars().take(SHOWN).collect();
                let state = if *success { "" } else { " failed" };
                format!("        {name}{state} {arguments}\n")
            }
        };
        printer.words(&line)?;
    }
    match turn.files.is_empty() {
        true => Ok(()),
        false => printer.words(&format!("        files: {}\n", turn.files_in_words(&story.folder))),
    }
}

/// Further lines stand below the first one.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n               ")
}

/// Removes a session for good.
pub fn delete(which: &str, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let sessions = charla.sessions()?;
    let id = runtime()?.block_on(sessions.delete(which)).map_err(|error| match error {
        charla::session::SessionError::InUse(_) => {
            Failure::from(error).with_hint("end the process that uses it first")
        }
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

fn age(session: &SessionSummary) -> String {
    let age = SystemTime::now().duration_since(session.modified).unwrap_or_default();
    wording::age(age)
}
