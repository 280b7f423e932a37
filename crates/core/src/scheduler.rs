//! The scheduler: one state machine for every tool call.
//!
//! It knows the order of things and the lanes; it decides nothing about approval and writes nothing down.
//! Its owner, the session, asks it what happened ([`Scheduler::next`]), records that, and tells it what to
//! do next. So a fact is always durable before the scheduler acts on it.

mod wish;

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::tool::Toolbox;
use charla_proto::{
    Args, Begun, CallStatus, Confinement, Consent, FileChange, FileJudge, FunctionCall, FunctionResponse,
    Invocation, Lane, OpenCall, Outcome, Part, Plan, RunContext, ToolContext, ToolError, ToolErrorKind,
    ToolOutput,
};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use wish::WayToSession;
pub use wish::{Passed, Wish};

/// How many wishes of running calls may wait; who has more waits.
const WISHES: usize = 16;
/// How many pieces of live output may wait to be shown; more are dropped.
const LIVE_QUEUE: usize = 256;

/// What happens to a call.
pub enum CallEvent {
    /// Its arguments are good and its plan is known; or they are not.
    Prepared {
        /// The call, by its place in the step.
        index: usize,
        /// What is wrong, if anything.
        problem: Option<ToolError>,
    },
    /// It ran and came back.
    Finished {
        /// The call, by its place in the step.
        index: usize,
        /// What it gave, failures included.
        output: ToolOutput,
    },
    /// It has something to show while it runs.
    Live {
        /// The call, by its place in the step.
        index: usize,
        /// The new piece of its output.
        text: String,
    },
    /// It wants something of the session while it runs.
    Aside {
        /// The call, by its place in the step.
        index: usize,
        /// What it wants.
        wish: Wish,
    },
}

/// One call on its way.
pub struct ScheduledCall {
    /// The call, with the arguments that hold now.
    pub call: FunctionCall,
    /// How far it has come.
    pub status: CallStatus,
    invocation: Option<Box<dyn Invocation>>,
    /// What it would do, once known.
    pub plan: Option<Plan>,
    /// An earlier process left it running, and it goes on where it was.
    pub again: bool,
    /// The answer to a question that it had passed on then.
    pub(crate) answered: Option<(String, Outcome, String)>,
}

/// How far a call's processes reach.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// What holds them in.
    pub confinement: Confinement,
    /// True when nothing but git reads files in it.
    pub only_git_reads: bool,
    /// Who lets it run.
    pub consent: Consent,
}

/// A move that the state machine does not have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call cannot go from {from:?} to {to:?}")]
pub struct IllegalMove {
    from: CallStatus,
    to: CallStatus,
}

type Prepared = (usize, Result<Box<dyn Invocation>, ToolError>);

/// The calls of one step.
pub struct Scheduler {
    calls: Vec<ScheduledCall>,
    preparing: FuturesUnordered<BoxFuture<'static, Prepared>>,
    running: JoinSet<ToolOutput>,
    tasks: HashMap<task::Id, usize>,
    live: mpsc::Receiver<(usize, String)>,
    live_sender: mpsc::Sender<(usize, String)>,
    wishes: mpsc::Receiver<(usize, Wish)>,
    wish_sender: mpsc::Sender<(usize, Wish)>,
    cancel: CancellationToken,
}

impl Scheduler {
    /// Begins to check these calls, each with the context's judge of files asked for its own tool. Those that ended or began before are only counted.
    pub fn new(calls: Vec<OpenCall>, toolbox: &Arc<dyn Toolbox>, cx: &Arc<ToolContext>) -> Self {
        let (live_sender, live) = mpsc::channel(LIVE_QUEUE);
        let (wish_sender, wishes) = mpsc::channel(WISHES);
        let mut scheduler = Self {
            calls: Vec::with_capacity(calls.len()),
            preparing: FuturesUnordered::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            live,
            live_sender,
            wishes,
            wish_sender,
            cancel: CancellationToken::new(),
        };
        for OpenCall { call, status, approval, .. } in calls {
            let index = scheduler.calls.len();
            let again =
                status == CallStatus::Executing && toolbox.get(&call.name).is_some_and(|tool| tool.goes_on());
            let begun = (status.is_final() || status == CallStatus::Executing) && !again;
            if !begun {
                scheduler.preparing.push(prepare(index, call.clone(), toolbox, cx));
            }
            let status = if begun { status } else { CallStatus::Validating };
            let answered = approval.and_then(|open| {
                let (outcome, by) = open.answer?;
                Some((open.asked.stands_for.clone()?, outcome, by))
            });
            scheduler.calls.push(ScheduledCall {
                call,
                status,
                invocation: None,
                plan: None,
                again,
                answered,
            });
        }
        scheduler
    }

