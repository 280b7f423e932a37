//! MCP servers: from the settings to running ones.

mod config;
mod edit;
mod ground;
mod http;
mod known;
mod launch;
mod login;
mod new_server;
mod outlook;
mod unstarted;

use std::path::PathBuf;
use std::sync::Arc;

use charla_mcp::{Planned, Surroundings, Withhold};
use charla_proto::ToolOfServer;
use charla_tools::process::Processes;

pub use edit::{Added, Scope, add, remove};
pub(crate) use edit::{check, written};
pub use login::{ServerLogin, log_out};
pub use new_server::NewServer;
pub(crate) use outlook::{missing_program, outlook};

pub use charla_mcp::{
    BegunArgument, Health, ListedPrompt, ListedResource, PromptArgument, ServerPrompt, Servers, State,
};

use crate::environment::Environment;
use crate::notices::Notices;
use crate::settings::Settings;
use ground::{Ground, make_apart};
use known::KnownTools;
use unstarted::Unstarted;

/// The servers that their user trusts.
pub(crate) fn trusted_names(settings: &Settings) -> impl Iterator<Item = &str> {
    let trusted = settings.mcp_servers.iter().filter(|(_, server)| server.trust == Some(true));
    trusted.map(|(name, _)| name.as_str())
}

/// True for a name that a tool of a server may have, or one of our own about servers.
pub(crate) fn may_be_tool(name: &str, settings: &Settings) -> bool {
    let of_server = |server: &String| {
        name.starts_with(&charla_mcp::server_prefix(server)) || ToolOfServer::of_alias(server, name).is_some()
    };
    charla_mcp::OWN_TOOLS.contains(&name) || settings.mcp_servers.keys().any(of_server)
}

/// These names of tools, with the names under which servers declare those that are written as `mcp_server_tool`.
pub(crate) fn with_declared(names: &[String], settings: &Settings) -> Vec<String> {
    let declared = |name: &String| {
        let servers = settings.mcp_servers.keys();
        servers.filter_map(|server| declared(server, name)).collect::<Vec<_>>()
    };
    names.iter().cloned().chain(names.iter().flat_map(declared)).collect()
}

/// The name under which a server declares a tool that is written as `mcp_server_tool`. `*` at its end stands for any end.
fn declared(server: &str, name: &str) -> Option<String> {
    let Some(start) = name.strip_suffix('*') else { return charla_mcp::declared_name(server, name) };
    let (alias, prefix) = (format!("mcp_{server}_"), charla_mcp::server_prefix(server));
    match alias.starts_with(start) {
        true => Some(format!("{prefix}*")),
        false => start.strip_prefix(&alias).map(|begin| format!("{prefix}{begin}*")),
    }
}

/// The servers of the settings, ready to be started. What is wrong with one is told, and the others go on.
pub(crate) struct ServerPlans {
    planned: Vec<Planned>,
    surroundings: Surroundings,
}

/// The servers of these settings that are used and cannot be started as they are written.
pub(crate) fn unusable(settings: &Settings, environment: &Environment) -> Vec<Health> {
    let used = settings.mcp_servers.iter().filter(|(name, _)| settings.mcp.uses(name));
    let flawed = used.filter_map(|(name, server)| {
        let flaw = config::config(name, server, &Ground::of(name, settings), environment).err()?;
        Some(Health {
            server: name.clone(),
            state: State::Failed(flaw.to_string()),
            tools: Vec::new(),
            prompts: Vec::new(),
            has_resources: false,
            left_out: Vec::new(),
        })
    });
    flawed.collect()
}

impl ServerPlans {
    /// Those of these settings; none when there are none.
    pub(crate) fn of(
        settings: &Settings,
        environment: &Environment,
        roots: &[PathBuf],
        processes: &Processes,
        withhold: Withhold,
        notices: &mut dyn Notices,
    ) -> Option<Self> {
        let known = Arc::new(KnownTools::of(environment));
        let mut planned = Vec::new();
        for (name, server) in settings.mcp_servers.iter().filter(|(name, _)| settings.mcp.uses(name)) {
            match config::config(name, server, &Ground::of(name, settings), environment) {
                Ok(config) => planned.push(Planned { known: known.read(&config), config }),
                Err(why) => notices.warning(&format!("the MCP server `{name}` is left out: {why}").into()),
            }
        }
        if !planned.is_empty()
            && let Err(error) = make_apart(environment)
        {
            notices.warning(&format!("MCP servers have no folder to start in: {error}").into());
        }
        let remember = Arc::new(move |config: &charla_mcp::ServerConfig, tools: &[serde_json::Value]| {
            known.keep(config, tools);
        });
        let surroundings = Surroundings {
            launch: Arc::new(launch::Launcher::new(processes.clone())),
            http: Arc::new(http::Connections::new(settings, environment)),
            roots: roots.to_vec(),
            attended: false,
            remember,
            withhold,
        };
        (!planned.is_empty()).then_some(Self { planned, surroundings })
    }

    /// The same for a session: there they may ask people and the model.
    pub(crate) fn attended(mut self) -> Self {
        self.surroundings.attended = true;
        self
    }

    /// The same for somebody who looks what a session would begin with: none of them is ever reached.
    pub(crate) fn unstarted(mut self) -> Self {
        self.surroundings.launch = Arc::new(Unstarted);
        self.surroundings.http = Arc::new(Unstarted);
        self
    }

    /// Begins to start them. Must be called in a tokio runtime.
    pub(crate) fn start(self) -> Servers {
        Servers::start(self.planned, &self.surroundings)
    }
}
