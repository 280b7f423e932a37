//! A tool call as an editor is shown it: kind, title, places, content.

use std::path::{Path, PathBuf};

use charla::Card;
use charla_proto::text::{middle, one_line};
use charla_proto::{
    Args, CallEnded, CallStatus, Confirmation, ConfirmationDetail, Display, FunctionCall, PartKind, Todo,
    TodoStatus,
};
use serde_json::{Value, json};

use crate::screen::Screen;

/// The columns of a question.
const COLUMNS: usize = 100;
/// So many characters of an output are shown.
const MOST_SHOWN: usize = 64 * 1024;
/// So many characters of a title are shown.
const MOST_TITLE: usize = 200;
/// Arguments that name what a call is about, the most telling first.
const TELLING: [&str; 9] =
    ["command", "file_path", "dir_path", "path", "pattern", "query", "url", "prompt", "name"];
/// Arguments that name a file or a folder.
const PLACES: [&str; 3] = ["file_path", "dir_path", "path"];

/// A call on its way.
pub(crate) struct Call {
    id: String,
    name: String,
    args: Args,
    /// Where relative paths start.
    cwd: PathBuf,
    /// The changes that its question showed.
    diff: Option<Value>,
    /// What it has shown so far, where it has no terminal.
    live: String,
    screen: Option<Screen>,
}

impl Call {
    pub(crate) fn new(call: &FunctionCall, cwd: &Path) -> Self {
        Self {
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone(),
            args: call.args.clone(),
            cwd: cwd.to_owned(),
            diff: None,
            live: String::new(),
            screen: None,
        }
    }

    /// The same call in an editor whose terminals show what a command prints.
    pub(crate) fn on_a_screen(self, call: &FunctionCall) -> Self {
        Self { screen: Screen::of(call), ..self }
    }

