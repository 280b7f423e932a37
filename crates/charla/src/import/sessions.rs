//! Old conversations of Gemini CLI, as sessions of ours: what was said, with calls and their results.
//!
//! They are taken in as every session from elsewhere is: nothing of them is allowed here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use charla_proto::{
    Args, CallEnded, CallStarted, CallStatus, Content, Fact, FinishReason, FunctionCall, FunctionResponse,
    JOURNAL_VERSION, ModelContent, Part, Record, Role, SessionStarted, ToolErrorKind, TurnEnd, TurnEnded,
    TurnStarted,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Finding, file};
use crate::session::SessionBundle;

/// Who spoke, in the journal.
const THEM: &str = "Gemini CLI";
/// The model of conversations that do not name theirs.
const MODEL: &str = "gemini-2.5-pro";

/// A conversation that was found.
pub(super) struct Conversation {
    /// What it is, for people.
    pub(super) what: String,
    pub(super) bundle: SessionBundle,
}

/// The conversations that were held in this folder.
pub(super) fn find(home: &Path, folder: &Path, findings: &mut Vec<Finding>) -> Vec<Conversation> {
    let mut found = Vec::new();
    for place in places(&home.join(".gemini/tmp"), folder) {
        for name in file::files(&place.join("chats"), "json") {
            let path = place.join("chats").join(name);
            let Some(value) = file::json(&path, findings) else { continue };
            let what = format!("conversation {}", path.file_stem().unwrap_or_default().to_string_lossy());
            let at = written(&path);
            match Story::new(&value, folder, at).and_then(|story| story.bundle(&value)) {
                Some(bundle) => found.push(Conversation { what, bundle }),
                None => {
                    let why = "nothing was said in it, or it is none that can be read".to_owned();
                    findings.push(Finding::Left { what, why });
                }
            }
        }
    }
    found
}

/// The folders of a project: named by the hash of its path, or saying it in a file.
fn places(folder: &Path, project: &Path) -> Vec<PathBuf> {
    let digest = Sha256::digest(project.to_string_lossy().as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let says_so = |path: &PathBuf| {
        std::fs::read_to_string(path.join(".project_root"))
            .is_ok_and(|text| Path::new(text.trim()) == project)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut places: Vec<PathBuf> = entries.filter(|path| path.ends_with(&hash) || says_so(path)).collect();
    places.sort();
    places
}

/// When a file was written, in milliseconds since 1970.
fn written(path: &Path) -> u64 {
    let time = std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

/// A conversation as it becomes records.
struct Story {
    records: Vec<Record>,
    at: u64,
    turn: u64,
    calls: u64,
    is_open: bool,
}

impl Story {
    fn new(value: &Value, folder: &Path, at: u64) -> Option<Self> {
        let messages = value.get("messages")?.as_array()?;
        let model = messages.iter().rev().find_map(|message| message.get("model")?.as_str()).unwrap_or(MODEL);
        let started = SessionStarted {
            version: JOURNAL_VERSION,
            session: value.get("sessionId")?.as_str()?.to_owned(),
            cwd: folder.to_owned(),
            model: format!("gemini/{model}"),
            parent: None,
            agent: None,
            imported_up_to: None,
        };
        let mut story = Self { records: Vec::new(), at, turn: 0, calls: 0, is_open: false };
        story.tell(Fact::SessionStarted(Box::new(started)));
        Some(story)
    }

    fn bundle(mut self, value: &Value) -> Option<SessionBundle> {
        for message in value.get("messages")?.as_array()? {
            match message.get("type").and_then(Value::as_str) {
                Some("user") => self.prompt(message),
                Some("gemini") if self.is_open => self.answer(message),
                _ => {}
            }
        }
        self.end();
        let bundle = SessionBundle { records: self.records };
        (self.turn > 0 && bundle.session().is_ok()).then_some(bundle)
    }

    fn tell(&mut self, fact: Fact) {
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record::new(seq, self.at, fact));
    }

    fn prompt(&mut self, message: &Value) {
        let words = words(message.get("content"));
        if words.trim().is_empty() {
            return;
        }
        self.end();
        self.turn += 1;
        self.is_open = true;
        let (turn, id) = (self.turn, format!("g{}", self.turn));
        let prompt = Arc::new(Content::user(words));
        self.tell(Fact::TurnStarted(TurnStarted { turn, prompt, id, by: THEM.to_owned() }));
    }

    fn answer(&mut self, message: &Value) {
        let called = message.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
        let calls: Vec<(FunctionCall, &Value)> = called.filter_map(|call| self.call(call)).collect();
        let words = words(message.get("content"));
        let mut parts = if words.is_empty() { Vec::new() } else { vec![Part::text(words)] };
        parts.extend(calls.iter().map(|(call, _)| Part::function_call(call.clone())));
        if parts.is_empty() {
            return;
        }
        let said = ModelContent {
            turn: self.turn,
            content: Arc::new(Content::new(Role::Model, parts)),
            finish: Some(FinishReason::Stop),
            usage: None,
            citations: Vec::new(),
            hook: None,
        };
        self.tell(Fact::ModelContent(Box::new(said)));
        for (call, written) in calls {
            self.ended(&call, written);
        }
    }

    fn call<'a>(&mut self, written: &'a Value) -> Option<(FunctionCall, &'a Value)> {
        let name = written.get("name")?.as_str()?;
        let args: Args = written.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
        self.calls += 1;
        Some((FunctionCall::new(format!("gemini_{}", self.calls), name, args), written))
    }

    fn ended(&mut self, call: &FunctionCall, written: &Value) {
        let id = call.id.clone().unwrap_or_default();
        let status = match written.get("status").and_then(Value::as_str) {
            Some("success") => CallStatus::Success,
            Some("cancelled") => CallStatus::Cancelled,
            _ => CallStatus::Error,
        };
        let text = result(written.get("result"));
        let response = match status {
            CallStatus::Success => FunctionResponse::output(id.clone(), &call.name, text),
            _ => FunctionResponse::error(id.clone(), &call.name, text),
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

/// The words of a text, a part or a list of them.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| words(Some(part))).collect::<Vec<_>>().join(""),
        Some(part) => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        None => String::new(),
    }
}

/// What a call gave, in words.
fn result(result: Option<&Value>) -> String {
    let parts = match result {
        Some(Value::Array(parts)) => parts.iter().collect(),
        Some(part) => vec![part],
        None => Vec::new(),
    };
    let text = |part: &Value| {
        let response = part.pointer("/functionResponse/response");
        let said = response.and_then(|response| response.get("output").or_else(|| response.get("error")));
        match said.and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => words(Some(part)),
        }
    };
    let texts: Vec<String> = parts.into_iter().map(text).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { "(no output)".to_owned() } else { texts.join("\n") }
}
