//! From effects to a verdict.

use std::path::{Component, PathBuf};

use charla_proto::text::shell_quote;
use charla_proto::{ApprovalMode, Confinement, Effect, Missing, Plan, Preview, Verdict, Word};

use super::always;
use super::commands::{self, Harm};
use super::guards::{View, guard, harmless_variable};
use super::matching::{Match, SHELL};
use super::neighbours;
use super::only_git;
use super::paths::is_free;
use super::patterns::place_of;
use super::rules::{Decision, Rule, Subject, Tier};
use super::{Finding, Judgement, RuleBook, Scope};

/// Behind the wall, what only the kernel can see is left to it. That counts where the whole line only reads, or not at
/// all: one shell runs all of it, and reaches as far as the part that reaches furthest.
pub(super) fn explain(book: &RuleBook, plan: &Plan, mode: ApprovalMode) -> Judgement {
    let walled = plan.starts_processes() && book.scope.enforced().reading;
    let held = if walled { held(book, plan, mode) } else { Held::Not };
    let judged = match held {
        Held::Reading(judged) => judged,
        Held::Editing => judgement(book, plan, mode, Ground { git_held: true, ..Ground::default() }),
        Held::Not => judgement(book, plan, mode, Ground::default()),
    };
    match book.bounded {
        true => within_bounds(&book.scope, plan, judged),
        false => judged,
    }
}

/// How the kernel holds a plan.
enum Held {
    /// As what only reads.
    Reading(Judgement),
    /// As what edits unasked.
    Editing,
    /// Not as what runs unasked.
    Not,
}

/// Says how the kernel holds a plan that runs. An allowance widens nothing: what would run without it runs as it would then.
fn held(book: &RuleBook, plan: &Plan, mode: ApprovalMode) -> Held {
    let behind = Ground { walled: true, git_held: true, unaided: false };
    let judged = judgement(book, plan, mode, behind);
    let Verdict::Allow { confinement, .. } = judged.verdict else { return Held::Not };
    if confinement == Confinement::Reading {
        return Held::Reading(judged);
    }
    let unaided = judgement(book, plan, mode, Ground { unaided: true, ..behind });
    match unaided.verdict {
        Verdict::Allow { confinement: Confinement::Reading, .. } => Held::Reading(reading(judged)),
        _ if confinement == Confinement::Editing => Held::Editing,
        _ => Held::Not,
    }
}

/// The same judgement for a plan that runs as what only reads does.
fn reading(judged: Judgement) -> Judgement {
    let lowered = |finding| Finding { confinement: Confinement::Reading, ..finding };
    let findings: Vec<Finding> = judged.findings.into_iter().map(lowered).collect();
    let verdict = strictest(&findings);
    Judgement { findings, verdict }
}

/// What a judgement takes for granted.
#[derive(Clone, Copy, Default)]
struct Ground {
    /// Nothing of the plan reaches further than the kernel lets what runs unasked.
    walled: bool,
    /// Git is kept from showing secret files.
    git_held: bool,
    /// Rules that allow, and say neither all words of a command nor how far it reaches, do not count.
    unaided: bool,
}

/// A guest reaches the workspace and nothing else, whoever allows it. Commands are held there by the kernel.
fn within_bounds(scope: &Scope, plan: &Plan, judged: Judgement) -> Judgement {
    let in_process = plan.tool != SHELL;
    let beyond = |effect: &Effect| match effect {
        Effect::Read { path } => in_process && !scope.readable(path),
        Effect::Write { path } => in_process && !scope.contains(path) && !is_free(path),
        Effect::Unconfined => true,
        _ => false,
    };
    let starts_beyond = matches!(&plan.preview, Preview::Command { cwd, .. } if !scope.contains(cwd));
    let bounded = |finding: Finding| match starts_beyond || finding.effect.as_ref().is_some_and(beyond) {
        true => Finding {
            decision: Decision::Deny,
            rule: BOUNDS.to_owned(),
            reason: "only the workspace can be reached here".to_owned(),
            always: None,
            ..finding
        },
        false => finding,
    };
    let findings: Vec<Finding> = judged.findings.into_iter().map(bounded).collect();
    let verdict = strictest(&findings);
    Judgement { findings, verdict }
}

/// What denies a guest what lies beyond the workspace.
pub(super) const BOUNDS: &str = "bounds of the workspace";

