//! A session of a server as one that a handle can be had of: its events go on over every cut.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charla::{Notices, Progress};
use charla_core::session::{RemoteEvents, RemoteSession};
use charla_proto::{BoxFuture, Command, Phase, Reply, Request, SessionEvent, SessionSnapshot};
use futures_util::stream;

use crate::api::Client;
use crate::error::ClientError;
use crate::events::EventStream;

/// How long to wait before a connection is tried again: twice as long each time, up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What there is to say while a session is followed goes here.
type Say = Arc<Mutex<Box<dyn Notices>>>;

/// A session of a server.
pub(crate) struct Remote {
    client: Client,
    id: String,
    say: Say,
}

impl Remote {
    pub(crate) fn new(client: Client, id: &str, notices: Box<dyn Notices>) -> Self {
        Self { client, id: id.to_owned(), say: Arc::new(Mutex::new(notices)) }
    }
}

impl RemoteSession for Remote {
    fn request(&self, request: Request) -> BoxFuture<'static, Reply> {
        let (client, id) = (self.client.clone(), self.id.clone());
        // Who asks is for the server to say, by the token.
        Box::pin(async move {
            client.command(&id, &request.command).await.unwrap_or_else(ClientError::into_reply)
        })
    }

    fn snapshot(&self) -> BoxFuture<'_, Option<SessionSnapshot>> {
        Box::pin(async move { self.client.snapshot(&self.id).await.ok() })
    }

    fn events(&self, seq: u64) -> RemoteEvents {
        let (client, id, say) = (self.client.clone(), self.id.clone(), self.say.clone());
        let following = Following { client, id, say, seen: seq, events: None, was_cut: false };
        Box::pin(stream::unfold(following, |mut following| async {
            let event = following.next().await?;
            Some((event, following))
        }))
    }
}

/// A session that is followed, connection after connection.
struct Following {
    client: Client,
    id: String,
    say: Say,
    /// The last record that came.
    seen: u64,
    events: Option<EventStream>,
    /// There was a connection, and it was lost; or there was none when it was looked for first.
    was_cut: bool,
}

impl Following {
    /// The next event; nothing when the session is gone, or no longer ours to see.
    async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            let Some(events) = &mut self.events else {
                self.connect().await?;
                if self.was_cut {
                    // What was shown in between is lost; the records come.
                    return Some(SessionEvent::Missed);
                }
                continue;
            };
            match events.next().await {
                Some(event) => {
                    if let SessionEvent::Record(record) = &event {
                        self.seen = record.seq;
                    }
                    return Some(event);
                }
                None => {
                    self.events = None;
                    self.was_cut = true;
                }
            }
        }
    }

    /// Connects, however long it takes.
    async fn connect(&mut self) -> Option<()> {
        let (mut pause, longest) = PAUSES;
        if self.was_cut {
            let server = self.client.server();
            let words = format!("the connection to {server} is lost; trying again");
            self.tell(|say| say.warning(&words.into()));
            let state = format!("waiting for {server}");
            self.tell(|say| say.progress(Progress { state: &state, began: None }));
        }
        loop {
            match self.client.events(&self.id, self.seen).await {
                Ok(events) => {
                    self.events = Some(events);
                    break;
                }
                Err(error) if is_final(&error) => {
                    self.tell(|say| say.progress_done());
                    self.tell(|say| say.warning(&error.to_string().into()));
                    return None;
                }
                Err(_) => {
                    // Who was to be followed from the beginning on may have been started again meanwhile, too.
                    self.was_cut = true;
                    tokio::time::sleep(pause).await;
                }
            }
            pause = (pause * 2).min(longest);
        }
        if self.was_cut {
            self.tell(|say| say.progress_done());
            let words = format!("connected to {} again", self.client.server());
            self.tell(|say| say.note(&words.into()));
            self.go_on().await;
        }
        Some(())
    }

    /// A server that was started again leaves a turn where it was until somebody wants it to go on. Whoever follows it does.
    async fn go_on(&self) {
        let phase = self.client.snapshot(&self.id).await.map(|snapshot| snapshot.phase);
        if matches!(phase, Ok(Phase::Open)) {
            // Refused where another was quicker, or where we may only look.
            let _ = self.client.command(&self.id, &Command::Continue).await;
        }
    }

    fn tell(&self, words: impl FnOnce(&mut dyn Notices)) {
        words(&mut **self.say.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// True when trying again would come to the same. A server that is asked too often, or starts, may say yes later.
fn is_final(error: &ClientError) -> bool {
    matches!(error.status(), Some(400..=428 | 430..=499))
}
