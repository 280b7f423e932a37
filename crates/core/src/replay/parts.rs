//! The players: a model, tools and rules that do what is recorded.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{
    ApprovalMode, Args, BoxFuture, CallEnded, CallStatus, Candidate, ChunkStream, Confirmation,
    ConfirmationDetail, Content, ContentGenerator, Conversation, Effect, EmbedRequest, EmbedResponse, Fact,
    FunctionDeclaration, GenerateRequest, GenerateResponse, Invocation, Journal, JournalError, Lane,
    LlmError, LlmErrorKind, Missing, ModelContent, Outcome, Part, Plan, Policy, Preview, Record, RunContext,
    StreamEvent, TokenCount, ToolContext, ToolError, ToolErrorKind, ToolOutput, Verdict,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::Difference;
use super::script::{Call, TurnScript};
use crate::{Chat, LoopGuard};

/// What the player of the people hears.
pub(super) enum Heard {
    /// The engine wrote this down.
    Fact(Fact),
    /// The model says nothing more until it is cancelled.
    ModelWaits,
    /// The engine asked the model something else than recorded.
    Difference(Box<Difference>),
}

pub(super) type Wire = UnboundedSender<Heard>;

/// A journal that only tells what it is given.
pub(super) struct Told(pub(super) Wire);

impl Journal for Told {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        let mut facts = records.iter().map(|record| record.fact.clone());
        let heard = facts.all(|fact| self.0.send(Heard::Fact(fact)).is_ok());
        let over = || JournalError::Io("the replay is over".to_owned());
        Box::pin(std::future::ready(heard.then_some(()).ok_or_else(over)))
    }
}

/// What the players share: the script and how far it has come.
pub(super) struct Stage {
    pub(super) script: Arc<TurnScript>,
    progress: Mutex<Progress>,
}

struct Progress {
    requests: u64,
    /// The conversation as it is recorded, up to `played` of the turn's facts.
    conversation: Conversation,
    chat: Chat,
    played: usize,
    /// Steps begun.
    step: usize,
    /// Calls of this step whose arguments were looked at.
    prepared: HashSet<String>,
}

impl Stage {
    pub(super) fn new(script: Arc<TurnScript>, before: &Conversation) -> Self {
        let chat = Chat::new(before.sent().into_iter().map(|(_, content)| content));
        let progress = Progress {
            requests: 0,
            conversation: before.clone(),
            chat,
            played: 0,
            step: 0,
            prepared: HashSet::new(),
        };
        Self { script, progress: Mutex::new(progress) }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn requests(&self) -> u64 {
        self.progress().requests
    }

    pub(super) fn step(&self) -> usize {
        self.progress().step
    }

    /// Goes on to the model's next content; its place among the facts, if there is one.
    fn next_answer(&self, progress: &mut Progress) -> Option<usize> {
        let facts = &self.script.facts;
        // The last answer is itself a part of what the next request holds.
        let from = progress.played + usize::from(progress.step > 0);
        let next = facts.iter().skip(from).position(|fact| matches!(fact, Fact::ModelContent(_)));
        let next = next.map(|offset| from + offset);
        for fact in facts.iter().take(next.unwrap_or(facts.len())).skip(progress.played) {
            let known = progress.conversation.contents.len();
            let seq = progress.conversation.seq + 1;
            progress.conversation.apply(&Record::new(seq, 0, fact.clone()));
            for (_, content) in progress.conversation.contents.iter().skip(known) {
                progress.chat.push(content.clone());
            }
        }
        progress.played = next.unwrap_or(facts.len());
        next
    }

    /// Finds the recorded call that is meant. Tools are not told ids: calls are known by name and arguments,
    /// and of equal ones the first that was not looked at yet. One that fits none has got its arguments from a
    /// person.
    fn find<T>(&self, name: &str, args: &Args, use_it: impl FnOnce(usize, &Call) -> T) -> Option<T> {
        let mut progress = self.progress();
        let step = self.script.steps.get(progress.step.checked_sub(1)?)?;
        let mut calls = step.calls.iter().enumerate().filter(|(_, call)| call.call.name == name);
        let fresh = calls.clone().find(|(_, call)| {
            call.call.invalid.is_none() && call.call.args == *args && !progress.prepared.contains(call.id())
        });
        let modified = |call: &Call| matches!(call.outcome, Some(Outcome::ModifyWithEditor { .. }));
        let (index, call) = fresh.or_else(|| calls.find(|(_, call)| modified(call)))?;
        progress.prepared.insert(call.id().to_owned());
        Some(use_it(index, call))
    }
}

/// Gives out the recorded answers, after checking that it is asked what it was asked then.
pub(super) struct RecordedModel {
    stage: Arc<Stage>,
    wire: Wire,
}

impl RecordedModel {
    pub(super) fn new(stage: Arc<Stage>, wire: Wire) -> Self {
        Self { stage, wire }
    }

