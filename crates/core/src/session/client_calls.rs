//! Calls that people and programs make themselves: approved by being made, run beside whatever the session does.

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, Args, ClientCall, ClientCallStarted, Confinement, Consent, Fact, FunctionCall, Invocation,
    OWN_CALL_ID, Plan, Preview, Refusal, Reply, RunContext, SessionEvent, ToolContext, ToolError,
    ToolErrorKind, ToolOutput, TurnEvent, Verdict,
};
use tokio_util::sync::CancellationToken;

use super::calls::{GRACE, ended, status_of};
use super::ending::Stop;
use super::hooking::Hooking;
use super::told::INTERRUPTED;
use super::turn::Session;
use crate::scheduler::died;

/// The calls that run in this process, by their ids. Dropped, they are told to stop.
#[derive(Default)]
pub(super) struct RunningCalls(HashMap<String, CancellationToken>);

impl Drop for RunningCalls {
    fn drop(&mut self) {
        self.0.values().for_each(CancellationToken::cancel);
    }
}

/// A call that has come back.
pub(super) struct Finished {
    call: String,
    output: ToolOutput,
}

/// A call that a client wants.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) args: Args,
    /// What comes of it stands in a prompt.
    pub(super) for_prompt: bool,
    /// It runs only where the rules allow it unasked.
    pub(super) if_allowed: bool,
}

/// Runs calls on behalf of clients.
pub(super) struct ClientCalls<'a>(pub(super) &'a mut Session);

