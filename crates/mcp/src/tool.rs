//! The tools of servers, as a session has them.

use std::sync::Arc;

use charla_proto::text::one_line;
use charla_proto::tool::Tool;
use charla_proto::{
    Args, Aside, BoxFuture, Effect, FunctionDeclaration, Invocation, Lane, Plan, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use serde_json::{Value, json};

use crate::attendance::Attendance;
use crate::call::{plan, unless_cancelled};
use crate::client::RequestError;
use crate::listing::ListedTool;
use crate::naming::declared_name;
use crate::result;
use crate::server::Link;

/// A tool of a server. What the server says of it is told to models and never believed.
pub(crate) struct ServerTool {
    pub(crate) link: Arc<Link>,
    pub(crate) tool: ListedTool,
}

impl ServerTool {
    fn invocation(&self, args: Args) -> Box<dyn Invocation> {
        let (server, tool) = (self.link.config.name.clone(), self.tool.name.clone());
        let title = format!("Call {} of the MCP server {}", one_line(&tool), one_line(&server));
        let effects = vec![Effect::Mcp { server, tool: tool.clone() }];
        // Beside others at most: no approval depends on it.
        let lane = if self.tool.says_it_reads { Lane::Shared } else { Lane::Exclusive };
        let plan = plan(&self.tool.declaration.name, title, effects, lane);
        Box::new(ServerCall { plan, link: self.link.clone(), tool, args, aside: None })
    }
}

/// A checked call of a server's tool.
struct ServerCall {
    plan: Plan,
    link: Arc<Link>,
    tool: String,
    args: Args,
    /// The way to the session, for what the server asks meanwhile.
    aside: Option<Arc<dyn Aside>>,
}

impl Invocation for ServerCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn attended(&mut self, aside: Arc<dyn Aside>) {
        self.aside = Some(aside);
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        let Self { link, tool, args, aside, .. } = *self;
        Box::pin(async move {
            let params = json!({"name": tool, "arguments": args});
            let attendance = Attendance { live: Some(cx.live), aside, ..Attendance::default() };
            let call = async {
                match link.request("tools/call", params, attendance).await {
                    Ok(answer) => result::output(&link.config.name, &answer),
                    Err(error) => ToolOutput::failed(failure(&link.config.name, &error)),
                }
            };
            unless_cancelled(cx.cancelled, call).await
        })
    }
}

impl Tool for ServerTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.tool.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        // The server checks its arguments itself, and says what is wrong with them.
        Box::pin(std::future::ready(Ok(self.invocation(args))))
    }
}

/// A tool of a server that is still being started: whether it is there turns out when the server answers.
pub(crate) struct AwaitedTool {
    pub(crate) link: Arc<Link>,
    pub(crate) declaration: Arc<FunctionDeclaration>,
}

impl Tool for AwaitedTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let (server, name) = (&self.link.config.name, &self.declaration.name);
            if let Err(why) = self.link.ready().await {
                return Err(failure(server, &RequestError::Gone(format!("it cannot be started: {why}"))));
            }
            let listing = self.link.listing();
            let Some(tool) = listing.tools.iter().find(|tool| is_named(tool, server, name)) else {
                let message = format!("The MCP server {} has no tool for `{name}`.", one_line(server));
                return Err(ToolError::new(ToolErrorKind::UnknownTool, message));
            };
            Ok(ServerTool { link: self.link.clone(), tool: tool.clone() }.invocation(args))
        })
    }
}

/// True when a model means this tool by this name; `mcp_server_tool` is how others name it.
pub(crate) fn is_named(tool: &ListedTool, server: &str, name: &str) -> bool {
    tool.declaration.name == name || declared_name(server, name).as_deref() == Some(&tool.declaration.name)
}

/// Why a request to a server has no result, for a model.
pub(crate) fn failure(server: &str, error: &RequestError) -> ToolError {
    let kind = match error {
        RequestError::Late(_) => ToolErrorKind::TimedOut,
        _ => ToolErrorKind::Network,
    };
    let said: String = error.to_string().chars().take(2000).collect();
    let after = match error {
        RequestError::Gone(_) => " What it had done until then is not known; the next call starts it again.",
        RequestError::Late(_) => " Whether it goes on is not known.",
        RequestError::Refused(_) | RequestError::Nonsense(_) => "",
    };
    let server = one_line(server);
    ToolError::new(kind, format!("The MCP server {server} did not do it: {}.{after}", one_line(&said)))
}

/// A tool of our own about servers, that has these parameters.
pub(crate) fn declaration(
    name: &str,
    description: String,
    properties: Value,
    required: &[&str],
) -> Arc<FunctionDeclaration> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Arc::new(FunctionDeclaration {
        name: name.to_owned(),
        description,
        parameters_json_schema: schema,
        ..FunctionDeclaration::default()
    })
}

/// A text among the arguments of a tool of our own.
pub(crate) fn text_arg(args: &Args, name: &str) -> Result<String, ToolError> {
    let text = args.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| {
        ToolError::new(
            ToolErrorKind::InvalidArgs,
            format!("Invalid arguments: the field `{name}` is missing or no text."),
        )
    })
}
