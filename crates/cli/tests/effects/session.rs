//! Command lines given to the binary by a scripted model, with nobody to ask.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use charla_proto::WireKind;
use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::corpus::Line;
use crate::listeners::Listeners;
use crate::world::World;

/// How long a single line may take before it counts as stuck. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(45);

/// How the binary is started.
#[derive(Clone, Debug)]
pub struct Manner {
    pub arguments: Vec<String>,
    /// Rules of the user.
    pub rules: &'static str,
    /// What the launcher makes of the kernel.
    pub kernel: &'static str,
    /// Whose rights it has, if not ours.
    pub user: Option<u32>,
}

/// Somebody with no rights of their own.
const NOBODY: u32 = 65534;

impl Manner {
    pub fn mode(mode: &str) -> Self {
        let arguments = vec!["--approval-mode".to_owned(), mode.to_owned()];
        Self { arguments, rules: "", kernel: "whole", user: None }
    }

    /// The same for an ordinary user. Only root can try that.
    pub fn for_nobody(self) -> Self {
        Self { user: Some(NOBODY), ..self }
    }

    /// The same on a kernel that has no Landlock.
    pub fn without_landlock(self) -> Self {
        Self { kernel: "without-landlock", ..self }
    }

    /// The same in a container that refuses namespaces, whatever the kernel's settings say.
    pub fn without_namespaces(self) -> Self {
        Self { kernel: "without-namespaces", ..self }
    }

    pub fn under(self, rules: &'static str) -> Self {
        Self { rules, ..self }
    }

    pub fn and(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }
}

/// What the model was told about a call.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub output: String,
    /// The kind of error, when the call failed.
    pub error: Option<String>,
}

impl Answer {
    /// Whether the command was not even started.
    pub fn is_refused(&self) -> bool {
        const KINDS: [&str; 3] = ["nobody_to_ask", "denied_by_rule", "not_offered"];
        self.error.as_deref().is_some_and(|kind| KINDS.contains(&kind))
    }
}

/// A session that is over.
#[derive(Default)]
pub struct Session {
    /// One for each line; none where the session ended or was stuck before.
    pub answers: Vec<Option<Answer>>,
    pub is_stuck: bool,
    /// What standard output and standard error showed, without the calls themselves.
    pub shown: String,
    pub problems: Vec<String>,
}

/// Runs these lines, one after the other, in one session.
pub fn run(lines: &[Line], world: &World, listeners: &Listeners, manner: &Manner) -> Session {
    let calls = lines.iter().fold(Reply::new(), |reply, line| {
        if let Some((tool, arguments)) = line.tool_call() {
            return reply.call(tool, arguments);
        }
        let mut arguments = json!({"command": line.text});
        if let Some(folder) = &line.folder {
            arguments["dir_path"] = folder.as_str().into();
        }
        reply.call("run_shell_command", arguments)
    });
    let server = Server::start(Script::new([calls, "Done.".into()])).unwrap();
    let mut session = follow(command(&server, world, listeners, manner), lines.len());
    session.problems.extend(server.problems().into_iter().map(|problem| problem.message));
    session
}

fn command(server: &Server, world: &World, listeners: &Listeners, manner: &Manner) -> Command {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(python);
    command.env_clear().envs(world.environment(listeners)).current_dir(world.work());
    command.env("OPENAI_BASE_URL", server.base_url(WireKind::OpenaiChat));
    command.args(["-I", "-c", include_str!("launcher.py")]);
    command.arg(manner.kernel);
    match manner.user {
        Some(user) => command.arg(user.to_string()).arg(program_for_all()),
        None => command.arg("same").arg(assert_cmd::cargo::cargo_bin!("charla")),
    };
    command.args(["-m", "openai/gpt-test", "-o", "stream-json", "-p", "go"]).args(&manner.arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The binary where everybody finds it: the folder of a build may be closed to others.
fn program_for_all() -> &'static Path {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let place = PLACE.get_or_init(|| tempfile::tempdir().unwrap()).path();
        let all = std::fs::Permissions::from_mode(0o755);
        let program = place.join("charla");
        std::fs::copy(assert_cmd::cargo::cargo_bin!("charla"), &program).unwrap();
        std::fs::set_permissions(place, all.clone()).unwrap();
        std::fs::set_permissions(&program, all).unwrap();
        program
    })
}

/// Reads what the binary prints until it is over, or until nothing comes any more.
fn follow(mut command: Command, lines: usize) -> Session {
    let mut child = command.spawn().unwrap();
    let (sender, printed) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in stdout.lines() {
            sender.send(line.unwrap()).ok();
        }
    });
    let mut stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut session = Session { answers: vec![None; lines], ..Session::default() };
    let mut until = Instant::now() + PATIENCE;
    loop {
        match printed.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if take(&line, &mut session) {
                    until = Instant::now() + PATIENCE;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                session.is_stuck = true;
                child.kill().unwrap();
                break;
            }
        }
    }
    child.wait().unwrap();
    // A process that is left running may hold the other end.
    if !session.is_stuck {
        session.shown += &errors.join().unwrap();
    }
    session
}

/// Takes a line of the binary's output; says whether it is the end of a call.
fn take(line: &str, session: &mut Session) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(line) else {
        session.shown += line;
        return false;
    };
    match event["type"].as_str() {
        Some("tool_result") => {}
        // These repeat the lines, or what comes again in the result.
        Some("tool_use" | "tool_confirmation" | "tool_output") => return false,
        _ => {
            session.shown += line;
            return false;
        }
    }
    // The session numbers the calls of a message from 1.
    let number = event["tool_id"].as_str().and_then(|id| id.rsplit_once('_')?.1.parse::<usize>().ok());
    let answer = number.and_then(|number| session.answers.get_mut(number - 1));
    let answer = answer.unwrap_or_else(|| panic!("no call of ours: {line}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let error = event["error"]["type"].as_str().map(str::to_owned);
    *answer = Some(Answer { output: text(&event["output"]), error });
    true
}
