//! The calls of one step: checked, judged, asked about, run and answered.

mod hooked;
mod known;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use charla_proto::{
    ApprovalMode, Args, CallAsked, CallEnded, CallStarted, CallStatus, Confinement, Consent, Fact,
    FunctionCall, OpenCall, Outcome, Part, Plan, Refusal, Reply, ToolError, ToolErrorKind, ToolOutput,
    TurnEnd, TurnEvent, Verdict,
};
use tokio::time::Instant;

use self::known::Known;
use super::approvals::misfit;
use super::asides::Asides;
use super::call_hooks::CallHooks;
use super::ending::{Ending, Stop};
use super::hooking::{HOOK, Hooking};
use super::inbox::Incoming;
use super::passing::PassedOn;
use super::questions::{answered, question, take_grant};
use super::requests::{Answer, Requests, Signal};
use super::told::{self, about_change, nobody_to_ask, refusal};
use super::turn::Session;
use super::{EARLIER_ANSWER, NOBODY, SESSION};
use crate::loop_guard::{Advice, LoopGuard};
use crate::scheduler::{CallEvent, Reach, Scheduler, Wish, to_response};

/// How long a cancelled tool may take to stop before it is ended.
pub(super) const GRACE: Duration = Duration::from_millis(400);
const CALL_OVER: &str = "the call that it was for is over";
const ANOTHER_NOW: &str = "what it would do is no longer what was asked about";

/// The calls of one step. Borrows the session until every call has its response.
pub(super) struct Calls<'a> {
    session: &'a mut Session,
    scheduler: Scheduler,
    /// Rules that allowed calls, by call, and what held when they did.
    rules: HashMap<usize, (String, Circumstances)>,
    /// How far allowed calls reach, by call.
    confined: HashMap<usize, Confinement>,
    /// The calls that a person was shown and agreed to.
    agreed: HashSet<usize>,
    /// Answers to questions of calls that are not checked yet.
    early: Vec<Answer>,
    /// Questions of other sessions that work for running calls.
    passed: PassedOn,
    /// What running calls want.
    asides: Asides,
    /// Hooks that are asked about calls.
    hooks: CallHooks,
    /// Why the turn ends once the calls are done.
    ending: Option<Ending>,
    /// When cancelled tools are ended by force.
    abort_at: Option<Instant>,
}

/// What a verdict depends on beside the call. Where all of it is as it was, so is the verdict.
#[derive(Debug, PartialEq)]
struct Circumstances {
    mode: ApprovalMode,
    grants: u64,
    /// How many calls of the step have begun or ended: they may have changed what a path leads to.
    begun: usize,
}

impl<'a> Calls<'a> {
    /// The open calls of the step under way: new ones, or those an earlier process left.
    pub(super) fn new(session: &'a mut Session) -> Self {
        let open = session.ledger.conversation.turn.as_ref().map(|turn| turn.calls.clone());
        let open = open.unwrap_or_default();
        let toolbox = session.toolbox();
        let passed = PassedOn::new(&open);
        let cx = session.tool_context("", session.mode());
        let scheduler = Scheduler::new(open, &toolbox, &cx);
        Self {
            session,
            scheduler,
            rules: HashMap::new(),
            confined: HashMap::new(),
            agreed: HashSet::new(),
            early: Vec::new(),
            passed,
            asides: Asides::default(),
            hooks: CallHooks::default(),
            ending: None,
            abort_at: None,
        }
    }

    /// Runs them until each has its response. Comes back with how the turn ends, if it does.
    pub(super) async fn run(mut self) -> Result<Option<Ending>, Stop> {
        self.end_interrupted().await?;
        loop {
            self.take_early_answers().await?;
            self.start_ready().await?;
            if self.scheduler.is_done() {
                return Ok(self.ending);
            }
            // Nobody can answer any more in this process: the questions stay for another one.
            if self.session.inbox.is_closed()
                && self.scheduler.waits_for_people(|index| self.passed.is_open(index))
            {
                return Err(Stop::Abandoned);
            }
            if self.session.inbox.is_closed() {
                self.asides.close(self.session, NOBODY).await?;
            }
            let abort_at = self.abort_at;
            tokio::select! {
                biased;
                incoming = self.session.inbox.recv_or_clients() => self.incoming(incoming).await?,
                () = until(abort_at) => {
                    self.abort_at = None;
                    self.scheduler.abort();
                }
                hooked = self.hooks.next() => self.hooked(hooked).await?,
                event = self.scheduler.next() => self.event(event).await?,
                sample = self.asides.next_sample() => sample.record(self.session).await?,
            }
        }
    }

