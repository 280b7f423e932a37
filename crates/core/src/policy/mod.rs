//! The policy: rules, tiers and modes that decide whether a call runs, asks or is refused.
//!
//! [`RuleBook`] judges a [`Plan`] effect by effect and takes the strictest verdict. For each effect, the rules
//! are asked in the order of their tier and priority; a denial from any tier of the user's, the workspace's or
//! the administrator's rules holds against every allowance. Then two layers that no file can switch off: what
//! the default rules would ask about is let through when it is known to be harmless (`commands`), and what
//! they would let through is asked about when it is delicate (`guards`).
//!
//! Everything here is pure. Rule texts and the folders they speak of are handed in.

mod allowed_tools;
mod always;
mod commands;
mod consent;
mod defaults;
mod environment;
mod files;
mod granted;
mod guards;
mod judge;
mod links;
mod matching;
mod neighbours;
mod only_git;
mod parse;
mod paths;
mod patterns;
mod protected;
mod restricted;
mod rules;
#[cfg(test)]
mod tests;
mod tests_of_rules;
mod trusted_servers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_proto::{ApprovalMode, Confinement, Consent, Effect, Plan, Policy, Verdict, Withheld};
use serde::Serialize;

use rules::Subject;

pub use allowed_tools::allowed_tools;
pub use granted::grant_in_words;
pub use links::Link;
pub use parse::PolicyError;
pub use rules::{Decision, Rule, RuleSource, Tier};
pub use tests_of_rules::{RuleTest, TestFailure};
pub use trusted_servers::trusted_servers;

/// A text with rules, where it comes from and how much it may say.
#[derive(Clone, Debug)]
pub struct RuleFile {
    /// How much it may say.
    pub tier: Tier,
    /// The name people know it by.
    pub name: String,
    /// Its rules, as TOML.
    pub text: String,
}

impl RuleFile {
    /// Says whether its rules can be read.
    pub fn check(&self) -> Result<(), PolicyError> {
        parse::parse(self).map(drop)
    }
}

/// The folders rules and modes speak of.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The folders that make up the workspace.
    pub roots: Vec<PathBuf>,
    /// The user's home, for `~` in rules.
    pub home: Option<PathBuf>,
    /// Where plan mode may write its plans.
    pub plans: Option<PathBuf>,
    /// Folders beyond the workspace that may be read without being asked about.
    pub readable: Vec<PathBuf>,
    /// Folders and files with a second name.
    pub links: Vec<Link>,
    /// What the kernel offers here.
    pub wall: Wall,
    /// Says what it was seen to enforce of that. Asked when a command is judged, as trying it takes a moment; what it offers
    /// counts without.
    pub proof: Option<fn() -> Wall>,
}

impl Scope {
    /// What the kernel enforces.
    pub(crate) fn enforced(&self) -> Wall {
        let seen = if self.wall.reading { self.proof.map(|proof| proof()) } else { None };
        let seen = seen.unwrap_or(Wall::WHOLE);
        Wall { reading: self.wall.reading && seen.reading, editing: self.wall.editing && seen.editing }
    }
}

/// Which confinement the kernel really enforces. What does not hold lets no command run unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wall {
    /// [`Confinement::Reading`] holds.
    pub reading: bool,
    /// [`Confinement::Editing`] holds.
    pub editing: bool,
}

impl Wall {
    /// Both hold.
    pub const WHOLE: Wall = Wall { reading: true, editing: true };

    pub(crate) fn holds(self, confinement: Confinement) -> bool {
        match confinement {
            Confinement::Reading => self.reading,
            Confinement::Editing => self.editing,
            Confinement::Asked | Confinement::Open => true,
        }
    }
}

/// All the rules that hold for a session.
#[derive(Clone, Debug)]
pub struct RuleBook {
    pub(crate) scope: Scope,
    /// In the order they are asked: highest tier first, then priority, then strictness.
    /// Shared, so that the same rules with another scope are no second copy of them.
    pub(crate) rules: Arc<Vec<Rule>>,
    /// Nothing beyond the workspace can be reached, whoever allows it.
    pub(crate) bounded: bool,
    /// By whose rules they are about.
    notices: Vec<(Tier, String)>,
}

/// A verdict with the findings it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// One for each effect, in the plan's order.
    pub findings: Vec<Finding>,
    /// The strictest of them.
    pub verdict: Verdict,
}

/// What was found about one effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The effect; absent for a call that touches nothing.
    pub effect: Option<Effect>,
    /// The effect in words.
    pub what: String,
    /// What is to be done about it.
    pub decision: Decision,
    /// The rule that says so.
    pub rule: String,
    /// Why it says so, in words for a person.
    pub reason: String,
    /// How far it lets processes reach, once it is allowed.
    pub confinement: Confinement,
    /// The rule, as TOML, that would allow it from now on.
    pub always: Option<String>,
}

impl RuleBook {
    /// Reads rule files on top of the built-in rules. Fails on the first text that is not valid: a rule that
    /// is not understood must not be passed over.
    pub fn new(scope: Scope, files: &[RuleFile]) -> Result<RuleBook, PolicyError> {
        let mut rules = defaults::rules();
        let mut notices = Vec::new();
        for file in files {
            let parsed = parse::parse(file)?;
            notices.extend(parsed.notices.into_iter().map(|notice| (file.tier, notice)));
            for rule in parsed.rules {
                match rule.refused() {
                    Some(notice) => notices.push((file.tier, format!("{}: {notice}", rule.name()))),
                    None => rules.push(rule),
                }
            }
        }
        let mut book = RuleBook { scope, rules: Arc::new(rules), bounded: false, notices };
        book.sort();
        Ok(book)
    }

