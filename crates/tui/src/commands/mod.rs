//! Commands behind a `/`: their names, what they take, and what was meant.

mod export;
mod extending;
mod granting;
mod known_servers;
mod linear;
mod report;
mod work;

pub use export::Exports;
pub use extending::Offered;
pub use extending::Updated;
pub use known_servers::KnownServers;
pub use linear::{Linear, linear};
pub use report::Tally;
pub use work::{Errand, Found, marked, model_items, window};

use charla::custom_command::CustomCommand;
use charla_proto::ApprovalMode;
use charla_proto::text::{nearest, one_line};

use crate::composer::{Candidate, WordSource};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slash {
    /// What there is.
    Help,
    /// Which model answers.
    Model,
    /// How much is allowed without asking.
    Mode,
    /// Which tools the model has.
    Tools,
    /// MCP servers.
    Mcp,
    /// Extensions: what there is, and which are used.
    Extensions,
    /// Skills that can be activated.
    Skills,
    /// Agents that can be called.
    Agents,
    /// Hooks.
    Hooks,
    /// What the rules say to a command line.
    Policy,
    /// Questions of all sessions.
    Approvals,
    /// Instruction files.
    Memory,
    /// An instruction file, written by the model.
    Init,
    /// A summary in place of the older part.
    Compress,
    /// The whole conversation again.
    Uncompress,
    /// An earlier message becomes the last.
    Rewind,
    /// File changes taken back.
    Undo,
    /// File changes brought back.
    Redo,
    /// Another session in place of this one.
    Resume,
    /// A copy of this session.
    Fork,
    /// Tokens, cost, what fills the window.
    Stats,
    /// The last answer into the clipboard.
    Copy,
    /// The conversation into a file.
    Export,
    /// How it looks.
    Theme,
    /// What is set.
    Settings,
    /// What this machine enforces.
    Doctor,
    /// Thoughts in full.
    Thoughts,
    /// A new session.
    Clear,
    /// Whether somebody elsewhere may go on with this session.
    HandOver,
    /// The end.
    Quit,
}

impl Slash {
    /// True when what it tells is of this machine alone.
    pub fn is_about_this_machine(self, words: &str) -> bool {
        match self {
            Slash::Model => words.is_empty(),
            slash => matches!(
                slash,
                Slash::Tools
                    | Slash::Mcp
                    | Slash::Extensions
                    | Slash::Skills
                    | Slash::Agents
                    | Slash::Hooks
                    | Slash::Policy
                    | Slash::Memory
                    | Slash::Stats
                    | Slash::Settings
                    | Slash::Doctor
            ),
        }
    }
}

/// A row of the table of commands.
struct Row {
    name: &'static str,
    /// Other names it is known by.
    also: &'static [&'static str],
    slash: Slash,
    takes: &'static str,
    help: &'static str,
}

const fn row(name: &'static str, slash: Slash, takes: &'static str, help: &'static str) -> Row {
    Row { name, also: &[], slash, takes, help }
}

/// Every command.
const TABLE: [Row; 30] = [
    row("help", Slash::Help, "", "what there is"),
    row("model", Slash::Model, "[NAME]", "choose which model answers"),
    row("mode", Slash::Mode, "[MODE]", "choose what runs without asking: plan, default, auto_edit, yolo"),
    row("tools", Slash::Tools, "", "list the tools the model has"),
    row("mcp", Slash::Mcp, "", "list the MCP servers, how they are and what tools they have"),
    row(
        "extensions",
        Slash::Extensions,
        "[install|update|enable|disable|uninstall NAME|reload]",
        "list the extensions and what they bring; change them, or take up what was changed",
    ),
    row("skills", Slash::Skills, "", "list the skills the model can activate, and whose they are"),
    row("agents", Slash::Agents, "", "list the agents the model can call, and whose they are"),
    row("hooks", Slash::Hooks, "", "list the hooks, where they are set and whether they run"),
    row(
        "policy",
        Slash::Policy,
        "[COMMAND]",
        "list the rules and what is always allowed, or say what they say to a command line",
    ),
    row(
        "approvals",
        Slash::Approvals,
        "[revoke NUMBER]",
        "list the questions that wait, and what is always allowed; take such an always back",
    ),
    row("memory", Slash::Memory, "", "say which instruction files are read; refreshes them"),
    row("init", Slash::Init, "[WORDS]", "have the model look at this folder and write AGENTS.md"),
    row("compress", Slash::Compress, "", "put a summary in place of the older part"),
    row("uncompress", Slash::Uncompress, "", "bring the whole conversation back"),
    row("rewind", Slash::Rewind, "", "go back to an earlier message, with or without the files"),
    row("undo", Slash::Undo, "", "take the last turn's file changes back"),
    row("redo", Slash::Redo, "", "bring undone file changes back"),
    Row {
        name: "resume",
        also: &["sessions"],
        slash: Slash::Resume,
        takes: "[ID]",
        help: "go on with another session",
    },
    row("fork", Slash::Fork, "", "go on in a copy of this session"),
    row("stats", Slash::Stats, "", "tokens, cost, and what fills the window"),
    row("copy", Slash::Copy, "", "copy the last answer"),
    row(
        "export",
        Slash::Export,
        "[FILE]",
        "write the conversation to a file: .md, .json or .html; /export! overwrites one",
    ),
    row("theme", Slash::Theme, "[NAME]", "choose how it looks"),
    row("settings", Slash::Settings, "", "show what is set, and by whom"),
    row(
        "doctor",
        Slash::Doctor,
        "",
        "look at all that a session stands on: settings, model, servers, sandbox",
    ),
    row("thoughts", Slash::Thoughts, "", "show thoughts in full, or no longer"),
    Row { name: "clear", also: &["new"], slash: Slash::Clear, takes: "", help: "begin a new session" },
    row(
        "handover",
        Slash::HandOver,
        "[no]",
        "let whoever asks go on with this session elsewhere, and leave; or keep it here",
    ),
    Row { name: "quit", also: &["exit"], slash: Slash::Quit, takes: "", help: "leave" },
];

