//! `run_shell_command` and its background.

mod background;
mod report;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charla_proto::tool::Tool;
use charla_proto::{
    Args, BoxFuture, Effect, FunctionDeclaration, Invocation, Lane, Part, Plan, Preview, RunContext,
    ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

pub use background::{ListBackgroundProcesses, ReadBackgroundOutput};

use crate::args::{Schema, invalid};
use crate::process::clean::Cleaner;
use crate::process::{Ending, Foreground, Job, Launch, Processes};
use crate::shell::{self, Place};

/// The tool's name.
pub const RUN_SHELL_COMMAND: &str = "run_shell_command";

/// The least time between two pieces of live output.
const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How long a background command is watched before the call comes back.
const BACKGROUND_DELAY_MS: u64 = 200;
/// The longest wait a call may ask for.
const LONGEST_DELAY_MS: u64 = 600_000;
/// The longest single argument Linux hands to a program, its end included.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;
/// How many lines of a background command's first output are shown.
const FIRST_LINES: usize = 100;

const DESCRIPTION: &str = "Runs a command line with `bash -c` and returns what it wrote to stdout and stderr, \
in the order it came. There is no terminal and nothing to read: a command that asks gets the end of input, so \
use flags that answer in advance. A command that writes nothing for five minutes is ended. For a server or a \
watcher set `is_background` instead of writing `&`: the call then returns soon with the process id, \
`read_background_output` shows what it writes, and `kill` ends it. \
The result holds Output, and where they say something Error, Exit Code, Signal, Background PIDs and \
Process Group PGID.";

/// Runs command lines.
pub struct RunShellCommand {
    schema: Schema,
    processes: Processes,
    shell: PathBuf,
}

#[derive(Deserialize)]
struct Wanted {
    command: String,
    description: Option<String>,
    dir_path: Option<PathBuf>,
    #[serde(default)]
    is_background: bool,
    delay_ms: Option<u64>,
}

impl RunShellCommand {
    /// Runs them as these processes, with `bash` where the environment's `PATH` has one, else `sh`.
    pub fn new(processes: Processes) -> Self {
        let shell = find_shell(processes.settings().environment.get("PATH"));
        let properties = json!({
            "command": { "type": "string", "description": "The command line, exactly as bash would get it." },
            "description": {
                "type": "string",
                "description": "What it does and why, in one short sentence for the person who is asked."
            },
            "dir_path": {
                "type": "string",
                "description": "The folder to run it in: absolute, or from the working folder, which is also the default."
            },
            "is_background": {
                "type": "boolean",
                "description": "Leave it running and return soon. It ends with the session."
            },
            "delay_ms": {
                "type": "integer",
                "minimum": 0,
                "maximum": LONGEST_DELAY_MS,
                "description": "In the background: how long to watch its first output before returning; 200 unless told."
            }
        });
        let schema = Schema::new(RUN_SHELL_COMMAND, DESCRIPTION, properties, &["command"]);
        Self { schema, processes, shell }
    }

    async fn check(&self, args: Args, cx: &ToolContext) -> Result<ShellCall, ToolError> {
        let wanted: Wanted = self.schema.read(args)?;
        if wanted.command.trim().is_empty() {
            return Err(invalid("`command` is empty"));
        }
        if wanted.command.contains('\0') {
            return Err(invalid("`command` holds a NUL character, which no program can be given"));
        }
        if wanted.command.len() > LONGEST_COMMAND {
            return Err(invalid(format_args!(
                "`command` is {} bytes long and a program can be given {LONGEST_COMMAND}; write a script into \
                 a file and run that",
                wanted.command.len()
            )));
        }
        let delay = wanted.delay_ms.unwrap_or(BACKGROUND_DELAY_MS);
        if delay > LONGEST_DELAY_MS {
            return Err(invalid(format_args!("`delay_ms` may be at most {LONGEST_DELAY_MS}")));
        }
        let cwd = folder(wanted.dir_path.as_deref(), cx).await?;
        let title = match wanted.description.as_deref().map(str::trim) {
            Some(words) if !words.is_empty() => format!("{} ({words})", wanted.command),
            _ => wanted.command.clone(),
        };
        let plan = Plan {
            tool: RUN_SHELL_COMMAND.to_owned(),
            args: charla_proto::Args::new(),
            title,
            effects: effects(&wanted.command, &cwd, cx),
            preview: Preview::Command { command: wanted.command.clone(), cwd: cwd.clone() },
            lane: Lane::Exclusive,
        };
        let launch = Launch {
            program: self.shell.clone(),
            arguments: vec!["-c".to_owned(), wanted.command.clone()],
            cwd,
            label: wanted.command,
            silence: (!wanted.is_background).then_some(self.processes.settings().silence),
        };
        let background = wanted.is_background.then(|| Duration::from_millis(delay));
        Ok(ShellCall { plan, launch, background, processes: self.processes.clone() })
    }
}

/// Everything a command line would do, as far as it can be told from its text and the disk.
fn effects(command: &str, cwd: &Path, cx: &ToolContext) -> Vec<Effect> {
    let place = Place { cwd: cwd.to_owned(), home: cx.home.clone() };
    let mut effects = shell::effects(command, &place);
    shell::look_at_disk(&mut effects, &cx.roots);
    effects
}

async fn folder(dir_path: Option<&Path>, cx: &ToolContext) -> Result<PathBuf, ToolError> {
    let Some(dir_path) = dir_path.filter(|path| !path.as_os_str().is_empty()) else {
        return Ok(cx.cwd.clone());
    };
    let folder = cx.cwd.join(dir_path);
    match tokio::fs::canonicalize(&folder).await {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(invalid(format_args!("`dir_path` {} is not a folder", folder.display()))),
        Err(error) => Err(invalid(format_args!("`dir_path` {}: {error}", folder.display()))),
    }
}

fn find_shell(path: Option<&OsStr>) -> PathBuf {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let usual = ["/bin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    // Only absolute folders: a shell from the working folder would be the workspace's choice.
    let mut shells = folders.chain(usual).filter(|path| path.is_absolute()).map(|path| path.join("bash"));
    shells.find(|shell| shell.is_file()).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

impl Tool for RunShellCommand {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        self.schema.declaration()
    }

    fn prepare<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        Box::pin(async move {
            let call = self.check(args, cx).await?;
            Ok(Box::new(call) as Box<dyn Invocation>)
        })
    }
}

/// A checked command.
struct ShellCall {
    plan: Plan,
    launch: Launch,
    /// How long to watch it before leaving it in the background.
    background: Option<Duration>,
    processes: Processes,
}

impl Invocation for ShellCall {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(self: Box<Self>, cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let outcome = match self.background {
                None => self.run_to_its_end(cx).await,
                Some(delay) => self.leave_running(delay, cx).await,
            };
            outcome.unwrap_or_else(ToolOutput::failed)
        })
    }
}

