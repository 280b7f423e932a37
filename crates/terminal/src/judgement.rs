//! What the rules say to a call, in words.

use std::fmt::Write as _;

use charla_core::policy::{Judgement, Rule};
use charla_proto::{Effect, Verdict};

/// Rules, a line each: what they decide, how weighty they are, what they are about, in which modes, and their names.
pub fn listed(rules: &[Rule]) -> String {
    let mut text = String::new();
    for rule in rules {
        let modes: Vec<String> = rule.modes().iter().map(ToString::to_string).collect();
        let modes = if modes.is_empty() { String::new() } else { format!(" in {}", modes.join(", ")) };
        let (decision, about) = (rule.decision.to_string(), rule.about());
        let _ = writeln!(text, "{decision:<5} {:>3}  {about}{modes}  [{}]", rule.priority, rule.name());
    }
    text
}

/// What the rules say to a call, part by part, and what that comes to.
pub fn told(judgement: &Judgement) -> String {
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
        Verdict::Allow { rule, confinement } => {
            let _ = writeln!(text, "verdict: allow ({rule})\nconfinement: {confinement}");
        }
        Verdict::Deny { rule, reason } => {
            let _ = writeln!(text, "verdict: deny ({rule})\n{reason}");
        }
        Verdict::Ask { rule, missing, confinement } => {
            let _ = writeln!(text, "verdict: ask ({rule})\nconfinement: {confinement}\nmissing:");
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
        Effect::Unconfined => "unconfined",
        Effect::Net { .. } => "connect",
        Effect::Mcp { .. } => "mcp",
    }
}
