//! Replay: a recorded session runs again, offline, against its own recorded answers.
//!
//! Every turn is run by the same engine that made the recording. The model, the tools and the people are
//! played from the records; what the engine makes of them is compared with what it made then. So a change of
//! the engine that would have led a real session elsewhere is seen without a model, a network or a tool.
//!
//! A session is cut into segments, each the work of one process, and each is played by an engine that starts on
//! what came before. Times and the ids of questions are made up anew and not compared.

mod compare;
mod model;
mod people;
mod playback;
mod players;
mod segment;
mod shown;
mod tools;
mod view;

use std::sync::Arc;

use charla_proto::{Conversation, Fact, JOURNAL_VERSION, Record};
use serde::Serialize;
use serde_json::Value;

use playback::Playback;
use segment::Segment;

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Turns that ran.
    pub turns: u64,
    /// Requests the model was asked.
    pub requests: u64,
    /// The first difference; the replay ends there.
    pub difference: Option<Difference>,
}

/// Where a run left its recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The turn.
    pub turn: u64,
    /// How often the model had been asked in it.
    pub step: usize,
    /// What differs, in words.
    pub what: String,
    /// What is recorded; null when there is nothing more.
    pub expected: Value,
    /// What happened now; null when nothing did.
    pub got: Value,
}

impl Difference {
    /// Both sides from the first line that differs to the last, a few lines of each.
    pub fn shown(&self) -> String {
        shown::short_diff(self)
    }
}

/// Runs a session again from its records. Must be called in a tokio runtime with time.
pub async fn replay(records: &[Record]) -> Replayed {
    let mut replayed = Replayed::default();
    let mut conversation = Conversation::new();
    let mut rest = records;
    // A difference that is none if its process died there, and the rest replays.
    let mut doubtful = None;
    while let Some(first) = rest.first() {
        let mut length = 1;
        if let Some(beside) = segment::taken_as_it_is(rest, &conversation) {
            length = beside;
        } else if let Some(segment) = Segment::first(rest, &conversation).map(Arc::new) {
            replayed.turns += u64::from(matches!(first.fact, Fact::TurnStarted(_)));
            let played = Playback::play(segment.clone()).await;
            replayed.requests += played.requests;
            length = match played.departure {
                None => {
                    doubtful = None;
                    segment.length
                }
                Some(departure) => {
                    let died_after = segment.died_after(departure.after).filter(|_| departure.made);
                    let difference = doubtful.get_or_insert(departure.difference);
                    let Some(records) = died_after else {
                        replayed.difference = Some(difference.clone());
                        break;
                    };
                    records
                }
            };
        }
        let (played, after) = rest.split_at(length);
        played.iter().for_each(|record| conversation.apply(record));
        rest = after;
    }
    if let Some(difference) = &mut replayed.difference {
        difference.tell_version(&conversation);
    }
    replayed
}

impl Difference {
    /// An engine of long ago did some things otherwise: then a difference is no surprise.
    fn tell_version(&mut self, conversation: &Conversation) {
        let version = conversation.started.as_ref().map_or(JOURNAL_VERSION, |started| started.version);
        if version < JOURNAL_VERSION {
            let older = format!("; the journal is of version {version}, which another engine wrote");
            self.what.push_str(&older);
        }
    }
}

#[cfg(test)]
mod tests;
