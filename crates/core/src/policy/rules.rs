//! One rule, in memory.

use std::fmt;
use std::path::PathBuf;

use charla_proto::{ApprovalMode, Confinement};
use globset::{GlobMatcher, GlobSet};
use regex::Regex;
use serde::Serialize;

use super::tests_of_rules::RuleTest;

/// Whose rule it is; a later one outranks an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Built into the program.
    Default,
    /// From the folder that is worked on; may only tighten.
    Workspace,
    /// The user's own, and what a flag says.
    User,
    /// The machine's administrator's.
    Admin,
    /// Of whoever lets the user in as a guest; may only tighten.
    Host,
}

impl Tier {
    /// Rules of this tier ask and deny, and allow nothing.
    pub(crate) fn only_tightens(self) -> bool {
        matches!(self, Tier::Workspace | Tier::Host)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tier::Default => "default",
            Tier::Workspace => "workspace",
            Tier::User => "user",
            Tier::Admin => "admin",
            Tier::Host => "host",
        })
    }
}

/// What a rule says; a later one is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Run it.
    Allow,
    /// Ask a person.
    Ask,
    /// Do not run it.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleSource {
    /// The file's name, as messages give it.
    pub file: String,
    /// Its place in the file, from 1.
    pub index: usize,
}

/// One rule of a book.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Whose rule it is: decides which rule outranks which.
    pub tier: Tier,
    /// Where it was written.
    pub source: RuleSource,
    /// What becomes of a call it matches.
    pub decision: Decision,
    /// Asked earlier the higher it is, within its tier; 0 to 999.
    pub priority: u16,
    /// What a person or the model is told.
    pub reason: Option<String>,
    /// The tests that its author wrote beside it.
    pub tests: Vec<RuleTest>,
    pub(crate) tools: Vec<String>,
    pub(crate) server: Option<String>,
    pub(crate) subject: Subject,
    pub(crate) args: Option<Regex>,
    pub(crate) bounds: Bounds,
    pub(crate) allowance: Allowance,
}

/// Where a rule holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// The modes; all of them when empty.
    pub(crate) modes: Vec<ApprovalMode>,
    /// The workspace; every one when absent.
    pub(crate) workspace: Option<PathBuf>,
    /// The folder a command runs in, from the workspace; any when absent.
    pub(crate) cwd: Option<String>,
    /// The variables the line sets that may change what its command does, with their values; whatever they are when absent.
    pub(crate) environment: Option<Vec<(String, String)>>,
}

/// What an allowance includes beyond the effect itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    /// Redirects into the workspace.
    pub(crate) redirection: bool,
    /// How far processes reach, when the rule says so.
    pub(crate) confinement: Option<Confinement>,
    /// True when only the plain forms of a command are meant, not every option it has.
    pub(crate) narrow: bool,
}

/// Which effects of a call a rule is about.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// Every effect.
    Anything,
    /// Commands whose words are exactly one of these.
    Command(Vec<Vec<String>>),
    /// Commands that start with the words of one of these.
    Prefix(Vec<Vec<String>>),
    /// Commands whose text matches.
    Pattern { whole: Regex, part: Regex },
    /// Paths that one of these globs matches.
    Path { globs: GlobSet, patterns: Vec<String> },
    /// Variables whose name one of these globs matches, and whose value is the one beside it, if there is one.
    Env { names: Vec<(GlobMatcher, Option<String>)>, patterns: Vec<String> },
    /// Hosts; `*` stands for any text.
    Host(Vec<String>),
}

impl Rule {
    /// The rule's name: tier, file and place.
    pub fn name(&self) -> String {
        format!("{} {}#{}", self.tier, self.source.file, self.source.index)
    }

    /// What the rule is about, in one line.
    pub fn about(&self) -> String {
        let list = |commands: &[Vec<String>]| {
            commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" | ")
        };
        let subject = match &self.subject {
            Subject::Anything => String::new(),
            Subject::Command(commands) => format!(" command {}", list(commands)),
            Subject::Prefix(commands) => format!(" commandPrefix {}", list(commands)),
            Subject::Pattern { part, .. } => format!(" commandRegex {part}"),
            Subject::Path { patterns, .. } => format!(" path {}", patterns.join(" | ")),
            Subject::Env { patterns, .. } => format!(" env {}", patterns.join(" | ")),
            Subject::Host(hosts) => format!(" host {}", hosts.join(" | ")),
        };
        let cwd = self.bounds.cwd.as_ref().map(|cwd| format!(" cwd {cwd}")).unwrap_or_default();
        let given = self.bounds.environment.iter().flatten();
        let given: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
        let given =
            if given.is_empty() { String::new() } else { format!(" environment {}", given.join(" ")) };
        let workspace = self.bounds.workspace.as_ref();
        let workspace = workspace.map(|path| format!(" workspace {}", path.display())).unwrap_or_default();
        let server = self.server.as_ref().map(|server| format!(" mcpName {server}")).unwrap_or_default();
        let args = self.args.as_ref().map(|args| format!(" argsPattern {args}")).unwrap_or_default();
        format!("{}{server}{subject}{args}{cwd}{given}{workspace}", self.tools.join(" | "))
    }

    /// The modes it holds in; empty for all of them.
    pub fn modes(&self) -> &[ApprovalMode] {
        &self.bounds.modes
    }

    /// Why the rule has no effect, when it has none.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        if self.decision != Decision::Allow {
            return None;
        }
        match self.tier {
            Tier::Workspace => {
                return Some("ignored: the rules of a workspace may ask or deny, never allow");
            }
            Tier::Host => return Some("ignored: rules for guests may ask or deny, never allow"),
            Tier::Default | Tier::User | Tier::Admin => {}
        }
        if self.args.is_some() && self.tools.iter().any(|tool| tool == super::matching::SHELL) {
            return Some(
                "ignored: argsPattern sees only the text of a command, so it cannot allow one; use commandPrefix",
            );
        }
        None
    }

    /// True for an allowance that says neither all words of a command nor how far it reaches, and for what a flag asks about.
    pub(crate) fn aids(&self) -> bool {
        let says = matches!(self.subject, Subject::Command(_)) || self.allowance.confinement.is_some();
        let allows = self.decision == Decision::Allow && self.tier > Tier::Default && !says;
        allows || self.allowance.narrow
    }

    pub(crate) fn names_command(&self) -> bool {
        matches!(self.subject, Subject::Command(_) | Subject::Prefix(_) | Subject::Pattern { .. })
    }
}
