//! Calls: judged, asked about, run, answered.

use charla_proto::{
    ApprovalAnswered, CallAsked, CallEnded, CallStarted, CallStatus, Confirmation, ConfirmationDetail,
    Effect, Fact, FunctionCall, FunctionResponse, JournalError, Missing, Outcome, Part, Plan, Preview,
    ToolError, ToolOutput, TurnEnd, Verdict,
};
use serde_json::Value;
use tokio::time::Instant;

use super::actor::{Actor, GRACE, Phase};
use super::{Answered, Delta, NOBODY};
use crate::loop_guard::{Advice, LoopGuard, STOP};
use crate::scheduler::{Happening, to_response};

/// What a person has allowed for the rest of the session.
#[derive(Debug, Default)]
pub(super) struct Grants {
    tools: Vec<String>,
    servers: Vec<String>,
    plans: Vec<(String, Vec<Effect>)>,
    /// Calls that a person has approved with other content: their new plan needs no second question.
    calls: Vec<String>,
}

impl Grants {
    fn cover(&self, plan: &Plan) -> bool {
        if matches!(plan.preview, Preview::Questions { .. }) {
            return false;
        }
        self.tools.contains(&plan.tool)
            || self.plans.iter().any(|(tool, effects)| *tool == plan.tool && *effects == plan.effects)
            || plan.effects.iter().any(|effect| match effect {
                Effect::Mcp { server, .. } => self.servers.contains(server),
                _ => false,
            })
    }

    fn approved(&self, call: &FunctionCall) -> bool {
        call.id.as_ref().is_some_and(|id| self.calls.contains(id))
    }

    fn remember(&mut self, plan: &Plan, outcome: &Outcome) {
        match outcome {
            Outcome::ProceedAlways | Outcome::ProceedAlwaysAndSave => {
                self.plans.push((plan.tool.clone(), plan.effects.clone()));
            }
            Outcome::ProceedAlwaysTool => self.tools.push(plan.tool.clone()),
            Outcome::ProceedAlwaysServer => {
                self.servers.extend(plan.effects.iter().filter_map(|effect| match effect {
                    Effect::Mcp { server, .. } => Some(server.clone()),
                    _ => None,
                }));
            }
            Outcome::ProceedOnce
            | Outcome::ModifyWithEditor { .. }
            | Outcome::Answers { .. }
            | Outcome::Cancel { .. } => {}
        }
    }
}

