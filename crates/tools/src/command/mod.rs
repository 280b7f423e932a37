//! `run_shell_command` and its background.

mod background;
mod report;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::{
    Confinement, Effect, Part, Prepared, Preview, RunContext, ToolContext, ToolError, ToolErrorKind,
    ToolOutput, Word,
};
use charla_sandbox::{Extra, SandboxError, denial};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until};

pub use background::{ListBackgroundProcesses, ReadBackgroundOutput};

use crate::args::invalid;
use crate::git::GitUse;
use crate::invocation::{check, write_plan};
use crate::paths::ResolvedPath;
use crate::process::clean::Cleaner;
use crate::process::{Ending, Foreground, Job, Launch, Processes};
use crate::shell::{self, ShellContext};
use crate::typed::{PreparedCall, TypedTool};

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
    processes: Processes,
}

/// What `run_shell_command` takes.
#[derive(Deserialize, JsonSchema)]
pub struct RunShellCommandArgs {
    /// The command line, exactly as bash would get it.
    command: String,
    /// What it does and why, in one short sentence for the person who is asked.
    description: Option<String>,
    /// The folder to run it in: absolute, or from the working folder, which is also the default.
    dir_path: Option<PathBuf>,
    /// Leave it running and return soon. It ends with the session.
    #[serde(default)]
    is_background: bool,
    /// In the background: how long to watch its first output before returning; 200 unless told.
    #[schemars(range(max = LONGEST_DELAY_MS))]
    delay_ms: Option<u64>,
    /// Run it outside the sandbox; a person is asked. Only when the sandbox refused what the command needs; say why in
    /// `description`.
    #[serde(default)]
    unconfined: bool,
}

impl RunShellCommand {
    /// Runs them as these processes, with the system's `bash`, else one of the environment's `PATH`, else `sh`.
    pub fn new(processes: Processes) -> Self {
        Self { processes }
    }
}

impl TypedTool for RunShellCommand {
    type Args = RunShellCommandArgs;
    const NAME: &'static str = "run_shell_command";
    const SCHEMA: &'static str = include_str!("../schemas/run_shell_command.json");
    const DESCRIPTION: &'static str = DESCRIPTION;

    async fn prepare(&self, args: RunShellCommandArgs, cx: &ToolContext) -> PreparedCall {
        check_command(&args.command)?;
        let delay = args.delay_ms.unwrap_or(BACKGROUND_DELAY_MS);
        if delay > LONGEST_DELAY_MS {
            return Err(invalid(format_args!("`delay_ms` may be at most {LONGEST_DELAY_MS}")));
        }
        let cwd = folder(args.dir_path.as_deref(), cx).await?;
        let title = match args.description.as_deref().map(str::trim) {
            Some(words) if !words.is_empty() => format!("{} ({words})", args.command),
            _ => args.command.clone(),
        };
        let preview = Preview::Command { command: args.command.clone(), cwd: cwd.clone() };
        let mut effects = effects(&args.command, &cwd, cx);
        if args.unconfined {
            effects.push(Effect::Unconfined);
        }
        let extra = Extra { searches: searches(&effects), ..named_by(&effects) };
        let git = GitUse::of(&effects, &cx.roots);
        let plan = write_plan(Self::NAME, title, effects, preview);
        let launch = Launch {
            program: find_shell(self.processes.settings().environment.get("PATH")),
            arguments: vec!["-c".to_owned(), args.command.clone()],
            cwd,
            label: args.command,
            silence: (!args.is_background).then_some(self.processes.settings().silence),
            // The verdict is not known yet.
            confinement: Confinement::Reading,
            extra,
            git,
        };
        let background = args.is_background.then(|| Duration::from_millis(delay));
        let call = ShellCall { launch, background, processes: self.processes.clone() };
        Ok(Prepared::boxed(plan, move |cx| call.run(cx)))
    }
}

fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(invalid("`command` is empty"));
    }
    if command.contains('\0') {
        return Err(invalid("`command` holds a NUL character, which no program can be given"));
    }
    if command.len() > LONGEST_COMMAND {
        return Err(invalid(format_args!(
            "`command` is {} bytes long and a program can be given {LONGEST_COMMAND}; write a script into \
             a file and run that",
            command.len()
        )));
    }
    Ok(())
}

/// Everything a command line would do, as far as its text and the disk show it.
fn effects(command: &str, cwd: &Path, cx: &ToolContext) -> Vec<Effect> {
    let context = ShellContext { cwd: cwd.to_owned(), home: cx.home.clone() };
    shell::effects_on_disk(command, &context, &cx.roots, &cx.files)
}

