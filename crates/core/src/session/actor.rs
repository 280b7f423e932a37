//! The loop: the only place where a conversation goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, CallStatus, Content, ContentGenerator, Fact, FunctionResponse, GenerateRequest,
    GenerateResponse, JournalError, LlmError, ModeChanged, ModelContent, Part, PartKind, Policy, Role, Tool,
    ToolContext, ToolErrorKind, TurnEnd, TurnEnded, TurnEvent, TurnStarted, UsageMetadata,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::approvals::Grants;
use super::ledger::Ledger;
use super::room::Summary;
use super::tools::ended;
use super::{Command, Delta, Limits};
use crate::Turn;
use crate::chat::NO_RESULT;
use crate::compress::{Compression, Counter};
use crate::loop_guard::LoopGuard;
use crate::scheduler::{Happening, Scheduler};
use crate::undo::note_for_model;

/// How long a cancelled tool may take to stop before it is ended.
pub(super) const GRACE: Duration = Duration::from_millis(400);

/// What does not change while a session runs.
pub(super) struct Settings {
    pub(super) generator: Arc<dyn ContentGenerator>,
    pub(super) toolbox: Arc<dyn Toolbox>,
    pub(super) policy: Arc<dyn Policy>,
    pub(super) tool_context: Arc<ToolContext>,
    pub(super) template: GenerateRequest,
    pub(super) limits: Limits,
    pub(super) somebody_to_ask: bool,
    pub(super) isolation: String,
    pub(super) window: Option<(u32, Counter)>,
    pub(super) compression: Compression,
}

/// What the session waits for.
pub(super) enum Phase {
    /// A prompt.
    Idle,
    /// The model.
    Asking(Box<Turn>, CancellationToken),
    /// Tools, and people.
    Calls(Box<Scheduler>),
    /// A summary of the older part.
    Summing(Box<Summary>),
}

pub(super) struct Actor {
    pub(super) settings: Settings,
    pub(super) ledger: Ledger,
    commands: mpsc::Receiver<Command>,
    waiting: VecDeque<Waiting>,
    pub(super) phase: Phase,
    pub(super) grants: Grants,
    pub(super) guard: LoopGuard,
    /// Why the turn ends once its calls are done.
    pub(super) ending: Option<(TurnEnd, Option<String>)>,
    /// When cancelled tools are ended by force.
    pub(super) abort_at: Option<Instant>,
    spent: UsageMetadata,
    /// Summaries asked for on behalf of the current prompt.
    pub(super) summaries: u32,
    /// How often the provider refused the current prompt as too long.
    pub(super) refusals: u32,
}

/// What waits for the end of a turn.
enum Waiting {
    Prompt(Content),
    Compress,
    Restore,
}

/// What the loop woke up for.
enum Wake {
    Command(Option<Command>),
    Model(Option<TurnEvent>),
    Tools(Happening),
    Summary(Result<GenerateResponse, LlmError>),
    Abort,
}

impl Actor {
    pub(super) fn new(settings: Settings, ledger: Ledger, commands: mpsc::Receiver<Command>) -> Self {
        Self {
            settings,
            ledger,
            commands,
            waiting: VecDeque::new(),
            phase: Phase::Idle,
            grants: Grants::default(),
            guard: LoopGuard::default(),
            ending: None,
            abort_at: None,
            spent: UsageMetadata::default(),
            summaries: 0,
            refusals: 0,
        }
    }

    pub(super) async fn run(mut self) {
        if self.recover().await.is_err() {
            return;
        }
        let mut closed = false;
        while !(closed && matches!(self.phase, Phase::Idle) && self.waiting.is_empty()) {
            let handled = match self.wake(closed).await {
                Wake::Command(Some(command)) => self.command(command).await,
                Wake::Command(None) => {
                    closed = true;
                    Ok(())
                }
                Wake::Model(event) => self.model_said(event).await,
                Wake::Tools(happening) => self.tool_happened(happening).await,
                Wake::Summary(answer) => self.summed(answer).await,
                Wake::Abort => {
                    self.abort_at = None;
                    if let Phase::Calls(scheduler) = &mut self.phase {
                        scheduler.abort();
                    }
                    Ok(())
                }
            };
            // The journal failed: subscribers know; nothing more may be done.
            if handled.is_err() {
                return;
            }
        }
    }

