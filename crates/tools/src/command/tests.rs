use std::sync::{Arc, Mutex};

use charla_proto::tool::Tool;
use charla_proto::{Args, Confinement, Consent, Display, Lane};
use serde_json::{Value, json};

use super::*;
use crate::process::{Environment, ProcessSettings, SpillFolder, TEST_TIMEOUT, Withheld, sandbox};
use crate::typed::Typed;

struct Bench {
    folder: tempfile::TempDir,
    processes: Processes,
    cx: ToolContext,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment::new(std::env::vars_os(), &Withheld::default());
    let spills = SpillFolder::new(folder.path().join("spilled"));
    let cwd = folder.path().canonicalize().unwrap();
    let cx = ToolContext { cwd: cwd.clone(), roots: vec![cwd], ..ToolContext::default() };
    Bench {
        processes: Processes::new(ProcessSettings::new(environment, spills, sandbox(&cx.cwd))),
        folder,
        cx,
    }
}

fn args(value: Value) -> Args {
    value.as_object().cloned().unwrap_or_default()
}

fn quiet() -> RunContext {
    RunContext {
        cancelled: Box::pin(std::future::pending()),
        live: Box::new(|_| {}),
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: Consent::Named,
        files: charla_proto::FileJudge::default(),
    }
}

fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(|part| part.as_text()).collect()
}

impl Bench {
    async fn call(&self, tool: &dyn Tool, value: Value) -> ToolOutput {
        match tool.prepare(args(value), &self.cx).await {
            Ok(invocation) => invocation.run(quiet()).await,
            Err(error) => ToolOutput::failed(error),
        }
    }

    async fn run(&self, value: Value) -> ToolOutput {
        self.call(&Typed::new(RunShellCommand::new(self.processes.clone())), value).await
    }
}

#[tokio::test]
async fn a_command_says_only_what_there_is_to_say() {
    let bench = bench();
    let cases = [
        ("echo hello", "Output: hello"),
        ("true", "Output: (empty)"),
        ("echo no >&2; exit 4", "Output: no\nExit Code: 4"),
        ("kill -KILL $$", "Output: (empty)\nSignal: 9 (SIGKILL)"),
        ("printf '\\033[32mgreen\\033[0m'", "Output: green"),
        ("[[ -n $BASH_VERSION ]] && echo bash", "Output: bash"),
    ];
    for (command, said) in cases {
        let output = bench.run(json!({ "command": command })).await;
        assert_eq!((output.error.clone(), text(&output)), (None, said.to_owned()), "{command}");
    }
    let output = bench.run(json!({ "command": "no_such_program_here" })).await;
    assert!(text(&output).ends_with("command not found\nExit Code: 127"), "{}", text(&output));
}

#[tokio::test]
async fn the_plan_shows_the_whole_command_and_its_folder() {
    let bench = bench();
    std::fs::create_dir(bench.folder.path().join("inner")).unwrap();
    let tool = Typed::new(RunShellCommand::new(bench.processes.clone()));
    let wanted = json!({ "command": "pwd; ls", "dir_path": "inner", "description": "Look around" });
    let invocation = tool.prepare(args(wanted), &bench.cx).await.unwrap_or_else(|error| panic!("{error}"));
    let cwd = bench.cx.cwd.join("inner");
    let plan = invocation.plan().clone();
    assert_eq!(plan.title, "pwd; ls (Look around)");
    let word = |text: &str| vec![charla_proto::Word::literal(text)];
    let exec = |command: &str| Effect::Exec {
        command: command.to_owned(),
        cwd: cwd.clone(),
        words: word(command),
        carrier: false,
        fed: false,
        environment: Vec::new(),
    };
    assert_eq!(plan.effects, [exec("pwd"), exec("ls")]);
    assert_eq!(plan.preview, Preview::Command { command: "pwd; ls".to_owned(), cwd: cwd.clone() });
    assert_eq!(plan.lane, Lane::Exclusive);
    assert_eq!(text(&invocation.run(quiet()).await), format!("Output: {}", cwd.display()));
}

