//! What servers have to read.

use std::sync::Arc;

use charla_proto::text::one_line;
use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Display, Effect, FunctionDeclaration, Invocation, Lane, Part, Prepared, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::attendance::Attendance;
use crate::call::{plan, unless_cancelled};
use crate::listing::pages;
use crate::result::{marked, resource_output};
use crate::server::{Link, State};
use crate::servers::Servers;
use crate::tool::{declaration, failure, text_arg};

/// The names of the tools, as Gemini CLI has them.
pub(crate) const LIST: &str = "list_mcp_resources";
pub(crate) const READ: &str = "read_mcp_resource";
/// What reading is called in rules and questions.
const READING: &str = "resources/read";
/// So many resources of a server are listed.
const MOST_LISTED: usize = 200;

/// The tool about resources that a model means by this name, where a server has some or may turn out to.
pub(crate) fn tool_about(servers: &Servers, name: &str) -> Option<Arc<dyn Tool>> {
    let may_have = |link: &Arc<Link>| link.listing().has_resources || link.status().state == State::Starting;
    if !servers.links().iter().any(may_have) {
        return None;
    }
    match name {
        LIST => Some(Arc::new(ListResources::new(servers.clone()))),
        READ => Some(Arc::new(ReadResource::new(servers.clone()))),
        _ => None,
    }
}

/// Waits for the start of this server, or of all: what they have is known then.
async fn settled(servers: &Servers, only: Option<&str>) {
    let wanted = servers.links().iter().filter(|link| only.is_none_or(|only| only == link.config.name));
    join_all(wanted.map(|link| link.settled())).await;
}

/// Lists what servers have to read.
pub(crate) struct ListResources {
    servers: Servers,
    declaration: Arc<FunctionDeclaration>,
}

impl ListResources {
    pub(crate) fn new(servers: Servers) -> Self {
        let about = "Lists the resources of MCP servers: each one's server and URI.".to_owned();
        let server = json!({"server": {"type": "string", "description": "Only of this server."}});
        Self { servers, declaration: declaration(LIST, about, server, &[]) }
    }
}

impl Tool for ListResources {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let only = args.get("server").and_then(Value::as_str).map(str::to_owned);
            let plan = plan(LIST, "List the resources of MCP servers".to_owned(), Vec::new(), Lane::Shared);
            let servers = self.servers.clone();
            Ok(Prepared::boxed(plan, move |cx| async move {
                unless_cancelled(cx.cancelled, list(servers, only)).await
            }))
        })
    }
}

async fn list(servers: Servers, only: Option<String>) -> ToolOutput {
    settled(&servers, only.as_deref()).await;
    let mut said = Vec::new();
    let wanted = |link: &&Arc<Link>| only.as_ref().is_none_or(|only| *only == link.config.name);
    for link in servers.links().iter().filter(wanted).filter(|link| link.listing().has_resources) {
        said.push(match resources(link).await {
            Ok(lines) if lines.is_empty() => {
                format!("The MCP server {} has none.", one_line(&link.config.name))
            }
            Ok(lines) => marked(&link.config.name, &lines.join("\n")),
            Err(error) => error.message,
        });
    }
    if said.is_empty() {
        said.push("No MCP server has resources.".to_owned());
    }
    let text = said.join("\n\n");
    ToolOutput {
        display: Some(Display::text(&text)),
        content: vec![Part::text(text)],
        ..ToolOutput::default()
    }
}

async fn resources(link: &Link) -> Result<Vec<String>, ToolError> {
    let line = |resource: &Value, address: &str| {
        let (uri, name, about) =
            (text(resource, address), text(resource, "name"), text(resource, "description"));
        let line: String = format!("{uri} {name} {about}").chars().take(300).collect();
        one_line(line.trim_end())
    };
    let mut lines: Vec<String> = listed(link).await?.iter().map(|one| line(one, "uri")).collect();
    let templates = templates(link).await;
    if !templates.is_empty() {
        lines.push("Addresses to be filled in where braces are:".to_owned());
        lines.extend(templates.iter().map(|one| line(one, "uriTemplate")));
    }
    Ok(lines)
}

/// The forms of addresses that a server knows beside those it lists; none where it does not tell.
async fn templates(link: &Link) -> Vec<Value> {
    let Ok(client) = link.ready().await else { return Vec::new() };
    let all = pages(&client, "resources/templates/list", "resourceTemplates").await;
    let mut all = all.unwrap_or_default();
    all.truncate(MOST_LISTED);
    all
}

/// The resources as a server lists them.
async fn listed(link: &Link) -> Result<Vec<Value>, ToolError> {
    let problem = |error: &_| failure(&link.config.name, error);
    let gone = |why| problem(&crate::client::RequestError::Gone(why));
    let client = link.ready().await.map_err(gone)?;
    let mut all = pages(&client, "resources/list", "resources").await.map_err(|error| problem(&error))?;
    all.truncate(MOST_LISTED);
    Ok(all)
}

fn text<'a>(resource: &'a Value, key: &str) -> &'a str {
    resource.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Reads what a server has to read.
