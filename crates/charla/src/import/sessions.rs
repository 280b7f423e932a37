//! Old conversations of Gemini CLI: what was said, with calls and their results.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use charla_proto::CallStatus;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::story::{Conversation, Held, OldCall, Story, time_of, written};
use super::{Finding, Program, UNREADABLE, file, session_log};
use crate::session::SessionBundle;

/// The model of conversations that do not name theirs.
const MODEL: &str = "gemini-2.5-pro";

/// The conversations that were held in this folder.
pub(super) fn find(home: &Path, folder: &Path, findings: &mut Vec<Finding>) -> Vec<Conversation> {
    let mut found = Vec::new();
    for place in places(&home.join(".gemini/tmp"), folder) {
        for path in recordings(&place.join("chats")) {
            let what = format!("conversation {}", path.file_stem().unwrap_or_default().to_string_lossy());
            let Some(value) = read(&path, &what, findings) else { continue };
            // What agents did by themselves is in the answers of those who called them.
            if value.get("kind").and_then(Value::as_str) == Some("subagent") {
                continue;
            }
            match bundle(&value, folder, written(&path)) {
                Some(bundle) => found.push(Conversation { program: Program::Gemini, what, bundle }),
                None => findings.push(Finding::Left { what, why: UNREADABLE.to_owned() }),
            }
        }
    }
    found
}

/// The files of conversations. One that an older version began and a newer one went on with lies there in both forms; the newer
/// one is whole.
fn recordings(chats: &Path) -> Vec<PathBuf> {
    let logs = file::files(chats, "jsonl");
    let is_replaced = |name: &PathBuf| logs.contains(&name.with_extension("jsonl"));
    let older: Vec<PathBuf> =
        file::files(chats, "json").into_iter().filter(|name| !is_replaced(name)).collect();
    older.into_iter().chain(logs).map(|name| chats.join(name)).collect()
}

/// A conversation in the form of older versions.
fn read(path: &Path, what: &str, findings: &mut Vec<Finding>) -> Option<Value> {
    if path.extension().is_some_and(|ending| ending == "json") {
        return file::json(path, findings);
    }
    let (value, broken) = session_log::replayed(&file::text(path, findings)?);
    if broken > 0 {
        let what = format!("{broken} line{} of {what}", if broken == 1 { "" } else { "s" });
        findings.push(Finding::Left { what, why: "it is no JSON".to_owned() });
    }
    Some(value)
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

fn bundle(value: &Value, folder: &Path, at: u64) -> Option<SessionBundle> {
    let messages = value.get("messages")?.as_array()?;
    let model = messages.iter().rev().find_map(|message| message.get("model")?.as_str()).unwrap_or(MODEL);
    let session = value.get("sessionId")?.as_str()?;
    let at = time_of(value.get("startTime")).unwrap_or(at);
    let mut story =
        Story::new(Program::Gemini, Held { session, folder, model: format!("gemini/{model}"), at });
    let results = results(messages);
    for message in messages {
        story.comes_to(message.get("timestamp"));
        let words = words(message.get("content"));
        match message.get("type").and_then(Value::as_str) {
            Some("user") => story.prompt(without_surroundings(words)),
            Some("gemini") => {
                let calls = message.get("toolCalls").and_then(Value::as_array);
                let calls = match calls.filter(|calls| !calls.is_empty()) {
                    Some(calls) => calls.iter().filter_map(call).collect(),
                    None => parts(message).filter_map(|part| sent_call(part, &results)).collect(),
                };
                story.answer(words, calls);
            }
            _ => {}
        }
    }
    story.bundle()
}

fn call(written: &Value) -> Option<OldCall> {
    let status = match written.get("status").and_then(Value::as_str) {
        Some("success") => CallStatus::Success,
        Some("cancelled") => CallStatus::Cancelled,
        _ => CallStatus::Error,
    };
    Some(OldCall {
        name: written.get("name")?.as_str()?.to_owned(),
        args: written.get("args").and_then(Value::as_object).cloned().unwrap_or_default(),
        status,
        result: result(written.get("result")),
    })
}

/// The parts of a message as it was sent.
fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

/// What calls gave, by their ids, where messages are kept as they were sent: so they are after a compression.
fn results(messages: &[Value]) -> HashMap<&str, &Value> {
    let parts = messages.iter().flat_map(parts);
    parts.filter_map(|part| Some((part.pointer("/functionResponse/id")?.as_str()?, part))).collect()
}

/// A call in a message that is kept as it was sent.
fn sent_call(part: &Value, results: &HashMap<&str, &Value>) -> Option<OldCall> {
    let call = part.get("functionCall")?;
    let given = call.get("id").and_then(Value::as_str).and_then(|id| results.get(id)).copied();
    let failed = given.is_none_or(|part| part.pointer("/functionResponse/response/error").is_some());
    Some(OldCall {
        name: call.get("name")?.as_str()?.to_owned(),
        args: call.get("args").and_then(Value::as_object).cloned().unwrap_or_default(),
        status: if failed { CallStatus::Error } else { CallStatus::Success },
        result: result(given),
    })
}

/// What somebody said, without what Gemini CLI puts before it about the machine.
fn without_surroundings(words: String) -> String {
    let said = words.trim_start().strip_prefix("<session_context>");
    match said.and_then(|said| said.split_once("</session_context>")) {
        Some((_, said)) => said.trim_start().to_owned(),
        None => words,
    }
}

/// The words of a text, a part or a list of them; no thoughts.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| words(Some(part))).collect::<Vec<_>>().join(""),
        Some(part) if part.get("thought") == Some(&Value::Bool(true)) => String::new(),
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
