//! What the rules say to a call, in words.

use std::fmt::Write as _;

use charla_core::policy::{Judgement, Rule};
use charla_proto::text::{one_line, visible};
use charla_proto::{Effect, Verdict};

/// Rules, a line each: what they decide, how weighty they are, what they are about, in which modes, and their names.
pub fn listed(rules: &[Rule]) -> String {
    let mut text = String::new();
    for rule in rules {
        let modes: Vec<String> = rule.modes().iter().map(ToString::to_string).collect();
        let modes = if modes.is_empty() { String::new() } else { format!(" in {}", modes.join(", ")) };
        let (decision, about, name) =
            (rule.decision.to_string(), one_line(&rule.about()), one_line(&rule.name()));
        let _ = writeln!(text, "{decision:<5} {:>3}  {about}{modes}  [{name}]", rule.priority);
    }
    text
}

/// What the rules say to a call, part by part, and what that comes to. A line of a command stays on one line, and what moves the
/// cursor is shown by its number, wherever it is written to.
pub fn told(judgement: &Judgement) -> String {
    let mut text = String::new();
    for finding in &judgement.findings {
        let kind = finding.effect.as_ref().map_or("call", kind);
        let _ = writeln!(text, "{:<6} {kind:<8} {}", finding.decision.to_string(), one_line(&finding.what));
        let _ = writeln!(text, "       by {}", one_line(&finding.rule));
        if finding.reason != finding.rule {
            let _ = writeln!(text, "       {}", one_line(&finding.reason));
        }
    }
    let _ = writeln!(text);
    match &judgement.verdict {
        Verdict::Allow { rule, confinement } => {
            let _ = writeln!(text, "verdict: allow ({})\nconfinement: {confinement}", one_line(rule));
        }
        Verdict::Deny { rule, reason } => {
            let _ = writeln!(text, "verdict: deny ({})\n{}", one_line(rule), one_line(reason));
        }
        Verdict::Ask { rule, missing, confinement } => {
            let _ = writeln!(text, "verdict: ask ({})\nconfinement: {confinement}\nmissing:", one_line(rule));
            for part in missing {
                let _ = writeln!(text, "  {}: {}", one_line(&part.what), one_line(&part.reason));
            }
            let rules: Option<Vec<&str>> = missing.iter().map(|part| part.always.as_deref()).collect();
            if let Some(mut rules) = rules {
                // A command and its variables have one rule together.
                rules.dedup();
                let _ = writeln!(text, "to always allow it:\n\n{}", visible(&rules.join("\n")));
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
        Effect::Unconfined => "unconfined",
        Effect::Net { .. } => "connect",
        Effect::Mcp { .. } => "mcp",
    }
}
