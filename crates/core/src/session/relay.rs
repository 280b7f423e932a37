//! A session that runs elsewhere, behind the same handle: whoever holds one need not know where the session is.

use std::pin::Pin;
use std::sync::Arc;

use charla_proto::{BoxFuture, Reply, Request, SessionEvent, SessionSnapshot};
use futures_util::{Stream, StreamExt};
use tokio::sync::{broadcast, mpsc};

use super::inbox::{MESSAGES, Message, Posted};
use super::subscription::{Recent, Shared};
use super::{Clients, EVENTS, SessionHandle, Subscription};

/// A session's events as they come from elsewhere.
pub type RemoteEvents = Pin<Box<dyn Stream<Item = SessionEvent> + Send>>;

/// A session in another process, as far as a handle needs it.
pub trait RemoteSession: Send + Sync + 'static {
    /// Asks something of it. One that cannot be reached refuses.
    fn request(&self, request: Request) -> BoxFuture<'static, Reply>;

    /// It as it is now; nothing when that cannot be had.
    fn snapshot(&self) -> BoxFuture<'_, Option<SessionSnapshot>>;

    /// Every record after number `seq`, what the running step has shown, and then events as they come, over every cut on
    /// the way. It ends when the session is gone for good.
    fn events(&self, seq: u64) -> RemoteEvents;
}

impl SessionHandle {
    /// A handle of a session that runs elsewhere, as it is in `snapshot`. When the last handle is gone or it is closed, the
    /// session goes on without us. Must be called in a tokio runtime.
    pub fn relayed(remote: Arc<dyn RemoteSession>, snapshot: &SessionSnapshot) -> Self {
        let (sender, messages) = mpsc::channel(MESSAGES);
        let (events, _) = broadcast::channel(EVENTS);
        let recent = Recent::new(snapshot.seq, None);
        let handle = Self {
            messages: sender,
            events: events.downgrade(),
            recent: recent.clone(),
            clients: Clients::default(),
        };
        let incoming = remote.events(snapshot.seq);
        tokio::spawn(Relay { remote, messages, events, recent, incoming }.run());
        handle
    }
}

/// Passes on what is asked here and what happens there.
struct Relay {
    remote: Arc<dyn RemoteSession>,
    messages: mpsc::Receiver<Posted>,
    events: broadcast::Sender<Shared>,
    recent: Recent,
    incoming: RemoteEvents,
}

impl Relay {
    async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                message = self.messages.recv() => match message.map(|message| *message) {
                    // A reply may be long in coming, and others must not wait for it.
                    Some(Message::Request(asked)) => {
                        let reply = self.remote.request(asked.request.clone());
                        tokio::spawn(async move { asked.reply(reply.await) });
                    }
                    Some(Message::View(wanted)) => {
                        if let Some(view) = self.view().await {
                            // Whoever wanted it may be gone.
                            let _ = wanted.send(view);
                        }
                    }
                    // Models are bound, and calls come back, where the session runs.
                    Some(Message::Bound { .. } | Message::Finished(_)) => {}
                    Some(Message::Close(..)) | None => return,
                },
                event = self.incoming.next() => match event {
                    Some(event) => self.publish(event),
                    None => return,
                },
            }
        }
    }

    /// The session as it is, and what comes. Events begin anew where everybody else is, so that what the running step has
    /// shown is told whole: the snapshot leaves that out.
    async fn view(&mut self) -> Option<(SessionSnapshot, Subscription)> {
        let mut snapshot = self.remote.snapshot().await?;
        snapshot.running = charla_proto::RunningStep::default();
        self.incoming = self.remote.events(self.recent.last());
        let events = Subscription::new(self.events.subscribe(), self.recent.clone());
        let seq = snapshot.seq;
        Some((snapshot, events.after(seq)))
    }

    fn publish(&self, event: SessionEvent) {
        if let SessionEvent::Record(record) = &event {
            if record.seq <= self.recent.last() {
                return;
            }
            self.recent.push(record.clone());
        }
        // Nobody listening is fine: records are kept where the session is.
        let _ = self.events.send(Arc::new(event));
    }
}
