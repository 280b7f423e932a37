//! The conversation as it appears: records and events of a session become rows.
//!
//! It is a fold: it decides nothing. What is finished is handed out once, for the scrollback; the rest is live.

mod answer;
mod call;
mod ending;
mod recall;
mod said;

use std::sync::Arc;
use std::time::Instant;

use charla::engine;
use charla_core::session::SESSION;
use charla_proto::{
    ApprovalAnswered, Args, CallEnded, CallStatus, Content, Fact, FunctionCall, LlmError, ModelContent, NOTE,
    Record, Role as Speaker, SessionEvent, SessionSnapshot, TurnEvent,
};
use charla_terminal::wording;

use crate::markdown::{Form, Layout};
use crate::text::{Line, Role};
use answer::Answer;
use call::CallCell;
use recall::Recall;
pub use recall::first as first_recalled;
pub use said::files as files_in_words;

/// The states of the spinner, ten a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Where the spinner stands of something that began then.
pub fn spinner(began: Option<Instant>, now: Instant) -> &'static str {
    let tenths = began.map_or(0, |began| now.saturating_duration_since(began).as_millis() / 100);
    SPINNER[usize::try_from(tenths % 10).unwrap_or(0)]
}

/// How answers are laid out that are written in this form.
fn layout(columns: usize, form: Form) -> Layout {
    Layout { columns, links: true, form }
}

/// What a model of this name writes in: the built-in one hands on what tools return, to the letter.
fn form_of(model: &str) -> Form {
    if engine::is_built_in(model) { Form::Plain } else { Form::Markdown }
}

/// A session's conversation on a terminal.
pub struct Transcript {
    columns: usize,
    finished: Vec<Line>,
    /// The last row that was handed out is empty.
    is_parted: bool,
    answer: Answer,
    /// What the chosen model writes in.
    form: Form,
    calls: Vec<CallCell>,
    /// Calls that people made themselves and that run.
    client_calls: Vec<CallCell>,
    /// What the model said last, as it wrote it.
    last_answer: String,
    /// Why the turn is about to end.
    failure: Option<LlmError>,
    /// It was said how to get better answers than the built-in model's.
    advised: bool,
    /// Thoughts are shown in full.
    pub shows_thoughts: bool,
    /// Who speaks at this terminal.
    me: String,
}

impl Transcript {
    /// An empty conversation, for a terminal of this width at which `me` types.
    pub fn new(columns: usize, me: String) -> Self {
        Self {
            columns,
            finished: Vec::new(),
            is_parted: true,
            answer: Answer::new(layout(columns, Form::default())),
            form: Form::default(),
            calls: Vec::new(),
            client_calls: Vec::new(),
            last_answer: String::new(),
            failure: None,
            advised: false,
            shows_thoughts: false,
            me,
        }
    }

    /// Begins with a session as it is: the last turns of what was said, and what is under way.
    /// `records` are those of the turns that are shown again.
    pub fn begin(&mut self, snapshot: &SessionSnapshot, records: &[Arc<Record>], now: Instant) {
        self.advised = false;
        self.finished.extend(Recall::new(snapshot, records).lines(&self.me, self.columns));
        self.go_on(snapshot, now);
    }

    /// Goes on with a session whose conversation is shown already.
    pub fn go_on(&mut self, snapshot: &SessionSnapshot, now: Instant) {
        self.form = form_of(&snapshot.choices.model);
        self.answer = Answer::new(layout(self.columns, self.form));
        let answers = snapshot.contents.iter().rev().filter(|said| said.content.role == Speaker::Model);
        let mut answers = answers.map(|said| said.content.text());
        self.last_answer = answers.find(|words| !words.trim().is_empty()).unwrap_or_default();
        self.calls.clear();
        self.client_calls.clear();
        for made in snapshot.client_calls.iter().filter(|made| made.ended.is_none()) {
            self.client_call(&made.call, &made.by, now);
        }
        let step = &snapshot.running;
        if !step.thoughts.is_empty() {
            self.answer.think(&step.thoughts, None, false, now);
        }
        if !step.text.is_empty() {
            self.answer.say_all(&step.text, now);
        }
        for open in snapshot.calls.iter().filter(|open| open.response.is_none()) {
            let id = open.call.id.clone().unwrap_or_default();
            let mut cell = CallCell::new(&id, &open.call.name, &open.call.args);
            if let Some(question) = &open.approval {
                cell.asked(&question.asked.approval);
            }
            cell.status = open.status;
            if open.status == CallStatus::Executing {
                cell.started(now);
            }
            cell.live(step.live.get(&id).map_or("", String::as_str));
            self.calls.push(cell);
        }
    }

