//! What comes of a call: content for the model, a display for people, or a typed error.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{FileChange, Part};

/// What came of a call: content for the model, display for the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model gets, in parts.
    pub content: Vec<Part>,
    /// For the person; the content's text when absent.
    pub display: Option<Display>,
    /// Set when it failed.
    pub error: Option<ToolError>,
    /// Files it changed, for undo.
    pub changes: Vec<FileChange>,
    /// The file that holds the whole output, when the content was cut.
    pub whole_output: Option<PathBuf>,
}

impl ToolOutput {
    /// The output of a call that failed, or was never run.
    pub fn failed(error: ToolError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// Why a call was refused or failed, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What programs act on; the message is for the model alone.
    pub kind: ToolErrorKind,
    /// What happened, why, and what to do instead.
    pub message: String,
}

impl ToolError {
    /// An error of this kind.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The kinds of failed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// No tool has this name.
    UnknownTool,
    /// The arguments are not what the tool takes, or were cut off.
    InvalidArgs,
    /// The tool is not offered in this mode.
    NotOffered,
    /// A rule of the policy forbids it.
    DeniedByRule,
    /// A hook does not let it through.
    BlockedByHook,
    /// It needs approval, and nobody is there to give it.
    NobodyToAsk,
    /// A person said no.
    RefusedByPerson,
    /// It waited for approval when its process ended, and was not run.
    NotApproved,
    /// The user cancelled it or its turn.
    Cancelled,
    /// Its process ended while it was under way; what it had done until then is unknown.
    Interrupted,
    /// The same call has failed to bring anything new too often.
    Loop,
    /// A question to the person got no answer.
    Unanswered,
    /// The file, folder or process does not exist.
    NotFound,
    /// The system does not permit it.
    PermissionDenied,
    /// A file was expected and a folder is there.
    IsADirectory,
    /// A folder was expected and something else is there.
    NotADirectory,
    /// A device, socket or pipe, which is not opened.
    SpecialFile,
    /// A text was expected and other bytes are there.
    BinaryFile,
    /// The file's encoding lacks a character of the text.
    Encoding,
    /// The content stands for text that was left out.
    Omission,
    /// More than the tool takes.
    TooLarge,
    /// Somebody else has changed the file meanwhile.
    Conflict,
    /// The text to replace is not in the file.
    NoMatch,
    /// The text to replace is in the file more than once.
    AmbiguousMatch,
    /// It took too long, or said nothing for too long.
    TimedOut,
    /// The command could not be started or followed.
    SpawnFailed,
    /// The command ended with a failure.
    ExitStatus,
    /// The server could not be reached, or did not give what was asked for.
    Network,
    /// The address is one that is never fetched.
    ForbiddenAddress,
    /// The system failed at reading or writing.
    Io,
    /// The tool is broken.
    Internal,
    /// A kind this version does not know.
    #[serde(other)]
    Other,
}

/// Its name in JSON.
impl fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What a person is shown of a call's result. A front end draws it as it can; [`Display::to_text`] is for those
/// that only print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", remote = "Self")]
#[non_exhaustive]
pub enum Display {
    /// Plain words.
    Text {
        /// The words, possibly of many lines.
        text: String,
    },
    /// A file was changed.
    Diff {
        /// The file that was changed.
        path: PathBuf,
        /// The change as a unified diff.
        diff: String,
    },
    /// A list of steps, with how far each has come.
    Todos {
        /// The steps, in their order.
        items: Vec<Todo>,
    },
    /// Rows under column heads.
    Table {
        /// The heads of the columns.
        columns: Vec<String>,
        /// As many cells each as there are columns.
        rows: Vec<Vec<String>>,
    },
    /// A file, or a part of it.
    File {
        /// The file to show.
        path: PathBuf,
        /// Which lines of it; all, or none where it has no lines, when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<FileLines>,
    },
    /// A command ended.
    Command {
        /// What it printed.
        output: String,
        /// Its exit code; absent where a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
    /// A type this version does not know, kept as it is.
    #[serde(untagged)]
    Unknown(Value),
}

/// Some lines of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLines {
    /// The first of them.
    pub first: usize,
    /// The last of them, included.
    pub last: usize,
    /// How many the file has.
    pub total: usize,
}

/// A step of a longer task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub description: String,
    /// How far it has come.
    pub status: TodoStatus,
}

/// How far a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// It is not begun.
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
    /// It was given up.
    Cancelled,
    /// It cannot go on for now.
    Blocked,
}

impl TodoStatus {
    fn mark(self) -> &'static str {
        match self {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
            TodoStatus::Cancelled => "[-]",
            TodoStatus::Blocked => "[!]",
        }
    }
}

impl Display {
    /// A display of plain words.
    pub fn text(text: impl Into<String>) -> Self {
        Display::Text { text: text.into() }
    }