#[tokio::test]
async fn hostile_arguments_are_refused_in_words() {
    let bench = bench();
    std::fs::write(bench.folder.path().join("file"), "x").unwrap();
    let cases = [
        (json!({}), "the field `command` is missing"),
        (json!({ "command": 7 }), "`command` must be a string"),
        (json!({ "command": ["ls"] }), "`command` must be a string"),
        (json!({ "command": " \n" }), "`command` is empty"),
        (json!({ "command": "echo \0" }), "NUL"),
        (json!({ "command": "x".repeat(1 << 20) }), "1048576 bytes long"),
        (json!({ "command": "ls", "dir_path": "nowhere" }), "No such file"),
        (json!({ "command": "ls", "dir_path": "file" }), "is not a folder"),
        (json!({ "command": "ls", "dir_path": "a\0b" }), "`dir_path`"),
        (json!({ "command": "ls", "dir_path": 3 }), "`dir_path` must be a string"),
        (json!({ "command": "ls", "is_background": "yes" }), "`is_background` must be"),
        (json!({ "command": "ls", "delay_ms": -1 }), "`delay_ms` must be at least 0"),
        (json!({ "command": "ls", "delay_ms": 1.5 }), "`delay_ms` must be"),
        (json!({ "command": "ls", "delay_ms": 1e9 as u64 }), "at most 600000"),
    ];
    for (wanted, said) in cases {
        let error = bench.run(wanted).await.error.unwrap();
        assert_eq!(error.kind, ToolErrorKind::InvalidArgs);
        assert!(error.message.contains(said), "{} lacks {said}", error.message);
    }
    let read = Typed::new(ReadBackgroundOutput::new(bench.processes.clone()));
    for wanted in [json!({}), json!({ "pid": "1" }), json!({ "pid": 1, "lines": 0 }), json!({ "pid": 1e300 })]
    {
        let error = bench.call(&read, wanted).await.error.unwrap();
        assert_eq!(error.kind, ToolErrorKind::InvalidArgs, "{}", error.message);
    }
    for pid in [1, -1, 0, i32::MAX] {
        assert_eq!(
            bench.call(&read, json!({ "pid": pid })).await.error.unwrap().kind,
            ToolErrorKind::NotFound
        );
    }
}

#[tokio::test]
async fn live_output_comes_while_it_runs_and_cancel_ends_it_with_what_it_said() {
    let bench = bench();
    let tool = Typed::new(RunShellCommand::new(bench.processes.clone()));
    let wanted = json!({ "command": "echo first; sleep 1000" });
    let invocation = tool.prepare(args(wanted), &bench.cx).await.unwrap_or_else(|error| panic!("{error}"));
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let cx = RunContext {
        // The first live output is what cancels it.
        cancelled: Box::pin(async move { drop(receiver.await) }),
        live: Box::new(move |text| {
            if let Some(sender) = sender.lock().unwrap().take() {
                sender.send(text.to_owned()).unwrap();
            }
        }),
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: Consent::Named,
        files: charla_proto::FileJudge::default(),
    };
    let output = tokio::time::timeout(TEST_TIMEOUT, invocation.run(cx)).await.expect("it goes on");
    let error = output.error.unwrap();
    assert_eq!(error.kind, ToolErrorKind::Cancelled);
    assert!(error.message.ends_with("Its output until then:\nfirst"), "{}", error.message);
}

