//! The MCP servers of a session, and their tools among the others.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use charla_core::policy::RuleBook;
use charla_core::session::Situation;
use charla_mcp::Servers;
use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{Args, FunctionDeclaration, Lane, Plan, Policy, Preview, Verdict};
use charla_tools::{Registry, Source};

use crate::mcp::ServerPlans;

/// The share of a model's window, in percent, that the declarations of servers' tools may take.
const SHARE: usize = 10;
/// The characters that they may have where the window is not known.
const OTHERWISE: usize = 60_000;
/// A token has about so many characters.
const CHARACTERS: usize = 4;

/// The servers of a session, started when a model is first offered their tools. Clones are the same servers.
#[derive(Clone, Default)]
pub(super) struct SessionServers {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    plans: Mutex<Option<ServerPlans>>,
    running: OnceLock<Option<Servers>>,
}

impl SessionServers {
    pub(super) fn new(plans: Option<ServerPlans>) -> Self {
        Self { inner: Arc::new(Inner { plans: Mutex::new(plans), running: OnceLock::new() }) }
    }

    /// The servers, started if they are not yet; none where there are none.
    pub(super) fn running(&self) -> Option<&Servers> {
        let start =
            || self.inner.plans.lock().unwrap_or_else(PoisonError::into_inner).take().map(ServerPlans::start);
        self.inner.running.get_or_init(start).as_ref()
    }

    /// The servers, if they were started.
    pub(super) fn started(&self) -> Option<&Servers> {
        self.inner.running.get()?.as_ref()
    }

    /// Another number whenever other tools may be offered.
    pub(super) fn version(&self) -> u64 {
        self.started().map_or(0, Servers::version)
    }
}

/// Puts what a model with this window is offered of the servers among its tools.
pub(super) fn offer(servers: &Servers, window: Option<u32>, registry: &mut Registry) {
    let budget = window.map_or(OTHERWISE, |window| window as usize * CHARACTERS * SHARE / 100);
    for (server, tool) in servers.offer(budget).tools {
        let source = server.map_or(Source::Discovered, |server| Source::Mcp { server });
        registry.register(source, tool);
    }
}

/// True when a call of a server's tool could run, by what the rules say of the tool or its server.
pub(super) fn may_run(servers: &Servers, tool: &str, rules: &RuleBook, situation: &Situation) -> bool {
    let Some((effect, _)) = servers.effect(tool) else { return false };
    let plan = Plan {
        tool: tool.to_owned(),
        args: Args::new(),
        title: String::new(),
        effects: vec![effect],
        preview: Preview::None,
        lane: Lane::Exclusive,
    };
    match rules.judge(&plan, situation.mode) {
        Verdict::Allow { .. } => true,
        Verdict::Ask { .. } => situation.somebody,
        Verdict::Deny { .. } => false,
    }
}

/// Names of tools, those of servers in one word each: a server may have hundreds.
pub(super) fn by_server(servers: &Servers, tools: Vec<String>) -> Vec<String> {
    let shown = |tool: String| servers.effect(&tool).map_or(tool, |(_, prefix)| format!("{prefix}*"));
    let mut names: Vec<String> = tools.into_iter().map(shown).collect();
    names.dedup();
    names
}

/// A toolbox that also knows the tools of servers that the model was not told of: those of a server that is being started,
/// and those it was told of before.
pub(super) struct ServerToolbox {
    inner: Arc<dyn Toolbox>,
    servers: Servers,
    excluded: Vec<String>,
}

impl ServerToolbox {
    pub(super) fn new(inner: Arc<dyn Toolbox>, servers: Servers, excluded: &[String]) -> Self {
        Self { inner, servers, excluded: excluded.to_vec() }
    }
}

impl Toolbox for ServerToolbox {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let of_server = || {
            let tool = self.servers.tool(name)?;
            let is_excluded =
                self.excluded.iter().any(|entry| [name, &tool.declaration().name].contains(&entry.as_str()));
            (!is_excluded).then_some(tool)
        };
        self.inner.get(name).or_else(of_server)
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        self.inner.declarations()
    }

    fn nearest(&self, name: &str) -> Option<String> {
        self.inner.nearest(name)
    }

    fn withholds(&self, name: &str) -> bool {
        self.inner.withholds(name)
    }
}