    fn answer(&self, request: &GenerateRequest) -> Result<ChunkStream, LlmError> {
        let script = &self.stage.script;
        let mut progress = self.stage.progress();
        progress.requests += 1;
        let next = self.stage.next_answer(&mut progress);
        if let Some((expected, got)) = other_request(&progress.chat.curated(), &request.contents) {
            let what = "the model is asked something else".to_owned();
            return Err(self.differs(progress.step, what, expected, got));
        }
        if let Some(place) = next
            && let Some(Fact::ModelContent(said)) = script.facts.get(place)
        {
            progress.step += 1;
            progress.prepared.clear();
            let chunk = stream::iter([Ok(StreamEvent::Chunk(chunk(said)))]);
            return Ok(match script.cancel_at == Some(place) {
                true => Box::pin(chunk.chain(self.silence())),
                false => Box::pin(chunk),
            });
        }
        if let Some(error) = script.error() {
            return Err(error);
        }
        if script.is_open() || script.cancel_at.is_some() {
            return Ok(self.silence());
        }
        let what = "the model is asked once more than recorded".to_owned();
        Err(self.differs(progress.step, what, Value::Null, json!("a request")))
    }

    fn differs(&self, step: usize, what: String, expected: Value, got: Value) -> LlmError {
        let difference = Difference { turn: self.stage.script.turn, step: step + 1, what, expected, got };
        // Nobody hears it when the replay is over; then it does not matter.
        let _ = self.wire.send(Heard::Difference(Box::new(difference)));
        LlmError::new(LlmErrorKind::Cancelled, "the replay is over")
    }

    /// A stream in which nothing more comes.
    fn silence(&self) -> ChunkStream {
        let wire = self.wire.clone();
        Box::pin(stream::once(async move {
            let _ = wire.send(Heard::ModelWaits);
            std::future::pending().await
        }))
    }
}

fn unsupported<T>() -> Result<T, LlmError> {
    Err(LlmError::new(LlmErrorKind::NotSupported, "a recording only answers as it did"))
}

impl ContentGenerator for RecordedModel {
    fn generate<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(std::future::ready(unsupported()))
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }

    fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(std::future::ready(unsupported()))
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(std::future::ready(unsupported()))
    }
}

/// The first content in which two requests differ.
fn other_request(expected: &[Arc<Content>], got: &[Arc<Content>]) -> Option<(Value, Value)> {
    let json = |content: Option<&Arc<Content>>| serde_json::to_value(content).unwrap_or(Value::Null);
    for index in 0..expected.len().max(got.len()) {
        let (recorded, now) = (expected.get(index), got.get(index));
        let same = match (recorded, now) {
            (Some(recorded), Some(now)) => Arc::ptr_eq(recorded, now) || recorded == now,
            _ => false,
        };
        if !same {
            return Some((json(recorded), json(now)));
        }
    }
    None
}

fn chunk(said: &ModelContent) -> GenerateResponse {
    let candidate = Candidate {
        content: Some((*said.content).clone()),
        finish_reason: said.finish.clone(),
        ..Candidate::default()
    };
    GenerateResponse {
        candidates: vec![candidate],
        usage_metadata: said.usage.clone(),
        ..GenerateResponse::default()
    }
}