pub(crate) struct ReadResource {
    servers: Servers,
    declaration: Arc<FunctionDeclaration>,
}

impl ReadResource {
    pub(crate) fn new(servers: Servers) -> Self {
        let about = "Reads a resource of an MCP server.".to_owned();
        let properties = json!({
            "uri": {"type": "string", "description": "Its URI, as it is listed."},
            "server": {"type": "string", "description": "The server. May be left out where only one has resources."},
        });
        Self { servers, declaration: declaration(READ, about, properties, &["uri"]) }
    }

    /// The one server that lists a resource, where others are still being started: nobody waits for those.
    async fn known(&self, uri: &str) -> Option<Arc<Link>> {
        let links = self.servers.links();
        if links.iter().all(|link| link.status().state != State::Starting) {
            return None;
        }
        let ready = links.iter().filter(|link| link.listing().has_resources);
        let lists = ready.filter(|link| link.status().state == State::Ready).map(|link| async move {
            let all = listed(link).await.unwrap_or_default();
            all.iter().any(|resource| text(resource, "uri") == uri).then_some(link)
        });
        let found: Vec<&Arc<Link>> = join_all(lists).await.into_iter().flatten().collect();
        match found.as_slice() {
            [only] => Some((*only).clone()),
            _ => None,
        }
    }

    fn link(&self, server: Option<&str>) -> Result<Arc<Link>, ToolError> {
        let with_resources: Vec<&Arc<Link>> =
            self.servers.links().iter().filter(|link| link.listing().has_resources).collect();
        let found = match (server, with_resources.as_slice()) {
            (None, [only]) => Some(*only),
            (None, _) => None,
            (Some(server), links) => links.iter().find(|link| link.config.name == server).copied(),
        };
        found.cloned().ok_or_else(|| {
            let names: Vec<String> = with_resources.iter().map(|link| one_line(&link.config.name)).collect();
            let message = format!("Name the `server`: one of {}.", names.join(", "));
            ToolError::new(ToolErrorKind::InvalidArgs, message)
        })
    }
}

impl Tool for ReadResource {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let uri = text_arg(&args, "uri")?;
            let server = args.get("server").and_then(Value::as_str);
            let known = if server.is_none() { self.known(&uri).await } else { None };
            let link = match known {
                Some(link) => link,
                None => {
                    settled(&self.servers, server).await;
                    self.link(server)?
                }
            };
            if let Some(why) = self.servers.withholds(&uri) {
                let message = format!("{} {why}. Only the user can change that.", one_line(&uri));
                return Err(ToolError::new(ToolErrorKind::DeniedByRule, message));
            }
            let server = link.config.name.clone();
            let title = format!("Read {} from the MCP server {}", one_line(&uri), one_line(&server));
            let effects = vec![Effect::Mcp { server, tool: READING.to_owned() }];
            let plan = plan(READ, title, effects, Lane::Shared);
            Ok(Prepared::boxed(plan, move |cx| async move {
                unless_cancelled(cx.cancelled, read(link, uri)).await
            }))
        })
    }
}

async fn read(link: Arc<Link>, uri: String) -> ToolOutput {
    match link.request(READING, json!({"uri": uri}), Attendance::default()).await {
        Ok(answer) => resource_output(&link.config.name, &answer),
        Err(error) => ToolOutput::failed(failure(&link.config.name, &error)),
    }
}

/// A resource that a person can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedResource {
    /// Its address.
    pub uri: String,
    /// What the server calls it.
    pub name: String,
}

impl Servers {
    /// The servers that have resources, as far as they have told.
    pub fn with_resources(&self) -> Vec<String> {
        let links = self.links().iter().filter(|link| link.listing().has_resources);
        links.map(|link| link.config.name.clone()).collect()
    }

    /// The resources of a server, as far as their addresses can be typed; none where it does not answer.
    pub async fn resources(&self, server: &str) -> Vec<ListedResource> {
        let Some(link) = self.links().iter().find(|link| link.config.name == server).cloned() else {
            return Vec::new();
        };
        let can_be_typed = |uri: &str| {
            !uri.is_empty() && !uri.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
        };
        let all = listed(&link).await.unwrap_or_default();
        let typable = all.iter().filter(|resource| can_be_typed(text(resource, "uri")));
        let resource = |resource: &Value| ListedResource {
            uri: text(resource, "uri").to_owned(),
            name: one_line(text(resource, "name")).chars().take(80).collect(),
        };
        typable.map(resource).collect()
    }

    /// What a resource that a person names holds, marked as the server's words; `None` where no such server is.
    pub async fn resource(&self, server: &str, uri: &str) -> Option<Result<Vec<Part>, String>> {
        let link = self.links().iter().find(|link| link.config.name == server)?.clone();
        if let Some(why) = self.withholds(uri) {
            return Some(Err(format!("it {why}")));
        }
        let output = read(link, uri.to_owned()).await;
        Some(output.error.map_or(Ok(output.content), |error| Err(error.message)))
    }
}