    /// True when nothing happens any more unless somebody answers a question; running calls that wait for one are told by
    /// `asking`.
    pub fn waits_for_people(&self, asking: impl Fn(usize) -> bool) -> bool {
        let is_still = |(index, call): (usize, &ScheduledCall)| match call.status {
            CallStatus::Validating => false,
            CallStatus::Executing => asking(index),
            _ => true,
        };
        self.calls.iter().enumerate().all(is_still) && self.ready().is_empty()
    }

    /// The calls, in the order the model made them.
    pub fn calls(&self) -> &[ScheduledCall] {
        &self.calls
    }

    /// True when every call has its final status.
    pub fn is_done(&self) -> bool {
        self.calls.iter().all(|call| call.status.is_final())
    }

    /// The next thing that happens; waits forever when nothing is under way. Safe to drop and call again.
    pub async fn next(&mut self) -> CallEvent {
        tokio::select! {
            // What a call showed comes before its end.
            biased;
            Some((index, text)) = self.live.recv() => CallEvent::Live { index, text },
            Some((index, wish)) = self.wishes.recv() => CallEvent::Aside { index, wish },
            Some((index, prepared)) = self.preparing.next(), if !self.preparing.is_empty() => {
                let problem = match prepared {
                    Ok(invocation) => {
                        let args = self.calls[index].call.args.clone();
                        self.calls[index].plan = Some(Plan { args, ..invocation.plan().clone() });
                        self.calls[index].invocation = Some(invocation);
                        None
                    }
                    Err(problem) => Some(problem),
                };
                CallEvent::Prepared { index, problem }
            }
            Some(finished) = self.running.join_next_with_id(), if !self.running.is_empty() => {
                let (id, output) = finished.unwrap_or_else(|error| (error.id(), died(&error)));
                let index = self.tasks.remove(&id).unwrap_or_default();
                CallEvent::Finished { index, output }
            }
            else => std::future::pending().await,
        }
    }

    /// Moves a call to another status.
    pub fn advance(&mut self, index: usize, to: CallStatus) -> Result<(), IllegalMove> {
        let call = &mut self.calls[index];
        if !call.status.may_become(to) {
            return Err(IllegalMove { from: call.status, to });
        }
        call.status = to;
        Ok(())
    }

    /// Gives a call other arguments (an edited file content) and checks it again.
    pub fn change(
        &mut self,
        index: usize,
        call: FunctionCall,
        toolbox: &Arc<dyn Toolbox>,
        cx: &Arc<ToolContext>,
    ) {
        self.preparing.push(prepare(index, call.clone(), toolbox, cx));
        let slot = &mut self.calls[index];
        *slot = ScheduledCall {
            call,
            status: CallStatus::Validating,
            invocation: None,
            plan: None,
            again: false,
            answered: None,
        };
    }

    /// The arguments with which a call would write this content, if it writes a file.
    pub fn args_for_content(&self, index: usize, content: &str) -> Option<Args> {
        self.calls.get(index)?.invocation.as_ref()?.args_for_content(content)
    }

    /// The files that a call is about to change.
    pub fn changes(&self, index: usize) -> Vec<FileChange> {
        let invocation = self.calls.get(index).and_then(|call| call.invocation.as_ref());
        invocation.map(|invocation| invocation.changes()).unwrap_or_default()
    }

    /// Hands a call what the person said to its questions.
    pub fn answered(&mut self, index: usize, answers: Vec<String>) {
        if let Some(invocation) = &mut self.calls[index].invocation {
            invocation.answered(answers);
        }
    }

