//! A model, tools, rules and a journal that do as the test says.

use charla_proto::tool::Tool as ToolTrait;
use charla_proto::{
    Args, BoxFuture, Candidate, ChunkStream, Confinement, Effect, EmbedRequest, EmbedResponse,
    FunctionDeclaration, Invocation, JournalReader, Lane, Missing, Plan, Preview, Question, RunContext,
    StreamEvent, TokenCount, ToolError, ToolErrorKind, ToolOutput, Verdict,
};
use charla_proto::{FileChange, RevertedFile};
use futures_util::{StreamExt as _, stream};

use super::*;
use crate::hooks::{HookAnswer, HookPoint, Hooks};
use charla_proto::{HookEvent, HookRan};

/// What the model does when asked.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Text(&'static str),
    Calls(Vec<(&'static str, u32)>),
    Fails,
    /// The server takes no such request, with an image in it for one.
    Refuses,
    /// Too many requests, however long one waits.
    Limited,
    /// The conversation is too long for it.
    TooLong,
    /// Says something and then nothing more, until it is woken to finish.
    Hangs,
    /// Says nothing at all.
    Silence,
    /// Counts up in single characters; half way it waits to be woken.
    Stream(u32),
    /// Says this and ends for this reason.
    Ends(&'static str, FinishReason),
}

/// How the server names calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ServerIds {
    #[default]
    Counted,
    /// All alike.
    Same,
    Empty,
    /// As ours look.
    Ours,
    /// Longer than anything that is kept.
    Endless,
}

/// What a model is instructed in a situation.
pub(crate) type Instruct = fn(&Situation) -> String;

/// Everything the fakes share with the test.
#[derive(Default)]
pub(crate) struct World {
    pub(super) replies: Mutex<Vec<Answer>>,
    pub(super) requests: Mutex<Vec<GenerateRequest>>,
    pub(crate) journal: Mutex<Vec<Record>>,
    pub(super) ran: Mutex<Vec<String>>,
    /// Of which of those a person was told to have agreed.
    pub(super) agreed: Mutex<Vec<String>>,
    /// How many more records the journal takes before the process "dies".
    pub(super) room: Mutex<Option<usize>>,
    pub(super) calls: Mutex<u32>,
    pub(super) ids: Mutex<ServerIds>,
    /// Who summarises; `None` fails.
    pub(super) summariser: Mutex<Option<Summariser>>,
    pub(super) summaries: Mutex<u32>,
    /// A model that hangs ends its answer when it is woken.
    pub(super) finish: Mutex<bool>,
    pub(super) wake: tokio::sync::Notify,
    /// What the tool `drift` would do changes with this.
    pub(super) drift: Mutex<u32>,
    /// What the model is instructed.
    pub(super) instruction: Mutex<Option<Instruct>>,
    /// How often the rules were asked.
    pub(super) judged: Mutex<usize>,
    /// Rules the session had kept.
    pub(super) saved: Mutex<Vec<String>>,
    /// What hooks answer, one after the other, and then nothing; without, there are none.
    pub(super) hooks: Mutex<Option<Vec<HookAnswer>>>,
}

/// Hooks that want every point.
struct FakeHooks(Arc<World>);

impl Hooks for FakeHooks {
    fn wants(&self, _: HookEvent, _: &[&str]) -> bool {
        true
    }

    fn run(&self, point: HookPoint) -> BoxFuture<'static, HookAnswer> {
        let mut answers = self.0.hooks.lock().unwrap();
        let mut answer = answers.as_mut().and_then(Vec::pop).unwrap_or_default();
        answer.ran.push(HookRan {
            hook_event_name: point.event(),
            hook_name: "fake".to_owned(),
            hook_input: String::new(),
            hook_output: String::new(),
            exit_code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
            duration_ms: 0,
            success: true,
            system_message: None,
        });
        Box::pin(async move {
            tokio::task::yield_now().await;
            answer
        })
    }
}

pub(super) type Summariser =
    Arc<dyn Fn(&GenerateRequest) -> Result<GenerateResponse, LlmError> + Send + Sync>;

