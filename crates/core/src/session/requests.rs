//! Requests: what people and programs ask of a session, whatever it is doing.

use std::sync::Arc;

use charla_proto::text::one_line;
use charla_proto::{
    ApprovalMode, CallAsked, CancelTarget, Command, CompressionTrigger, Content, Delivery, Fact,
    GrantRevoked, ModeChanged, ModelChanged, Outcome, PromptQueued, PromptWithdrawn, QueuedPrompt, Record,
    Refusal, Reply, Request, Role, Room, RulesSaved, SessionSnapshot, TurnEvent,
};
use tokio::sync::oneshot;

use super::approvals::misfit;
use super::client_calls::{ClientCalls, Wanted};
use super::compaction::Compaction;
use super::ending::Stop;
use super::hooking::Hooking;
use super::host::BoundModel;
use super::inbox::{Asked, Message};
use super::prompts::Prompts;
use super::questions::answered;
use super::reverting::Reverting;
use super::turn::{Next, Session};

/// What a request means for whatever the session is waiting for.
pub(super) enum Signal {
    /// It concerns nothing that is waited for.
    Nothing,
    /// The running turn is to stop.
    Cancel { by: String },
    /// A question is answered.
    Answer(Answer),
}

/// An answer to a question, and where its reply goes.
pub(super) struct Answer {
    pub(super) approval: String,
    pub(super) outcome: Outcome,
    pub(super) by: String,
    pub(super) reply: oneshot::Sender<Reply>,
}

/// Takes requests on behalf of a session.
pub(super) struct Requests<'a>(pub(super) &'a mut Session);

