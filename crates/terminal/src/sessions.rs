//! Sessions, told to a person.

use std::time::SystemTime;

use charla::Failure;
use charla::session::{Said, SessionStory, TurnStory};
use charla_proto::SessionSummary;
use serde_json::{Value, json};

use crate::printer::Printer;

/// How much of a call's arguments is shown.
const SHOWN: usize = 100;

/// Tells a session: what it is, and what was said and done in each turn.
pub fn show(story: &SessionStory, printer: &mut Printer) -> Result<(), Failure> {
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
            Said::Model { message, text, .. } => format!("{message:>6}  model  {}\n", indented(text)),
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

/// A session of a list, for programs; `here` says that it is of the folder where they run.
pub fn row(summary: &SessionSummary, story: &SessionStory, here: bool) -> Value {
    json!({
        "session": summary.session,
        "title": summary.title,
        "model": summary.model,
        "folder": story.folder,
        "here": here,
        "forkedFrom": story.forked_from,
        "startedAt": story.started_at,
        "lastAt": story.last_at,
        "turns": story.turns.len(),
        "spent": story.spent,
        "bytes": summary.size,
    })
}

/// How long ago a session was written to.
pub fn age(session: &SessionSummary) -> String {
    let age = SystemTime::now().duration_since(session.modified).unwrap_or_default();
    crate::wording::age(age)
}