    async fn incoming(&mut self, incoming: Incoming) -> Result<(), Stop> {
        let Incoming::Message(message) = incoming else { return self.refuse_when_alone().await };
        match self.session.message(message.map(|message| *message)).await? {
            Signal::Cancel { by } => self.cancel(&by).await,
            Signal::Answer(answer) => self.answer(answer).await,
            Signal::Nothing => Ok(()),
        }
    }

    async fn event(&mut self, event: CallEvent) -> Result<(), Stop> {
        match event {
            CallEvent::Live { index, text } => {
                let call = self.id(index);
                let event = TurnEvent::ToolCallLive { call, content: text, delta: true };
                self.session.ledger.show(event);
                Ok(())
            }
            CallEvent::Aside { index, wish: Wish::Pass(passed) } => {
                let call = self.id(index);
                self.passed.take(self.session, index, &call, passed).await
            }
            CallEvent::Aside { index, wish } => {
                let call = self.call(index).clone();
                self.asides.take(self.session, index, &call, wish).await
            }
            CallEvent::Prepared { index, problem: Some(problem) } => self.refuse(index, problem).await,
            CallEvent::Prepared { index, problem: None } => self.checked(index).await,
            CallEvent::Finished { index, output } => self.finished(index, output).await,
        }
    }

    /// A call is another one from now on: it is looked at from the beginning.
    fn change(&mut self, index: usize, call: FunctionCall) {
        let toolbox = self.session.toolbox();
        let cx = self.session.tool_context(&call.name, self.session.mode());
        self.scheduler.change(index, call, &toolbox, &cx);
    }

    fn call(&self, index: usize) -> &FunctionCall {
        &self.scheduler.calls()[index].call
    }

    fn id(&self, index: usize) -> String {
        self.call(index).id.clone().unwrap_or_default()
    }

    /// A call with the model's own arguments: those it would repeat, and those that are seen again after a restart.
    fn as_asked(&self, index: usize) -> FunctionCall {
        let mut call = self.as_called(index);
        if let Some(original) = self.open(index).and_then(|open| open.original.as_ref()) {
            call.args.clone_from(original);
        }
        call
    }

    /// A call under the name the model called it by, which its response is known by.
    fn as_called(&self, index: usize) -> FunctionCall {
        let mut call = self.call(index).clone();
        if let Some(called) = self.open(index).and_then(|open| open.hooks.called.as_ref()) {
            call.name.clone_from(called);
        }
        call
    }

    fn open(&self, index: usize) -> Option<&OpenCall> {
        self.session.ledger.conversation.turn.as_ref()?.calls.get(index)
    }