impl Requests<'_> {
    pub(super) async fn take(&mut self, message: Message) -> Result<Signal, Stop> {
        match message {
            Message::Request(asked) => self.request(asked).await,
            Message::View(reply) => {
                self.0.hooks.watched = true;
                let _ = reply.send((self.snapshot(), self.0.ledger.subscribe()));
                Ok(Signal::Nothing)
            }
            Message::Close(closer, reason) => {
                self.0.hooks.end = reason;
                self.0.inbox.close(closer);
                Ok(Signal::Nothing)
            }
            Message::Finished(finished) => {
                ClientCalls(self.0).finished(finished).await?;
                Ok(Signal::Nothing)
            }
            Message::Bound { wish, bound, asked } => {
                self.bound(wish, bound, asked).await?;
                Ok(Signal::Nothing)
            }
        }
    }

    async fn request(&mut self, asked: Asked) -> Result<Signal, Stop> {
        let Asked { request: Request { by, command }, reply } = asked;
        let answer = match command {
            Command::Prompt { content, delivery } => self.prompt(content, delivery, by).await?,
            Command::Continue => self.go_on(),
            Command::Cancel { target } => return self.cancel(target, by, reply).await,
            Command::Answer { approval, outcome } => {
                return Ok(Signal::Answer(Answer { approval, outcome, by, reply }));
            }
            Command::SetMode { mode } => return self.set_mode(mode, by, reply).await,
            Command::SetModel { model } => {
                let request = Request { by, command: Command::SetModel { model: model.clone() } };
                self.bind(model, Asked { request, reply });
                return Ok(Signal::Nothing);
            }
            Command::RunTool { name, args, for_prompt, if_allowed } => {
                let wanted = Wanted { name, args, for_prompt, if_allowed };
                ClientCalls(self.0).run(wanted, by).await?
            }
            Command::SaveRules { rules } => match self.save_rules(&rules, &by).await? {
                Ok(place) => Reply::Saved { place },
                Err(message) => Reply::Refused(Refusal::Failed { message }),
            },
            Command::Revoke { approval } => self.revoke(approval, by).await?,
            Command::Refresh => {
                self.0.binding.host.clone().refresh().await;
                self.0.binding.forget();
                Reply::Done
            }
            Command::HandOver => {
                if self.0.inbox.hand_over.ask(&by, reply) {
                    self.0.ledger.show(TurnEvent::HandOverAsked { by: one_line(&by) });
                }
                return Ok(Signal::Nothing);
            }
            Command::Keep => self.0.inbox.hand_over.keep(),
            // The rest changes what a running turn stands on: it waits for the turn's end.
            command => {
                self.0.inbox.later.push_back(Asked { request: Request { by, command }, reply });
                return Ok(Signal::Nothing);
            }
        };
        let _ = reply.send(answer);
        Ok(Signal::Nothing)
    }

    /// Another mode holds, and perhaps another model answers in it: then that is waited for by whoever asked.
    async fn set_mode(
        &mut self,
        mode: ApprovalMode,
        by: String,
        reply: oneshot::Sender<Reply>,
    ) -> Result<Signal, Stop> {
        let session = &mut *self.0;
        let changes = session.ledger.conversation.mode != mode;
        if changes {
            let fact = ModeChanged { mode, by: Some(by.clone()) };
            session.ledger.commit_one(Fact::ModeChanged(fact)).await?;
        }
        let binding = &session.binding;
        match changes.then(|| binding.host.model_for(mode, &binding.model.reference)).flatten() {
            Some(model) => {
                let request = Request { by, command: Command::SetMode { mode } };
                self.bind(model, Asked { request, reply });
            }
            None => drop(reply.send(Reply::Done)),
        }
        Ok(Signal::Nothing)
    }

    /// A prompt is durable before it is acknowledged: as the beginning of a turn, or as one that waits.
    async fn prompt(&mut self, content: Content, delivery: Delivery, by: String) -> Result<Reply, Stop> {
        if let Some(problem) = content.prompt_problem() {
            let why = format!("{problem}, so nothing was said");
            return Ok(Reply::Refused(Refusal::Nothing { why }));
        }
        let content = Arc::new(Content { role: Role::User, ..content });
        let session = &mut *self.0;
        let conversation = &session.ledger.conversation;
        let waits = conversation.turn.is_some() || !conversation.queue.is_empty();
        let id = session.ledger.next_id("p");
        let prompt = id.clone();
        if waits {
            let fact = PromptQueued { prompt: id, content, delivery, by };
            session.ledger.commit_one(Fact::PromptQueued(fact)).await?;
        } else {
            Prompts(session).start_turn(QueuedPrompt { id, content, delivery, by }).await?;
        }
        if session.next == Next::Wait {
            session.next = Next::GoOn;
        }
        Ok(Reply::Prompted { prompt, waits })
    }

    fn go_on(&mut self) -> Reply {
        let conversation = &self.0.ledger.conversation;
        if conversation.turn.is_none() && conversation.queue.is_empty() {
            let why = "no turn is open: there is nothing to go on with".to_owned();
            return Reply::Refused(Refusal::Nothing { why });
        }
        if self.0.next == Next::Wait {
            self.0.next = Next::GoOn;
        }
        Reply::Done
    }

    /// Stops what is named and nothing else: a prompt of somebody else is never dropped along the way.
    async fn cancel(
        &mut self,
        target: CancelTarget,
        by: String,
        reply: oneshot::Sender<Reply>,
    ) -> Result<Signal, Stop> {
        let queue = &self.0.ledger.conversation.queue;
        let withdrawn: Vec<String> = match &target {
            CancelTarget::Turn => Vec::new(),
            CancelTarget::Call(call) => {
                let is_stopped = ClientCalls(self.0).cancel(call);
                let unknown = Refusal::Unknown { what: format!("running call `{call}` of a client") };
                let _ = reply.send(if is_stopped { Reply::Done } else { Reply::Refused(unknown) });
                return Ok(Signal::Nothing);
            }
            CancelTarget::Mine => {
                queue.iter().filter(|queued| queued.by == by).map(|queued| queued.id.clone()).collect()
            }
            CancelTarget::Prompt(prompt) if queue.iter().any(|queued| queued.id == *prompt) => {
                vec![prompt.clone()]
            }
            CancelTarget::Prompt(prompt) => {
                let what = format!("waiting prompt `{prompt}`");
                let _ = reply.send(Reply::Refused(Refusal::Unknown { what }));
                return Ok(Signal::Nothing);
            }
        };
        if !withdrawn.is_empty() {
            let fact = |prompt| Fact::PromptWithdrawn(PromptWithdrawn { prompt, by: by.clone() });
            self.0.ledger.commit(withdrawn.into_iter().map(fact).collect()).await?;
        }
        if target == CancelTarget::Mine {
            ClientCalls(self.0).cancel_of(&by);
        }
        let _ = reply.send(Reply::Done);
        Ok(match target {
            CancelTarget::Prompt(_) | CancelTarget::Call(_) => Signal::Nothing,
            CancelTarget::Turn | CancelTarget::Mine => Signal::Cancel { by },
        })
    }

    /// Asks the host for another model; the session goes on meanwhile.
    pub(super) fn bind(&mut self, model: String, asked: Asked) {
        let binding = &mut self.0.binding;
        binding.wishes += 1;
        let (wish, host, sender) = (binding.wishes, binding.host.clone(), self.0.inbox.sender.clone());
        tokio::spawn(async move {
            let bound = host.bind(&model).await.map(Box::new);
            // A session that has ended needs no model.
            if let Some(sender) = sender.upgrade() {
                let _ = sender.send(Box::new(Message::Bound { wish, bound, asked })).await;
            }
        });
    }

    async fn bound(
        &mut self,
        wish: u64,
        bound: Result<Box<BoundModel>, String>,
        asked: Asked,
    ) -> Result<(), Stop> {
        let session = &mut *self.0;
        let reply = match bound {
            // The mode holds all the same.
            Err(message) if matches!(asked.request.command, Command::SetMode { .. }) => {
                let current = &session.binding.model.reference;
                let message = format!("the model of this mode cannot be had ({message}); {current} goes on");
                session.ledger.show(TurnEvent::Notice { message });
                Reply::Done
            }
            Err(message) => Reply::Refused(Refusal::Failed { message }),
            Ok(_) if wish != session.binding.wishes => {
                let why = "another model was chosen meanwhile".to_owned();
                Reply::Refused(Refusal::Nothing { why })
            }
            Ok(model) => {
                let reference = model.reference.clone();
                session.binding.bind(*model);
                if session.ledger.conversation.model != reference {
                    let fact = ModelChanged { model: reference, by: Some(asked.request.by.clone()) };
                    session.ledger.commit_one(Fact::ModelChanged(fact)).await?;
                }
                Reply::Done
            }
        };
        asked.reply(reply);
        Ok(())
    }

    /// What waited for the end of a turn.
    pub(super) async fn between_turns(&mut self, asked: Asked) -> Result<(), Stop> {
        let by = asked.request.by.clone();
        let reply = match &asked.request.command {
            Command::Compress => {
                if Hooking(self.0).pre_compress(CompressionTrigger::Manual).await?.is_none() {
                    Compaction::new(self.0).compress().await?;
                }
                Reply::Done
            }
            Command::Restore => {
                Compaction::new(self.0).restore(by).await?;
                Reply::Done
            }
            Command::Undo(selection) => Reverting::new(self.0, by).undo(selection).await?,
            Command::Redo(selection) => Reverting::new(self.0, by).redo(selection).await?,
            Command::Rewind { to, files } => Reverting::new(self.0, by).rewind(*to, *files).await?,
            command => Reply::Refused(Refusal::Unknown { what: format!("such command: {command:?}") }),
        };
        asked.reply(reply);
        Ok(())
    }

    /// Keeps rules for every session; what cannot be kept still holds for this one.
    pub(super) async fn save_rules(&mut self, rules: &str, by: &str) -> Result<Result<String, String>, Stop> {
        if let Err(problem) = self.0.approvals.check_rules(rules) {
            return Ok(Err(format!("these are no rules: {problem}")));
        }
        let saved = self.0.binding.host.clone().save_rules(rules).await;
        match &saved {
            Ok(place) => {
                let (rules, place, by) = (rules.to_owned(), place.clone(), by.to_owned());
                self.0.ledger.commit_one(Fact::RulesSaved(RulesSaved { rules, place, by })).await?;
            }
            Err(problem) => {
                let message = format!("{problem}; the rule holds for this session only");
                self.0.ledger.show(TurnEvent::Notice { message });
            }
        }
        Ok(saved)
    }

    /// Takes back what an answer allowed for good: calls that have not begun are judged without it.
    async fn revoke(&mut self, approval: String, by: String) -> Result<Reply, Stop> {
        let session = &mut *self.0;
        let mut held = session.ledger.conversation.grants.iter();
        let Some(granted) = held.find(|granted| granted.approval == approval) else {
            let what = format!("grant by the answer to `{approval}`");
            return Ok(Reply::Refused(Refusal::Unknown { what }));
        };
        let fact = GrantRevoked { approval, grant: granted.grant.clone(), by, saved: granted.saved };
        session.ledger.commit_one(Fact::GrantRevoked(Box::new(fact))).await?;
        session.approvals.keep_only(&session.ledger.conversation.grants);
        Ok(Reply::Done)
    }

    /// The question of this id, if it waits for an answer.
    pub(super) async fn question(&mut self, approval: &str) -> Result<Result<Arc<CallAsked>, Refusal>, Stop> {
        let turn = self.0.ledger.conversation.turn.as_ref();
        let open = turn.and_then(|turn| turn.questions().find(|open| open.asked.approval == approval));
        if let Some(open) = open {
            return Ok(match &open.answer {
                None => Ok(open.asked.clone()),
                Some((outcome, by)) => Err(Refusal::Late { outcome: outcome.clone(), by: by.clone() }),
            });
        }
        Ok(Err(self.who_won(approval).await))
    }

    /// The answer to a question of long ago, from the journal.
    async fn who_won(&mut self, approval: &str) -> Refusal {
        let unknown = Refusal::Unknown { what: format!("question `{approval}`") };
        let wanted = approval.to_owned();
        let find = move |found: &mut Option<Refusal>, record: &Record| {
            if let Fact::ApprovalAnswered(answered) = &record.fact
                && answered.approval == wanted
                && found.is_none()
            {
                let (outcome, by) = (answered.outcome.clone(), answered.by.clone());
                *found = Some(Refusal::Late { outcome, by });
            }
        };
        let found = self.0.ledger.read(None, find).await;
        found.ok().flatten().flatten().unwrap_or(unknown)
    }

    /// An answer that comes while no calls are under way: to a question of a turn that is not gone on with, or
    /// too late. Such an answer is recorded; it takes effect when the turn goes on.
    pub(super) async fn answer_outside_calls(&mut self, answer: Answer) -> Result<(), Stop> {
        let Answer { approval, outcome, by, reply } = answer;
        let replied = match self.question(&approval).await? {
            Err(refusal) => Reply::Refused(refusal),
            Ok(asked) => {
                let needs_tool = matches!(outcome, Outcome::ModifyWithEditor { .. });
                let why = needs_tool.then_some("nothing runs here; give the arguments instead");
                match misfit(&outcome, &asked).or(why) {
                    Some(why) => Reply::Refused(Refusal::DoesNotFit { why: why.to_owned() }),
                    None => {
                        self.answer_stored(&asked, outcome, &by).await?;
                        Reply::Done
                    }
                }
            }
        };
        let _ = reply.send(replied);
        Ok(())
    }

    async fn answer_stored(&mut self, asked: &CallAsked, outcome: Outcome, by: &str) -> Result<(), Stop> {
        let args = match &outcome {
            Outcome::Modify { args } => Some(args.clone()),
            _ => None,
        };
        let saves = outcome == Outcome::ProceedAlwaysAndSave;
        let known = self.0.ledger.conversation.grants.len();
        let fact = answered(asked.approval.clone(), outcome, by, args);
        self.0.ledger.commit_one(fact).await?;
        let granted = self.0.ledger.conversation.grants.iter().skip(known);
        granted.for_each(|granted| self.0.approvals.take(&granted.grant));
        if let (true, Some(rules)) = (saves, &asked.confirmation.always) {
            let _ = self.save_rules(rules, by).await?;
        }
        Ok(())
    }

    fn snapshot(&self) -> SessionSnapshot {
        let session = &*self.0;
        let running = session.ledger.publisher.running.clone();
        let window = session.binding.model.window;
        let snapshot = SessionSnapshot::of(&session.ledger.conversation);
        let room = Room { window, ..snapshot.room };
        SessionSnapshot { phase: session.phase, running, room, ..snapshot }
    }
}