fn judgement(book: &RuleBook, plan: &Plan, mode: ApprovalMode, ground: Ground) -> Judgement {
    let others = plan.effects.iter().any(|effect| runs_others(effect, &book.scope, ground.walled));
    let judged = |effect: Option<&Effect>| Case { book, plan, mode, effect, others, ground }.finding();
    let findings: Vec<Finding> = if plan.effects.is_empty() {
        vec![judged(None)]
    } else {
        plan.effects.iter().map(|effect| judged(Some(effect))).collect()
    };
    let findings = neighbours::held_back(findings, &book.scope, mode);
    let verdict = strictest(&findings);
    Judgement { findings, verdict }
}

fn runs_others(effect: &Effect, scope: &Scope, walled: bool) -> bool {
    match effect {
        Effect::Exec { words, cwd, carrier: false, .. } => {
            matches!(commands::harm(words, cwd, scope, walled), Harm::Possible(_))
        }
        _ => false,
    }
}

/// The rule that decides about an effect.
pub(super) fn rule_about<'a>(
    book: &'a RuleBook,
    plan: &'a Plan,
    effect: &'a Effect,
    mode: ApprovalMode,
) -> Option<&'a Rule> {
    Case { book, plan, mode, effect: Some(effect), others: true, ground: Ground::default() }
        .ruling()
        .map(|ruling| ruling.rule)
}

/// One effect before the rules.
struct Case<'a> {
    book: &'a RuleBook,
    plan: &'a Plan,
    mode: ApprovalMode,
    effect: Option<&'a Effect>,
    /// True when the plan runs commands that are not known to be harmless.
    others: bool,
    ground: Ground,
}

