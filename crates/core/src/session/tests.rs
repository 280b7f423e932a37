use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, CallStatus, CancelTarget, ContentGenerator, Fact, FinishReason, FunctionCall,
    GenerateRequest, GenerateResponse, JournalError, LlmError, LlmErrorKind, Part, Record, Role,
    SessionEvent, SessionStarted, ToolErrorKind, TurnEnd, TurnEvent,
};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
pub(crate) use fakes::*;

mod any_compression;
mod any_run;
mod approvals;
mod client_calls;
mod fakes;
mod imported;
mod memory;
mod protocol;
mod resuming;
mod room;
mod steering;
mod subscribers;
mod summaries;
mod turns;

fn first_record() -> Record {
    let started = SessionStarted {
        version: charla_proto::JOURNAL_VERSION,
        session: "s".to_owned(),
        cwd: PathBuf::from("/w"),
        model: "fake/m".to_owned(),
        parent: None,
        agent: None,
        imported_up_to: None,
    };
    Record::new(1, 0, Fact::SessionStarted(Box::new(started)))
}

pub(crate) struct Run {
    pub(crate) world: Arc<World>,
    pub(crate) session: SessionHandle,
    events: Subscription,
    /// Somebody who can be asked.
    _client: Option<Attached>,
}

impl Run {
    pub(crate) fn new(replies: Vec<Answer>, somebody: bool) -> Self {
        let world = Arc::new(World { replies: Mutex::new(replies), ..World::default() });
        world.journal.lock().unwrap().push(first_record());
        Self::resume(world, somebody)
    }

    /// A new process on the journal as it is.
    pub(crate) fn resume(world: Arc<World>, somebody: bool) -> Self {
        *world.room.lock().unwrap() = None;
        let conversation = Conversation::of(&*world.journal.lock().unwrap());
        let session = SessionHandle::start(setup(&world), conversation);
        let client = somebody.then(|| session.attach());
        let events = session.subscribe();
        Self { world, session, events, _client: client }
    }

    pub(crate) async fn prompt(&self, text: &str) {
        self.session.prompt(Content::user(text), "me").await.unwrap();
    }

    pub(crate) async fn send(&self, command: Command) -> Reply {
        self.session.send(command, "me").await
    }

    pub(crate) async fn cancel(&self) {
        self.send(Command::Cancel { target: CancelTarget::Turn }).await;
    }

    pub(crate) async fn mode(&self, mode: ApprovalMode) {
        assert_eq!(self.send(Command::SetMode { mode }).await, Reply::Done);
    }

    async fn event(&mut self) -> SessionEvent {
        tokio::time::timeout(Duration::from_secs(30), self.events.recv()).await.unwrap().unwrap()
    }

    /// Waits for a fact and gives it back.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Fact) -> bool) -> Fact {
        loop {
            if let SessionEvent::Record(record) = self.event().await
                && wanted(&record.fact)
            {
                return record.fact.clone();
            }
        }
    }

    pub(crate) async fn asked(&mut self) -> String {
        match self.until(|fact| matches!(fact, Fact::CallAsked(_))).await {
            Fact::CallAsked(asked) => asked.approval,
            _ => unreachable!(),
        }
    }

    pub(crate) async fn end(&mut self) -> TurnEnd {
        match self.until(|fact| matches!(fact, Fact::TurnEnded(_))).await {
            Fact::TurnEnded(ended) => ended.end,
            _ => unreachable!(),
        }
    }

    fn statuses(&self) -> Vec<CallStatus> {
        let journal = self.world.journal.lock().unwrap();
        let ended = journal.iter().filter_map(|record| match &record.fact {
            Fact::CallEnded(ended) => Some(ended.status),
            _ => None,
        });
        ended.collect()
    }

    /// The kinds of errors that are recorded, in the order the calls ended.
    fn errors(&self) -> Vec<ToolErrorKind> {
        let journal = self.world.journal.lock().unwrap();
        let ended = journal.iter().filter_map(|record| match &record.fact {
            Fact::CallEnded(ended) => ended.error,
            _ => None,
        });
        ended.collect()
    }
}

/// Invariant 1: in what was sent, every call has exactly one response, right after it, in order.
fn assert_paired(request: &GenerateRequest) {
    let contents = &request.contents;
    for (n, content) in contents.iter().enumerate() {
        if n > 0 {
            assert_ne!(content.role, contents[n - 1].role, "roles alternate");
        }
        let calls: Vec<_> = content.function_calls().map(|call| call.id.clone()).collect();
        let answers: Vec<_> = match contents.get(n + 1) {
            Some(next) => next.function_responses().map(|response| response.id.clone()).collect(),
            None => Vec::new(),
        };
        if content.role == Role::Model {
            assert_eq!(calls, answers, "calls and responses pair up");
        }
    }
}

/// Lets everything that can happen without us happen.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}
