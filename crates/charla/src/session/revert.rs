//! Putting files back for a session: what the rules forbid to touch stays as it is.

use std::sync::Arc;

use charla_core::policy::RuleBook;
use charla_core::session::{RevertProblem, RevertStep, Reverted};
use charla_proto::{
    ApprovalMode, Args, BoxFuture, Effect, FileConflict, Lane, Plan, Policy, Preview, RevertedFile,
    Snapshots, Verdict,
};
use charla_tools::revert::{CheckError, Conflict, Reversal, Step};

/// Puts files back, off the runtime's threads.
pub(super) fn revert(
    rules: &RuleBook,
    snapshots: Arc<dyn Snapshots>,
    steps: Vec<RevertStep>,
) -> BoxFuture<'static, Result<Box<dyn Reverted>, RevertProblem>> {
    if let Some(reason) = steps.iter().find_map(|step| forbidden(rules, step)) {
        return Box::pin(std::future::ready(Err(RevertProblem::Failed(reason))));
    }
    Box::pin(async move {
        let work = tokio::task::spawn_blocking(move || {
            let steps = steps.into_iter().map(|step| Step { change: step.change, mode: step.mode }).collect();
            let reversal = Reversal::check(steps, snapshots.as_ref()).map_err(problem)?;
            reversal.apply().map_err(|error| RevertProblem::Failed(error.to_string()))?;
            Ok(Box::new(Done(reversal)) as Box<dyn Reverted>)
        });
        work.await.unwrap_or_else(|error| Err(RevertProblem::Failed(error.to_string())))
    })
}

/// Why a file must not be put back. The person who asks for it need not be asked, but a denial holds.
fn forbidden(rules: &RuleBook, step: &RevertStep) -> Option<String> {
    let plan = Plan {
        tool: "undo".to_owned(),
        args: Args::new(),
        title: String::new(),
        effects: vec![Effect::Write { path: step.change.path.clone() }],
        preview: Preview::None,
        lane: Lane::Exclusive,
    };
    match rules.judge(&plan, ApprovalMode::Yolo) {
        Verdict::Deny { rule, reason } => Some(format!("{reason} (rule: {rule}); nothing was changed")),
        Verdict::Ask { .. } | Verdict::Allow { .. } => None,
    }
}

pub(super) fn problem(error: CheckError) -> RevertProblem {
    let conflict = |conflict: Conflict| FileConflict {
        obstacle: conflict.obstacle.to_string(),
        path: conflict.path,
        diff: conflict.diff,
        now: conflict.now,
    };
    match error {
        CheckError::Conflicts(conflicts) => {
            RevertProblem::Conflicts(conflicts.into_iter().map(conflict).collect())
        }
        CheckError::Failed(error) => RevertProblem::Failed(error.to_string()),
    }
}

/// Files that were put back.
struct Done(Reversal);

impl Reverted for Done {
    fn files(&self) -> Vec<RevertedFile> {
        self.0.files()
    }

    fn withdraw(self: Box<Self>) -> Result<(), String> {
        self.0.withdraw().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use charla_core::policy::{RuleFile, Scope, Tier};
    use charla_proto::FileChange;

    use super::*;

    #[test]
    fn a_file_that_a_rule_denies_is_not_put_back() {
        let rule = "[[rule]]\ntool = \"*\"\npath = \"secrets/**\"\ndecision = \"deny\"\n";
        let file = RuleFile { tier: Tier::User, name: "own.toml".into(), text: rule.into() };
        let scope = Scope { roots: vec!["/w".into()], ..Scope::default() };
        let rules = RuleBook::new(scope, &[file]).unwrap();
        let reason = |path: &str| {
            let change = FileChange { path: Path::new(path).to_owned(), before: None, after: None };
            forbidden(&rules, &RevertStep { change, mode: None })
        };
        assert!(reason("/w/secrets/a/b").is_some_and(|reason| reason.contains("own.toml#1")));
        assert_eq!((reason("/w/src/a"), reason("/elsewhere/secrets/a")), (None, None));
    }
}
