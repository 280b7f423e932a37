//! The port to hooks: awaited points of a session at which programs of the user may look on, add, change or stop.
//!
//! A session without hooks builds none of this. What hooks change becomes a fact of the journal, so that the fold
//! and a replay agree with what happened; that they ran is told by [`TurnEvent::HookRan`](charla_proto::TurnEvent).

use std::sync::Arc;

use charla_proto::{
    Args, BoxFuture, CompressionTrigger, Confirmation, Content, Effect, FinishReason, FunctionCall,
    FunctionCallingConfig, GenerateRequest, HookEvent, HookRan, ModelContent, Plan, ToolOfServer, ToolOutput,
};

/// Runs hooks on behalf of a session.
pub trait Hooks: Send + Sync {
    /// True when a hook would run at this point. `subjects` are what its matcher looks at, any of which it may fit: the names of
    /// a tool, a source, a trigger, a reason, a kind of notification; empty where there is nothing to look at.
    fn wants(&self, event: HookEvent, subjects: &[&str]) -> bool;

    /// Runs the hooks of a point and puts their answers together. Never fails: a hook that does is part of the answer.
    /// Dropped, it ends what runs.
    fn run(&self, point: HookPoint) -> BoxFuture<'static, HookAnswer>;
}

/// Why a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartSource {
    /// It is a new one.
    #[default]
    Startup,
    /// It was there before.
    Resume,
    /// It takes the place of one that was left for it.
    Clear,
}

impl StartSource {
    /// As hooks know it.
    pub fn name(self) -> &'static str {
        match self {
            StartSource::Startup => "startup",
            StartSource::Resume => "resume",
            StartSource::Clear => "clear",
        }
    }
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndReason {
    /// Its program ends, or nobody needs it any more.
    #[default]
    Exit,
    /// Another one takes its place.
    Clear,
}

impl EndReason {
    /// As hooks know it.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::Exit => "exit",
            EndReason::Clear => "clear",
        }
    }
}

/// What a point of a session is about.
#[derive(Clone, Debug)]
pub enum HookPoint {
    /// A session begins.
    SessionStart(StartSource),
    /// A session ends.
    SessionEnd(EndReason),
    /// This prompt is about to be worked on.
    BeforeAgent {
        /// The person's words.
        prompt: String,
    },
    /// A prompt has its answer.
    AfterAgent {
        /// The person's words.
        prompt: String,
        /// The model's last words.
        response: String,
        /// The turn goes on because of such a hook already.
        again: bool,
    },
    /// This request is about to be sent.
    BeforeModel(Arc<GenerateRequest>),
    /// The tools of this request are about to be offered.
    BeforeToolSelection(Arc<GenerateRequest>),
    /// A request has its answer, which nobody has seen yet.
    AfterModel {
        /// What was asked.
        request: Arc<GenerateRequest>,
        /// What was answered.
        said: Box<ModelContent>,
    },
    /// This call is about to be judged and run.
    BeforeTool(NamedCall),
    /// This call has run.
    AfterTool {
        /// The call, as it ran.
        call: NamedCall,
        /// What it gave.
        output: ToolOutput,
    },
    /// The window is about to be looked at.
    PreCompress(CompressionTrigger),
    /// A person is asked this.
    Notification(Box<Confirmation>),
}

impl HookPoint {
    /// Its name.
    pub fn event(&self) -> HookEvent {
        match self {
            HookPoint::SessionStart(_) => HookEvent::SessionStart,
            HookPoint::SessionEnd(_) => HookEvent::SessionEnd,
            HookPoint::BeforeAgent { .. } => HookEvent::BeforeAgent,
            HookPoint::AfterAgent { .. } => HookEvent::AfterAgent,
            HookPoint::BeforeModel(_) => HookEvent::BeforeModel,
            HookPoint::BeforeToolSelection(_) => HookEvent::BeforeToolSelection,
            HookPoint::AfterModel { .. } => HookEvent::AfterModel,
            HookPoint::BeforeTool(_) => HookEvent::BeforeTool,
            HookPoint::AfterTool { .. } => HookEvent::AfterTool,
            HookPoint::PreCompress(_) => HookEvent::PreCompress,
            HookPoint::Notification(_) => HookEvent::Notification,
        }
    }

