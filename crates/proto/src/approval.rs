//! Approvals: who decides whether a call runs, and what was decided.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Confinement, Plan, Question, Withheld, looks_secret};

/// How much is allowed without asking, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Nothing may be written or run.
    Plan,
    /// Reading is free, everything else asks.
    #[default]
    Default,
    /// Editing files in the workspace is free too.
    AutoEdit,
    /// Nothing asks; what a rule denies stays denied.
    Yolo,
}

impl ApprovalMode {
    /// Every mode, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Default, Self::AutoEdit, Self::Yolo];
}

/// Its name in settings, flags and JSON.
impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// True when what somebody typed means the question of this id: the id, its beginning, or the beginning of its session's
/// id with the question's number behind it (`01a1:4`).
pub fn means_approval(typed: &str, approval: &str) -> bool {
    let whole = |(session, number): (&str, &str)| {
        let (of, question) = typed.split_once(':').unwrap_or_default();
        !of.is_empty() && session.starts_with(of) && number == question
    };
    approval.starts_with(typed) || approval.split_once(':').is_some_and(whole)
}

/// Judges plans. Pure: the same plan and mode give the same verdict.
pub trait Policy: Send + Sync {
    /// The verdict on a plan.
    fn judge(&self, plan: &Plan, mode: ApprovalMode) -> Verdict;

    /// True when the plan runs git, and nothing else in it reads what git keeps. Else commands that nobody was asked about
    /// do not get to see that.
    fn only_git_reads(&self, _plan: &Plan) -> bool {
        false
    }

    /// Who lets a call run that no person was asked about.
    fn consent(&self, _plan: &Plan, _mode: ApprovalMode) -> Consent {
        Consent::Named
    }

    /// Why a call of `tool` must not read a file that it comes across while it runs, if so. The path is
    /// absolute, and no link is in it.
    fn withheld(&self, _tool: &str, path: &Path, _mode: ApprovalMode) -> Option<Withheld> {
        looks_secret(path).then_some(Withheld::Secret)
    }

    /// The same policy with these rules (TOML) of the user's on top; a denial still holds against them. An
    /// error when they are not understood, or when this policy takes no rules: then "always" is not offered.
    fn with_rules(&self, _rules: &str) -> Result<Arc<dyn Policy>, String> {
        Err("this policy takes no further rules".to_owned())
    }
}

/// Who lets a call run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// A person was shown this very call and agreed to it.
    Person,
    /// Rules name its commands, or it is known what they do.
    #[default]
    Named,
    /// Nothing but a rule about commands of any kind, or the mode.
    Broad,
}

/// What a policy says to a plan, and which rule said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow {
        /// The rule that allows it.
        rule: String,
        /// How far its processes reach.
        confinement: Confinement,
    },
    /// Ask a person; with nobody to ask, the answer is no.
    Ask {
        /// The rule that asks.
        rule: String,
        /// Everything that no rule allows yet, in the order it would happen. Never empty.
        missing: Vec<Missing>,
        /// How far its processes reach if the person says yes.
        confinement: Confinement,
    },
    /// It must not run.
    Deny {
        /// The rule that forbids it.
        rule: String,
        /// The reason the model is told.
        reason: String,
    },
}

/// One part of a plan that no rule allows yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The part: a command, a path, a variable.
    pub what: String,
    /// Why it is asked about.
    pub reason: String,
    /// The rule, as TOML, that "always allow" would add; absent where no rule may allow it for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

/// The states of a call. The last three are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Its arguments are being checked.
    Validating,
    /// A person is asked.
    AwaitingApproval,
    /// It may run and waits for its lane.
    Scheduled,
    /// It runs, and its record says so.
    Executing,
    /// It did what it should.
    Success,
    /// It failed or was refused.
    Error,
    /// It was cancelled.
    Cancelled,
}

impl Verdict {
    /// The rule that decided.
    pub fn rule(&self) -> &str {
        match self {
            Verdict::Allow { rule, .. } | Verdict::Ask { rule, .. } | Verdict::Deny { rule, .. } => rule,
        }
    }
}

impl CallStatus {
    /// True when nothing follows.
    pub fn is_final(self) -> bool {
        matches!(self, CallStatus::Success | CallStatus::Error | CallStatus::Cancelled)
    }

