//! The one place where facts become durable, then true, then visible.

use std::sync::Arc;

use charla_proto::{Conversation, Fact, Journal, JournalError, JournalReader, LlmErrorKind, Record};
use tokio::sync::broadcast;

use super::subscription::Recent;
use super::{Delta, SessionEvent};
use crate::Chat;

/// Where facts and passing things are shown.
pub(super) struct Publisher {
    pub(super) events: broadcast::Sender<SessionEvent>,
    pub(super) recent: Recent,
}

impl Publisher {
    fn publish(&self, event: SessionEvent) {
        if let SessionEvent::Record(record) = &event {
            self.recent.push(record.clone());
        }
        // Nobody listening is fine: the journal is the truth.
        let _ = self.events.send(event);
    }
}

/// A session's books.
pub(super) struct Ledger {
    journal: Box<dyn Journal>,
    reader: Option<Arc<dyn JournalReader>>,
    pub(super) conversation: Conversation,
    pub(super) chat: Chat,
    publisher: Publisher,
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
        let chat = Chat::new(conversation.sent().into_iter().map(|(_, content)| content));
        Self { journal, reader, conversation, chat, publisher, clock, broken: None }
    }

    /// Writes facts down, then folds them in, then shows them. On an error nothing of them is true, and
    /// nothing more is taken: acting on what cannot be recorded is what this exists to prevent.
    pub(super) async fn commit(&mut self, facts: Vec<Fact>) -> Result<(), JournalError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let at = (self.clock)();
        let first = self.conversation.seq + 1;
        let records: Vec<Record> =
            facts.into_iter().zip(first..).map(|(fact, seq)| Record::new(seq, at, fact)).collect();
        if let Err(error) = self.journal.append(&records).await {
            self.broken = Some(error.clone());
            self.publisher.publish(SessionEvent::Broken(error.clone()));
            return Err(error);
        }
        for record in records {
            let known = self.conversation.contents.len();
            self.conversation.apply(&record);
            if changes_what_is_sent(&record.fact) {
                if self.reader.is_some() {
                    self.conversation.forget_replaced();
                }
                self.chat = Chat::new(self.conversation.sent().into_iter().map(|(_, content)| content));
            } else {
                for (_, content) in self.conversation.contents.iter().skip(known) {
                    self.chat.push(content.clone());
                }
            }
            self.publisher.publish(SessionEvent::Record(Arc::new(record)));
        }
        Ok(())
    }

    /// Where everything is written down, for those who are told only a part.
    pub(super) fn place(&self) -> Option<String> {
        self.reader.as_ref().map(|reader| reader.place())
    }

    /// Brings back what was let go of. On an error all is as it was.
    pub(super) async fn remember_everything(&mut self) -> Result<(), JournalError> {
        let Some(reader) = self.reader.clone() else { return Ok(()) };
        let read = tokio::task::spawn_blocking(move || {
            let mut whole = Conversation::new();
            reader.read(0, &mut |record| whole.apply(&record)).map(|()| whole)
        });
        let whole = read.await.map_err(|error| JournalError::Io(error.to_string()))??;
        if whole.seq != self.conversation.seq {
            let (read, known) = (whole.seq, self.conversation.seq);
            return Err(JournalError::Io(format!("it ends with record {read}, not with {known}")));
        }
        self.conversation = whole;
        Ok(())
    }

    /// Shows something that is no fact.
    pub(super) fn show(&self, delta: Delta) {
        self.publisher.publish(SessionEvent::Delta(delta));
    }
}

/// True for facts after which earlier contents are sent in another form, or not at all.
fn changes_what_is_sent(fact: &Fact) -> bool {
    match fact {
        Fact::Rewound(_) | Fact::Compressed(_) | Fact::Restored(_) | Fact::OutputsCut(_) => true,
        Fact::TurnEnded(ended) => ended.error == Some(LlmErrorKind::ContextOverflow),
        _ => false,
    }
}
