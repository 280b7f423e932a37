//! What happens in a session, told to the editor as it happens; what happened before, where it is loaded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use charla::Failure;
use charla::json_rpc::Connection;
use charla_core::session::{SESSION, SessionHandle, Subscription};
use charla_proto::text::one_line;
use charla_proto::{
    CallAsked, CallEnded, CompressionTrigger, Content, Fact, FunctionCall, ModelContent, PartKind, Record,
    SessionEvent, TurnEnd, TurnEnded, TurnEvent, TurnStarted,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::ME;
use crate::call::{Call, plan};
use crate::hints;
use crate::options::Options;
use crate::permission::Asking;
use crate::questions::Questions;
use crate::turns::{End, Turns};

/// So many characters of a prompt are a session's title.
const TITLE: usize = 80;

/// Updates of one session, on their way to the editor.
#[derive(Clone)]
pub(crate) struct Updates {
    pub(crate) connection: Arc<Connection>,
    pub(crate) session: String,
    /// The editor has a place for notices.
    pub(crate) takes_notices: bool,
}

impl Updates {
    /// Tells the editor something of the session.
    pub(crate) async fn send(&self, update: Value) {
        let params = json!({"sessionId": self.session, "update": update});
        self.connection.notify("session/update", &params).await;
    }

    /// A piece of somebody's words.
    pub(crate) async fn chunk(&self, kind: &str, words: &str) {
        if !words.is_empty() {
            self.send(json!({"sessionUpdate": kind, "content": {"type": "text", "text": words}})).await;
        }
    }

    /// Words of the answer.
    pub(crate) async fn say(&self, words: &str) {
        self.chunk("agent_message_chunk", words).await;
    }

    /// Something a person should know: a notice where the editor has those, else a thought.
    pub(crate) async fn note(&self, severity: &str, words: &str) {
        if self.takes_notices {
            let notice = json!({"sessionUpdate": "notice", "severity": severity, "title": words});
            return self.send(notice).await;
        }
        self.chunk("agent_thought_chunk", &format!("[{words}]\n\n")).await;
    }
}

/// What of a session's past is told first.
pub(crate) struct Past {
    /// The last record of it.
    pub(crate) until: u64,
    /// It is shown, and not only looked at.
    pub(crate) shown: bool,
    /// Told once it is through.
    pub(crate) done: oneshot::Sender<()>,
    /// Comes once the editor knows of the session, and takes questions of it.
    pub(crate) is_known: oneshot::Receiver<()>,
}

/// Follows one session as long as it is open.
pub(crate) struct Feed {
    pub(crate) updates: Updates,
    pub(crate) handle: SessionHandle,
    pub(crate) cwd: PathBuf,
    pub(crate) asking: Arc<Asking>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) options: Arc<Options>,
    pub(crate) state: State,
}

/// What was told so far.
#[derive(Default)]
pub(crate) struct State {
    calls: HashMap<String, Call>,
    questions: Questions,
    /// The text of this step that was told.
    text: String,
    /// Thoughts of this step were told.
    thought: bool,
    failure: Option<Failure>,
    /// The past is being told.
    replays: bool,
}

impl Feed {
    /// Tells the past, and then whatever happens, until the session has ended.
    pub(crate) async fn run(mut self, mut events: Subscription, past: Option<Past>) {
        if let Some(past) = past {
            self.tell_past(&mut events, past).await;
        }
        while let Some(event) = events.recv().await {
            match event {
                SessionEvent::Record(record) => self.record(&record).await,
                SessionEvent::Turn(event) => self.transient(event).await,
                // What was lost comes with the record of the step.
                SessionEvent::Missed => {}
                SessionEvent::Broken(why) => self.turns.ended(&End::Failed(why)),
            }
        }
        self.turns.over();
    }

