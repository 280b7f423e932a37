//! A tool from a function.

use std::future::Future;
use std::sync::Arc;

use charla_proto::tool::{Args, Tool};
use charla_proto::{
    BoxFuture, FunctionDeclaration, Invocation, Lane, Part, Plan, Preview, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use serde_json::Value;

type Run = Arc<dyn Fn(Args) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// A tool made from an async function. Every call of it is asked about, unless a rule allows it.
pub struct FunctionTool {
    declaration: Arc<FunctionDeclaration>,
    run: Run,
}

impl FunctionTool {
    /// A tool of this name. `parameters` is the JSON Schema of its arguments; an error of `run` is told to the
    /// model.
    pub fn new<F>(
        name: &str,
        description: &str,
        parameters: Value,
        run: impl Fn(Args) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        let declaration = FunctionDeclaration {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters_json_schema: parameters,
            ..FunctionDeclaration::default()
        };
        Self { declaration: Arc::new(declaration), run: Arc::new(move |args| Box::pin(run(args))) }
    }
}

impl Tool for FunctionTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let values = serde_json::to_string(&args).unwrap_or_default();
        let plan = Plan {
            tool: self.declaration.name.clone(),
            title: format!("{} {values}", self.declaration.name),
            args,
            effects: Vec::new(),
            preview: Preview::None,
            lane: Lane::Exclusive,
        };
        let call = FunctionCall { plan, run: self.run.clone() };
        Box::pin(std::future::ready(Ok(Box::new(call) as Box<dyn Invocation>)))
    }
}

struct FunctionCall {
    plan: Plan,
    run: Run,
}

impl Invocation for FunctionCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let failed = |kind, message| ToolOutput {
                error: Some(ToolError::new(kind, message)),
                ..ToolOutput::default()
            };
            tokio::select! {
                () = cx.cancelled => failed(ToolErrorKind::Cancelled, "Cancelled.".to_owned()),
                done = (self.run)(self.plan.args.clone()) => match done {
                    Ok(text) => ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() },
                    Err(message) => failed(ToolErrorKind::Other, message),
                },
            }
        })
    }
}
