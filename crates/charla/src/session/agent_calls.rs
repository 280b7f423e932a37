//! `invoke_agent`: a session that works for a call of another one.
//!
//! The session that is called has a journal of its own and the id that its caller's call makes, so that a call whose process
//! died finds it again: it goes on where it was, and what it did is done once. It has at most the tools, the rules, the mode
//! and the people of its caller, and calls no agents itself.

use std::sync::Arc;
use std::time::Duration;

use charla_core::session::Subscription;
use charla_proto::text::{nearest, one_line};
use charla_proto::tool::Tool;
use charla_proto::{
    AgentLink, ApprovalMode, Args, Begun, BoxFuture, FunctionDeclaration, Invocation, Lane, Plan, Preview,
    RunContext, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, oneshot};

use super::agent_bounds::AgentBounds;
use super::agent_work::{Bounds, Child, Work, failed};
use super::servers::SessionServers;
use crate::agents::{Agent, Agents};
use crate::failure::Failure;

/// Its name.
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
/// So many agents of a session work at once; further ones wait.
const AT_ONCE: u32 = 4;
/// How long the end of a session waits for agents that were told to stop.
const PATIENCE: Duration = Duration::from_secs(3);
/// So long may the agents be that the tool's description tells of.
const MOST_TOLD: usize = 6_000;

const INTERRUPTED: &str = "This agent was about to begin when the program ended. It has done nothing.";

/// A session that is to work for a call.
pub(super) struct ChildRequest {
    pub agent: Arc<Agent>,
    pub link: AgentLink,
    /// The id that the session has, or gets.
    pub id: String,
    /// An earlier process began it.
    pub again: bool,
    /// What it has of its caller.
    pub situation: Caller,
}

/// How a caller stands when it calls.
#[derive(Clone)]
pub(super) struct Caller {
    pub model: String,
    pub mode: ApprovalMode,
    pub servers: SessionServers,
}

/// Opens sessions that work for calls.
pub(super) type OpenChild =
    Arc<dyn Fn(ChildRequest) -> BoxFuture<'static, Result<Box<dyn Child>, Failure>> + Send + Sync>;

/// The agents that a session can call, and those that work for it.
pub(super) struct AgentCalls {
    agents: Agents,
    /// The session that calls.
    session: String,
    open: OpenChild,
    at_once: Arc<Semaphore>,
    /// What holds for all of them while they work.
    bounds: AgentBounds,
}

impl AgentCalls {
    pub(super) fn new(agents: Agents, session: &str, open: OpenChild, bounds: AgentBounds) -> Self {
        let at_once = Arc::new(Semaphore::new(AT_ONCE as usize));
        Self { agents, session: session.to_owned(), open, at_once, bounds }
    }

    /// Follows the session that calls until it ends: what changes for it changes for its agents.
    pub(super) async fn follow(self: Arc<Self>, caller: Subscription) {
        self.bounds.follow(caller).await;
    }

    /// Waits until no agent works any more: they were told to stop.
    pub(super) async fn settled(&self) {
        // One that does not stop goes on with its caller, if that ever does.
        let _ = tokio::time::timeout(PATIENCE, self.at_once.acquire_many(AT_ONCE)).await;
    }
}

/// The id of the session that works for a call: always the same one.
pub(super) fn child_id(session: &str, call: &str) -> String {
    let digest = Sha256::new().chain_update(session).chain_update(":").chain_update(call).finalize();
    let bytes: [u8; 16] = std::array::from_fn(|index| digest[index]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Calls an agent.
pub(super) struct InvokeAgent {
    calls: Arc<AgentCalls>,
    caller: Caller,
    declaration: Arc<FunctionDeclaration>,
}

impl InvokeAgent {
    /// On behalf of this caller.
    pub(super) fn new(calls: Arc<AgentCalls>, caller: Caller) -> Self {
        let declaration = FunctionDeclaration {
            name: INVOKE_AGENT.to_owned(),
            description: about(&calls.agents),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {
                    "agent_name": {"type": "string", "description": "The agent's name."},
                    "prompt": {
                        "type": "string",
                        "description": "The whole task: the agent knows nothing of this conversation.",
                    },
                },
                "required": ["agent_name", "prompt"],
            }),
            ..FunctionDeclaration::default()
        };
        Self { calls, caller, declaration: Arc::new(declaration) }
    }

    fn call(&self, args: &Args) -> Result<(Arc<Agent>, String), ToolError> {
        let wrong = |message: String| ToolError::new(ToolErrorKind::InvalidArgs, message);
        let text = |key: &str| {
            let text = args.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            text.ok_or_else(|| wrong(format!("`{key}` is missing or no text.")))
        };
        let (name, prompt) = (text("agent_name")?, text("prompt")?);
        let agents = &self.calls.agents;
        let agent = agents.get(name).ok_or_else(|| {
            let meant = nearest(name, agents.iter().map(|agent| agent.name.as_str()));
            let meant = meant.map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
            wrong(format!("There is no agent `{}`.{meant}", one_line(name)))
        })?;
        Ok((Arc::new(agent.clone()), prompt.to_owned()))
    }
}