    /// A call's plan is known: allowed, denied, or a question.
    async fn judge(&mut self, index: usize) -> Result<(), Stop> {
        let Some(plan) = self.plan(index) else { return Ok(()) };
        if self.session.guard.advise(&self.as_asked(index)) == Advice::Refuse {
            let message = LoopGuard::refusal(self.call(index));
            return self.refuse(index, ToolError::new(ToolErrorKind::Loop, message)).await;
        }
        let mode = self.session.mode();
        let verdict = self.verdict(index, &plan);
        let runs = matches!(verdict, Verdict::Allow { .. });
        let name = &self.scheduler.calls()[index].call.name;
        if (runs || mode == ApprovalMode::Plan) && self.session.toolbox().withholds(name) {
            let message = format!("Not run: {name} is not available in {mode} mode. {}", told::INSTEAD);
            return self.refuse(index, ToolError::new(ToolErrorKind::NotOffered, message)).await;
        }
        if let Verdict::Deny { rule, reason } = verdict {
            let message = format!("Tool execution denied by policy: {reason} (rule: {rule})");
            return self.refuse(index, ToolError::new(ToolErrorKind::DeniedByRule, message)).await;
        }
        // It was allowed when it began, and has only gone on since.
        if self.scheduler.calls()[index].again {
            self.advance(index, CallStatus::Scheduled);
            return Ok(());
        }
        match (Known::of(self.open(index), &plan), verdict) {
            (Known::Waits, _) => {
                self.advance(index, CallStatus::AwaitingApproval);
                self.answer_if_granted(index).await?;
                self.refuse_when_alone().await
            }
            (Known::Allowed { outcome, confinement, agreed }, _) => {
                self.allow(index, outcome, confinement, agreed);
                Ok(())
            }
            (Known::Refused { reason, by }, _) => self.refused_by_person(index, reason, &by).await,
            (Known::Unasked, _) => {
                let error = nobody_to_ask(&plan);
                self.refuse(index, error).await
            }
            (Known::Nothing, Verdict::Allow { rule, confinement }) => {
                self.rules.insert(index, (rule, self.circumstances()));
                self.confined.insert(index, confinement);
                self.advance(index, CallStatus::Scheduled);
                Ok(())
            }
            (Known::Nothing, verdict) => self.ask(index, &plan, verdict, None).await,
            (Known::Outdated { open }, verdict) => self.ask(index, &plan, verdict, open).await,
        }
    }

    /// What the rules say to a call; where hooks want a person to be asked, no rule allows it.
    fn verdict(&self, index: usize, plan: &Plan) -> Verdict {
        let verdict = self.session.approvals.judge(plan, self.session.mode());
        match verdict {
            Verdict::Allow { confinement, .. } if self.hook_question(index).is_some() => {
                Verdict::Ask { rule: HOOK.to_owned(), missing: Vec::new(), confinement }
            }
            verdict => verdict,
        }
    }

    /// Why hooks want a person to be asked about a call.
    fn hook_question(&self, index: usize) -> Option<String> {
        self.open(index)?.hooks.question.clone()
    }

    /// Puts a question to whoever is there; with nobody the answer is no. A question that is `outdated` is closed.
    async fn ask(
        &mut self,
        index: usize,
        plan: &Plan,
        verdict: Verdict,
        outdated: Option<String>,
    ) -> Result<(), Stop> {
        let session = &mut *self.session;
        let mut facts = Vec::new();
        if let Some(approval) = outdated {
            let outcome = Outcome::Cancel { reason: Some(ANOTHER_NOW.to_owned()) };
            facts.push(answered(approval, outcome, SESSION, None));
        }
        let call = self.scheduler.calls()[index].call.clone();
        let mut asked = question(session, plan, &call, verdict, facts.len() as u64);
        let turn = session.ledger.conversation.turn.as_ref();
        if let Some(question) = turn.and_then(|turn| turn.calls.get(index)?.hooks.question.clone()) {
            // What a rule would allow for good, the hook asks about all the same.
            asked.confirmation.always = None;
            asked.confirmation.reasons.insert(0, format!("{HOOK}: {question}"));
        }
        let (approval, confirmation) = (asked.approval.clone(), asked.confirmation.clone());
        facts.push(Fact::CallAsked(Box::new(asked)));
        let somebody = session.inbox.somebody();
        if !somebody {
            facts.push(answered(approval, Outcome::Cancel { reason: None }, NOBODY, None));
        }
        session.ledger.commit(facts).await?;
        self.advance(index, CallStatus::AwaitingApproval);
        if !somebody {
            let error = nobody_to_ask(plan);
            return self.refuse(index, error).await;
        }
        Hooking(self.session).notify(&confirmation);
        Ok(())
    }

