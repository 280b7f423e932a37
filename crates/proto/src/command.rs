//! Commands and replies: what can be asked of a session, in one form for every front end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ApprovalMode, Args, Content, Outcome, RevertedFile};

/// Something asked of a session, with who asks it. What a program sends, a browser posts or another process
/// hands over is this object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Who asks; goes into the records that come of it.
    pub by: String,
    /// What is asked.
    #[serde(flatten)]
    pub command: Command,
}

/// Something asked of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Command {
    /// Says something to the model.
    Prompt {
        /// What is said; its role does not matter.
        content: Content,
        /// When it is said, while a turn runs.
        #[serde(default, skip_serializing_if = "is_default")]
        delivery: Delivery,
    },
    /// Goes on with a turn that an earlier process left open.
    Continue,
    /// Stops the turn, a waiting prompt, or both.
    Cancel {
        /// What is stopped.
        #[serde(default)]
        target: CancelTarget,
    },
    /// Answers a question.
    Answer {
        /// The approval's id.
        approval: String,
        /// The answer, which must fit the question.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// Changes how much is allowed without asking.
    SetMode {
        /// The mode from now on.
        mode: ApprovalMode,
    },
    /// Changes the model, from the next request on.
    SetModel {
        /// `provider/model`, or a name the host understands.
        model: String,
    },
    /// Replaces the older part of the conversation by a summary, between turns.
    Compress,
    /// Takes compressions back, between turns.
    Restore,
    /// Takes a turn's file changes back, between turns.
    Undo(RevertSelection),
    /// Brings undone file changes back, between turns.
    Redo(RevertSelection),
    /// Makes an earlier message the last one, between turns.
    Rewind {
        /// The record of the message that becomes the last; 0 forgets all of them.
        to: u64,
        /// File changes made after it are taken back, too.
        #[serde(default)]
        files: bool,
    },
    /// Calls a tool in one's own name: whoever makes the call has approved it. It runs at once, beside a turn if one
    /// is under way, and the model is told of it with its next request.
    RunTool {
        /// The tool.
        name: String,
        /// What it is called with.
        #[serde(default)]
        args: Args,
        /// Whoever calls says in a prompt what comes of it: the model is not told of it besides.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_prompt: bool,
        /// Whoever calls has not read what would run: it runs only where the rules allow it without asking.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        if_allowed: bool,
    },
    /// Keeps rules for every session, as "always and save" does.
    SaveRules {
        /// The rules, as TOML.
        rules: String,
    },
    /// Takes back what an "always" has allowed: from now on it is asked about again.
    Revoke {
        /// The approval whose answer it was.
        approval: String,
    },
    /// Looks at memory files, rules and tools again.
    Refresh,
    /// Asks whoever has the session open to leave it, so that another process can go on with it. Who asks a second time waits for the
    /// answer: the session's end, or [`Refusal::Kept`].
    HandOver,
    /// Says no to whoever asks for the session.
    Keep,
}

/// When a prompt reaches the model while a turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// With the next request of the running turn.
    #[default]
    Join,
    /// In a turn of its own, after the running one.
    AfterTurn,
}

/// What a cancel stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelTarget {
    /// The running turn; prompts that wait are said afterwards.
    #[default]
    Turn,
    /// The waiting prompt of this id.
    Prompt(String),
    /// The call of this id, which somebody made themselves.
    Call(String),
    /// The running turn, and the waiting prompts and own calls of the one who cancels.
    Mine,
}

/// Which file changes are taken or brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertSelection {
    /// The turn; the last one with such changes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Only files at or under these paths; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<PathBuf>,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// The prompt is recorded.
    Prompted {
        /// The prompt's id, by which it can be withdrawn and followed.
        prompt: String,
        /// It waits: for the next request, or for the end of the turn.
        waits: bool,
    },
    /// The call is recorded and runs; events tell how it goes.
    Called {
        /// The call's id, by which it can be followed and stopped.
        call: String,
    },
    /// It is done, recorded as far as it had anything to record.
    Done,
    /// Files were put back.
    Reverted {
        /// The turn whose changes they were.
        turn: u64,
        /// The files, with what they held and hold.
        files: Vec<RevertedFile>,
    },
    /// Rules are kept for every session.
    Saved {
        /// Where they are kept, in words a person understands.
        place: String,
    },
    /// It was not done, and nothing was changed.
    Refused(Refusal),
}

