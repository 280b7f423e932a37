//! Questions to people: what is shown, what an answer means, and what it allows from then on.

use std::sync::Arc;

use charla_proto::{
    ApprovalAnswered, CallAsked, CallStatus, Confirmation, ConfirmationDetail, Effect, Fact, FunctionCall,
    JournalError, Missing, Outcome, Plan, Policy, Preview, ToolError, ToolErrorKind, ToolOutput, Verdict,
};

use super::actor::{Actor, Phase};
use super::{Answered, NOBODY};

/// What a person has allowed for the rest of the session, beside the rules "always" has added to the policy.
#[derive(Debug, Default)]
pub(super) struct Grants {
    servers: Vec<String>,
    /// Calls that a person has approved with other content: their new plan needs no second question.
    calls: Vec<String>,
}

impl Grants {
    pub(super) fn cover(&self, plan: &Plan, call: &FunctionCall) -> bool {
        if matches!(plan.preview, Preview::Questions { .. }) {
            return false;
        }
        call.id.as_ref().is_some_and(|id| self.calls.contains(id))
            || plan.effects.iter().any(|effect| match effect {
                Effect::Mcp { server, .. } => self.servers.contains(server),
                _ => false,
            })
    }
}

impl Actor {
    pub(super) async fn ask(
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
            confirmation: self.confirmation(plan, call, rule, missing),
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
            self.refuse(index, ToolError::new(ToolErrorKind::NobodyToAsk, message)).await?;
        }
        Ok(())
    }

    fn confirmation(
        &self,
        plan: &Plan,
        call: &FunctionCall,
        rule: String,
        missing: &[Missing],
    ) -> Confirmation {
        Confirmation {
            tool: plan.tool.clone(),
            title: plan.title.clone(),
            detail: detail(plan, call),
            rule,
            isolation: self.settings.isolation.clone(),
            always: self.always(plan, missing),
            reasons: missing.iter().map(|part| format!("{}: {}", part.what, part.reason)).collect(),
        }
    }

    /// Somebody answers a question.
    pub(super) async fn answer(
        &mut self,
        approval: &str,
        outcome: Outcome,
        by: String,
    ) -> Result<Answered, JournalError> {
        let calls = self.ledger.conversation.turn.iter().flat_map(|turn| &turn.calls);
        let mut questions = calls.filter_map(|open| Some((open, open.approval.as_ref()?)));
        let found = questions.find(|(_, open)| open.asked.approval == approval);
        let Some((open, question)) = found else { return Ok(Answered::Unknown) };
        if let Some((outcome, by)) = &question.answer {
            return Ok(Answered::Late { outcome: outcome.clone(), by: by.clone() });
        }
        let id = open.call.id.clone();
        let always = question.asked.confirmation.always.clone();
        self.ledger.commit(vec![answered(approval.to_owned(), outcome.clone(), &by)]).await?;
        let Phase::Calls(scheduler) = &self.phase else { return Ok(Answered::Accepted) };
        if let Some(index) = scheduler.calls().iter().position(|call| call.call.id == id) {
            self.grant(index, &outcome, always);
            self.act_on(index, outcome).await?;
            self.answer_granted().await?;
        }
        Ok(Answered::Accepted)
    }

    /// Takes in what an answer allows beyond its own call: exactly the rules the question has shown.
    fn grant(&mut self, index: usize, outcome: &Outcome, always: Option<String>) {
        let Some(plan) = self.plan(index) else { return };
        let rules = match outcome {
            Outcome::ProceedAlways | Outcome::ProceedAlwaysAndSave => always,
            Outcome::ProceedAlwaysTool => Some(rule_for_tool(&plan.tool)),
            Outcome::ProceedAlwaysServer => {
                self.grants.servers.extend(plan.effects.iter().filter_map(|effect| match effect {
                    Effect::Mcp { server, .. } => Some(server.clone()),
                    _ => None,
                }));
                None
            }
            Outcome::ProceedOnce
            | Outcome::ModifyWithEditor { .. }
            | Outcome::Answers { .. }
            | Outcome::Cancel { .. } => None,
        };
        if let Some(policy) = rules.and_then(|rules| self.settings.policy.with_rules(&rules).ok()) {
            self.settings.policy = policy;
        }
    }

    /// Answers the questions that an "always" has answered too: nobody is asked twice for the same.
    async fn answer_granted(&mut self) -> Result<(), JournalError> {
        let Phase::Calls(scheduler) = &self.phase else { return Ok(()) };
        let waiting = scheduler.calls().iter().enumerate();
        let waiting = waiting.filter(|(_, call)| call.status == CallStatus::AwaitingApproval);
        let granted: Vec<usize> = waiting
            .filter(|(_, call)| {
                call.plan.as_ref().is_some_and(|plan| self.allows(&self.settings.policy, plan))
            })
            .map(|(index, _)| index)
            .collect();
        for index in granted {
            let id = self.call(index).and_then(|call| call.id);
            let mut calls = self.ledger.conversation.turn.iter().flat_map(|turn| &turn.calls);
            let question = calls.find(|open| open.call.id == id).and_then(|open| open.approval.as_ref());
            let Some(approval) = question.map(|question| question.asked.approval.clone()) else { continue };
            self.ledger.commit(vec![answered(approval, Outcome::ProceedOnce, "an earlier answer")]).await?;
            self.advance(index, CallStatus::Scheduled);
        }
        self.start_ready().await
    }

    fn allows(&self, policy: &Arc<dyn Policy>, plan: &Plan) -> bool {
        let asks = matches!(plan.preview, Preview::Questions { .. });
        !asks && matches!(policy.judge(plan, self.ledger.conversation.mode), Verdict::Allow { .. })
    }

    /// What "always" would allow: the rules for the parts that no rule allows yet. Nothing when one of them
    /// may not be allowed for good, or when the rules would not be enough: another rule asks all the same.
    fn always(&self, plan: &Plan, missing: &[Missing]) -> Option<String> {
        let rules: Option<Vec<&str>> = missing.iter().map(|part| part.always.as_deref()).collect();
        let mut rules = rules.filter(|rules| !rules.is_empty())?;
        let mut seen = std::collections::HashSet::new();
        rules.retain(|rule| seen.insert(*rule));
        let rules = rules.join("\n");
        let policy = self.settings.policy.with_rules(&rules).ok()?;
        self.allows(&policy, plan).then_some(rules)
    }

    async fn act_on(&mut self, index: usize, outcome: Outcome) -> Result<(), JournalError> {
        match outcome {
            Outcome::Cancel { reason } => {
                let go_on = reason.is_some();
                let message = match reason {
                    Some(reason) => format!("The user did not allow this call: {reason}"),
                    None => "The user did not allow this call.".to_owned(),
                };
                let error = ToolError::new(ToolErrorKind::RefusedByPerson, message);
                self.end_call(index, CallStatus::Cancelled, ToolOutput::failed(error)).await?;
                // A plain no means: give me back the word. A reason means: go on, but differently.
                if !go_on {
                    self.cancel_calls().await?;
                }
            }
            Outcome::ModifyWithEditor { new_content } => {
                let (Some(mut call), Phase::Calls(scheduler)) = (self.call(index), &mut self.phase) else {
                    return Ok(());
                };
                let Some(args) = scheduler.args_for_content(index, &new_content) else {
                    let message = "Not run: the user gave it the content of a file, and it writes none.";
                    return self.refuse(index, ToolError::new(ToolErrorKind::InvalidArgs, message)).await;
                };
                call.args = args;
                self.grants.calls.extend(call.id.clone());
                scheduler.change(index, call, &self.settings.toolbox, &self.settings.tool_context);
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
}

fn answered(approval: String, outcome: Outcome, by: &str) -> Fact {
    Fact::ApprovalAnswered(Box::new(ApprovalAnswered { approval, outcome, by: by.to_owned() }))
}

/// The rule of "always this tool". Plan mode keeps its word whatever was allowed before.
fn rule_for_tool(tool: &str) -> String {
    let tool = toml::Value::from(tool);
    format!("[[rule]]\ntool = {tool}\nmodes = [\"default\", \"auto_edit\", \"yolo\"]\ndecision = \"allow\"\n")
}

fn detail(plan: &Plan, call: &FunctionCall) -> ConfirmationDetail {
    let mcp = plan.effects.iter().find_map(|effect| match effect {
        Effect::Mcp { server, tool } => Some((server.clone(), tool.clone())),
        _ => None,
    });
    match (&plan.preview, mcp) {
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
    }
}

fn hosts(plan: &Plan) -> Vec<String> {
    let hosts = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Net { host } => Some(host.clone()),
        _ => None,
    });
    hosts.collect()
}
