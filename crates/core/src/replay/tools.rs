//! Plays the tools: every name has one, and each gives the recorded results and does nothing.

use std::sync::Arc;

use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{
    Args, BoxFuture, CallAsked, CallEnded, CallStatus, Confinement, ConfirmationDetail, Effect, Fact,
    FunctionDeclaration, Invocation, Lane, OpenCall, Part, Plan, Preview, RunContext, ToolContext, ToolError,
    ToolErrorKind, ToolOutput,
};

use super::playback::Playback;
use super::view::{View, id_of, is_about};
use crate::LoopGuard;
use crate::session::{SESSION, about_change};

pub(super) struct RecordedTools(pub(super) Arc<Playback>);

impl Toolbox for RecordedTools {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let declaration = FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() };
        Some(Arc::new(RecordedTool { playback: self.0.clone(), declaration: Arc::new(declaration) }))
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        Vec::new()
    }

    fn nearest(&self, _: &str) -> Option<String> {
        None
    }
}

struct RecordedTool {
    playback: Arc<Playback>,
    declaration: Arc<FunctionDeclaration>,
}

impl Tool for RecordedTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    /// What was taken then is taken again.
    fn check<'a>(&'a self, _: Args, _: &'a ToolContext) -> BoxFuture<'a, Option<ToolError>> {
        Box::pin(std::future::ready(None))
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let Some(call) = self.playback.claim(&self.declaration.name, &args) else {
                return Err(ToolError::new(ToolErrorKind::Internal, "this call is not recorded"));
            };
            let plan = self.playback.until(|view| look_at(view, &call)).await?;
            Ok(Box::new(RecordedCall { playback: self.playback.clone(), call, plan }) as Box<dyn Invocation>)
        })
    }
}

/// What comes of looking at a call's arguments, once the recording is about to tell: a plan, or what is wrong.
fn look_at(view: &View, call: &str) -> Option<Result<Plan, ToolError>> {
    let open = view.open_call(call)?;
    match view.next().filter(|next| is_about(next, open)) {
        None if !still_waits(view, open) => return None,
        Some(Fact::CallEnded(ended)) => match (ended.status, ended.error) {
            // The engine says so by itself, once it knows the plan.
            (_, Some(ToolErrorKind::Loop | ToolErrorKind::NobodyToAsk | ToolErrorKind::RefusedByPerson)) => {}
            // It was never looked at.
            (CallStatus::Cancelled, _) | (_, Some(ToolErrorKind::Interrupted)) => return None,
            _ => return output(view, ended).error.map(Err),
        },
        _ => {}
    }
    Some(Ok(plan(view, call)))
}

/// A question that an earlier process asked and that still holds is not told again: its call is looked at at once.
pub(super) fn still_waits(view: &View, open: &OpenCall) -> bool {
    let is_open = open.approval.as_ref().is_some_and(|approval| approval.answer.is_none());
    if !is_open || !view.somebody {
        return false;
    }
    let mut coming = view.segment.facts.iter().skip(view.at);
    match coming.find(|fact| is_about(fact, open)) {
        Some(Fact::ApprovalAnswered(answered)) => answered.by != SESSION,
        coming => coming.is_none(),
    }
}

/// The plan that makes the engine ask what it asked. The call's id rides along as an effect, so that the rules know
/// which call they judge.
fn plan(view: &View, call: &str) -> Plan {
    let open = view.open_call(call);
    let name = open.map(|open| open.call.name.clone()).unwrap_or_default();
    let mut plan = Plan {
        tool: name.clone(),
        args: Args::new(),
        title: name,
        effects: vec![Effect::Read { path: call.into() }],
        preview: Preview::None,
        lane: lane(view, call),
    };
    let told = question(view, call).and_then(|asked| asked.confirmation.confinement);
    if told.or_else(|| reach(view, call)).is_some() {
        plan.effects.push(Effect::Unclear { what: String::new(), reason: String::new() });
    }
    let Some(asked) = question(view, call) else { return plan };
    plan.tool.clone_from(&asked.confirmation.tool);
    plan.title.clone_from(&asked.confirmation.title);
    match asked.confirmation.detail.clone() {
        ConfirmationDetail::Exec { command, cwd } => plan.preview = Preview::Command { command, cwd },
        ConfirmationDetail::Edit { path, diff, before, after } => {
            plan.preview = Preview::Diff { path, before, after, diff };
        }
        ConfirmationDetail::Info { text, urls } => {
            plan.preview = Preview::Text { text };
            plan.effects.extend(urls.into_iter().map(|host| Effect::Net { host }));
        }
        ConfirmationDetail::Mcp { server, tool, .. } => plan.effects.push(Effect::Mcp { server, tool }),
        ConfirmationDetail::AskUser { questions } => plan.preview = Preview::Questions { questions },
    }
    plan
}

