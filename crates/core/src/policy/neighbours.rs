//! One shell runs a whole line, in one confinement: what one command of it was allowed is not allowed to its neighbours.

use charla_proto::{ApprovalMode, Confinement, Effect};

use super::commands::{self, Harm};
use super::rules::Decision;
use super::{Finding, Scope};

/// The findings of one line so that none of them reaches further than it was allowed to. Where a command that is not known to be
/// harmless was allowed less than another one, a person is asked, and nothing is remembered of the answer; where nobody is to
/// be asked, all of it runs in what was allowed least.
pub(super) fn held_back(findings: Vec<Finding>, scope: &Scope, mode: ApprovalMode) -> Vec<Finding> {
    let highest = findings.iter().map(|finding| finding.confinement).max().unwrap_or(Confinement::Reading);
    let mut furthest = findings.iter().filter(|finding| finding.confinement == highest);
    let beside_git = furthest.all(|finding| is_plain_git(finding, scope));
    let is_lifted = |finding: &Finding| {
        let alike = beside_git && is_plain_git(finding, scope);
        finding.confinement < highest && !alike && counts(finding, scope)
    };
    let lifted = findings.iter().filter(|finding| is_lifted(finding));
    let Some(lowest) = lifted.map(|finding| finding.confinement).min() else { return findings };
    if mode == ApprovalMode::Yolo {
        let lowered = |finding: Finding| Finding { confinement: finding.confinement.min(lowest), ..finding };
        return findings.into_iter().map(lowered).collect();
    }
    let furthest = findings.iter().find(|finding| finding.confinement == highest);
    let reason = format!(
        "it may not reach as far as {}, and one shell runs both",
        furthest.map(|finding| finding.what.as_str()).unwrap_or_default()
    );
    let asked = |finding: Finding| match finding.decision == Decision::Allow && is_lifted(&finding) {
        true => Finding { decision: Decision::Ask, reason: reason.clone(), always: None, ..finding },
        false => Finding { always: None, ..finding },
    };
    findings.into_iter().map(asked).collect()
}

/// True for what runs and is not known to be harmless wherever it runs.
fn counts(finding: &Finding, scope: &Scope) -> bool {
    match &finding.effect {
        Some(Effect::Exec { words, carrier: true, .. }) => commands::trusted_name(words).is_none(),
        Some(Effect::Exec { words, cwd, .. }) => {
            matches!(commands::harm(words, cwd, scope, false), Harm::Possible(_))
        }
        Some(Effect::Unclear { .. }) => true,
        _ => false,
    }
}

/// True for git without an option that runs a program of one's choice. Beside git that reaches further it runs what that runs, too:
/// the hooks and settings of the repository.
fn is_plain_git(finding: &Finding, scope: &Scope) -> bool {
    match &finding.effect {
        Some(Effect::Exec { words, cwd, .. }) => {
            commands::trusted_name(words) == Some("git")
                && commands::launches(words, cwd, scope, 1).is_none()
                && words.iter().all(|word| word.known().is_some())
        }
        _ => false,
    }
}