/// Has a tool for every name; each gives the recorded results and does nothing.
pub(super) struct RecordedTools(pub(super) Arc<Stage>);

impl Toolbox for RecordedTools {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let declaration = FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() };
        Some(Arc::new(RecordedTool { stage: self.0.clone(), declaration: Arc::new(declaration) }))
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        Vec::new()
    }

    fn nearest(&self, _: &str) -> Option<String> {
        None
    }
}

struct RecordedTool {
    stage: Arc<Stage>,
    declaration: Arc<FunctionDeclaration>,
}

/// What becomes of a call when its arguments are looked at.
enum Fate {
    Runs(Box<RecordedCall>),
    Refused(ToolError),
    NeverJudged,
}

impl Tool for RecordedTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let script = &self.stage.script;
            let step = self.stage.step().saturating_sub(1);
            let found = self.stage.find(&self.declaration.name, &args, |index, call| {
                let shared = script.steps.get(step).is_some_and(|step| step.is_shared(index));
                first_part(script, call, shared)
            });
            match found {
                Some(Fate::Runs(call)) => Ok(call as Box<dyn Invocation>),
                Some(Fate::Refused(problem)) => Err(problem),
                Some(Fate::NeverJudged) => std::future::pending().await,
                None => Err(ToolError::new(ToolErrorKind::Internal, "this call is not recorded")),
            }
        })
    }
}

fn first_part(script: &TurnScript, call: &Call, shared: bool) -> Fate {
    let output = call.ended.as_ref().map(|(_, ended)| output(ended));
    let modified = matches!(call.outcome, Some(Outcome::ModifyWithEditor { .. }));
    if call.started.is_none() && (call.asked.is_none() || modified) {
        let cancelled = call.ended.as_ref().is_some_and(|(_, ended)| ended.status == CallStatus::Cancelled);
        return match output {
            Some(ToolOutput { error: Some(problem), .. }) if !cancelled => Fate::Refused(problem),
            // Its turn ended, or its process died, before anything became of it.
            _ => Fate::NeverJudged,
        };
    }
    let lane = if shared { Lane::Shared } else { Lane::Exclusive };
    let plan = plan(call, lane);
    Fate::Runs(Box::new(RecordedCall { plan, output, waits_for_cancel: script.waits_for_cancel(call) }))
}

/// The plan that makes the engine ask what it asked then. The call's id rides along as an effect, so that
/// the rules know which call they judge.
fn plan(call: &Call, lane: Lane) -> Plan {
    let mut plan = Plan {
        tool: call.call.name.clone(),
        args: Args::new(),
        title: call.call.name.clone(),
        effects: vec![Effect::Unclear { what: call.id().to_owned(), reason: String::new() }],
        preview: Preview::None,
        lane,
    };
    let Some(asked) = &call.asked else { return plan };
    let confirmation = &asked.confirmation;
    plan.tool.clone_from(&confirmation.tool);
    plan.title.clone_from(&confirmation.title);
    match confirmation.detail.clone() {
        ConfirmationDetail::Exec { command, cwd } => plan.preview = Preview::Command { command, cwd },
        ConfirmationDetail::Edit { path, diff, before, after } => {
            plan.preview = Preview::Diff { path, before, after, diff };
        }
        ConfirmationDetail::Info { text, urls } => {
            plan.preview = Preview::Text { text };
            plan.effects.extend(urls.into_iter().map(|host| Effect::Net { host }));
        }
        ConfirmationDetail::Mcp { server, tool, .. } => plan.effects.push(Effect::Mcp { server, tool }),
        ConfirmationDetail::AskUser { questions } => plan.preview = Preview::Questions { questions },
    }
    plan
}

struct RecordedCall {
    plan: Plan,
    /// None when the process died while it ran.
    output: Option<ToolOutput>,
    waits_for_cancel: bool,
}