/// The fact that a call has its response.
pub(super) fn ended(turn: u64, call: &FunctionCall, status: CallStatus, response: FunctionResponse) -> Fact {
    Fact::CallEnded(Box::new(CallEnded {
        turn,
        call: call.id.clone().unwrap_or_default(),
        status,
        response,
        display: None,
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

    fn call(&self, index: usize) -> Option<FunctionCall> {
        match &self.phase {
            Phase::Calls(scheduler) => scheduler.calls().get(index).map(|call| call.call.clone()),
            _ => None,
        }
    }

    fn plan(&self, index: usize) -> Option<Plan> {
        match &self.phase {
            Phase::Calls(scheduler) => scheduler.calls().get(index)?.plan.clone(),
            _ => None,
        }
    }

    fn advance(&mut self, index: usize, to: CallStatus) {
        if let Phase::Calls(scheduler) = &mut self.phase {
            // The moves made here are all legal; one that were not is dropped rather than made.
            let _ = scheduler.advance(index, to);
        }
    }

    /// Ends a call without running it.
    async fn refuse(&mut self, index: usize, problem: ToolError) -> Result<(), JournalError> {
        let output = ToolOutput { error: Some(problem), ..ToolOutput::default() };
        self.end_call(index, CallStatus::Error, output).await
    }

    async fn end_call(
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
            return self.refuse(index, ToolError { kind: "loop".to_owned(), message }).await;
        }
        match self.settings.policy.judge(&plan, self.ledger.conversation.mode) {
            // A question to the person cannot be allowed away: somebody has to answer it.
            Verdict::Allow { rule } if matches!(plan.preview, Preview::Questions { .. }) => {
                self.ask(index, &call, &plan, rule, &[]).await?;
            }
            Verdict::Allow { .. } => self.advance(index, CallStatus::Scheduled),
            Verdict::Deny { rule, reason } => {
                let message = format!("Tool execution denied by policy: {reason} (rule: {rule})");
                self.refuse(index, ToolError { kind: "denied".to_owned(), message }).await?;
            }
            Verdict::Ask { .. } if self.grants.cover(&plan) || self.grants.approved(&call) => {
                self.advance(index, CallStatus::Scheduled)
            }
            Verdict::Ask { rule, missing } => self.ask(index, &call, &plan, rule, &missing).await?,
        }
        Ok(())
    }

    async fn ask(
        &mut self,
        index: usize,
        call: &FunctionCall,
        plan: &Plan,
        rule: String,
        missing: &[Missing],
    ) -> Result<(), JournalError> {
        let session = self.ledger.conversation.started.as_ref().map(|started| started.session.clone());
        let approval = format!("{}:{}", session.unwrap_or_default(), self.ledger.conversation.seq + 1);
        let asked = CallAsked {
            turn: self.ledger.conversation.turns,
            call: call.id.clone().unwrap_or_default(),
            approval: approval.clone(),
            confirmation: confirmation(plan, call, rule, missing, &self.settings.isolation),
        };
        let mut facts = vec![Fact::CallAsked(Box::new(asked))];
        if !self.settings.somebody_to_ask {
            let outcome = Outcome::Cancel { reason: None };
            facts.push(answered(approval, outcome, NOBODY));
        }
        self.ledger.commit(facts).await?;
        self.advance(index, CallStatus::AwaitingApproval);
        if !self.settings.somebody_to_ask {
            let message = format!(
                "Not run: it needs approval ({}) and nobody is there to give it. Do without it, or say what should be allowed.",
                plan.title
            );
            self.refuse(index, ToolError { kind: "denied".to_owned(), message }).await?;
        }
        Ok(())
    }

    /// Starts whatever may start. A call is marked as running, durably, before it runs.
    async fn start_ready(&mut self) -> Result<(), JournalError> {
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
            Some(error) if error.kind == "cancelled" => CallStatus::Cancelled,
            Some(_) => CallStatus::Error,
        };
        self.end_call(index, status, output).await
    }

    /// Somebody answers a question.
    pub(super) async fn answer(
        &mut self,
        approval: &str,
        outcome: Outcome,
        by: String,
    ) -> Result<Answered, JournalError> {
        let calls = self.ledger.conversation.turn.iter().flat_map(|turn| &turn.calls);
        let mut found = calls.filter_map(|open| Some((open, open.approval.as_ref()?)));
        let found = found.find(|(_, open)| open.asked.approval == approval);
        let Some((open, question)) = found else { return Ok(Answered::Unknown) };
        if let Some((outcome, by)) = &question.answer {
            return Ok(Answered::Late { outcome: outcome.clone(), by: by.clone() });
        }
        let id = open.call.id.clone();
        self.ledger.commit(vec![answered(approval.to_owned(), outcome.clone(), &by)]).await?;
        let Phase::Calls(scheduler) = &self.phase else { return Ok(Answered::Accepted) };
        if let Some(index) = scheduler.calls().iter().position(|call| call.call.id == id) {
            self.act_on(index, outcome).await?;
        }
        Ok(Answered::Accepted)
    }

    async fn act_on(&mut self, index: usize, outcome: Outcome) -> Result<(), JournalError> {
        if let Some(plan) = self.plan(index) {
            self.grants.remember(&plan, &outcome);
        }
        match outcome {
            Outcome::Cancel { reason } => {
                let go_on = reason.is_some();
                let message = match reason {
                    Some(reason) => format!("The user did not allow this call: {reason}"),
                    None => "The user did not allow this call.".to_owned(),
                };
                let error = ToolError { kind: "cancelled".to_owned(), message };
                let output = ToolOutput { error: Some(error), ..ToolOutput::default() };
                self.end_call(index, CallStatus::Cancelled, output).await?;
                // A plain no means: give me back the word. A reason means: go on, but differently.
                if !go_on {
                    self.cancel_calls().await?;
                }
            }
            Outcome::ModifyWithEditor { new_content } => {
                let Some(mut call) = self.call(index) else { return Ok(()) };
                let before = self.plan(index).map(|plan| plan.preview);
                give_content(&mut call, before, new_content);
                self.grants.calls.extend(call.id.clone());
                if let Phase::Calls(scheduler) = &mut self.phase {
                    scheduler.change(index, call, &self.settings.toolbox, &self.settings.tool_context);
                }
            }
            Outcome::Answers { answers } => {
                if let Phase::Calls(scheduler) = &mut self.phase {
                    scheduler.answered(index, answers);
                }
                self.advance(index, CallStatus::Scheduled);
            }
            _ => self.advance(index, CallStatus::Scheduled),
        }
        self.start_ready().await
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
            let error =
                ToolError { kind: "cancelled".to_owned(), message: "Cancelled by the user.".to_owned() };
            let output = ToolOutput { error: Some(error), ..ToolOutput::default() };
            self.end_call(index, CallStatus::Cancelled, output).await?;
        }
        Box::pin(self.after_calls()).await
    }
}