    /// Something happened in the session.
    pub fn take(&mut self, event: &SessionEvent, now: Instant) {
        match event {
            SessionEvent::Record(record) => self.record(record, now),
            SessionEvent::Turn(event) => self.event(event, now),
            SessionEvent::Missed => self.answer.lose(),
            SessionEvent::Broken(problem) => self.tell(Role::Failure, &format!("error: {problem}")),
        }
    }

    /// Adds rows below everything that is finished.
    pub fn print(&mut self, lines: Vec<Line>) {
        self.finished.extend(lines);
    }

    /// Adds words of ours.
    pub fn tell(&mut self, role: Role, words: &str) {
        let lines = words.lines().flat_map(|line| Line::of(role, line).wrap(self.columns));
        self.finished.extend(lines.collect::<Vec<_>>());
    }

    /// An empty row below what is finished, unless there is one.
    pub fn part(&mut self) {
        if !self.finished.last().map_or(self.is_parted, Line::is_empty) {
            self.finished.push(Line::new());
        }
    }

    /// The rows that are finished since this was asked last. `room` is how many live rows there is room for: what is
    /// over, and never changes, counts as finished.
    pub fn finished(&mut self, room: usize, now: Instant) -> Vec<Line> {
        let over = self.live(now).len().saturating_sub(room);
        if over > 0 {
            let spilled = self.answer.spill(over, self.shows_thoughts, now);
            self.finished.extend(spilled);
        }
        self.is_parted = self.finished.last().map_or(self.is_parted, Line::is_empty);
        std::mem::take(&mut self.finished)
    }

    /// The rows that may still change.
    pub fn live(&self, now: Instant) -> Vec<Line> {
        let calls =
            self.calls.iter().chain(&self.client_calls).flat_map(|call| call.lines(self.columns, now));
        self.answer.live(self.shows_thoughts, now).into_iter().chain(calls).collect()
    }

    /// True while a row shows passing time.
    pub fn is_moving(&self) -> bool {
        !self.answer.is_empty() || !self.calls.is_empty() || !self.client_calls.is_empty()
    }

    /// What the model said last, as it wrote it.
    pub fn last_answer(&self) -> &str {
        &self.last_answer
    }

    /// The call that the person at this terminal made last, of those that run.
    pub fn own_call(&self) -> Option<&str> {
        self.client_calls.iter().rev().find(|cell| cell.is_own).map(|cell| cell.id.as_str())
    }

    /// Somebody calls a tool themselves.
    fn client_call(&mut self, call: &FunctionCall, by: &str, now: Instant) {
        let mut cell = CallCell::of_client(call, (by != self.me).then_some(by));
        cell.started(now);
        self.client_calls.push(cell);
    }

    /// Such a call is over.
    fn client_call_ended(&mut self, ended: &CallEnded, now: Instant) {
        let Some(at) = self.client_calls.iter().position(|cell| cell.id == ended.call) else { return };
        let mut cell = self.client_calls.remove(at);
        cell.end(ended, now);
        self.finished.extend(cell.lines(self.columns, now));
        self.part();
    }

    /// True while a call runs.
    pub fn has_running(&self) -> bool {
        !self.client_calls.is_empty() || self.calls.iter().any(|call| call.status == CallStatus::Executing)
    }

    /// True while calls are under way.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The arguments of a call that is under way.
    pub fn arguments(&self, call: &str) -> Option<&Args> {
        self.calls.iter().find(|cell| cell.id == call).map(|cell| &cell.args)
    }

    /// The rows that never change and were not handed out, from the first on.
    pub fn settled(&self, now: Instant) -> Vec<Line> {
        let held = self.answer.settled(self.shows_thoughts, now);
        self.finished.iter().cloned().chain(held).collect()
    }

    /// So many of them stand where they belong.
    pub fn leave(&mut self, count: usize, now: Instant) {
        let finished = count.min(self.finished.len());
        let last = self.finished.drain(..finished).next_back();
        let held = self.answer.leave(count - finished, self.shows_thoughts, now);
        self.is_parted = held.or(last).map_or(self.is_parted, |line| line.is_empty());
    }

    /// The terminal has another width.
    pub fn resize(&mut self, columns: usize, now: Instant) {
        self.columns = columns;
        self.answer.resize(columns, now);
    }

