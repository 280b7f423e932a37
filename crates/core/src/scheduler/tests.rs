use std::collections::HashMap;
use std::time::Duration;

use charla_proto::tool::Tool;
use charla_proto::{Args, CallHooks, Confinement, FileJudge, FunctionDeclaration, Preview};
use serde_json::{Map, json};
use tokio::sync::{Barrier, Notify};

use super::*;

const OPEN: Reach =
    Reach { confinement: Confinement::Open, only_git_reads: false, consent: charla_proto::Consent::Named };

const ALL: [CallStatus; 7] = [
    CallStatus::Validating,
    CallStatus::AwaitingApproval,
    CallStatus::Scheduled,
    CallStatus::Executing,
    CallStatus::Success,
    CallStatus::Error,
    CallStatus::Cancelled,
];

/// What a fake tool does when it runs.
#[derive(Clone)]
enum Work {
    /// Waits until as many as the barrier wants are running.
    Together(Arc<Barrier>),
    /// Shows something and waits to be told.
    Waits(Arc<Notify>),
    /// Comes back at once.
    Quick,
}

struct Fake {
    lane: Lane,
    work: Work,
    declaration: Arc<FunctionDeclaration>,
}

struct Ready {
    plan: Plan,
    work: Work,
}

impl Tool for Fake {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let plan = Plan {
            tool: self.declaration.name.clone(),
            args: Args::new(),
            title: args.get("n").map(ToString::to_string).unwrap_or_default(),
            effects: Vec::new(),
            preview: Preview::None,
            lane: self.lane,
        };
        let work = self.work.clone();
        Box::pin(async move { Ok(Box::new(Ready { plan, work }) as Box<dyn Invocation>) })
    }
}

impl Invocation for Ready {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            match self.work {
                Work::Together(barrier) => {
                    barrier.wait().await;
                }
                Work::Waits(told) => {
                    (cx.live)("still here");
                    told.notified().await;
                }
                Work::Quick => {}
            }
            ToolOutput { content: vec![Part::text(self.plan.title.clone())], ..ToolOutput::default() }
        })
    }
}

struct Tools(HashMap<&'static str, Arc<Fake>>);

impl Toolbox for Tools {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.get(name).map(|tool| tool.clone() as Arc<dyn Tool>)
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        Vec::new()
    }

    fn nearest(&self, _: &str) -> Option<String> {
        None
    }
}

fn open(call: FunctionCall) -> OpenCall {
    OpenCall {
        call,
        status: CallStatus::Validating,
        approval: None,
        original: None,
        hooks: CallHooks::default(),
        response: None,
    }
}

fn scheduler(tools: Vec<(&'static str, Lane, Work)>, calls: &[&str]) -> Scheduler {
    let tools = tools.into_iter().map(|(name, lane, work)| {
        let declaration = FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() };
        (name, Arc::new(Fake { lane, work, declaration: Arc::new(declaration) }))
    });
    let toolbox: Arc<dyn Toolbox> = Arc::new(Tools(tools.collect()));
    let calls = calls.iter().enumerate().map(|(n, name)| {
        open(FunctionCall::new(format!("c{n}"), *name, Map::from_iter([("n".to_owned(), json!(n))])))
    });
    Scheduler::new(calls.collect(), &toolbox, &Arc::new(ToolContext::default()))
}

/// Lets every call through and runs all of them; gives back the order in which they started and ended.
async fn run_all(scheduler: &mut Scheduler) -> (Vec<usize>, Vec<usize>) {
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    while !scheduler.is_done() {
        match scheduler.next().await {
            CallEvent::Prepared { index, .. } => scheduler.advance(index, CallStatus::Scheduled).unwrap(),
            CallEvent::Finished { index, .. } => {
                scheduler.advance(index, CallStatus::Success).unwrap();
                ended.push(index);
            }
            CallEvent::Live { .. } | CallEvent::Aside { .. } => {}
        }
        for index in scheduler.ready() {
            scheduler.advance(index, CallStatus::Executing).unwrap();
            scheduler.run(index, OPEN, FileJudge::default());
            started.push(index);
        }
    }
    (started, ended)
}

