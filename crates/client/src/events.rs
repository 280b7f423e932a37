//! One connection over which a session's events come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::{Record, SessionEvent};
use charla_providers::sse::{Frame, Framer};
use reqwest::Response;
use tokio::time::timeout;

/// How long nothing may come: the server says every fifteen seconds that it is there.
const SILENCE: Duration = Duration::from_secs(45);

/// Events over one connection.
pub struct EventStream {
    response: Response,
    framer: Framer,
    ready: VecDeque<SessionEvent>,
}

impl EventStream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, framer: Framer::default(), ready: VecDeque::new() }
    }

    /// The next event; nothing when the connection is over, for whatever reason. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let bytes = timeout(SILENCE, self.response.chunk()).await.ok()?.ok()??;
            let ready = &mut self.ready;
            let pushed = self.framer.push(&bytes, &mut |frame| {
                ready.extend(event(&frame));
                Ok(())
            });
            // An event without end: nothing that follows could be told from it.
            pushed.ok()?;
        }
    }
}

/// What a frame says about the session; others are the server's own. A newer server may tell what is not known here.
fn event(frame: &Frame) -> Option<SessionEvent> {
    let Frame::Event { name: Some(name), data } = frame else { return None };
    match *name {
        "record" => Some(SessionEvent::Record(Arc::new(Record::from_json(data).ok()?))),
        "turn" => Some(SessionEvent::Turn(serde_json::from_str(data).ok()?)),
        "missed" => Some(SessionEvent::Missed),
        "broken" => Some(SessionEvent::Broken(serde_json::from_str(data).ok()?)),
        _ => None,
    }
}