async fn folder(dir_path: Option<&Path>, cx: &ToolContext) -> Result<PathBuf, ToolError> {
    let Some(dir_path) = dir_path.filter(|path| !path.as_os_str().is_empty()) else {
        return Ok(cx.cwd.clone());
    };
    let folder = cx.cwd.join(dir_path);
    let (wanted, context) = (folder.clone(), cx.clone());
    let place = check(move || ResolvedPath::at(&wanted, &context)).await?;
    // What lies beyond is not looked at before it is allowed: whoever may not go there learns nothing of it.
    if !place.inside {
        return Ok(place.real);
    }
    match tokio::fs::canonicalize(&folder).await {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(invalid(format_args!("`dir_path` {} is not a folder", folder.display()))),
        Err(error) => Err(invalid(format_args!("`dir_path` {}: {error}", folder.display()))),
    }
}

fn find_shell(path: Option<&OsStr>) -> PathBuf {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let usual = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"].map(PathBuf::from);
    // The system's first, and only absolute folders: a shell from the working folder would be the workspace's choice.
    let mut shells =
        usual.into_iter().chain(folders).filter(|path| path.is_absolute()).map(|path| path.join("bash"));
    shells.find(|shell| shell.is_file()).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// A checked command.
struct ShellCall {
    launch: Launch,
    /// How long to watch it before leaving it in the background.
    background: Option<Duration>,
    processes: Processes,
}

impl ShellCall {
    async fn run(mut self, cx: RunContext) -> ToolOutput {
        self.launch.confinement = cx.confinement;
        self.launch.extra.consent = cx.consent;
        if cx.only_git_reads {
            self.launch.extra.git = self.launch.git.folders.clone();
        }
        let outcome = match self.background {
            None => self.run_to_its_end(cx).await,
            Some(delay) => self.leave_running(delay, cx).await,
        };
        outcome.unwrap_or_else(ToolOutput::failed)
    }

    async fn run_to_its_end(self, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let (cwd, confinement) = (self.launch.cwd.clone(), self.launch.confinement);
        let job = self.processes.start(self.launch).await.map_err(|error| not_started(&error, &cwd))?;
        let foreground = Foreground::new(job.clone());
        let ending = watch(&job, cx).await;
        foreground.release();
        if !ending.strays.is_empty() {
            self.processes.remember(job.clone());
        }
        let silence = self.processes.settings().silence;
        let text = job.text();
        let denied = denial(confinement, ending.code, ending.signal, &text);
        let output = report::ended(&text, job.id, &ending, silence).unwrap_or_else(ToolOutput::failed);
        let output = match denied {
            Some(sign) => report::with_denial(output, confinement, sign),
            None => output,
        };
        let output = match job.unseen.as_slice() {
            [] => output,
            unseen => report::with_unseen(output, unseen),
        };
        let output = match ending.cleared.words() {
            Some(told) => report::with_cleared(output, &told),
            None => output,
        };
        Ok(ToolOutput { whole_output: job.whole_output(), ..output })
    }

    async fn leave_running(self, delay: Duration, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let cwd = self.launch.cwd.clone();
        let job = self.processes.start_background(self.launch).await;
        let job = job.map_err(|error| not_started(&error, &cwd))?;
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
    let mut message = format!("The command could not be started in {}: {error}", cwd.display());
    if error.source.get_ref().is_some_and(|source| source.is::<SandboxError>()) {
        message.push_str(report::UNCONFINED);
    }
    ToolError::new(ToolErrorKind::SpawnFailed, message)
}

/// True for a line that looks through folders, which should not stumble over what is closed to it.
fn searches(effects: &[Effect]) -> bool {
    let through = |name: &str| matches!(name, "grep" | "egrep" | "fgrep" | "diff" | "xargs" | "rg");
    let executes = |words: &[Word]| words.iter().any(|word| word.text.starts_with("-exec"));
    effects.iter().any(|effect| match effect {
        Effect::Exec { words, .. } => {
            let name = words.first().and_then(Word::known).unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or(name);
            through(name) || name == "find" && executes(words)
        }
        _ => false,
    })
}

/// The paths a command line names. A person who agrees to it agrees to these.
fn named_by(effects: &[Effect]) -> Extra {
    let mut extra = Extra::default();
    for effect in effects {
        match effect {
            Effect::Read { path } => extra.read.push(path.clone()),
            Effect::Write { path } => extra.write.push(path.clone()),
            Effect::Exec { words, cwd, .. } => {
                let named = words.iter().skip(1).filter_map(|word| word.known());
                extra.read.extend(named.filter(|word| word.contains('/')).map(|word| cwd.join(word)));
            }
            _ => {}
        }
    }
    extra
}

/// Shows what a job says while it runs, and ends it when the user cancels.
async fn watch(job: &Job, cx: RunContext) -> Ending {
    let RunContext { mut cancelled, live, .. } = cx;
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
