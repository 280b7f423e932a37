//! The one place where facts become durable, then true, then visible.

use std::sync::Arc;

use charla_proto::{
    Conversation, Fact, HookEffect, Journal, JournalError, JournalReader, LlmErrorKind, Record, RunningStep,
    SessionEvent, TurnEnd, TurnEvent,
};
use tokio::sync::broadcast;

use super::subscription::{Recent, Shared, Subscription};
use crate::Chat;
use crate::undo::ChangeHistory;

/// How much is kept of what a running tool has shown.
const TAIL: usize = 8 * 1024;

/// Where facts and transient events are shown.
pub(super) struct Publisher {
    pub(super) events: broadcast::Sender<Shared>,
    pub(super) recent: Recent,
    /// What the step under way has shown, for those who come in the middle.
    pub(super) running: RunningStep,
}

impl Publisher {
    fn publish(&mut self, event: SessionEvent) {
        match &event {
            SessionEvent::Record(record) => {
                match &record.fact {
                    Fact::ModelContent(_) | Fact::TurnEnded(_) => self.running = RunningStep::default(),
                    Fact::CallEnded(ended) => drop(self.running.live.remove(&ended.call)),
                    _ => {}
                }
                self.recent.push(record.clone());
            }
            SessionEvent::Turn(event) => self.follow(event),
            SessionEvent::Missed | SessionEvent::Broken(_) => {}
        }
        // Nobody listening is fine: the journal is the truth.
        let _ = self.events.send(Arc::new(event));
    }

    fn follow(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Content { content, .. } => self.running.text.push_str(content),
            TurnEvent::Thought { content, .. } => self.running.thoughts.push_str(content),
            TurnEvent::Retry(_) => self.running = RunningStep::default(),
            TurnEvent::ToolCallLive { call, content, .. } => {
                let tail = self.running.live.entry(call.clone()).or_default();
                tail.push_str(content);
                if tail.len() > 2 * TAIL {
                    let from = (tail.len() - TAIL..).find(|at| tail.is_char_boundary(*at));
                    tail.drain(..from.unwrap_or(0));
                }
            }
            _ => {}
        }
    }
}

/// A session's books.
pub(super) struct Ledger {
    journal: Box<dyn Journal>,
    reader: Option<Arc<dyn JournalReader>>,
    pub(super) conversation: Conversation,
    pub(super) chat: Chat,
    pub(super) publisher: Publisher,
    clock: fn() -> u64,
    broken: Option<JournalError>,
}

impl Ledger {
    pub(super) fn new(
        journal: Box<dyn Journal>,
        mut conversation: Conversation,
        publisher: Publisher,
        clock: fn() -> u64,
    ) -> Self {
        let reader = journal.reader();
        if reader.is_some() {
            conversation.forget_replaced();
        }
        let chat = chat(&conversation);
        Self { journal, reader, conversation, chat, publisher, clock, broken: None }
    }

    /// Writes facts down, then folds them in, then shows them. On an error nothing of them is true, and
    /// nothing more is taken: acting on what cannot be recorded is what this exists to prevent.
    pub(super) async fn commit(&mut self, facts: Vec<Fact>) -> Result<(), JournalError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let at = (self.clock)();
        let room = u64::MAX - self.conversation.seq;
        if room <= facts.len() as u64 {
            return Err(JournalError::Io("its records have no numbers left".to_owned()));
        }
        let first = self.conversation.seq + 1;
        let records: Vec<Record> =
            facts.into_iter().zip(first..).map(|(fact, seq)| Record::new(seq, at, fact)).collect();
        if let Err(error) = self.journal.append(&records).await {
            self.broken = Some(error.clone());
            self.publisher.publish(SessionEvent::Broken(error.to_string()));
            return Err(error);
        }
        for record in records {
            let known = self.conversation.contents.len();
            self.conversation.apply(&record);
            if changes_what_is_sent(&record.fact) {
                if self.reader.is_some() {
                    self.conversation.forget_replaced();
                }
                self.chat = chat(&self.conversation);
            } else {
                for (_, content) in self.conversation.contents.iter().skip(known) {
                    self.chat.push(content.clone());
                }
            }
            self.publisher.publish(SessionEvent::Record(Arc::new(record)));
        }
        Ok(())
    }

    /// Writes one fact down.
    pub(super) async fn commit_one(&mut self, fact: Fact) -> Result<(), JournalError> {
        self.commit(vec![fact]).await
    }

    /// Shows something that is no fact.
    pub(super) fn show(&mut self, event: TurnEvent) {
        self.publisher.publish(SessionEvent::Turn(event));
    }

    /// Everything from now on.
    pub(super) fn subscribe(&self) -> Subscription {
        Subscription::new(self.publisher.events.subscribe(), self.publisher.recent.clone())
    }

    /// The id of the record that would be written next, as an id of something it begins.
    pub(super) fn next_id(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.conversation.seq.saturating_add(1))
    }

    /// Where everything is written down, for those who are told only a part.
    pub(super) fn place(&self) -> Option<String> {
        self.reader.as_ref().map(|reader| reader.place())
    }

    /// Brings back what was let go of. On an error all is as it was.
    pub(super) async fn remember_everything(&mut self) -> Result<(), JournalError> {
        let Some(whole) = self.read(Conversation::new(), |whole, record| whole.apply(record)).await? else {
            return Ok(());
        };
        if whole.seq != self.conversation.seq {
            let (read, known) = (whole.seq, self.conversation.seq);
            return Err(JournalError::Io(format!("it ends with record {read}, not with {known}")));
        }
        self.conversation = whole;
        Ok(())
    }

    /// The file changes of the whole session; nothing when its journal cannot be read.
    pub(super) async fn changes(&mut self) -> Result<Option<ChangeHistory>, JournalError> {
        let changes = self.read(ChangeHistory::default(), ChangeHistory::apply).await?;
        Ok(changes.map(ChangeHistory::settled))
    }

    /// Folds the whole journal, off the runtime's threads; nothing when it has no reader.
    pub(super) async fn read<T: Send + 'static>(
        &mut self,
        mut into: T,
        mut apply: impl FnMut(&mut T, &Record) + Send + 'static,
    ) -> Result<Option<T>, JournalError> {
        let Some(reader) = self.reader.clone() else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || {
            reader.read(0, &mut |record| apply(&mut into, &record)).map(|()| into)
        });
        let folded = read.await.map_err(|error| JournalError::Io(error.to_string()))??;
        Ok(Some(folded))
    }
}

fn chat(conversation: &Conversation) -> Chat {
    Chat::new(conversation.sent().into_iter().map(|(_, content)| content))
}

/// True for facts after which earlier contents are sent in another form, or not at all.
fn changes_what_is_sent(fact: &Fact) -> bool {
    match fact {
        Fact::Rewound(_) | Fact::Compressed(_) | Fact::Restored(_) | Fact::OutputsCut(_) => true,
        Fact::TurnEnded(ended) => {
            ended.error.is_some_and(LlmErrorKind::refuses_content)
                || matches!(ended.end, TurnEnd::Withdrawn | TurnEnd::HookBlocked)
        }
        Fact::HookActed(acted) => acted.effect == HookEffect::Cleared,
        _ => false,
    }
}
