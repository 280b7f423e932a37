//! A tool from a function.

use std::future::Future;
use std::sync::Arc;

use charla_proto::tool::{Args, Tool};
use charla_proto::{
    BoxFuture, FunctionDeclaration, Invocation, Lane, Part, Plan, Prepared, Preview, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use charla_schema::Schema;
use serde_json::Value;

type Run = Arc<dyn Fn(Args) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// How many problems of one call are reported at once.
const MOST_PROBLEMS: usize = 5;

/// A tool made from an async function. Every call of it is asked about, unless a rule allows it; one whose arguments do not
/// fit the schema never reaches the function.
pub struct FunctionTool {
    declaration: Arc<FunctionDeclaration>,
    schema: Schema,
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
        let schema = Schema::lenient(parameters.clone());
        let declaration = FunctionDeclaration {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters_json_schema: parameters,
            ..FunctionDeclaration::default()
        };
        Self { declaration: Arc::new(declaration), schema, run: Arc::new(move |args| Box::pin(run(args))) }
    }

    /// What is wrong with the arguments, if anything is.
    fn problem(&self, args: &Value) -> Option<ToolError> {
        let problems = self.schema.problems(args, MOST_PROBLEMS);
        let words: Vec<String> = problems
            .iter()
            .map(|problem| match problem.place.as_str() {
                "" => problem.to_string(),
                place => format!("`{place}` {problem}"),
            })
            .collect();
        let message = format!("Invalid arguments for {}: {}.", self.declaration.name, words.join("; "));
        (!words.is_empty()).then(|| ToolError::new(ToolErrorKind::InvalidArgs, message))
    }

    fn call(&self, args: Args) -> Result<Box<dyn Invocation>, ToolError> {
        let args = Value::Object(args);
        if let Some(problem) = self.problem(&args) {
            return Err(problem);
        }
        let plan = Plan {
            tool: self.declaration.name.clone(),
            title: format!("{} {args}", self.declaration.name),
            args: match args {
                Value::Object(args) => args,
                _ => Args::new(),
            },
            effects: Vec::new(),
            preview: Preview::None,
            lane: Lane::Exclusive,
        };
        let (run, args) = (self.run.clone(), plan.args.clone());
        Ok(Prepared::boxed(plan, |cx| call(run, args, cx)))
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
        Box::pin(std::future::ready(self.call(args)))
    }
}

async fn call(run: Run, args: Args, cx: RunContext) -> ToolOutput {
    let failed =
        |kind, message| ToolOutput { error: Some(ToolError::new(kind, message)), ..ToolOutput::default() };
    tokio::select! {
        () = cx.cancelled => failed(ToolErrorKind::Cancelled, "Cancelled.".to_owned()),
        done = run(args) => match done {
            Ok(text) => ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() },
            Err(message) => failed(ToolErrorKind::Other, message),
        },
    }
}
