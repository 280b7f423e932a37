//! What the model reads, byte for byte as it was trained: see `model/generator/prompt.py`.

use std::path::Path;
use std::sync::Arc;

use charla_proto::{Content, FunctionCall};

use super::conversation::{RESULT, Turn};
use super::results;

/// The tools that the model knows, with their arguments in the order it writes them.
pub const TOOLS: [(&str, &[&str]); 7] = [
    ("list_directory", &["dir_path"]),
    ("read_file", &["file_path"]),
    ("grep_search", &["pattern"]),
    ("glob", &["pattern"]),
    ("run_shell_command", &["command"]),
    ("write_file", &["file_path", "content"]),
    ("replace", &["file_path", "old_string", "new_string"]),
];

pub(super) const CALL: &str = "<tool_call>";
pub(super) const CALL_END: &str = "</tool_call>";

/// Characters of the folder's names that are told.
const NAMES: usize = 70;
/// How many earlier requests are told.
const EARLIER: usize = 2;
/// Bytes of an earlier request or answer above which it is left out.
const SHORT: usize = 600;

/// The system prompt in a folder.
pub fn system(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let slash = if entry.path().is_dir() { "/" } else { "" };
        (name != ".git" && !name.contains(char::is_control)).then(|| format!("{name}{slash}"))
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_by(|one, other| (!one.ends_with('/'), one).cmp(&(!other.ends_with('/'), other)));
    system_of(&folder.to_string_lossy(), &names)
}

/// The system prompt in a folder with these names.
pub(super) fn system_of(folder: &str, names: &[String]) -> String {
    let mut length = 0;
    let fits = |name: &&String| {
        length += name.chars().count();
        length <= NAMES
    };
    let shown: Vec<&str> = names.iter().take_while(fits).map(String::as_str).collect();
    let has = if shown.is_empty() { String::new() } else { format!(" It has: {}.", shown.join(", ")) };
    let tools: Vec<String> =
        TOOLS.iter().map(|(name, arguments)| format!("{name}({})", arguments.join(", "))).collect();
    let tools = tools.join(", ");
    harmless(&format!("You are Charla, a small assistant in the folder {folder}.{has}\nTools: {tools}"))
}

/// The conversation as messages of plain text: the last turn, and before it a few earlier ones that were answered.
pub(super) fn contents(turns: &[Turn]) -> Vec<Arc<Content>> {
    let Some((now, earlier)) = turns.split_last() else { return Vec::new() };
    let short = |turn: &&Turn| {
        let answer = turn.answer.as_deref().map(|answer| results::folded(turn, answer));
        turn.said.len() <= SHORT && answer.is_some_and(|answer| answer.len() <= SHORT)
    };
    let told: Vec<&Turn> = earlier.iter().rev().take_while(short).take(EARLIER).collect();
    told.into_iter().rev().chain([now]).flat_map(messages).map(Arc::new).collect()
}

/// A turn's messages.
fn messages(turn: &Turn) -> Vec<Content> {
    let mut messages = vec![Content::user(harmless(&turn.said))];
    for (step, result) in &turn.steps {
        let result = result.as_ref().map(|result| result.to_text()).unwrap_or_default();
        let result = harmless(results::excerpt(turn, &result).trim_end_matches('\n'));
        messages.push(Content::model(harmless(&call(step))));
        messages.push(Content::user(format!("<tool_response>\n{result}\n</tool_response>")));
    }
    let answer = turn.answer.as_ref().map(|answer| Content::model(harmless(&results::folded(turn, answer))));
    messages.extend(answer);
    messages
}

/// A call as the model writes it.
fn call(FunctionCall { name, args, .. }: &FunctionCall) -> String {
    let known = TOOLS.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, arguments)| *arguments);
    let told = known.iter().filter_map(|name| Some(format!("\"{name}\": {}", args.get(*name)?)));
    let told: Vec<String> = told.collect();
    format!("{CALL}\n{{\"name\": \"{name}\", \"arguments\": {{{}}}}}\n{CALL_END}", told.join(", "))
}

/// The text with nothing in it that the engine takes for the beginning or the end of a message.
fn harmless(text: &str) -> String {
    text.replace("<|im_", "<| im_")
}

/// What an answer may be: words, or a call of a tool with its arguments.
pub(super) fn grammar() -> String {
    let tool = |(name, arguments): &(&str, &[&str])| {
        let arguments: Vec<String> =
            arguments.iter().map(|argument| format!(r#"\"{argument}\": " string ""#)).collect();
        format!(r#""{name}\", \"arguments\": {{{}""#, arguments.join(", "))
    };
    let tools: Vec<String> = TOOLS.iter().map(tool).collect();
    [
        "root ::= call | words",
        &format!(r#"words ::= ("{RESULT}" | [^<]) [^\x00]*"#),
        &format!(r#"call ::= "{CALL}\n{{\"name\": \"" tool "}}}}\n{CALL_END}""#),
        &format!("tool ::= {}", tools.join(" | ")),
        r#"string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"""#,
    ]
    .join("\n")
}