    /// The call when it comes up.
    pub(crate) fn begun(&self) -> Value {
        let begun = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": self.id,
            "title": self.title(),
            "name": self.name,
            "kind": self.kind(),
            "status": "pending",
            "rawInput": self.args,
            "locations": self.locations(None),
        });
        with_meta(begun, self.screen.as_ref().map(|screen| screen.opened(&self.cwd)))
    }

    /// It runs now.
    pub(crate) fn started(&self) -> Value {
        match &self.screen {
            Some(screen) => self.update(json!({"status": "in_progress", "content": [screen.content()]})),
            None => self.update(json!({"status": "in_progress"})),
        }
    }

    /// The call as a question shows it: everything that would happen is in it.
    pub(crate) fn asked(&mut self, confirmation: &Confirmation) -> Value {
        self.diff = diff(&confirmation.detail);
        let mut content: Vec<Value> = self.diff.iter().cloned().collect();
        content.push(card(confirmation));
        json!({
            "toolCallId": self.id,
            "title": title(&confirmation.title),
            "kind": self.kind(),
            "status": "pending",
            "rawInput": self.args,
            "locations": self.locations(None),
            "content": content,
        })
    }

    /// It shows more.
    pub(crate) fn showed(&mut self, more: &str) -> Value {
        if let Some(screen) = &mut self.screen {
            let shown = screen.showed(more);
            return self.update(json!({"_meta": shown}));
        }
        self.live.push_str(more);
        if let Some(shorter) = middle(&self.live, MOST_SHOWN) {
            self.live = shorter;
        }
        self.update(json!({"content": [text(&fenced(&self.live))]}))
    }

    /// What its terminal has to show before it is told that the call has its response.
    pub(crate) fn rest(&self, ended: &CallEnded) -> Option<Value> {
        let screen = self.screen.as_ref()?;
        let missing = screen.missing(ended).filter(|missing| !missing.is_empty())?;
        Some(self.update(json!({"_meta": screen.output(missing)})))
    }

    /// It has its response.
    pub(crate) fn ended(&self, ended: &CallEnded) -> Value {
        let status = if ended.status == CallStatus::Success { "completed" } else { "failed" };
        let whole = self.screen.as_ref().filter(|screen| screen.missing(ended).is_some());
        let content = whole.map_or_else(|| self.result(ended), |screen| vec![screen.content()]);
        let update = self.update(json!({
            "status": status,
            "content": content,
            "locations": self.locations(ended.display.as_ref()),
            "rawOutput": ended.response.response,
        }));
        with_meta(update, self.screen.as_ref().map(|screen| screen.closed(ended)))
    }

    fn update(&self, fields: Value) -> Value {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": self.id});
        if let (Some(update), Value::Object(fields)) = (update.as_object_mut(), fields) {
            update.extend(fields);
        }
        update
    }

    fn result(&self, ended: &CallEnded) -> Vec<Value> {
        let mut content = match (&ended.display, &self.diff) {
            // What was asked about is what was done.
            (Some(Display::Diff { .. }), Some(diff)) => vec![diff.clone()],
            (Some(Display::Diff { path, diff }), None) => hunks(path, diff),
            (Some(Display::Command { .. }), _) => vec![text(&fenced(&displayed(ended)))],
            _ => vec![text(&displayed(ended))],
        };
        for part in &ended.response.parts {
            if let PartKind::InlineData(blob) = &part.kind
                && blob.mime_type.starts_with("image/")
            {
                let image = json!({"type": "image", "mimeType": blob.mime_type, "data": blob.data});
                content.push(json!({"type": "content", "content": image}));
            }
        }
        content
    }

    fn title(&self) -> String {
        let told = TELLING.iter().find_map(|name| self.args.get(*name)).and_then(Value::as_str);
        match (self.name.as_str(), told) {
            ("run_shell_command", Some(command)) => title(command),
            (name, Some(told)) => title(&format!("{name} {told}")),
            (name, None) => title(name),
        }
    }

    fn kind(&self) -> &'static str {
        match self.name.as_str() {
            "read_file"
            | "read_many_files"
            | "list_directory"
            | "read_background_output"
            | "list_background_processes"
            | "read_mcp_resource"
            | "activate_skill" => "read",
            "write_file" | "replace" | "save_memory" => "edit",
            "glob" | "grep_search" | "list_mcp_resources" => "search",
            "run_shell_command" => "execute",
            "web_fetch" | "google_web_search" | "web_search" => "fetch",
            "write_todos" | "ask_user" | "invoke_agent" => "think",
            "enter_plan_mode" | "exit_plan_mode" => "switch_mode",
            _ => "other",
        }
    }

    fn locations(&self, display: Option<&Display>) -> Vec<Value> {
        let place = PLACES.iter().find_map(|name| self.args.get(*name)).and_then(Value::as_str);
        let (path, line) = match display {
            Some(Display::File { path, lines }) => (Some(path.clone()), lines.map(|lines| lines.first)),
            Some(Display::Diff { path, diff }) => (Some(path.clone()), first_line(diff)),
            _ => (place.filter(|place| !place.is_empty()).map(|place| self.cwd.join(place)), None),
        };
        path.map(|path| json!({"path": path, "line": line})).into_iter().collect()
    }
}

/// The steps of a plan; nothing where there are none to show.
pub(crate) fn plan(ended: &CallEnded) -> Option<Value> {
    let Some(Display::Todos { items }) = &ended.display else { return None };
    let entries: Vec<Value> =
        items.iter().filter(|item| item.status != TodoStatus::Cancelled).map(entry).collect();
    Some(json!({"sessionUpdate": "plan", "entries": entries}))
}

fn entry(item: &Todo) -> Value {
    let status = match item.status {
        TodoStatus::Completed => "completed",
        TodoStatus::InProgress => "in_progress",
        _ => "pending",
    };
    json!({"content": item.description, "priority": "medium", "status": status})
}

