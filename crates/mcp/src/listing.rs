//! What a server offers, read with care: it may say anything.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::FunctionDeclaration;
use charla_proto::text::{one_line, readable, visible};
use serde_json::{Value, json};

use crate::attendance::Attendance;
use crate::client::{Client, RequestError};
use crate::config::ServerConfig;
use crate::naming::tool_name;

/// So many tools, resources or prompts are taken from one server.
const MOST: usize = 1000;
/// So many pages of them are asked for.
const MOST_PAGES: usize = 50;
/// The longest name.
const LONGEST_NAME: usize = 128;
/// The longest description.
const LONGEST_DESCRIPTION: usize = 4000;
/// The largest schema, as text.
const LARGEST_SCHEMA: usize = 64 * 1024;
/// How long a server may take for one page.
const PAGE_LIMIT: Duration = Duration::from_secs(30);

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Its tools, in its order.
    pub tools: Vec<ListedTool>,
    /// Its prompts, in its order.
    pub prompts: Vec<ListedPrompt>,
    /// It has resources.
    pub has_resources: bool,
    /// It proposes values for arguments of prompts.
    pub has_completions: bool,
    /// Why some of its tools were left out, in words.
    pub left_out: Vec<String>,
    /// The tools as it told them, to be remembered.
    pub told: Vec<Value>,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// Its name at the server.
    pub name: String,
    /// As a model is told of it.
    pub declaration: Arc<FunctionDeclaration>,
    /// The server says that it changes nothing.
    pub says_it_reads: bool,
}

/// A prompt of a server: words that a user may want to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPrompt {
    /// Its name at the server.
    pub name: String,
    /// What it is for, in the server's words.
    pub description: String,
    /// What it is to be filled with.
    pub arguments: Vec<PromptArgument>,
}

/// Something that a prompt is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// It cannot be left out.
    pub required: bool,
}

/// What a server said about itself when it was greeted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offers {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
}

impl Offers {
    /// Reads the capabilities of an answer to `initialize`.
    pub(crate) fn of(answer: &Value) -> Self {
        let has = |name: &str| {
            answer.pointer(&format!("/capabilities/{name}")).is_some_and(|value| !value.is_null())
        };
        // Some servers have tools and do not say so.
        Self {
            tools: has("tools") || !(has("prompts") || has("resources")),
            prompts: has("prompts"),
            resources: has("resources"),
            completions: has("completions"),
        }
    }
}

impl Listing {
    /// Asks a server for all it offers.
    pub(crate) async fn ask(
        client: &Client,
        offers: Offers,
        config: &ServerConfig,
    ) -> Result<Self, RequestError> {
        let mut listing = Self::default();
        if offers.tools {
            listing = Self::of_tools(pages(client, "tools/list", "tools").await?, config);
        }
        if offers.prompts {
            // Who has prompts and cannot list them still has tools.
            let prompts = pages(client, "prompts/list", "prompts").await.unwrap_or_default();
            listing.prompts = prompts.iter().filter_map(prompt).collect();
        }
        listing.has_resources = offers.resources;
        listing.has_completions = offers.completions;
        Ok(listing)
    }

    /// The tools that a server told of, now or earlier.
    pub(crate) fn of_tools(told: Vec<Value>, config: &ServerConfig) -> Self {
        let mut listing = Self::default();
        for tool in &told {
            match listed(tool, config) {
                Ok(Some(tool)) if listing.tools.iter().any(|other| other.name == tool.name) => {
                    listing.left_out.push(format!("`{}` is there twice", tool.name));
                }
                Ok(tool) => listing.tools.extend(tool),
                Err(why) => listing.left_out.push(why),
            }
        }
        Self { told, ..listing }
    }
}

/// All entries of a list that comes in pages, as many as are taken.
pub(crate) async fn pages(client: &Client, method: &str, key: &str) -> Result<Vec<Value>, RequestError> {
    let mut entries = Vec::new();
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let mut page = client.request_within(PAGE_LIMIT, method, params, Attendance::default()).await?;
        match page.get_mut(key).map(Value::take) {
            Some(Value::Array(more)) => entries.extend(more),
            _ => return Err(RequestError::Nonsense(format!("`{method}` gave no `{key}`"))),
        }
        entries.truncate(MOST);
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) if entries.len() < MOST => params = json!({"cursor": cursor}),
            _ => break,
        }
    }
    Ok(entries)
}