    /// With nobody left to answer, the answer to every open question is no.
    async fn refuse_when_alone(&mut self) -> Result<(), Stop> {
        if self.session.inbox.somebody() {
            return Ok(());
        }
        self.asides.close(self.session, NOBODY).await?;
        for index in self.waiting() {
            let (Some(approval), Some(plan)) = (self.question(index), self.plan(index)) else { continue };
            let fact = answered(approval, Outcome::Cancel { reason: None }, NOBODY, None);
            self.session.ledger.commit_one(fact).await?;
            let error = nobody_to_ask(&plan);
            self.refuse(index, error).await?;
        }
        Ok(())
    }

    fn plan(&self, index: usize) -> Option<Plan> {
        self.scheduler.calls()[index].plan.clone()
    }

    /// The open question of a call.
    fn question(&self, index: usize) -> Option<String> {
        let approval = self.open(index)?.approval.as_ref()?;
        approval.answer.is_none().then(|| approval.asked.approval.clone())
    }

    /// The calls that wait for a person.
    fn waiting(&self) -> Vec<usize> {
        let calls = self.scheduler.calls().iter().enumerate();
        let waiting = calls.filter(|(_, call)| call.status == CallStatus::AwaitingApproval);
        waiting.map(|(index, _)| index).collect()
    }

    /// Somebody answers a question. The first answer that fits counts.
    async fn answer(&mut self, answer: Answer) -> Result<(), Stop> {
        let asked = match Requests(self.session).question(&answer.approval).await? {
            Ok(asked) => asked,
            Err(refusal) => return refused(answer.reply, refusal),
        };
        if let Some(index) = self.passed.whose(&answer.approval) {
            let (by, is_plain_no) = (answer.by.clone(), is_plain_no(&answer));
            self.passed.answer(self.session, index, &asked, answer).await?;
            return if is_plain_no { self.cancel(&by).await } else { Ok(()) };
        }
        if let Some(index) = self.asides.whose(&answer.approval) {
            let (call, by, is_plain_no) = (self.call(index).clone(), answer.by.clone(), is_plain_no(&answer));
            self.asides.answer(self.session, index, &call, &asked, answer).await?;
            return if is_plain_no { self.cancel(&by).await } else { Ok(()) };
        }
        let is_it = |index: &usize| self.question(*index).as_ref() == Some(&answer.approval);
        let Some(index) = self.waiting().into_iter().find(is_it) else {
            self.early.push(answer);
            return Ok(());
        };
        let Answer { approval, outcome, by, reply } = answer;
        if let Some(why) = misfit(&outcome, &asked) {
            return refused(reply, Refusal::DoesNotFit { why: why.to_owned() });
        }
        let args = match &outcome {
            Outcome::Modify { args } => Some(args.clone()),
            Outcome::ModifyWithEditor { new_content } => {
                match self.scheduler.args_for_content(index, new_content) {
                    Some(args) => Some(args),
                    None => {
                        let why = "this tool does not say how its arguments make a file's content".to_owned();
                        return refused(reply, Refusal::DoesNotFit { why });
                    }
                }
            }
            _ => None,
        };
        if let Some(problem) = self.problem_with(index, args.as_ref()).await {
            return refused(reply, Refusal::DoesNotFit { why: problem.message });
        }
        let fact = answered(approval, outcome.clone(), &by, args.clone());
        self.session.ledger.commit_one(fact).await?;
        let _ = reply.send(Reply::Done);
        self.act_on(index, outcome, args, &asked, &by).await
    }

    /// What is wrong with arguments that a person gives: theirs to mend, not the model's.
    async fn problem_with(&mut self, index: usize, args: Option<&Args>) -> Option<ToolError> {
        let name = self.call(index).name.clone();
        let tool = self.session.toolbox().get(&name)?;
        let cx = self.session.tool_context(&name, self.session.mode());
        tool.check(args?.clone(), &cx).await
    }

    async fn take_early_answers(&mut self) -> Result<(), Stop> {
        for answer in std::mem::take(&mut self.early) {
            self.answer(answer).await?;
        }
        Ok(())
    }

