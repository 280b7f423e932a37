//! The points of a session at which hooks run, and what comes of their answers.
//!
//! Each point costs nothing where no hook wants it. Whatever hooks change is committed before the session acts on it.

use std::sync::Arc;

use charla_proto::{
    CompressionTrigger, Confirmation, Content, Delivery, Fact, FunctionCallingConfig, FunctionCallingMode,
    GenerateRequest, HookActed, HookEffect, HookEvent, HookRan, ModelContent, Part, PartKind,
    PromptWithdrawn, Role, SessionEvent, ToolConfig, TurnEnd, TurnEvent, own_text,
};
use tokio::task::JoinSet;

use super::ending::{Ending, Stop};
use super::hook_messages::correspond;
use super::requests::{Requests, Signal};
use super::turn::Session;
use crate::hooks::{
    EndReason, HookAnswer, HookDecision, HookPoint, Hooks, StartSource, TOOL_PERMISSION, trigger_name,
};

/// How often hooks may have one turn go on after the model's last word.
const PROMPTS: u32 = 25;

/// Who speaks when a hook does.
pub const HOOK: &str = "hook";

/// What a session keeps for its hooks.
pub(super) struct HookState {
    /// Why the session begins, until the hooks know.
    start: Option<StartSource>,
    /// Somebody looks at the session: what its hooks say is heard.
    pub(super) watched: bool,
    /// Why it will have ended.
    pub(super) end: EndReason,
    /// What the model is told of a session's beginning, and by which hooks, once no call waits for its response.
    context: Option<(String, HookEffect)>,
    /// Notifications that are under way. Nobody waits for them.
    notifying: JoinSet<()>,
}

impl HookState {
    pub(super) fn new(start: StartSource) -> Self {
        let (end, notifying) = (EndReason::default(), JoinSet::new());
        Self { start: Some(start), watched: false, end, context: None, notifying }
    }
}

/// Runs hooks on behalf of a session.
pub(super) struct Hooking<'a>(pub(super) &'a mut Session);

/// What came of waiting for hooks.
enum Heard {
    Answer(Box<HookAnswer>),
    Cancelled { by: String },
}

/// What a request has become.
pub(super) enum Prepared {
    /// It is sent.
    Send(Box<GenerateRequest>),
    /// It is not: this is its answer.
    Answer(Box<ModelContent>),
    /// The turn ends.
    End(Ending),
}

/// What an answer has become.
pub(super) enum Checked {
    /// It is recorded.
    Said(Box<ModelContent>),
    /// It is recorded, and the turn ends.
    End(Box<ModelContent>, Ending),
}

