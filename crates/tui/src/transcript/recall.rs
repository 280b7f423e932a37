//! The end of an earlier conversation, as it looked when it was held.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use charla_proto::{
    Args, CallAsked, CallEnded, Content, Fact, FunctionCall, Record, Role as Speaker, SessionSnapshot,
};
use charla_terminal::{grants, wording};

use super::call::CallCell;
use super::{form_of, is_small, layout, said};
use crate::markdown::Stream;
use crate::text::{Line, Role};

/// How many turns of an earlier conversation are shown.
const RECALLED: usize = 3;

/// An earlier conversation.
pub struct Recall<'a> {
    snapshot: &'a SessionSnapshot,
    /// How calls ended.
    ended: BTreeMap<&'a str, &'a CallEnded>,
    /// What calls ran with, where somebody changed it.
    changed: BTreeMap<&'a str, &'a Args>,
    /// Calls that people made themselves: when they ended, who made them and which it was.
    own: Vec<(u64, &'a str, &'a FunctionCall)>,
    /// What was allowed for good, and taken back.
    allowed: Vec<(u64, String)>,
}

/// The first record whose content is shown again; nothing where there is none.
pub fn first(snapshot: &SessionSnapshot) -> Option<u64> {
    let prompts = prompts(snapshot);
    prompts.get(prompts.len().saturating_sub(RECALLED)).copied()
}

/// The records of what people said.
fn prompts(snapshot: &SessionSnapshot) -> Vec<u64> {
    let is_prompt = |content: &Content| content.role == Speaker::User && !content.text().is_empty();
    snapshot.contents.iter().filter(|said| is_prompt(&said.content)).map(|said| said.seq).collect()
}

impl<'a> Recall<'a> {
    /// Of a session as it is. `records` are those from [`first`] on.
    pub fn new(snapshot: &'a SessionSnapshot, records: &'a [Arc<Record>]) -> Self {
        let mut recall = Self {
            snapshot,
            ended: BTreeMap::new(),
            changed: BTreeMap::new(),
            own: Vec::new(),
            allowed: Vec::new(),
        };
        let mut asked: BTreeMap<&str, &CallAsked> = BTreeMap::new();
        let mut made: BTreeMap<&str, (&str, &FunctionCall)> = BTreeMap::new();
        for record in records {
            match &record.fact {
                Fact::CallEnded(ended) => _ = recall.ended.insert(&ended.call, ended),
                Fact::CallAsked(question) => _ = asked.insert(&question.approval, question),
                Fact::ApprovalAnswered(answered) => {
                    let Some(asked) = asked.get(answered.approval.as_str()).copied() else { continue };
                    recall.changed.extend(answered.args.as_ref().map(|args| (asked.call.as_str(), args)));
                    let given = grants::given_to(&answered.outcome, asked);
                    recall.allowed.extend(given.map(|words| (record.seq, words)));
                }
                Fact::GrantRevoked(revoked) => {
                    recall.allowed.extend(grants::taken_back(revoked).map(|words| (record.seq, words)));
                }
                Fact::ClientCallStarted(started) => {
                    let id = started.call.id.as_deref().unwrap_or_default();
                    made.insert(id, (&started.by, &started.call));
                }
                Fact::ClientCallEnded(ended) => {
                    recall.ended.insert(&ended.call, ended);
                    let own = made.remove(ended.call.as_str());
                    recall.own.extend(own.map(|(by, call)| (record.seq, by, call)));
                }
                _ => {}
            }
        }
        recall
    }

    /// The rows, for a terminal of this width at which `me` types.
    pub fn lines(&self, me: &str, columns: usize) -> Vec<Line> {
        let Some(from) = first(self.snapshot) else { return Vec::new() };
        let mut pieces: BTreeMap<u64, Vec<Line>> = BTreeMap::new();
        for said in self.snapshot.contents.iter().filter(|said| said.seq >= from) {
            let content = &said.content;
            let lines = match content.role {
                Speaker::User if content.text().is_empty() => continue,
                Speaker::User => said::prompt(content, None, columns),
                _ => self.answer(content, columns),
            };
            pieces.entry(said.seq).or_default().extend(lines);
        }
        for (seq, by, call) in &self.own {
            let cell = CallCell::of_client(call, (*by != me).then_some(*by));
            pieces.entry(*seq).or_default().extend(self.shown(cell, columns));
        }
        for (seq, words) in &self.allowed {
            pieces.entry(*seq).or_default().extend(Line::of(Role::Dim, words).wrap(columns));
        }
        let mut lines = self.earlier();
        for piece in pieces.into_values().filter(|piece| !piece.is_empty()) {
            lines.extend(piece);
            lines.push(Line::new());
        }
        lines
    }

    /// How much is not shown.
    fn earlier(&self) -> Vec<Line> {
        let words = match prompts(self.snapshot).len().saturating_sub(RECALLED) {
            0 => return Vec::new(),
            1 => "… 1 earlier prompt; /export shows all".to_owned(),
            earlier => format!("… {earlier} earlier prompts; /export shows all"),
        };
        vec![Line::of(Role::Dim, &words), Line::new()]
    }

    fn answer(&self, content: &Content, columns: usize) -> Vec<Line> {
        let form = content.origin.as_ref().map(|origin| form_of(&origin.name())).unwrap_or_default();
        let mut stream = Stream::new(layout(columns, form));
        stream.push(&content.text());
        let mut lines = stream.finished();
        lines.extend(stream.end());
        if !lines.is_empty() && is_small(content) {
            lines.extend(Line::of(Role::Dim, &wording::small_answer(false)).wrap(columns));
        }
        for call in content.function_calls() {
            let id = call.id.as_deref().unwrap_or_default();
            let args = self.changed.get(id).copied().unwrap_or(&call.args);
            let cell = CallCell::new(id, &call.name, args);
            // A call that is still open stands below, among what is under way.
            if self.ended.contains_key(cell.id.as_str()) {
                lines.extend(self.shown(cell, columns));
            }
        }
        lines
    }

    /// A call as it ended.
    fn shown(&self, mut cell: CallCell, columns: usize) -> Vec<Line> {
        let now = Instant::now();
        if let Some(ended) = self.ended.get(cell.id.as_str()) {
            cell.end(ended, now);
        }
        cell.lines(columns, now)
    }
}