    /// The scheduled calls that may start now. A call that writes waits for everything before it, and
    /// everything after it waits for it: the model meant them in this order.
    pub fn ready(&self) -> Vec<usize> {
        let mut ready = Vec::new();
        let mut all_before_done = true;
        for (index, call) in self.calls.iter().enumerate() {
            if call.status.is_final() {
                continue;
            }
            let Some(plan) = &call.plan else { break };
            let shared = plan.lane == Lane::Shared;
            if call.status == CallStatus::Scheduled && (shared || all_before_done) {
                ready.push(index);
            }
            if !shared {
                break;
            }
            all_before_done = false;
        }
        ready
    }

    /// Runs a call whose status is executing.
    pub fn run(&mut self, index: usize, reach: Reach, files: FileJudge) {
        let ScheduledCall { call, again, invocation, answered, .. } = &mut self.calls[index];
        let Some(mut invocation) = invocation.take() else { return };
        let way = Arc::new(WayToSession { index, wishes: self.wish_sender.downgrade() });
        let call = call.id.clone().unwrap_or_default();
        invocation.begins(Begun { call, again: *again, answered: answered.clone(), asked: way.clone() });
        invocation.attended(way);
        let live = self.live_sender.clone();
        let cancel = self.cancel.clone();
        let cx = RunContext {
            cancelled: Box::pin(async move { cancel.cancelled().await }),
            // A full queue means nobody keeps up: live output may be lost.
            live: Box::new(move |text| drop(live.try_send((index, text.to_owned())))),
            confinement: reach.confinement,
            only_git_reads: reach.only_git_reads,
            consent: reach.consent,
            files,
        };
        let task = self.running.spawn(invocation.run(cx));
        self.tasks.insert(task.id(), index);
    }

    /// Tells everything under way to stop.
    pub fn cancel(&mut self) {
        self.cancel.cancel();
        self.preparing.clear();
    }

    /// Ends what did not heed the cancellation.
    pub fn abort(&mut self) {
        self.running.abort_all();
    }
}

/// The output of a tool that panicked, or was ended because it did not heed the cancellation.
pub(crate) fn died(error: &task::JoinError) -> ToolOutput {
    let (kind, message) = if error.is_cancelled() {
        (ToolErrorKind::Cancelled, "The tool was ended.")
    } else {
        (ToolErrorKind::Internal, "The tool failed inside; this is a bug in the tool.")
    };
    ToolOutput::failed(ToolError::new(kind, message))
}

fn prepare(
    index: usize,
    call: FunctionCall,
    toolbox: &Arc<dyn Toolbox>,
    cx: &Arc<ToolContext>,
) -> BoxFuture<'static, Prepared> {
    let (toolbox, cx) = (toolbox.clone(), cx.clone());
    Box::pin(async move {
        if let Some(invalid) = &call.invalid {
            let message = format!(
                "The call was not run: {}. If the output limit cut it, split the work into smaller calls.",
                invalid.reason
            );
            return (index, Err(ToolError::new(ToolErrorKind::InvalidArgs, message)));
        }
        let Some(tool) = toolbox.get(&call.name) else {
            let nearest = toolbox.nearest(&call.name);
            let hint = nearest.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
            let message = format!("Tool \"{}\" not found.{hint}", call.name);
            return (index, Err(ToolError::new(ToolErrorKind::UnknownTool, message)));
        };
        let cx = ToolContext { files: cx.files.of_tool(&call.name), ..cx.as_ref().clone() };
        (index, tool.prepare(call.args, &cx).await)
    })
}

/// A tool's output as the model is told it: words as `output`, media nested in the response, a failure
/// as `error`.
pub fn to_response(call: &FunctionCall, output: &ToolOutput) -> FunctionResponse {
    if let Some(error) = &output.error {
        return FunctionResponse::error("", "", error.message.clone()).answering(call);
    }
    let (words, media): (Vec<&Part>, Vec<&Part>) =
        output.content.iter().partition(|part| part.as_text().is_some());
    let text = words.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n");
    let text = match (text.is_empty(), media.len()) {
        (false, _) => text,
        (true, 0) => "(no output)".to_owned(),
        (true, count) => format!("Binary content provided ({count} item(s))."),
    };
    let mut response = FunctionResponse::output("", "", text).answering(call);
    response.parts = media.into_iter().cloned().collect();
    response
}

#[cfg(test)]
mod tests;