    /// True when a call in this state may go to `next`.
    pub fn may_become(self, next: CallStatus) -> bool {
        use CallStatus::{AwaitingApproval, Cancelled, Error, Executing, Scheduled, Success, Validating};
        match self {
            Validating => matches!(next, AwaitingApproval | Scheduled | Error | Cancelled),
            AwaitingApproval => matches!(next, Validating | Scheduled | Error | Cancelled),
            Scheduled => matches!(next, Validating | Executing | Cancelled),
            Executing => matches!(next, Success | Error | Cancelled),
            Success | Error | Cancelled => false,
        }
    }
}

/// What a person is shown when asked. Complete: nothing of what would happen is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The tool's name.
    pub tool: String,
    /// The plan's one-line summary.
    pub title: String,
    /// What would happen.
    pub detail: ConfirmationDetail,
    /// The rule that asks, and what it misses.
    pub rule: String,
    /// How far its processes reach once it is allowed, where it starts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
    /// What really holds the call in while it runs, in words.
    pub isolation: String,
    /// What is asked about, part by part, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The rules, as TOML, that "always" would add; absent where there is no such answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

impl Confirmation {
    /// How far its processes reach once it is allowed: questions from before there was confinement had none.
    pub fn reach(&self) -> Confinement {
        self.confinement.unwrap_or(Confinement::Open)
    }
}

/// What would happen, by type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ConfirmationDetail {
    /// A command runs.
    Exec {
        /// The whole command line.
        command: String,
        /// The folder it runs in.
        cwd: PathBuf,
    },
    /// A file changes.
    Edit {
        /// The file that changes.
        path: PathBuf,
        /// The change as a unified diff.
        diff: String,
        /// The text before; absent when the file is new.
        before: Option<String>,
        /// The text after; a person may give another.
        after: String,
    },
    /// Something is looked up or sent.
    Info {
        /// What would be looked up or sent, in words.
        text: String,
        /// Addresses it goes to.
        urls: Vec<String>,
    },
    /// A tool of an MCP server is called.
    Mcp {
        /// The server's name in the settings.
        server: String,
        /// The name its server knows the tool by.
        tool: String,
        /// With these arguments.
        args: Map<String, Value>,
    },
    /// The model asks the person something; [`Outcome::Answers`] is the answer.
    AskUser {
        /// The questions, each of which wants one answer.
        questions: Vec<Question>,
    },
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// This call, and no other.
    ProceedOnce,
    /// This and its like, for this session.
    ProceedAlways,
    /// Everything of this tool, for this session.
    ProceedAlwaysTool,
    /// Everything of this MCP server, for this session.
    ProceedAlwaysServer,
    /// This and its like, in every session.
    ProceedAlwaysAndSave,
    /// This once, with other arguments in place of the model's.
    Modify {
        /// The arguments, all of them.
        args: Map<String, Value>,
    },
    /// This once, with other content for the whole file in place of the model's.
    ModifyWithEditor {
        /// The whole text of the file.
        new_content: String,
    },
    /// What the person says to [`ConfirmationDetail::AskUser`].
    Answers {
        /// One for each question, in their order; an empty one was left open.
        answers: Vec<String>,
    },
    /// It does not run. Without a reason the turn ends, too.
    Cancel {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Outcome {
    /// True when the call may run.
    pub fn allows(&self) -> bool {
        !matches!(self, Outcome::Cancel { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::CallStatus::{self, *};

    #[test]
    fn a_final_status_is_left_by_nothing_and_every_other_can_be_cancelled() {
        let all = [Validating, AwaitingApproval, Scheduled, Executing, Success, Error, Cancelled];
        for from in all {
            let onward = all.iter().filter(|to| from.may_become(**to)).count();
            assert_eq!(from.is_final(), onward == 0, "{from:?}");
            assert_eq!(from.may_become(Cancelled), !from.is_final(), "{from:?}");
        }
        let reaching_execution: Vec<CallStatus> =
            all.into_iter().filter(|from| from.may_become(Executing)).collect();
        assert_eq!(reaching_execution, [Scheduled]);
    }
}
