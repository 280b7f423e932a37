//! The tool that finds tools: for servers that have more than a prompt should hold, or are not there yet.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::text::one_line;
use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Display, FunctionDeclaration, Invocation, Lane, Part, Prepared, ToolContext, ToolError,
    ToolOutput,
};
use serde_json::json;

use crate::call::{plan, unless_cancelled};
use crate::result::marked;
use crate::server::State;
use crate::servers::Servers;
use crate::tool::{ServerTool, declaration, text_arg};

/// Its name.
pub(crate) const NAME: &str = "find_tools";
/// So many tools are given for one question.
const MOST_FOUND: usize = 8;
/// How long servers that are being started are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Finds tools of servers and has them offered.
pub(crate) struct FindTools {
    servers: Servers,
    declaration: Arc<FunctionDeclaration>,
}

impl FindTools {
    /// Over these servers, some of which are being started.
    pub(crate) fn new(servers: Servers, starting: &[&str]) -> Self {
        let names: Vec<String> = servers.links().iter().map(|link| one_line(&link.config.name)).collect();
        let mut about = format!(
            "Finds tools of MCP servers that are not listed here, by words about what they do. What it finds can be \
             called from the next step on. Servers: {}.",
            names.join(", ")
        );
        if !starting.is_empty() {
            let starting: Vec<String> = starting.iter().map(|name| one_line(name)).collect();
            about.push_str(&format!(" Still being started, and waited for: {}.", starting.join(", ")));
        }
        let query = json!({"query": {"type": "string", "description": "What the tool should do, or its name or server."}});
        Self { servers, declaration: declaration(NAME, about, query, &["query"]) }
    }
}

impl Tool for FindTools {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let query = text_arg(&args, "query")?;
            let plan = plan(NAME, format!("Find tools for {}", one_line(&query)), Vec::new(), Lane::Shared);
            let servers = self.servers.clone();
            Ok(Prepared::boxed(plan, move |cx| async move {
                unless_cancelled(cx.cancelled, find(servers, query)).await
            }))
        })
    }
}

async fn find(servers: Servers, query: String) -> ToolOutput {
    // Whoever is not there by then is told of as missing.
    let _ = tokio::time::timeout(PATIENCE, servers.settled()).await;
    let found = best(servers.all(), &query);
    servers.load(found.iter().map(|tool| tool.tool.declaration.name.clone()));
    let about = |tool: &ServerTool| {
        let declaration = &tool.tool.declaration;
        let description: String = declaration.description.chars().take(500).collect();
        let words = marked(&tool.link.config.name, &description);
        format!("{}\n{words}", declaration.name)
    };
    let mut said: Vec<String> = found.iter().map(about).collect();
    if said.is_empty() {
        said.push("No tool was found for these words; try others.".to_owned());
    } else {
        said.insert(0, "These tools can be called now:".to_owned());
    }
    for link in servers.links() {
        let name = one_line(&link.config.name);
        match link.status().state {
            State::Failed(_) => said.push(format!("The MCP server {name} is not available.")),
            State::Starting => said.push(format!("The MCP server {name} is still being started.")),
            State::Ready => {}
        }
    }
    let names: Vec<&str> = found.iter().map(|tool| tool.tool.declaration.name.as_str()).collect();
    let display =
        if names.is_empty() { "No tools found.".to_owned() } else { format!("Found {}.", names.join(", ")) };
    ToolOutput {
        content: vec![Part::text(said.join("\n\n"))],
        display: Some(Display::text(display)),
        ..ToolOutput::default()
    }
}

/// The tools that fit the words best, the best first.
fn best(tools: Vec<ServerTool>, query: &str) -> Vec<ServerTool> {
    let words = words(query);
    let score = |tool: &ServerTool| {
        let declaration = &tool.tool.declaration;
        let (name, about) = (declaration.name.to_lowercase(), declaration.description.to_lowercase());
        let count = |text: &str, worth: usize| {
            words.iter().filter(|word| text.contains(word.as_str())).count() * worth
        };
        count(&name, 3) + count(&about, 1)
    };
    let scored = tools.into_iter().map(|tool| (score(&tool), tool));
    let mut scored: Vec<(usize, ServerTool)> = scored.filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, _)| Reverse(*score));
    scored.into_iter().take(MOST_FOUND).map(|(_, tool)| tool).collect()
}

/// The words of a question, without those that say nothing.
fn words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2 || !word.is_ascii() && !word.is_empty()).take(20).collect()
}
