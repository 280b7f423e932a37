//! Calls: judged, run, ended.

use charla_proto::{
    CallEnded, CallStarted, CallStatus, Fact, FunctionCall, FunctionResponse, JournalError, Part, Plan,
    Preview, ToolError, ToolErrorKind, ToolOutput, TurnEnd, Verdict,
};
use tokio::time::Instant;

use super::Delta;
use super::actor::{Actor, GRACE, Phase};
use crate::loop_guard::{Advice, LoopGuard, STOP};
use crate::scheduler::{Happening, to_response};

/// The fact that a call has its response.
pub(super) fn ended(turn: u64, call: &FunctionCall, status: CallStatus, response: FunctionResponse) -> Fact {
    Fact::CallEnded(Box::new(CallEnded {
        turn,
        call: call.id.clone().unwrap_or_default(),
        status,
        response,
        display: None,
        error: None,
        whole_output: None,
        changes: Vec::new(),
    }))
}

impl Actor {
    pub(super) async fn tool_happened(&mut self, happening: Happening) -> Result<(), JournalError> {
        match happening {
            Happening::Live { index, text } => {
                if let Some(call) = self.call(index).and_then(|call| call.id) {
                    self.ledger.show(Delta::Live { call, text });
                }
                return Ok(());
            }
            Happening::Prepared { index, problem: Some(problem) } => self.refuse(index, problem).await?,
            Happening::Prepared { index, problem: None } => self.judge(index).await?,
            Happening::Finished { index, output } => self.finish(index, output).await?,
        }
        self.start_ready().await?;
        self.after_calls().await
    }

    pub(super) fn call(&self, index: usize) -> Option<FunctionCall> {
        match &self.phase {
            Phase::Calls(scheduler) => scheduler.calls().get(index).map(|call| call.call.clone()),
            _ => None,
        }
    }

    pub(super) fn plan(&self, index: usize) -> Option<Plan> {
        match &self.phase {
            Phase::Calls(scheduler) => scheduler.calls().get(index)?.plan.clone(),
            _ => None,
        }
    }

    pub(super) fn advance(&mut self, index: usize, to: CallStatus) {
        if let Phase::Calls(scheduler) = &mut self.phase {
            // The moves made here are all legal; one that were not is dropped rather than made.
            let _ = scheduler.advance(index, to);
        }
    }

    /// Ends a call without running it.
    pub(super) async fn refuse(&mut self, index: usize, problem: ToolError) -> Result<(), JournalError> {
        self.end_call(index, CallStatus::Error, ToolOutput::failed(problem)).await
    }

    pub(super) async fn end_call(
        &mut self,
        index: usize,
        status: CallStatus,
        output: ToolOutput,
    ) -> Result<(), JournalError> {
        let Some(call) = self.call(index) else { return Ok(()) };
        let output = self.guarded(&call, status, output);
        let response = to_response(&call, &output);
        let mut fact = ended(self.ledger.conversation.turns, &call, status, response);
        if let Fact::CallEnded(ended) = &mut fact {
            ended.display = output.display;
            ended.error = output.error.map(|error| error.kind);
            ended.whole_output = output.whole_output;
            ended.changes = output.changes;
        }
        self.ledger.commit(vec![fact]).await?;
        self.advance(index, status);
        Ok(())
    }

    /// Counts a result, whatever became of the call; tells the model, or ends the turn, when it is always the same.
    fn guarded(&mut self, call: &FunctionCall, status: CallStatus, mut output: ToolOutput) -> ToolOutput {
        if status == CallStatus::Cancelled {
            return output;
        }
        let count = self.guard.count(call, &to_response(call, &output));
        if count >= STOP {
            let detail = format!("`{}` was called {count} times with the same result", call.name);
            self.ending = Some((TurnEnd::Loop, Some(detail)));
        }
        if let Some(note) = LoopGuard::note(count) {
            match &mut output.error {
                Some(error) => error.message = format!("{}\n{note}", error.message),
                None => output.content.push(Part::text(note)),
            }
        }
        output
    }

    /// A call's plan is known: allowed, denied, or a question.
    async fn judge(&mut self, index: usize) -> Result<(), JournalError> {
        let (Some(call), Some(plan)) = (self.call(index), self.plan(index)) else { return Ok(()) };
        if self.guard.advise(&call) == Advice::Refuse {
            let message = LoopGuard::refusal(&call);
            return self.refuse(index, ToolError::new(ToolErrorKind::Loop, message)).await;
        }
        match self.settings.policy.judge(&plan, self.ledger.conversation.mode) {
            // A question to the person cannot be allowed away: somebody has to answer it.
            Verdict::Allow { rule } if matches!(plan.preview, Preview::Questions { .. }) => {
                self.ask(index, &call, &plan, rule, &[]).await?;
            }
            Verdict::Allow { .. } => self.advance(index, CallStatus::Scheduled),
            Verdict::Deny { rule, reason } => {
                let message = format!("Tool execution denied by policy: {reason} (rule: {rule})");
                self.refuse(index, ToolError::new(ToolErrorKind::DeniedByRule, message)).await?;
            }
            Verdict::Ask { .. } if self.grants.cover(&plan, &call) => {
                self.advance(index, CallStatus::Scheduled)
            }
            Verdict::Ask { rule, missing } => self.ask(index, &call, &plan, rule, &missing).await?,
        }
        Ok(())
    }

    /// Starts whatever may start. A call is marked as running, durably, before it runs.
    pub(super) async fn start_ready(&mut self) -> Result<(), JournalError> {
        loop {
            let Phase::Calls(scheduler) = &self.phase else { return Ok(()) };
            let Some(index) = scheduler.ready().into_iter().next() else { return Ok(()) };
            let call = self.call(index).and_then(|call| call.id).unwrap_or_default();
            let turn = self.ledger.conversation.turns;
            self.ledger.commit(vec![Fact::CallStarted(CallStarted { turn, call })]).await?;
            if let Phase::Calls(scheduler) = &mut self.phase
                && scheduler.advance(index, CallStatus::Executing).is_ok()
            {
                scheduler.run(index);
            }
        }
    }

    async fn finish(&mut self, index: usize, output: ToolOutput) -> Result<(), JournalError> {
        let status = match &output.error {
            None => CallStatus::Success,
            Some(error) if error.kind == ToolErrorKind::Cancelled => CallStatus::Cancelled,
            Some(_) => CallStatus::Error,
        };
        self.end_call(index, status, output).await
    }

    /// Stops the calls of this step: what has not begun is cancelled now, what runs is told to stop.
    pub(super) async fn cancel_calls(&mut self) -> Result<(), JournalError> {
        let Phase::Calls(scheduler) = &mut self.phase else { return Ok(()) };
        scheduler.cancel();
        let open: Vec<usize> = scheduler
            .calls()
            .iter()
            .enumerate()
            .filter(|(_, call)| !call.status.is_final() && call.status != CallStatus::Executing)
            .map(|(index, _)| index)
            .collect();
        self.ending.get_or_insert((TurnEnd::Cancelled, None));
        self.abort_at = Some(Instant::now() + GRACE);
        for index in open {
            let error = ToolError::new(ToolErrorKind::Cancelled, "Cancelled by the user.");
            self.end_call(index, CallStatus::Cancelled, ToolOutput::failed(error)).await?;
        }
        Box::pin(self.after_calls()).await
    }
}
