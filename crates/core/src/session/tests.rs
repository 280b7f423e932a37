use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use charla_proto::tool::Tool as ToolTrait;
use charla_proto::{
    Args, BoxFuture, CallStatus, Candidate, ChangesReverted, ChunkStream, ConfirmationDetail, Effect,
    EmbedRequest, EmbedResponse, Fact, FileChange, FinishReason, FunctionCall, FunctionDeclaration,
    GenerateResponse, Invocation, JournalReader, Lane, LlmError, LlmErrorKind, Missing, Part, Plan, Preview,
    Question, RevertedFile, Role, RunContext, SessionStarted, StreamEvent, TokenCount, ToolError, ToolOutput,
    TurnEnd, Verdict,
};
use futures_util::stream;
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

mod any_compression;
mod memory;
mod room;
mod summaries;

/// What the model does when asked.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Text(&'static str),
    Calls(Vec<(&'static str, u32)>),
    Fails,
    /// The conversation is too long for it.
    TooLong,
    /// Says something and then nothing more.
    Hangs,
}

/// Everything the fakes share with the test.
#[derive(Default)]
pub(crate) struct World {
    replies: Mutex<Vec<Reply>>,
    requests: Mutex<Vec<GenerateRequest>>,
    pub(crate) journal: Mutex<Vec<Record>>,
    ran: Mutex<Vec<String>>,
    /// How many more records the journal takes before the process "dies".
    room: Mutex<Option<usize>>,
    calls: Mutex<u32>,
    /// Who summarises; `None` fails.
    summariser: Mutex<Option<Summariser>>,
    summaries: Mutex<u32>,
}

type Summariser = Arc<dyn Fn(&GenerateRequest) -> Result<GenerateResponse, LlmError> + Send + Sync>;

/// An answer of these parts that ended for this reason.
fn ended_with(parts: Vec<Part>, finish: FinishReason) -> GenerateResponse {
    let content = Some(Content::new(Role::Model, parts));
    let candidate = Candidate { content, finish_reason: Some(finish), ..Candidate::default() };
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

impl World {
    /// Summaries say this from now on.
    fn summarise(&self, text: impl Into<String>) {
        let text = text.into();
        let answer =
            move |_: &GenerateRequest| Ok(ended_with(vec![Part::text(text.clone())], FinishReason::Stop));
        *self.summariser.lock().unwrap() = Some(Arc::new(answer));
    }
}

struct Model(Arc<World>);

impl ContentGenerator for Model {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        *self.0.summaries.lock().unwrap() += 1;
        let summariser = self.0.summariser.lock().unwrap().clone();
        let answer = match summariser {
            Some(summariser) => summariser(request),
            None => Err(LlmError::new(LlmErrorKind::Server, "fake")),
        };
        Box::pin(std::future::ready(answer))
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        self.0.requests.lock().unwrap().push(request.clone());
        let mut replies = self.0.replies.lock().unwrap();
        let reply = if replies.is_empty() { Reply::Text("done") } else { replies.remove(0) };
        drop(replies);
        let parts = match &reply {
            Reply::Text(text) => vec![Part::text(*text)],
            Reply::Calls(calls) => calls.iter().map(|(name, n)| self.call(name, *n)).collect(),
            Reply::Hangs => vec![Part::text("partial")],
            Reply::Fails | Reply::TooLong => vec![],
        };
        Box::pin(async move {
            if matches!(reply, Reply::Fails) {
                return Err(LlmError::new(LlmErrorKind::Server, "fake failure"));
            }
            if matches!(reply, Reply::TooLong) {
                return Err(LlmError::new(LlmErrorKind::ContextOverflow, "too long"));
            }
            let hangs = matches!(reply, Reply::Hangs);
            let candidate = Candidate {
                content: Some(Content::new(Role::Model, parts)),
                finish_reason: (!hangs).then_some(FinishReason::Stop),
                ..Candidate::default()
            };
            let chunk = GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() };
            let stream = stream::iter([Ok(StreamEvent::Chunk(chunk))]);
            let tail = stream::once(async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Err(LlmError::new(LlmErrorKind::Server, "never reached"))
            });
            if hangs {
                return Ok(Box::pin(futures_util::StreamExt::chain(stream, tail)) as ChunkStream);
            }
            Ok(Box::pin(stream) as ChunkStream)
        })
    }

    fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "fake")) })
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "fake")) })
    }
}

