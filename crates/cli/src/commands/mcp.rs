//! `charla mcp`: the MCP servers of the settings.

use charla::mcp::{Health, NewServer, Scope, ServerLogin, State, add, log_out, remove};
use charla::settings::Settings;
use charla::{Charla, Failure};
use charla_terminal::printer::Printer;
use charla_terminal::servers::{as_json, in_words, tell_added};
use serde_json::Value;

use crate::args::{McpAddArgs, McpCommand, ScopeArgs};
use crate::commands::{named_model, settings_of};
use crate::runtime::runtime;

/// Runs one of them.
pub fn run(command: McpCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let environment = charla.environment();
    match command {
        McpCommand::Add(args) => {
            let scope = scope(&args.scope);
            let name = args.name.clone();
            let added = add(environment, scope, &name, &server(*args).entry()?)?;
            tell_added(&name, &added, printer);
            if scope == Scope::Workspace {
                printer.note("a workspace's servers start once it is trusted: `charla trust`");
            }
            Ok(())
        }
        McpCommand::Remove { name, scope: wanted } => match remove(environment, scope(&wanted), &name)? {
            Some(path) => {
                printer.note(&format!("{name} was taken out of {}", path.display()));
                Ok(())
            }
            None => Err(unknown(&name, "those of a project want `--project` to be removed")),
        },
        McpCommand::List { json } => {
            list(settings_of(charla, Vec::new(), printer)?, json, false, charla, printer)
        }
        McpCommand::Test { server, json } => {
            let mut settings = settings_of(charla, Vec::new(), printer)?;
            settings.mcp_servers.retain(|name, _| server.as_ref().is_none_or(|server| server == name));
            match server.filter(|_| settings.mcp_servers.is_empty()) {
                Some(name) => Err(unknown(&name, "`charla mcp add NAME COMMAND` adds one")),
                None => list(settings, json, true, charla, printer),
            }
        }
        McpCommand::Serve { model } => {
            let (input, output) = (std::io::BufReader::new(std::io::stdin()), std::io::stdout());
            let served = charla::mcp_server::serve(charla, named_model(model), input, output);
            runtime()?.block_on(served);
            Ok(())
        }
        McpCommand::Login { name } => {
            let settings = settings_of(charla, Vec::new(), printer)?;
            runtime()?.block_on(login(&name, &settings, charla, printer))
        }
        McpCommand::Logout { name } => {
            let known = log_out(&name, &settings_of(charla, Vec::new(), printer)?, environment)?;
            printer.note(if known { "logged out" } else { "there was no login" });
            Ok(())
        }
    }
}

fn unknown(name: &str, advice: &str) -> Failure {
    Failure::input(format!("there is no MCP server `{name}` in these settings"))
        .with_hint(format!("`charla mcp list` shows those there are; {advice}"))
}

fn scope(args: &ScopeArgs) -> Scope {
    let is_project = args.project || args.scope.as_deref() == Some("project");
    if is_project { Scope::Workspace } else { Scope::User }
}

fn server(args: McpAddArgs) -> NewServer {
    NewServer {
        target: args.target,
        transport: args.transport,
        arguments: args.args,
        cwd: args.cwd,
        variables: args.env,
        headers: args.headers,
        timeout: args.timeout,
        trust: args.trust,
        include: args.include_tools,
        exclude: args.exclude_tools,
    }
}

async fn login(
    name: &str,
    settings: &Settings,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let login = ServerLogin::start(name, settings, charla.environment()).await?;
    printer.note("open this address in a browser on this machine:");
    printer.note(login.url());
    let path = login.finish().await?;
    printer.note(&format!("logged in; kept in {}", path.display()));
    Ok(())
}

/// Starts the servers and tells how they are; with `strict`, one that does not answer is a failure.
fn list(
    settings: Settings,
    json: bool,
    strict: bool,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let health: Vec<Health> = runtime()?.block_on(charla.check_servers(&settings, printer))?;
    if json {
        let all: Value = health.iter().map(as_json).collect();
        printer.result(&format!("{all:#}\n"))?;
    } else if health.is_empty() && !settings.mcp_servers.is_empty() {
        printer.note("none of the MCP servers in the settings can be started");
    } else if health.is_empty() {
        printer.note("no MCP servers are configured; `charla mcp add NAME COMMAND` adds one");
    }
    for health in health.iter().filter(|_| !json) {
        printer.result(&in_words(health, strict))?;
    }
    let dead = health.iter().find(|health| health.state != State::Ready).filter(|_| strict);
    match dead.map(|dead| (&dead.server, &dead.state)) {
        Some((server, State::Failed(why))) => {
            Err(Failure::input(format!("the MCP server {server} cannot be used: {why}")))
        }
        Some((server, _)) => Err(Failure::input(format!("the MCP server {server} does not answer"))),
        None => Ok(()),
    }
}