    fn record(&mut self, record: &Record, now: Instant) {
        match &record.fact {
            Fact::TurnStarted(started) => {
                self.answer.set_form(self.form, now);
                self.prompted(&started.prompt, &started.by);
            }
            // What the session tells the model of what people did, they have seen.
            Fact::PromptJoined(joined) if joined.by == SESSION && is_note(&joined.content) => {}
            Fact::PromptJoined(joined) => self.prompted(&joined.content, &joined.by),
            Fact::ModelContent(said) => self.model_content(said, now),
            Fact::CallAsked(asked) => {
                if let Some(call) = self.call(&asked.call) {
                    call.asked(&asked.approval);
                }
            }
            Fact::ApprovalAnswered(answered) => self.answered(answered),
            Fact::CallStarted(started) => {
                if let Some(call) = self.call(&started.call) {
                    call.started(now);
                }
            }
            Fact::CallEnded(ended) => {
                if let Some(call) = self.call(&ended.call) {
                    call.end(ended, now);
                }
                self.file_calls(now);
            }
            Fact::ClientCallStarted(started) => self.client_call(&started.call, &started.by, now),
            Fact::ClientCallEnded(ended) => self.client_call_ended(ended, now),
            Fact::TurnEnded(ended) => {
                self.end_step(None, now);
                self.calls.clear();
                let failure = self.failure.take();
                self.finished.extend(ending::lines(ended, failure.as_ref(), self.columns));
                self.part();
            }
            fact => {
                if let Fact::ModelChanged(changed) = fact {
                    self.form = form_of(&changed.model);
                }
                self.finished.extend(said::about(fact, &self.me, self.columns));
            }
        }
    }

    /// Nobody waits for the end of what is under way: what was shown of it stays, and is marked.
    pub fn break_off(&mut self, now: Instant) {
        let is_cut_off = !self.answer.is_empty() || self.has_running();
        self.end_step(None, now);
        let calls = self.calls.drain(..).flat_map(|call| call.lines(self.columns, now)).collect::<Vec<_>>();
        self.finished.extend(calls);
        if is_cut_off {
            self.tell(Role::Warning, ending::INTERRUPTED);
        }
    }

    fn event(&mut self, event: &TurnEvent, now: Instant) {
        match event {
            TurnEvent::Content { content, delta: true, .. } => self.answer.say(content, now),
            TurnEvent::Content { content, .. } => self.answer.say_all(content, now),
            TurnEvent::Thought { content, subject, delta } => {
                self.answer.think(content, subject.as_deref(), *delta, now);
            }
            TurnEvent::ToolCallLive { call, content, .. } => {
                if let Some(call) = self.call(call) {
                    call.live(content);
                }
            }
            TurnEvent::Retry(notice) => {
                let withdrawn = self.answer.withdraw();
                self.finished.extend(withdrawn);
                let (attempt, most) = (notice.attempt, notice.max_attempts);
                self.tell(Role::Warning, &format!("attempt {attempt} of {most} failed: {}", notice.error));
            }
            TurnEvent::Error { error }
            | TurnEvent::InvalidStream { error }
            | TurnEvent::ContextOverflow { error } => self.failure = Some(error.clone()),
            event => {
                if let TurnEvent::ModelSwitched(switch) = event {
                    self.answer.set_form(form_of(&switch.to), now);
                }
                self.finished.extend(said::in_passing(event, self.columns));
            }
        }
    }

    fn prompted(&mut self, content: &Content, by: &str) {
        let speaker = (by != self.me).then_some(by);
        self.finished.extend(said::prompt(content, speaker, self.columns));
        self.part();
    }

    fn model_content(&mut self, said: &ModelContent, now: Instant) {
        let words = said.content.text();
        if let Some(origin) = &said.content.origin {
            self.answer.set_form(form_of(&origin.name()), now);
        }
        self.end_step(Some(&words), now);
        if !words.trim().is_empty() {
            self.last_answer = words;
            self.mark_small(&said.content);
        }
        self.finished.extend(said::sources(&said.citations, self.columns));
        let calls = said.content.function_calls();
        self.calls.extend(
            calls.map(|call| CallCell::new(call.id.as_deref().unwrap_or_default(), &call.name, &call.args)),
        );
    }

    /// A person should know an answer of the smallest model from others.
    fn mark_small(&mut self, content: &Content) {
        if is_small(content) {
            let advises = !std::mem::replace(&mut self.advised, true);
            self.tell(Role::Dim, &wording::small_answer(advises));
            self.part();
        }
    }

    /// The step has said all it says; what came of a step that was cut off stands as it is.
    fn end_step(&mut self, words: Option<&str>, now: Instant) {
        if self.answer.is_empty() && words.is_none_or(str::is_empty) {
            return;
        }
        let lines = self.answer.end(words, self.shows_thoughts, now);
        if !lines.is_empty() {
            self.finished.extend(lines);
            self.part();
        }
    }

    fn answered(&mut self, answered: &ApprovalAnswered) {
        let call = self.calls.iter_mut().find(|call| call.approval.as_ref() == Some(&answered.approval));
        if let Some(call) = call {
            call.answered(answered.args.as_ref());
        }
    }