    async fn tell_past(&mut self, events: &mut Subscription, past: Past) {
        let mut records: Vec<Arc<Record>> = Vec::new();
        while records.last().is_none_or(|last| last.seq < past.until) {
            match events.recv().await {
                Some(SessionEvent::Record(record)) => {
                    if let Fact::Rewound(rewound) = &record.fact {
                        // What came after that point no longer counts.
                        records.retain(|earlier| earlier.seq <= rewound.to);
                    }
                    records.push(record);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.state.replays = true;
        for record in &records {
            match past.shown {
                true => self.record(record).await,
                false => self.look_at(record),
            }
        }
        self.state.replays = false;
        // Whoever waits may have given up.
        let _ = past.done.send(());
        let _ = past.is_known.await;
        for (asked, shown) in self.state.questions.unanswered() {
            let (asking, handle) = (self.asking.clone(), self.handle.clone());
            self.state.questions.put(asked, shown, asking, handle);
        }
    }

    /// Learns what calls and questions there are, without a word.
    fn look_at(&mut self, record: &Record) {
        match &record.fact {
            Fact::ModelContent(said) => {
                for call in said.content.function_calls() {
                    self.know(call, Call::new(call, &self.cwd));
                }
            }
            Fact::CallAsked(asked) => drop(self.asked(asked)),
            Fact::ApprovalAnswered(answered) => self.state.questions.close(&answered.approval),
            Fact::CallEnded(ended) => self.forget(&ended.call),
            Fact::TurnEnded(_) => self.turn_is_over(),
            _ => {}
        }
    }

    async fn record(&mut self, record: &Record) {
        match &record.fact {
            Fact::TurnStarted(started) => self.turn_started(started).await,
            Fact::PromptJoined(joined) => self.said(&joined.prompt, &joined.by, &joined.content).await,
            Fact::PromptWithdrawn(withdrawn) if !self.state.replays => {
                self.turns.withdrawn(&withdrawn.prompt);
            }
            Fact::ModelContent(said) => self.model_content(said).await,
            Fact::CallAsked(asked) => {
                let Some(shown) = self.asked(asked) else { return };
                let mut update = shown;
                if let Some(fields) = update.as_object_mut() {
                    fields.insert("sessionUpdate".to_owned(), json!("tool_call_update"));
                }
                self.updates.send(update).await;
            }
            Fact::ApprovalAnswered(answered) => self.state.questions.close(&answered.approval),
            Fact::CallStarted(started) => {
                if let Some(call) = self.state.calls.get(&started.call) {
                    self.updates.send(call.started()).await;
                }
            }
            Fact::ClientCallStarted(started) => self.call(&started.call).await,
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => self.call_ended(ended).await,
            Fact::ModeChanged(changed) => {
                self.options.set_mode(changed.mode);
                let mode = changed.mode.to_string();
                self.updates
                    .send(json!({"sessionUpdate": "current_mode_update", "currentModeId": mode}))
                    .await;
                self.tell_options().await;
            }
            Fact::ModelChanged(changed) => {
                self.options.set_model(&changed.model);
                self.tell_options().await;
            }
            Fact::TurnEnded(ended) => self.turn_ended(ended).await,
            _ => {}
        }
    }

    async fn tell_options(&self) {
        if !self.state.replays {
            let options = self.options.all();
            self.updates
                .send(json!({"sessionUpdate": "config_option_update", "configOptions": options}))
                .await;
        }
    }

    async fn transient(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Content { content, delta: true, .. } => {
                self.state.text.push_str(&content);
                self.updates.say(&content).await;
            }
            TurnEvent::Content { content, .. } => self.catch_up(&content).await,
            TurnEvent::Thought { content, .. } => {
                self.state.thought = true;
                self.updates.chunk("agent_thought_chunk", &content).await;
            }
            TurnEvent::ToolCallLive { call, content, .. } => {
                if let Some(call) = self.state.calls.get_mut(&call) {
                    let update = call.showed(&content);
                    self.updates.send(update).await;
                }
            }
            TurnEvent::Retry(_) if !self.state.text.is_empty() => {
                self.state.text.clear();
                // An editor cannot take text back.
                self.updates.say("\n\n[the answer broke off, and begins again]\n\n").await;
            }
            TurnEvent::Error { error }
            | TurnEvent::InvalidStream { error }
            | TurnEvent::ContextOverflow { error } => {
                self.state.failure = Some(Failure::from(&error));
            }
            TurnEvent::ModelSwitched(switch) => {
                let words = format!("{} goes on in place of {}: {}", switch.to, switch.from, switch.reason);
                self.updates.note("warning", &one_line(&words)).await;
            }
            TurnEvent::ChatCompressed(report) if report.trigger == CompressionTrigger::Auto => {
                let words = format!("made room: {} tokens before, {} after", report.before, report.after);
                self.updates.note("info", &words).await;
            }
            TurnEvent::HandOverAsked { by } => {
                let words =
                    format!("{by} asks to go on with this session elsewhere: close it here, and it is free");
                self.updates.note("warning", &words).await;
            }
            TurnEvent::Notice { message } => self.updates.note("warning", &one_line(&message)).await,
            TurnEvent::HookRan(ran) => {
                if let Some(words) = &ran.system_message {
                    self.updates.note("info", &one_line(words)).await;
                }
            }
            _ => {}
        }
    }

    async fn turn_started(&mut self, started: &TurnStarted) {
        if started.turn == 1 && !self.state.replays {
            let title: String = one_line(&started.prompt.text()).chars().take(TITLE).collect();
            self.updates.send(json!({"sessionUpdate": "session_info_update", "title": title})).await;
        }
        self.said(&started.id, &started.by, &started.prompt).await;
    }

    /// Somebody said something. What the editor's own user says it shows by itself.
    async fn said(&mut self, prompt: &str, by: &str, content: &Content) {
        if by == ME && !self.state.replays {
            return self.turns.said(prompt);
        }
        if by == SESSION {
            return;
        }
        for part in &content.parts {
            match &part.kind {
                PartKind::Text(words) => self.updates.chunk("user_message_chunk", words).await,
                PartKind::InlineData(blob) if blob.mime_type.starts_with("image/") => {
                    let image = json!({"type": "image", "mimeType": blob.mime_type, "data": blob.data});
                    self.updates.send(json!({"sessionUpdate": "user_message_chunk", "content": image})).await;
                }
                _ => {}
            }
        }
    }

    async fn model_content(&mut self, said: &ModelContent) {
        if !std::mem::take(&mut self.state.thought) {
            self.updates.chunk("agent_thought_chunk", &said.content.thoughts()).await;
        }
        self.catch_up(&said.content.text()).await;
        self.state.text.clear();
        for call in said.content.function_calls() {
            self.call(call).await;
        }
    }

    /// Tells what is missing of the step's text.
    async fn catch_up(&mut self, whole: &str) {
        let told = std::mem::replace(&mut self.state.text, whole.to_owned());
        match whole.strip_prefix(told.as_str()) {
            Some(rest) => self.updates.say(rest).await,
            // Pieces were lost on the way, or a hook has changed the answer.
            None => self.updates.say(&format!("\n\n{whole}")).await,
        }
    }

    fn know(&mut self, call: &FunctionCall, known: Call) {
        self.state.calls.insert(call.id.clone().unwrap_or_default(), known);
    }

    fn forget(&mut self, call: &str) {
        self.state.calls.remove(call);
        self.state.questions.close_of(call);
    }

    async fn call(&mut self, call: &FunctionCall) {
        let mut known = Call::new(call, &self.cwd);
        if self.asking.client.screens {
            known = known.on_a_screen(call);
        }
        self.updates.send(known.begun()).await;
        self.know(call, known);
    }

    /// A call waits for a person; the call as it is shown then.
    fn asked(&mut self, asked: &CallAsked) -> Option<Value> {
        let shown = self.state.calls.get_mut(&asked.call)?.asked(&asked.confirmation);
        if self.state.replays {
            self.state.questions.wait(asked.clone(), shown.clone());
        } else {
            let (asking, handle) = (self.asking.clone(), self.handle.clone());
            self.state.questions.put(asked.clone(), shown.clone(), asking, handle);
        }
        Some(shown)
    }

    async fn call_ended(&mut self, ended: &CallEnded) {
        if let Some(call) = self.state.calls.get(&ended.call) {
            if let Some(rest) = call.rest(ended) {
                self.updates.send(rest).await;
            }
            self.updates.send(call.ended(ended)).await;
        }
        if let Some(plan) = plan(ended) {
            self.updates.send(plan).await;
        }
        self.forget(&ended.call);
    }

    fn turn_is_over(&mut self) {
        self.state.questions.close_all();
        self.state.calls.clear();
        self.state.text.clear();
    }

    async fn turn_ended(&mut self, ended: &TurnEnded) {
        self.turn_is_over();
        let failure = self.state.failure.take();
        if self.state.replays {
            return;
        }
        let detail = ended.detail.clone().unwrap_or_default();
        let end = match ended.end {
            TurnEnd::Error => End::Failed(failure.map_or(detail, |error| hints::failure(&error))),
            end => End::Stopped(stop_reason(end)),
        };
        if matches!(&end, End::Stopped(reason) if *reason != "cancelled") && !ended.end.is_answer() {
            let words = ended.detail.as_deref().unwrap_or("the turn was ended");
            self.updates.say(&format!("\n\n[{}]", one_line(words))).await;
        }
        self.tell_usage().await;
        self.turns.ended(&end);
    }

    async fn tell_usage(&self) {
        let Some((snapshot, _)) = self.handle.snapshot().await else { return };
        if let (Some(usage), Some(window)) = (snapshot.room.usage, snapshot.room.window) {
            let update = json!({"sessionUpdate": "usage_update", "used": usage.total(), "size": window});
            self.updates.send(update).await;
        }
    }
}

/// The protocol's word for how a turn ended.
fn stop_reason(end: TurnEnd) -> &'static str {
    match end {
        TurnEnd::Cancelled | TurnEnd::Withdrawn => "cancelled",
        TurnEnd::Truncated | TurnEnd::TokenLimit => "max_tokens",
        TurnEnd::StepLimit | TurnEnd::CostLimit | TurnEnd::Loop => "max_turn_requests",
        TurnEnd::Blocked | TurnEnd::HookBlocked => "refusal",
        _ => "end_turn",
    }
}
