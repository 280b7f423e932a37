//! Whether somebody has thought of what a call's commands do, or nothing but a broad rule lets them run.

use std::path::Path;

use charla_proto::{ApprovalMode, Consent, Effect, Plan, Word};

use super::commands::{self, Harm};
use super::guards::harmless_variable;
use super::rules::{Rule, Subject};
use super::{RuleBook, Scope, judge};

/// Commands of git that change its repository and the files it tracks, and nothing else: by itself in a line, git does what it is
/// known for.
const WORKING: [&str; 22] = [
    "add",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "fetch",
    "gc",
    "ls-remote",
    "merge",
    "mv",
    "pull",
    "push",
    "rebase",
    "remote",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "submodule",
    "switch",
    "tag",
];

/// Commands of `git submodule` that run nothing of one's choice.
const WORKING_ON_SUBMODULES: [&str; 6] = ["add", "deinit", "init", "status", "sync", "update"];

/// Who lets a plan run that no person was asked about.
pub(super) fn consent(book: &RuleBook, plan: &Plan, mode: ApprovalMode) -> Consent {
    let thoughts: Vec<Thought> =
        plan.effects.iter().map(|effect| thought(book, plan, effect, mode)).collect();
    match thoughts.contains(&Thought::Given) && !thoughts.contains(&Thought::None) {
        true => Consent::Named,
        false => Consent::Broad,
    }
}

/// Whether somebody has thought of an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thought {
    /// Whoever named it, or whoever wrote down what git does.
    Given,
    /// It needs none beside what was thought of.
    Needless,
    None,
}

fn thought(book: &RuleBook, plan: &Plan, effect: &Effect, mode: ApprovalMode) -> Thought {
    let scope = &book.scope;
    let rule = || judge::rule_about(book, plan, effect, mode);
    let is_named = || rule().is_some_and(|rule| rule.names_command());
    let says_variable =
        |rule: &Rule| matches!(rule.subject, Subject::Env { .. }) || rule.bounds.environment.is_some();
    match effect {
        Effect::Exec { words, cwd, carrier: false, .. } if is_working_git(words, cwd, scope) => {
            Thought::Given
        }
        Effect::Exec { .. } | Effect::Unclear { .. } | Effect::Unconfined if is_named() => Thought::Given,
        Effect::Exec { words, carrier: true, .. } if commands::trusted_name(words).is_some() => {
            Thought::Needless
        }
        Effect::Exec { words, cwd, carrier: false, .. }
            if commands::harm(words, cwd, scope, false) == Harm::None =>
        {
            Thought::Needless
        }
        Effect::Env { name, .. } if harmless_variable(name, true) || rule().is_some_and(says_variable) => {
            Thought::Needless
        }
        Effect::Env { .. } | Effect::Exec { .. } | Effect::Unclear { .. } | Effect::Unconfined => {
            Thought::None
        }
        Effect::Read { .. } | Effect::Write { .. } | Effect::Net { .. } | Effect::Mcp { .. } => {
            Thought::Needless
        }
    }
}

/// True for git that works on its files, with no option that runs a program or takes a setting.
fn is_working_git(words: &[Word], cwd: &Path, scope: &Scope) -> bool {
    let mut said = words.iter().skip(1).map(Word::known);
    let name = said.next().flatten();
    let is_working = match name {
        Some("submodule") => {
            said.next().flatten().is_some_and(|second| WORKING_ON_SUBMODULES.contains(&second))
        }
        Some(name) => WORKING.contains(&name),
        None => false,
    };
    is_working
        && commands::trusted_name(words) == Some("git")
        && words.iter().all(|word| word.known().is_some())
        && commands::launches(words, cwd, scope, 1).is_none()
}
