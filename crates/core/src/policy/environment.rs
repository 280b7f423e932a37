//! The variables that a line gives its commands: an answer about a command holds for what it was given then.

use charla_proto::{Effect, Plan, WordKind};

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

/// Those of them that the line gives this variable.
pub(super) fn users<'a>(plan: &'a Plan, scope: &Scope, variable: &str) -> Vec<&'a Effect> {
    let mut users = acting(plan, scope);
    users.retain(|effect| match effect {
        Effect::Exec { environment, .. } => environment.iter().any(|(name, _)| name == variable),
        _ => false,
    });
    users
}

/// The variables that a command is given, but for how things look. Nothing where one of them, or its value, is only known to the
/// shell.
pub(super) fn given(effect: &Effect) -> Option<Vec<(String, String)>> {
    let Effect::Exec { environment, .. } = effect else { return Some(Vec::new()) };
    let mut given = Vec::new();
    for (name, value) in environment {
        // Commands do not get what is only the shell's.
        let of_shell = value.kind == WordKind::Unknown && harmless_variable(name, true);
        if !of_shell && !is_about_looks(name) {
            given.push((name.clone(), value.known()?.to_owned()));
        }
    }
    given.sort();
    Some(given)
}

/// True when a command is given these variables and no others.
pub(super) fn is_given(wanted: &[(String, String)], effect: &Effect) -> bool {
    let mut wanted = wanted.to_vec();
    wanted.sort();
    wanted.dedup();
    given(effect).is_some_and(|given| given == wanted)
}

/// True for variables that say in which language, colours and width something is told.
pub(super) fn is_about_looks(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "LANG",
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "RUST_BACKTRACE",
        "CARGO_TERM_COLOR",
    ];
    NAMES.contains(&name) || name.starts_with("LC_")
}
