//! What answers cost that nobody tells the price of: one that is cut off comes without it, and some providers never tell.
//!
//! Estimated from a session's records, and never less than what was sent: whoever stops each answer before its end pays for it.

use std::pin::pin;
use std::sync::Arc;

use charla::providers::tokens;
use charla_proto::{
    CallEnded, CallStatus, Command, Content, Fact, GenerateRequest, ModelContent, Part, PartKind, Record,
    Role, SessionSnapshot, Spent, TurnEnd, UsageMetadata,
};
use futures_util::{Stream, StreamExt};

/// What a request has beside the conversation, until an answer tells: the instruction and the tools.
const INSTRUCTION: u64 = 8_000;

/// What the next request of a session holds, as far as its records tell.
#[derive(Debug)]
pub(crate) struct Window {
    /// Tokens of the conversation as it stands.
    tokens: u64,
    /// The model is asked and has not answered.
    is_asked: bool,
    /// A call of the step was stopped: the model is not asked what comes of it.
    is_stopped: bool,
    /// The last record that is counted.
    seq: u64,
}

impl Window {
    /// The window of a session that nothing was said in.
    pub(crate) fn empty() -> Self {
        Self { tokens: INSTRUCTION, is_asked: false, is_stopped: false, seq: 0 }
    }

    /// The window of a session as it is.
    pub(crate) fn of(snapshot: &SessionSnapshot) -> Self {
        let tokens = match &snapshot.room.usage {
            Some(usage) => all(usage),
            None => INSTRUCTION + snapshot.contents.iter().map(|said| size(&said.content)).sum::<u64>(),
        };
        Self { tokens, is_asked: snapshot.turn.is_some(), is_stopped: false, seq: snapshot.seq }
    }

    /// About how many tokens the next request has.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The same with what is said next.
    pub(crate) fn with(self, command: &Command) -> u64 {
        match command {
            Command::Prompt { content, .. } => self.tokens.saturating_add(size(&Arc::new(content.clone()))),
            _ => self.tokens,
        }
    }

    /// Takes the next record: what it cost where an answer has come, or was cut off, and nobody tells its price.
    pub(super) fn take(&mut self, record: &Record) -> Option<UsageMetadata> {
        if record.seq <= self.seq {
            return None;
        }
        self.seq = record.seq;
        match &record.fact {
            Fact::TurnStarted(started) => self.ask(size(&started.prompt)),
            Fact::TurnResumed(_) => self.ask(0),
            Fact::PromptJoined(joined) => self.ask(size(&joined.content)),
            Fact::CallEnded(ended) => self.call_ended(ended),
            Fact::ModelContent(said) => return self.answered(said),
            Fact::Compressed(compressed) => {
                let before = std::mem::replace(&mut self.tokens, compressed.tokens.1);
                return compressed.usage.is_none().then(|| usage(before, size(&compressed.summary)));
            }
            Fact::TurnEnded(ended) => {
                let is_cut = matches!(ended.end, TurnEnd::Cancelled | TurnEnd::Withdrawn | TurnEnd::Loop);
                let was_asked = std::mem::take(&mut self.is_asked);
                return (was_asked && is_cut).then(|| usage(self.tokens, 0));
            }
            _ => {}
        }
        None
    }

    fn ask(&mut self, more: u64) {
        self.tokens = self.tokens.saturating_add(more);
        (self.is_asked, self.is_stopped) = (true, false);
    }

    fn call_ended(&mut self, ended: &CallEnded) {
        let told = Content::new(Role::User, vec![Part::function_response(ended.response.clone())]);
        self.tokens = self.tokens.saturating_add(size(&Arc::new(told)));
        self.is_stopped |= ended.status == CallStatus::Cancelled;
        self.is_asked = !self.is_stopped;
    }

    fn answered(&mut self, said: &ModelContent) -> Option<UsageMetadata> {
        let (before, output) = (self.tokens, size(&said.content).saturating_add(thoughts(&said.content)));
        (self.is_asked, self.is_stopped) = (false, false);
        self.tokens = said.usage.as_ref().map_or_else(|| before.saturating_add(output), all);
        // What a hook says is nobody's answer.
        (said.usage.is_none() && said.hook.is_none()).then(|| usage(before, output))
    }
}

/// What the answers of a whole session cost that nobody tells the price of, by who was asked.
pub(super) async fn untold(records: impl Stream<Item = Record>) -> Vec<Spent> {
    let (mut window, mut origin, mut spent) = (Window::empty(), None, Vec::new());
    let mut records = pin!(records);
    while let Some(record) = records.next().await {
        if let Fact::ModelContent(said) = &record.fact {
            origin = said.content.origin.clone().or(origin);
        }
        spent.extend(window.take(&record).map(|usage| Spent { origin: origin.clone(), usage }));
    }
    spent
}

fn usage(prompt: u64, output: u64) -> UsageMetadata {
    UsageMetadata {
        prompt_token_count: Some(prompt),
        candidates_token_count: Some(output),
        ..UsageMetadata::default()
    }
}

fn all(usage: &UsageMetadata) -> u64 {
    usage.prompt_token_count.unwrap_or(0).saturating_add(usage.output())
}

/// About how many tokens a content has for whoever reads it.
fn size(content: &Arc<Content>) -> u64 {
    tokens::estimate(&GenerateRequest { contents: vec![content.clone()], ..GenerateRequest::default() })
}

/// About how many tokens were thought on the way to it.
fn thoughts(content: &Content) -> u64 {
    let thought = content.parts.iter().filter(|part| part.thought);
    thought
        .map(|part| if let PartKind::Text(text) = &part.kind { tokens::estimate_text(text) } else { 0 })
        .sum()
}