    /// Calls that are over leave from the front, in their order.
    fn file_calls(&mut self, now: Instant) {
        let over = self.calls.iter().take_while(|call| call.status.is_final()).count();
        for call in self.calls.drain(..over) {
            self.finished.extend(call.lines(self.columns, now));
        }
        if over > 0 && self.calls.is_empty() {
            self.part();
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut CallCell> {
        self.calls.iter_mut().chain(&mut self.client_calls).find(|call| call.id == id)
    }
}

fn is_note(content: &Content) -> bool {
    content.text().starts_with(NOTE)
}

/// True for an answer of the built-in model.
fn is_small(content: &Content) -> bool {
    content.origin.as_ref().is_some_and(|origin| engine::is_built_in(&origin.name()))
}

#[cfg(test)]
mod tests {
    use charla_proto::{Choices, Origin, Said, WireKind};

    use super::*;

    fn answer_of(model: &str) -> Arc<Content> {
        let origin =
            Origin { provider: "local".to_owned(), wire: WireKind::OpenaiChat, model: model.to_owned() };
        Arc::new(Content { origin: Some(Arc::new(origin)), ..Content::model("Hello!") })
    }

    fn finished(transcript: &mut Transcript) -> String {
        let lines: Vec<String> = transcript.finished.drain(..).map(|line| line.text()).collect();
        lines.join("\n")
    }

    fn shown(transcript: &mut Transcript, model: &str) -> String {
        let content = answer_of(model);
        let said =
            ModelContent { turn: 1, content, finish: None, usage: None, citations: Vec::new(), hook: None };
        transcript.model_content(&said, Instant::now());
        finished(transcript)
    }

    #[test]
    fn answers_of_the_built_in_model_are_marked_when_they_are_shown_again() {
        let mut transcript = Transcript::new(200, "me".to_owned());
        let said = |seq, content| Said { seq, content };
        let contents = vec![
            said(2, Arc::new(Content::user("Hi"))),
            said(3, answer_of(engine::WEIGHTS_NAME)),
            said(4, Arc::new(Content::user("And you?"))),
            said(5, answer_of("own.gguf")),
        ];
        let resumed = SessionSnapshot { contents, ..SessionSnapshot::default() };
        transcript.begin(&resumed, &[], Instant::now());
        let told = finished(&mut transcript);
        assert_eq!(told.matches("(the small built-in model answered)").count(), 1, "{told}");
    }

    #[test]
    fn what_the_built_in_model_hands_on_is_shown_to_the_letter_as_it_comes_and_again() {
        let text = "def __init__(self):\n    return *a*\n".repeat(30);
        let content =
            Content { parts: Content::model(&text).parts, ..(*answer_of(engine::WEIGHTS_NAME)).clone() };
        let said = |seq, content| Said { seq, content };
        let contents = vec![said(2, Arc::new(Content::user("show it"))), said(3, Arc::new(content))];
        let choices =
            Choices { model: contents[1].content.origin.as_ref().unwrap().name(), ..Choices::default() };
        let mut transcript = Transcript::new(80, "me".to_owned());
        let now = Instant::now();
        // It streams in, and more of it than the screen holds.
        transcript.begin(
            &SessionSnapshot { choices: choices.clone(), ..SessionSnapshot::default() },
            &[],
            now,
        );
        transcript.event(&TurnEvent::content(&text), now);
        let mut shown: Vec<String> = transcript.finished(8, now).iter().map(Line::text).collect();
        let answered = contents[1].content.clone();
        let answered = ModelContent {
            turn: 1,
            content: answered,
            finish: None,
            usage: None,
            citations: Vec::new(),
            hook: None,
        };
        transcript.model_content(&answered, now);
        shown.extend(transcript.finished(0, now).iter().map(Line::text));
        assert!(shown.join("\n").starts_with(text.trim_end()), "{shown:#?}");
        // And when it is resumed, also with another model.
        let resumed = SessionSnapshot { contents, ..SessionSnapshot::default() };
        transcript.begin(&resumed, &[], now);
        assert!(finished(&mut transcript).contains(text.trim_end()));
    }

    #[test]
    fn every_session_says_once_how_to_get_better_answers() {
        let mut transcript = Transcript::new(200, "me".to_owned());
        for _ in 0..2 {
            transcript.begin(&SessionSnapshot::default(), &[], Instant::now());
            assert!(shown(&mut transcript, engine::WEIGHTS_NAME).contains("export a key"));
            assert!(!shown(&mut transcript, engine::WEIGHTS_NAME).contains("export a key"));
        }
    }

    #[test]
    fn answers_of_the_built_in_model_are_marked_and_the_first_says_how_to_get_better_ones() {
        let mut transcript = Transcript::new(200, "me".to_owned());
        let first = shown(&mut transcript, engine::WEIGHTS_NAME);
        assert!(first.contains("(the small built-in model answered. For real work export a key"), "{first}");
        let second = shown(&mut transcript, engine::WEIGHTS_NAME);
        assert!(second.contains("(the small built-in model answered)"), "{second}");
        assert!(!shown(&mut transcript, "own.gguf").contains("built-in"));
    }
}
