//! What a command line would do, read from its text alone.
//!
//! [`effects`] lists every command that could run, wherever it hides (pipelines, substitutions, heredocs,
//! `xargs`, `sh -c`), with its words resolved as bash would resolve them, every redirect as a read or a write,
//! and every variable that is set. What is not understood for certain becomes [`Effect::Unclear`]: nothing is
//! dropped in silence.
//!
//! Two readings have to agree. The first is a reader written for this purpose, which follows bash's rules for
//! words and refuses everything odd. The second is the tree-sitter grammar for bash, which is broader and
//! older, but reads some texts differently from bash (words after a redirect, backquotes in heredocs, continued
//! lines inside a word). A text the grammar cannot read, or in which it sees other commands, is unclear.

mod agreement;
mod ansi_c;
mod declarations;
mod disk;
mod effects;
mod environment;
mod expand;
mod grammar;
mod heredoc;
mod loops;
mod numbers;
mod reader;
mod scripts;
mod simple;
mod syntax;
mod unicode;
mod variables;
mod words;
mod wrappers;

use std::path::PathBuf;

use charla_proto::text::join_path;
use charla_proto::{Effect, FileJudge, Lane, Plan, Preview};

use syntax::{Item, Link, Node, Read, Script, Trouble};

/// Longer texts are not read.
const MAX_BYTES: usize = 64 * 1024;

/// A command line that does more than this is not listed to its end.
const MAX_EFFECTS: usize = 1000;

/// Where a command line would run.
#[derive(Clone, Debug, Default)]
pub struct ShellContext {
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// What `~` stands for, if that is known.
    pub home: Option<PathBuf>,
}

/// Everything `command` would do when bash runs it in `context`, in the order it would happen, as far as its text
/// says.
pub fn effects(command: &str, context: &ShellContext) -> Vec<Effect> {
    plain(listed(command, context))
}

/// The same with what the disk knows about it: see where links and patterns lead, and which settings of a
/// folder in `roots` may run programs, and which files have names that `files` knows better. Reads the file system, and
/// changes nothing.
pub fn effects_on_disk(
    command: &str,
    context: &ShellContext,
    roots: &[PathBuf],
    files: &FileJudge,
) -> Vec<Effect> {
    disk::look(listed(command, context), roots, context.home.as_deref(), files)
}

/// Effects with their paths put plainly. As they are listed, a `..` in them is as it was written.
fn plain(mut effects: Vec<Effect>) -> Vec<Effect> {
    for effect in &mut effects {
        if let Effect::Read { path } | Effect::Write { path } = effect {
            *path = join_path(path, "");
        }
    }
    effects
}

fn listed(command: &str, context: &ShellContext) -> Vec<Effect> {
    let mut found = Vec::new();
    if let Some(trouble) = unicode::suspicious(command) {
        found.push(unclear(trouble));
    }
    match parse(command, 0) {
        Ok((script, notes)) => {
            found.extend(notes.into_iter().map(unclear));
            found.extend(effects::walk(&script, context));
        }
        Err(trouble) => found.push(unclear(trouble)),
    }
    if found.len() > MAX_EFFECTS {
        found.truncate(MAX_EFFECTS);
        let what = command.chars().take(80).collect();
        found.push(unclear(Trouble { what, reason: "it does too many things to be judged".into() }));
    }
    found
}

/// The plan of a shell command under the tool name every front end knows.
pub fn plan(command: &str, context: &ShellContext) -> Plan {
    plan_of(command, context, effects(command, context))
}

/// The same plan with what the disk knows about it.
pub fn plan_on_disk(command: &str, context: &ShellContext, roots: &[PathBuf]) -> Plan {
    plan_of(command, context, effects_on_disk(command, context, roots, &FileJudge::default()))
}

fn plan_of(command: &str, context: &ShellContext, effects: Vec<Effect>) -> Plan {
    let mut args = charla_proto::Args::new();
    args.insert("command".into(), command.into());
    Plan {
        tool: "run_shell_command".into(),
        args,
        title: command.lines().next().unwrap_or_default().to_owned(),
        effects,
        preview: Preview::Command { command: command.to_owned(), cwd: context.cwd.clone() },
        lane: Lane::Exclusive,
    }
}

fn unclear(trouble: Trouble) -> Effect {
    Effect::Unclear { what: trouble.what, reason: trouble.reason }
}

/// Reads a text both ways.
fn parse(text: &str, depth: usize) -> Read<(Script, Vec<Trouble>)> {
    if text.len() > MAX_BYTES {
        let what = text.chars().take(80).collect();
        return Err(Trouble { what, reason: "the command is too long to be read".into() });
    }
    let (mut script, noticed) = reader::Reader::new(text, 0, depth).script()?;
    agreement::check(text, &noticed.commands, &noticed.reread)?;
    if !noticed.loose.is_empty() {
        let node = Node::Block {
            scripts: Vec::new(),
            words: noticed.loose,
            variable: None,
            redirects: Vec::new(),
            repeats: false,
        };
        script.items.push(Item { node, link: Link::Always });
    }
    Ok((script, noticed.notes))
}