/// The same message with what extensions of the protocol add to it.
fn with_meta(mut message: Value, meta: Option<Value>) -> Value {
    if let (Some(fields), Some(meta)) = (message.as_object_mut(), meta) {
        fields.insert("_meta".to_owned(), meta);
    }
    message
}

fn title(words: &str) -> String {
    one_line(words).chars().take(MOST_TITLE).collect()
}

/// A text that an editor shows.
pub(crate) fn text(words: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": words}})
}

/// What a person is shown of a result.
fn displayed(ended: &CallEnded) -> String {
    let words = ended.display.as_ref().map_or_else(|| ended.response.to_text(), Display::to_text);
    middle(&words, MOST_SHOWN).unwrap_or(words)
}

/// The text as it is, whatever marks stand in it.
pub(crate) fn fenced(words: &str) -> String {
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", words.trim_end_matches('\n'))
}

/// Our card of a question; a change is shown beside it.
fn card(confirmation: &Confirmation) -> Value {
    let mut confirmation = confirmation.clone();
    if let ConfirmationDetail::Edit { diff, .. } = &mut confirmation.detail {
        diff.clear();
    }
    text(&fenced(&Card::whole(&confirmation, COLUMNS).text))
}

fn diff(detail: &ConfirmationDetail) -> Option<Value> {
    let ConfirmationDetail::Edit { path, before, after, .. } = detail else { return None };
    Some(json!({"type": "diff", "path": path, "oldText": before, "newText": after}))
}

/// The places of a change, each as it was and as it is.
fn hunks(path: &Path, diff: &str) -> Vec<Value> {
    let is_new = diff.lines().take(2).any(|line| line.starts_with("--- /dev/null"));
    let mut hunks: Vec<(String, String)> = Vec::new();
    for line in diff.split_inclusive('\n') {
        if line.starts_with("@@") {
            hunks.push(Default::default());
        }
        let (Some((old, new)), Some(mark)) = (hunks.last_mut(), line.chars().next()) else { continue };
        let words = line.get(1..).unwrap_or_default();
        match mark {
            '-' => old.push_str(words),
            '+' => new.push_str(words),
            ' ' => {
                old.push_str(words);
                new.push_str(words);
            }
            _ => {}
        }
    }
    let shown = hunks.into_iter().map(|(old, new)| {
        let old = (!is_new).then_some(old);
        json!({"type": "diff", "path": path, "oldText": old, "newText": new})
    });
    shown.collect()
}

/// The first line of a change in the file as it is.
fn first_line(diff: &str) -> Option<usize> {
    let head = diff.lines().find(|line| line.starts_with("@@"))?;
    let place = head.split(' ').find_map(|word| word.strip_prefix('+'))?;
    place.split(',').next()?.parse().ok().map(|line: usize| line.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_place_by_place() {
        let diff = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n@@ -9 +9 @@\n-nine\n+neun\n";
        let shown = hunks(Path::new("/a.txt"), diff);
        assert_eq!(shown.len(), 2);
        assert_eq!(
            (&shown[0]["oldText"], &shown[0]["newText"]),
            (&json!("one\ntwo\n"), &json!("one\nzwei\n"))
        );
        assert_eq!((&shown[1]["oldText"], &shown[1]["newText"]), (&json!("nine\n"), &json!("neun\n")));
        assert_eq!(first_line("--- a\n+++ a\n@@ -3,1 +7,2 @@\n"), Some(7));
        let new = hunks(Path::new("/b"), "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!((&new[0]["oldText"], &new[0]["newText"]), (&Value::Null, &json!("x\n")));
    }

    #[test]
    fn no_text_ends_its_fence() {
        for words in ["a", "```\nb\n```", "````", ""] {
            let shown = fenced(words);
            let fence = shown.lines().next().unwrap();
            assert!(!words.contains(fence) && shown.ends_with(fence), "{shown}");
        }
    }
}
