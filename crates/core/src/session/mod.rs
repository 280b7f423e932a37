//! The session: one task owns one conversation.
//!
//! Everything that changes a conversation goes through this task as a [`Request`], and every durable change goes
//! through `Ledger::commit`: written to the journal, then folded in, then shown. The task itself is never
//! cancelled; what it waits for (a model, a tool, a person) may be at any point.
//!
//! `turn` is the loop. `calls` runs the calls of a step, `client_calls` those that people make themselves, `compaction` makes room in the window, `requests` takes
//! what people ask, `reverting` goes back; each borrows the session while it works.

mod approvals;
mod asides;
mod binding;
mod call_hooks;
mod call_ids;
mod calls;
mod client_calls;
mod compaction;
mod ending;
mod follow;
pub mod fork;
mod handing_over;
mod hook_messages;
mod hooking;
mod host;
pub mod import;
mod inbox;
mod last_word;
mod ledger;
mod limits;
mod offer;
mod passing;
mod prompts;
mod questions;
mod relay;
mod repair;
mod requests;
mod reverting;
mod subscription;
mod told;
mod turn;

use std::sync::Arc;

use charla_proto::{
    Command, Confinement, Content, Conversation, Journal, Outcome, Phase, Plan, Policy, Refusal, Reply,
    Request, RunningStep, SessionSnapshot, ToolContext,
};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::compress::Compression;
use crate::hooks::{EndReason, Hooks, StartSource};
use crate::loop_guard::LoopGuard;
use approvals::Approvals;
use binding::Binding;
pub use call_ids::CallIds;
use client_calls::{RunningCalls, run_session};
pub use follow::Follower;
pub use hooking::HOOK;
use hooking::HookState;
pub use host::{
    BoundModel, Equipment, FixedHost, Host, Price, Prices, RevertProblem, RevertStep, Reverted, Situation,
    by_characters,
};
use inbox::{Asked, Inbox, Message, Posted};
pub use inbox::{Attached, Clients};
use ledger::{Ledger, Publisher};
pub use limits::Limits;
pub use relay::{RemoteEvents, RemoteSession};
pub(crate) use repair::schema_problem;
pub use subscription::Subscription;
use subscription::{Recent, Shared};
pub(crate) use told::about_change;
use turn::{Efforts, Next, Session};

/// Who answers when nobody is there to be asked.
pub const NOBODY: &str = "nobody";
/// Who speaks when the session itself does.
pub const SESSION: &str = "charla";
/// Who answers when a question needs no asking any more: an "always" has answered it, too.
pub const EARLIER_ANSWER: &str = "an earlier answer";

/// How many events a subscriber may lag behind; one that lags more loses transient events and reads records again.
const EVENTS: usize = 1024;

/// What a session is made of. Nothing in it is global: two sessions may differ in everything.
pub struct SessionSetup {
    /// Gives it models, tools and instructions.
    pub host: Arc<dyn Host>,
    /// The model that answers first.
    pub model: BoundModel,
    /// The rules that calls are judged by.
    pub policy: Arc<dyn Policy>,
    /// Where facts are written before they are true.
    pub journal: Box<dyn Journal>,
    /// Who can be asked.
    pub clients: Clients,
    /// What else holds for it.
    pub options: SessionOptions,
    /// Milliseconds since 1970.
    pub clock: fn() -> u64,
}

/// Says what is wrong with an answer, if anything.
pub type AnswerCheck = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Says what really holds a call in whose processes may reach that far.
pub type Isolation = Arc<dyn Fn(&Plan, Confinement) -> String + Send + Sync>;

/// What holds for a session as long as it runs.
#[derive(Clone, Default)]
pub struct SessionOptions {
    /// Where tools work.
    pub tool_context: Arc<ToolContext>,
    /// When a turn ends by itself.
    pub limits: Limits,
    /// What holds a running call in, in words for the person who is asked.
    pub isolation: Option<Isolation>,
    /// When the conversation is compressed, and how much of it stays.
    pub compression: Compression,
    /// What the last answer of a turn is held to; the model is told what does not fit and may mend it.
    pub answer_check: Option<AnswerCheck>,
    /// Whose ids calls get.
    pub call_ids: CallIds,
    /// What runs at points of the session, where anything does.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Why a session without turns begins.
    pub start: StartSource,
}

/// A running session. Cloning shares it; when the last handle is gone, the session ends after its turn.
#[derive(Clone)]
pub struct SessionHandle {
    messages: mpsc::Sender<Posted>,
    /// Weak: subscriptions end with the session's task, however it ends.
    events: broadcast::WeakSender<Shared>,
    recent: Recent,
    clients: Clients,
}