impl ClientCalls<'_> {
    /// Checks a call, records it and lets it run.
    pub(super) async fn run(&mut self, wanted: Wanted, by: String) -> Result<Reply, Stop> {
        let Wanted { name, args, for_prompt, if_allowed } = wanted;
        let mode = if if_allowed { self.0.ledger.conversation.mode } else { self.mode() };
        let (toolbox, cx) = (self.0.binding.host.tools(), self.0.tool_context(&name, mode));
        let (invocation, plan) = match prepare(&toolbox, &name, &args, &cx).await {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        let reach = if if_allowed { self.allowed_reach(&plan, mode) } else { self.reach(&plan, mode) };
        let reach = match reach {
            Ok(reach) => reach,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        let session = &mut *self.0;
        let id = format!("{OWN_CALL_ID}{}_1", session.ledger.conversation.seq.saturating_add(1));
        let started = ClientCallStarted {
            call: FunctionCall::new(id.clone(), name, args),
            by,
            for_prompt,
            confinement: plan.starts_processes().then_some(reach),
            changes: invocation.changes(),
        };
        session.ledger.commit_one(Fact::ClientCallStarted(Box::new(started))).await?;
        let cancel = CancellationToken::new();
        session.client_calls.0.insert(id.clone(), cancel.clone());
        let cx = RunContext {
            cancelled: Box::pin(cancel.clone().cancelled_owned()),
            live: self.live(&id),
            confinement: reach,
            only_git_reads: self.0.approvals.only_git_reads(&plan),
            consent: match if_allowed {
                true => self.0.approvals.consent(&plan, mode),
                false => Consent::Person,
            },
            files: self.0.approvals.files(&plan.tool, mode),
        };
        let (call, done) = (id.clone(), self.0.inbox.finished.clone());
        tokio::spawn(async move {
            let output = run(invocation, cx, &cancel).await;
            // A session that has ended has said what became of it.
            let _ = done.send(Box::new(Finished { call, output }));
        });
        Ok(Reply::Called { call: id })
    }

    /// The mode people's own calls are judged in: planning binds the model alone.
    fn mode(&self) -> ApprovalMode {
        match self.0.ledger.conversation.mode {
            ApprovalMode::Plan => ApprovalMode::Default,
            mode => mode,
        }
    }

    /// How far a call reaches that whoever makes it has approved; what is denied stays denied.
    fn reach(&self, plan: &Plan, mode: ApprovalMode) -> Result<Confinement, Refusal> {
        match self.0.approvals.judge(plan, mode) {
            Verdict::Deny { rule, reason } => {
                Err(Refusal::Failed { message: format!("denied by policy: {reason} (rule: {rule})") })
            }
            Verdict::Ask { confinement, .. } | Verdict::Allow { confinement, .. } => {
                Ok(confinement.max(Confinement::Asked))
            }
        }
    }

    /// How far a call reaches that nobody has read: as the rules allow it by themselves.
    fn allowed_reach(&self, plan: &Plan, mode: ApprovalMode) -> Result<Confinement, Refusal> {
        match self.0.approvals.judge(plan, mode) {
            Verdict::Allow { confinement, .. } => Ok(confinement),
            Verdict::Ask { rule, .. } => {
                Err(Refusal::Failed { message: format!("it would have to be asked about (rule: {rule})") })
            }
            Verdict::Deny { rule, reason } => {
                Err(Refusal::Failed { message: format!("denied by policy: {reason} (rule: {rule})") })
            }
        }
    }

    /// Shows what a call prints to whoever follows the session.
    fn live(&self, call: &str) -> Box<dyn Fn(&str) + Send + Sync> {
        let (events, call) = (self.0.ledger.publisher.events.downgrade(), call.to_owned());
        Box::new(move |text| {
            if let Some(events) = events.upgrade() {
                let (call, content) = (call.clone(), text.to_owned());
                let event = TurnEvent::ToolCallLive { call, content, delta: true };
                // Nobody listening is fine.
                let _ = events.send(Arc::new(SessionEvent::Turn(event)));
            }
        })
    }

    /// Records what came of a call.
    pub(super) async fn finished(&mut self, finished: Finished) -> Result<(), Stop> {
        self.0.client_calls.0.remove(&finished.call);
        self.end(&finished.call, finished.output).await
    }

    async fn end(&mut self, id: &str, output: ToolOutput) -> Result<(), Stop> {
        let conversation = &self.0.ledger.conversation;
        let is_it = |call: &&ClientCall| call.call.id.as_deref() == Some(id);
        let Some(made) = conversation.untold.running().find(is_it) else { return Ok(()) };
        let fact = ended(conversation.past.count, &made.call, status_of(&output), output);
        Ok(self.0.ledger.commit_one(Fact::ClientCallEnded(Box::new(fact))).await?)
    }

    /// Tells the call of this id to stop; false where none runs.
    pub(super) fn cancel(&self, call: &str) -> bool {
        let running = self.0.client_calls.0.get(call);
        running.inspect(|running| running.cancel()).is_some()
    }

    /// Tells the calls of this person to stop.
    pub(super) fn cancel_of(&self, by: &str) {
        let running = self.0.ledger.conversation.untold.running().filter(|call| call.by == by);
        for call in running.filter_map(|call| call.call.id.as_deref()) {
            self.cancel(call);
        }
    }

    /// Calls that ran when their process ended are never run again.
    async fn end_interrupted(&mut self) -> Result<(), Stop> {
        let running = self.0.ledger.conversation.untold.running();
        let ids: Vec<String> = running.filter_map(|call| call.call.id.clone()).collect();
        for id in ids {
            let error = ToolError::new(ToolErrorKind::Interrupted, INTERRUPTED);
            self.end(&id, ToolOutput::failed(error)).await?;
        }
        Ok(())
    }

    /// Stops the calls that run, and records what came of them: the session ends.
    async fn stop_all(&mut self) -> Result<(), Stop> {
        self.0.client_calls.0.values().for_each(CancellationToken::cancel);
        while !self.0.client_calls.0.is_empty() {
            let finished = self.0.inbox.next_finished().await;
            self.finished(finished).await?;
        }
        Ok(())
    }
}

/// Runs a session to its end. Calls that an earlier process left are ended before it, its own after it.
pub(super) async fn run_session(mut session: Session) {
    if ClientCalls(&mut session).end_interrupted().await.is_ok() {
        session.run().await;
    }
    // Where the journal is broken, what became of them cannot be told.
    let _ = ClientCalls(&mut session).stop_all().await;
    Hooking(&mut session).session_end().await;
}

/// Looks up a tool and checks what it is called with.
async fn prepare(
    toolbox: &Arc<dyn Toolbox>,
    name: &str,
    args: &Args,
    cx: &ToolContext,
) -> Result<(Box<dyn Invocation>, Plan), Refusal> {
    let Some(tool) = toolbox.get(name) else {
        let meant = toolbox.nearest(name).map(|meant| format!("; did you mean `{meant}`?"));
        return Err(Refusal::Unknown { what: format!("tool `{name}`{}", meant.unwrap_or_default()) });
    };
    let prepared = tool.prepare(args.clone(), cx).await;
    let invocation = prepared.map_err(|problem| Refusal::Failed { message: problem.message })?;
    let plan = Plan { args: args.clone(), ..invocation.plan().clone() };
    if matches!(plan.preview, Preview::Questions { .. }) {
        return Err(Refusal::Nothing { why: format!("{name} asks people; they need not ask themselves") });
    }
    Ok((invocation, plan))
}

/// Runs a call to its end; one that does not heed its cancellation is ended.
async fn run(invocation: Box<dyn Invocation>, cx: RunContext, cancel: &CancellationToken) -> ToolOutput {
    let mut work = tokio::spawn(invocation.run(cx));
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let output = tokio::select! {
        output = &mut work => output,
        () = overdue => {
            work.abort();
            work.await
        }
    };
    output.unwrap_or_else(|error| died(&error))
}