/// The question about a call that is about to be asked, or was asked before and still holds.
fn question<'a>(view: &View<'a>, call: &str) -> Option<&'a CallAsked> {
    // A changed call may be asked about once more: that question comes after the answer to this one.
    if let Some(open) = view.open_call(call).filter(|open| still_waits(view, open)) {
        return open.approval.as_ref().map(|open| &*open.asked);
    }
    let mut coming = view.segment.facts.iter().skip(view.at).filter_map(|fact| match fact {
        Fact::CallAsked(asked) => Some(asked.as_ref()),
        _ => None,
    });
    let is_closed = matches!(view.next(), Some(Fact::ApprovalAnswered(answered)) if answered.by == SESSION);
    let before = view.open_call(call).and_then(|open| open.approval.as_ref()).filter(|_| !is_closed);
    coming.find(|asked| asked.call == call).or(before.map(|open| &*open.asked))
}

/// How far the processes of a call reached, if it is about to start any.
pub(super) fn reach(view: &View, call: &str) -> Option<Confinement> {
    view.segment.facts.iter().skip(view.at).find_map(|fact| match fact {
        Fact::CallStarted(started) if started.call == call => started.confinement,
        _ => None,
    })
}

/// What a person was told holds a call in.
pub(super) fn isolation(view: &View, plan: &Plan) -> String {
    let asked = call_of(plan).and_then(|call| question(view, call));
    asked.map(|asked| asked.confirmation.isolation.clone()).unwrap_or_default()
}

/// The call a plan is of.
pub(super) fn call_of(plan: &Plan) -> Option<&str> {
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Read { path } => path.to_str(),
        _ => None,
    })
}

/// A call that ran while another of its step was open did not need the lane for itself.
fn lane(view: &View, call: &str) -> Lane {
    let facts = &view.segment.facts;
    let place = |of: &str, begins: bool| {
        let is_it = |fact: &Fact| match fact {
            Fact::CallStarted(started) => begins && started.call == of,
            Fact::CallEnded(ended) => !begins && ended.call == of,
            _ => false,
        };
        facts.iter().position(is_it).unwrap_or(usize::MAX)
    };
    let overtakes = |later: &str, earlier: &str| place(later, true) < place(earlier, false);
    let mut is_later = false;
    let shared = view.conversation.unanswered().map(id_of).any(|other| {
        is_later |= other == call;
        match (other == call, is_later) {
            (true, _) => false,
            (false, true) => overtakes(other, call),
            (false, false) => overtakes(call, other),
        }
    });
    if shared { Lane::Shared } else { Lane::Exclusive }
}

struct RecordedCall {
    playback: Arc<Playback>,
    call: String,
    plan: Plan,
}

impl Invocation for RecordedCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn args_for_content(&self, _: &str) -> Option<Args> {
        self.playback.look(|view| match view.next() {
            Some(Fact::ApprovalAnswered(answered)) => answered.args.clone(),
            _ => None,
        })
    }

    fn run(self: Box<Self>, _: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let ended = |view: &View| match view.next() {
                Some(Fact::CallEnded(ended)) if ended.call == self.call => Some(output(view, ended)),
                _ => None,
            };
            self.playback.until(ended).await
        })
    }
}

/// The output that a recorded end came from. What the engine added to it is left out: it adds it again.
fn output(view: &View, ended: &CallEnded) -> ToolOutput {
    let text = ended.response.to_text();
    let mut text = LoopGuard::without_note(&text);
    if let Some(open) = view.open_call(&ended.call).filter(|open| open.original.is_some())
        && let Some(before) = text.strip_suffix(&about_change(open))
    {
        text = before.strip_suffix('\n').unwrap_or(before);
    }
    let mut output = ToolOutput {
        display: ended.display.clone(),
        changes: ended.changes.clone(),
        whole_output: ended.whole_output.clone(),
        ..ToolOutput::default()
    };
    if ended.status == CallStatus::Success {
        output.content.extend((!text.is_empty()).then(|| Part::text(text)));
        output.content.extend(ended.response.parts.iter().cloned());
    } else {
        let kind = match ended.status {
            CallStatus::Cancelled => ToolErrorKind::Cancelled,
            _ => ended.error.unwrap_or(ToolErrorKind::Other),
        };
        output.error = Some(ToolError::new(kind, text));
    }
    output
}