    async fn act_on(
        &mut self,
        index: usize,
        outcome: Outcome,
        args: Option<Args>,
        asked: &CallAsked,
        by: &str,
    ) -> Result<(), Stop> {
        let is_granted = take_grant(self.session, &outcome, asked, by).await?;
        match (outcome, args) {
            (Outcome::Cancel { reason }, _) => self.refused_by_person(index, reason, by).await?,
            (_, Some(args)) => {
                let call = FunctionCall { args, ..self.call(index).clone() };
                self.change(index, call);
            }
            (outcome, None) => self.allow(index, outcome, asked.confirmation.reach(), true),
        }
        if is_granted {
            for index in self.waiting() {
                self.answer_if_granted(index).await?;
            }
        }
        Ok(())
    }

    /// Who said a plain no to a question that a call had passed on, between the process that ran it and this one. It ends the turn
    /// once the call has heard of it.
    fn refused_while_away(&self, index: usize) -> Option<String> {
        match &self.scheduler.calls()[index].answered {
            Some((_, Outcome::Cancel { reason: None }, by)) => Some(by.clone()),
            _ => None,
        }
    }

    fn allow(&mut self, index: usize, outcome: Outcome, confinement: Confinement, agreed: bool) {
        self.confined.insert(index, confinement);
        if agreed {
            self.agreed.insert(index);
        }
        if let Outcome::Answers { answers } = outcome {
            self.scheduler.answered(index, answers);
        }
        self.advance(index, CallStatus::Scheduled);
    }

    /// A plain no means: give me back the word. A reason means: go on, but differently.
    async fn refused_by_person(
        &mut self,
        index: usize,
        reason: Option<String>,
        by: &str,
    ) -> Result<(), Stop> {
        let message = refusal(reason.as_deref());
        self.cancelled(index, ToolErrorKind::RefusedByPerson, &message).await?;
        match reason {
            Some(_) => Ok(()),
            None => self.cancel(by).await,
        }
    }

    /// Answers a question that the rules answer by now, with what was allowed for good: nobody is asked twice for
    /// the same.
    async fn answer_if_granted(&mut self, index: usize) -> Result<(), Stop> {
        let (Some(approval), Some(plan)) = (self.question(index), self.plan(index)) else { return Ok(()) };
        if let Verdict::Allow { confinement, .. } = self.verdict(index, &plan) {
            self.confined.insert(index, confinement);
            let fact = answered(approval, Outcome::ProceedOnce, EARLIER_ANSWER, None);
            self.session.ledger.commit_one(fact).await?;
            self.advance(index, CallStatus::Scheduled);
        }
        Ok(())
    }

    fn advance(&mut self, index: usize, to: CallStatus) {
        // The moves made here are all legal; one that were not is dropped rather than made.
        if self.scheduler.advance(index, to).is_ok() {
            let call = self.id(index);
            self.session.ledger.publisher.running.statuses.insert(call, to);
        }
    }

    /// Starts whatever may start. A call is marked as running, durably, before it runs.
    async fn start_ready(&mut self) -> Result<(), Stop> {
        while let Some(index) = self.scheduler.ready().into_iter().next() {
            if !self.rule_holds(index) {
                self.rules.remove(&index);
                self.agreed.remove(&index);
                self.advance(index, CallStatus::Validating);
                self.judge(index).await?;
                continue;
            }
            let call = self.id(index);
            let turn = self.session.ledger.conversation.past.count;
            let rule = self.rules.remove(&index).map(|(rule, _)| rule);
            let reach = self.confined.remove(&index).unwrap_or(Confinement::Reading);
            let agreed = self.agreed.remove(&index);
            let (approvals, mode) = (&self.session.approvals, self.session.mode());
            let plan = self.scheduler.calls()[index].plan.as_ref();
            let confinement = plan.filter(|plan| plan.starts_processes()).map(|_| reach);
            let only_git_reads = plan.is_some_and(|plan| approvals.only_git_reads(plan));
            let consent = match plan {
                _ if agreed => Consent::Person,
                Some(plan) => approvals.consent(plan, mode),
                None => Consent::Named,
            };
            let files = approvals.files(plan.map(|plan| plan.tool.as_str()).unwrap_or_default(), mode);
            let changes = self.scheduler.changes(index);
            let started = CallStarted { turn, call, rule, confinement, changes };
            self.session.ledger.commit_one(Fact::CallStarted(started)).await?;
            self.advance(index, CallStatus::Executing);
            self.scheduler.run(index, Reach { confinement: reach, only_git_reads, consent }, files);
        }
        Ok(())
    }

