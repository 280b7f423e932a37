//! Every line of the corpus gets the verdict that is written beside it.

use std::collections::BTreeMap;

use charla_core::policy::Decision;
use charla_proto::ApprovalMode;
use charla_tools::shell;
use serde::Deserialize;

use super::{place, user_rules};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Corpus {
    group: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    /// Rules beside those of `rules.toml`.
    #[serde(default)]
    rules: String,
    #[serde(default)]
    mode: ApprovalMode,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

#[test]
fn every_line_of_the_corpus_gets_its_verdict_and_nothing_forbidden_runs() {
    let corpus: Corpus = toml::from_str(include_str!("corpus.toml")).unwrap();
    let mut counts: BTreeMap<Decision, usize> = BTreeMap::new();
    let mut forbidden = Vec::new();
    let mut wrong = Vec::new();
    for group in &corpus.group {
        let book = user_rules(&format!("{}\n{}", include_str!("rules.toml"), group.rules));
        let expected =
            [(&group.allow, Decision::Allow), (&group.ask, Decision::Ask), (&group.deny, Decision::Deny)];
        for (lines, expected) in expected {
            for line in lines {
                *counts.entry(expected).or_default() += 1;
                let judgement = book.explain(&shell::plan(line, &place()), group.mode);
                let got = Decision::from(&judgement.verdict);
                let report = format!(
                    "[{}] {line:?}: expected {expected}, got {got}: {:?}",
                    group.name, judgement.verdict
                );
                if got < expected {
                    forbidden.push(report);
                } else if got != expected {
                    wrong.push(report);
                }
            }
        }
    }
    let total: usize = counts.values().sum();
    println!("{total} lines: {counts:?}; too lenient {}, too strict {}", forbidden.len(), wrong.len());
    let (lenient, strict) = (forbidden.join("\n"), wrong.join("\n"));
    assert!(forbidden.is_empty() && wrong.is_empty(), "too lenient:\n{lenient}\ntoo strict:\n{strict}");
    assert!(total >= 400);
}
