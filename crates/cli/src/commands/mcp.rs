//! `charla mcp`: the MCP servers of the settings.

use charla::mcp::{Health, Scope, State, add, remove};
use charla::{Charla, Failure};
use serde_json::{Map, Value, json};

use crate::args::{McpAddArgs, McpCommand, McpScope, McpTransport};
use crate::commands::settings_of;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Runs one of them.
pub fn run(command: McpCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    match command {
        McpCommand::List { json } => list(None, json, false, charla, printer),
        McpCommand::Test { server, json } => list(server, json, true, charla, printer),
        McpCommand::Add(args) => {
            let scope = scope(args.scope);
            let path = add(charla.environment(), scope, &args.name, &entry(&args)?)?;
            printer.note(&format!("{} is in {}", args.name, path.display()));
            if scope == Scope::Workspace {
                printer.note("a workspace's servers start once it is trusted: `charla trust`");
            }
            Ok(())
        }
        McpCommand::Remove { name, scope: of } => match remove(charla.environment(), scope(of), &name)? {
            Some(path) => {
                printer.note(&format!("{name} was taken out of {}", path.display()));
                Ok(())
            }
            None => Err(Failure::input(format!("there is no MCP server `{name}` in these settings"))),
        },
    }
}

fn scope(scope: McpScope) -> Scope {
    match scope {
        McpScope::User => Scope::User,
        McpScope::Project => Scope::Workspace,
    }
}

/// The entry of the settings that was typed.
fn entry(args: &McpAddArgs) -> Result<Value, Failure> {
    let is_url = args.target.starts_with("http://") || args.target.starts_with("https://");
    let mut entry = Map::new();
    match args.transport {
        Some(McpTransport::Http) => drop(entry.insert("httpUrl".into(), json!(args.target))),
        Some(McpTransport::Sse) => {
            entry.insert("url".into(), json!(args.target));
            entry.insert("type".into(), json!("sse"));
        }
        None if is_url => drop(entry.insert("url".into(), json!(args.target))),
        Some(McpTransport::Stdio) | None => drop(entry.insert("command".into(), json!(args.target))),
    }
    let pairs = |pairs: &[String], by: char| {
        let pair = |text: &String| {
            let wrong = || Failure::input(format!("`{text}` is no name and value with `{by}` between them"));
            let (name, value) = text.split_once(by).ok_or_else(wrong)?;
            Ok((name.trim().to_owned(), Value::from(value.trim())))
        };
        pairs.iter().map(pair).collect::<Result<Map<String, Value>, Failure>>()
    };
    let more = [
        ("args", json!(args.args)),
        ("env", Value::Object(pairs(&args.env, '=')?)),
        ("headers", Value::Object(pairs(&args.headers, ':')?)),
        ("timeout", json!(args.timeout)),
        ("trust", if args.trust { json!(true) } else { Value::Null }),
        ("includeTools", json!(args.include_tools)),
        ("excludeTools", json!(args.exclude_tools)),
    ];
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    entry.extend(
        more.into_iter()
            .filter(|(_, value)| says_something(value))
            .map(|(key, value)| (key.to_owned(), value)),
    );
    Ok(Value::Object(entry))
}

/// Starts the servers, or one of them, and tells how they are; with `strict`, one that does not answer is a failure.
fn list(
    only: Option<String>,
    json: bool,
    strict: bool,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let mut settings = settings_of(charla, Vec::new(), printer)?;
    if let Some(only) = &only {
        settings.mcp_servers.retain(|name, _| name == only);
        if settings.mcp_servers.is_empty() {
            return Err(Failure::input(format!("there is no MCP server `{only}` in the settings")));
        }
    }
    let health = runtime()?.block_on(charla.check_servers(&settings, printer))?;
    if json {
        let all: Vec<Value> = health.iter().map(as_json).collect();
        printer.result(&format!("{:#}\n", Value::Array(all)))?;
    } else if health.is_empty() {
        printer.note("no MCP servers are configured; `charla mcp add NAME COMMAND` adds one");
    }
    for health in health.iter().filter(|_| !json) {
        printer.result(&in_words(health, strict))?;
    }
    let dead = health.iter().find(|health| health.state != State::Ready).filter(|_| strict);
    match dead {
        Some(dead) => Err(Failure::input(format!("the MCP server {} does not answer", dead.server))),
        None => Ok(()),
    }
}

fn in_words(health: &Health, detailed: bool) -> String {
    let state = match &health.state {
        State::Ready => format!("ready, {} tools", health.tools.len()),
        State::Starting => "starting".to_owned(),
        State::Failed(why) => format!("failed: {why}"),
    };
    let mut text = format!("{}  {state}\n", health.server);
    if detailed {
        health.tools.iter().for_each(|tool| text.push_str(&format!("  {tool}\n")));
        if health.prompts > 0 {
            text.push_str(&format!("  {} prompts\n", health.prompts));
        }
        if health.has_resources {
            text.push_str("  resources\n");
        }
    }
    health.left_out.iter().for_each(|why| text.push_str(&format!("  left out: {why}\n")));
    text
}

fn as_json(health: &Health) -> Value {
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