impl Model {
    fn call(&self, name: &str, n: u32) -> Part {
        let mut calls = self.0.calls.lock().unwrap();
        *calls += 1;
        let args = Map::from_iter([("n".to_owned(), json!(n))]);
        Part::function_call(FunctionCall::new(format!("call-{calls}"), name, args))
    }
}

/// `read` and `write` succeed, `fail` fails, `panic` panics, `hang` waits for its cancellation, `question` asks
/// the person and gives back what was said.
struct FakeTool {
    name: &'static str,
    world: Arc<World>,
    declaration: Arc<FunctionDeclaration>,
}

struct FakeInvocation {
    plan: Plan,
    n: u64,
    world: Arc<World>,
    answers: Vec<String>,
}

impl ToolTrait for FakeTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let n = args.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
            if n == 99 {
                return Err(ToolError { kind: "invalid_args".to_owned(), message: "n is 99".to_owned() });
            }
            let path = PathBuf::from(format!("/w/{n}"));
            let reads = self.name == "read";
            let plan = Plan {
                tool: self.name.to_owned(),
                args: Args::new(),
                title: format!("{} {n}", self.name),
                effects: vec![if reads { Effect::Read { path } } else { Effect::Write { path } }],
                preview: match self.name {
                    "question" => Preview::Questions { questions: vec![Question::default()] },
                    _ => Preview::None,
                },
                lane: if reads { Lane::Shared } else { Lane::Exclusive },
            };
            let (world, answers) = (self.world.clone(), Vec::new());
            Ok(Box::new(FakeInvocation { plan, n, world, answers }) as Box<dyn Invocation>)
        })
    }
}

impl Invocation for FakeInvocation {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn answered(&mut self, answers: Vec<String>) {
        self.answers = answers;
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            self.world.ran.lock().unwrap().push(self.plan.title.clone());
            (cx.live)("working");
            let error = |kind: &str| ToolOutput {
                error: Some(ToolError { kind: kind.to_owned(), message: kind.to_owned() }),
                ..ToolOutput::default()
            };
            match self.plan.tool.as_str() {
                "fail" => error("failed"),
                "panic" => panic!("the tool panics"),
                "hang" => {
                    cx.cancelled.await;
                    error("cancelled")
                }
                "question" => ToolOutput {
                    content: vec![Part::text(format!("said {}", self.answers.join(", ")))],
                    ..ToolOutput::default()
                },
                // A large number is the size of the result.
                _ => ToolOutput {
                    content: vec![Part::text(format!(
                        "result {}{}",
                        self.n,
                        if self.n >= 1000 { "x".repeat(self.n as usize) } else { String::new() }
                    ))],
                    ..ToolOutput::default()
                },
            }
        })
    }
}

struct FakeToolbox(HashMap<&'static str, Arc<FakeTool>>);

impl Toolbox for FakeToolbox {
    fn get(&self, name: &str) -> Option<Arc<dyn ToolTrait>> {
        self.0.get(name).map(|tool| tool.clone() as Arc<dyn ToolTrait>)
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        self.0.values().map(|tool| tool.declaration.clone()).collect()
    }

    fn nearest(&self, _: &str) -> Option<String> {
        Some("read".to_owned())
    }
}

/// Reading is free, `write 7` is denied, everything else asks; yolo allows all but the denied. A rule is the
/// title of a call that is allowed.
#[derive(Clone, Default)]
struct Rules(Vec<String>);

impl Policy for Rules {
    fn judge(&self, plan: &Plan, mode: ApprovalMode) -> Verdict {
        let rule = "test".to_owned();
        if plan.title.ends_with(" 7") {
            return Verdict::Deny { rule, reason: "seven".to_owned() };
        }
        let named = self.0.contains(&plan.title);
        if plan.tool == "read" || mode == ApprovalMode::Yolo || named {
            return Verdict::Allow { rule };
        }
        // `write 9` may never be allowed for good.
        let always = (!plan.title.ends_with(" 9")).then(|| plan.title.clone());
        let missing = Missing { what: plan.title.clone(), reason: "test".to_owned(), always };
        Verdict::Ask { rule, missing: vec![missing] }
    }

    fn with_rules(&self, rules: &str) -> Result<Arc<dyn Policy>, String> {
        let added = rules.lines().map(str::to_owned);
        Ok(Arc::new(Rules(self.0.iter().cloned().chain(added).collect())))
    }
}

struct MemoryJournal(Arc<World>);

impl Journal for MemoryJournal {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let mut room = self.0.room.lock().unwrap();
            if let Some(left) = &mut *room {
                if *left < records.len() {
                    return Err(JournalError::Io("the process died".to_owned()));
                }
                *left -= records.len();
            }
            self.0.journal.lock().unwrap().extend(records.iter().cloned());
            Ok(())
        })
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        Some(Arc::new(MemoryJournal(self.0.clone())))
    }
}