/// What is found about an effect, before it is put into words.
struct Settled {
    decision: Decision,
    rule: String,
    reason: String,
    confinement: Confinement,
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
        let asked = |rule: String, reason: String| Settled {
            decision: Decision::Ask,
            rule,
            reason,
            confinement: always::reach(self.effect),
        };
        let Some(ruling) = self.ruling() else {
            return self.found(asked("no rule".into(), "no rule is about it".into()));
        };
        let settled = self.settle(&ruling);
        if settled.decision == Decision::Allow
            && let Some(rule) = self.unread_denial(ruling.rule)
        {
            let reason = format!("it is not known to leave alone what this rule is about: {}", rule.about());
            return Finding { always: None, ..self.found(asked(rule.name(), reason)) };
        }
        match ruling.doubt.filter(|_| settled.decision == Decision::Allow) {
            Some(rule) => {
                let reason = format!("it cannot be told whether this rule is about it: {}", rule.about());
                Finding { always: None, ..self.found(asked(rule.name(), reason)) }
            }
            None => self.found(settled),
        }
    }

    /// What becomes of a ruling once the two built-in layers have had their say.
    fn settle(&self, ruling: &Ruling<'_>) -> Settled {
        let built_in = ruling.rule.tier == Tier::Default;
        let guarded =
            || self.effect.and_then(|effect| guard(effect, ruling.rule, &self.book.scope, self.view()));
        let by_guard = |reason| Settled {
            decision: Decision::Ask,
            rule: "built-in guard".to_owned(),
            reason,
            confinement: always::reach(self.effect),
        };
        let mut unconfined = None;
        if built_in
            && ruling.decision != Decision::Allow
            && let Some((reason, confinement)) = self.harmless(ruling.decision)
        {
            if self.plan.tool != SHELL || self.book.scope.enforced().holds(confinement) {
                let rule = "built-in knowledge".to_owned();
                let known = Settled { decision: Decision::Allow, rule, reason, confinement };
                let beside_git = || only_git::doubt(self.effect?, self.plan);
                return guarded().or_else(beside_git).map_or(known, by_guard);
            }
            unconfined = Some("the kernel does not confine commands here, so each is asked about".to_owned());
        }
        if ruling.decision == Decision::Allow
            && self.mode != ApprovalMode::Yolo
            && let Some(reason) = guarded()
        {
            return by_guard(reason);
        }
        let reason = match (ruling.decision, self.effect) {
            (Decision::Ask, Some(effect)) if built_in => unconfined.or_else(|| self.why_asked(effect)),
            _ => None,
        };
        Settled {
            decision: ruling.decision,
            rule: ruling.rule.name(),
            reason: reason.unwrap_or_else(|| stated(ruling.rule)),
            confinement: match ruling.decision {
                Decision::Allow => self.reach_under(ruling.rule),
                Decision::Ask | Decision::Deny => always::reach(self.effect),
            },
        }
    }

    /// How far processes reach that a rule allows. Who says all words of a command, or wants everything allowed, means it without
    /// a wall; who names a command, what that plainly needs; and a rule about more than that lets nothing past what a person's
    /// yes would.
    fn reach_under(&self, rule: &Rule) -> Confinement {
        let whole = matches!(rule.subject, Subject::Command(_)) || rule.tier == Tier::Default;
        match rule.allowance.confinement {
            Some(stated) => stated,
            None if whole || self.mode == ApprovalMode::Yolo || self.plan.tool != SHELL => Confinement::Open,
            None if rule.names_command() => always::reach_by_name(self.effect),
            None => Confinement::Asked,
        }
    }

    /// The denial of a path that a command may read without any word that says so: one that is not understood, which nothing
    /// but an allowance of every command lets through.
    fn unread_denial(&self, allowing: &Rule) -> Option<&'a Rule> {
        let Effect::Exec { words, cwd, carrier: false, .. } = self.effect? else { return None };
        let broad = allowing.tier > Tier::Default && !allowing.names_command();
        if !broad || self.mode == ApprovalMode::Yolo {
            return None;
        }
        let understood =
            !matches!(commands::harm(words, cwd, &self.book.scope, self.ground.walled), Harm::Possible(_))
                || commands::names_its_reads(words, cwd, &self.book.scope);
        let denies = |rule: &&Rule| {
            rule.decision == Decision::Deny
                && matches!(rule.subject, Subject::Path { .. })
                && rule.concerns(SHELL, self.mode)
                && !self.is_held(rule)
        };
        self.book.rules.iter().find(denies).filter(|_| !understood)
    }

    /// True where the kernel keeps what a rule denies from every command: in every mode, at a place without wildcards or in a folder of the
    /// workspace that the rule names. In folders that others fill nobody looks, and how much lies elsewhere is not known.
    fn is_held(&self, rule: &Rule) -> bool {
        let Subject::Path { patterns, .. } = &rule.subject else { return false };
        let scope = &self.book.scope;
        let all: Vec<PathBuf> = patterns.iter().flat_map(|pattern| scope.absolute(pattern)).collect();
        let is_held = |pattern: &PathBuf| {
            let place = place_of(pattern);
            let goes_up = pattern.components().any(|part| part == Component::ParentDir);
            let is_named = |root: &PathBuf| place.starts_with(root) && place != *root;
            // A place that is named is denied with all that is in it.
            !goes_up && (all.contains(&place) || scope.roots.iter().any(is_named))
        };
        rule.bounds.modes.is_empty()
            && rule.concerns(SHELL, ApprovalMode::Yolo)
            && scope.enforced().editing
            && all.iter().all(is_held)
    }

    /// Asks the tiers from the highest down. A denial above the built-in tier holds in any case, and the
    /// workspace or the host can make an allowance a question.
    fn ruling(&self) -> Option<Ruling<'a>> {
        let mut doubt: Option<&Rule> = None;
        let mut hidden: Option<&Rule> = None;
        let mut decided: Vec<&Rule> = Vec::new();
        for rule in self.book.rules.iter().filter(|rule| !self.ground.unaided || !rule.aids()) {
            // What a flag allows, a rule of the user's may deny all the same.
            let denies_flag = |last: &&Rule| last.allowance.narrow && rule.decision == Decision::Deny;
            if decided.last().is_some_and(|last| last.tier == rule.tier && !denies_flag(last)) {
                continue;
            }
            match rule.matches(self.plan, self.effect, self.mode, &self.book.scope) {
                Match::Yes => decided.push(rule),
                Match::Maybe if rule.decision != Decision::Allow => doubt = doubt.or(Some(rule)),
                Match::Hidden if rule.decision != Decision::Allow => hidden = hidden.or(Some(rule)),
                _ => {}
            }
        }
        // Who allows a command by name has thought of what its script may do.
        let ruling = |rule: &'a Rule| {
            let doubt = doubt.or(hidden.filter(|_| !rule.names_command()));
            Ruling { decision: rule.decision, rule, doubt }
        };
        if let Some(rule) =
            decided.iter().find(|rule| rule.tier > Tier::Default && rule.decision == Decision::Deny)
        {
            return Some(ruling(rule));
        }
        let mut first = decided.iter().find(|rule| !rule.tier.only_tightens())?;
        // What plan mode refuses is allowed only by a rule that names plan mode.
        if self.mode == ApprovalMode::Plan
            && first.decision == Decision::Allow
            && first.bounds.modes.is_empty()
            && let Some(refusing) = decided.iter().find(|rule| rule.tier == Tier::Default)
            && refusing.decision == Decision::Deny
        {
            first = refusing;
        }
        let tightening = decided.iter().filter(|rule| rule.tier.only_tightens());
        match tightening.max_by_key(|rule| rule.decision) {
            Some(rule) if rule.decision > first.decision => Some(ruling(rule)),
            _ => Some(ruling(first)),
        }
    }

    /// Why an effect the built-in rules do not allow is let through nevertheless.
    fn harmless(&self, decision: Decision) -> Option<(String, Confinement)> {
        let reading = |why: &str| Some((why.to_owned(), Confinement::Reading));
        let editing = |why: &str| Some((why.to_owned(), Confinement::Editing));
        let scope = &self.book.scope;
        let edits = self.mode == ApprovalMode::AutoEdit;
        if decision == Decision::Deny {
            return match self.effect? {
                Effect::Write { path } if self.plan.tool != SHELL && scope.is_plan(path) => {
                    editing("writing plans in plan mode")
                }
                _ => None,
            };
        }
        match self.effect? {
            Effect::Exec { carrier: true, words, .. } if commands::trusted_name(words).is_some() => {
                reading("what it starts is judged by itself")
            }
            Effect::Env { name, .. } if harmless_variable(name, self.others) => {
                reading("a harmless variable")
            }
            Effect::Read { path } if self.plan.tool == SHELL && scope.readable(path) => {
                reading("reading in the workspace")
            }
            Effect::Write { path } if is_free(path) => reading("writing to nowhere"),
            Effect::Write { path }
                if self.plan.tool == SHELL && scope.contains(path) && self.may_redirect() =>
            {
                editing("writing in the workspace")
            }
            Effect::Exec { words, cwd, .. } => match commands::harm(words, cwd, scope, self.ground.walled) {
                Harm::None => reading("a command that only reads"),
                Harm::Edits if edits => editing("a command that edits the workspace"),
                _ => None,
            },
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
            case.ruling()
                .is_some_and(|ruling| ruling.decision == Decision::Allow && ruling.rule.allowance.redirection)
        };
        commands.clone().next().is_some() && commands.all(allowed)
    }

    /// Why the built-in rules do not simply allow an effect.
    fn why_asked(&self, effect: &Effect) -> Option<String> {
        let general = self.book.rules.iter().find(|rule| rule.tier == Tier::Default)?;
        let known = || match effect {
            Effect::Exec { words, cwd, .. } => {
                match commands::harm(words, cwd, &self.book.scope, self.ground.walled) {
                    Harm::Possible(reason) => Some(reason),
                    Harm::Edits => Some("it changes files".into()),
                    Harm::None => None,
                }
            }
            Effect::Unclear { reason, .. } => Some(reason.clone()),
            Effect::Unconfined => Some("the call wants to run outside the sandbox".to_owned()),
            _ => None,
        };
        let known = || {
            known().map(|reason| match always::caveat(effect) {
                Some(caveat) => format!("{reason}; {caveat}"),
                None => reason,
            })
        };
        guard(effect, general, &self.book.scope, self.view()).or_else(known)
    }

    fn view(&self) -> View {
        let unclear = |effect: &Effect| matches!(effect, Effect::Unclear { .. });
        let runs = |effect: &Effect| matches!(effect, Effect::Exec { .. });
        View {
            others: self.others,
            walled: self.ground.walled,
            git_held: self.ground.git_held,
            unclear: self.plan.effects.iter().any(unclear),
            unread: self.plan.tool == SHELL && !self.plan.effects.iter().any(runs),
        }
    }

    fn found(&self, settled: Settled) -> Finding {
        let Settled { decision, rule, reason, confinement } = settled;
        Finding {
            effect: self.effect.cloned(),
            what: self.effect.map_or_else(|| self.plan.title.clone(), what),
            decision,
            rule,
            reason,
            confinement,
            always: (decision == Decision::Ask)
                .then(|| always::rule(self.plan, self.effect, &self.book.scope))
                .flatten(),
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
        Effect::Unconfined => "run without confinement".to_owned(),
        Effect::Net { host } => format!("connect to {host}"),
        Effect::Mcp { server, tool } => format!("{tool} of {server}"),
    }
}

fn strictest(findings: &[Finding]) -> Verdict {
    if let Some(denied) = findings.iter().find(|finding| finding.decision == Decision::Deny) {
        let reason = format!("{}: {}", denied.what, denied.reason);
        return Verdict::Deny { rule: denied.rule.clone(), reason };
    }
    // One shell runs all of it: as far as the part that reaches furthest.
    let confinement =
        findings.iter().map(|finding| finding.confinement).max().unwrap_or(Confinement::Reading);
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
        return Verdict::Ask { rule: first.rule.clone(), missing, confinement };
    }
    let mut rules: Vec<&str> = Vec::new();
    for finding in findings {
        if !rules.contains(&finding.rule.as_str()) {
            rules.push(&finding.rule);
        }
    }
    Verdict::Allow { rule: rules.join(", "), confinement }
}
