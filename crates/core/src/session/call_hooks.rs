//! Hooks about the calls of one step: those that are under way, and what their answers mean for a call.

use std::sync::Arc;

use charla_proto::{BoxFuture, FunctionCall, HookEffect, Part, ToolError, ToolErrorKind, ToolOutput};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::hooking::stopped;
use crate::hooks::{HookAnswer, HookDecision, HookPoint, Hooks, NamedCall};

/// How many tail calls may follow one call.
const TAILS: u32 = 8;

/// The hooks that run about calls of one step.
#[derive(Default)]
pub(super) struct CallHooks {
    running: FuturesUnordered<BoxFuture<'static, HookedCall>>,
    /// What calls gave whose hooks still run, by call.
    outputs: Vec<(usize, ToolOutput)>,
}

/// What hooks say about a call.
pub(super) struct HookedCall {
    /// The call, by its place in the step.
    pub(super) index: usize,
    /// True when it has run.
    pub(super) has_run: bool,
    pub(super) answer: HookAnswer,
}

impl CallHooks {
    /// Asks hooks about a call that has not run.
    pub(super) fn before(&mut self, hooks: &Arc<dyn Hooks>, index: usize, call: NamedCall) {
        self.push(index, false, hooks.run(HookPoint::BeforeTool(call)));
    }

    /// Asks hooks about a call that has.
    pub(super) fn after(
        &mut self,
        hooks: &Arc<dyn Hooks>,
        index: usize,
        call: NamedCall,
        output: ToolOutput,
    ) {
        self.outputs.push((index, output.clone()));
        self.push(index, true, hooks.run(HookPoint::AfterTool { call, output }));
    }

    fn push(&mut self, index: usize, has_run: bool, work: BoxFuture<'static, HookAnswer>) {
        let asked = async move { HookedCall { index, has_run, answer: work.await } };
        self.running.push(Box::pin(asked));
    }

    /// The next answer; waits for ever when none is to come. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> HookedCall {
        match self.running.next().await {
            Some(hooked) => hooked,
            None => std::future::pending().await,
        }
    }

    /// What a call gave that hooks have answered about.
    pub(super) fn output(&mut self, index: usize) -> ToolOutput {
        let place = self.outputs.iter().position(|(known, _)| *known == index);
        place.map(|place| self.outputs.swap_remove(place).1).unwrap_or_default()
    }

    /// Ends what runs; the calls whose outputs are there all the same.
    pub(super) fn give_up(&mut self) -> Vec<(usize, ToolOutput)> {
        self.running = FuturesUnordered::new();
        std::mem::take(&mut self.outputs)
    }
}

/// Why a call that has not run does not run.
pub(super) fn refusal(answer: &HookAnswer) -> Option<ToolError> {
    let message = match (&answer.stop, answer.decision) {
        (Some(reason), _) => stopped(reason),
        (None, HookDecision::Deny) => format!("Tool execution blocked: {}", answer.why()),
        (None, _) => return None,
    };
    Some(ToolError::new(ToolErrorKind::BlockedByHook, message))
}

/// What is recorded of a call that goes on to be judged.
pub(super) fn going_on(call: &FunctionCall, answer: &HookAnswer) -> HookEffect {
    let args = answer.changes.args.clone().filter(|args| *args != call.args);
    let ask = (answer.decision == HookDecision::Ask).then(|| {
        let told = answer.ran.iter().filter_map(|ran| ran.system_message.clone());
        let words: Vec<String> = answer.reason.iter().cloned().chain(told).collect();
        if words.is_empty() { "a hook wants it to be asked about".to_owned() } else { words.join("; ") }
    });
    HookEffect::Call { call: call.id.clone().unwrap_or_default(), args, ask }
}

/// The call that hooks put in the place of one that has run, unless there were too many.
pub(super) fn tail_call(call: &FunctionCall, answer: &HookAnswer, tails: u32) -> Option<FunctionCall> {
    let (name, args) = answer.changes.tail_call.clone().filter(|_| tails < TAILS && answer.stop.is_none())?;
    (answer.decision != HookDecision::Deny).then(|| FunctionCall { name, args, ..call.clone() })
}

/// What a call gives after its hooks have had their say.
pub(super) fn result(mut output: ToolOutput, answer: &HookAnswer) -> ToolOutput {
    let blocked = match (&answer.stop, answer.decision) {
        (Some(reason), _) => Some(stopped(reason)),
        (None, HookDecision::Deny) => Some(format!("Tool result blocked: {}", answer.why())),
        (None, _) => None,
    };
    if let Some(message) = blocked {
        let error = ToolError::new(ToolErrorKind::BlockedByHook, message);
        return ToolOutput { error: Some(error), content: Vec::new(), display: None, ..output };
    }
    if let Some(context) = answer.context.as_deref().filter(|context| !context.trim().is_empty()) {
        let context = format!("\n\n<hook_context>{context}</hook_context>");
        match &mut output.error {
            Some(error) => error.message.push_str(&context),
            None => output.content.push(Part::text(context)),
        }
    }
    output
}
