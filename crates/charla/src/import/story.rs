//! Conversations of other programs as they become sessions of ours.
//!
//! They are taken in as every session from elsewhere is: nothing of them is allowed here.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use charla_proto::{
    Args, CallEnded, CallStarted, CallStatus, Content, Fact, FinishReason, FunctionCall, FunctionResponse,
    JOURNAL_VERSION, ModelContent, Part, Record, Role, SessionStarted, ToolErrorKind, TurnEnd, TurnEnded,
    TurnStarted,
};

use serde_json::Value;

use super::Program;
use crate::clock::milliseconds_of;
use crate::session::SessionBundle;

/// A conversation that was found.
pub(super) struct Conversation {
    /// Whose it was.
    pub(super) program: Program,
    /// What it is, for people.
    pub(super) what: String,
    pub(super) bundle: SessionBundle,
}

/// A call that was made, and what came of it.
pub(super) struct OldCall {
    pub(super) name: String,
    pub(super) args: Args,
    pub(super) status: CallStatus,
    /// What it gave, in words.
    pub(super) result: String,
}

/// Where and when a conversation was held.
pub(super) struct Held<'a> {
    /// Its id.
    pub(super) session: &'a str,
    pub(super) folder: &'a Path,
    /// `provider/model`.
    pub(super) model: String,
    /// When it began, in milliseconds since 1970.
    pub(super) at: u64,
}

/// A conversation as it becomes records.
pub(super) struct Story {
    program: Program,
    records: Vec<Record>,
    at: u64,
    turn: u64,
    calls: u64,
    is_open: bool,
}

impl Story {
    pub(super) fn new(program: Program, held: Held<'_>) -> Self {
        let started = SessionStarted {
            version: JOURNAL_VERSION,
            session: held.session.to_owned(),
            cwd: held.folder.to_owned(),
            model: held.model,
            parent: None,
            agent: None,
            imported_up_to: None,
        };
        let mut story = Self { program, records: Vec::new(), at: held.at, turn: 0, calls: 0, is_open: false };
        story.tell(Fact::SessionStarted(Box::new(started)));
        story
    }

    /// The session; none where nothing was said, or its id is none.
    pub(super) fn bundle(mut self) -> Option<SessionBundle> {
        self.end();
        let bundle = SessionBundle { records: self.records };
        (self.turn > 0 && bundle.session().is_ok()).then_some(bundle)
    }

    fn tell(&mut self, fact: Fact) {
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record::new(seq, self.at, fact));
    }

    /// What follows was said then, where that is known: not before what was said before it.
    pub(super) fn comes_to(&mut self, timestamp: Option<&Value>) {
        self.at = time_of(timestamp).map_or(self.at, |at| at.max(self.at));
    }

    /// Somebody said this.
    pub(super) fn prompt(&mut self, words: String) {
        if words.trim().is_empty() {
            return;
        }
        self.end();
        self.turn += 1;
        self.is_open = true;
        let (turn, id) =
            (self.turn, format!("{}{}", &self.program.name().chars().next().unwrap_or('p'), self.turn));
        let prompt = Arc::new(Content::user(words));
        let by = self.program.title().to_owned();
        self.tell(Fact::TurnStarted(TurnStarted { turn, prompt, id, by }));
    }

    /// The model said this and made these calls. Before anything was asked, it counts for nothing.
    pub(super) fn answer(&mut self, words: String, calls: Vec<OldCall>) {
        if !self.is_open || (words.is_empty() && calls.is_empty()) {
            return;
        }
        let mut parts = if words.is_empty() { Vec::new() } else { vec![Part::text(words)] };
        let calls: Vec<(FunctionCall, OldCall)> = calls.into_iter().map(|call| self.numbered(call)).collect();
        parts.extend(calls.iter().map(|(call, _)| Part::function_call(call.clone())));
        let said = ModelContent {
            turn: self.turn,
            content: Arc::new(Content::new(Role::Model, parts)),
            finish: Some(FinishReason::Stop),
            usage: None,
            citations: Vec::new(),
            hook: None,
        };
        self.tell(Fact::ModelContent(Box::new(said)));
        for (call, old) in calls {
            self.ended(&call, old);
        }
    }

    fn numbered(&mut self, old: OldCall) -> (FunctionCall, OldCall) {
        self.calls += 1;
        let id = format!("{}_{}", self.program.name(), self.calls);
        (FunctionCall::new(id, old.name.clone(), old.args.clone()), old)
    }

    fn ended(&mut self, call: &FunctionCall, OldCall { status, result, .. }: OldCall) {
        let id = call.id.clone().unwrap_or_default();
        let response = match status {
            CallStatus::Success => FunctionResponse::output(id.clone(), &call.name, result),
            _ => FunctionResponse::error(id.clone(), &call.name, result),
        };
        let turn = self.turn;
        let (rule, confinement, changes) = (None, None, Vec::new());
        self.tell(Fact::CallStarted(CallStarted { turn, call: id.clone(), rule, confinement, changes }));
        let ended = CallEnded {
            spent: Vec::new(),
            turn,
            call: id,
            status,
            response,
            tool: None,
            display: None,
            error: (status != CallStatus::Success).then_some(ToolErrorKind::Other),
            whole_output: None,
            changes: Vec::new(),
        };
        self.tell(Fact::CallEnded(Box::new(ended)));
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let ended =
                TurnEnded { turn: self.turn, end: TurnEnd::Finished, detail: None, error: None, by: None };
            self.tell(Fact::TurnEnded(Box::new(ended)));
        }
    }
}

/// A moment as other programs write it, in milliseconds since 1970.
pub(super) fn time_of(timestamp: Option<&Value>) -> Option<u64> {
    milliseconds_of(timestamp?.as_str()?)
}

/// When a file was written, in milliseconds since 1970.
pub(super) fn written(path: &Path) -> u64 {
    let time = std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
