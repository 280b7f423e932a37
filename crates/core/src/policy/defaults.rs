//! The built-in tier: the rules that hold when nobody says otherwise. Every file of rules outranks them.
//!
//! They are written as values: every start of the program needs them, and none has to read them.

use charla_proto::ApprovalMode;

use super::parse::DEFAULT_PRIORITY;
use super::rules::{Allowance, Bounds, Decision, Rule, RuleSource, Subject, Tier};

/// A rule about whole tools.
struct BuiltIn {
    tools: &'static [&'static str],
    decision: Decision,
    priority: u16,
    /// The modes it holds in; all of them when empty.
    modes: &'static [ApprovalMode],
    reason: Option<&'static str>,
}

/// What rules have that do not say otherwise.
const ASK: BuiltIn =
    BuiltIn { tools: &["*"], decision: Decision::Ask, priority: DEFAULT_PRIORITY, modes: &[], reason: None };

const RULES: &[BuiltIn] = &[
    BuiltIn {
        tools: &[
            "read_file",
            "read_many_files",
            "list_directory",
            "glob",
            "grep_search",
            "search_file_content",
        ],
        decision: Decision::Allow,
        ..ASK
    },
    BuiltIn {
        tools: &[
            "write_todos",
            "list_background_processes",
            "read_background_output",
            "find_tools",
            "list_mcp_resources",
            "activate_skill",
            "invoke_agent",
        ],
        decision: Decision::Allow,
        ..ASK
    },
    BuiltIn { tools: &["ask_user"], priority: 999, ..ASK },
    BuiltIn { decision: Decision::Allow, priority: 998, modes: &[ApprovalMode::Yolo], ..ASK },
    BuiltIn {
        tools: &["write_file", "replace"],
        decision: Decision::Allow,
        modes: &[ApprovalMode::AutoEdit],
        ..ASK
    },
    BuiltIn {
        tools: &["web_fetch", "google_web_search", "exit_plan_mode"],
        priority: 60,
        modes: &[ApprovalMode::Plan],
        ..ASK
    },
    BuiltIn {
        decision: Decision::Deny,
        priority: 50,
        modes: &[ApprovalMode::Plan],
        reason: Some("in plan mode nothing is written or run; finish the plan first"),
        ..ASK
    },
    BuiltIn { priority: 0, ..ASK },
    BuiltIn {
        tools: &["enter_plan_mode", "exit_plan_mode"],
        decision: Decision::Deny,
        priority: 999,
        modes: &[ApprovalMode::Yolo],
        reason: Some("nothing has to be agreed to in this mode"),
    },
];

/// The rules that hold when nobody says otherwise.
pub(super) fn rules() -> Vec<Rule> {
    RULES.iter().zip(1..).map(|(rule, index)| rule.made(index)).collect()
}

impl BuiltIn {
    fn made(&self, index: usize) -> Rule {
        Rule {
            tier: Tier::Default,
            source: RuleSource { file: "built-in".to_owned(), index },
            decision: self.decision,
            priority: self.priority,
            reason: self.reason.map(str::to_owned),
            tests: Vec::new(),
            tools: self.tools.iter().map(|tool| (*tool).to_owned()).collect(),
            server: None,
            subject: Subject::Anything,
            args: None,
            bounds: Bounds { modes: self.modes.to_vec(), ..Bounds::default() },
            allowance: Allowance::default(),
        }
    }
}