/// A tool that can be offered; nothing for one that nobody wants; else why not.
fn listed(tool: &Value, config: &ServerConfig) -> Result<Option<ListedTool>, String> {
    let name = good_name(tool)?;
    if !config.takes(&name) {
        return Ok(None);
    }
    let schema = tool.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
    if !schema.is_object() {
        return Err(format!("the parameters of `{name}` are no schema"));
    }
    if schema.to_string().len() > LARGEST_SCHEMA {
        return Err(format!("the schema of `{name}` is larger than {LARGEST_SCHEMA} bytes"));
    }
    let about = tool.get("description").and_then(Value::as_str).unwrap_or_default();
    let declaration = FunctionDeclaration {
        name: tool_name(&config.name, &name),
        description: format!("[MCP server {}] {}", one_line(&config.name), description(about)),
        parameters_json_schema: schema,
        ..FunctionDeclaration::default()
    };
    let says_it_reads = tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    Ok(Some(ListedTool { name, declaration: Arc::new(declaration), says_it_reads }))
}

/// The name of an entry, if a person can be shown it as it is.
fn good_name(entry: &Value) -> Result<String, String> {
    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_good = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && visible(name) == name
        && !name.contains('\n');
    match is_good {
        true => Ok(name.to_owned()),
        false => {
            let shown: String = name.chars().take(80).collect();
            Err(format!("`{}` is no name", one_line(&shown)))
        }
    }
}

/// Words of a server without anything in them that acts on a screen, and not too many of them.
fn description(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST_DESCRIPTION).collect();
    readable(&cut).into_owned()
}

fn prompt(entry: &Value) -> Option<ListedPrompt> {
    let about = entry.get("description").and_then(Value::as_str).unwrap_or_default();
    let arguments = entry.get("arguments").and_then(Value::as_array).into_iter().flatten().take(50);
    let argument = |entry: &Value| {
        let required = entry.get("required") == Some(&Value::Bool(true));
        Some(PromptArgument { name: good_name(entry).ok()?, required })
    };
    Some(ListedPrompt {
        name: good_name(entry).ok()?,
        description: one_line(&description(about)),
        arguments: arguments.filter_map(argument).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    #[test]
    fn what_cannot_be_offered_is_left_out_alone_and_told() {
        let tools = vec![
            json!({"name": "good", "description": "Does it.\u{1b}[2J", "inputSchema": {"type": "object"}}),
            json!({"name": "good"}),
            json!({"name": "bare"}),
            json!({"name": "evil\u{1b}[31m"}),
            json!({"name": ""}),
            json!({"name": 7}),
            json!("tool"),
            json!({"name": "list", "inputSchema": []}),
            json!({"name": "huge", "inputSchema": {"description": "x".repeat(LARGEST_SCHEMA)}}),
            json!({"name": "x".repeat(LONGEST_NAME + 1)}),
        ];
        let listing = Listing::of_tools(tools, &config("s"));
        let names: Vec<&str> = listing.tools.iter().map(|tool| tool.declaration.name.as_str()).collect();
        assert_eq!(names, ["s__good", "s__bare"]);
        assert_eq!(listing.tools[0].declaration.description, "[MCP server s] Does it.\\u{1b}[2J");
        assert_eq!(listing.left_out.len(), 8, "{:?}", listing.left_out);
        assert!(listing.left_out.iter().all(|why| !why.contains('\u{1b}') && why.len() < 200));
    }

    #[test]
    fn only_wanted_tools_are_taken() {
        let tools = || ["a", "b", "c"].map(|name| json!({"name": name})).to_vec();
        let taken = |include: Option<&[&str]>, exclude: &[&str]| {
            let include = include.map(|names| names.iter().map(ToString::to_string).collect());
            let exclude = exclude.iter().map(ToString::to_string).collect();
            let listing = Listing::of_tools(tools(), &ServerConfig { include, exclude, ..config("s") });
            listing.tools.iter().map(|tool| tool.name.clone()).collect::<String>()
        };
        assert_eq!(taken(None, &[]), "abc");
        assert_eq!(taken(None, &["b"]), "ac");
        assert_eq!(taken(Some(&["a", "b(path)"]), &["a"]), "b");
        assert_eq!(taken(Some(&[]), &[]), "");
    }
}
