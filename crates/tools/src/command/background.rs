//! Looking at background processes.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{Part, Prepared, RunContext, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use super::{LONGEST_DELAY_MS, report};
use crate::args::invalid;
use crate::invocation::read_plan;
use crate::process::{Job, Processes};
use crate::typed::{PreparedCall, TypedTool};

/// How many lines are shown by default.
const LINES: usize = 100;
/// How many lines may be asked for; the characters shown have their own limit.
const MOST_LINES: usize = 10_000;

/// `list_background_processes`: what runs, or ran, in the background of this session.
pub struct ListBackgroundProcesses {
    processes: Processes,
}

/// What `list_background_processes` takes: nothing.
#[derive(Deserialize, JsonSchema)]
pub struct ListBackgroundProcessesArgs {}

impl ListBackgroundProcesses {
    /// Of these processes.
    pub fn new(processes: Processes) -> Self {
        Self { processes }
    }
}

impl TypedTool for ListBackgroundProcesses {
    type Args = ListBackgroundProcessesArgs;
    const NAME: &'static str = "list_background_processes";
    const SCHEMA: &'static str = include_str!("../schemas/list_background_processes.json");
    const DESCRIPTION: &'static str =
        "Lists the background processes of this session with their process ids and how they stand.";

    async fn prepare(&self, _: ListBackgroundProcessesArgs, _: &ToolContext) -> PreparedCall {
        let plan = read_plan(Self::NAME, "List background processes".to_owned(), Vec::new());
        let processes = self.processes.clone();
        let list = move || ToolOutput {
            content: vec![Part::text(list(&processes.list()))],
            ..ToolOutput::default()
        };
        Ok(Prepared::boxed(plan, move |_| async move { list() }))
    }
}

/// `read_background_output`: what a background process has written.
pub struct ReadBackgroundOutput {
    processes: Processes,
}

/// What `read_background_output` takes.
#[derive(Deserialize, JsonSchema)]
pub struct ReadBackgroundOutputArgs {
    /// The process id.
    pid: i32,
    /// How many lines, from the end; 100 unless told.
    #[schemars(range(min = 1, max = MOST_LINES))]
    lines: Option<usize>,
    /// How long to wait before looking; none unless told.
    #[schemars(range(max = LONGEST_DELAY_MS))]
    delay_ms: Option<u64>,
}

impl ReadBackgroundOutput {
    /// Of these processes.
    pub fn new(processes: Processes) -> Self {
        Self { processes }
    }
}

impl TypedTool for ReadBackgroundOutput {
    type Args = ReadBackgroundOutputArgs;
    const NAME: &'static str = "read_background_output";
    const SCHEMA: &'static str = include_str!("../schemas/read_background_output.json");
    const DESCRIPTION: &'static str =
        "Shows the last lines a background process of this session has written, and how it stands.";

    async fn prepare(&self, args: ReadBackgroundOutputArgs, _: &ToolContext) -> PreparedCall {
        let lines = args.lines.unwrap_or(LINES);
        if lines == 0 || lines > MOST_LINES {
            return Err(invalid(format_args!("`lines` must be from 1 to {MOST_LINES}")));
        }
        let delay = args.delay_ms.unwrap_or(0);
        if delay > LONGEST_DELAY_MS {
            return Err(invalid(format_args!("`delay_ms` may be at most {LONGEST_DELAY_MS}")));
        }
        let job = self.processes.find(args.pid).ok_or_else(|| {
            let message = format!(
                "No background process of this session has the id {}. list_background_processes shows them.",
                args.pid
            );
            ToolError::new(ToolErrorKind::NotFound, message)
        })?;
        // Reading what commands wrote that were approved before touches nothing.
        let plan = read_plan(Self::NAME, format!("Read the output of process {}", args.pid), Vec::new());
        let delay = Duration::from_millis(delay);
        Ok(Prepared::boxed(plan, move |cx| read(job, lines, delay, cx)))
    }
}

async fn read(job: Arc<Job>, lines: usize, delay: Duration, cx: RunContext) -> ToolOutput {
    tokio::select! {
        () = sleep(delay) => {}
        () = cx.cancelled => {
            return ToolOutput::failed(ToolError::new(ToolErrorKind::Cancelled, "Cancelled by the user."));
        }
    }
    let output = job.last_lines(lines);
    let output = if output.is_empty() { "(nothing)" } else { &output };
    let cleared = job.progress().ending.as_ref().map(report::cleared).unwrap_or_default();
    let text = format!("State: {}\nOutput: {output}{cleared}", state(&job));
    ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() }
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
