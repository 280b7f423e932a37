//! Command lines of a person's own: calls that they make in a session, recorded and judged as such.

use charla_core::CancellationToken;
use charla_core::session::SessionHandle;
use charla_proto::{CallEnded, CancelTarget, Command, Fact, Refusal, Reply, SessionEvent};

/// The tool that command lines are run by.
pub const COMMAND_TOOL: &str = "run_shell_command";

/// The call that a command line of somebody's own is.
pub fn own_command(line: &str) -> Command {
    command(line, false, false)
}

fn command(line: &str, for_prompt: bool, if_allowed: bool) -> Command {
    let args = [("command".to_owned(), line.into())].into_iter().collect();
    Command::RunTool { name: COMMAND_TOOL.to_owned(), args, for_prompt, if_allowed }
}

/// Runs a command line whose output is to stand in a prompt, as [`run_own`] does; the model is not told of it besides. One that
/// nobody has read runs `if_allowed` by the rules alone.
pub(super) async fn run_for_prompt(
    session: &SessionHandle,
    line: &str,
    if_allowed: bool,
    by: &str,
    cancel: &CancellationToken,
) -> Result<Box<CallEnded>, Refusal> {
    run(session, command(line, true, if_allowed), by, cancel).await
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
