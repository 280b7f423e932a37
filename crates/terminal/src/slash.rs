//! Commands of the terminal that were given to a run without one.

use charla::{Failure, custom_command};

/// Why this prompt is none: it is a command of the terminal, and a model would only be paid for guessing at it. More words behind
/// its name and one other make a sentence, and what a run does itself is done.
pub fn refused(prompt: &str) -> Option<Failure> {
    let mut words = prompt.split_whitespace();
    let name = words.next()?.strip_prefix('/')?;
    let is_sentence = words.count() > 1;
    let is_done_here = matches!(name, "compress" | "uncompress");
    if is_sentence || is_done_here || !custom_command::BUILT_IN.contains(&name) {
        return None;
    }
    let instead = match name {
        "help" => "`charla --help`".to_owned(),
        "model" => "`-m PROVIDER/MODEL`".to_owned(),
        "mode" => "`--approval-mode MODE`".to_owned(),
        "resume" | "fork" => format!("`--{name}`"),
        "stats" => "`charla sessions show`".to_owned(),
        "export" => "`charla sessions export`".to_owned(),
        "agents" | "approvals" | "doctor" | "extensions" | "hooks" | "mcp" | "policy" | "redo" | "rewind"
        | "sessions" | "settings" | "skills" | "undo" => format!("`charla {name}`"),
        _ => "`charla` without a prompt, which is where it works".to_owned(),
    };
    let failure = Failure::input(format!("/{name} is a command of the terminal, and nothing to ask a model"));
    Some(failure.with_hint(format!("use {instead}; to ask a model about it, say more than its name")))
}