impl ShellCall {
    async fn run_to_its_end(self, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let cwd = self.launch.cwd.clone();
        let job = self.processes.start(self.launch).map_err(|error| not_started(&error, &cwd))?;
        let foreground = Foreground::new(job.clone());
        let ending = watch(&job, cx).await;
        foreground.release();
        if !ending.strays.is_empty() {
            self.processes.remember(job.clone());
        }
        let silence = self.processes.settings().silence;
        let output = report::ended(&job.text(), job.id, &ending, silence).unwrap_or_else(ToolOutput::failed);
        Ok(ToolOutput { whole_output: job.whole_output(), ..output })
    }

    async fn leave_running(self, delay: Duration, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let cwd = self.launch.cwd.clone();
        let job = self.processes.start_background(self.launch).map_err(|error| not_started(&error, &cwd))?;
        let foreground = Foreground::new(job.clone());
        tokio::select! {
            // What comes after the command's own end is worth no waiting.
            _ = job.ended() => {}
            () = sleep(delay) => {}
            () = cx.cancelled => {
                job.stop();
                job.over().await;
                let message = "Cancelled by the user. The background command was ended.";
                return Err(ToolError::new(ToolErrorKind::Cancelled, message));
            }
        }
        foreground.release();
        let first = job.last_lines(FIRST_LINES);
        let text = report::left_running(&first, job.id, job.progress().ending.as_ref());
        Ok(ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() })
    }
}

fn not_started(error: &crate::process::LaunchError, cwd: &Path) -> ToolError {
    ToolError::new(
        ToolErrorKind::SpawnFailed,
        format!("The command could not be started in {}: {error}", cwd.display()),
    )
}

/// Shows what a job says while it runs, and ends it when the user cancels.
async fn watch(job: &Job, cx: RunContext) -> Ending {
    let RunContext { mut cancelled, live } = cx;
    let mut cleaner = Cleaner::default();
    let mut due: Option<Instant> = None;
    let mut next = Instant::now();
    let mut stopping = false;
    let ended = job.ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            biased;
            ending = &mut ended => {
                show(job, &mut cleaner, &live);
                return ending;
            }
            () = &mut cancelled, if !stopping => {
                stopping = true;
                job.stop();
            }
            () = sleep_until(due.unwrap_or(next)), if due.is_some() => {
                show(job, &mut cleaner, &live);
                next = Instant::now() + LIVE_EVERY;
                due = None;
            }
            () = job.fresh(), if due.is_none() => due = Some(next),
        }
    }
}

fn show(job: &Job, cleaner: &mut Cleaner, live: &(dyn Fn(&str) + Send + Sync)) {
    let (bytes, skipped) = job.take_fresh();
    let mut text = String::new();
    if skipped {
        *cleaner = Cleaner::default();
        text.push_str("\n[…]\n");
    }
    cleaner.push(&bytes, &mut text);
    if !text.is_empty() {
        live(&text);
    }
}

#[cfg(test)]
mod tests;
