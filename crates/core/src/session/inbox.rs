//! What reaches a session: requests, views, models that were bound, and who is there.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{Reply, Request, SessionSnapshot};
use tokio::sync::{mpsc, oneshot, watch};

use super::Subscription;
use super::client_calls::Finished;
use super::handing_over::HandOver;
use super::host::BoundModel;
use crate::hooks::EndReason;

/// How many messages may wait; a sender waits when there are more.
pub(super) const MESSAGES: usize = 64;

/// A message on its way. A channel keeps room for many from its beginning, so what it holds is a pointer.
pub(super) type Posted = Box<Message>;

/// Something for the session's task.
pub(super) enum Message {
    /// Somebody asks something.
    Request(Asked),
    /// Somebody wants to see the session as it is, and what comes.
    View(oneshot::Sender<(SessionSnapshot, Subscription)>),
    /// The session is to end; what is given along goes with its task.
    Close(oneshot::Sender<()>, EndReason),
    /// A call that somebody made themselves is over.
    Finished(Finished),
    /// A model somebody asked for is ready, or cannot be had.
    Bound { wish: u64, bound: Result<Box<BoundModel>, String>, asked: Asked },
}

/// What a session may hear of while it waits for people.
pub(super) enum Incoming {
    Message(Option<Posted>),
    Clients,
}

/// A request, and where its reply goes.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl Asked {
    /// Nobody waiting for a reply any more is fine.
    pub(super) fn reply(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

/// The session's end of its channels.
pub(super) struct Inbox {
    messages: mpsc::Receiver<Posted>,
    /// For the session's own tasks; it keeps no session alive.
    pub(super) sender: mpsc::WeakSender<Posted>,
    /// Requests for the time between turns.
    pub(super) later: VecDeque<Asked>,
    /// Who wants to go on with the session elsewhere.
    pub(super) hand_over: HandOver,
    clients: Clients,
    seen: watch::Receiver<usize>,
    closed: bool,
    /// For calls that run beside the session, and what they come to.
    pub(super) finished: mpsc::UnboundedSender<Box<Finished>>,
    finishing: mpsc::UnboundedReceiver<Box<Finished>>,
    /// Those who wait for the end of the task.
    closers: Vec<oneshot::Sender<()>>,
}

impl Inbox {
    pub(super) fn new(clients: Clients) -> (Self, mpsc::Sender<Posted>) {
        let (sender, messages) = mpsc::channel(MESSAGES);
        let seen = clients.0.subscribe();
        let weak = sender.downgrade();
        let (finished, finishing) = mpsc::unbounded_channel();
        let inbox = Self {
            messages,
            sender: weak,
            later: VecDeque::new(),
            hand_over: HandOver::default(),
            clients,
            seen,
            closed: false,
            finished,
            finishing,
            closers: Vec::new(),
        };
        (inbox, sender)
    }

    /// The next message; nothing, once, when every handle is gone, and then it waits for ever. Safe to drop
    /// and call again.
    pub(super) async fn recv(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            message = self.messages.recv(), if !self.closed => {
                self.closed = message.is_none();
                message.map(|message| *message)
            }
            finished = next_of(&mut self.finishing) => Some(Message::Finished(finished)),
        }
    }

    /// The next call that comes back; waits for ever where none runs.
    pub(super) async fn next_finished(&mut self) -> Finished {
        next_of(&mut self.finishing).await
    }

    /// Takes nothing more. Whoever gave `closer` is told when the task has ended.
    pub(super) fn close(&mut self, closer: oneshot::Sender<()>) {
        self.messages.close();
        self.closers.push(closer);
    }

    /// True when nobody can send anything any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// True when somebody can be asked.
    pub(super) fn somebody(&self) -> bool {
        self.clients.somebody()
    }

    /// The next message, or the news that clients have come or gone.
    pub(super) async fn recv_or_clients(&mut self) -> Incoming {
        tokio::select! {
            biased;
            message = self.messages.recv(), if !self.closed => {
                self.closed = message.is_none();
                Incoming::Message(message)
            }
            finished = next_of(&mut self.finishing) => Incoming::Message(Some(Box::new(Message::Finished(finished)))),
            Ok(()) = self.seen.changed() => Incoming::Clients,
        }
    }
}

async fn next_of(finishing: &mut mpsc::UnboundedReceiver<Box<Finished>>) -> Finished {
    match finishing.recv().await {
        Some(finished) => *finished,
        None => std::future::pending().await,
    }
}

/// Who is there to be asked: the clients attached to a session.
#[derive(Clone, Debug)]
pub struct Clients(Arc<watch::Sender<usize>>, bool);

/// A client that is there. Dropped, it is gone.
#[derive(Debug)]
pub struct Attached(Arc<watch::Sender<usize>>);

impl Default for Clients {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)), false)
    }
}

impl Clients {
    /// Questions wait although nobody is there: somebody will come. For servers.
    pub fn expected() -> Self {
        Self(Arc::new(watch::Sender::new(0)), true)
    }

    /// One more client that can be asked.
    pub fn attach(&self) -> Attached {
        self.0.send_modify(|count| *count += 1);
        Attached(self.0.clone())
    }

    /// Comes back as soon as somebody can be asked.
    pub async fn wait_for_somebody(&self) {
        if !self.somebody() {
            // The sender is ours: it cannot be gone.
            let _ = self.0.subscribe().wait_for(|count| *count > 0).await;
        }
    }

    /// True when somebody can be asked.
    pub fn somebody(&self) -> bool {
        self.1 || *self.0.borrow() > 0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