impl Hooking<'_> {
    /// The hooks that want this point, if any do.
    fn wanting(&self, event: HookEvent, subject: &str) -> Option<Arc<dyn Hooks>> {
        self.0.options.hooks.as_ref().filter(|hooks| hooks.wants(event, &[subject])).cloned()
    }

    /// True when hooks want this point, whatever it is about.
    pub(super) fn wants(&self, event: HookEvent) -> bool {
        self.wanting(event, "").is_some()
    }

    /// Runs the hooks of a point; the session takes requests meanwhile.
    async fn run(&mut self, hooks: &Arc<dyn Hooks>, point: HookPoint) -> Result<Heard, Stop> {
        let mut work = hooks.run(point);
        let answer = loop {
            tokio::select! {
                biased;
                message = self.0.inbox.recv() => match self.0.message(message).await? {
                    Signal::Cancel { by } => return Ok(Heard::Cancelled { by }),
                    Signal::Answer(answer) => Requests(self.0).answer_outside_calls(answer).await?,
                    Signal::Nothing => {}
                },
                answer = &mut work => break answer,
            }
        };
        self.show(&answer.ran);
        Ok(Heard::Answer(Box::new(answer)))
    }

    /// Tells front ends which hooks ran.
    pub(super) fn show(&mut self, ran: &[HookRan]) {
        for ran in ran {
            self.0.ledger.show(TurnEvent::HookRan(Box::new(ran.clone())));
        }
    }

    /// Records what came of hooks.
    pub(super) async fn acted(
        &mut self,
        event: HookEvent,
        hook: String,
        effect: HookEffect,
    ) -> Result<(), Stop> {
        let turn = self.0.ledger.conversation.past.count;
        let acted = HookActed { turn, event, hook, effect };
        Ok(self.0.ledger.commit_one(Fact::HookActed(Box::new(acted))).await?)
    }

    /// The session begins: once, when somebody looks at it or a turn is due, so that what hooks say is heard. Who
    /// cancelled meanwhile, if somebody did.
    pub(super) async fn session_start(&mut self, turn_is_due: bool) -> Result<Option<String>, Stop> {
        let state = &mut self.0.hooks;
        if !(state.watched || turn_is_due) {
            return Ok(None);
        }
        let Some(source) = state.start.take() else { return Ok(None) };
        let Some(hooks) = self.wanting(HookEvent::SessionStart, source.name()) else { return Ok(None) };
        let answer = match self.run(&hooks, HookPoint::SessionStart(source)).await? {
            Heard::Cancelled { by } => return Ok(Some(by)),
            Heard::Answer(answer) => answer,
        };
        self.0.hooks.context = context(&answer).map(|effect| (answer.names(), effect));
        self.tell_context().await?;
        Ok(None)
    }

    /// Tells the model what hooks said of the session's beginning. Calls and their responses stand together, and a last word
    /// that lacks only the end of its turn stays the last: it waits for those.
    async fn tell_context(&mut self) -> Result<(), Stop> {
        let conversation = &self.0.ledger.conversation;
        if conversation.unanswered().next().is_none()
            && conversation.last_word().is_none()
            && let Some((names, effect)) = self.0.hooks.context.take()
        {
            self.acted(HookEvent::SessionStart, names, effect).await?;
        }
        Ok(())
    }

    /// The session ends, if its hooks know that it had begun.
    pub(super) async fn session_end(&mut self) {
        let state = &self.0.hooks;
        let (has_begun, reason) = (state.start.is_none(), state.end);
        if has_begun && let Some(hooks) = self.wanting(HookEvent::SessionEnd, reason.name()) {
            // Nothing more is taken from anybody, and nothing more is recorded.
            let answer = hooks.run(HookPoint::SessionEnd(reason)).await;
            self.show(&answer.ran);
        }
    }

    /// The prompt of the turn is about to be worked on: asked about once, by whichever process.
    pub(super) async fn before_agent(&mut self) -> Result<Option<Ending>, Stop> {
        self.tell_context().await?;
        let Some(hooks) = self.wanting(HookEvent::BeforeAgent, "") else { return Ok(None) };
        let conversation = &self.0.ledger.conversation;
        let Some(turn) = conversation.turn.as_ref().filter(|turn| !turn.hooks.prompted && turn.steps == 0)
        else {
            return Ok(None);
        };
        let said = conversation.contents.iter().find(|(seq, _)| turn.prompts.first() == Some(seq));
        let prompt = said.map(|(_, prompt)| own_text(prompt)).unwrap_or_default();
        match self.run(&hooks, HookPoint::BeforeAgent { prompt }).await? {
            Heard::Cancelled { by } => Ok(Some(self.0.cancelled(by))),
            Heard::Answer(answer) => match ending(&answer) {
                Some(ending) => Ok(Some(ending)),
                None => {
                    let effect = context(&answer).unwrap_or(HookEffect::Passed);
                    self.acted(HookEvent::BeforeAgent, answer.names(), effect).await?;
                    Ok(None)
                }
            },
        }
    }

    /// Prompts that join the turn are prompts, too: one that hooks do not let through is taken back.
    pub(super) async fn before_joining(&mut self) -> Result<Option<Ending>, Stop> {
        self.tell_context().await?;
        let Some(hooks) = self.wanting(HookEvent::BeforeAgent, "") else { return Ok(None) };
        let mut passed: Vec<String> = Vec::new();
        loop {
            let queue = &self.0.ledger.conversation.queue;
            let joining = |id: &String| !passed.contains(id);
            let next = queue.iter().find(|queued| queued.delivery == Delivery::Join && joining(&queued.id));
            let Some((id, prompt)) = next.map(|next| (next.id.clone(), own_text(&next.content))) else {
                return Ok(None);
            };
            let answer = match self.run(&hooks, HookPoint::BeforeAgent { prompt }).await? {
                Heard::Cancelled { by } => return Ok(Some(self.0.cancelled(by))),
                Heard::Answer(answer) => answer,
            };
            if answer.stop.is_some() {
                return Ok(ending(&answer));
            }
            if answer.decision == HookDecision::Deny {
                let withdrawn = PromptWithdrawn { prompt: id, by: HOOK.to_owned() };
                self.0.ledger.commit_one(Fact::PromptWithdrawn(withdrawn)).await?;
                self.0.ledger.show(TurnEvent::Notice { message: blocked(&answer) });
                continue;
            }
            if let Some(effect) = context(&answer) {
                self.acted(HookEvent::BeforeAgent, answer.names(), effect).await?;
            }
            passed.push(id);
        }
    }

    /// The model had its last word. Nothing when the turn goes on all the same.
    pub(super) async fn after_agent(&mut self, end: Ending, text: &str) -> Result<Option<Ending>, Stop> {
        let Some(hooks) = self.wanting(HookEvent::AfterAgent, "") else { return Ok(Some(end)) };
        let conversation = &self.0.ledger.conversation;
        let first = conversation.turn.as_ref().and_then(|turn| turn.prompts.first().copied());
        let said = conversation.contents.iter().find(|(seq, _)| Some(*seq) == first);
        let prompt = said.map(|(_, prompt)| own_text(prompt)).unwrap_or_default();
        let prompts = conversation.turn.as_ref().map_or(0, |turn| turn.hooks.prompts);
        let point = HookPoint::AfterAgent { prompt, response: text.to_owned(), again: prompts > 0 };
        let answer = match self.run(&hooks, point).await? {
            Heard::Cancelled { by } => return Ok(Some(self.0.cancelled(by))),
            Heard::Answer(answer) => answer,
        };
        if answer.changes.clear_context {
            self.acted(HookEvent::AfterAgent, answer.names(), HookEffect::Cleared).await?;
        }
        if answer.stop.is_some() {
            return Ok(ending(&answer));
        }
        if answer.decision != HookDecision::Deny {
            return Ok((!self.0.ledger.conversation.is_joined()).then_some(end));
        }
        if prompts >= PROMPTS {
            let message = format!("hooks had the turn go on {PROMPTS} times; it ends all the same");
            self.0.ledger.show(TurnEvent::Notice { message });
            return Ok(Some(end));
        }
        let content = Arc::new(Content::user(answer.why()));
        self.acted(HookEvent::AfterAgent, answer.names(), HookEffect::Prompt { content }).await?;
        Ok(None)
    }

    /// The window is about to be looked at. Who cancelled meanwhile, if somebody did.
    pub(super) async fn pre_compress(&mut self, trigger: CompressionTrigger) -> Result<Option<String>, Stop> {
        let point = HookPoint::PreCompress(trigger);
        let Some(hooks) = self.wanting(HookEvent::PreCompress, trigger_name(trigger)) else {
            return Ok(None);
        };
        match self.run(&hooks, point).await? {
            Heard::Answer(_) => Ok(None),
            Heard::Cancelled { by } => Ok(Some(by)),
        }
    }

    /// A request is about to be sent: it may become another one, or none.
    pub(super) async fn before_model(&mut self, mut request: GenerateRequest) -> Result<Prepared, Stop> {
        if let Some(hooks) = self.wanting(HookEvent::BeforeModel, "") {
            let mut shared = Arc::new(request);
            let answer = match self.run(&hooks, HookPoint::BeforeModel(shared.clone())).await? {
                Heard::Cancelled { by } => return Ok(Prepared::End(self.0.cancelled(by))),
                Heard::Answer(answer) => answer,
            };
            let names = answer.names();
            if let Some((content, finish)) = answer.changes.answer.clone().filter(|_| answer.stop.is_none()) {
                let turn = self.0.ledger.conversation.past.count;
                let (content, finish) = (Arc::new(content), Some(finish));
                let (usage, citations, hook) = (None, Vec::new(), Some(names));
                let said = ModelContent { turn, content, finish, usage, citations, hook };
                return Ok(Prepared::Answer(Box::new(said)));
            }
            if let Some(ending) = ending(&answer) {
                return Ok(Prepared::End(ending));
            }
            if let Some(messages) = answer.changes.messages {
                let sent = correspond(&shared.contents, &messages);
                Arc::make_mut(&mut shared).contents = sent;
                self.acted(HookEvent::BeforeModel, names, HookEffect::Request { messages }).await?;
            }
            request = Arc::unwrap_or_clone(shared);
        }
        self.before_tool_selection(request).await
    }

    async fn before_tool_selection(&mut self, request: GenerateRequest) -> Result<Prepared, Stop> {
        let hooks = self.wanting(HookEvent::BeforeToolSelection, "").filter(|_| !request.tools.is_empty());
        let Some(hooks) = hooks else { return Ok(Prepared::Send(Box::new(request))) };
        let shared = Arc::new(request);
        let answer = match self.run(&hooks, HookPoint::BeforeToolSelection(shared.clone())).await? {
            Heard::Cancelled { by } => return Ok(Prepared::End(self.0.cancelled(by))),
            Heard::Answer(answer) => answer,
        };
        if let Some(ending) = ending(&answer).filter(|_| answer.stop.is_some()) {
            return Ok(Prepared::End(ending));
        }
        let mut request = Arc::unwrap_or_clone(shared);
        if let Some(tools) = answer.changes.tools {
            offer(&mut request, &tools);
        }
        Ok(Prepared::Send(Box::new(request)))
    }

    /// The model has answered, and nobody has seen it yet.
    pub(super) async fn after_model(
        &mut self,
        request: Arc<GenerateRequest>,
        mut said: ModelContent,
    ) -> Result<Checked, Stop> {
        let Some(hooks) = self.wanting(HookEvent::AfterModel, "") else {
            return Ok(Checked::Said(Box::new(said)));
        };
        let point = HookPoint::AfterModel { request, said: Box::new(said.clone()) };
        let answer = match self.run(&hooks, point).await? {
            // What nobody has seen is not kept; what it cost is.
            Heard::Cancelled { by } => {
                let ending = Ending { by: Some(by), ..TurnEnd::Cancelled.into() };
                return Ok(Checked::End(Box::new(without_words(said, HOOK.to_owned())), ending));
            }
            Heard::Answer(answer) => answer,
        };
        if let Some(ending) = ending(&answer) {
            return Ok(Checked::End(Box::new(without_words(said, answer.names())), ending));
        }
        if let Some((content, _)) = &answer.changes.answer {
            said.content = Arc::new(with_words_of(&said.content, content));
            said.hook = Some(answer.names());
        }
        let text = said.content.text();
        if !text.is_empty() {
            self.0.ledger.show(TurnEvent::content(text));
        }
        Ok(Checked::Said(Box::new(said)))
    }

    /// A person is asked something. Nobody waits for hooks that only tell of it.
    pub(super) fn notify(&mut self, confirmation: &Confirmation) {
        let Some(hooks) = self.wanting(HookEvent::Notification, TOOL_PERMISSION) else { return };
        let work = hooks.run(HookPoint::Notification(Box::new(confirmation.clone())));
        let events = self.0.ledger.publisher.events.downgrade();
        self.0.hooks.notifying.spawn(async move {
            let answer = work.await;
            let Some(events) = events.upgrade() else { return };
            for ran in answer.ran {
                // Nobody listening is fine.
                let _ = events.send(Arc::new(SessionEvent::Turn(TurnEvent::HookRan(Box::new(ran)))));
            }
        });
        // What is over is forgotten.
        while self.0.hooks.notifying.try_join_next().is_some() {}
    }
}

