//! Two agents with different rules in one process: one may look, the other may also edit.
//!
//! `GEMINI_API_KEY=… cargo run -p charla --example two_policies -- "Fix the typo in README.md"`
#![allow(clippy::print_stdout, reason = "an example prints")]

use charla::settings::Override;
use charla::{ApprovalMode, Charla, Environment, Failure, Notice, OpenRequest, OpenedSession, Outcome};
use serde_json::json;

/// A session in which this much is allowed without asking.
async fn agent(charla: &Charla, mode: ApprovalMode) -> Result<OpenedSession, Failure> {
    let overrides =
        vec![Override { key: &["tools", "approvalMode"], value: json!(mode), source: "the program" }];
    let mut notices: Vec<Notice> = Vec::new();
    charla.open(OpenRequest { overrides, ..OpenRequest::default() }, &mut notices).await
}

/// Asks both at once. What the rules of either do not allow is refused: nobody is there to agree.
pub async fn ask_both(environment: Environment, prompt: &str) -> Result<(String, String), Failure> {
    let charla = Charla::new(environment);
    let reader = agent(&charla, ApprovalMode::Plan).await?;
    let editor = agent(&charla, ApprovalMode::AutoEdit).await?;
    let refuse =
        async |_: &charla::Confirmation| Outcome::Cancel { reason: Some("nobody agrees".to_owned()) };
    let answers = tokio::join!(reader.ask(prompt, refuse), editor.ask(prompt, refuse));
    tokio::join!(reader.close(), editor.close());
    Ok((answers.0?, answers.1?))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Fix the typo in README.md".to_owned());
    let folder = std::env::current_dir().map_err(|error| Failure::system(error.to_string()))?;
    let environment = Environment::of(std::env::vars_os()).in_workspace(folder);
    let (reader, editor) = ask_both(environment, &prompt).await?;
    println!("The reader: {reader}\nThe editor: {editor}");
    Ok(())
}
