//! Questions to people: what is shown, which answers fit, and what an answer allows from then on.

use std::collections::HashSet;
use std::sync::Arc;

use charla_proto::{
    ApprovalMode, CallAsked, Confinement, Confirmation, ConfirmationDetail, Consent, Effect, FileJudge,
    FunctionCall, Grant, Granted, Missing, Outcome, Plan, Policy, Preview, Verdict,
};

use super::{EARLIER_ANSWER, Isolation};

/// The rules of a session with what people have allowed for the rest of it.
pub(super) struct Approvals {
    /// The rules alone.
    rules: Arc<dyn Policy>,
    /// The rules with what was allowed.
    policy: Arc<dyn Policy>,
    servers: HashSet<String>,
    /// Knows the files that tools come across.
    known: FileJudge,
    /// How often what holds has changed.
    changes: u64,
}

impl Approvals {
    /// The rules, with what earlier answers allowed.
    pub(super) fn new(rules: Arc<dyn Policy>, grants: &[Granted], known: FileJudge) -> Self {
        let mut approvals = Self { policy: rules.clone(), rules, servers: HashSet::new(), known, changes: 0 };
        grants.iter().for_each(|granted| approvals.take(&granted.grant));
        approvals
    }

    /// Something was taken back: these grants hold, and no other.
    pub(super) fn keep_only(&mut self, grants: &[Granted]) {
        let changes = self.changes + 1;
        *self = Self { changes, ..Self::new(self.rules.clone(), grants, self.known.clone()) };
    }

    /// Takes in what an answer allows beyond its own call: exactly what it said.
    pub(super) fn take(&mut self, grant: &Grant) {
        self.changes += 1;
        let rules = match grant {
            Grant::Rules { rules } => rules.clone(),
            Grant::Tool { tool } => rule_for_tool(tool),
            Grant::Server { server } => {
                self.servers.insert(server.clone());
                return;
            }
        };
        // Rules that are not understood allow nothing.
        if let Ok(policy) = self.policy.with_rules(&rules) {
            self.policy = policy;
        }
    }

    /// How often what holds has changed: with the same number a plan has the same verdict.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// An error where these are no rules. A file of rules with one that is none would hold for no session.
    pub(super) fn check_rules(&self, rules: &str) -> Result<(), String> {
        self.policy.with_rules(rules).map(drop)
    }

    /// What the rules say to a plan. A question to the person cannot be allowed away: somebody has to answer it.
    pub(super) fn judge(&self, plan: &Plan, mode: ApprovalMode) -> Verdict {
        match self.policy.judge(plan, mode) {
            Verdict::Allow { rule, confinement } if is_question(plan) => {
                Verdict::Ask { rule, missing: Vec::new(), confinement }
            }
            Verdict::Ask { confinement, .. } if self.is_of_allowed_server(plan) => {
                Verdict::Allow { rule: EARLIER_ANSWER.to_owned(), confinement }
            }
            verdict => verdict,
        }
    }

    /// What says to a running call of a tool which files it may read.
    pub(super) fn files(&self, tool: &str, mode: ApprovalMode) -> FileJudge {
        self.known.under(self.policy.clone(), tool, mode)
    }

    /// Whether what git keeps may be open to the call of this plan.
    pub(super) fn only_git_reads(&self, plan: &Plan) -> bool {
        self.policy.only_git_reads(plan)
    }

    /// Who lets the call of this plan run, where no person was asked.
    pub(super) fn consent(&self, plan: &Plan, mode: ApprovalMode) -> Consent {
        self.policy.consent(plan, mode)
    }

    /// True for a call of a tool of a server that was allowed for good; what else a server wants is asked about.
    fn is_of_allowed_server(&self, plan: &Plan) -> bool {
        let allowed = |effect: &Effect| match effect {
            Effect::Mcp { server, .. } => self.servers.contains(server),
            _ => false,
        };
        plan.preview == Preview::None && !plan.effects.is_empty() && plan.effects.iter().all(allowed)
    }

    /// What a person is shown about a call.
    pub(super) fn confirmation(
        &self,
        plan: &Plan,
        call: &FunctionCall,
        verdict: Verdict,
        isolation: Option<&Isolation>,
        mode: ApprovalMode,
    ) -> Confirmation {
        let rule = verdict.rule().to_owned();
        let (missing, confinement) = match verdict {
            Verdict::Ask { missing, confinement, .. } => (missing, confinement),
            Verdict::Allow { confinement, .. } => (Vec::new(), confinement),
            Verdict::Deny { .. } => (Vec::new(), Confinement::Reading),
        };
        Confirmation {
            tool: plan.tool.clone(),
            title: plan.title.clone(),
            detail: detail(plan, call),
            rule,
            confinement: plan.starts_processes().then_some(confinement),
            isolation: isolation.map(|isolation| isolation(plan, confinement)).unwrap_or_default(),
            always: self.always(plan, &missing, mode),
            reasons: missing.iter().map(|part| format!("{}: {}", part.what, part.reason)).collect(),
        }
    }

