//! Commands behind a `/` that make sense in an editor, those that users write, and prompts of MCP servers.

use std::time::Duration;

use charla::custom_command::Piece;
use charla::session::{expand_server_prompt, init_prompt, server_prompt, server_prompts};
use charla_proto::{Command, CompressionReport, Reply, RevertSelection, SessionEvent, TurnEvent};
use serde_json::{Value, json};

use crate::ME;
use crate::session::EditorSession;

/// How long what came of a compression may take to be told.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// Our own commands: name and what they do.
const OWN: [(&str, &str); 6] = [
    ("init", "Look at this folder and write AGENTS.md"),
    ("compress", "Put a summary in place of the older part of the conversation"),
    ("uncompress", "Bring the whole conversation back"),
    ("undo", "Take the last turn's file changes back"),
    ("redo", "Bring undone file changes back"),
    ("refresh", "Read instruction files, rules and tools again"),
];

/// What a command comes to.
pub(crate) enum Done {
    /// These words are all there is to say.
    Told(String),
    /// This is said to the model.
    Prompt(Vec<Piece>),
}

/// The commands, as the editor lists them: with the prompts of those servers that have started.
pub(crate) fn list(session: &EditorSession) -> Value {
    let custom = &session.custom;
    let own = OWN.iter().map(|(name, about)| json!({"name": name, "description": about}));
    let custom = custom.iter().map(|command| {
        json!({"name": command.name, "description": command.description, "input": {"hint": "what for"}})
    });
    let prompts = session.opened.servers().map(server_prompts).unwrap_or_default();
    let is_free = |name: &str| session.custom.iter().all(|command| command.name != name);
    let prompts = prompts.into_iter().filter(|(name, _)| is_free(name)).map(|(name, prompt)| {
        let listed = &prompt.prompt;
        let takes: Vec<String> = listed.arguments.iter().map(|one| format!("--{}=…", one.name)).collect();
        let input = (!takes.is_empty()).then(|| json!({"hint": takes.join(" ")}));
        json!({"name": name, "description": listed.description, "input": input})
    });
    own.chain(custom).chain(prompts).collect()
}

/// Does what these words ask for, where they are a command.
pub(crate) async fn run(session: &EditorSession, words: &str) -> Option<Done> {
    let typed = words.trim().strip_prefix('/')?;
    let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if let Some(command) = session.custom.iter().find(|command| command.name == name) {
        return Some(Done::Prompt(command.expand(arguments)));
    }
    let words = match name {
        "init" => return Some(Done::Prompt(vec![Piece::Text(init_prompt(arguments))])),
        "compress" => compressed(session, Command::Compress).await,
        "uncompress" => compressed(session, Command::Restore).await,
        "undo" => reverted(session, Command::Undo(RevertSelection::default()), "taken back").await,
        "redo" => reverted(session, Command::Redo(RevertSelection::default()), "brought back").await,
        "refresh" => match session.opened.send(Command::Refresh, ME).await {
            Reply::Refused(refusal) => refusal.to_string(),
            _ => "Instruction files, rules and tools were read again.".to_owned(),
        },
        _ => return of_server(session, name, arguments.trim()).await,
    };
    Some(Done::Told(words))
}

/// The prompt of a server of this name.
async fn of_server(session: &EditorSession, name: &str, arguments: &str) -> Option<Done> {
    let servers = session.opened.servers()?;
    // What prompts there are is known once the servers have started.
    servers.settled().await;
    let prompt = server_prompt(servers, name)?;
    Some(match expand_server_prompt(servers, &prompt, arguments).await {
        Ok(filled) => Done::Prompt(vec![Piece::Text(filled.text)]),
        Err(refusal) => Done::Told(format!("/{name} is not said: {refusal}")),
    })
}

async fn compressed(session: &EditorSession, command: Command) -> String {
    let mut events = session.opened.handle.subscribe();
    if let Reply::Refused(refusal) = session.opened.send(command, ME).await {
        return refusal.to_string();
    }
    let report = async {
        while let Some(event) = events.recv().await {
            if let SessionEvent::Turn(TurnEvent::ChatCompressed(report)) = event {
                return Some(report);
            }
        }
        None
    };
    let report = tokio::time::timeout(TOLD_WITHIN, report).await.ok().flatten();
    report.map_or_else(|| "It is done.".to_owned(), |report| in_words(&report))
}

fn in_words(report: &CompressionReport) -> String {
    let status = serde_json::to_value(report.status).unwrap_or_default();
    let status = status.as_str().unwrap_or_default().replace('_', " ");
    let detail = report.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{status}: {} tokens before, {} after{detail}", report.before, report.after)
}

async fn reverted(session: &EditorSession, command: Command, did: &str) -> String {
    match session.opened.send(command, ME).await {
        Reply::Reverted { turn, files } => {
            let names: Vec<String> =
                files.iter().map(|file| format!("- {}", file.change.path.display())).collect();
            format!("Changes of turn {turn} were {did}:\n{}", names.join("\n"))
        }
        Reply::Refused(refusal) => refusal.to_string(),
        _ => String::new(),
    }
}

/// The command lines that a prompt would run.
pub(crate) fn lines<'a>(pieces: &'a [Piece]) -> Vec<&'a str> {
    let line = |piece: &'a Piece| match piece {
        Piece::Shell(line) => Some(line.as_str()),
        _ => None,
    };
    pieces.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use charla::custom_command::BUILT_IN;

    use super::*;

    #[test]
    fn no_command_that_a_user_wrote_has_the_name_of_one_of_ours() {
        OWN.iter().for_each(|(name, _)| assert!(BUILT_IN.contains(name), "{name}"));
    }
}