impl JournalReader for MemoryJournal {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        let records = self.0.journal.lock().unwrap().clone();
        records.into_iter().filter(|record| record.seq > after).for_each(each);
        Ok(())
    }

    fn place(&self) -> String {
        "the journal of the test".to_owned()
    }
}

fn setup(world: &Arc<World>, somebody: bool) -> SessionSetup {
    let tools = ["read", "write", "fail", "panic", "hang", "question"].map(|name| {
        let declaration = FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() };
        let tool = FakeTool { name, world: world.clone(), declaration: Arc::new(declaration) };
        (name, Arc::new(tool))
    });
    SessionSetup {
        generator: Arc::new(Model(world.clone())),
        toolbox: Arc::new(FakeToolbox(HashMap::from(tools))),
        policy: Arc::new(Rules::default()),
        journal: Box::new(MemoryJournal(world.clone())),
        tool_context: ToolContext::default(),
        template: GenerateRequest::new("m", vec![]),
        limits: Limits { steps: Some(20), ..Limits::default() },
        somebody_to_ask: somebody,
        isolation: "none".to_owned(),
        window: None,
        compression: Compression::default(),
        clock: || 0,
    }
}

fn first_record() -> Record {
    let started = SessionStarted {
        version: charla_proto::JOURNAL_VERSION,
        session: "s".to_owned(),
        cwd: PathBuf::from("/w"),
        model: "fake/m".to_owned(),
        parent: None,
    };
    Record { seq: 1, at: 0, fact: Fact::SessionStarted(Box::new(started)) }
}

pub(crate) struct Run {
    pub(crate) world: Arc<World>,
    pub(crate) session: SessionHandle,
    events: Subscription,
}

impl Run {
    pub(crate) fn new(replies: Vec<Reply>, somebody: bool) -> Self {
        let world = Arc::new(World { replies: Mutex::new(replies), ..World::default() });
        world.journal.lock().unwrap().push(first_record());
        Self::resume(world, somebody)
    }

    /// A new process on the journal as it is.
    pub(crate) fn resume(world: Arc<World>, somebody: bool) -> Self {
        *world.room.lock().unwrap() = None;
        let conversation = Conversation::of(&*world.journal.lock().unwrap());
        let session = SessionHandle::start(setup(&world, somebody), conversation);
        let events = session.subscribe();
        Self { world, session, events }
    }

    pub(crate) async fn prompt(&self, text: &str) {
        assert!(self.session.send(Command::Prompt(Content::user(text))).await);
    }

    async fn event(&mut self) -> SessionEvent {
        tokio::time::timeout(Duration::from_secs(30), self.events.recv()).await.unwrap().unwrap()
    }

    /// Waits for a fact and gives it back.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Fact) -> bool) -> Fact {
        loop {
            if let SessionEvent::Record(record) = self.event().await
                && wanted(&record.fact)
            {
                return record.fact.clone();
            }
        }
    }

    pub(crate) async fn asked(&mut self) -> String {
        match self.until(|fact| matches!(fact, Fact::CallAsked(_))).await {
            Fact::CallAsked(asked) => asked.approval,
            _ => unreachable!(),
        }
    }

    pub(crate) async fn end(&mut self) -> TurnEnd {
        match self.until(|fact| matches!(fact, Fact::TurnEnded(_))).await {
            Fact::TurnEnded(ended) => ended.end,
            _ => unreachable!(),
        }
    }

    fn statuses(&self) -> Vec<CallStatus> {
        let journal = self.world.journal.lock().unwrap();
        let ended = journal.iter().filter_map(|record| match &record.fact {
            Fact::CallEnded(ended) => Some(ended.status),
            _ => None,
        });
        ended.collect()
    }
}

