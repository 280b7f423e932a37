//! Takes what other processes of the user ask of a session that runs here.

use std::time::Duration;

use charla_core::session::{Clients, EARLIER_ANSWER, NOBODY, SESSION, SessionHandle};
use charla_proto::{Command, MAX_POST, Mailbox, Phase, Posted, Refusal, Reply, Request};
use futures_util::StreamExt;

/// Names that records have for the session itself and for nobody.
const RESERVED: [&str; 3] = [NOBODY, SESSION, EARLIER_ANSWER];

/// How many requests are worked on at once; further ones wait.
const AT_ONCE: usize = 32;
/// How long somebody who wants the session waits for what is said to that.
const HAND_OVER: Duration = Duration::from_secs(20);

/// Takes requests as long as it runs, from when somebody is there: a session that nobody attends has no questions,
/// and needs no socket.
pub(super) async fn take_requests(mailbox: Box<dyn Mailbox>, clients: Clients, session: SessionHandle) {
    clients.wait_for_somebody().await;
    match mailbox.listen().await {
        Ok(inbox) => inbox.for_each_concurrent(AT_ONCE, |posted| reply_to(posted, &session)).await,
        // The session works without.
        Err(error) => tracing::warn!("other processes cannot reach the session: {error}"),
    }
}

async fn reply_to(posted: Posted, session: &SessionHandle) {
    let reply = match serde_json::from_slice(&posted.command) {
        Ok(Request { by, .. }) if RESERVED.contains(&by.as_str()) => {
            failed(format!("`{by}` is nobody who could ask"))
        }
        Ok(request) => ask(request, session).await,
        Err(error) => failed(format!("this is no request: {error}")),
    };
    posted.reply(in_bytes(&reply));
}

/// Whoever asks from elsewhere is not kept waiting for the end of a turn: it may be long, and what they saw of the
/// session may no longer hold then.
pub(super) async fn ask(request: Request, session: &SessionHandle) -> Reply {
    if is_for_between_turns(&request.command)
        && let Some((snapshot, _)) = session.snapshot().await
        && !matches!(snapshot.phase, Phase::Idle | Phase::Open)
    {
        return Reply::Refused(Refusal::Busy);
    }
    let is_hand_over = request.command == Command::HandOver;
    let asking = session.request(request);
    match is_hand_over {
        // No answer within this is none yet.
        true => tokio::time::timeout(HAND_OVER, asking).await.unwrap_or(Reply::Done),
        false => asking.await,
    }
}

fn is_for_between_turns(command: &Command) -> bool {
    matches!(
        command,
        Command::Compress | Command::Restore | Command::Undo(_) | Command::Redo(_) | Command::Rewind { .. }
    )
}

fn in_bytes(reply: &Reply) -> Vec<u8> {
    let bytes = |reply: &Reply| serde_json::to_vec(reply).unwrap_or_default();
    let whole = bytes(reply);
    match whole.len() > MAX_POST {
        true => bytes(&failed("what there is to say about it is too long to be sent".to_owned())),
        false => whole,
    }
}

fn failed(message: String) -> Reply {
    Reply::Refused(Refusal::Failed { message })
}
