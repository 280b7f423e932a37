//! How MCP servers are, in words and as JSON.

use charla::mcp::{Health, State};
use serde_json::{Value, json};

/// A line for a server, and with `detailed` one for each of its tools.
pub fn in_words(health: &Health, detailed: bool) -> String {
    let state = match &health.state {
        State::Ready => format!("ready, {} tools", health.tools.len()),
        State::Starting => "starting".to_owned(),
        State::Failed(why) => format!("failed: {why}"),
    };
    let mut lines = vec![format!("{}  {state}", health.server)];
    if detailed {
        lines.extend(health.tools.iter().map(|tool| format!("  {tool}")));
        lines.extend((health.prompts > 0).then(|| format!("  {} prompts", health.prompts)));
        lines.extend(health.has_resources.then(|| "  resources".to_owned()));
    }
    lines.extend(health.left_out.iter().map(|why| format!("  left out: {why}")));
    lines.join("\n") + "\n"
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
        "prompts": health.prompts,
        "resources": health.has_resources,
        "leftOut": health.left_out,
    })
}