/// Why a command was not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// Another answer was first.
    #[error("{by} has answered already")]
    Late {
        /// The answer that counts.
        outcome: Outcome,
        /// Who gave it.
        by: String,
    },
    /// No such question, prompt, turn or message.
    #[error("there is no {what}")]
    Unknown {
        /// What was looked for.
        what: String,
    },
    /// The answer is none to this question.
    #[error("this answer does not fit the question: {why}")]
    DoesNotFit {
        /// Why it does not fit, in words.
        why: String,
    },
    /// A turn is under way.
    #[error("a turn is under way")]
    Busy,
    /// There is nothing it could act on.
    #[error("{why}")]
    Nothing {
        /// Why not, in words.
        why: String,
    },
    /// Files are in the way.
    #[error("{}", conflicts.iter().map(|one| format!("{} {}", one.path.display(), one.obstacle)).collect::<Vec<_>>().join("; "))]
    Conflict {
        /// The turn whose changes were meant.
        turn: u64,
        /// Each file that is in the way.
        conflicts: Vec<FileConflict>,
    },
    /// It was tried and failed.
    #[error("{message}")]
    Failed {
        /// What happened and why.
        message: String,
    },
    /// Whoever has the session open goes on with it there.
    #[error("whoever has the session open keeps it there")]
    Kept,
    /// The session has ended.
    #[error("the session has ended")]
    Ended,
}

/// A file that is not as it was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileConflict {
    /// The file that is in the way.
    pub path: PathBuf,
    /// What is the matter, said of the file.
    pub obstacle: String,
    /// What changed since, as a unified diff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Hash of what it holds now; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

impl Command {
    /// A prompt with the default delivery.
    pub fn prompt(content: Content) -> Self {
        Command::Prompt { content, delivery: Delivery::default() }
    }
}

fn is_default(delivery: &Delivery) -> bool {
    *delivery == Delivery::default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_one_flat_object() {
        let request: Request = serde_json::from_value(json!({
            "by": "anna", "command": "answer", "approval": "s:7", "outcome": "cancel", "reason": "no",
        }))
        .unwrap();
        let outcome = Outcome::Cancel { reason: Some("no".to_owned()) };
        assert_eq!(request.command, Command::Answer { approval: "s:7".to_owned(), outcome });
        let request: Request = serde_json::from_value(json!({ "by": "anna", "command": "cancel" })).unwrap();
        assert_eq!(request.command, Command::Cancel { target: CancelTarget::Turn });
    }

    #[test]
    fn commands_and_replies_survive_a_round_trip() {
        let commands = [
            Command::prompt(Content::user("hello")),
            Command::Prompt { content: Content::user("later"), delivery: Delivery::AfterTurn },
            Command::Continue,
            Command::Cancel { target: CancelTarget::Prompt("p7".to_owned()) },
            Command::Cancel { target: CancelTarget::Mine },
            Command::SetMode { mode: ApprovalMode::Plan },
            Command::SetModel { model: "a/b".to_owned() },
            Command::Undo(RevertSelection { turn: Some(2), only: vec!["a".into()] }),
            Command::Rewind { to: 7, files: true },
            Command::RunTool {
                name: "glob".to_owned(),
                args: Args::new(),
                for_prompt: true,
                if_allowed: true,
            },
            Command::Revoke { approval: "s:7".to_owned() },
            Command::HandOver,
            Command::Keep,
            Command::Cancel { target: CancelTarget::Call("charla_7_1".to_owned()) },
        ];
        for command in commands {
            let request = Request { by: "me".to_owned(), command };
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request, "{text}");
        }
        let late = Refusal::Late { outcome: Outcome::ProceedOnce, by: "bob".to_owned() };
        for reply in [Reply::Done, Reply::Refused(late), Reply::Refused(Refusal::Ended)] {
            let text = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply, "{text}");
        }
    }
}