/// What a model is told of the tool, with the agents that there are.
fn about(agents: &Agents) -> String {
    let mut about = "Lets an agent work on a task of its own and gives back its answer. Several calls in one step work at \
        the same time. Agents:"
        .to_owned();
    for agent in agents.iter() {
        let line = format!("\n- {}: {}", agent.name, agent.description);
        if about.len() + line.len() > MOST_TOLD {
            about.push_str("\n- (and more)");
            break;
        }
        about.push_str(&line);
    }
    about
}

impl Tool for InvokeAgent {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let prepared = self.call(&args).map(|(agent, prompt)| {
            let plan = Plan {
                tool: INVOKE_AGENT.to_owned(),
                args: Args::new(),
                title: format!("Let the agent {} work", agent.name),
                effects: Vec::new(),
                preview: Preview::Text { text: prompt.clone() },
                lane: Lane::Shared,
            };
            let (calls, caller) = (self.calls.clone(), self.caller.clone());
            Box::new(AgentCall { plan, calls, caller, agent, prompt, begun: None }) as Box<dyn Invocation>
        });
        Box::pin(std::future::ready(prepared))
    }
}

struct AgentCall {
    plan: Plan,
    calls: Arc<AgentCalls>,
    caller: Caller,
    agent: Arc<Agent>,
    prompt: String,
    /// Set when it begins to run.
    begun: Option<Begun>,
}

impl Invocation for AgentCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn begins(&mut self, begun: Begun) {
        self.begun = Some(begun);
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            // On its own: a call that is ended by force, or left to another process, closes its session all the same.
            let (_here, left) = oneshot::channel();
            let work = tokio::spawn(self.work(cx, left));
            work.await.unwrap_or_else(|error| failed(ToolErrorKind::Internal, error.to_string()))
        })
    }
}

impl AgentCall {
    async fn work(self: Box<Self>, mut cx: RunContext, left: oneshot::Receiver<()>) -> ToolOutput {
        // People who call tools themselves have no agents.
        let Some(Begun { call, again, answered, asked }) = self.begun.clone() else {
            return failed(ToolErrorKind::Internal, "An agent works for a model's call alone.");
        };
        let at_once = self.calls.at_once.clone();
        let slot = tokio::select! {
            biased;
            () = &mut cx.cancelled => return failed(ToolErrorKind::Cancelled, "Cancelled by the user."),
            slot = at_once.acquire_owned() => slot,
        };
        let link = AgentLink { name: self.agent.name.clone(), session: self.calls.session.clone(), call };
        let id = child_id(&link.session, &link.call);
        let mut situation = self.caller.clone();
        let mode = self.calls.bounds.mode();
        situation.mode = situation.mode.min(*mode.borrow());
        let (call, held) = (link.call.clone(), situation.mode);
        let request = ChildRequest { agent: self.agent.clone(), link, id, again, situation };
        let output = match (self.calls.open)(request).await {
            Ok(child) => {
                let model = self.agent.model.clone().unwrap_or_else(|| self.caller.model.clone());
                let bounds = Bounds { all: &self.calls.bounds, call, model };
                let work = Work { child: &*child, agent: &self.agent, asked, bounds };
                // Before it goes on: one that nobody answers is refused then.
                let output = match answered {
                    Some(answered) if !work.takes(&answered).await => work.refused().await,
                    _ => work.to_the_end(&self.prompt, again, cx, left, (mode, held)).await,
                };
                child.close().await;
                ToolOutput { spent: child.spent().await, ..output }
            }
            // What was to be begun again had not begun.
            Err(_) if again => failed(ToolErrorKind::Interrupted, INTERRUPTED),
            Err(failure) => {
                failed(ToolErrorKind::Other, format!("The agent {} cannot work: {failure}", self.agent.name))
            }
        };
        drop(slot);
        output
    }
}
