//! Prompts of servers: words that a person may want to say.

use charla_proto::text::readable;
use serde_json::{Map, Value, json};

use crate::attendance::Attendance;
use crate::listing::ListedPrompt;
use crate::servers::Servers;

/// So many characters of a prompt are taken.
const LONGEST: usize = 100_000;

/// A prompt, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The server's name in the settings.
    pub server: String,
    /// What it is.
    pub prompt: ListedPrompt,
}

impl Servers {
    /// The prompts of the servers that answer.
    pub fn prompts(&self) -> Vec<ServerPrompt> {
        let all = self.links().iter().flat_map(|link| {
            let listing = link.listing();
            let server = &link.config.name;
            let own = listing
                .prompts
                .iter()
                .map(|prompt| ServerPrompt { server: server.clone(), prompt: prompt.clone() });
            own.collect::<Vec<_>>()
        });
        all.collect()
    }

    /// The words of a prompt, filled with these arguments; why there are none.
    pub async fn expand(
        &self,
        server: &str,
        prompt: &str,
        arguments: &[(String, String)],
    ) -> Result<String, String> {
        let link = self.links().iter().find(|link| link.config.name == server);
        let link = link.ok_or_else(|| format!("there is no MCP server `{server}`"))?;
        let arguments: Map<String, Value> =
            arguments.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let params = json!({"name": prompt, "arguments": arguments});
        let answer = link
            .request("prompts/get", params, Attendance::default())
            .await
            .map_err(|error| error.to_string())?;
        let messages = answer.get("messages").and_then(Value::as_array).into_iter().flatten();
        let text = |message: &Value| {
            let content = message.get("content")?;
            let inside = content.pointer("/resource/text").or_else(|| content.get("text"))?;
            inside.as_str().map(str::to_owned)
        };
        let words = messages.filter_map(text).collect::<Vec<_>>().join("\n\n");
        let words: String = words.chars().take(LONGEST).collect();
        match words.trim().is_empty() {
            true => Err(format!("the prompt `{prompt}` of the MCP server `{server}` has no words")),
            false => Ok(readable(&words).into_owned()),
        }
    }
}