/// Puts the content a person gave for the whole file in place of what the call would have made of it. A call
/// that replaces a part is given the whole of the text it was to change.
fn give_content(call: &mut FunctionCall, preview: Option<Preview>, content: String) {
    if !call.args.contains_key("old_string") {
        call.args.insert("content".to_owned(), Value::String(content));
        return;
    }
    if let Some(Preview::Diff { before, .. }) = preview {
        call.args.insert("old_string".to_owned(), Value::String(before.unwrap_or_default()));
    }
    call.args.insert("new_string".to_owned(), Value::String(content));
}

fn answered(approval: String, outcome: Outcome, by: &str) -> Fact {
    Fact::ApprovalAnswered(Box::new(ApprovalAnswered { approval, outcome, by: by.to_owned() }))
}

fn confirmation(
    plan: &Plan,
    call: &FunctionCall,
    rule: String,
    missing: &[Missing],
    isolation: &str,
) -> Confirmation {
    let mcp = plan.effects.iter().find_map(|effect| match effect {
        Effect::Mcp { server, tool } => Some((server.clone(), tool.clone())),
        _ => None,
    });
    let detail = match (&plan.preview, mcp) {
        (_, Some((server, tool))) => ConfirmationDetail::Mcp { server, tool, args: call.args.clone() },
        (Preview::Command { command, cwd }, _) => {
            ConfirmationDetail::Exec { command: command.clone(), cwd: cwd.clone() }
        }
        (Preview::Diff { path, before, after, diff }, _) => ConfirmationDetail::Edit {
            path: path.clone(),
            diff: diff.clone(),
            before: before.clone(),
            after: after.clone(),
        },
        (Preview::Questions { questions }, _) => ConfirmationDetail::AskUser { questions: questions.clone() },
        (Preview::Text { text }, _) => ConfirmationDetail::Info { text: text.clone(), urls: hosts(plan) },
        (Preview::None, _) => ConfirmationDetail::Info { text: plan.title.clone(), urls: hosts(plan) },
    };
    let asks = matches!(detail, ConfirmationDetail::AskUser { .. });
    Confirmation {
        tool: plan.tool.clone(),
        title: plan.title.clone(),
        detail,
        rule,
        isolation: isolation.to_owned(),
        always: if asks { None } else { always(missing) },
        reasons: missing.iter().map(|part| format!("{}: {}", part.what, part.reason)).collect(),
    }
}

/// What "always" would allow: the rules for the parts that no rule allows yet; nothing when one of
/// them may not be allowed for good.
fn always(missing: &[Missing]) -> Option<String> {
    let rules: Option<Vec<&str>> = missing.iter().map(|part| part.always.as_deref()).collect();
    rules.filter(|rules| !rules.is_empty()).map(|rules| rules.join("\n"))
}

fn hosts(plan: &Plan) -> Vec<String> {
    let hosts = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Net { host } => Some(host.clone()),
        _ => None,
    });
    hosts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_given_by_a_person_replaces_the_whole_file() {
        let diff = Preview::Diff {
            path: "a".into(),
            before: Some("one\ntwo\n".to_owned()),
            after: "one\n2\n".to_owned(),
            diff: String::new(),
        };
        let text = |args: &serde_json::Map<String, Value>, key: &str| args[key].as_str().unwrap().to_owned();
        let args = [("old_string", "two"), ("new_string", "2")];
        let args = args.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        let mut call = FunctionCall::new("1", "replace", args);
        give_content(&mut call, Some(diff.clone()), "mine\n".to_owned());
        assert_eq!(text(&call.args, "old_string"), "one\ntwo\n");
        assert_eq!(text(&call.args, "new_string"), "mine\n");
        let mut call = FunctionCall::new("1", "write_file", serde_json::Map::new());
        give_content(&mut call, Some(diff), "mine\n".to_owned());
        assert_eq!(text(&call.args, "content"), "mine\n");
    }
}
