//! A program with a tool of its own. Every call is asked about; what nobody agrees to does not run.
//!
//! `GEMINI_API_KEY=… cargo run -p charla --example own_tool -- "How many lamps are in stock?"`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use charla::{Charla, Environment, Failure, FunctionTool, Notice, OpenRequest, Outcome};
use serde_json::json;

/// Asks the model. Its one tool of our own may run; everything else is refused.
pub async fn ask(environment: Environment, prompt: &str) -> Result<String, Failure> {
    let parameters =
        json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
    let stock = FunctionTool::new("count_stock", "Counts an item in stock.", parameters, async |args| {
        match args.get("item").and_then(|item| item.as_str()) {
            Some("lamp" | "lamps") => Ok("17".to_owned()),
            _ => Err("there is no such item".to_owned()),
        }
    });
    let request = OpenRequest { tools: vec![Arc::new(stock)], ..OpenRequest::default() };
    let mut notices: Vec<Notice> = Vec::new();
    let session = Charla::new(environment).open(request, &mut notices).await?;
    let answer = session
        .ask(prompt, async |asked| match asked.tool.as_str() {
            "count_stock" => Outcome::ProceedOnce,
            other => Outcome::Cancel { reason: Some(format!("{other} is not allowed here")) },
        })
        .await;
    session.close().await;
    answer
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "How many lamps are in stock?".to_owned());
    let folder = std::env::current_dir().map_err(|error| Failure::system(error.to_string()))?;
    let environment = Environment::of(std::env::vars_os()).in_workspace(folder);
    println!("{}", ask(environment, &prompt).await?);
    Ok(())
}
