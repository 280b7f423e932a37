//! `charla policy`: what the rules say, before anything runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use charla_core::policy::{
    Decision, Judgement, PolicyError, Rule, RuleBook, RuleFile, Scope, Tier, allowed_tools,
};
use charla_proto::{ApprovalMode, Effect, Verdict};
use charla_tools::shell::{self, ShellContext};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

/// Arguments of `charla policy`.
#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
    /// A file of rules beside the ones that are always read; may be given more than once
    #[arg(long = "policy", value_name = "FILE", global = true)]
    policies: Vec<PathBuf>,
    /// Tools that run without asking, such as `run_shell_command(git status)`
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', global = true)]
    allowed_tools: Vec<String>,
}

#[derive(Subcommand, Debug)]
enum PolicyCommand {
    /// Show how a command line is read, which rule judges each part, and the verdict
    Explain {
        /// The command line, in quotes
        command: String,
        /// The approval mode
        #[arg(long, value_enum, default_value = "default")]
        mode: Mode,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Run the tests that rules carry
    Test {
        /// Files to test beside the ones that are always read
        files: Vec<PathBuf>,
    },
    /// List the rules in the order they are asked
    List,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Mode {
    Plan,
    Default,
    AutoEdit,
    Yolo,
}

impl From<Mode> for ApprovalMode {
    fn from(mode: Mode) -> ApprovalMode {
        match mode {
            Mode::Plan => ApprovalMode::Plan,
            Mode::Default => ApprovalMode::Default,
            Mode::AutoEdit => ApprovalMode::AutoEdit,
            Mode::Yolo => ApprovalMode::Yolo,
        }
    }
}

/// The folders `charla policy` looks at.
#[derive(Clone, Debug)]
pub struct PolicyPlace {
    /// The workspace.
    pub directory: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Charla's own folder (`~/.charla` or `$CHARLA_HOME`).
    pub charla_home: Option<PathBuf>,
    /// The administrator's folder (`/etc/charla`).
    pub admin: PathBuf,
}

impl PolicyPlace {
    /// The folders of a run.
    pub fn of(environment: &crate::environment::Environment) -> Self {
        Self {
            directory: environment.directory.clone(),
            home: environment.home.clone(),
            charla_home: environment.charla_home(),
            admin: PathBuf::from("/etc/charla"),
        }
    }
}

/// What is to be printed, and what the process exits with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For standard output.
    pub text: String,
    /// For standard error.
    pub notices: Vec<String>,
    /// The exit code.
    pub code: u8,
}

/// Runs `charla policy`. An error means that a rule file cannot be used.
pub fn run(args: &PolicyArgs, place: &PolicyPlace) -> Result<Report, PolicyError> {
    let tested: &[PathBuf] = match &args.command {
        PolicyCommand::Test { files } => files,
        _ => &[],
    };
    let extra: Vec<&Path> = args.policies.iter().chain(tested).map(PathBuf::as_path).collect();
    let book = rule_book(place, &extra)?.with(allowed_tools(args.allowed_tools.iter().map(String::as_str))?);
    let mut report = Report { notices: book.notices().to_vec(), ..Report::default() };
    let shell_place = ShellContext { cwd: place.directory.clone(), home: place.home.clone() };
    match &args.command {
        PolicyCommand::Explain { command, mode, json } => {
            let mut plan = shell::plan(command, &shell_place);
            shell::look_at_disk(&mut plan.effects, std::slice::from_ref(&place.directory));
            let judgement = book.explain(&plan, (*mode).into());
            report.text = if *json { explain_json(&judgement) } else { explain_text(&judgement) };
        }
        PolicyCommand::Test { .. } => {
            let (count, failures) = book.run_tests(&|command| shell::plan(command, &shell_place));
            for failure in &failures {
                let test = &failure.test;
                let _ = writeln!(
                    report.text,
                    "FAILED {}: `{}` in mode {}: expected {}, got {} (by {})",
                    failure.rule,
                    test.command,
                    mode_name(test.mode),
                    test.expect,
                    failure.got,
                    failure.decided_by
                );
            }
            let _ = writeln!(report.text, "{count} tests, {} failed", failures.len());
            report.code = u8::from(!failures.is_empty());
        }
        PolicyCommand::List => book.rules().iter().for_each(|rule| list_rule(rule, &mut report.text)),
    }
    Ok(report)
}

/// The rules of the administrator, the user and the workspace, and the files named beside them, which speak
/// for the user.
pub fn rule_book(place: &PolicyPlace, extra: &[&Path]) -> Result<RuleBook, PolicyError> {
    rule_book_with(place, std::slice::from_ref(&place.directory), extra)
}

/// The same for a workspace of several folders.
pub fn rule_book_with(
    place: &PolicyPlace,
    roots: &[PathBuf],
    extra: &[&Path],
) -> Result<RuleBook, PolicyError> {
    let mut files = folder(&place.admin.join("policies"), Tier::Admin)?;
    if let Some(home) = &place.charla_home {
        files.extend(folder(&home.join("policies"), Tier::User)?);
    }
    let workspace = place.directory.join(".charla");
    if place.charla_home.as_ref() != Some(&workspace) {
        files.extend(folder(&workspace.join("policies"), Tier::Workspace)?);
    }
    for path in extra {
        files.push(file(path, Tier::User)?);
    }
    let scope = Scope {
        roots: roots.to_vec(),
        home: place.home.clone(),
        plans: Some(place.directory.join(".charla/plans")),
    };
    RuleBook::new(scope, &files)
}

/// The rule files in a folder, by name. A folder that is not there has none; one that cannot be read is an
/// error, because it may hold a denial.
fn folder(path: &Path, tier: Tier) -> Result<Vec<RuleFile>, PolicyError> {
    let failed =
        |error: std::io::Error| PolicyError { file: path.display().to_string(), message: error.to_string() };
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A folder above it is a file.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory && !path.exists() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| file(path, tier)).collect()
}

