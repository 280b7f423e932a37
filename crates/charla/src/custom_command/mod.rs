//! Commands that users write: a prompt in a TOML file, with places for what is typed behind the command, for what a shell
//! command prints and for what a file holds.
//!
//! ```toml
//! description = "Write a commit message"
//! prompt = """
//! Write a commit message for {{args}}:
//! !{git diff --staged}
//! The rules are: @{CONTRIBUTING.md}
//! """
//! ```
//!
//! Expanding only says what has to be run and read. What comes of that is never looked at for further places, so that neither
//! a file nor a program can have anything run.

mod folders;
mod quoting;

use std::path::{Component, Path};

use charla_proto::text::one_line;
use serde::Deserialize;

pub use folders::custom_commands;
pub(crate) use folders::{name_of_users, name_of_workspaces, unusable_command};

#[cfg(test)]
mod tests;

/// The commands that front ends have themselves, at the terminal and in editors. One that a user wrote has another name than these.
pub const BUILT_IN: [&str; 34] = [
    "agents",
    "approvals",
    "clear",
    "compress",
    "copy",
    "doctor",
    "exit",
    "export",
    "extensions",
    "fork",
    "handover",
    "help",
    "hooks",
    "init",
    "mcp",
    "memory",
    "mode",
    "model",
    "new",
    "policy",
    "quit",
    "redo",
    "refresh",
    "resume",
    "rewind",
    "sessions",
    "settings",
    "skills",
    "stats",
    "theme",
    "thoughts",
    "tools",
    "uncompress",
    "undo",
];

/// True for the name of a command that front ends have themselves.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

/// The place of what is typed behind the command.
const ARGUMENTS: &str = "{{args}}";
/// What a command's file is called.
const ENDING: &str = "toml";

/// A command that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// What is typed behind the `/`.
    pub name: String,
    /// What it does, for lists.
    pub description: String,
    template: Vec<Piece>,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// What this shell command prints. Whoever types the command is asked before it runs.
    Shell(String),
    /// What this file holds.
    File(String),
}

/// Why a command cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomCommandError {
    /// The file is no TOML, or has no prompt.
    #[error("the command /{command} cannot be read: {reason}")]
    Unreadable {
        /// Its name.
        command: String,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A place is not closed.
    #[error("the command /{command} has `{opening}` without its `}}`: braces in it must be balanced")]
    Open {
        /// Its name.
        command: String,
        /// What is open, with the beginning of what follows.
        opening: String,
    },
    /// What is typed would stand where a shell does not read words.
    #[error(
        "the command /{command} has `{{{{args}}}}` in a place that is read by other rules than words are (a here-document, a comment, backquotes, arithmetic, `$(…)` in quotes, an open quote): {line}"
    )]
    Unclear {
        /// Its name.
        command: String,
        /// The beginning of the shell command.
        line: String,
    },
}

/// A command as it is written.
#[derive(Deserialize)]
struct Written {
    prompt: String,
    #[serde(default)]
    description: String,
}

impl CustomCommand {
    /// The name of the command in a file, by the file's path in the folder of commands: `git/commit.toml` is `git:commit`.
    pub fn name_of(path: &Path) -> Option<String> {
        let is_command = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING));
        let path = path.with_extension("");
        let names = path.components().map(|component| match component {
            Component::Normal(name) => name.to_str().map(safe_name),
            _ => None,
        });
        let names: Vec<String> = names.collect::<Option<_>>()?;
        (is_command && !names.is_empty()).then(|| names.join(":"))
    }

    /// Reads a command's file.
    pub fn parse(name: &str, text: &str) -> Result<Self, CustomCommandError> {
        let written: Written = toml::from_str(text).map_err(|error| CustomCommandError::Unreadable {
            command: name.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let template = pieces(&written.prompt)
            .map_err(|opening| CustomCommandError::Open { command: name.to_owned(), opening })?;
        let unclear = template.iter().find_map(|piece| match piece {
            Piece::Shell(line) if piece.has_place() && quoting::filled(line, "").is_none() => Some(line),
            _ => None,
        });
        if let Some(line) = unclear {
            let line = one_line(line).chars().take(60).collect();
            return Err(CustomCommandError::Unclear { command: name.to_owned(), line });
        }
        let description = match written.description.trim() {
            "" => "a command of yours".to_owned(),
            words => words.to_owned(),
        };
        Ok(Self { name: name.to_owned(), description, template })
    }

    /// The prompt for what was typed behind the command. A prompt without a place for that has it at its end.
    pub fn expand(&self, arguments: &str) -> Vec<Piece> {
        let arguments = arguments.trim();
        let mut pieces: Vec<Piece> = self.template.iter().map(|piece| piece.with(arguments)).collect();
        if !arguments.is_empty() && !self.template.iter().any(Piece::has_place) {
            pieces.push(Piece::Text(format!("\n\n/{} {arguments}", self.name)));
        }
        pieces
    }
}

impl Piece {
    fn has_place(&self) -> bool {
        let (Self::Text(text) | Self::Shell(text) | Self::File(text)) = self;
        text.contains(ARGUMENTS)
    }

    /// The same with what was typed, which is one word to a shell whatever stands in it.
    fn with(&self, arguments: &str) -> Self {
        match self {
            Self::Shell(command) if !self.has_place() => Self::Shell(command.clone()),
            Self::Text(text) => Self::Text(text.replace(ARGUMENTS, arguments)),
            // A command that is not clear was refused when it was read.
            Self::Shell(command) => Self::Shell(quoting::filled(command, arguments).unwrap_or_default()),
            Self::File(path) => Self::File(path.replace(ARGUMENTS, arguments)),
        }
    }
}

/// A part of a name without what has a meaning on the command's line.
fn safe_name(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

/// The pieces of a prompt, or the place that is not closed.
fn pieces(prompt: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = prompt;
    while let Some(at) = next_place(rest) {
        let (before, place) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let inner = place.get(2..).unwrap_or_default();
        let length = closing(inner).ok_or_else(|| place.chars().take(24).collect::<String>())?;
        let content = inner.get(..length).unwrap_or_default().trim().to_owned();
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        match (place.starts_with('!'), content.is_empty()) {
            (_, true) => {}
            (true, false) => pieces.push(Piece::Shell(content)),
            (false, false) => pieces.push(Piece::File(content)),
        }
        rest = inner.get(length + 1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn next_place(text: &str) -> Option<usize> {
    [text.find("!{"), text.find("@{")].into_iter().flatten().min()
}

/// Where the brace is that closes one opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })
}
