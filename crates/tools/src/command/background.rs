//! Looking at background processes.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, FunctionDeclaration, Invocation, Lane, Part, Plan, Preview, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use super::{LONGEST_DELAY_MS, report};
use crate::args::{Schema, invalid};
use crate::process::{Job, Processes};

/// How many lines are shown unless told.
const LINES: usize = 100;
/// How many lines may be asked for; the characters shown have their own limit.
const MOST_LINES: usize = 10_000;

/// `list_background_processes`: what runs, or ran, in the background of this session.
pub struct ListBackgroundProcesses {
    schema: Schema,
    processes: Processes,
}

impl ListBackgroundProcesses {
    /// Of these processes.
    pub fn new(processes: Processes) -> Self {
        let description =
            "Lists the background processes of this session with their process ids and how they stand.";
        Self { schema: Schema::new("list_background_processes", description, json!({}), &[]), processes }
    }
}

impl Tool for ListBackgroundProcesses {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            self.schema.check(args)?;
            let plan = plan(&self.schema.declaration().name, "List background processes".to_owned());
            let look = Look { plan, processes: self.processes.clone(), at: None, delay: Duration::ZERO };
            Ok(Box::new(look) as Box<dyn Invocation>)
        })
    }
}

/// `read_background_output`: what a background process has written.
pub struct ReadBackgroundOutput {
    schema: Schema,
    processes: Processes,
}

#[derive(Deserialize)]
struct Wanted {
    pid: i32,
    lines: Option<usize>,
    delay_ms: Option<u64>,
}

impl ReadBackgroundOutput {
    /// Of these processes.
    pub fn new(processes: Processes) -> Self {
        let description =
            "Shows the last lines a background process of this session has written, and how it stands.";
        let properties = json!({
            "pid": { "type": "integer", "description": "The process id." },
            "lines": {
                "type": "integer", "minimum": 1, "maximum": MOST_LINES,
                "description": "How many lines, from the end; 100 unless told."
            },
            "delay_ms": {
                "type": "integer", "minimum": 0, "maximum": LONGEST_DELAY_MS,
                "description": "How long to wait before looking; none unless told."
            }
        });
        Self { schema: Schema::new("read_background_output", description, properties, &["pid"]), processes }
    }

    fn check(&self, args: Args) -> Result<Look, ToolError> {
        let wanted: Wanted = self.schema.read(args)?;
        let lines = wanted.lines.unwrap_or(LINES);
        if lines == 0 || lines > MOST_LINES {
            return Err(invalid(format_args!("`lines` must be from 1 to {MOST_LINES}")));
        }
        let delay = wanted.delay_ms.unwrap_or(0);
        if delay > LONGEST_DELAY_MS {
            return Err(invalid(format_args!("`delay_ms` may be at most {LONGEST_DELAY_MS}")));
        }
        let job = self.processes.find(wanted.pid).ok_or_else(|| {
            ToolError::new(
                ToolErrorKind::NotFound,
                format!(
                    "No background process of this session has the id {}. list_background_processes shows them.",
                    wanted.pid
                ),
            )
        })?;
        let plan =
            plan(&self.schema.declaration().name, format!("Read the output of process {}", wanted.pid));
        let delay = Duration::from_millis(delay);
        Ok(Look { plan, processes: self.processes.clone(), at: Some((job, lines)), delay })
    }
}

impl Tool for ReadBackgroundOutput {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        _cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move { self.check(args).map(|look| Box::new(look) as Box<dyn Invocation>) })
    }
}

fn plan(tool: &str, title: String) -> Plan {
    // Reading what commands wrote that were approved before touches nothing.
    Plan {
        tool: tool.to_owned(),
        args: charla_proto::Args::new(),
        title,
        effects: Vec::new(),
        preview: Preview::None,
        lane: Lane::Shared,
    }
}

/// A look at the background: one process, or all.
struct Look {
    plan: Plan,
    processes: Processes,
    at: Option<(Arc<Job>, usize)>,
    delay: Duration,
}

impl Invocation for Look {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            tokio::select! {
                () = sleep(self.delay) => {}
                () = cx.cancelled => {
                    let error = ToolError::new(ToolErrorKind::Cancelled, "Cancelled by the user.");
                    return ToolOutput::failed(error);
                }
            }
            let text = match &self.at {
                Some((job, lines)) => {
                    let output = job.last_lines(*lines);
                    let output = if output.is_empty() { "(nothing)" } else { &output };
                    format!("State: {}\nOutput: {output}", state(job))
                }
                None => list(&self.processes.list()),
            };
            ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() }
        })
    }
}

fn list(jobs: &[Arc<Job>]) -> String {
    if jobs.is_empty() {
        return "There are no background processes.".to_owned();
    }
    let line = |job: &Arc<Job>| format!("- [PID {}] {}: {}", job.id, state(job), job.label);
    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn state(job: &Job) -> String {
    let progress = job.progress();
    report::state(progress.ending.as_ref(), progress.over)
}
