//! Moving in: what other agents left on this machine, taken over as far as it means something here.
//!
//! First everything is found, then what is not there yet is taken. Nothing of ours is ever replaced, so a second run takes
//! nothing but secrets that were not wanted before. Secrets are taken only on demand and never told.

mod claude;
mod claude_sessions;
mod codex;
mod command;
mod file;
mod gemini;
mod opencode;
mod server;
mod session_log;
mod sessions;
mod setting;
mod story;
mod take;

use std::path::Path;

use serde_json::Value;

use crate::Charla;
use crate::failure::Failure;
use crate::notices::Notice;
use story::Conversation;
use take::Taker;

/// A program to move in from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Gemini CLI.
    Gemini,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Qwen Code.
    Qwen,
    /// OpenCode.
    Opencode,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gemini, Self::Claude, Self::Codex, Self::Qwen, Self::Opencode];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Program::Gemini => "gemini",
            Program::Claude => "claude",
            Program::Codex => "codex",
            Program::Qwen => "qwen",
            Program::Opencode => "opencode",
        }
    }

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Program::Gemini => "Gemini CLI",
            Program::Claude => "Claude Code",
            Program::Codex => "Codex",
            Program::Qwen => "Qwen Code",
            Program::Opencode => "OpenCode",
        }
    }
}

/// What is wanted of an import.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// From which programs.
    pub from: Vec<Program>,
    /// Keys, too.
    pub keys: bool,
    /// Old conversations of Gemini CLI and Claude Code in this folder, too.
    pub sessions: bool,
    /// Nothing is written.
    pub dry_run: bool,
}

/// What came of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// What was taken, or would be.
    pub taken: Vec<Entry>,
    /// What was left, and why.
    pub left: Vec<Entry>,
    /// What of it guarded the other program: nothing stands for it here.
    pub guards: Vec<Entry>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of which program.
    pub program: &'static str,
    /// What it is.
    pub what: String,
    /// Where it went, or why it was left.
    pub about: Notice,
}

/// Something to take, as a reader of a program's files finds it.
enum Finding {
    /// An MCP server, in our form; with its secrets, also how it is taken without them.
    Server { name: String, entry: Value, before: Option<Value> },
    /// What looks like a secret in a server that is taken without it, and the variable that stands for it.
    Secret { server: String, field: String, variable: String },
    /// A file of instructions, by how an instruction file names it.
    Instructions { reference: String },
    /// A command, as our TOML.
    Command { name: String, text: String },
    /// The key of a provider.
    Key { provider: String, key: String },
    /// A setting that means the same here; of a model, whose key it needs.
    Setting { what: String, key: [&'static str; 2], value: Value, provider: Option<String> },
    /// Rules or hooks that forbade something, and what stands for their like here.
    Guard { key: String, instead: &'static str },
    /// Something that is not taken, and why.
    Left { what: String, why: String },
    /// Something that is not taken, why, and what to do about it.
    Advised { what: String, why: Notice },
}

impl Finding {
    /// A setting that is not taken.
    fn setting(key: &str) -> Self {
        let why = "it has no counterpart that means the same here".to_owned();
        Finding::Left { what: format!("setting {key}"), why }
    }

    fn is_guard(&self) -> bool {
        matches!(self, Finding::Guard { .. })
    }
}

/// Finds the conversations of a program that were held in a folder.
type FindConversations = fn(&Path, &Path, &mut Vec<Finding>) -> Vec<Conversation>;

/// The programs whose conversations are understood.
const CONVERSATIONS: [(Program, FindConversations); 2] =
    [(Program::Gemini, sessions::find), (Program::Claude, claude_sessions::find)];

/// Why a conversation is not taken.
const UNREADABLE: &str = "nothing was said in it, or it is none that can be read";

/// Finds what the programs left, and takes what is not there yet.
pub async fn import(request: &ImportRequest, charla: &Charla) -> Result<ImportReport, Failure> {
    let environment = charla.environment();
    let home = environment.home.clone();
    let home = home.ok_or_else(|| Failure::config("there is no home directory to look into"))?;
    let mut taker = Taker::new(request, environment)?;
    for program in &request.from {
        let mut findings = match program {
            Program::Gemini => gemini::find(&home),
            Program::Qwen => gemini::find_qwen(&home, request.keys),
            Program::Claude => claude::find(&home, request.keys),
            Program::Codex => codex::find(&home, request.keys),
            Program::Opencode => opencode::find(&home, environment, request.keys),
        };
        if findings.iter().any(Finding::is_guard) {
            findings.iter_mut().for_each(setting::leave_looser_mode);
        }
        // Whether a model can answer is known once the keys are there.
        findings.sort_by_key(|finding| matches!(finding, Finding::Setting { .. }));
        for finding in findings {
            taker.take(program.name(), finding)?;
        }
    }
    let old = |program| request.sessions && request.from.contains(&program);
    for (program, find) in CONVERSATIONS.into_iter().filter(|(program, _)| old(*program)) {
        let mut findings = Vec::new();
        for conversation in find(&home, &environment.directory, &mut findings) {
            taker.conversation(charla, conversation).await?;
        }
        for finding in findings {
            taker.take(program.name(), finding)?;
        }
    }
    Ok(taker.report)
}
