//! What the session's MCP servers have, for who writes: their prompts behind a `/`, their resources behind an `@`.
//!
//! Nobody who types waits for a server: what is not known yet is asked for beside the screen, once, and offered when it has come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charla::mcp::{BegunArgument, ListedResource, ServerPrompt, Servers};
use charla::session::server_prompts;
use charla_proto::text::{one_line, shell_quote, shell_split};

use crate::composer::{Candidate, WordSource};

/// So many resources are offered at once.
const OFFERED: usize = 50;
/// So many beginnings of arguments are remembered.
const REMEMBERED: usize = 200;

/// The servers of the session that is attached to.
#[derive(Clone)]
pub struct KnownServers {
    known: Arc<Mutex<Known>>,
    /// Called when more is known.
    found_more: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Known {
    servers: Option<Servers>,
    /// The resources that were asked for, by server; empty until they have come.
    resources: BTreeMap<String, Vec<ListedResource>>,
    /// What was proposed for arguments that were asked about; nothing until it has come.
    proposed: BTreeMap<BegunArgument, Option<Vec<String>>>,
}

impl Known {
    /// What is proposed for an argument; until that has come, what suits of the proposals for a shorter beginning.
    fn values(&self, begun: &BegunArgument) -> Vec<String> {
        let mut shorter = begun.clone();
        loop {
            if let Some(Some(values)) = self.proposed.get(&shorter) {
                let suits = |value: &&String| shorter == *begun || value.starts_with(&begun.begun);
                return values.iter().filter(suits).cloned().collect();
            }
            if shorter.begun.pop().is_none() {
                return Vec::new();
            }
        }
    }
}

impl KnownServers {
    /// None yet.
    pub fn new(found_more: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { known: Arc::default(), found_more }
    }

    /// These are the session's from now on.
    pub fn follow(&self, servers: Option<Servers>) {
        *self.lock() = Known { servers, ..Known::default() };
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompts that are commands here, by name.
    fn prompts(&self) -> Vec<(String, ServerPrompt)> {
        let servers = self.lock().servers.clone();
        servers.map(|servers| server_prompts(&servers)).unwrap_or_default()
    }

    /// The names of prompts that begin as what was typed; behind one of them, the arguments it has.
    pub fn commands(&self, typed: &str) -> Vec<Candidate> {
        let prompts = self.prompts();
        let Some((name, behind)) = typed.split_once(char::is_whitespace) else {
            let begun = prompts.into_iter().filter(|(name, _)| name.starts_with(typed));
            return begun.map(|(name, one)| command(&name, &one)).collect();
        };
        let Some((_, one)) = prompts.into_iter().find(|(known, _)| known == name) else { return Vec::new() };
        let last = behind.rsplit(char::is_whitespace).next().unwrap_or_default();
        if let Some(begun) = begun_argument(&one, behind, last) {
            return self.values(begun);
        }
        // Words fill arguments by their place, too: what begins none is sent as it is.
        let is_open = |text: &str| last.starts_with('-') && !behind.contains(text) && text.starts_with(last);
        let help = |required| if required { "needed" } else { "may be left out" };
        let arguments = one.prompt.arguments.iter();
        let arguments = arguments.map(|known| (format!("--{}=", known.name), help(known.required)));
        let open = arguments.filter(|(text, _)| is_open(text));
        open.map(|(text, help)| Candidate { text, help: help.to_owned(), is_whole: false }).collect()
    }

    /// What the server proposes for an argument, as far as it is known; asks for it where nobody has.
    fn values(&self, begun: BegunArgument) -> Vec<Candidate> {
        let mut known = self.lock();
        let text = |value: String| format!("--{}={}", begun.argument, shell_quote(&value));
        let candidate = |text| Candidate { text, ..Candidate::default() };
        let candidates = known.values(&begun).into_iter().take(OFFERED).map(text).map(candidate).collect();
        if !known.proposed.contains_key(&begun)
            && let Some(servers) = known.servers.clone()
        {
            if known.proposed.len() >= REMEMBERED {
                known.proposed.clear();
            }
            known.proposed.insert(begun.clone(), None);
            let asking = self.clone();
            tokio::spawn(async move {
                let values = servers.completions(&begun).await;
                asking.lock().proposed.insert(begun, Some(values));
                (asking.found_more)();
            });
        }
        candidates
    }

    /// The resources of a server, as far as they are known; asks for them where nobody has.
    fn resources(&self, server: &str) -> Vec<ListedResource> {
        let mut known = self.lock();
        if let Some(resources) = known.resources.get(server) {
            return resources.clone();
        }
        if let Some(servers) = known.servers.clone() {
            known.resources.insert(server.to_owned(), Vec::new());
            let (asking, server) = (self.clone(), server.to_owned());
            tokio::spawn(async move {
                let resources = servers.resources(&server).await;
                asking.lock().resources.insert(server, resources);
                (asking.found_more)();
            });
        }
        Vec::new()
    }
}

/// The argument that is being typed at the end of what stands behind a prompt's name: `--name=beginning`.
fn begun_argument(one: &ServerPrompt, behind: &str, last: &str) -> Option<BegunArgument> {
    let named = |word: &str| {
        let (name, value) = word.strip_prefix("--")?.split_once('=')?;
        let is_known = one.prompt.arguments.iter().any(|known| known.name == name);
        is_known.then(|| (name.to_owned(), value.to_owned()))
    };
    let (argument, begun) = named(last)?;
    let before = behind.strip_suffix(last).unwrap_or_default();
    let others = shell_split(before).unwrap_or_default().iter().filter_map(|word| named(word)).collect();
    let (server, prompt) = (one.server.clone(), one.prompt.name.clone());
    Some(BegunArgument { server, prompt, argument, begun, others })
}

fn command(name: &str, one: &ServerPrompt) -> Candidate {
    let help = match one.prompt.description.lines().next() {
        Some(about) if !about.trim().is_empty() => one_line(about),
        _ => format!("a prompt of the MCP server {}", one_line(&one.server)),
    };
    Candidate { text: format!("/{name}"), help, is_whole: one.prompt.arguments.is_empty() }
}

/// Behind an `@`: servers by name, and what they have by address.
impl WordSource for KnownServers {
    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let servers = self.lock().servers.clone();
        let with = servers.map(|servers| servers.with_resources()).unwrap_or_default();
        if let Some((server, begun)) =
            typed.split_once(':').filter(|(server, _)| with.iter().any(|one| one == server))
        {
            let begun = begun.to_lowercase();
            let suits = |one: &ListedResource| {
                one.uri.to_lowercase().contains(&begun) || one.name.to_lowercase().contains(&begun)
            };
            let suiting = self.resources(server).into_iter().filter(suits).take(OFFERED);
            let candidate = |one: ListedResource| Candidate {
                text: format!("@{server}:{}", one.uri),
                help: one.name,
                is_whole: false,
            };
            return suiting.map(candidate).collect();
        }
        let begun = with.into_iter().filter(|server| server.starts_with(typed));
        let help = "resources of this MCP server".to_owned();
        begun
            .map(|server| Candidate { text: format!("@{server}:"), help: help.clone(), is_whole: false })
            .collect()
    }
}
