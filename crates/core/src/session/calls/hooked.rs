//! Where hooks are asked about a call of a step, and what comes of their answers.

use std::sync::Arc;

use charla_proto::{CallStatus, FunctionCall, HookEffect, HookEvent, ToolOutput, TurnEnd, Verdict};

use super::super::call_hooks::{self, HookedCall};
use super::super::ending::Stop;
use super::super::hooking::{HOOK, Hooking, ending};
use super::{Calls, status_of};
use crate::hooks::{HookAnswer, Hooks, NamedCall};

impl Calls<'_> {
    /// The hooks that want to be asked about a call, if there are any, and the call as they know it.
    fn hooks_about(&self, event: HookEvent, index: usize) -> Option<(Arc<dyn Hooks>, NamedCall)> {
        let hooks = self.session.options.hooks.clone()?;
        let call = NamedCall::new(self.call(index).clone(), self.scheduler.calls()[index].plan.as_ref());
        hooks.wants(event, &call.names()).then_some((hooks, call))
    }

    /// A call's arguments are good: hooks are asked about it, once, and then it is judged. What is denied anyway is not
    /// theirs to see.
    pub(super) async fn checked(&mut self, index: usize) -> Result<(), Stop> {
        let asked = self.open(index).is_none_or(|open| open.hooks.asked || open.approval.is_some());
        let Some((hooks, call)) = self.hooks_about(HookEvent::BeforeTool, index).filter(|_| !asked) else {
            return self.judge(index).await;
        };
        let mode = self.session.mode();
        let plan = self.scheduler.calls()[index].plan.as_ref();
        let verdict = plan.map(|plan| self.session.approvals.judge(plan, mode));
        if matches!(verdict, Some(Verdict::Deny { .. })) {
            return self.judge(index).await;
        }
        self.hooks.before(&hooks, index, call);
        Ok(())
    }

    /// A call has run: hooks are asked about what it gave, unless it was stopped.
    pub(super) async fn finished(&mut self, index: usize, output: ToolOutput) -> Result<(), Stop> {
        let status = status_of(&output);
        let hooks = self.hooks_about(HookEvent::AfterTool, index);
        match hooks.filter(|_| status != CallStatus::Cancelled && self.ending.is_none()) {
            Some((hooks, call)) => {
                self.hooks.after(&hooks, index, call, output);
                Ok(())
            }
            None => self.end(index, status, output).await,
        }?;
        match self.refused_while_away(index) {
            Some(by) => self.cancel(&by).await,
            None => Ok(()),
        }
    }

    /// Hooks have answered about a call.
    pub(super) async fn hooked(&mut self, hooked: HookedCall) -> Result<(), Stop> {
        let HookedCall { index, has_run, answer } = hooked;
        Hooking(self.session).show(&answer.ran);
        match has_run {
            false => self.hooked_before(index, &answer).await?,
            true => self.hooked_after(index, &answer).await?,
        }
        match ending(&answer).filter(|ending| ending.end == TurnEnd::HookStopped) {
            Some(ending) => {
                self.ending.get_or_insert(ending);
                self.cancel(HOOK).await
            }
            None => Ok(()),
        }
    }

    async fn hooked_before(&mut self, index: usize, answer: &HookAnswer) -> Result<(), Stop> {
        if let Some(problem) = call_hooks::refusal(answer) {
            return self.refuse(index, problem).await;
        }
        let effect = call_hooks::going_on(self.call(index), answer);
        let changed = matches!(effect, HookEffect::Call { args: Some(_), .. });
        Hooking(self.session).acted(HookEvent::BeforeTool, answer.names(), effect).await?;
        match self.open(index).filter(|_| changed).map(|open| open.call.clone()) {
            Some(call) => self.change(index, call),
            None => return self.judge(index).await,
        }
        Ok(())
    }

    async fn hooked_after(&mut self, index: usize, answer: &HookAnswer) -> Result<(), Stop> {
        let output = self.hooks.output(index);
        let tails = self.open(index).map_or(0, |open| open.hooks.tails);
        if let Some(FunctionCall { id, name, args, .. }) =
            call_hooks::tail_call(self.call(index), answer, tails)
        {
            let effect = HookEffect::TailCall { call: id.unwrap_or_default(), name, args };
            Hooking(self.session).acted(HookEvent::AfterTool, answer.names(), effect).await?;
            if let Some(call) = self.open(index).map(|open| open.call.clone()) {
                self.change(index, call);
            }
            return Ok(());
        }
        let output = call_hooks::result(output, answer);
        self.end(index, status_of(&output), output).await
    }
}
