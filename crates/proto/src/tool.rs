//! Tools: what can be done, what would happen, and what came of it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxFuture, Confinement, Consent, FileJudge, FunctionDeclaration, Invocation, ToolError};

/// A tool's arguments, as the model gave them.
pub type Args = Map<String, Value>;

/// Something the model may ask for.
pub trait Tool: Send + Sync {
    /// Its name, description and argument schema.
    fn declaration(&self) -> &Arc<FunctionDeclaration>;

    /// Checks the arguments and says what would happen. Has no side effects.
    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>>;

    /// True when a call that an earlier process left running goes on where it was, if it is run again.
    fn goes_on(&self) -> bool {
        false
    }

    /// What is wrong with arguments that a person gives in place of the model's, if anything.
    fn check<'a>(&'a self, args: Args, cx: &'a ToolContext) -> BoxFuture<'a, Option<ToolError>> {
        Box::pin(async move { self.prepare(args, cx).await.err() })
    }
}

/// The tools of a session.
pub trait Toolbox: Send + Sync {
    /// The tool of this name.
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// What the model is offered, in a stable order.
    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>>;

    /// A name close to one that does not exist.
    fn nearest(&self, name: &str) -> Option<String>;

    /// True for a tool that the model is not offered now, because no call of it could run.
    fn withholds(&self, _name: &str) -> bool {
        false
    }
}

/// Where a tool works.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// The folder relative paths start from.
    pub cwd: PathBuf,
    /// The folders it may touch without being asked about it.
    pub roots: Vec<PathBuf>,
    /// The user's home, for `~` in command lines.
    pub home: Option<PathBuf>,
    /// Says of which files something may be told, and which may not even be looked at, before the call was judged.
    pub files: FileJudge,
}

/// What a running tool is given.
pub struct RunContext {
    /// Resolves when the user cancels; the tool then stops and says what it had done.
    pub cancelled: BoxFuture<'static, ()>,
    /// Takes live output for people; what it takes may be dropped.
    pub live: Box<dyn Fn(&str) + Send + Sync>,
    /// How far the processes it starts may reach.
    pub confinement: Confinement,
    /// True when nothing but git reads files in it: then what git keeps may be open to it.
    pub only_git_reads: bool,
    /// Who lets it run.
    pub consent: Consent,
    /// Says which of the files that it comes across it may read.
    pub files: FileJudge,
}

/// What a call would do, said before it does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The tool's name.
    pub tool: String,
    /// The arguments it was called with; rules may look at them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Args,
    /// One line for people.
    pub title: String,
    /// Everything it touches.
    pub effects: Vec<Effect>,
    /// What a person needs to see to decide.
    pub preview: Preview,
    /// Whether it may run beside others.
    pub lane: Lane,
}

impl Plan {
    /// True when the call may start processes.
    pub fn starts_processes(&self) -> bool {
        let starts = |effect: &Effect| {
            matches!(effect, Effect::Exec { .. } | Effect::Unclear { .. } | Effect::Unconfined)
        };
        matches!(self.preview, Preview::Command { .. }) || self.effects.iter().any(starts)
    }
}

