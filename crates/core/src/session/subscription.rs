//! A subscriber's end: every record once and in order, transient events while they keep up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charla_proto::{Fact, JournalReader, Record, SessionEvent, SessionSnapshot, TurnEvent};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::compress::size;

/// How many records are kept for subscribers that lag, and how many characters of them where older ones can be
/// read from the journal: a session of any length must not grow by what was already shown.
const KEPT: usize = 4096;
const KEPT_CHARACTERS: usize = 1024 * 1024;

/// The last records, shared by the session and its subscribers. Locked only to push or copy pointers.
#[derive(Clone)]
pub(super) struct Recent {
    records: Arc<Mutex<Kept>>,
    /// The last record before the session started.
    base: u64,
    reader: Option<Arc<dyn JournalReader>>,
}

#[derive(Default)]
struct Kept {
    records: VecDeque<(usize, Arc<Record>)>,
    characters: usize,
}

impl Recent {
    pub(super) fn new(base: u64, reader: Option<Arc<dyn JournalReader>>) -> Self {
        Self { records: Arc::default(), base, reader }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, record: Arc<Record>) {
        let most = self.reader.as_ref().map_or(usize::MAX, |_| KEPT_CHARACTERS);
        let mut kept = self.kept();
        let characters = characters(&record.fact);
        kept.characters += characters;
        kept.records.push_back((characters, record));
        // The newest stays, however large: its number tells where new subscribers begin.
        while kept.records.len() > 1
            && (kept.records.len() > KEPT || kept.characters > most)
            && let Some((characters, _)) = kept.records.pop_front()
        {
            kept.characters -= characters;
        }
    }

    /// Every record after number `seq` that is kept here, and whether some before them are not.
    fn after(&self, seq: u64) -> (Vec<Arc<Record>>, bool) {
        let kept = self.kept();
        let from = kept.records.partition_point(|(_, record)| record.seq <= seq);
        let records: Vec<_> = kept.records.range(from..).map(|(_, record)| record.clone()).collect();
        let gap = records.first().map_or(self.base > seq, |first| first.seq > seq + 1);
        (records, gap)
    }

    /// Every record after number `seq`, from the journal where it is no longer kept.
    async fn read_after(&self, seq: u64) -> Vec<Arc<Record>> {
        let (kept, gap) = self.after(seq);
        let (true, Some(reader)) = (gap, self.reader.clone()) else { return kept };
        let before = kept.first().map_or(u64::MAX, |first| first.seq);
        let read = tokio::task::spawn_blocking(move || {
            let mut missing = Vec::new();
            let read = reader.read(seq, &mut |record| {
                if record.seq < before {
                    missing.push(Arc::new(record));
                }
            });
            read.map(|()| missing)
        });
        // A journal that cannot be read breaks the session at its next write, and that is told to everybody.
        let missing = read.await.ok().and_then(Result::ok).unwrap_or_default();
        missing.into_iter().chain(kept).collect()
    }

    pub(super) fn last(&self) -> u64 {
        self.kept().records.back().map_or(self.base, |(_, record)| record.seq)
    }
}

/// About how many characters a fact holds.
fn characters(fact: &Fact) -> usize {
    const ANY: usize = 200;
    ANY + match fact {
        Fact::TurnStarted(started) => size(&started.prompt),
        Fact::ModelContent(said) => size(&said.content),
        Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => ended.response.to_text().len(),
        Fact::Compressed(compressed) => size(&compressed.summary),
        _ => 0,
    }
}

/// An event on its way to every subscriber. A channel keeps room for all it may hold, so what it holds is a pointer.
pub(super) type Shared = Arc<SessionEvent>;

/// Receives a session's events.
pub struct Subscription {
    events: broadcast::Receiver<Shared>,
    recent: Recent,
    waiting: VecDeque<Shared>,
    seen: u64,
    /// Records up to this one are read before anything else is told.
    catch_up: u64,
    /// Events were lost, and the records among them are not read again yet.
    behind: bool,
    /// What the running step had shown when the subscription began, for after the records before it.
    running: Vec<TurnEvent>,
}

impl Subscription {
    pub(super) fn new(events: broadcast::Receiver<Shared>, recent: Recent) -> Self {
        let seen = recent.last();
        Self {
            events,
            recent,
            waiting: VecDeque::new(),
            seen,
            catch_up: 0,
            behind: false,
            running: Vec::new(),
        }
    }

    /// The same subscription without the records up to number `seq`.
    pub(super) fn after(self, seq: u64) -> Self {
        Self { seen: seq, ..self }
    }

    /// The same subscription, from record `seq` on: what came after it is told first.
    pub(super) fn from(mut self, seq: u64, snapshot: &SessionSnapshot) -> Self {
        self.seen = seq.min(snapshot.seq);
        let step = &snapshot.running;
        if !step.thoughts.is_empty() {
            let content = step.thoughts.clone();
            self.running.push(TurnEvent::Thought { content, subject: None, delta: false });
        }
        if !step.text.is_empty() {
            self.running.push(TurnEvent::whole_content(step.text.as_str()));
        }
        for (call, tail) in &step.live {
            let (call, content) = (call.clone(), tail.clone());
            self.running.push(TurnEvent::ToolCallLive { call, content, delta: true });
        }
        self.catch_up = snapshot.seq;
        self
    }

    /// The next event; `None` when the session has ended. A subscriber that was too slow is told by
    /// [`SessionEvent::Missed`] that transient events are lost; records are not. Safe to drop and call again.
    pub async fn recv(&mut self) -> Option<SessionEvent> {
        self.recv_shared().await.map(Arc::unwrap_or_clone)
    }

    /// The same without taking it out of where it is: an event is large, and is handed on for every piece of an answer.
    pub(super) async fn recv_shared(&mut self) -> Option<Shared> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.seen < self.catch_up {
                let records = self.recent.read_after(self.seen).await;
                // Newer ones come by themselves.
                let before = records.into_iter().filter(|record| record.seq <= self.catch_up);
                self.waiting.extend(before.map(SessionEvent::Record).map(Arc::new));
                self.seen = self.catch_up;
            }
            if !self.running.is_empty() {
                self.waiting.extend(self.running.drain(..).map(SessionEvent::Turn).map(Arc::new));
            }
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.behind {
                let records = self.recent.read_after(self.seen).await;
                self.behind = false;
                self.waiting.push_back(Arc::new(SessionEvent::Missed));
                for record in records {
                    self.seen = record.seq;
                    self.waiting.push_back(Arc::new(SessionEvent::Record(record)));
                }
                continue;
            }
            match self.events.recv().await {
                Ok(event) => match &*event {
                    SessionEvent::Record(record) if record.seq <= self.seen => {}
                    SessionEvent::Record(record) => {
                        self.seen = record.seq;
                        return Some(event);
                    }
                    _ => return Some(event),
                },
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
