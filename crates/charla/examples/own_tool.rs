//! A program with a tool of its own. Every call is asked about; what nobody agrees to does not run.
//!
//! `GEMINI_API_KEY=… cargo run -p charla --example own_tool -- "How many lamps are in stock?"`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use charla::{Charla, Environment, Notice, OpenRequest};
use charla_core::session::Follower;
use charla_proto::tool::{Args, Invocation, Tool};
use charla_proto::{
    BoxFuture, CallAsked, FunctionDeclaration, Outcome, Part, Plan, RunContext, ToolContext, ToolError,
    ToolOutput, TurnEvent,
};

/// Knows how many of a thing are in stock.
struct Stock(Arc<FunctionDeclaration>);

impl Tool for Stock {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.0
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let plan = Plan {
            tool: self.0.name.clone(),
            title: "Count the stock".to_owned(),
            args,
            effects: Vec::new(),
            preview: Default::default(),
            lane: Default::default(),
        };
        Box::pin(async { Ok(Box::new(Count(plan)) as Box<dyn Invocation>) })
    }
}

struct Count(Plan);

impl Invocation for Count {
    fn plan(&self) -> &Plan {
        &self.0
    }

    fn run(self: Box<Self>, _: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async { ToolOutput { content: vec![Part::text("17")], ..ToolOutput::default() } })
    }
}

/// Asks the model and decides about each call with `approve`; without a yes the answer is no.
pub async fn ask(
    environment: Environment,
    prompt: &str,
    approve: impl AsyncFn(&CallAsked) -> bool,
) -> Result<String, Box<dyn Error>> {
    let declaration = FunctionDeclaration { name: "count_stock".to_owned(), ..Default::default() };
    let request = OpenRequest {
        tools: vec![Arc::new(Stock(Arc::new(declaration)))],
        somebody_to_ask: true,
        ..OpenRequest::default()
    };
    let mut notices: Vec<Notice> = Vec::new();
    let session = Charla::new(environment).open(request, &mut notices).await?;
    let mut events = Follower::new(session.handle.subscribe());
    session.prompt(prompt).await;
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        match event {
            TurnEvent::Content(text) => answer.push_str(&text),
            TurnEvent::StepEnded { .. } => answer.clear(),
            TurnEvent::ToolCallConfirmation(asked) => {
                let outcome = match approve(&asked).await {
                    true => Outcome::ProceedOnce,
                    false => Outcome::Cancel { reason: Some("it was not approved".to_owned()) },
                };
                session.handle.answer(&asked.approval, outcome, "program").await;
            }
            TurnEvent::Finished { .. } => break,
            TurnEvent::Error(error) => return Err(error.into()),
            _ => {}
        }
    }
    session.close().await;
    Ok(answer)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "How many lamps are in stock?".to_owned());
    let mut environment = Environment::of(std::env::vars_os());
    environment.directory = std::env::current_dir()?;
    environment.home = std::env::home_dir();
    environment.temporary = std::env::temp_dir();
    let answer = ask(environment, &prompt, async |asked| asked.confirmation.tool == "count_stock").await?;
    println!("{answer}");
    Ok(())
}
