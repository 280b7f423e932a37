//! Rules from TOML.

use std::collections::BTreeMap;
use std::path::PathBuf;

use charla_proto::text::{nearest, one_line, shell_split};
use charla_proto::{ApprovalMode, Confinement};
use globset::Glob;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::RuleFile;
use super::matching::{SHELL, canonical_tool};
use super::patterns::{glob_set, normal};
use super::rules::{Allowance, Bounds, Decision, Rule, RuleSource, Subject};
use super::tests_of_rules::RuleTest;

const MAX_PRIORITY: u16 = 999;
const ONE_SUBJECT: &str = "of command, commandPrefix, commandRegex, path, env and host, a rule may have one";
/// What a rule can say, for whoever mistypes it.
const KEYS: [&str; 21] = [
    "allowRedirection",
    "argsPattern",
    "command",
    "commandPrefix",
    "commandRegex",
    "confinement",
    "cwd",
    "decision",
    "denyMessage",
    "env",
    "environment",
    "host",
    "mcpName",
    "modes",
    "path",
    "priority",
    "reason",
    "test",
    "tool",
    "toolName",
    "workspace",
];
/// The priority of a rule that names none.
pub(super) const DEFAULT_PRIORITY: u16 = 100;

/// Why rules could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct PolicyError {
    /// The file the mistake is in.
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

