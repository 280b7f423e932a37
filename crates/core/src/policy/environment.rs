//! The variables that a line sets beside its command: an answer about both holds for both together.

use charla_proto::{Effect, Plan};

use super::Scope;
use super::commands::{self, Harm};
use super::guards::harmless_variable;

/// The commands of a plan that are not known to be harmless; all of them where every one is.
pub(super) fn acting<'a>(plan: &'a Plan, scope: &Scope) -> Vec<&'a Effect> {
    let runs = |effect: &&Effect| matches!(effect, Effect::Exec { carrier: false, .. });
    let (acting, others): (Vec<&Effect>, Vec<&Effect>) =
        plan.effects.iter().filter(runs).partition(|effect| acts(effect, scope));
    if acting.is_empty() { others } else { acting }
}

fn acts(effect: &Effect, scope: &Scope) -> bool {
    match effect {
        Effect::Exec { words, cwd, .. } => {
            matches!(commands::harm(words, cwd, scope, false), Harm::Possible(_))
        }
        _ => false,
    }
}

/// The variables of a plan that may change what a command does. Nothing where a value is only known to the shell.
pub(super) fn given(plan: &Plan, scope: &Scope) -> Option<Vec<(String, String)>> {
    let others = plan.effects.iter().any(|effect| acts(effect, scope));
    let mut given = Vec::new();
    for effect in &plan.effects {
        if let Effect::Env { name, value } = effect
            && !harmless_variable(name, others)
        {
            given.push((name.clone(), value.known()?.to_owned()));
        }
    }
    given.sort();
    given.dedup();
    Some(given)
}

/// True when a plan sets these variables to these values before its first command, and no other that matters.
pub(super) fn are_given(wanted: &[(String, String)], plan: &Plan, scope: &Scope) -> bool {
    let first = acting(plan, scope).into_iter().next();
    let before =
        plan.effects.iter().take_while(|effect| first.is_none_or(|first| !std::ptr::eq(*effect, first)));
    let sets = |effect: &&Effect| matches!(effect, Effect::Env { .. });
    if before.filter(sets).count() < plan.effects.iter().filter(sets).count() {
        return false;
    }
    let mut wanted = wanted.to_vec();
    wanted.sort();
    wanted.dedup();
    given(plan, scope).is_some_and(|given| given == wanted)
}