    async fn wake(&mut self, closed: bool) -> Wake {
        let abort_at = self.abort_at;
        let abort = async move {
            match abort_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let phase = async {
            match &mut self.phase {
                Phase::Idle => std::future::pending().await,
                Phase::Asking(turn, _) => Wake::Model(turn.next().await),
                Phase::Calls(scheduler) => Wake::Tools(scheduler.next().await),
                Phase::Summing(summary) => Wake::Summary((&mut summary.work).await),
            }
        };
        tokio::select! {
            biased;
            command = self.commands.recv(), if !closed => Wake::Command(command),
            () = abort => Wake::Abort,
            wake = phase => wake,
        }
    }

    /// Closes a turn that another process left open.
    async fn recover(&mut self) -> Result<(), JournalError> {
        let Some(turn) = &self.ledger.conversation.turn else { return Ok(()) };
        let number = turn.turn;
        let mut facts: Vec<Fact> = turn
            .calls
            .iter()
            .filter(|call| call.response.is_none())
            .map(|open| {
                let id = open.call.id.clone().unwrap_or_default();
                let response = FunctionResponse::error(id, open.call.name.clone(), NO_RESULT);
                let mut fact = ended(number, &open.call, CallStatus::Error, response);
                if let Fact::CallEnded(ended) = &mut fact {
                    ended.error = Some(match open.status {
                        CallStatus::AwaitingApproval => ToolErrorKind::NotApproved,
                        _ => ToolErrorKind::Interrupted,
                    });
                }
                fact
            })
            .collect();
        facts.push(turn_ended(number, TurnEnd::Interrupted, None));
        self.ledger.commit(facts).await
    }

    async fn command(&mut self, command: Command) -> Result<(), JournalError> {
        match command {
            Command::Prompt(content) => self.wait_for_turn(Waiting::Prompt(content)).await,
            Command::Cancel => self.cancel().await,
            Command::Answer { approval, outcome, by, reply } => {
                let answered = self.answer(&approval, outcome, by).await?;
                let _ = reply.send(answered);
                self.after_calls().await
            }
            Command::SetMode(mode) => self.set_mode(mode).await,
            Command::Compress => self.wait_for_turn(Waiting::Compress).await,
            Command::Restore => self.wait_for_turn(Waiting::Restore).await,
        }
    }

    async fn wait_for_turn(&mut self, waiting: Waiting) -> Result<(), JournalError> {
        self.waiting.push_back(waiting);
        self.next_prompt().await
    }

    async fn set_mode(&mut self, mode: ApprovalMode) -> Result<(), JournalError> {
        if self.ledger.conversation.mode == mode {
            return Ok(());
        }
        self.ledger.commit(vec![Fact::ModeChanged(ModeChanged { mode })]).await
    }

    pub(super) async fn next_prompt(&mut self) -> Result<(), JournalError> {
        if !matches!(self.phase, Phase::Idle) {
            return Ok(());
        }
        let mut prompt = loop {
            match self.waiting.pop_front() {
                None => return Ok(()),
                Some(Waiting::Prompt(prompt)) => break prompt,
                Some(Waiting::Restore) => self.restore().await?,
                Some(Waiting::Compress) => {
                    if self.compress() {
                        return Ok(());
                    }
                }
            }
        };
        // The model must not go on believing in files that the user has put back.
        if let Some(note) = note_for_model(&self.ledger.conversation) {
            prompt.parts.insert(0, Part::text(note));
        }
        let turn = self.ledger.conversation.turns + 1;
        self.guard = LoopGuard::default();
        self.spent = UsageMetadata::default();
        self.ending = None;
        self.summaries = 0;
        self.refusals = 0;
        let started = TurnStarted { turn, prompt: Arc::new(Content { role: Role::User, ..prompt }) };
        self.ledger.commit(vec![Fact::TurnStarted(started)]).await?;
        self.ask_model().await
    }

    /// Sends the conversation to the model, unless a limit says no.
    pub(super) async fn ask_model(&mut self) -> Result<(), JournalError> {
        if let Some((end, detail)) = self.limit_reached() {
            return self.end_turn(end, Some(detail)).await;
        }
        if !Box::pin(self.make_room()).await? {
            return Ok(());
        }
        let request = self.next_request();
        let cancel = CancellationToken::new();
        let turn = Turn::new(self.settings.generator.clone(), request, cancel.clone());
        self.phase = Phase::Asking(Box::new(turn), cancel);
        Ok(())
    }

    /// The request that would be sent now.
    pub(super) fn next_request(&self) -> GenerateRequest {
        let mut request = self.settings.template.clone();
        request.contents = self.ledger.chat.curated();
        let declarations = self.settings.toolbox.declarations();
        if !declarations.is_empty() {
            request.tools.push(Tool::functions(declarations));
        }
        request
    }

    /// Counts an answer towards the turn's limits.
    pub(super) fn spend(&mut self, usage: Option<&UsageMetadata>) {
        if let Some(usage) = usage {
            self.spent.add(usage);
        }
    }

    fn limit_reached(&self) -> Option<(TurnEnd, String)> {
        let limits = &self.settings.limits;
        let steps = self.ledger.conversation.turn.as_ref().map_or(0, |turn| turn.steps);
        if let Some(most) = limits.steps
            && steps >= most
        {
            return Some((TurnEnd::StepLimit, format!("the limit of {most} steps is reached")));
        }
        if let Some(most) = limits.tokens
            && self.spent.total() >= most
        {
            return Some((TurnEnd::TokenLimit, format!("the limit of {most} tokens is reached")));
        }
        if let Some((most, price)) = limits.cost
            && cost(&self.spent, price) >= most
        {
            return Some((TurnEnd::CostLimit, format!("the limit of ${most:.2} is reached")));
        }
        None
    }

    async fn model_said(&mut self, event: Option<TurnEvent>) -> Result<(), JournalError> {
        let Some(event) = event else { return Ok(()) };
        match event {
            TurnEvent::Content(text) => self.ledger.show(Delta::Content(text)),
            TurnEvent::Thought(text) => self.ledger.show(Delta::Thought(text)),
            TurnEvent::Citation(citation) => self.ledger.show(Delta::Citation(citation)),
            TurnEvent::Retry(notice) => self.ledger.show(Delta::Retry(notice)),
            TurnEvent::ModelSwitched { from, to, reason } => {
                self.ledger.show(Delta::ModelSwitched { from, to, reason });
            }
            // Calls are taken from the whole answer once it is recorded.
            TurnEvent::ToolCallRequest(_) => {}
            TurnEvent::Finished { .. } => return self.answer_complete().await,
            TurnEvent::UserCancelled => return self.answer_cancelled().await,
            TurnEvent::ContextOverflow(error) => return self.refused_as_too_long(error).await,
            TurnEvent::InvalidStream(error) | TurnEvent::Error(error) => {
                return self.fail_turn(&error).await;
            }
            _ => {}
        }
        Ok(())
    }

    async fn answer_complete(&mut self) -> Result<(), JournalError> {
        let Phase::Asking(turn, _) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        let response = turn.response().clone();
        let finish = response.finish_reason().cloned();
        let usage = response.usage_metadata;
        self.spend(usage.as_ref());
        let content = response.candidates.into_iter().next().and_then(|candidate| candidate.content);
        let mut content = content.unwrap_or_default();
        content.role = Role::Model;
        let calls: Vec<_> = content.function_calls().cloned().collect();
        let number = self.ledger.conversation.turns;
        let said = ModelContent { turn: number, content: Arc::new(content), finish, usage };
        self.ledger.commit(vec![Fact::ModelContent(Box::new(said))]).await?;
        if calls.is_empty() {
            return self.end_turn(TurnEnd::Finished, None).await;
        }
        let scheduler = Scheduler::new(calls, &self.settings.toolbox, &self.settings.tool_context);
        self.phase = Phase::Calls(Box::new(scheduler));
        Ok(())
    }

    /// What was shown before the cancellation stays in the conversation; half calls do not.
    async fn answer_cancelled(&mut self) -> Result<(), JournalError> {
        let Phase::Asking(turn, _) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        let number = self.ledger.conversation.turns;
        let content = turn.response().content().cloned().unwrap_or_default();
        let shown = content.parts.into_iter().filter(|part| !part.thought);
        let shown = shown.filter(|part| matches!(part.kind, PartKind::Text(_)));
        let kept = Content { role: Role::Model, parts: shown.collect(), ..Content::default() };
        if kept.is_valid() {
            let said = ModelContent { turn: number, content: Arc::new(kept), finish: None, usage: None };
            self.ledger.commit(vec![Fact::ModelContent(Box::new(said))]).await?;
        }
        self.end_turn(TurnEnd::Cancelled, None).await
    }

    async fn cancel(&mut self) -> Result<(), JournalError> {
        self.waiting.clear();
        match &mut self.phase {
            Phase::Idle => Ok(()),
            Phase::Asking(_, cancel) => {
                cancel.cancel();
                Ok(())
            }
            Phase::Calls(_) => self.cancel_calls().await,
            // Nothing has been changed yet: the summary is dropped with its request.
            Phase::Summing(_) if self.ledger.conversation.turn.is_some() => {
                self.end_turn(TurnEnd::Cancelled, None).await
            }
            Phase::Summing(_) => {
                self.give_up_summary();
                Ok(())
            }
        }
    }

    /// The calls of a step are all answered: goes on, or ends the turn.
    pub(super) async fn after_calls(&mut self) -> Result<(), JournalError> {
        let Phase::Calls(scheduler) = &self.phase else { return Ok(()) };
        if !scheduler.is_done() {
            return Ok(());
        }
        self.phase = Phase::Idle;
        self.abort_at = None;
        match self.ending.take() {
            Some((end, detail)) => self.end_turn(end, detail).await,
            None => self.ask_model().await,
        }
    }

    pub(super) async fn fail_turn(&mut self, error: &LlmError) -> Result<(), JournalError> {
        self.phase = Phase::Idle;
        let turn = self.ledger.conversation.turns;
        let detail = Some(error.to_string());
        let ended = TurnEnded { turn, end: TurnEnd::Error, detail, error: Some(error.kind) };
        self.ledger.show(Delta::Failed(error.clone()));
        self.ledger.commit(vec![Fact::TurnEnded(Box::new(ended))]).await?;
        Box::pin(self.next_prompt()).await
    }

    async fn end_turn(&mut self, end: TurnEnd, detail: Option<String>) -> Result<(), JournalError> {
        self.phase = Phase::Idle;
        let number = self.ledger.conversation.turns;
        self.ledger.commit(vec![turn_ended(number, end, detail)]).await?;
        Box::pin(self.next_prompt()).await
    }
}

fn turn_ended(turn: u64, end: TurnEnd, detail: Option<String>) -> Fact {
    Fact::TurnEnded(Box::new(TurnEnded { turn, end, detail, error: None }))
}

fn cost(usage: &UsageMetadata, [input, output, cached]: [f64; 3]) -> f64 {
    let read = usage.cached_content_token_count.unwrap_or(0);
    let fresh = usage.prompt_token_count.unwrap_or(0).saturating_sub(read);
    (fresh as f64 * input + read as f64 * cached + usage.output() as f64 * output) / 1e6
}
