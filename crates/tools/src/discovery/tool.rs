//! One discovered tool.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Effect, FunctionDeclaration, Invocation, Lane, Part, Plan, Preview, RunContext,
    ToolContext, ToolError, ToolOutput,
};
use serde_json::Value;

use super::{DiscoverySettings, OUTPUT_BYTES};
use crate::arguments::fault;
use crate::process::clean::clean;
use crate::process::{Capture, Captured, OUTPUT_LIMIT, Processes, capture};

/// What the names of discovered tools begin with, so that none can take a built-in tool's place.
pub const DISCOVERED_PREFIX: &str = "discovered_tool_";

/// A tool that the call command runs.
#[derive(Debug)]
pub struct DiscoveredTool {
    declaration: Arc<FunctionDeclaration>,
    /// As its program knows it.
    name: String,
    call: Vec<OsString>,
    call_command: String,
    cwd: PathBuf,
    time: Duration,
    processes: Processes,
}

impl DiscoveredTool {
    pub(super) fn new(
        declaration: FunctionDeclaration,
        call: Vec<OsString>,
        settings: &DiscoverySettings,
        processes: Processes,
    ) -> Self {
        let name = declaration.name.clone();
        let description = format!(
            "{}\n\nThis tool was declared by the project's discovery command. Calling it runs `{} {name}` with \
             the arguments as JSON on its input; what it prints to stdout is the result, and anything on stderr \
             or an exit code other than 0 is a failure.",
            declaration.description, settings.call_command
        );
        let name_here = format!("{DISCOVERED_PREFIX}{name}");
        Self {
            declaration: Arc::new(FunctionDeclaration { name: name_here, description, ..declaration }),
            name,
            call,
            call_command: settings.call_command.clone(),
            cwd: settings.cwd.clone(),
            time: settings.call_time,
            processes,
        }
    }

    /// Its name, as its program knows it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Tool for DiscoveredTool {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.declaration
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let command = format!("{} {}", self.call_command, self.name);
        let input = Value::Object(args).to_string();
        let plan = Plan {
            tool: self.declaration.name.clone(),
            title: format!("{command} {}", super::brief(&Value::String(input.clone()))),
            effects: vec![Effect::Exec { command: command.clone(), cwd: self.cwd.clone() }],
            preview: Preview::Text { text: format!("Runs `{command}` with this on its input:\n{input}") },
            lane: Lane::Exclusive,
        };
        let mut words = self.call.iter().cloned();
        let ask = Capture {
            program: words.next().unwrap_or_default(),
            arguments: words.chain([OsString::from(&self.name)]).collect(),
            cwd: self.cwd.clone(),
            input: input.into_bytes(),
            time: self.time,
            bytes: OUTPUT_BYTES,
        };
        let call = DiscoveredCall { plan, ask, processes: self.processes.clone() };
        Box::pin(async move { Ok(Box::new(call) as Box<dyn Invocation>) })
    }
}

struct DiscoveredCall {
    plan: Plan,
    ask: Capture,
    processes: Processes,
}

impl Invocation for DiscoveredCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let answer = tokio::select! {
                answer = capture(&self.processes, self.ask) => {
                    answer.map_err(|error| fault("discovered_tool_error", format!("The tool failed: {error}.")))
                }
                () = cx.cancelled => Err(fault("cancelled", "Cancelled by the user. The tool was ended.")),
            };
            match answer.and_then(judge) {
                Ok(text) => ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() },
                Err(error) => ToolOutput { error: Some(error), ..ToolOutput::default() },
            }
        })
    }
}

/// What it printed, or, when anything says that it failed, all there is to know.
fn judge(answer: Captured) -> Result<String, ToolError> {
    let stdout = capped(clean(&answer.stdout));
    if answer.status.success() && answer.stderr.is_empty() {
        return Ok(stdout);
    }
    let or = |text: String, empty: &str| if text.is_empty() { empty.to_owned() } else { text };
    let number = |number: Option<i32>| number.map_or("(none)".to_owned(), |number| number.to_string());
    let message = format!(
        "Stdout: {}\nStderr: {}\nExit Code: {}\nSignal: {}",
        or(stdout, "(empty)"),
        or(capped(clean(&answer.stderr)), "(empty)"),
        number(answer.status.code()),
        number(answer.status.signal()),
    );
    Err(fault("discovered_tool_error", message))
}

fn capped(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(OUTPUT_LIMIT) else { return text };
    let shown = text.get(..end).unwrap_or_default();
    format!("{shown}\n[… {} more characters are left out …]", text.chars().count() - OUTPUT_LIMIT)
}
