//! Old conversations of Claude Code: lines of JSON, one for each piece of what was said.

use std::collections::HashMap;
use std::path::Path;

use charla_proto::CallStatus;
use serde_json::Value;

use super::story::{Conversation, Held, OldCall, Story, time_of, written};
use super::{Finding, Program, UNREADABLE, file};
use crate::session::SessionBundle;

/// The model of conversations that do not name theirs.
const MODEL: &str = "claude-sonnet-4-5";
/// What begins so was not said by a person: traces of commands at their terminal.
const TRACES: [&str; 3] = ["<command-", "<local-command-", "<bash-"];
/// What stands for the result of a call that has none.
const NO_RESULT: &str = "(there is no result)";

/// The conversations that were held in this folder.
pub(super) fn find(home: &Path, folder: &Path, findings: &mut Vec<Finding>) -> Vec<Conversation> {
    let place = home.join(".claude/projects").join(slug(folder));
    let mut found = Vec::new();
    for name in file::files(&place, "jsonl") {
        // Below the folder are those of its agents.
        if name.components().count() > 1 {
            continue;
        }
        let path = place.join(&name);
        let Some(text) = file::text(&path, findings) else { continue };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let what = format!("conversation {stem}");
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        match bundle(&lines, &stem, folder, written(&path)) {
            Some(bundle) => found.push(Conversation { program: Program::Claude, what, bundle }),
            None => findings.push(Finding::Left { what, why: UNREADABLE.to_owned() }),
        }
    }
    found
}

/// What the folder of a project's conversations is called.
fn slug(folder: &Path) -> String {
    let path = folder.to_string_lossy();
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn bundle(lines: &[Value], session: &str, folder: &Path, at: u64) -> Option<SessionBundle> {
    // Other folders may have the same name with other signs in it.
    let cwd = lines.iter().find_map(|line| line.get("cwd")?.as_str());
    if cwd.is_some_and(|cwd| Path::new(cwd) != folder) {
        return None;
    }
    let named = |line: &Value| line.pointer("/message/model")?.as_str().map(str::to_owned);
    let model = lines.iter().rev().filter_map(named).find(|model| !model.starts_with('<'));
    let model = format!("anthropic/{}", model.as_deref().unwrap_or(MODEL));
    let at = lines.iter().find_map(|line| time_of(line.get("timestamp"))).unwrap_or(at);
    let mut story = Story::new(Program::Claude, Held { session, folder, model, at });
    let mut results = results(lines);
    let mut answer: Option<Answer> = None;
    for line in lines.iter().filter(|line| is_said(line)) {
        let Some(message) = line.get("message") else { continue };
        match line.get("type").and_then(Value::as_str) {
            Some("user") => {
                let words = words(message.get("content"));
                if words.trim().is_empty() || TRACES.iter().any(|trace| words.trim_start().starts_with(trace))
                {
                    continue;
                }
                tell(&mut story, answer.take());
                story.comes_to(line.get("timestamp"));
                story.prompt(words);
            }
            Some("assistant") => {
                story.comes_to(line.get("timestamp"));
                let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
                // An answer comes in several lines, between which results may stand.
                if answer.as_ref().is_none_or(|open| open.id.is_empty() || open.id != id) {
                    tell(&mut story, answer.replace(Answer { id: id.to_owned(), ..Answer::default() }));
                }
                if let Some(open) = &mut answer {
                    open.add(message, &mut results);
                }
            }
            _ => {}
        }
    }
    tell(&mut story, answer);
    story.bundle()
}

/// An answer, as far as it was read.
#[derive(Default)]
struct Answer {
    id: String,
    words: String,
    calls: Vec<OldCall>,
}

impl Answer {
    fn add(&mut self, message: &Value, results: &mut HashMap<String, (CallStatus, String)>) {
        self.words.push_str(&words(message.get("content")));
        for block in blocks(message, "tool_use") {
            let Some(name) = block.get("name").and_then(Value::as_str) else { continue };
            let id = block.get("id").and_then(Value::as_str).unwrap_or_default();
            let (status, result) =
                results.remove(id).unwrap_or((CallStatus::Cancelled, NO_RESULT.to_owned()));
            let args = block.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
            self.calls.push(OldCall { name: name.to_owned(), args, status, result });
        }
    }
}

fn tell(story: &mut Story, answer: Option<Answer>) {
    if let Some(Answer { words, calls, .. }) = answer {
        story.answer(words, calls);
    }
}

/// False for what its agents said, and for what the program said in the person's place.
fn is_said(line: &Value) -> bool {
    ["isSidechain", "isMeta"].iter().all(|key| line.get(key) != Some(&Value::Bool(true)))
}

/// What calls gave, by their ids.
fn results(lines: &[Value]) -> HashMap<String, (CallStatus, String)> {
    let messages = lines.iter().filter_map(|line| line.get("message"));
    let blocks = messages.flat_map(|message| blocks(message, "tool_result"));
    let result = |block: &Value| {
        let failed = block.get("is_error") == Some(&Value::Bool(true));
        let status = if failed { CallStatus::Error } else { CallStatus::Success };
        let words = words(block.get("content"));
        let words = if words.is_empty() { "(no output)".to_owned() } else { words };
        Some((block.get("tool_use_id")?.as_str()?.to_owned(), (status, words)))
    };
    blocks.filter_map(result).collect()
}

fn blocks<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let content = message.get("content").and_then(Value::as_array).into_iter().flatten();
    content.filter(move |block| block.get("type").and_then(Value::as_str) == Some(kind))
}

/// The words of a text, or of the blocks that are text.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts =
                blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
            let texts = texts.filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
