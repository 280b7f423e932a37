//! Old conversations of Gemini CLI: what was said, with calls and their results.

use std::path::{Path, PathBuf};

use charla_proto::CallStatus;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::story::{Conversation, Held, OldCall, Story, time_of, written};
use super::{Finding, Program, UNREADABLE, file};
use crate::session::SessionBundle;

/// The model of conversations that do not name theirs.
const MODEL: &str = "gemini-2.5-pro";

/// The conversations that were held in this folder.
pub(super) fn find(home: &Path, folder: &Path, findings: &mut Vec<Finding>) -> Vec<Conversation> {
    let mut found = Vec::new();
    for place in places(&home.join(".gemini/tmp"), folder) {
        for name in file::files(&place.join("chats"), "json") {
            let path = place.join("chats").join(name);
            let Some(value) = file::json(&path, findings) else { continue };
            let what = format!("conversation {}", path.file_stem().unwrap_or_default().to_string_lossy());
            match bundle(&value, folder, written(&path)) {
                Some(bundle) => found.push(Conversation { program: Program::Gemini, what, bundle }),
                None => findings.push(Finding::Left { what, why: UNREADABLE.to_owned() }),
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

fn bundle(value: &Value, folder: &Path, at: u64) -> Option<SessionBundle> {
    let messages = value.get("messages")?.as_array()?;
    let model = messages.iter().rev().find_map(|message| message.get("model")?.as_str()).unwrap_or(MODEL);
    let session = value.get("sessionId")?.as_str()?;
    let at = time_of(value.get("startTime")).unwrap_or(at);
    let mut story =
        Story::new(Program::Gemini, Held { session, folder, model: format!("gemini/{model}"), at });
    for message in messages {
        story.comes_to(message.get("timestamp"));
        let words = words(message.get("content"));
        match message.get("type").and_then(Value::as_str) {
            Some("user") => story.prompt(words),
            Some("gemini") => {
                let calls = message.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
                story.answer(words, calls.filter_map(call).collect());
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