    /// It as plain text.
    pub fn to_text(&self) -> String {
        match self {
            Display::Text { text } => text.clone(),
            Display::Diff { diff, .. } => diff.clone(),
            Display::Todos { items } => Todo::list(items),
            Display::Table { columns, rows } => {
                let rows = std::iter::once(columns).chain(rows);
                rows.map(|cells| cells.join(" | ")).collect::<Vec<_>>().join("\n")
            }
            Display::File { path, lines: None } => path.display().to_string(),
            Display::File { path, lines: Some(FileLines { first, last, total }) } => {
                format!("{}, lines {first}-{last} of {total}", path.display())
            }
            Display::Command { output, .. } => match self.failed_with() {
                Some(failed) => format!("{output}\n{failed}").trim_start_matches('\n').to_owned(),
                None => output.clone(),
            },
            Display::Unknown(value) => value.to_string(),
        }
    }

    /// How a command failed, in two words; nothing for one that did not, and for everything else.
    pub fn failed_with(&self) -> Option<String> {
        match self {
            Display::Command { signal: Some(signal), .. } => Some(format!("signal {signal}")),
            Display::Command { code: Some(code), .. } if *code != 0 => Some(format!("exit {code}")),
            _ => None,
        }
    }
}

impl Todo {
    /// The steps, a numbered line for each.
    pub fn list(todos: &[Todo]) -> String {
        let line = |(index, todo): (usize, &Todo)| {
            let words: Vec<&str> = todo.description.split_whitespace().collect();
            format!("{}. {} {}", index + 1, todo.status.mark(), words.join(" "))
        };
        todos.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Serialize for Display {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Journals of version 1 have a plain string where a display is text.
impl<'de> Deserialize<'de> for Display {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Display::Text { text }),
            value => Self::deserialize(value).map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(display: &Display) -> Value {
        let json = serde_json::to_value(display).unwrap();
        assert_eq!(serde_json::from_value::<Display>(json.clone()).unwrap(), *display);
        json
    }

    #[test]
    fn a_display_keeps_its_shape_in_json() {
        let diff = Display::Diff { path: "a".into(), diff: "-1\n+2\n".to_owned() };
        assert_eq!(round_trip(&diff), json!({"type": "diff", "path": "a", "diff": "-1\n+2\n"}));
        let lines = Some(FileLines { first: 2, last: 4, total: 9 });
        let file = Display::File { path: "a".into(), lines };
        let shape = json!({"type": "file", "path": "a", "lines": {"first": 2, "last": 4, "total": 9}});
        assert_eq!(round_trip(&file), shape);
        assert_eq!(file.to_text(), "a, lines 2-4 of 9");
        round_trip(&Display::File { path: "a".into(), lines: None });
    }

    #[test]
    fn a_plain_string_is_text_and_an_unknown_type_is_kept() {
        assert_eq!(serde_json::from_value::<Display>(json!("done")).unwrap(), Display::text("done"));
        let chart = json!({"type": "chart", "points": [1, 2]});
        let display: Display = serde_json::from_value(chart.clone()).unwrap();
        assert_eq!(display, Display::Unknown(chart.clone()));
        assert_eq!(round_trip(&display), chart);
    }

    #[test]
    fn a_display_can_be_printed() {
        let step = |description: &str, status| Todo { description: description.to_owned(), status };
        let items = vec![step("read  it", TodoStatus::Completed), step("mend it", TodoStatus::InProgress)];
        let todos = Display::Todos { items };
        assert_eq!(todos.to_text(), "1. [x] read it\n2. [>] mend it");
        assert_eq!(round_trip(&todos)["items"][1]["status"], "in_progress");
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Display::Table { columns: row(["name", "size"]), rows: vec![row(["a", "1"])] };
        assert_eq!(table.to_text(), "name | size\na | 1");
        round_trip(&table);
        let command =
            |output: &str, code, signal| Display::Command { output: output.to_owned(), code, signal };
        assert_eq!(command("made", Some(0), None).to_text(), "made");
        assert_eq!(command("no", Some(2), None).to_text(), "no\nexit 2");
        assert_eq!(command("", None, Some(9)).to_text(), "signal 9");
        let shape = json!({"type": "command", "output": "no", "code": 2});
        assert_eq!(round_trip(&command("no", Some(2), None)), shape);
    }

    #[test]
    fn an_unknown_kind_of_error_is_no_error_itself() {
        let read = |word: &str| serde_json::from_value::<ToolErrorKind>(json!(word)).unwrap();
        assert_eq!(read("timed_out"), ToolErrorKind::TimedOut);
        assert_eq!(ToolErrorKind::TimedOut.to_string(), "timed_out");
        assert_eq!(read("eaten_by_a_bear"), ToolErrorKind::Other);
    }
}
