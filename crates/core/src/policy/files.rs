//! Files that a call comes across while it runs: they are in no plan, and the rules about paths hold for them.

use std::path::{Path, PathBuf};

use charla_proto::{ApprovalMode, Args, Effect, Lane, Plan, Preview, Withheld};

use super::matching::SHELL;
use super::patterns::place_of;
use super::rules::{Decision, Subject};
use super::{RuleBook, judge};

/// Why a call of `tool` must not read a file it came across. The call itself was judged already: only rules
/// that name paths are asked.
pub(super) fn withheld(book: &RuleBook, tool: &str, path: &Path, mode: ApprovalMode) -> Option<Withheld> {
    if book.bounded && !book.scope.readable(path) {
        return Some(Withheld::Rule { rule: judge::BOUNDS.to_owned(), denies: true });
    }
    let plan = Plan {
        tool: tool.to_owned(),
        args: Args::new(),
        title: String::new(),
        effects: Vec::new(),
        preview: Preview::None,
        lane: Lane::Shared,
    };
    let effect = Effect::Read { path: path.to_owned() };
    let rule = judge::rule_about(book, &plan, &effect, mode);
    match rule.filter(|rule| matches!(rule.subject, Subject::Path { .. })) {
        Some(rule) if rule.decision == Decision::Allow => None,
        Some(rule) => Some(Withheld::Rule { rule: rule.name(), denies: rule.decision == Decision::Deny }),
        None => book.scope.looks_secret(path).then_some(Withheld::Secret),
    }
}

/// Where something is that rules deny to commands in every mode.
pub(super) fn denied_places(book: &RuleBook) -> Vec<PathBuf> {
    let denying = book.rules.iter().filter(|rule| {
        rule.decision == Decision::Deny
            && rule.bounds.modes.is_empty()
            && rule.concerns(SHELL, ApprovalMode::Yolo)
    });
    let patterns = denying.filter_map(|rule| match &rule.subject {
        Subject::Path { patterns, .. } => Some(patterns),
        _ => None,
    });
    let absolute = patterns.flatten().flat_map(|pattern| book.scope.absolute(pattern));
    absolute.map(|pattern| place_of(&pattern)).collect()
}