#[derive(Deserialize)]
struct FileText {
    #[serde(default, rename = "rule")]
    rules: Vec<RuleText>,
    /// Keys that mean nothing here.
    #[serde(flatten)]
    unknown: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleText {
    #[serde(alias = "toolName")]
    tool: Option<OneOrMany>,
    mcp_name: Option<String>,
    command: Option<OneOrMany>,
    command_prefix: Option<OneOrMany>,
    command_regex: Option<String>,
    args_pattern: Option<String>,
    path: Option<OneOrMany>,
    env: Option<OneOrMany>,
    host: Option<OneOrMany>,
    cwd: Option<String>,
    environment: Option<OneOrMany>,
    workspace: Option<PathBuf>,
    decision: DecisionText,
    priority: Option<u16>,
    #[serde(default)]
    modes: Vec<ModeText>,
    #[serde(alias = "denyMessage")]
    reason: Option<String>,
    #[serde(default)]
    allow_redirection: bool,
    confinement: Option<Confinement>,
    #[serde(default, rename = "test")]
    tests: Vec<TestText>,
    /// Keys that mean nothing here.
    #[serde(flatten)]
    unknown: BTreeMap<String, toml::Value>,
}

impl RuleText {
    /// How many things it is about.
    fn subjects(&self) -> usize {
        let commands = [self.command.is_some(), self.command_prefix.is_some(), self.command_regex.is_some()];
        let others = [self.path.is_some(), self.env.is_some(), self.host.is_some()];
        commands.into_iter().chain(others).filter(|given| *given).count()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestText {
    command: String,
    expect: DecisionText,
    mode: Option<ModeText>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionText {
    Allow,
    Deny,
    #[serde(alias = "ask")]
    AskUser,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeText {
    Plan,
    Default,
    #[serde(alias = "autoEdit")]
    AutoEdit,
    Yolo,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

impl From<DecisionText> for Decision {
    fn from(text: DecisionText) -> Decision {
        match text {
            DecisionText::Allow => Decision::Allow,
            DecisionText::Deny => Decision::Deny,
            DecisionText::AskUser => Decision::Ask,
        }
    }
}

impl From<ModeText> for ApprovalMode {
    fn from(text: ModeText) -> ApprovalMode {
        match text {
            ModeText::Plan => ApprovalMode::Plan,
            ModeText::Default => ApprovalMode::Default,
            ModeText::AutoEdit => ApprovalMode::AutoEdit,
            ModeText::Yolo => ApprovalMode::Yolo,
        }
    }
}

/// What a file says.
#[derive(Default)]
pub(super) struct Parsed {
    /// Its rules.
    pub(super) rules: Vec<Rule>,
    /// What of it counts for less than it says, and why.
    pub(super) notices: Vec<String>,
}

/// The rules of a file. Keys that mean nothing here, such as those of another version, are no reason to go without rules; but no
/// rule says more than it would with them.
pub(super) fn parse(file: &RuleFile) -> Result<Parsed, PolicyError> {
    let failed = |message: String| PolicyError { file: file.name.clone(), message };
    let text: FileText = toml::from_str(&file.text).map_err(|error| failed(error.to_string()))?;
    let mut parsed = Parsed::default();
    for (key, value) in &text.unknown {
        let key = one_line(key);
        if value.is_table() || value.is_array() {
            return Err(failed(format!("unknown key `{key}`: rules are tables named [[rule]]")));
        }
        parsed.notices.push(format!("{}: `{key}` means nothing here", file.name));
    }
    for (index, text) in text.rules.into_iter().enumerate() {
        let number = index + 1;
        let wrong = |message: String| failed(format!("rule {number}: {message}"));
        let unknown = text.unknown.keys().map(|key| unknown_key(key)).collect::<Vec<_>>().join(", ");
        // Which of its commands such a rule means is not known: it allows none of them.
        if text.subjects() > 1 && matches!(text.decision, DecisionText::Allow) {
            parsed.notices.push(format!("{}: rule {number}: {ONE_SUBJECT}: it is left out", file.name));
            continue;
        }
        let mut rule = rule(file, number, text).map_err(wrong)?;
        if unknown.is_empty() {
            parsed.rules.push(rule);
            continue;
        }
        // What is not understood could be what bounds the rule, or what puts it before another.
        let instead = match rule.decision {
            Decision::Allow => "it is left out",
            Decision::Deny => "it denies before all others, whatever that bounds",
            Decision::Ask => {
                return Err(wrong(format!("unknown key {unknown}; without it the rule could allow more")));
            }
        };
        parsed.notices.push(format!("{}: unknown key {unknown}: {instead}", rule.name()));
        if rule.decision == Decision::Deny {
            rule.priority = MAX_PRIORITY;
            parsed.rules.push(rule);
        }
    }
    Ok(parsed)
}

/// A key that means nothing here, and the one that was meant.
fn unknown_key(key: &str) -> String {
    let meant = nearest(key, KEYS).map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
    format!("`{}`{meant}", one_line(key))
}

fn rule(file: &RuleFile, index: usize, text: RuleText) -> Result<Rule, String> {
    let priority = text.priority.unwrap_or(DEFAULT_PRIORITY);
    if priority > MAX_PRIORITY {
        return Err(format!("priority {priority} is out of range; it goes from 0 to {MAX_PRIORITY}"));
    }
    if text.subjects() > 1 {
        return Err(ONE_SUBJECT.into());
    }
    let commands = (text.command, text.command_prefix, text.command_regex);
    let decision = Decision::from(text.decision);
    let paths = text.path.map(|paths| normal(&paths.into_vec(), decision != Decision::Allow)).transpose()?;
    let subject = subject(commands, paths, text.env, text.host)?;
    let names_command = matches!(subject, Subject::Command(_) | Subject::Prefix(_) | Subject::Pattern { .. });
    if text.cwd.is_some() && !names_command {
        return Err("cwd goes with command, commandPrefix or commandRegex".into());
    }
    let environment = text.environment.map(|given| given_variables(given.into_vec())).transpose()?;
    if environment.is_some() && !(matches!(subject, Subject::Command(_)) && decision == Decision::Allow) {
        return Err("environment goes with command, in a rule that allows".into());
    }
    if text.workspace.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err("workspace is the absolute path of a folder".into());
    }
    let tools: Vec<String> = match (text.tool, &subject) {
        (Some(tools), _) => tools.into_vec().iter().map(|tool| canonical_tool(tool)).collect(),
        (None, Subject::Command(_) | Subject::Prefix(_) | Subject::Pattern { .. } | Subject::Env { .. }) => {
            vec![SHELL.to_owned()]
        }
        (None, Subject::Host(_)) => vec!["web_fetch".to_owned()],
        (None, _) if text.mcp_name.is_some() || decision != Decision::Allow => vec!["*".to_owned()],
        (None, _) => return Err("it names no tool; add tool = \"…\" (\"*\" for every tool)".into()),
    };
    let tests = text.tests.into_iter().map(|test| RuleTest {
        command: test.command,
        expect: test.expect.into(),
        mode: test.mode.map_or(ApprovalMode::Default, ApprovalMode::from),
    });
    Ok(Rule {
        tier: file.tier,
        source: RuleSource { file: file.name.clone(), index },
        decision,
        priority,
        reason: text.reason,
        tests: tests.collect(),
        tools,
        server: text.mcp_name,
        subject,
        args: text.args_pattern.as_deref().map(regex).transpose()?,
        bounds: Bounds {
            modes: text.modes.into_iter().map(ApprovalMode::from).collect(),
            workspace: text.workspace,
            cwd: text.cwd,
            environment,
        },
        allowance: Allowance {
            redirection: text.allow_redirection,
            confinement: text.confinement,
            narrow: false,
        },
    })
}

type Commands = (Option<OneOrMany>, Option<OneOrMany>, Option<String>);

fn subject(
    (command, prefix, pattern): Commands,
    path: Option<Vec<String>>,
    env: Option<OneOrMany>,
    host: Option<OneOrMany>,
) -> Result<Subject, String> {
    if let Some(commands) = command {
        return Ok(Subject::Command(word_lists(commands)?));
    }
    if let Some(commands) = prefix {
        return Ok(Subject::Prefix(word_lists(commands)?));
    }
    if let Some(pattern) = pattern {
        return Ok(Subject::Pattern { whole: regex(&format!("^(?:{pattern})$"))?, part: regex(&pattern)? });
    }
    if let Some(patterns) = path {
        return Ok(Subject::Path { globs: glob_set(&patterns)?, patterns });
    }
    if let Some(hosts) = host {
        return Ok(Subject::Host(hosts.into_vec().into_iter().map(|host| host.to_lowercase()).collect()));
    }
    match env {
        Some(names) => variables(names.into_vec()),
        None => Ok(Subject::Anything),
    }
}

/// `NAME`, with `*`, or `NAME=value`.
fn variables(patterns: Vec<String>) -> Result<Subject, String> {
    let one = |pattern: &String| {
        let (name, value) = pattern
            .split_once('=')
            .map_or((pattern.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        let glob = Glob::new(name).map_err(|error| error.to_string())?;
        Ok((glob.compile_matcher(), value))
    };
    let names = patterns.iter().map(one).collect::<Result<Vec<_>, String>>()?;
    Ok(Subject::Env { names, patterns })
}

/// `NAME=value`, without wildcards.
fn given_variables(texts: Vec<String>) -> Result<Vec<(String, String)>, String> {
    let pair = |text: String| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("environment: `{text}` is not NAME=value")),
    };
    texts.into_iter().map(pair).collect()
}

fn word_lists(commands: OneOrMany) -> Result<Vec<Vec<String>>, String> {
    let list = |command: String| match shell_split(&command) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(format!("`{command}` is not a list of words")),
    };
    commands.into_vec().into_iter().map(list).collect()
}

fn regex(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|error| error.to_string())
}