    /// False when a rule allowed a call and no longer does, or denies now what a person allowed: the mode changed
    /// while the call waited.
    fn rule_holds(&mut self, index: usize) -> bool {
        let now = self.circumstances();
        let Some(plan) = self.scheduler.calls()[index].plan.as_ref() else { return true };
        let given = self.rules.get(&index);
        if given.is_some_and(|(_, then)| *then == now) {
            return true;
        }
        match self.session.approvals.judge(plan, now.mode) {
            Verdict::Allow { confinement, .. } => {
                if given.is_some() {
                    self.confined.insert(index, confinement);
                }
                true
            }
            Verdict::Ask { .. } => given.is_none(),
            Verdict::Deny { .. } => false,
        }
    }

    fn circumstances(&self) -> Circumstances {
        let has_begun = |status: CallStatus| status.is_final() || status == CallStatus::Executing;
        Circumstances {
            mode: self.session.mode(),
            grants: self.session.approvals.changes(),
            begun: self.scheduler.calls().iter().filter(|call| has_begun(call.status)).count(),
        }
    }

    /// Stops the calls of this step: what has not begun is cancelled now, what runs is told to stop.
    async fn cancel(&mut self, by: &str) -> Result<(), Stop> {
        self.scheduler.cancel();
        for (index, output) in self.hooks.give_up() {
            self.end(index, status_of(&output), output).await?;
        }
        self.ending.get_or_insert_with(|| Ending { by: Some(by.to_owned()), ..TurnEnd::Cancelled.into() });
        self.abort_at = Some(Instant::now() + GRACE);
        self.asides.stop();
        self.asides.close(self.session, by).await?;
        for index in 0..self.scheduler.calls().len() {
            let status = self.scheduler.calls()[index].status;
            if status.is_final() || status == CallStatus::Executing {
                continue;
            }
            if let Some(approval) = self.question(index) {
                let fact = answered(approval, Outcome::Cancel { reason: None }, by, None);
                self.session.ledger.commit_one(fact).await?;
                self.cancelled(index, ToolErrorKind::NotApproved, told::NEVER_APPROVED).await?;
                continue;
            }
            let approval = self.open(index).and_then(|open| open.approval.as_ref());
            let (kind, words) = match approval.and_then(|approval| approval.answer.clone()) {
                None if by == HOOK => (ToolErrorKind::Cancelled, told::STOPPED.to_owned()),
                None => (ToolErrorKind::Cancelled, told::CANCELLED.to_owned()),
                Some((Outcome::Cancel { .. }, by)) if by == NOBODY => {
                    (ToolErrorKind::NotApproved, told::NEVER_APPROVED.to_owned())
                }
                Some((Outcome::Cancel { reason }, _)) => {
                    (ToolErrorKind::RefusedByPerson, refusal(reason.as_deref()))
                }
                Some(_) => (ToolErrorKind::Cancelled, told::NOT_BEGUN.to_owned()),
            };
            self.cancelled(index, kind, &words).await?;
        }
        Ok(())
    }

    /// Cancels the calls of a turn that nobody goes on with.
    pub(super) async fn cancel_all(mut self, by: &str) -> Result<Ending, Stop> {
        self.end_interrupted().await?;
        self.cancel(by).await?;
        Ok(self.session.cancelled(by.to_owned()))
    }

    /// Calls that another process had begun are never run again by themselves.
    async fn end_interrupted(&mut self) -> Result<(), Stop> {
        for index in 0..self.scheduler.calls().len() {
            if self.scheduler.calls()[index].status == CallStatus::Executing {
                let error = ToolError::new(ToolErrorKind::Interrupted, told::INTERRUPTED);
                let output = ToolOutput { error: Some(error), ..ToolOutput::default() };
                self.end(index, CallStatus::Error, output).await?;
            }
        }
        Ok(())
    }

