//! From effects to a verdict.

use charla_proto::text::shell_quote;
use charla_proto::{ApprovalMode, Effect, Missing, Plan, Verdict, Word};

use super::commands::{self, Harm};
use super::guards::{delicate, guard, harmless_variable};
use super::matching::{Match, SHELL};
use super::paths::is_free;
use super::rules::{Decision, Rule, Tier};
use super::{Finding, Judgement, RuleBook};

pub(super) fn explain(book: &RuleBook, plan: &Plan, mode: ApprovalMode) -> Judgement {
    let judged = |effect: Option<&Effect>| Case { book, plan, mode, effect }.finding();
    let findings: Vec<Finding> = if plan.effects.is_empty() {
        vec![judged(None)]
    } else {
        plan.effects.iter().map(|effect| judged(Some(effect))).collect()
    };
    let verdict = strictest(&findings);
    Judgement { findings, verdict }
}

/// One effect before the rules.
struct Case<'a> {
    book: &'a RuleBook,
    plan: &'a Plan,
    mode: ApprovalMode,
    effect: Option<&'a Effect>,
}

/// What the rules alone say.
struct Ruling<'a> {
    decision: Decision,
    rule: &'a Rule,
    /// A stricter rule that may be about the effect too.
    doubt: Option<&'a Rule>,
}

impl<'a> Case<'a> {
    fn finding(&self) -> Finding {
        let Some(ruling) = self.ruling() else {
            return self.found(Decision::Ask, "no rule".into(), "no rule is about it".into());
        };
        let (decision, name, reason) = self.settle(&ruling);
        match ruling.doubt.filter(|_| decision == Decision::Allow) {
            Some(rule) => {
                let reason = format!("it cannot be told whether this rule is about it: {}", rule.about());
                Finding { always: None, ..self.found(Decision::Ask, rule.name(), reason) }
            }
            None => self.found(decision, name, reason),
        }
    }

    /// What becomes of a ruling once the two built-in layers have had their say.
    fn settle(&self, ruling: &Ruling<'_>) -> (Decision, String, String) {
        let built_in = ruling.rule.tier == Tier::Default;
        let guarded = || self.effect.and_then(|effect| guard(effect, ruling.rule, &self.book.scope));
        let by_guard = |reason| (Decision::Ask, "built-in guard".to_owned(), reason);
        if built_in
            && ruling.decision != Decision::Allow
            && let Some(why) = self.harmless(ruling.decision)
        {
            let known = (Decision::Allow, "built-in knowledge".to_owned(), why);
            return guarded().map_or(known, by_guard);
        }
        if ruling.decision == Decision::Allow
            && self.mode != ApprovalMode::Yolo
            && let Some(reason) = guarded()
        {
            return by_guard(reason);
        }
        let reason = match (ruling.decision, self.effect) {
            (Decision::Ask, Some(effect)) if built_in => self.why_asked(effect),
            _ => None,
        };
        (ruling.decision, ruling.rule.name(), reason.unwrap_or_else(|| stated(ruling.rule)))
    }

