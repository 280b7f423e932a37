//! `charla policy`: what the rules say, before anything runs.

use std::fmt::Write as _;
use std::path::PathBuf;

use charla::session::{RulePlaces, rule_book};
use charla::{Charla, Failure};
use charla_core::policy::{Decision, Judgement, PolicyError, Rule, allowed_tools};
use charla_proto::{ApprovalMode, Effect, Verdict};
use charla_tools::shell::{self, ShellContext};
use serde_json::json;

use crate::args::{PolicyArgs, PolicyCommand};
use crate::printer::Printer;

/// What the rules say.
#[derive(Default)]
struct Report {
    /// For standard output.
    text: String,
    /// For standard error.
    notices: Vec<String>,
    /// Tests of rules that failed.
    failed: usize,
}

/// Runs `charla policy`.
pub fn run(args: &PolicyArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let report = report(args, &RulePlaces::of(charla.environment()))
        .map_err(|error| Failure::config(error.to_string()).with_hint("docs/policy.md describes rules"))?;
    report.notices.iter().for_each(|notice| printer.warning(notice));
    printer.result(&report.text)?;
    match report.failed {
        0 => Ok(()),
        _ => Err(Failure::system("a rule's own test failed")),
    }
}

/// An error means that a rule file cannot be used.
fn report(args: &PolicyArgs, places: &RulePlaces) -> Result<Report, PolicyError> {
    let tested: &[PathBuf] = match &args.command {
        PolicyCommand::Test { files } => files,
        _ => &[],
    };
    let roots = std::slice::from_ref(&places.directory);
    let extra: Vec<PathBuf> = args.policies.iter().chain(tested).cloned().collect();
    let allowed = allowed_tools(args.allowed_tools.iter().map(String::as_str))?;
    let book = rule_book(places, roots, &extra)?.with(allowed);
    let mut report = Report { notices: book.notices().to_vec(), ..Report::default() };
    let shell_place = ShellContext { cwd: places.directory.clone(), home: places.home.clone() };
    match &args.command {
        PolicyCommand::Explain { command, mode, json } => {
            let mut plan = shell::plan(command, &shell_place);
            shell::look_at_disk(&mut plan.effects, roots);
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
            report.failed = failures.len();
        }
        PolicyCommand::List => book.rules().iter().for_each(|rule| list_rule(rule, &mut report.text)),
    }
    Ok(report)
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