/// Something a call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// Reads a path.
    Read {
        /// The file or folder.
        path: PathBuf,
    },
    /// Writes or removes a path.
    Write {
        /// The file or folder.
        path: PathBuf,
    },
    /// Runs one simple command. A command line is as many of these as it would run, wherever they hide.
    Exec {
        /// The command as it was written.
        command: String,
        /// The folder it runs in.
        cwd: PathBuf,
        /// The words it is given, quotes and expansions resolved. Never empty.
        words: Vec<Word>,
        /// True when all it does is start another command, which is in the plan too (`timeout 5 ls`).
        #[serde(default, skip_serializing_if = "is_false")]
        carrier: bool,
        /// True when its standard input comes from this command line: a pipe, a heredoc, a file.
        #[serde(default, skip_serializing_if = "is_false")]
        fed: bool,
        /// The variables that the line gives it: set before it, by `env`, or exported. One that may not reach it, as it was set
        /// and not exported, has a value of kind [`WordKind::Unknown`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        environment: Vec<(String, Word)>,
    },
    /// Sets a variable that commands may see.
    Env {
        /// The variable's name.
        name: String,
        /// The value it would get.
        value: Word,
    },
    /// Does something that could not be told from the text. Never allowed by a rule about commands.
    Unclear {
        /// The part that is not understood, as it was written.
        what: String,
        /// Why it is not understood.
        reason: String,
    },
    /// Runs without confinement, as the call itself wants. Allowed only by who allows everything.
    Unconfined,
    /// Talks to a host.
    Net {
        /// Its name or address.
        host: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server's name in the settings.
        server: String,
        /// The server's tool.
        tool: String,
    },
}

/// A word of a command, as far as it is known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// The word itself when it is literal; else how it was written.
    pub text: String,
    /// How much is known of it.
    #[serde(default, skip_serializing_if = "WordKind::is_literal")]
    pub kind: WordKind,
}

impl Word {
    /// A word that is fully known.
    pub fn literal(text: impl Into<String>) -> Word {
        Word { text: text.into(), kind: WordKind::Literal }
    }

    /// A word only the shell can know.
    pub fn unknown(source: impl Into<String>) -> Word {
        Word { text: source.into(), kind: WordKind::Unknown }
    }

    /// A word whose text only the shell can know, but which is one word whatever it says.
    pub fn single(source: impl Into<String>) -> Word {
        Word { text: source.into(), kind: WordKind::Single }
    }

    /// The word, if it is fully known.
    pub fn known(&self) -> Option<&str> {
        self.kind.is_literal().then_some(self.text.as_str())
    }
}

/// How much of a word is known before the command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordKind {
    /// All of the word: it stands for itself.
    #[default]
    Literal,
    /// It is a file name pattern: any number of existing paths that match it.
    Glob,
    /// Nothing but that it is exactly one word: it is quoted.
    Single,
    /// Nothing: any text, and any number of words, none and options among them.
    Unknown,
}

impl WordKind {
    /// True for a word that is fully known.
    pub fn is_literal(&self) -> bool {
        *self == WordKind::Literal
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a person needs to see to decide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Preview {
    /// The title says it all.
    #[default]
    None,
    /// A change of a file.
    Diff {
        /// The file that would change.
        path: PathBuf,
        /// Its text now; absent when it does not exist.
        before: Option<String>,
        /// Its text afterwards.
        after: String,
        /// The change as a unified diff.
        diff: String,
    },
    /// A command, in full.
    Command {
        /// The command line.
        command: String,
        /// Where it would run.
        cwd: PathBuf,
    },
    /// Something to read.
    Text {
        /// The words a person is shown.
        text: String,
    },
    /// Questions to the person: the call does nothing else, and no rule can answer in the person's place.
    Questions {
        /// The questions, in their order.
        questions: Vec<Question>,
    },
}

/// Something the model wants to know from the person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The whole question.
    pub question: String,
    /// It in a word or two.
    pub header: String,
    /// What kind of answer is wanted.
    #[serde(rename = "type", default)]
    pub kind: QuestionKind,
    /// What can be chosen; a person may always say something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    /// More than one may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
    /// Shown in the empty field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// No answer is an answer, too: nothing is chosen beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// What holds when nothing is answered, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// One or some of the options.
    #[default]
    Choice,
    /// Free words.
    Text,
    /// Yes or no.
    Yesno,
}

/// An answer that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// The words that are the answer.
    pub label: String,
    /// What choosing it means.
    #[serde(default)]
    pub description: String,
}

/// Whether a call may run beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Beside other shared calls.
    Shared,
    /// Alone: nothing else runs meanwhile.
    #[default]
    Exclusive,
}
