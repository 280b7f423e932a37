//! All servers of a session.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::text::file_address;
use charla_proto::tool::Tool;
use charla_proto::{Effect, FunctionDeclaration};
use futures_util::future::join_all;
use serde_json::Value;

use crate::config::ServerConfig;
use crate::file_uri::is_ambiguous;
use crate::find::FindTools;
use crate::listing::ListedPrompt;
use crate::naming::{declared_name, server_prefix};
use crate::ports::Http;
use crate::resources::{ListResources, ReadResource, tool_about};
use crate::server::{Link, Server, State, Surroundings, Withhold};
use crate::tool::{AwaitedTool, ServerTool, is_named};

/// All servers of a session, started in the background. The last clone ends them.
#[derive(Clone)]
pub struct Servers {
    inner: Arc<Inner>,
}

struct Inner {
    links: Vec<Arc<Link>>,
    running: Mutex<Vec<Server>>,
    http: Arc<dyn Http>,
    version: Arc<AtomicU64>,
    /// The tools that were found by search, by name.
    loaded: Mutex<BTreeSet<String>>,
    withhold: Withhold,
}

/// A server that is to be started.
pub struct Planned {
    /// Which.
    pub config: ServerConfig,
    /// What it told of its tools in an earlier session.
    pub known: Vec<Value>,
}

/// How a server is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Its name in the settings.
    pub server: String,
    /// How it is.
    pub state: State,
    /// The names of the tools it offers, as models call them.
    pub tools: Vec<String>,
    /// The prompts it has.
    pub prompts: Vec<ListedPrompt>,
    /// It has resources.
    pub has_resources: bool,
    /// Why some of its tools were left out, in words.
    pub left_out: Vec<String>,
}

/// What a model is offered of the servers.
pub struct Offer {
    /// The tools, each with its server's name; those of Charla's own have none.
    pub tools: Vec<(Option<String>, Arc<dyn Tool>)>,
}

impl Servers {
    /// Begins to start these servers, all at once. Must be called in a tokio runtime.
    pub fn start(planned: Vec<Planned>, surroundings: &Surroundings) -> Self {
        let version = Arc::new(AtomicU64::new(1));
        let start = |Planned { config, known }: Planned| {
            Server::start(config, known, surroundings.clone(), version.clone())
        };
        let running: Vec<Server> = planned.into_iter().map(start).collect();
        let links = running.iter().map(|server| server.link.clone()).collect();
        let (running, http) = (Mutex::new(running), surroundings.http.clone());
        let withhold = surroundings.withhold.clone();
        let inner = Inner { links, running, http, version, loaded: Mutex::default(), withhold };
        Self { inner: Arc::new(inner) }
    }

    /// Why a resource must not be read, in words that follow its address: it is a file that is kept back, or may be one.
    pub(crate) fn withholds(&self, uri: &str) -> Option<String> {
        if is_ambiguous(uri) {
            return Some("can be read as the address of more than one file".to_owned());
        }
        (self.inner.withhold)(&file_address(uri)?)
    }

    /// Grows whenever what is offered may be another.
    pub fn version(&self) -> u64 {
        self.inner.version.load(Ordering::Acquire)
    }

    /// What a model is offered: all tools as long as their declarations have at most so many characters, else those that
    /// were found by search.
    pub fn offer(&self, budget: usize) -> Offer {
        let all = self.all();
        let size = |tool: &ServerTool| {
            let declaration = &tool.tool.declaration;
            declaration.description.len() + declaration.parameters_json_schema.to_string().len()
        };
        let is_large = all.iter().map(size).sum::<usize>() > budget;
        let loaded = self.loaded().clone();
        let offered =
            all.into_iter().filter(|tool| !is_large || loaded.contains(&tool.tool.declaration.name));
        let mut tools: Vec<(Option<String>, Arc<dyn Tool>)> = offered
            .map(|tool| (Some(tool.link.config.name.clone()), Arc::new(tool) as Arc<dyn Tool>))
            .collect();
        let starting = self.inner.links.iter().filter(|link| is_unknown(link));
        let starting: Vec<&str> = starting.map(|link| link.config.name.as_str()).collect();
        if is_large || !starting.is_empty() {
            tools.push((None, Arc::new(FindTools::new(self.clone(), &starting))));
        }
        if self.links().iter().any(|link| link.listing().has_resources) {
            tools.push((None, Arc::new(ListResources::new(self.clone()))));
            tools.push((None, Arc::new(ReadResource::new(self.clone()))));
        }
        Offer { tools }
    }

