//! `charla doctor` in words and as JSON.

use charla::doctor::{Checkup, Finding};
use serde_json::{Value, json};

use crate::wording;

/// A line for each thing that was looked at, with what to do below it.
pub fn in_words(checkup: &Checkup) -> String {
    let mut text = String::new();
    for finding in &checkup.findings {
        text.push_str(&format!("{:<5}  {:<10}  {}\n", finding.health.name(), finding.about, finding.text));
        for line in advice(finding).iter().flat_map(|hint| hint.lines()) {
            text.push_str(&format!("{:19}{line}\n", ""));
        }
    }
    text.push_str(&checkup.sandbox.to_string());
    text
}

/// The same for programs.
pub fn to_json(checkup: &Checkup) -> Value {
    let row = |finding: &Finding| {
        json!({
            "about": finding.about, "health": finding.health, "text": finding.text, "hint": advice(finding),
        })
    };
    let findings: Vec<Value> = checkup.findings.iter().map(row).collect();
    json!({ "wrong": checkup.wrong(), "findings": findings, "sandbox": checkup.sandbox })
}

fn advice(finding: &Finding) -> Option<String> {
    finding.hint.as_ref().and_then(wording::hint)
}
