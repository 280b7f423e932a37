//! The cases of `tests/edits/cases.jsonl`, each through the tool on a real file.

use charla_proto::{ToolErrorKind, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Bench, run, words};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    file: Content,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
    /// What the file holds when the call runs, where that is not what it held when it was prepared.
    changed: Option<Content>,
    how: Option<String>,
    expect: Option<Content>,
    error: Option<ToolErrorKind>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Hex { hex: String },
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Text(text) => text.clone().into_bytes(),
            Content::Hex { hex } => hex
                .as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect(),
        }
    }
}

fn cases() -> Vec<Case> {
    include_str!("../edits/cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is wrong, if anything.
async fn problem(bench: &Bench, case: &Case) -> Option<String> {
    bench.write("file", case.file.bytes());
    let mut args = json!({"file_path": "file", "old_string": case.old, "new_string": case.new});
    if case.all {
        args["allow_multiple"] = Value::Bool(true);
    }
    let prepared = bench.prepare("replace", args).await;
    if let Some(changed) = &case.changed {
        bench.write("file", changed.bytes());
    }
    let before = bench.bytes("file");
    let output = match prepared {
        Ok(call) => run(call).await,
        Err(error) => ToolOutput::failed(error),
    };
    let after = bench.bytes("file");
    let shown = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    match (&case.error, &output.error) {
        (Some(wanted), Some(error)) if *wanted == error.kind => {
            (after != before).then(|| format!("refused, yet the file is {}", shown(&after)))
        }
        (Some(wanted), got) => {
            Some(format!("expected the error {wanted}, got {got:?} and {}", shown(&after)))
        }
        (None, Some(error)) => Some(format!("failed: {error:?}")),
        (None, None) => {
            let expected = case.expect.as_ref().unwrap().bytes();
            if after != expected {
                return Some(format!("expected {}, got {}", shown(&expected), shown(&after)));
            }
            let text = words(&output);
            let how = match text {
                _ if text.contains("other blanks") => "lines",
                _ if text.contains("not there exactly") => "near",
                _ => "exact",
            };
            let wanted = case.how.as_deref().unwrap_or(how);
            (how != wanted).then(|| format!("expected to be found by {wanted}, was by {how}"))
        }
    }
}

#[tokio::test]
async fn every_case_gives_the_expected_bytes_or_the_expected_refusal() {
    let cases = cases();
    assert!(cases.len() >= 300, "{} cases", cases.len());
    let bench = Bench::new();
    let mut problems = Vec::new();
    for case in &cases {
        if let Some(problem) = problem(&bench, case).await {
            problems.push(format!("{}: {problem}", case.name));
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cases.len(), problems.join("\n"));
}