/// What the model is told, if anything.
fn context(answer: &HookAnswer) -> Option<HookEffect> {
    let text = answer.context.as_deref().filter(|text| !text.trim().is_empty())?;
    let content = Arc::new(Content::user(format!("<hook_context>{text}</hook_context>")));
    Some(HookEffect::Context { content })
}

/// How the turn ends, where hooks say that it does.
pub(super) fn ending(answer: &HookAnswer) -> Option<Ending> {
    let (end, detail) = match (&answer.stop, answer.decision) {
        (Some(reason), _) => (TurnEnd::HookStopped, stopped(reason)),
        (None, HookDecision::Deny) => (TurnEnd::HookBlocked, blocked(answer)),
        (None, _) => return None,
    };
    Some(Ending { detail: Some(detail), by: Some(HOOK.to_owned()), ..end.into() })
}

/// What is said where a hook ends a turn.
pub(super) fn stopped(reason: &str) -> String {
    format!("Agent execution stopped by hook: {reason}")
}

fn blocked(answer: &HookAnswer) -> String {
    format!("Agent execution blocked by hook: {}", answer.why())
}

/// Offers the tools that hooks leave; others are not even told of.
fn offer(request: &mut GenerateRequest, config: &FunctionCallingConfig) {
    let names = &config.allowed_function_names;
    if config.mode == FunctionCallingMode::None {
        request.tools.clear();
        request.tool_config = None;
        return;
    }
    if !names.is_empty() {
        for tool in &mut request.tools {
            tool.function_declarations.retain(|declared| names.contains(&declared.name));
        }
        request.tools.retain(|tool| !tool.function_declarations.is_empty() || tool.native.is_some());
    }
    // A model that must call one of no tools cannot answer.
    if request.tools.is_empty() {
        request.tool_config = None;
        return;
    }
    let config = FunctionCallingConfig { allowed_function_names: Vec::new(), ..config.clone() };
    request.tool_config = Some(ToolConfig { function_calling_config: config });
}

/// The answer with nothing said and nothing called, for what it cost.
fn without_words(said: ModelContent, hook: String) -> ModelContent {
    let content = Arc::new(Content { parts: Vec::new(), ..(*said.content).clone() });
    ModelContent { content, hook: Some(hook), ..said }
}

/// The model's calls with a hook's words.
fn with_words_of(said: &Content, words: &Content) -> Content {
    let is_call = |part: &&Part| matches!(part.kind, PartKind::FunctionCall(_));
    let calls = said.parts.iter().filter(is_call).cloned();
    let parts = words.parts.iter().cloned().chain(calls).collect();
    Content { role: Role::Model, parts, ..said.clone() }
}
