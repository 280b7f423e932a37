//! Hooks: programs of the user that are run at points of a session, as front ends and journals know them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Args, Content};

/// A point of a session at which hooks run. In JSON by the names Gemini CLI has for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HookEvent {
    /// A session begins, or is gone on with.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A prompt is about to be worked on.
    BeforeAgent,
    /// A prompt has its answer.
    AfterAgent,
    /// The model is about to be asked.
    BeforeModel,
    /// The model has answered.
    AfterModel,
    /// The model is about to be offered its tools.
    BeforeToolSelection,
    /// A call is about to be judged and run.
    BeforeTool,
    /// A call has run.
    AfterTool,
    /// The window is about to be looked at, and compressed where it is full.
    PreCompress,
    /// A person is asked something.
    Notification,
}

impl HookEvent {
    /// All of them, in the order in which a session first comes to them.
    pub const ALL: [HookEvent; 11] = [
        HookEvent::SessionStart,
        HookEvent::BeforeAgent,
        HookEvent::PreCompress,
        HookEvent::BeforeModel,
        HookEvent::BeforeToolSelection,
        HookEvent::AfterModel,
        HookEvent::BeforeTool,
        HookEvent::Notification,
        HookEvent::AfterTool,
        HookEvent::AfterAgent,
        HookEvent::SessionEnd,
    ];

    /// The event of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.to_string() == name)
    }
}

/// Its name in JSON.
impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One hook that has run. Texts are cut at a bound, so that no hook fills a screen or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookRan {
    /// The point of the session.
    pub hook_event_name: HookEvent,
    /// The hook's name, or else its command.
    pub hook_name: String,
    /// What it was given, as JSON.
    pub hook_input: String,
    /// What was understood of its answer, as JSON; empty where it gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hook_output: String,
    /// Its exit code; absent when it was ended by a signal, for its time, or could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What it printed as errors, and why it could not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How long it took.
    pub duration_ms: u64,
    /// True when it ended by itself with exit code 0.
    pub success: bool,
    /// What the person is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
}

/// What came of hooks at one point of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HookEffect {
    /// Nothing: they are not asked again about the same.
    Passed,
    /// The model is told something beside what was said.
    Context {
        /// What it is told.
        content: Arc<Content>,
    },
    /// The turn goes on with this prompt, although the model had its last word.
    Prompt {
        /// What is said to the model.
        content: Arc<Content>,
    },
    /// What was said until now is no longer sent.
    Cleared,
    /// One request had these messages in place of the conversation.
    Request {
        /// What was sent.
        messages: Vec<Content>,
    },
    /// A call goes on to be judged.
    Call {
        /// The call's id.
        call: String,
        /// The arguments it has from now on, where they are others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Args>,
        /// A person must be asked, whatever the rules say, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<String>,
    },
    /// Another tool is called in place of the one that ran, and its result is the call's.
    TailCall {
        /// The id of the call that ran.
        call: String,
        /// The other tool.
        name: String,
        /// What it is called with.
        args: Args,
    },
}

/// What hooks have said about a call under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallHooks {
    /// They were asked about the call as it is, and are not asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// A person must be asked, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// They gave it other arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// The tool the model had called, where a tail call stands in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// How many tail calls there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tails: u32,
}

impl CallHooks {
    /// True when no hook had anything to do with the call.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What hooks have said in a turn under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnHooks {
    /// They were asked about its prompt.
    pub prompted: bool,
    /// How often they had it go on.
    pub prompts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