/// The command that a line begins with, and the words behind it. A name that is not known suggests the nearest.
pub fn parse(line: &str) -> Result<(Slash, &str), String> {
    let line = line.trim_start_matches('/').trim();
    let (name, rest) = match line.strip_prefix("export!") {
        Some(_) => line.split_at("export".len()),
        None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
    };
    let known = TABLE.iter().find(|row| row.name == name || row.also.contains(&name));
    match known {
        Some(row) => Ok((row.slash, rest.trim())),
        None => {
            let meant = nearest(name, names()).map(|meant| format!("; did you mean /{meant}?"));
            Err(format!(
                "there is no command /{name}{}",
                meant.unwrap_or_else(|| "; /help lists them".to_owned())
            ))
        }
    }
}

/// What is said to whoever asks for the session; an error in words where that is no answer.
pub fn hands_over(answer: &str) -> Result<bool, String> {
    match answer {
        "" | "yes" => Ok(true),
        "no" => Ok(false),
        _ => {
            Err("/handover leaves the session to whoever asks for it, /handover no keeps it here".to_owned())
        }
    }
}

/// What is said to a mode that there is none of.
pub fn unknown_mode(name: &str) -> String {
    let names = ApprovalMode::ALL.map(|mode| mode.to_string());
    let meant = nearest(name, names.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    format!("there is no mode {}{meant}", one_line(name))
}

fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|row| std::iter::once(row.name).chain(row.also.iter().copied()))
}

/// A command in `/help`.
pub struct Help {
    /// Which one.
    pub slash: Slash,
    /// Its names, and what it takes.
    pub name: String,
    /// What it does.
    pub about: &'static str,
}

/// Every command with what it takes and does.
pub fn help() -> impl Iterator<Item = Help> {
    TABLE.iter().map(|row| {
        let others = row.also.iter().map(|name| format!(", /{name}")).collect::<String>();
        let name = format!("/{}{others} {}", row.name, row.takes).trim_end().to_owned();
        Help { slash: row.slash, name, about: row.help }
    })
}

/// Completes the names of commands.
pub struct Names {
    /// Commands that users write: name and description.
    custom: Vec<(String, String)>,
    /// Whose prompts are commands, too.
    servers: KnownServers,
}

impl Names {
    /// With commands that users write, and prompts of servers.
    pub fn with(custom: &[CustomCommand], servers: KnownServers) -> Self {
        let named = |command: &CustomCommand| (command.name.clone(), command.description.clone());
        Self { custom: custom.iter().map(named).collect(), servers }
    }
}

impl WordSource for Names {
    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        if typed.contains(char::is_whitespace) {
            return self.servers.commands(typed);
        }
        let own = TABLE.iter().flat_map(|row| {
            // Other names are for those who begin to type them.
            let also = row.also.iter().filter(|_| !typed.is_empty());
            std::iter::once(&row.name).chain(also).map(|name| (*name, row.help, row.takes.is_empty()))
        });
        let custom = self.custom.iter().map(|(name, about)| (name.as_str(), about.as_str(), false));
        let mut named: Vec<_> = own.chain(custom).filter(|(name, ..)| name.starts_with(typed)).collect();
        // What is typed in full is meant, though longer names begin with it.
        named.sort_by_key(|(name, ..)| *name != typed);
        let candidates = named.into_iter().map(|(name, help, is_whole)| Candidate {
            text: format!("/{name}"),
            help: help.to_owned(),
            is_whole,
        });
        candidates.chain(self.servers.commands(typed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use charla::custom_command::BUILT_IN;

    use super::*;

    #[test]
    fn a_command_that_is_not_known_suggests_the_nearest() {
        assert_eq!(parse("/model a/b"), Ok((Slash::Model, "a/b")));
        assert_eq!(parse("/sessions"), Ok((Slash::Resume, "")));
        assert_eq!(parse("/export! a.md"), Ok((Slash::Export, "! a.md")));
        assert!(parse("/modle").unwrap_err().contains("did you mean /mode"));
        assert!(parse("/statz").unwrap_err().contains("did you mean /stats?"));
        assert!(parse("/xyzzyq").unwrap_err().contains("/help"));
    }

    #[test]
    fn every_name_is_there_once() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        let names = Names::with(&[], KnownServers::new(std::sync::Arc::new(|| {})));
        assert!(names.candidates("mo").iter().map(|one| one.text.as_str()).eq(["/model", "/mode"]));
        assert!(names.candidates("se").iter().map(|one| one.text.as_str()).eq(["/sessions", "/settings"]));
        assert!(names.candidates("").iter().all(|one| one.text != "/sessions"));
        assert!(help().any(|help| help.name == "/resume, /sessions [ID]"));
    }

    #[test]
    fn no_command_that_a_user_wrote_has_the_name_of_one_of_ours() {
        names().for_each(|name| assert!(BUILT_IN.contains(&name), "{name}"));
    }
}
