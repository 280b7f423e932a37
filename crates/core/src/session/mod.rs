//! The session: one task owns one conversation.
//!
//! Everything that changes a conversation goes through this task as a [`Command`], and every durable change
//! goes through `Ledger::commit`: written to the journal, then folded in, then shown. The task itself is never
//! cancelled; what it waits for (a model, a tool, a person) may be at any point.

mod actor;
mod approvals;
mod follow;
mod ledger;
mod room;
mod subscription;
mod tools;

use std::sync::Arc;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, Citation, CompressionReport, Content, ContentGenerator, Conversation, GenerateRequest,
    Journal, JournalError, LlmError, Outcome, Policy, PreCompress, Record, RetryNotice, ToolContext,
};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::compress::{Compression, Counter};
pub use follow::Follower;
use ledger::Ledger;
use subscription::Recent;
pub use subscription::Subscription;

/// Who answers when nobody is there to be asked.
pub const NOBODY: &str = "nobody";

/// How many commands may wait; a sender waits when there are more.
const COMMANDS: usize = 64;
/// How many events a subscriber may lag behind; one that lags more loses deltas and reads records again.
const EVENTS: usize = 1024;

/// What a session is made of. Nothing in it is global: two sessions may differ in everything.
pub struct SessionSetup {
    /// The model.
    pub generator: Arc<dyn ContentGenerator>,
    /// The tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// The rules.
    pub policy: Arc<dyn Policy>,
    /// Where facts go.
    pub journal: Box<dyn Journal>,
    /// Where tools work.
    pub tool_context: ToolContext,
    /// What every request has beside the conversation: model, system instruction, sampling.
    pub template: GenerateRequest,
    /// When a turn ends by itself.
    pub limits: Limits,
    /// False when nobody is there to ask: then the answer is no.
    pub somebody_to_ask: bool,
    /// What holds a running tool in, in words for the person who is asked.
    pub isolation: String,
    /// The model's window in tokens and how they are counted; without it nothing is compressed by itself.
    pub window: Option<(u32, Counter)>,
    /// When the conversation is compressed, and how much of it stays.
    pub compression: Compression,
    /// Milliseconds since 1970.
    pub clock: fn() -> u64,
}

/// When a turn ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// How often the model may be asked in one turn.
    pub steps: Option<u32>,
    /// How many tokens one turn may use.
    pub tokens: Option<u64>,
    /// How many dollars one turn may cost, and the model's price for a million input, output and
    /// cached tokens.
    pub cost: Option<(f64, [f64; 3])>,
}

/// Something asked of a session.
#[derive(Debug)]
pub enum Command {
    /// The user says something. While a turn runs it waits for its end.
    Prompt(Content),
    /// Stop the turn.
    Cancel,
    /// An answer to a question.
    Answer {
        /// The approval's id.
        approval: String,
        /// The answer.
        outcome: Outcome,
        /// Who answers.
        by: String,
        /// Told what became of it.
        reply: oneshot::Sender<Answered>,
    },
    /// Change how much is allowed without asking.
    SetMode(ApprovalMode),
    /// Tell the older part of the conversation in short. While a turn runs it waits for its end.
    Compress,
    /// Take compressions back. While a turn runs it waits for its end.
    Restore,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// It counts.
    Accepted,
    /// Another answer was first.
    Late {
        /// What it was.
        outcome: Outcome,
        /// Whose.
        by: String,
    },
    /// Nothing of that id waits.
    Unknown,
}

/// Something a subscriber is told.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// A durable fact.
    Record(Arc<Record>),
    /// Something passing: it may be lost, and is not told again.
    Delta(Delta),
    /// This subscriber was too slow: deltas are lost.
    Missed,
    /// The journal cannot be written: the session takes nothing more.
    Broken(JournalError),
}

/// Something passing.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Visible text.
    Content(String),
    /// Thinking.
    Thought(String),
    /// Forget the text and thoughts since the model was asked.
    Retry(RetryNotice),
    /// Another model goes on.
    ModelSwitched {
        /// Who failed.
        from: String,
        /// Who goes on.
        to: String,
        /// Why.
        reason: String,
    },
    /// A source.
    Citation(Citation),
    /// The model is about to be asked for a summary.
    PreCompress(PreCompress),
    /// A compression has ended, or was not needed.
    Compression(CompressionReport),
    /// The turn is about to end with this error, told in full; the record keeps its kind and words.
    Failed(LlmError),
    /// A running tool shows something.
    Live {
        /// The call.
        call: String,
        /// What.
        text: String,
    },
}

/// A running session. Cloning shares it; when the last handle is gone, the session ends after its turn.
#[derive(Clone)]
pub struct SessionHandle {
    commands: mpsc::Sender<Command>,
    events: broadcast::Sender<SessionEvent>,
    recent: Recent,
}

impl SessionHandle {
    /// Starts a session on a conversation, new or folded from its journal. Must be called in a tokio runtime.
    ///
    /// A turn that the last process left open is closed first: a call found running is told as interrupted,
    /// never run again by itself.
    pub fn start(setup: SessionSetup, conversation: Conversation) -> Self {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (events, _) = broadcast::channel(EVENTS);
        let recent = Recent::new(conversation.seq, setup.journal.reader());
        let handle = Self { commands, events: events.clone(), recent: recent.clone() };
        let publisher = ledger::Publisher { events, recent };
        let ledger = Ledger::new(setup.journal, conversation, publisher, setup.clock);
        let settings = actor::Settings {
            generator: setup.generator,
            toolbox: setup.toolbox,
            policy: setup.policy,
            tool_context: Arc::new(setup.tool_context),
            template: setup.template,
            limits: setup.limits,
            somebody_to_ask: setup.somebody_to_ask,
            isolation: setup.isolation,
            window: setup.window,
            compression: setup.compression,
        };
        tokio::spawn(actor::Actor::new(settings, ledger, receiver).run());
        handle
    }

    /// Asks something of the session; false when it has ended.
    pub async fn send(&self, command: Command) -> bool {
        self.commands.send(command).await.is_ok()
    }

    /// Answers a question. The first answer counts; a late one is told who won.
    pub async fn answer(&self, approval: &str, outcome: Outcome, by: &str) -> Answered {
        let (reply, told) = oneshot::channel();
        let command = Command::Answer { approval: approval.to_owned(), outcome, by: by.to_owned(), reply };
        if !self.send(command).await {
            return Answered::Unknown;
        }
        told.await.unwrap_or(Answered::Unknown)
    }

    /// Events from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self.events.subscribe(), self.recent.clone())
    }
}

#[cfg(test)]
pub(crate) mod tests;
