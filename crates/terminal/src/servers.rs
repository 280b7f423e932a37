//! How MCP servers are, in words and as JSON.

use charla::mcp::{Added, Health, ListedPrompt, PromptArgument, State};
use charla::session::prompt_command_name;
use charla_proto::text::one_line;
use serde_json::{Value, json};

use crate::printer::Printer;

/// A line for a server, and with `detailed` one for each of its tools.
pub fn in_words(health: &Health, detailed: bool) -> String {
    let state = match &health.state {
        State::Ready => format!("ready, {}", tools(health)),
        State::Starting => "starting".to_owned(),
        State::Failed(why) => format!("failed: {why}"),
    };
    let mut lines = vec![format!("{}  {state}", health.server)];
    if detailed {
        lines.extend(health.tools.iter().map(|tool| format!("  {tool}")));
        lines.extend(beside_tools(health));
    }
    lines.extend(health.left_out.iter().map(|why| format!("  left out: {why}")));
    lines.join("\n") + "\n"
}

fn tools(health: &Health) -> String {
    match health.tools.len() {
        1 => "1 tool".to_owned(),
        several => format!("{several} tools"),
    }
}

/// A server in a conversation, in the words that scripts know. `from` is the extension that brings it.
pub fn standing(health: &Health, from: Option<&str>) -> String {
    let state = match &health.state {
        State::Ready => format!("Ready ({})", tools(health)),
        State::Starting => "Starting".to_owned(),
        State::Failed(why) => format!("Failed: {why}"),
    };
    let from = from.map(|from| format!(" (from {from})")).unwrap_or_default();
    let mut lines = vec![format!("{}{from} - {state}", health.server)];
    let familiar = |tool: &String| match tool.strip_prefix(&format!("{}__", health.server)) {
        Some(name) => format!("  - mcp_{}_{name}, declared as {tool}", health.server),
        None => format!("  - {tool}"),
    };
    lines.extend(health.tools.iter().map(familiar));
    lines.extend(beside_tools(health));
    lines.extend(health.left_out.iter().map(|why| format!("  left out: {why}")));
    lines.join("\n")
}

/// Its prompts, as they are said, and whether it has resources.
fn beside_tools(health: &Health) -> impl Iterator<Item = String> {
    let argument = |argument: &PromptArgument| match argument.required {
        true => format!(" --{}=…", argument.name),
        false => format!(" [--{}=…]", argument.name),
    };
    let prompt = move |prompt: &ListedPrompt| {
        let arguments: String = prompt.arguments.iter().map(argument).collect();
        one_line(&format!("  prompt /{}{arguments}", prompt_command_name(&health.server, &prompt.name)))
    };
    let resources = health.has_resources.then(|| "  resources".to_owned());
    health.prompts.iter().map(prompt).chain(resources)
}

/// The same for programs.
pub fn as_json(health: &Health) -> Value {
    let (state, why) = match &health.state {
        State::Ready => ("ready", None),
        State::Starting => ("starting", None),
        State::Failed(why) => ("failed", Some(why)),
    };
    json!({
        "server": health.server,
        "state": state,
        "error": why,
        "tools": health.tools,
        "prompts": health.prompts.len(),
        "resources": health.has_resources,
        "leftOut": health.left_out,
    })
}

/// Says what became of a server that was put into the settings.
pub fn tell_added(name: &str, added: &Added, printer: &mut Printer) {
    printer.note(&format!("{name} is in {}", added.path.display()));
    if let Some(variable) = &added.unset {
        printer.warning(&format!("the variable `{variable}` is not set: {name} is left out until it is"));
    }
    if let Some(program) = &added.missing {
        printer.warning(&format!("there is no program `{program}` yet: {name} cannot start without it"));
    }
    if let Some(word) = &added.left_behind {
        let word = one_line(word);
        printer.warning(&format!(
            "`{word}` is in this folder, and {name} starts in an empty one: write the whole path, or `charla mcp add --cwd . {name} …` to start it in whatever workspace you are in"
        ));
    }
    if let Some(replaced) = &added.replaced {
        let replaced: Vec<&str> = replaced.split_whitespace().collect();
        printer.note(&format!("it took the place of {}", replaced.join(" ")));
    }
}