    /// The tool that a model means by this name, offered or not. One of a server that is being started is waited for when
    /// it is called.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        for link in self.links() {
            let listing = link.listing();
            if let Some(tool) = listing.tools.iter().find(|tool| is_named(tool, &link.config.name, name)) {
                return Some(Arc::new(ServerTool { link: link.clone(), tool: tool.clone() }));
            }
        }
        if let Some(tool) = tool_about(self, name) {
            return Some(tool);
        }
        let mut starting = self.links().iter().filter(|link| link.status().state == State::Starting);
        let (link, name) = starting.find_map(|link| {
            let server = &link.config.name;
            let is_own = name.starts_with(&server_prefix(server));
            Some((link.clone(), if is_own { name.to_owned() } else { declared_name(server, name)? }))
        })?;
        let declaration = FunctionDeclaration { name, ..FunctionDeclaration::default() };
        Some(Arc::new(AwaitedTool { link, declaration: Arc::new(declaration) }))
    }

    /// What a call of this tool would do, and the server's part of its name; none for a tool that no server offers.
    pub fn effect(&self, name: &str) -> Option<(Effect, String)> {
        self.links().iter().find_map(|link| {
            let listing = link.listing();
            let tool = listing.tools.iter().find(|tool| tool.declaration.name == name)?;
            let server = link.config.name.clone();
            let prefix = server_prefix(&server);
            Some((Effect::Mcp { server, tool: tool.name.clone() }, prefix))
        })
    }

    /// How the servers are.
    pub fn health(&self) -> Vec<Health> {
        let health = |link: &Arc<Link>| {
            let listing = link.listing();
            Health {
                server: link.config.name.clone(),
                state: link.status().state,
                tools: listing.tools.iter().map(|tool| tool.declaration.name.clone()).collect(),
                prompts: listing.prompts.clone(),
                has_resources: listing.has_resources,
                left_out: listing.left_out.clone(),
            }
        };
        self.links().iter().map(health).collect()
    }

    /// Waits until the start of every server has succeeded or failed.
    pub async fn settled(&self) {
        join_all(self.links().iter().map(|link| link.settled())).await;
    }

    /// Ends all servers, and waits for that.
    pub async fn shutdown(&self) {
        let running = std::mem::take(&mut *self.inner.running.lock().unwrap_or_else(PoisonError::into_inner));
        join_all(running.into_iter().map(Server::end)).await;
        self.inner.http.settled().await;
    }

    pub(crate) fn links(&self) -> &[Arc<Link>] {
        &self.inner.links
    }

    /// Every tool of every server.
    pub(crate) fn all(&self) -> Vec<ServerTool> {
        let of = |link: &Arc<Link>| {
            let listing = link.listing();
            let tools =
                listing.tools.iter().map(|tool| ServerTool { link: link.clone(), tool: tool.clone() });
            tools.collect::<Vec<_>>()
        };
        self.links().iter().flat_map(of).collect()
    }

    /// Offers these tools from now on.
    pub(crate) fn load(&self, names: impl IntoIterator<Item = String>) {
        self.loaded().extend(names);
        self.inner.version.fetch_add(1, Ordering::Release);
    }

    fn loaded(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for a server that is being started and told nothing yet.
fn is_unknown(link: &Link) -> bool {
    link.status().state == State::Starting && link.listing().tools.is_empty()
}