    /// Asks the tiers from the highest down. A denial above the built-in tier holds in any case, and the
    /// workspace can make an allowance a question.
    fn ruling(&self) -> Option<Ruling<'a>> {
        let mut doubt: Option<&Rule> = None;
        let mut decided: Vec<&Rule> = Vec::new();
        for rule in &self.book.rules {
            if decided.last().is_some_and(|last| last.tier == rule.tier) {
                continue;
            }
            match rule.matches(self.plan, self.effect, self.mode, &self.book.scope) {
                Match::Yes => decided.push(rule),
                Match::Maybe if rule.decision != Decision::Allow => doubt = doubt.or(Some(rule)),
                _ => {}
            }
        }
        let ruling = |rule: &'a Rule| Ruling { decision: rule.decision, rule, doubt };
        if let Some(rule) =
            decided.iter().find(|rule| rule.tier > Tier::Default && rule.decision == Decision::Deny)
        {
            return Some(ruling(rule));
        }
        let first = decided.iter().find(|rule| rule.tier != Tier::Workspace)?;
        let workspace = decided.iter().find(|rule| rule.tier == Tier::Workspace);
        match workspace {
            Some(rule) if rule.decision > first.decision => Some(ruling(rule)),
            _ => Some(ruling(first)),
        }
    }

    /// Why an effect the built-in rules do not allow is let through nevertheless.
    fn harmless(&self, decision: Decision) -> Option<String> {
        let scope = &self.book.scope;
        let edits = self.mode == ApprovalMode::AutoEdit;
        match self.effect? {
            Effect::Exec { carrier: true, .. } => Some("what it starts is judged by itself".into()),
            Effect::Env { name, .. } if harmless_variable(name) => Some("a harmless variable".into()),
            Effect::Read { path } if self.plan.tool == SHELL && scope.readable(path) => {
                Some("reading in the workspace".into())
            }
            Effect::Write { path } if is_free(path) => Some("writing to nowhere".into()),
            Effect::Write { path }
                if self.plan.tool == SHELL && scope.contains(path) && self.may_redirect() =>
            {
                Some("writing in the workspace".into())
            }
            Effect::Write { path } if self.mode == ApprovalMode::Plan => {
                let plans = scope.plans.as_ref()?;
                path.starts_with(plans).then(|| "writing plans in plan mode".into())
            }
            Effect::Exec { words, cwd, .. } if decision == Decision::Ask => {
                match commands::harm(words, cwd, scope) {
                    Harm::None => Some("a command that only reads".into()),
                    Harm::Edits if edits => Some("a command that edits the workspace".into()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Redirects into the workspace: in auto_edit, or where the rules of every command allow them.
    fn may_redirect(&self) -> bool {
        match self.mode {
            ApprovalMode::AutoEdit => return true,
            ApprovalMode::Plan => return false,
            ApprovalMode::Default | ApprovalMode::Yolo => {}
        }
        let mut commands =
            self.plan.effects.iter().filter(|effect| matches!(effect, Effect::Exec { carrier: false, .. }));
        let allowed = |effect| {
            let case = Case { effect: Some(effect), ..*self };
            case.ruling().is_some_and(|ruling| ruling.decision == Decision::Allow && ruling.rule.redirection)
        };
        commands.clone().next().is_some() && commands.all(allowed)
    }

    /// Why the built-in rules do not simply allow an effect.
    fn why_asked(&self, effect: &Effect) -> Option<String> {
        let general = self.book.rules.iter().find(|rule| rule.tier == Tier::Default)?;
        let known = || match effect {
            Effect::Exec { words, cwd, .. } => match commands::harm(words, cwd, &self.book.scope) {
                Harm::Possible(reason) => Some(reason),
                Harm::Edits => Some("it changes files".into()),
                Harm::None => None,
            },
            Effect::Unclear { reason, .. } => Some(reason.clone()),
            _ => None,
        };
        guard(effect, general, &self.book.scope).or_else(known)
    }

    fn found(&self, decision: Decision, rule: String, reason: String) -> Finding {
        Finding {
            effect: self.effect.cloned(),
            what: self.effect.map_or_else(|| self.plan.title.clone(), what),
            decision,
            rule,
            reason,
            always: (decision == Decision::Ask).then(|| self.always()).flatten(),
        }
    }

    /// The rule that would allow this effect and no other.
    fn always(&self) -> Option<String> {
        let tool = toml::Value::from(self.plan.tool.as_str());
        let rule = |line: String| format!("[[rule]]\ntool = {tool}\n{line}decision = \"allow\"\n");
        let of = |key: &str, value: String| rule(format!("{key} = {}\n", toml::Value::from(value)));
        match self.effect {
            // Nobody gives this away with one key; who means it writes the rule.
            Some(Effect::Exec { words, .. }) if delicate(words).is_some() => None,
            Some(Effect::Exec { words, .. }) => {
                let known: Option<Vec<String>> =
                    words.iter().map(|word| word.known().map(shell_quote)).collect();
                known.map(|words| of("command", words.join(" ")))
            }
            Some(Effect::Read { path } | Effect::Write { path }) => {
                Some(of("path", globset::escape(&path.to_string_lossy())))
            }
            Some(Effect::Env { name, .. }) => Some(of("env", name.clone())),
            Some(Effect::Unclear { .. }) => None,
            Some(Effect::Net { .. } | Effect::Mcp { .. }) | None => Some(rule(String::new())),
        }
    }
}

fn stated(rule: &Rule) -> String {
    rule.reason.clone().unwrap_or_else(|| match rule.decision {
        Decision::Allow => "allowed".into(),
        Decision::Ask => "not allowed without asking".into(),
        Decision::Deny => "denied by policy".into(),
    })
}

/// An effect in words.
fn what(effect: &Effect) -> String {
    let typed = |word: &Word| word.known().map_or_else(|| word.text.clone(), shell_quote);
    match effect {
        Effect::Read { path } => format!("read {}", path.display()),
        Effect::Write { path } => format!("write {}", path.display()),
        Effect::Exec { words, .. } => words.iter().map(typed).collect::<Vec<_>>().join(" "),
        Effect::Env { name, value } => format!("{name}={}", typed(value)),
        Effect::Unclear { what, .. } => what.clone(),
        Effect::Net { host } => format!("connect to {host}"),
        Effect::Mcp { server, tool } => format!("{tool} of {server}"),
    }
}

fn strictest(findings: &[Finding]) -> Verdict {
    if let Some(denied) = findings.iter().find(|finding| finding.decision == Decision::Deny) {
        let reason = format!("{}: {}", denied.what, denied.reason);
        return Verdict::Deny { rule: denied.rule.clone(), reason };
    }
    let mut asked = findings.iter().filter(|finding| finding.decision == Decision::Ask);
    if let Some(first) = asked.clone().next() {
        let mut missing: Vec<Missing> = Vec::new();
        for finding in &mut asked {
            let one = Missing {
                what: finding.what.clone(),
                reason: finding.reason.clone(),
                always: finding.always.clone(),
            };
            if !missing.iter().any(|known| known.what == one.what) {
                missing.push(one);
            }
        }
        return Verdict::Ask { rule: first.rule.clone(), missing };
    }
    let mut rules: Vec<&str> = Vec::new();
    for finding in findings {
        if !rules.contains(&finding.rule.as_str()) {
            rules.push(&finding.rule);
        }
    }
    Verdict::Allow { rule: rules.join(", ") }
}
