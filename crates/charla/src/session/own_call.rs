//! Command lines of a person's own: calls that they make in a session, recorded and judged as such.

use charla_core::CancellationToken;
use charla_core::session::SessionHandle;
use charla_proto::{CallEnded, CancelTarget, Command, Display, Fact, Refusal, Reply, SessionEvent};

use crate::custom_command::Piece;

/// The tool that command lines are run by.
pub const COMMAND_TOOL: &str = "run_shell_command";

/// The call that a command line of somebody's own is.
pub fn own_command(line: &str) -> Command {
    command(line, false)
}

fn command(line: &str, for_prompt: bool) -> Command {
    let args = [("command".to_owned(), line.into())].into_iter().collect();
    Command::RunTool { name: COMMAND_TOOL.to_owned(), args, for_prompt }
}

/// Runs a command line whose output is to stand in a prompt, as [`run_own`] does; the model is not told of it besides.
async fn run_for_prompt(
    session: &SessionHandle,
    line: &str,
    by: &str,
    cancel: &CancellationToken,
) -> Result<Box<CallEnded>, Refusal> {
    run(session, command(line, true), by, cancel).await
}

/// The prompt of a command that a user wrote, with its places filled: its words, and the files that come along by name. Whoever
/// typed the command has agreed to what it runs.
pub async fn fill(
    pieces: &[Piece],
    session: &SessionHandle,
    by: &str,
    cancel: &CancellationToken,
) -> Result<(String, Vec<String>), Refusal> {
    let (mut text, mut files) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(words) => text.push_str(words),
            Piece::File(path) => {
                text.push_str(path);
                files.push(path.clone());
            }
            Piece::Shell(line) => text.push_str(&printed(&*run_for_prompt(session, line, by, cancel).await?)),
        }
        if cancel.is_cancelled() {
            return Err(Refusal::Nothing { why: "it was stopped".to_owned() });
        }
    }
    Ok((text, files))
}

/// What a command printed, or why it did not run.
fn printed(ended: &CallEnded) -> String {
    ended.display.as_ref().map_or_else(|| ended.response.to_text(), Display::to_text)
}

/// Runs a command line as a call that `by` makes, and waits for its end. Nobody is asked, since they wrote it themselves; what a rule
/// denies stays denied. Cancelled, the call is stopped and ends so.
pub async fn run_own(
    session: &SessionHandle,
    line: &str,
    by: &str,
    cancel: &CancellationToken,
) -> Result<Box<CallEnded>, Refusal> {
    run(session, own_command(line), by, cancel).await
}

async fn run(
    session: &SessionHandle,
    command: Command,
    by: &str,
    cancel: &CancellationToken,
) -> Result<Box<CallEnded>, Refusal> {
    let mut events = session.subscribe();
    let id = match session.send(command, by).await {
        Reply::Called { call } => call,
        Reply::Refused(refusal) => return Err(refusal),
        _ => return Err(Refusal::Ended),
    };
    let mut is_stopped = false;
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled(), if !is_stopped => {
                is_stopped = true;
                // One that is over by now needs no stopping.
                session.send(Command::Cancel { target: CancelTarget::Call(id.clone()) }, by).await;
                continue;
            }
            event = events.recv() => event.ok_or(Refusal::Ended)?,
        };
        if let SessionEvent::Record(record) = event
            && let Fact::ClientCallEnded(ended) = &record.fact
            && ended.call == id
        {
            return Ok(ended.clone());
        }
    }
}