    /// What matchers look at; see [`Hooks::wants`].
    pub fn subjects(&self) -> Vec<&str> {
        match self {
            HookPoint::SessionStart(source) => vec![source.name()],
            HookPoint::SessionEnd(reason) => vec![reason.name()],
            HookPoint::BeforeTool(call) | HookPoint::AfterTool { call, .. } => call.names(),
            HookPoint::PreCompress(trigger) => vec![trigger_name(*trigger)],
            HookPoint::Notification(_) => vec![TOOL_PERMISSION],
            _ => vec![""],
        }
    }
}

/// A call under the name that its tool is declared by, whatever name it was called by.
#[derive(Clone, Debug)]
pub struct NamedCall {
    /// The call.
    pub call: FunctionCall,
    /// Other names of the tool: the one it was called by, and `mcp_server_tool` of one of a server.
    aliases: Vec<String>,
}

impl NamedCall {
    /// A call whose plan, if there is one, says which tool it is of.
    pub fn new(call: FunctionCall, plan: Option<&Plan>) -> Self {
        let alias = plan.and_then(|plan| plan.effects.iter().find_map(alias));
        let declared = plan.map_or_else(|| call.name.clone(), |plan| plan.tool.clone());
        let called = (declared != call.name).then(|| call.name.clone());
        let aliases = alias.into_iter().chain(called).collect();
        Self { call: FunctionCall { name: declared, ..call }, aliases }
    }

    /// Every name of its tool, the declared one first.
    pub fn names(&self) -> Vec<&str> {
        std::iter::once(&self.call.name).chain(&self.aliases).map(String::as_str).collect()
    }
}

/// How others name the tool of a server.
fn alias(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Mcp { server, tool } => Some(ToolOfServer { server, tool }.alias()),
        _ => None,
    }
}

/// The kind of notification that a call waits for a person.
pub const TOOL_PERMISSION: &str = "ToolPermission";

/// Who wanted a compression, as hooks know it.
pub fn trigger_name(trigger: CompressionTrigger) -> &'static str {
    match trigger {
        CompressionTrigger::Auto => "auto",
        CompressionTrigger::Manual => "manual",
    }
}

/// What hooks say about whether something may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDecision {
    /// It goes on as it would without them.
    #[default]
    Pass,
    /// A person must be asked.
    Ask,
    /// It does not go on.
    Deny,
}

/// What the hooks of one point say together.
#[derive(Clone, Debug, Default)]
pub struct HookAnswer {
    /// What ran, in its order.
    pub ran: Vec<HookRan>,
    /// The strictest of what was said.
    pub decision: HookDecision,
    /// Why.
    pub reason: Option<String>,
    /// The turn ends here, and why.
    pub stop: Option<String>,
    /// What the model is told beside everything else.
    pub context: Option<String>,
    /// What is changed.
    pub changes: HookChanges,
}

/// What hooks put in the place of something else. Each has a meaning at some points only.
#[derive(Clone, Debug, Default)]
pub struct HookChanges {
    /// Arguments of a call that has not run.
    pub args: Option<Args>,
    /// A tool to call in place of the one that ran, and its arguments.
    pub tail_call: Option<(String, Args)>,
    /// What is sent in place of the conversation, once.
    pub messages: Option<Vec<Content>>,
    /// What stands for the model's answer.
    pub answer: Option<(Content, FinishReason)>,
    /// Which tools are offered.
    pub tools: Option<FunctionCallingConfig>,
    /// Nothing that was said is sent any more.
    pub clear_context: bool,
}

impl HookAnswer {
    /// The names of the hooks that ran, for the record.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.ran.iter().map(|ran| ran.hook_name.as_str()).collect();
        names.join(", ")
    }

    /// Why something does not go on, in words.
    pub fn why(&self) -> String {
        self.reason.clone().unwrap_or_else(|| format!("a hook does not allow it ({})", self.names()))
    }
}