impl Invocation for RecordedCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the person changed is not known here, only that the call came back with it.
    fn args_for_content(&self, content: &str) -> Option<Args> {
        Some(Args::from_iter([("content".to_owned(), content.into())]))
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            if self.waits_for_cancel {
                cx.cancelled.await;
            }
            match self.output {
                Some(output) => output,
                None => std::future::pending().await,
            }
        })
    }
}

/// The output that a recorded end came from. What the loop guard added to it is left out: it adds it again.
fn output(ended: &CallEnded) -> ToolOutput {
    let text = ended.response.to_text();
    let text = LoopGuard::without_note(&text);
    let mut output = ToolOutput {
        display: ended.display.clone(),
        changes: ended.changes.clone(),
        whole_output: ended.whole_output.clone(),
        ..ToolOutput::default()
    };
    if ended.status == CallStatus::Success {
        output.content.extend((!text.is_empty()).then(|| Part::text(text)));
        output.content.extend(ended.response.parts.iter().cloned());
    } else {
        let kind = match ended.status {
            CallStatus::Cancelled => ToolErrorKind::Cancelled,
            _ => ended.error.unwrap_or(ToolErrorKind::Other),
        };
        output.error = Some(ToolError::new(kind, text));
    }
    output
}

/// Judges as recorded: what was asked about is asked about, what ran may run. Rules that an answer adds
/// allow the questions that named them.
pub(super) struct RecordedRules {
    stage: Arc<Stage>,
    added: Vec<String>,
}

impl RecordedRules {
    pub(super) fn new(stage: Arc<Stage>) -> Self {
        Self { stage, added: Vec::new() }
    }

    fn covers(&self, confirmation: &Confirmation) -> bool {
        let Some(rules) = &confirmation.always else { return false };
        !self.added.is_empty() && rules.lines().all(|line| self.added.iter().any(|added| added == line))
    }
}

impl Policy for RecordedRules {
    fn judge(&self, plan: &Plan, _: ApprovalMode) -> Verdict {
        let id = plan.effects.iter().find_map(|effect| match effect {
            Effect::Unclear { what, .. } => Some(what.as_str()),
            _ => None,
        });
        let step = self.stage.script.steps.get(self.stage.step().saturating_sub(1));
        let mut calls = step.into_iter().flat_map(|step| &step.calls);
        let call = calls.find(|call| Some(call.id()) == id);
        match call.and_then(|call| call.asked.as_ref()) {
            Some(asked) if !self.covers(&asked.confirmation) => verdict(&asked.confirmation),
            _ => Verdict::Allow { rule: "recorded".to_owned() },
        }
    }

    fn with_rules(&self, toml: &str) -> Result<Arc<dyn Policy>, String> {
        let added = self.added.iter().cloned().chain(toml.lines().map(str::to_owned)).collect();
        Ok(Arc::new(Self { stage: self.stage.clone(), added }))
    }
}

/// The verdict that a recorded question came from.
fn verdict(confirmation: &Confirmation) -> Verdict {
    let rule = confirmation.rule.clone();
    if confirmation.reasons.is_empty() {
        return Verdict::Allow { rule };
    }
    // The rules were joined line by line. Where one had several lines it does not matter which part they are
    // given to: joined again they are the same.
    let lines: Vec<&str> = confirmation.always.iter().flat_map(|rules| rules.split('\n')).collect();
    let first = (lines.len() + 1).saturating_sub(confirmation.reasons.len());
    let mut rules = lines.iter();
    let missing = confirmation.reasons.iter().enumerate().map(|(index, reason)| {
        let (what, reason) = reason.split_once(": ").unwrap_or((reason, ""));
        let count = if index == 0 { first } else { 1 };
        let own: Vec<&str> = rules.by_ref().take(count).copied().collect();
        let always = confirmation.always.is_some().then(|| own.join("\n"));
        Missing { what: what.to_owned(), reason: reason.to_owned(), always }
    });
    Verdict::Ask { rule, missing: missing.collect() }
}