/// An answer of these parts that ended for this reason.
pub(super) fn ended_with(parts: Vec<Part>, finish: FinishReason) -> GenerateResponse {
    let content = Some(Content::new(Role::Model, parts));
    let candidate = Candidate { content, finish_reason: Some(finish), ..Candidate::default() };
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

impl World {
    /// Summaries say this from now on.
    pub(crate) fn summarise(&self, text: impl Into<String>) {
        let text = text.into();
        let answer =
            move |_: &GenerateRequest| Ok(ended_with(vec![Part::text(text.clone())], FinishReason::Stop));
        *self.summariser.lock().unwrap() = Some(Arc::new(answer));
    }
}

fn piece(parts: Vec<Part>, finish: Option<FinishReason>) -> Result<StreamEvent, LlmError> {
    let candidate = Candidate {
        content: Some(Content::new(Role::Model, parts)),
        finish_reason: finish,
        ..Candidate::default()
    };
    Ok(StreamEvent::Chunk(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }))
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
        let reply = if replies.is_empty() { Answer::Text("done") } else { replies.remove(0) };
        drop(replies);
        let parts = match &reply {
            Answer::Text(text) | Answer::Ends(text, _) => vec![Part::text(*text)],
            Answer::Calls(calls) => calls.iter().map(|(name, n)| self.call(name, *n)).collect(),
            Answer::Hangs => vec![Part::text("partial")],
            Answer::Fails
            | Answer::Limited
            | Answer::Refuses
            | Answer::TooLong
            | Answer::Silence
            | Answer::Stream(_) => vec![],
        };
        let world = self.0.clone();
        Box::pin(async move {
            let stop = FinishReason::Stop;
            let pieces: ChunkStream = match reply {
                Answer::Fails => return Err(LlmError::new(LlmErrorKind::Server, "fake failure")),
                Answer::Limited => return Err(LlmError::new(LlmErrorKind::RateLimit, "too many requests")),
                Answer::Refuses => return Err(LlmError::new(LlmErrorKind::InvalidRequest, "no images")),
                Answer::TooLong => return Err(LlmError::new(LlmErrorKind::ContextOverflow, "too long")),
                Answer::Silence => Box::pin(stream::pending()),
                Answer::Ends(_, finish) => Box::pin(stream::iter([piece(parts, Some(finish))])),
                Answer::Hangs => {
                    let woken = stream::once(async move {
                        while !*world.finish.lock().unwrap() {
                            world.wake.notified().await;
                        }
                        piece(vec![], Some(stop))
                    });
                    Box::pin(stream::iter([piece(parts, None)]).chain(woken))
                }
                Answer::Stream(count) => Box::pin(stream::iter(0..count).then(move |n| {
                    let (world, finish) = (world.clone(), (n + 1 == count).then_some(FinishReason::Stop));
                    async move {
                        if n == count / 2 {
                            world.wake.notified().await;
                        }
                        piece(vec![Part::text(n.to_string())], finish)
                    }
                })),
                Answer::Text(_) | Answer::Calls(_) => Box::pin(stream::iter([piece(parts, Some(stop))])),
            };
            Ok(pieces)
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
        let id = match *self.0.ids.lock().unwrap() {
            ServerIds::Counted => format!("call-{calls}"),
            ServerIds::Same => "call".to_owned(),
            ServerIds::Empty => String::new(),
            ServerIds::Ours => format!("{}{calls}_1", charla_proto::OWN_CALL_ID),
            ServerIds::Endless => "call ".repeat(10_000),
        };
        Part::function_call(FunctionCall::new(id, name, args))
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
                return Err(ToolError::new(ToolErrorKind::InvalidArgs, "n is 99"));
            }
            let path = PathBuf::from(format!("/w/{n}"));
            let reads = self.name == "read";
            let plan = Plan {
                tool: self.name.to_owned(),
                args: Args::new(),
                title: match self.name {
                    "drift" => format!("drift {n} {}", self.world.drift.lock().unwrap()),
                    name => format!("{name} {n}"),
                },
                effects: vec![match self.name {
                    "read" => Effect::Read { path },
                    // Tool `serve` belongs to the server of its number.
                    "serve" => Effect::Mcp { server: format!("server {n}"), tool: "serve".to_owned() },
                    _ => Effect::Write { path },
                }],
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
            if cx.consent == charla_proto::Consent::Person {
                self.world.agreed.lock().unwrap().push(self.plan.title.clone());
            }
            (cx.live)("working");
            let error = |kind, message: &str| ToolOutput::failed(ToolError::new(kind, message));
            match self.plan.tool.as_str() {
                "fail" => error(ToolErrorKind::ExitStatus, "failed"),
                "panic" => panic!("the tool panics"),
                "hang" => {
                    cx.cancelled.await;
                    error(ToolErrorKind::Cancelled, "cancelled")
                }
                "question" => ToolOutput {
                    content: vec![Part::text(format!("said {}", self.answers.join(", ")))],
                    ..ToolOutput::default()
                },
                "change" => {
                    let mut drift = self.world.drift.lock().unwrap();
                    *drift += 1;
                    let (before, after) = (Some(format!("{}", *drift - 1)), Some(drift.to_string()));
                    let changes = vec![FileChange { path: "/w/a".into(), before, after }];
                    ToolOutput { changes, ..ToolOutput::default() }
                }
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

    fn withholds(&self, name: &str) -> bool {
        name == "withheld"
    }
}

/// Reading is free, `write 7` is denied, everything else asks; yolo allows all but the denied. A rule is the
/// title of a call that is allowed, or that of "always this tool".
#[derive(Clone)]
struct Rules {
    allowed: Vec<String>,
    world: Arc<World>,
}

impl Policy for Rules {
    fn judge(&self, plan: &Plan, mode: ApprovalMode) -> Verdict {
        *self.world.judged.lock().unwrap() += 1;
        let rule = "test".to_owned();
        if plan.title.ends_with(" 7") {
            return Verdict::Deny { rule, reason: "seven".to_owned() };
        }
        let of_tool = format!("tool = {:?}", plan.tool);
        let named = self.allowed.contains(&plan.title)
            || mode != ApprovalMode::Plan && self.allowed.contains(&of_tool);
        if plan.tool == "read" || mode == ApprovalMode::Yolo || named {
            return Verdict::Allow { rule, confinement: Confinement::Open };
        }
        // `write 9` may never be allowed for good.
        let always = (!plan.title.ends_with(" 9")).then(|| plan.title.clone());
        let missing = Missing { what: plan.title.clone(), reason: "test".to_owned(), always };
        Verdict::Ask { rule, missing: vec![missing], confinement: Confinement::Asked }
    }

    fn with_rules(&self, rules: &str) -> Result<Arc<dyn Policy>, String> {
        let added = rules.lines().map(str::to_owned);
        let allowed = self.allowed.iter().cloned().chain(added).collect();
        Ok(Arc::new(Self { allowed, world: self.world.clone() }))
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

/// Models by any name under `fake/`, and the same tools for all of them; what the session asked for is kept.
pub(super) struct FakeHost {
    pub(super) world: Arc<World>,
    toolbox: Arc<dyn Toolbox>,
}

pub(super) fn model(world: &Arc<World>, reference: &str) -> BoundModel {
    BoundModel::new(reference, Arc::new(Model(world.clone())))
}

impl Host for FakeHost {
    fn bind<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<BoundModel, String>> {
        let bound = match name.starts_with("fake/") {
            true => Ok(model(&self.world, name)),
            false => Err(format!("there is no `{name}`")),
        };
        Box::pin(std::future::ready(bound))
    }

    fn next_model(&self, model: &str) -> Option<String> {
        (model == "fake/m").then(|| "fake/other".to_owned())
    }

    fn equip(&self, situation: &Situation) -> Equipment {
        let instruction = self.world.instruction.lock().unwrap().map(|words| words(situation));
        let instruction = instruction.map(|words| Arc::new(Content::user(words)));
        Equipment { toolbox: self.toolbox.clone(), instruction }
    }

    fn save_rules<'a>(&'a self, rules: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.world.saved.lock().unwrap().push(rules.to_owned());
        Box::pin(std::future::ready(Ok("the rules of the test".to_owned())))
    }

    fn revert<'a>(
        &'a self,
        steps: Vec<RevertStep>,
    ) -> BoxFuture<'a, Result<Box<dyn Reverted>, RevertProblem>> {
        struct Done(Vec<RevertedFile>);
        impl Reverted for Done {
            fn files(&self) -> Vec<RevertedFile> {
                self.0.clone()
            }

            fn withdraw(self: Box<Self>) -> Result<(), String> {
                Ok(())
            }
        }
        let files = steps.into_iter().map(|step| RevertedFile { change: step.change, mode: None });
        let done: Box<dyn Reverted> = Box::new(Done(files.collect()));
        Box::pin(std::future::ready(Ok(done)))
    }
}

pub(super) fn setup(world: &Arc<World>) -> SessionSetup {
    let names =
        ["read", "write", "fail", "panic", "hang", "question", "serve", "drift", "change", "withheld"];
    let tools = names.map(|name| {
        let declaration = FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() };
        let tool = FakeTool { name, world: world.clone(), declaration: Arc::new(declaration) };
        (name, Arc::new(tool))
    });
    SessionSetup {
        host: Arc::new(FakeHost {
            world: world.clone(),
            toolbox: Arc::new(FakeToolbox(HashMap::from(tools))),
        }),
        model: model(world, "fake/m"),
        policy: Arc::new(Rules { allowed: Vec::new(), world: world.clone() }),
        journal: Box::new(MemoryJournal(world.clone())),
        clients: Clients::default(),
        options: SessionOptions {
            limits: Limits { steps: Some(20), ..Limits::default() },
            isolation: Some(Arc::new(|_, _| "none".to_owned())),
            hooks: world.hooks.lock().unwrap().is_some().then(|| Arc::new(FakeHooks(world.clone())) as _),
            ..SessionOptions::default()
        },
        clock: || 0,
    }
}