#[tokio::test]
async fn every_legal_move_is_made_and_every_other_refused() {
    for from in ALL {
        for to in ALL {
            let mut scheduler = scheduler(vec![("read", Lane::Shared, Work::Quick)], &["read"]);
            scheduler.calls[0].status = from;
            let moved = scheduler.advance(0, to);
            assert_eq!(moved.is_ok(), from.may_become(to), "{from:?} to {to:?}");
            assert_eq!(scheduler.calls()[0].status, if moved.is_ok() { to } else { from });
        }
    }
}

#[tokio::test]
async fn two_hundred_reads_run_at_once() {
    // Nobody passes the barrier before all two hundred are there.
    let work = Work::Together(Arc::new(Barrier::new(200)));
    let mut scheduler = scheduler(vec![("read", Lane::Shared, work)], &["read"; 200]);
    let (started, _) = tokio::time::timeout(Duration::from_secs(20), run_all(&mut scheduler)).await.unwrap();
    assert_eq!(started.len(), 200);
}

#[tokio::test]
async fn writers_wait_for_what_is_before_them_and_hold_what_is_after() {
    let tools = vec![("read", Lane::Shared, Work::Quick), ("write", Lane::Exclusive, Work::Quick)];
    let mut scheduler = scheduler(tools, &["read", "read", "write", "read", "write"]);
    let (started, ended) = run_all(&mut scheduler).await;
    let place = |list: &[usize], index: usize| list.iter().position(|i| *i == index).unwrap();
    assert!(place(&started, 2) >= 2 && place(&ended, 2) == 2);
    assert_eq!((place(&started, 3), place(&started, 4)), (3, 4));
    assert_eq!(ended[3..], [3, 4]);
}

#[tokio::test]
async fn a_slow_call_holds_neither_the_output_nor_the_end_of_others() {
    let told = Arc::new(Notify::new());
    let tools = vec![("slow", Lane::Shared, Work::Waits(told.clone())), ("read", Lane::Shared, Work::Quick)];
    let mut scheduler = scheduler(tools, &["slow", "read"]);
    let mut seen = Vec::new();
    while !scheduler.is_done() {
        match scheduler.next().await {
            CallEvent::Prepared { index, .. } => scheduler.advance(index, CallStatus::Scheduled).unwrap(),
            CallEvent::Aside { .. } => {}
            CallEvent::Live { index, text } => seen.push(format!("{index} says {text}")),
            CallEvent::Finished { index, .. } => {
                scheduler.advance(index, CallStatus::Success).unwrap();
                seen.push(format!("{index} ended"));
                if index == 1 {
                    told.notify_one();
                }
            }
        }
        for index in scheduler.ready() {
            scheduler.advance(index, CallStatus::Executing).unwrap();
            scheduler.run(index, OPEN, FileJudge::default());
        }
    }
    assert_eq!(seen.last().unwrap(), "0 ended");
    assert!(seen.contains(&"0 says still here".to_owned()) && seen.contains(&"1 ended".to_owned()));
}

#[tokio::test]
async fn a_call_with_cut_arguments_is_refused_with_the_reason() {
    let mut call = FunctionCall::new("c", "read", Map::new());
    call.set_args_text("{\"path\": \"a");
    let toolbox: Arc<dyn Toolbox> = Arc::new(Tools(HashMap::new()));
    let mut scheduler = Scheduler::new(vec![open(call)], &toolbox, &Arc::new(ToolContext::default()));
    let CallEvent::Prepared { problem: Some(problem), .. } = scheduler.next().await else {
        panic!("it was not refused");
    };
    assert!(problem.message.contains("split the work"), "{problem}");
}