#[tokio::test]
async fn live_output_of_a_storm_comes_in_few_pieces() {
    let bench = bench();
    let tool = Typed::new(RunShellCommand::new(bench.processes.clone()));
    let wanted = json!({ "command": "seq 1 300000" });
    let invocation = tool.prepare(args(wanted), &bench.cx).await.unwrap_or_else(|error| panic!("{error}"));
    let pieces = Arc::new(Mutex::new(Vec::new()));
    let heard = pieces.clone();
    let live = Box::new(move |text: &str| heard.lock().unwrap().push(text.len()));
    let begin = std::time::Instant::now();
    invocation
        .run(RunContext {
            cancelled: Box::pin(std::future::pending()),
            live,
            confinement: Confinement::Open,
            only_git_reads: false,
            consent: Consent::Named,
            files: charla_proto::FileJudge::default(),
        })
        .await;
    let most = begin.elapsed().as_millis() / LIVE_EVERY.as_millis() + 2;
    let pieces = pieces.lock().unwrap();
    assert!(!pieces.is_empty() && pieces.len() as u128 <= most, "{pieces:?}");
    assert!(pieces.iter().all(|length| *length <= 8 * 1024 + 16), "{pieces:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_command_is_a_timeout_that_says_what_to_do() {
    let bench = bench();
    let error = bench.run(json!({ "command": "exec sleep 1000" })).await.error.unwrap();
    assert_eq!(error.kind, ToolErrorKind::TimedOut);
    assert!(error.message.contains("wrote nothing for 300 seconds"), "{}", error.message);
}

#[tokio::test]
async fn a_background_command_is_listed_read_and_reported() {
    let bench = bench();
    let list = Typed::new(ListBackgroundProcesses::new(bench.processes.clone()));
    assert_eq!(text(&bench.call(&list, json!({})).await), "There are no background processes.");
    let go = bench.folder.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let command = "echo one; echo two; read line < go; echo three";
    let wanted = json!({ "command": command, "is_background": true, "delay_ms": 150 });
    let said = text(&bench.run(wanted).await);
    assert!(said.starts_with("The command runs in the background.\nPID: "), "{said}");
    let job = bench.processes.list().pop().unwrap();
    assert!(said.contains(&format!("PID: {}\n", job.id)));
    let listed = text(&bench.call(&list, json!({})).await);
    assert_eq!(listed, format!("- [PID {}] running: {command}", job.id));
    std::fs::write(&go, "x\n").unwrap();
    job.over().await;
    let read = Typed::new(ReadBackgroundOutput::new(bench.processes.clone()));
    let said = text(&bench.call(&read, json!({ "pid": job.id, "lines": 2 })).await);
    assert_eq!(said, "State: exited with code 0\nOutput: two\nthree");
}

#[tokio::test]
async fn what_a_command_leaves_running_is_named_and_can_be_read() {
    let bench = bench();
    // The pipe makes the shell wait until the other has said its word.
    let command = "mkfifo said; (echo later; echo > said; exec sleep 1000) & read line < said; echo now";
    let said = text(&bench.run(json!({ "command": command })).await);
    let pid = said.lines().find_map(|line| line.strip_prefix("Background PIDs: ")).unwrap();
    let pid: i32 = pid.parse().unwrap();
    let read = Typed::new(ReadBackgroundOutput::new(bench.processes.clone()));
    let said = text(&bench.call(&read, json!({ "pid": pid })).await);
    assert!(
        said.starts_with("State: ended, but left processes running\n") && said.contains("later"),
        "{said}"
    );
    bench.processes.shutdown().await;
    assert!(!crate::process::is_alive(pid));
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_command_with_it() {
    let bench = bench();
    let tool = Typed::new(RunShellCommand::new(bench.processes.clone()));
    let wanted = json!({ "command": "echo $$ > pid; echo $$; sleep 1000" });
    let invocation = tool.prepare(args(wanted), &bench.cx).await.unwrap_or_else(|error| panic!("{error}"));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let live = Box::new(move |text: &str| sender.send(text.trim().parse::<i32>().unwrap()).unwrap());
    let task = tokio::spawn(invocation.run(RunContext {
        cancelled: Box::pin(std::future::pending()),
        live,
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: Consent::Named,
        files: charla_proto::FileJudge::default(),
    }));
    let pid = receiver.recv().await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let begin = std::time::Instant::now();
    while crate::process::is_alive(pid) {
        assert!(begin.elapsed() < TEST_TIMEOUT, "it goes on");
        tokio::task::yield_now().await;
    }
}

impl Bench {
    async fn confined(&self, confinement: Confinement, command: &str) -> ToolOutput {
        let call = self.tool().prepare(args(json!({ "command": command })), &self.cx).await;
        call.unwrap_or_else(|error| panic!("{error}"))
            .run(RunContext { confinement, only_git_reads: true, ..quiet() })
            .await
    }

    fn tool(&self) -> Typed<RunShellCommand> {
        Typed::new(RunShellCommand::new(self.processes.clone()))
    }
}

#[tokio::test]
async fn a_secret_that_a_line_names_is_opened_by_a_person_and_by_no_rule() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().canonicalize().unwrap();
    std::fs::write(secret.join("keys.json"), "CANARY").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let sandbox = charla_sandbox::Sandbox::new(charla_sandbox::Places {
        roots: vec![cwd.clone()],
        home: None,
        temporary: cwd.clone(),
        programs: Vec::new(),
        readable: Vec::new(),
        history: Vec::new(),
        secrets: vec![secret.clone()],
        denied: Vec::new(),
        treatment: Arc::new(|_| charla_sandbox::Treatment::Plain),
    });
    let environment = Environment::new(std::env::vars_os(), &Withheld::default());
    let spills = SpillFolder::new(folder.path().join("spilled"));
    let processes = Processes::new(ProcessSettings::new(environment, spills, Arc::new(sandbox)));
    let cx = ToolContext { cwd: cwd.clone(), roots: vec![cwd], ..ToolContext::default() };
    let bench = Bench { folder, processes, cx };
    let place = secret.display();
    for command in [
        format!("cat {place}/keys.json"),
        format!("cat < {place}/keys.json"),
        format!("sh -c 'cat $0/keys.json' {place}"),
    ] {
        for consent in [Consent::Person, Consent::Named, Consent::Broad] {
            let call = bench.tool().prepare(args(json!({ "command": command })), &bench.cx).await;
            let cx = RunContext { confinement: Confinement::Asked, consent, ..quiet() };
            let said = text(&call.unwrap_or_else(|error| panic!("{error}")).run(cx).await);
            assert_eq!(said.contains("CANARY"), consent == Consent::Person, "{command}: {said}");
        }
    }
}

#[tokio::test]
async fn a_command_reaches_as_far_as_its_verdict() {
    let bench = bench();
    std::fs::create_dir(bench.folder.path().join(".git")).unwrap();
    let made = |name: &str| bench.folder.path().join(name).exists();
    let refused = text(&bench.confined(Confinement::Reading, "touch new").await);
    assert!(refused.contains("The sandbox (reading) may have refused this: permission denied."), "{refused}");
    assert!(refused.contains("call again with `unconfined: true`") && !made("new"), "{refused}");
    assert_eq!(text(&bench.confined(Confinement::Reading, "cat < /dev/null").await), "Output: (empty)");
    let edited = text(&bench.confined(Confinement::Editing, "touch new; touch .git/new").await);
    assert!(
        edited.contains("The sandbox (editing) may have refused this: read-only file system."),
        "{edited}"
    );
    assert!(made("new") && !made(".git/new"));
    bench.confined(Confinement::Asked, "touch .git/new").await;
    assert!(made(".git/new"));
}

/// The path that a text says something was moved to.
fn moved_to(text: &str) -> PathBuf {
    let (_, rest) = text.split_once(" was moved to ").unwrap_or_else(|| panic!("{text}"));
    PathBuf::from(rest.lines().next().unwrap())
}

/// Removes the folder in which a moved place is kept.
fn forget(kept: &Path) {
    std::fs::remove_dir_all(kept.ancestors().nth(2).unwrap()).unwrap();
}

#[tokio::test]
async fn a_protected_place_that_a_command_made_unasked_is_moved_away_and_told() {
    let bench = bench();
    let line = "echo said; mkdir -p sub/.git/hooks; echo run > sub/.git/hooks/x; touch sub/kept";
    let output = bench.confined(Confinement::Editing, line).await;
    let told = text(&output);
    let from = bench.cx.cwd.join("sub/.git");
    assert!(told.starts_with("Output: said\nThese came into being while the command ran."), "{told}");
    assert!(told.contains(&format!("- {} was moved to /", from.display())), "{told}");
    let Some(Display::Command { output: shown, .. }) = &output.display else { panic!("{output:?}") };
    assert!(shown.starts_with("said\nThese came into being"), "{shown}");
    let kept = moved_to(&told);
    assert_eq!(std::fs::read_to_string(kept.join("hooks/x")).unwrap(), "run\n");
    assert!(!from.exists() && bench.cx.cwd.join("sub/kept").exists());
    forget(&kept);
    // What a person agreed to stays.
    bench.confined(Confinement::Asked, "mkdir .git").await;
    assert!(bench.cx.cwd.join(".git").exists());
}

#[tokio::test]
async fn what_a_cancelled_command_made_is_moved_away_too() {
    let bench = bench();
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let sender = Mutex::new(Some(sender));
    let cx = RunContext {
        cancelled: Box::pin(async move { drop(receiver.await) }),
        live: Box::new(move |_| drop(sender.lock().unwrap().take())),
        confinement: Confinement::Editing,
        ..quiet()
    };
    // What is told to end makes more.
    let line = "trap 'mkdir -p late/.git; exit' TERM; mkdir .git; echo made; while :; do sleep 0.01; done";
    let call = bench.tool().prepare(args(json!({ "command": line })), &bench.cx).await;
    let running = call.unwrap_or_else(|error| panic!("{error}")).run(cx);
    let error = tokio::time::timeout(TEST_TIMEOUT, running).await.expect("it goes on").error.unwrap();
    assert_eq!(error.kind, ToolErrorKind::Cancelled);
    assert!(!bench.cx.cwd.join(".git").exists() && !bench.cx.cwd.join("late/.git").exists(), "{error}");
    forget(&moved_to(&error.message));
}

#[tokio::test]
async fn a_command_that_edits_unasked_leaves_nothing_running() {
    let bench = bench();
    let output = bench.confined(Confinement::Editing, "sleep 1000 > /dev/null 2>&1 & echo $!").await;
    let told = text(&output);
    let id: i32 = told.trim_start_matches("Output: ").lines().next().unwrap().parse().unwrap();
    assert!(!crate::process::is_alive(id), "{told}");
    assert!(told.contains("left running were ended") && !told.contains("Background PIDs"), "{told}");
}

#[tokio::test]
async fn what_a_background_command_made_is_moved_away_at_its_end_and_told_by_its_output() {
    let bench = bench();
    let wanted = json!({ "command": "mkdir .git", "is_background": true, "delay_ms": 600_000 });
    let call = bench.tool().prepare(args(wanted), &bench.cx).await.unwrap_or_else(|error| panic!("{error}"));
    let told = text(&call.run(RunContext { confinement: Confinement::Editing, ..quiet() }).await);
    let kept = moved_to(&told);
    assert!(told.contains("already ended") && !bench.cx.cwd.join(".git").exists(), "{told}");
    let read = Typed::new(ReadBackgroundOutput::new(bench.processes.clone()));
    let id = bench.processes.list()[0].id;
    let read = text(&bench.call(&read, json!({ "pid": id })).await);
    assert_eq!(moved_to(&read), kept);
    forget(&kept);
}

#[tokio::test]
async fn a_call_that_wants_out_of_the_sandbox_says_so() {
    let bench = bench();
    let plan = |unconfined: bool| {
        let args = args(json!({ "command": "ls", "unconfined": unconfined }));
        let tool = bench.tool();
        let cx = bench.cx.clone();
        async move {
            tool.prepare(args, &cx).await.unwrap_or_else(|error| panic!("{error}")).plan().effects.clone()
        }
    };
    assert!(plan(true).await.contains(&Effect::Unconfined));
    assert!(!plan(false).await.contains(&Effect::Unconfined));
}

#[tokio::test]
async fn git_shows_changes_but_not_those_of_hidden_files() {
    let bench = bench();
    let write = |name: &str, text: &str| std::fs::write(bench.folder.path().join(name), text).unwrap();
    write(".env", "KEY=first-secret\n");
    write("plain.txt", "one\n");
    let begin = "git init -q . && git add -f . && git -c user.name=A -c user.email=a@b.c commit -qm Begin";
    let begun = bench.run(json!({ "command": begin })).await;
    assert_eq!(text(&begun), "Output: (empty)");
    write(".env", "KEY=second-secret, and longer\n");
    write("plain.txt", "one\ntwo\n");
    let said = text(&bench.confined(Confinement::Reading, "export HOME=$PWD; git diff").await);
    assert!(said.contains("+two") && !said.contains("secret"), "{said}");
    assert!(said.contains("as unchanged, because their content is hidden: .env"), "{said}");
    let said = text(&bench.confined(Confinement::Reading, "export HOME=$PWD; git status --short").await);
    assert!(said.starts_with("Output:  M plain.txt\n"), "{said}");
    let said = text(
        &bench
            .confined(
                Confinement::Reading,
                "export HOME=$PWD; git show && git log -p && git diff --stat HEAD",
            )
            .await,
    );
    assert!(said.contains("Binary files /dev/null and b/.env differ"), "{said}");
    assert!(said.contains("plain.txt | 1 +") && !said.contains("secret"), "{said}");
}

#[tokio::test]
async fn an_unasked_command_that_starts_too_many_processes_is_ended_with_all_of_them() {
    let bench = bench();
    let many = "for i in {1..3000}; do sleep 1000 & done; wait";
    let output = bench.confined(Confinement::Reading, many).await;
    let error = output.error.unwrap();
    assert!(error.message.contains("more than 512 processes"), "{}", error.message);
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let mark = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let folder = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        !mark.is_empty() && folder == bench.cx.cwd
    });
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn an_unasked_command_writes_no_file_without_end() {
    let bench = bench();
    let output =
        bench.confined(Confinement::Reading, "head -c 2G /dev/zero > $TMPDIR/x; echo $?; ulimit -t").await;
    assert!(text(&output).contains("153\n600"), "{}", text(&output));
}