fn file(path: &Path, tier: Tier) -> Result<RuleFile, PolicyError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(RuleFile { tier, name, text }),
        Err(error) => Err(PolicyError { file: name, message: error.to_string() }),
    }
}

fn explain_text(judgement: &Judgement) -> String {
    let mut text = String::new();
    for finding in &judgement.findings {
        let kind = finding.effect.as_ref().map_or("call", kind);
        let _ = writeln!(text, "{:<6} {kind:<8} {}", finding.decision.to_string(), finding.what);
        let _ = writeln!(text, "       by {}", finding.rule);
        if finding.reason != finding.rule {
            let _ = writeln!(text, "       {}", finding.reason);
        }
    }
    let _ = writeln!(text);
    match &judgement.verdict {
        Verdict::Allow { rule } => {
            let _ = writeln!(text, "verdict: allow ({rule})");
        }
        Verdict::Deny { rule, reason } => {
            let _ = writeln!(text, "verdict: deny ({rule})\n{reason}");
        }
        Verdict::Ask { rule, missing } => {
            let _ = writeln!(text, "verdict: ask ({rule})\nmissing:");
            for part in missing {
                let _ = writeln!(text, "  {}: {}", part.what, part.reason);
            }
            let rules: Vec<&str> = missing.iter().filter_map(|part| part.always.as_deref()).collect();
            if rules.len() == missing.len() {
                let _ = writeln!(text, "to always allow it:\n\n{}", rules.join("\n"));
            } else {
                let _ = writeln!(text, "no rule can always allow this");
            }
        }
    }
    text
}

fn kind(effect: &Effect) -> &'static str {
    match effect {
        Effect::Read { .. } => "read",
        Effect::Write { .. } => "write",
        Effect::Exec { carrier: true, .. } => "starts",
        Effect::Exec { .. } => "run",
        Effect::Env { .. } => "set",
        Effect::Unclear { .. } => "unclear",
        Effect::Net { .. } => "connect",
        Effect::Mcp { .. } => "mcp",
    }
}

fn explain_json(judgement: &Judgement) -> String {
    let findings: Vec<_> = judgement
        .findings
        .iter()
        .map(|finding| {
            json!({
                "effect": finding.effect,
                "what": finding.what,
                "decision": finding.decision.to_string(),
                "rule": finding.rule,
                "reason": finding.reason,
                "always": finding.always,
            })
        })
        .collect();
    let mut text = format!("{:#}", json!({ "findings": findings, "verdict": judgement.verdict }));
    text.push('\n');
    text
}

fn list_rule(rule: &Rule, text: &mut String) {
    let modes: Vec<&str> = rule.modes().iter().map(|mode| mode_name(*mode)).collect();
    let modes = if modes.is_empty() { String::new() } else { format!(" in {}", modes.join(", ")) };
    let decision = match rule.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let _ = writeln!(text, "{decision:<5} {:>3}  {}{modes}  [{}]", rule.priority, rule.about(), rule.name());
}

fn mode_name(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Plan => "plan",
        ApprovalMode::Default => "default",
        ApprovalMode::AutoEdit => "auto_edit",
        ApprovalMode::Yolo => "yolo",
    }
}