    /// Adds rules, such as those of [`allowed_tools`].
    pub fn with(mut self, rules: impl IntoIterator<Item = Rule>) -> RuleBook {
        Arc::make_mut(&mut self.rules).extend(rules);
        self.sort();
        self
    }

    /// The same rules where these folders may be read, too, without being asked about.
    pub fn reading(mut self, folders: Vec<PathBuf>) -> RuleBook {
        self.scope.readable.extend(folders);
        self
    }

    /// What rules that ask or deny name without a wildcard: where that is a link, it has a second name.
    pub fn restricted_places(&self) -> Vec<PathBuf> {
        let strict = self.rules.iter().filter(|rule| rule.decision != Decision::Allow);
        let patterns = strict.filter_map(|rule| match &rule.subject {
            Subject::Path { patterns, .. } => Some(patterns),
            _ => None,
        });
        let absolute = patterns.flatten().flat_map(|pattern| self.scope.absolute(pattern));
        absolute.map(|pattern| patterns::place_of(&pattern)).collect()
    }

    /// Where something is that rules deny to commands in every mode: what they name up to the first wildcard.
    pub fn denied_places(&self) -> Vec<PathBuf> {
        files::denied_places(self)
    }

    /// The same rules, with more that the user should know about those of a tier.
    pub fn noting(mut self, tier: Tier, notices: Vec<String>) -> RuleBook {
        self.notices.extend(notices.into_iter().map(|notice| (tier, notice)));
        self
    }

    /// The same rules where these have a second name, too.
    pub fn knowing(mut self, links: impl IntoIterator<Item = Link>) -> RuleBook {
        self.scope.links.extend(links);
        self
    }

    /// The same rules for a guest: nothing beyond the workspace can be reached, whoever allows it.
    pub fn within_workspace(self) -> RuleBook {
        RuleBook { bounded: true, ..self }
    }

    fn sort(&mut self) {
        Arc::make_mut(&mut self.rules).sort_by_key(|rule| {
            (
                std::cmp::Reverse(rule.tier),
                std::cmp::Reverse(rule.priority),
                std::cmp::Reverse(rule.decision),
                rule.source.clone(),
            )
        });
    }

    /// The rules, in the order they are asked.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the user should know about the rule files: rules that have no effect, and why.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.notices.iter().map(|(_, notice)| notice.as_str())
    }

    /// The same about the files of one tier.
    pub fn notices_of(&self, tier: Tier) -> impl Iterator<Item = &str> {
        self.notices.iter().filter(move |(of, _)| *of == tier).map(|(_, notice)| notice.as_str())
    }

    /// Whether a model should be told of a tool: true when some call of it could run. `somebody_to_ask` is
    /// false where every question is answered with no.
    pub fn offers(&self, tool: &str, mode: ApprovalMode, somebody_to_ask: bool) -> bool {
        let writes_plans = mode == ApprovalMode::Plan
            && self.scope.plans.is_some()
            && matches!(tool, "write_file" | "replace");
        let reads_in_shell = self.scope.wall.reading
            && tool == matching::SHELL
            && matches!(mode, ApprovalMode::Default | ApprovalMode::AutoEdit);
        for rule in self.rules.iter().filter(|rule| rule.concerns(tool, mode)) {
            match rule.decision {
                Decision::Allow => return true,
                Decision::Ask if somebody_to_ask => return true,
                _ if !rule.is_general() => {}
                _ => return rule.tier == Tier::Default && (writes_plans || reads_in_shell),
            }
        }
        false
    }

    /// True for what runs or instructs later: a command that edits unasked does not write it.
    pub fn protects(&self, path: &Path) -> bool {
        self.scope.protected(path).is_some()
    }

    /// Judges a plan and says how the verdict came about.
    pub fn explain(&self, plan: &Plan, mode: ApprovalMode) -> Judgement {
        judge::explain(self, plan, mode)
    }
}

impl Policy for RuleBook {
    fn judge(&self, plan: &Plan, mode: ApprovalMode) -> Verdict {
        self.explain(plan, mode).verdict
    }

    fn only_git_reads(&self, plan: &Plan) -> bool {
        only_git::only_git_reads(plan, &self.scope)
    }

    fn consent(&self, plan: &Plan, mode: ApprovalMode) -> Consent {
        consent::consent(self, plan, mode)
    }

    fn withheld(&self, tool: &str, path: &Path, mode: ApprovalMode) -> Option<Withheld> {
        files::withheld(self, tool, path, mode)
    }

    fn with_rules(&self, rules: &str) -> Result<Arc<dyn Policy>, String> {
        let name = "allowed in this session".to_owned();
        let file = RuleFile { tier: Tier::User, name, text: rules.to_owned() };
        let rules = parse::parse(&file).map_err(|error| error.to_string())?;
        Ok(Arc::new(self.clone().with(rules.rules)))
    }
}