    async fn refuse(&mut self, index: usize, problem: ToolError) -> Result<(), Stop> {
        let output = ToolOutput { error: Some(problem), ..ToolOutput::default() };
        self.end(index, CallStatus::Error, output).await
    }

    async fn cancelled(&mut self, index: usize, kind: ToolErrorKind, words: &str) -> Result<(), Stop> {
        let output = ToolOutput { error: Some(ToolError::new(kind, words)), ..ToolOutput::default() };
        self.end(index, CallStatus::Cancelled, output).await
    }

    /// Gives a call its one response.
    async fn end(&mut self, index: usize, status: CallStatus, mut output: ToolOutput) -> Result<(), Stop> {
        if status == CallStatus::Success
            && let Some(open) = self.open(index).filter(|open| open.original.is_some())
        {
            output.content.push(Part::text(about_change(open)));
        }
        // What ends the turn is no sign of a loop.
        if self.ending.is_none() {
            self.count(index, &mut output);
        }
        let mut facts = Vec::new();
        self.passed.forget(index);
        self.asides.forget(index);
        if self.scheduler.calls()[index].status == CallStatus::Executing
            && let Some(approval) = self.question(index)
        {
            let outcome = Outcome::Cancel { reason: Some(CALL_OVER.to_owned()) };
            facts.push(answered(approval, outcome, SESSION, None));
        }
        let called = self.as_called(index);
        let mut fact = ended(self.session.ledger.conversation.past.count, &called, status, output);
        let name = &self.call(index).name;
        fact.tool = (called.name != *name).then(|| name.clone());
        facts.push(Fact::CallEnded(Box::new(fact)));
        self.session.ledger.commit(facts).await?;
        self.advance(index, status);
        Ok(())
    }

    /// Counts a result; tells the model, or ends the turn, when it is always the same.
    fn count(&mut self, index: usize, output: &mut ToolOutput) {
        let call = self.as_asked(index);
        let response = to_response(&call, output);
        let error = output.error.as_ref().map(|error| error.kind);
        let repeats = self.session.guard.count(&call, &response, error);
        if let Some(detail) = LoopGuard::ending(&call, repeats) {
            self.ending = Some(Ending { detail: Some(detail), ..TurnEnd::Loop.into() });
        }
        if let Some(note) = LoopGuard::note(repeats) {
            match &mut output.error {
                Some(error) => error.message = format!("{}\n{note}", error.message),
                // With what is said of an output without words, where it has none.
                None if output.content.iter().all(|part| part.as_text().is_none()) => {
                    output.content.push(Part::text(format!("{}\n{note}", response.to_text())));
                }
                None => output.content.push(Part::text(note)),
            }
        }
    }
}

/// How a call ended, by what it gave.
pub(super) fn status_of(output: &ToolOutput) -> CallStatus {
    match &output.error {
        None => CallStatus::Success,
        Some(error) if error.kind == ToolErrorKind::Cancelled => CallStatus::Cancelled,
        Some(_) => CallStatus::Error,
    }
}

/// What is recorded of a call that is over.
pub(super) fn ended(turn: u64, call: &FunctionCall, status: CallStatus, output: ToolOutput) -> CallEnded {
    CallEnded {
        turn,
        call: call.id.clone().unwrap_or_default(),
        status,
        response: to_response(call, &output),
        tool: None,
        error: output.error.map(|error| error.kind),
        display: output.display,
        whole_output: output.whole_output,
        changes: output.changes,
        spent: output.spent,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn refused(reply: tokio::sync::oneshot::Sender<Reply>, refusal: Refusal) -> Result<(), Stop> {
    let _ = reply.send(Reply::Refused(refusal));
    Ok(())
}

/// A no without a reason ends the turn.
fn is_plain_no(answer: &Answer) -> bool {
    matches!(answer.outcome, Outcome::Cancel { reason: None })
}