/// Invariant 1: in what was sent, every call has exactly one response, right after it, in order.
fn assert_paired(request: &GenerateRequest) {
    let contents = &request.contents;
    for (n, content) in contents.iter().enumerate() {
        if n > 0 {
            assert_ne!(content.role, contents[n - 1].role, "roles alternate");
        }
        let calls: Vec<_> = content.function_calls().map(|call| call.id.clone()).collect();
        let answers: Vec<_> = match contents.get(n + 1) {
            Some(next) => next.function_responses().map(|response| response.id.clone()).collect(),
            None => Vec::new(),
        };
        if content.role == Role::Model {
            assert_eq!(calls, answers, "calls and responses pair up");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_runs_tools_until_the_model_stops() {
    let mut run = Run::new(vec![Reply::Calls(vec![("read", 1), ("read", 2)]), Reply::Text("ok")], true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Success, CallStatus::Success]);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    let results: Vec<_> =
        requests[1].contents[2].function_responses().map(|response| response.to_text()).collect();
    assert_eq!(results, ["result 1", "result 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_marked_as_running_before_it_runs() {
    let mut run = Run::new(vec![Reply::Calls(vec![("write", 1)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    assert!(run.world.ran.lock().unwrap().is_empty());
    // The journal fails at the mark: the tool must not run.
    *run.world.room.lock().unwrap() = Some(1);
    run.session.answer(&approval, Outcome::ProceedOnce, "me").await;
    loop {
        if let SessionEvent::Broken(_) = run.event().await {
            break;
        }
    }
    assert!(run.world.ran.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_a_late_one_is_told_who_won() {
    let mut run = Run::new(vec![Reply::Calls(vec![("hang", 1), ("write", 2)])], true);
    run.prompt("go").await;
    let (first, _second) = (run.asked().await, run.asked().await);
    assert_eq!(run.session.answer(&first, Outcome::ProceedOnce, "anna").await, Answered::Accepted);
    let late = run.session.answer(&first, Outcome::Cancel { reason: None }, "bob").await;
    assert_eq!(late, Answered::Late { outcome: Outcome::ProceedOnce, by: "anna".to_owned() });
    assert_eq!(run.session.answer("nothing", Outcome::ProceedOnce, "bob").await, Answered::Unknown);
}

#[tokio::test(start_paused = true)]
async fn with_nobody_to_ask_the_answer_is_a_recorded_no() {
    let mut run = Run::new(vec![Reply::Calls(vec![("write", 1)]), Reply::Text("sorry")], false);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert!(run.world.ran.lock().unwrap().is_empty());
    let journal = run.world.journal.lock().unwrap();
    let by: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.fact {
            Fact::ApprovalAnswered(answered) => Some(answered.by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(by, ["nobody"]);
}

#[tokio::test(start_paused = true)]
async fn a_denied_unknown_failing_or_panicking_call_still_gets_a_response() {
    let calls = vec![("write", 7), ("nonsense", 1), ("fail", 1), ("panic", 1), ("read", 99)];
    let mut run = Run::new(vec![Reply::Calls(calls), Reply::Text("ok")], true);
    run.session.send(Command::SetMode(ApprovalMode::Yolo)).await;
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Error; 5]);
    let requests = run.world.requests.lock().unwrap();
    assert_paired(&requests[1]);
    let text: Vec<_> = requests[1].contents[2].function_responses().map(|r| r.to_text()).collect();
    assert!(text[0].contains("denied by policy"), "{text:?}");
    assert!(text[1].contains("Did you mean `read`?"), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn a_no_with_a_reason_goes_on_and_a_plain_no_ends_the_turn() {
    let mut run = Run::new(vec![Reply::Calls(vec![("write", 1)]), Reply::Text("ok")], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    let reason = Some("use another file".to_owned());
    run.session.answer(&approval, Outcome::Cancel { reason }, "me").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let told =
        run.world.requests.lock().unwrap()[1].contents[2].function_responses().next().unwrap().to_text();
    assert!(told.contains("use another file"));
    run.world.replies.lock().unwrap().push(Reply::Calls(vec![("write", 1), ("read", 1)]));
    run.prompt("again").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::Cancel { reason: None }, "me").await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn always_answers_the_same_question_that_is_open_already() {
    let calls = vec![("write", 1), ("write", 1), ("write", 2)];
    let mut run = Run::new(vec![Reply::Calls(calls)], true);
    run.prompt("go").await;
    let first = run.asked().await;
    let (second, third) = (run.asked().await, run.asked().await);
    run.session.answer(&first, Outcome::ProceedAlways, "me").await;
    let late = run.session.answer(&second, Outcome::Cancel { reason: None }, "me").await;
    assert!(matches!(late, Answered::Late { outcome: Outcome::ProceedOnce, .. }), "{late:?}");
    run.session.answer(&third, Outcome::ProceedOnce, "me").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 1", "write 1", "write 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_always_that_was_not_offered_is_a_once() {
    let step = || Reply::Calls(vec![("write", 9)]);
    let mut run = Run::new(vec![step(), step()], true);
    run.prompt("go").await;
    for _ in 0..2 {
        let approval = run.asked().await;
        run.session.answer(&approval, Outcome::ProceedAlways, "me").await;
    }
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn always_is_remembered_for_what_it_named() {
    let step = || Reply::Calls(vec![("write", 1)]);
    let mut run = Run::new(vec![step(), step(), Reply::Calls(vec![("write", 2)])], true);
    run.prompt("go").await;
    let approval = run.asked().await;
    run.session.answer(&approval, Outcome::ProceedAlways, "me").await;
    // The second `write 1` runs unasked; `write 2` asks.
    let approval = run.asked().await;
    assert_eq!(*run.world.ran.lock().unwrap(), ["write 1", "write 1"]);
    run.session.answer(&approval, Outcome::Cancel { reason: None }, "me").await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_model_and_keeps_what_was_shown() {
    let mut run = Run::new(vec![Reply::Hangs], true);
    run.prompt("go").await;
    loop {
        if let SessionEvent::Delta(Delta::Content(text)) = run.event().await {
            assert_eq!(text, "partial");
            break;
        }
    }
    run.session.send(Command::Cancel).await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    run.prompt("next").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    let requests = run.world.requests.lock().unwrap();
    assert_eq!(requests[1].contents[1].text(), "partial");
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_running_tools_and_answers_the_waiting_ones() {
    let mut run = Run::new(vec![Reply::Calls(vec![("hang", 1), ("write", 2), ("read", 3)])], true);
    run.session.send(Command::SetMode(ApprovalMode::Yolo)).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    run.session.send(Command::Cancel).await;
    assert_eq!(run.end().await, TurnEnd::Cancelled);
    assert_eq!(run.statuses(), [CallStatus::Cancelled; 3]);
    assert_eq!(*run.world.ran.lock().unwrap(), ["hang 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_goes_in_circles_is_told_refused_and_stopped() {
    let replies = (0..10).map(|_| Reply::Calls(vec![("read", 1)])).collect();
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Loop);
    assert_eq!(run.world.ran.lock().unwrap().len(), 4);
    assert_eq!(run.statuses().len(), 7);
    let requests = run.world.requests.lock().unwrap();
    let third = requests[3].contents.last().unwrap().function_responses().next().unwrap().to_text();
    assert!(third.contains("same result 3 times"), "{third}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_ends_the_turn_with_its_name() {
    let replies = (100..130).map(|n| Reply::Calls(vec![("read", n)])).collect();
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::StepLimit);
    assert_eq!(run.world.ran.lock().unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_call_found_running_after_a_crash_is_told_as_interrupted_and_not_run_again() {
    let mut run = Run::new(vec![Reply::Calls(vec![("hang", 1)])], true);
    run.session.send(Command::SetMode(ApprovalMode::Yolo)).await;
    run.prompt("go").await;
    run.until(|fact| matches!(fact, Fact::CallStarted(_))).await;
    let mut again = Run::resume(run.world.clone(), true);
    again.prompt("what happened?").await;
    assert_eq!(again.end().await, TurnEnd::Interrupted);
    assert_eq!(again.end().await, TurnEnd::Finished);
    let requests = again.world.requests.lock().unwrap();
    let last = requests.last().unwrap();
    assert_paired(last);
    assert!(last.contents[2].function_responses().next().unwrap().is_error());
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_with_the_next_prompt_what_was_undone_meanwhile() {
    let mut run = Run::new(vec![], true);
    run.prompt("create it").await;
    run.end().await;
    let file = RevertedFile {
        change: FileChange { path: "/w/hello.txt".into(), before: Some("1".into()), after: None },
        mode: None,
    };
    let fact = Fact::ChangesUndone(ChangesReverted { turn: 1, files: vec![file] });
    let world = run.world.clone();
    drop(run);
    let seq = world.journal.lock().unwrap().last().unwrap().seq + 1;
    world.journal.lock().unwrap().push(Record { seq, at: 0, fact });
    let mut again = Run::resume(world, true);
    for prompt in ["go on", "and on"] {
        again.prompt(prompt).await;
        again.end().await;
    }
    let requests = again.world.requests.lock().unwrap();
    let last_words = |request: &GenerateRequest| request.contents.last().unwrap().text();
    let told = last_words(&requests[1]);
    assert!(told.contains("undone the file changes of turn 1") && told.contains("hello.txt"), "{told}");
    assert!(told.ends_with("]\n\ngo on"), "{told}");
    assert_eq!(last_words(&requests[2]), "and on");
}

#[derive(Clone, Debug)]
enum Step {
    Prompt,
    Cancel,
    Answer(bool),
    Crash(usize),
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let name = prop::sample::select(vec!["read", "write", "fail", "panic", "nonsense"]);
    let calls = prop::collection::vec((name, prop::sample::select(vec![1u32, 2, 7, 99])), 1..4);
    prop_oneof![
        2 => Just(Reply::Text("words")),
        4 => calls.prop_map(Reply::Calls),
        1 => Just(Reply::Fails),
        1 => Just(Reply::Hangs),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Prompt),
        1 => Just(Step::Cancel),
        4 => any::<bool>().prop_map(Step::Answer),
        1 => (0usize..12).prop_map(Step::Crash),
    ]
}

/// Lets everything that can happen without us happen.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

async fn play(replies: Vec<Reply>, steps: Vec<Step>) {
    let mut run = Run::new(replies, true);
    for step in steps {
        match step {
            Step::Prompt => run.prompt("words").await,
            Step::Cancel => drop(run.session.send(Command::Cancel).await),
            Step::Answer(yes) => {
                let open = Conversation::of(&*run.world.journal.lock().unwrap());
                let open = open.open_approvals().map(|open| open.asked.approval.clone()).next();
                if let Some(approval) = open {
                    let no = Outcome::Cancel { reason: Some("no".to_owned()) };
                    let outcome = if yes { Outcome::ProceedOnce } else { no };
                    run.session.answer(&approval, outcome, "me").await;
                }
            }
            Step::Crash(after) => {
                // The journal takes a few more records and then nothing: as if the process died there.
                *run.world.room.lock().unwrap() = Some(after);
                let _ = run.session.send(Command::Prompt(Content::user("words"))).await;
                settle().await;
                run = Run::resume(run.world.clone(), true);
            }
        }
        settle().await;
    }
    // Invariant 6: one more message can always be sent.
    run.session.send(Command::Cancel).await;
    settle().await;
    run.world.replies.lock().unwrap().clear();
    let before = run.world.requests.lock().unwrap().len();
    run.prompt("one more").await;
    settle().await;
    let requests = run.world.requests.lock().unwrap().clone();
    assert!(requests.len() > before, "the session is bricked");
    for request in requests.iter() {
        assert_paired(request);
    }
    let journal = run.world.journal.lock().unwrap().clone();
    check_journal(&journal);
    let ran = run.world.ran.lock().unwrap().len();
    let marked = journal.iter().filter(|record| matches!(record.fact, Fact::CallStarted(_))).count();
    // A crash may come between the mark and the run, never the other way round.
    assert!(ran <= marked, "no tool runs unmarked");
    let replayed = crate::replay::replay(&journal).await;
    assert_eq!(replayed.difference, None, "the session replays: {journal:#?}");
}

fn check_journal(journal: &[Record]) {
    let mut started = HashSet::new();
    let mut ended = HashSet::new();
    let mut answered = HashSet::new();
    for (n, record) in journal.iter().enumerate() {
        assert_eq!(record.seq, n as u64 + 1, "records have no gaps");
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&Record::from_json(&line).unwrap(), record, "records survive a round trip");
        match &record.fact {
            Fact::CallStarted(call) => assert!(started.insert(call.call.clone()), "no call starts twice"),
            Fact::CallEnded(call) => assert!(ended.insert(call.call.clone()), "no call ends twice"),
            Fact::ApprovalAnswered(answer) => {
                assert!(answered.insert(answer.approval.clone()), "no approval is answered twice");
            }
            _ => {}
        }
    }
    // Invariant 3: folding in two parts is folding in one.
    let whole = Conversation::of(journal);
    let mut parts = Conversation::of(&journal[..journal.len() / 2]);
    for record in &journal[journal.len() / 2..] {
        parts.apply(record);
    }
    assert_eq!(whole, parts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_conversation_stays_whole(
        replies in prop::collection::vec(any_reply(), 0..12),
        steps in prop::collection::vec(any_step(), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(replies, steps));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_loses_deltas_but_no_record() {
    let run = Run::new(vec![], true);
    let mut slow = run.session.subscribe();
    for _ in 0..800 {
        run.prompt("words").await;
    }
    settle().await;
    let mut seqs = Vec::new();
    let mut missed = 0;
    drop(run.session);
    while let Some(event) = slow.recv().await {
        match event {
            SessionEvent::Record(record) => seqs.push(record.seq),
            SessionEvent::Missed => missed += 1,
            _ => {}
        }
    }
    assert!(missed > 0);
    assert_eq!(seqs, (2..=run.world.journal.lock().unwrap().len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_follower_tells_one_turn_from_prompt_to_end() {
    let run = Run::new(vec![Reply::Calls(vec![("read", 1)]), Reply::Text("ok")], true);
    let mut follower = Follower::new(run.session.subscribe());
    run.prompt("go").await;
    let mut told = Vec::new();
    while let Some(event) = follower.next().await {
        let name = format!("{event:?}");
        told.push(name.split(['(', ' ', '{']).next().unwrap().to_owned());
    }
    let expected =
        ["StepEnded", "ToolCallRequest", "ToolCallLive", "ToolCallResponse", "Content", "Finished"];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_question_reaches_the_person_even_when_everything_is_allowed() {
    let replies = vec![Reply::Calls(vec![("question", 1)]), Reply::Text("thanks")];
    let mut run = Run::new(replies, true);
    run.session.send(Command::SetMode(ApprovalMode::Yolo)).await;
    run.prompt("go").await;
    let asked = match run.until(|fact| matches!(fact, Fact::CallAsked(_))).await {
        Fact::CallAsked(asked) => asked,
        _ => unreachable!(),
    };
    assert!(matches!(asked.confirmation.detail, ConfirmationDetail::AskUser { .. }));
    assert_eq!(asked.confirmation.always, None);
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    assert_eq!(run.session.answer(&asked.approval, answers, "me").await, Answered::Accepted);
    let ended = match run.until(|fact| matches!(fact, Fact::CallEnded(_))).await {
        Fact::CallEnded(ended) => ended,
        _ => unreachable!(),
    };
    assert_eq!(ended.response.response["output"], "said blue");
    assert_eq!(run.end().await, TurnEnd::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_refused_when_nobody_is_there() {
    let replies = vec![Reply::Calls(vec![("question", 1)]), Reply::Text("well then")];
    let mut run = Run::new(replies, false);
    run.session.send(Command::SetMode(ApprovalMode::Yolo)).await;
    run.prompt("go").await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    assert_eq!(run.statuses(), [CallStatus::Error]);
    assert!(run.world.ran.lock().unwrap().is_empty());
}