impl SessionHandle {
    /// Starts a session on a conversation, new or folded from its journal. Must be called in a tokio runtime.
    ///
    /// A turn that an earlier process left open waits to be gone on with, by [`Command::Continue`] or a prompt:
    /// its questions still wait, answered calls go on, and only calls found running are reported as interrupted.
    pub fn start(setup: SessionSetup, conversation: Conversation) -> Self {
        let (inbox, messages) = Inbox::new(setup.clients.clone());
        let (events, _) = broadcast::channel(EVENTS);
        let recent = Recent::new(conversation.seq, setup.journal.reader());
        let handle =
            Self { messages, events: events.downgrade(), recent: recent.clone(), clients: setup.clients };
        let approvals =
            Approvals::new(setup.policy, &conversation.grants, setup.options.tool_context.files.clone());
        let source = match conversation.past.count {
            0 => setup.options.start,
            _ => StartSource::Resume,
        };
        let hooks = HookState::new(source);
        let publisher = Publisher { events, recent, running: RunningStep::default() };
        let session = Session {
            ledger: Ledger::new(setup.journal, conversation, publisher, setup.clock),
            inbox,
            binding: Binding::new(setup.host, setup.model),
            approvals,
            options: setup.options,
            guard: LoopGuard::default(),
            efforts: Efforts::default(),
            client_calls: RunningCalls::default(),
            phase: Phase::Idle,
            next: Next::Wait,
            hooks,
        };
        tokio::spawn(run_session(session));
        handle
    }

    /// Asks something of the session. Comes back once it is done and recorded, or refused; what a prompt leads
    /// to is told by events.
    pub async fn request(&self, request: Request) -> Reply {
        let (reply, replied) = oneshot::channel();
        let message = Box::new(Message::Request(Asked { request, reply }));
        if self.messages.send(message).await.is_err() {
            return Reply::Refused(Refusal::Ended);
        }
        replied.await.unwrap_or(Reply::Refused(Refusal::Ended))
    }

    /// Asks something on behalf of `by`.
    pub async fn send(&self, command: Command, by: &str) -> Reply {
        self.request(Request { by: by.to_owned(), command }).await
    }

    /// Says something to the model; the id of the prompt.
    pub async fn prompt(&self, content: Content, by: &str) -> Result<String, Refusal> {
        match self.send(Command::prompt(content), by).await {
            Reply::Prompted { prompt, .. } => Ok(prompt),
            Reply::Refused(refusal) => Err(refusal),
            _ => Err(Refusal::Ended),
        }
    }

    /// Answers a question. The first answer counts; a late one is told who won.
    pub async fn answer(&self, approval: &str, outcome: Outcome, by: &str) -> Result<(), Refusal> {
        match self.send(Command::Answer { approval: approval.to_owned(), outcome }, by).await {
            Reply::Refused(refusal) => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Events from now on.
    pub fn subscribe(&self) -> Subscription {
        let events = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            None => broadcast::channel(1).1,
        };
        Subscription::new(events, self.recent.clone())
    }

    /// The session as it is, and every event after that; nothing when it has ended.
    pub async fn snapshot(&self) -> Option<(SessionSnapshot, Subscription)> {
        let (reply, replied) = oneshot::channel();
        self.messages.send(Box::new(Message::View(reply))).await.ok()?;
        replied.await.ok()
    }

    /// Every record after number `seq`, what the running step has shown, and then events as they come.
    pub async fn subscribe_from(&self, seq: u64) -> Option<Subscription> {
        let (snapshot, subscription) = self.snapshot().await?;
        Some(subscription.from(seq, &snapshot))
    }

    /// Ends the session after its turn, whoever else holds a handle, and waits until its journal is closed. What
    /// waits for a person then waits for another process.
    pub async fn close(&self) {
        self.close_for(EndReason::Exit).await;
    }

    /// As [`Self::close`], with what its hooks are told.
    pub async fn close_for(&self, reason: EndReason) {
        let (closer, closed) = oneshot::channel();
        if self.messages.send(Box::new(Message::Close(closer, reason))).await.is_ok() {
            // The task never answers: it drops its end when it is over.
            let _ = closed.await;
        }
    }

    /// One more client that can be asked, until what is given back is dropped.
    pub fn attach(&self) -> Attached {
        self.clients.attach()
    }
}

#[cfg(test)]
pub(crate) mod tests;
