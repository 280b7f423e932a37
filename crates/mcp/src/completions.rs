//! What a server proposes for the argument of a prompt, while somebody types it.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::attendance::Attendance;
use crate::servers::Servers;

/// So long is waited for proposals: whoever types has typed on by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many proposals are taken.
const MOST: usize = 100;
/// The longest one that is.
const LONGEST: usize = 200;

/// An argument of a prompt that is being typed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BegunArgument {
    /// The server's name in the settings.
    pub server: String,
    /// The prompt's name at the server.
    pub prompt: String,
    /// The argument's name.
    pub argument: String,
    /// What is typed of it so far.
    pub begun: String,
    /// The arguments that are typed already.
    pub others: Vec<(String, String)>,
}

impl Servers {
    /// What the server proposes for an argument; nothing where it proposes none, does not answer, or is not ready yet. What could not
    /// be typed in a line is left out.
    pub async fn completions(&self, begun: &BegunArgument) -> Vec<String> {
        let link = self.links().iter().find(|link| link.config.name == begun.server);
        let Some(link) = link.filter(|link| link.listing().has_completions).cloned() else {
            return Vec::new();
        };
        let others: Map<String, Value> =
            begun.others.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let params = json!({
            "ref": {"type": "ref/prompt", "name": begun.prompt},
            "argument": {"name": begun.argument, "value": begun.begun},
            "context": {"arguments": others},
        });
        let asked = link.request("completion/complete", params, Attendance::default());
        let Ok(Ok(answer)) = timeout(PATIENCE, asked).await else { return Vec::new() };
        let values = answer.pointer("/completion/values").and_then(Value::as_array).into_iter().flatten();
        let can_be_typed = |text: &&str| {
            !text.is_empty() && text.chars().count() <= LONGEST && !text.contains(char::is_control)
        };
        values.filter_map(Value::as_str).filter(can_be_typed).take(MOST).map(str::to_owned).collect()
    }
}