    /// What "always" would allow: the rules for the parts that no rule allows yet. Nothing when one of them
    /// may not be allowed for good, or when the rules would not be enough: another rule asks all the same.
    fn always(&self, plan: &Plan, missing: &[Missing], mode: ApprovalMode) -> Option<String> {
        let rules: Option<Vec<&str>> = missing.iter().map(|part| part.always.as_deref()).collect();
        let mut rules = rules.filter(|rules| !rules.is_empty())?;
        let mut seen = HashSet::new();
        rules.retain(|rule| seen.insert(*rule));
        let rules = rules.join("\n");
        let policy = self.policy.with_rules(&rules).ok()?;
        let enough = matches!(policy.judge(plan, mode), Verdict::Allow { .. });
        (enough && !is_question(plan)).then_some(rules)
    }
}

/// Why an answer is none to this question.
pub(super) fn misfit(outcome: &Outcome, asked: &CallAsked) -> Option<&'static str> {
    let confirmation = &asked.confirmation;
    let is_question = matches!(confirmation.detail, ConfirmationDetail::AskUser { .. });
    match outcome {
        Outcome::Cancel { .. } => None,
        Outcome::Answers { .. } if is_question => None,
        Outcome::Answers { .. } => Some("nothing was asked of the person but whether it may run"),
        _ if is_question => Some("the model asks for words, not for permission"),
        Outcome::ProceedAlways | Outcome::ProceedAlwaysAndSave if confirmation.always.is_none() => {
            Some("no rule may allow it for good")
        }
        Outcome::ProceedAlwaysServer if !matches!(confirmation.detail, ConfirmationDetail::Mcp { .. }) => {
            Some("it is no tool of a server")
        }
        Outcome::ModifyWithEditor { .. }
            if !matches!(confirmation.detail, ConfirmationDetail::Edit { .. }) =>
        {
            Some("it writes no file")
        }
        _ => None,
    }
}

fn is_question(plan: &Plan) -> bool {
    matches!(plan.preview, Preview::Questions { .. })
}

/// The rule of "always this tool". Plan mode keeps its word whatever was allowed before.
fn rule_for_tool(tool: &str) -> String {
    let tool = toml::Value::from(tool);
    format!("[[rule]]\ntool = {tool}\nmodes = [\"default\", \"auto_edit\", \"yolo\"]\ndecision = \"allow\"\n")
}

/// What would happen, as the person is shown it.
pub(super) fn detail(plan: &Plan, call: &FunctionCall) -> ConfirmationDetail {
    let mcp = plan.effects.iter().find_map(|effect| match effect {
        Effect::Mcp { server, tool } => Some((server.clone(), tool.clone())),
        _ => None,
    });
    match (&plan.preview, mcp) {
        (Preview::None, Some((server, tool))) => {
            ConfirmationDetail::Mcp { server, tool, args: call.args.clone() }
        }
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

/// True when a call whose arguments a person gave meets what they saw: the same folder, the same file as it was.
pub(super) fn on_same_ground(then: &ConfirmationDetail, now: &ConfirmationDetail) -> bool {
    use ConfirmationDetail::{Edit, Exec, Info, Mcp};
    match (then, now) {
        (Exec { cwd: then, .. }, Exec { cwd: now, .. }) => then == now,
        (Edit { path, before, .. }, Edit { path: path_now, before: before_now, .. }) => {
            path == path_now && before == before_now
        }
        (Mcp { server, tool, .. }, Mcp { server: server_now, tool: tool_now, .. }) => {
            server == server_now && tool == tool_now
        }
        (Info { .. }, Info { .. }) => true,
        _ => false,
    }
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
    use charla_proto::{Args, Lane};

    use super::*;

    struct AlwaysAsks;

    impl Policy for AlwaysAsks {
        fn judge(&self, _: &Plan, _: ApprovalMode) -> Verdict {
            let missing = vec![Missing { what: String::new(), reason: String::new(), always: None }];
            Verdict::Ask { rule: String::new(), missing, confinement: Confinement::Reading }
        }
    }

    #[test]
    fn always_for_a_server_is_about_calls_of_its_tools_and_nothing_else_it_wants() {
        let grant = Grant::Server { server: "s".to_owned() };
        let granted = Granted { approval: "s:1".to_owned(), by: "me".to_owned(), grant, saved: false };
        let approvals = Approvals::new(Arc::new(AlwaysAsks), &[granted], FileJudge::default());
        let plan = |preview: Preview| Plan {
            tool: "s__t".to_owned(),
            args: Args::new(),
            title: String::new(),
            effects: vec![Effect::Mcp { server: "s".to_owned(), tool: "t".to_owned() }],
            preview,
            lane: Lane::Exclusive,
        };
        let allowed =
            |plan: &Plan| matches!(approvals.judge(plan, ApprovalMode::Default), Verdict::Allow { .. });
        assert!(allowed(&plan(Preview::None)));
        assert!(!allowed(&plan(Preview::Text { text: "ask the model".to_owned() })));
        assert!(!allowed(&plan(Preview::Questions { questions: Vec::new() })));
    }
}
