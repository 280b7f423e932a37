//! Runs the commands of discovered tools.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;

use charla_proto::text::shell_split;
use charla_proto::{BoxFuture, ToolError, ToolErrorKind};

use super::capture::{Capture, capture};
use super::processes::Processes;
use crate::registry::{CommandOutput, CommandRunner, ToolCommand};

/// How much each output may hold.
const MOST_BYTES: usize = 10 * 1024 * 1024;

/// Without a shell: the command line is split into words and nothing in it is expanded. A command may take
/// as long as a shell command may say nothing.
impl CommandRunner for Processes {
    fn run(&self, command: ToolCommand) -> BoxFuture<'static, Result<CommandOutput, ToolError>> {
        let processes = self.clone();
        Box::pin(async move {
            let mut words = words(&command.command)?.into_iter();
            let ask = Capture {
                program: words.next().unwrap_or_default(),
                arguments: words.chain(command.argument.map(OsString::from)).collect(),
                cwd: command.cwd,
                input: command.stdin,
                time: processes.settings().silence,
                bytes: MOST_BYTES,
                confinement: command.confinement,
            };
            let answer = tokio::select! {
                answer = capture(&processes, ask) => answer,
                () = command.cancelled => {
                    return Err(ToolError::new(ToolErrorKind::Cancelled, "Cancelled by the user. The command was ended."));
                }
            };
            let answer = answer.map_err(|error| {
                ToolError::new(ToolErrorKind::SpawnFailed, format!("`{}` failed: {error}.", command.command))
            })?;
            // A tool that says something on stderr is told in full.
            let told = answer.cleared.words().unwrap_or_default();
            Ok(CommandOutput {
                exit: answer.status.code(),
                signal: answer.status.signal(),
                stdout: answer.stdout,
                stderr: [answer.stderr.as_slice(), told.as_bytes()].concat(),
            })
        })
    }
}

fn words(command: &str) -> Result<Vec<OsString>, ToolError> {
    let broken =
        |why: &str| ToolError::new(ToolErrorKind::SpawnFailed, format!("`{command}` cannot be run: {why}."));
    let words = shell_split(command).ok_or_else(|| broken("its quotes do not match"))?;
    if words.is_empty() {
        return Err(broken("it is empty"));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use charla_proto::{Confinement, RunContext, ToolContext, ToolErrorKind, ToolOutput};
    use serde_json::{Value, json};

    use crate::process::tests::{is_alive, processes};
    use crate::registry::discover;

    fn quiet() -> RunContext {
        RunContext {
            cancelled: Box::pin(std::future::pending()),
            live: Box::new(|_| {}),
            confinement: Confinement::Open,
            only_git_reads: false,
            consent: charla_proto::Consent::Named,
            files: charla_proto::FileJudge::default(),
        }
    }

    /// Discovers one tool whose call command is this script, and calls it.
    async fn call(script: &str, args: Value, cx: RunContext) -> ToolOutput {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("call.sh"), script).unwrap();
        std::fs::write(folder.path().join("tools.json"), r#"[{"name":"greet"}]"#).unwrap();
        let runner = Arc::new(processes(folder.path()));
        let cwd = folder.path().to_owned();
        let found = discover(runner, "cat tools.json", "sh call.sh", cwd.clone()).await.unwrap();
        let cx_of_tools = ToolContext { cwd: cwd.clone(), roots: vec![cwd], ..ToolContext::default() };
        let call = found.tools[0].prepare(args.as_object().cloned().unwrap(), &cx_of_tools).await;
        call.unwrap_or_else(|error| panic!("{error}")).run(cx).await
    }

    #[tokio::test]
    async fn a_call_gets_its_name_as_argument_and_its_arguments_on_its_input() {
        let output = call("echo \"$1: $(cat)\"", json!({ "who": "Käthe" }), quiet()).await;
        assert_eq!(output.error, None);
        assert_eq!(output.content[0].as_text(), Some("greet: {\"who\":\"Käthe\"}\n"));
    }

    #[tokio::test]
    async fn a_call_that_fails_tells_everything() {
        let cases = [
            (
                "echo half; echo oops >&2; exit 3",
                "Stdout: half\n\nStderr: oops\n\nExit Code: 3\nSignal: (none)",
            ),
            ("echo warning >&2", "Stdout: (empty)\nStderr: warning\n\nExit Code: 0\nSignal: (none)"),
            ("kill -9 $$", "Stdout: (empty)\nStderr: (empty)\nExit Code: (none)\nSignal: 9"),
        ];
        for (script, said) in cases {
            assert_eq!(call(script, json!({}), quiet()).await.error.unwrap().message, said);
        }
    }

    #[tokio::test]
    async fn one_that_does_not_read_or_leaves_a_child_is_not_waited_for() {
        let begin = Instant::now();
        let output = call("sleep 1000 & echo $!", json!({ "large": "x".repeat(300_000) }), quiet()).await;
        assert!(begin.elapsed() < Duration::from_secs(5));
        let child: i32 = output.content[0].as_text().unwrap().trim().parse().unwrap();
        while is_alive(child) {
            assert!(begin.elapsed() < Duration::from_secs(5));
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_cancelled_call_ends() {
        let cx = RunContext {
            cancelled: Box::pin(std::future::ready(())),
            live: Box::new(|_| {}),
            confinement: Confinement::Open,
            only_git_reads: false,
            consent: charla_proto::Consent::Named,
            files: charla_proto::FileJudge::default(),
        };
        let begin = Instant::now();
        let output = call("sleep 1000", json!({}), cx).await;
        assert_eq!(output.error.unwrap().kind, ToolErrorKind::Cancelled);
        assert!(begin.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test]
    async fn a_discovery_that_fails_says_why_and_nothing_is_expanded() {
        let folder = tempfile::tempdir().unwrap();
        let runner = Arc::new(processes(folder.path()));
        let cases = [
            ("sh -c 'echo broken >&2; exit 2'", "broken"),
            ("echo '[]' ; touch $HOME `pwd`", "no function declarations"),
            ("/no/such/program", "could not be started"),
            ("echo 'unclosed", "quotes do not match"),
            ("  ", "it is empty"),
            ("head -c 11000000 /dev/zero", "more than 10485760 bytes"),
        ];
        for (command, said) in cases {
            let error =
                discover(runner.clone(), command, "run", folder.path().to_owned()).await.err().unwrap();
            assert!(error.to_string().contains(said), "{error} lacks {said}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
