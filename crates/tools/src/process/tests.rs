//! Real processes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use charla_proto::Confinement;
use charla_sandbox::{Extra, Places, Sandbox, Treatment};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;

pub(crate) fn processes(folder: &Path) -> Processes {
    let environment = Environment::new(std::env::vars_os(), &Withheld::default());
    Processes::new(ProcessSettings::new(
        environment,
        SpillFolder::new(folder.join("spilled")),
        sandbox(folder),
    ))
}

/// For children that work in this folder, with a private one in it for temporary files.
pub(crate) fn sandbox(folder: &Path) -> Arc<Sandbox> {
    let folder = folder.canonicalize().unwrap();
    let treatment = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
        Some(".env") => Treatment::Hidden { guarded: false, denied: false },
        Some(".git") => Treatment::Protected { closed: true },
        _ => Treatment::Plain,
    };
    Arc::new(Sandbox::new(Places {
        roots: vec![folder.clone()],
        home: None,
        temporary: std::env::temp_dir(),
        programs: Vec::new(),
        readable: Vec::new(),
        history: Vec::new(),
        secrets: Vec::new(),
        denied: Vec::new(),
        treatment: Arc::new(treatment),
    }))
}

fn launch(command: &str) -> Launch {
    Launch {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".to_owned(), command.to_owned()],
        cwd: PathBuf::from("/"),
        label: command.to_owned(),
        silence: None,
        confinement: Confinement::Open,
        extra: Extra::default(),
        git: crate::git::GitUse::default(),
    }
}

/// True for a process that runs: the dead that nobody has waited for do not.
pub(crate) fn is_alive(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])))
}

/// Far less than the thousand seconds that the commands of these tests would sleep, and enough for a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("it does not end")
}

fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Waits until the job's output has this many lines.
async fn lines(job: &Job, count: usize) -> String {
    loop {
        let text = job.text();
        if text.lines().count() >= count {
            return text;
        }
        job.fresh().await;
    }
}

async fn run(command: &str) -> (String, Ending) {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start(launch(command)).await.unwrap();
    let ending = job.ended().await;
    (job.text(), ending)
}

#[tokio::test]
async fn both_outputs_come_in_the_order_they_were_written() {
    let (text, ending) = run("for n in 1 2 3; do echo out$n; echo err$n >&2; done; exit 3").await;
    assert_eq!(text, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!((ending.code, ending.signal, ending.stopped), (Some(3), None, None));
}

#[tokio::test]
async fn a_command_that_reads_gets_the_end_of_input() {
    assert_eq!(run("cat; echo done").await.0, "done\n");
}

#[tokio::test]
async fn no_editor_waits_for_somebody_who_is_not_there() {
    let commit = "cd \"$(mktemp -d)\" && git init -q . && git -c user.name=a -c user.email=b commit --allow-empty 2>&1";
    let (said, _) = soon(run(commit)).await;
    assert!(said.contains("empty commit message"), "{said}");
}

#[tokio::test]
async fn death_by_signal_is_told() {
    let ending = run("kill -SEGV $$").await.1;
    assert_eq!((ending.code, ending.signal), (None, Some(11)));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch { program: "/no/such/program".into(), ..launch("") };
    let error = processes(folder.path()).start(launch).await.unwrap_err();
    assert!(error.to_string().starts_with("/no/such/program: No such file"), "{error}");
}

#[tokio::test]
async fn secrets_do_not_reach_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("MY_API_KEY", "s3cret"), ("OTHER", "seen"), ("PATH", "/usr/bin:/bin")];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(variables, &Withheld::default());
    let processes = Processes::new(ProcessSettings::new(
        environment,
        SpillFolder::new(folder.path()),
        sandbox(folder.path()),
    ));
    let job = processes.start(launch("env")).await.unwrap();
    job.ended().await;
    let text = job.text();
    assert!(text.contains("OTHER=seen") && !text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn grandchildren_that_hold_the_pipe_do_not_hold_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start(launch("sleep 1000 & echo $!")).await.unwrap();
    let ending = soon(job.ended()).await;
    let stray = numbers(&job.text());
    assert_eq!(ending.strays, stray);
    assert!(is_alive(stray[0]) && !job.progress().over);
    job.stop();
    job.over().await;
    assert!(!is_alive(stray[0]));
}

/// Starts a family of every kind of relative and stops it.
async fn stop_family(command: &str, size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start(launch(command)).await.unwrap();
    let mut family = numbers(&lines(&job, size).await);
    family.truncate(size);
    assert_eq!(family.len(), size);
    assert!(family.iter().all(|id| is_alive(*id)));
    job.stop();
    let ending = soon(job.ended()).await;
    soon(job.over()).await;
    assert_eq!(ending.stopped, Some(StopReason::Asked));
    let left: Vec<&i32> = family.iter().filter(|id| is_alive(**id)).collect();
    assert!(left.is_empty(), "{left:?} of {family:?} still run");
}

#[tokio::test]
async fn stopping_leaves_nobody_behind() {
    // In the group; in a session of its own; a daemon whose parent is gone; one that keeps its group but
    // not its environment.
    let command = "sleep 1000 & echo $!
        setsid sh -c 'echo $$; sleep 1000 & echo $!; wait' &
        (setsid sh -c 'echo $$; exec sleep 1000' &)
        env -i sleep 1000 & echo $!
        wait";
    stop_family(command, 5).await;
}

#[tokio::test]
async fn those_who_ignore_being_asked_are_made_to_end() {
    let command = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & echo $$
        env -i sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' &
        while :; do wait; done";
    stop_family(command, 3).await;
}

#[tokio::test]
async fn a_stopped_process_ends_too() {
    stop_family("echo $$; kill -STOP $$", 1).await;
}

#[tokio::test]
async fn last_words_after_being_asked_to_end_are_heard() {
    let folder = tempfile::tempdir().unwrap();
    let command = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let processes = processes(folder.path());
    let job = processes.start(launch(command)).await.unwrap();
    lines(&job, 1).await;
    job.stop();
    assert_eq!(job.ended().await.code, Some(9));
    assert!(job.text().ends_with("bye\n"), "{}", job.text());
}

#[tokio::test(start_paused = true)]
async fn a_command_that_falls_silent_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch { silence: Some(Duration::from_secs(300)), ..launch("exec sleep 1000") };
    let processes = processes(folder.path());
    let job = processes.start(launch).await.unwrap();
    let begin = tokio::time::Instant::now();
    let ending = job.ended().await;
    assert_eq!(ending.stopped, Some(StopReason::Silent));
    assert!(begin.elapsed() >= Duration::from_secs(300));
    job.over().await;
    // The test's clock jumps where the kernel needs its time.
    let begun = Instant::now();
    while is_alive(job.id) {
        assert!(begun.elapsed() < TEST_TIMEOUT, "it was not killed");
        std::thread::yield_now();
    }
}

#[tokio::test(start_paused = true)]
async fn output_starts_the_silence_anew() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    // Opened once on both sides: a reader that opens it anew for each line can see the end of the last writer.
    let command = "exec 3< go; for n in 1 2 3 4; do read word <&3; echo $n; done; read word <&3";
    let silence = Duration::from_secs(600);
    let launch = Launch { silence: Some(silence), cwd: folder.path().to_owned(), ..launch(command) };
    let processes = processes(folder.path());
    // While a thread of the runtime is busy, the clock stands still unless it is told to go on.
    let (release, held) = std::sync::mpsc::channel::<()>();
    // Not for ever: what goes wrong then fails instead of hanging.
    let busy = tokio::task::spawn_blocking(move || {
        held.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    });
    let job = processes.start(launch).await.unwrap();
    let mut go = std::fs::OpenOptions::new().write(true).open(&go).unwrap();
    for said in 1..=4 {
        go.write_all(b"x\n").unwrap();
        lines(&job, said).await;
        tokio::time::advance(silence * 2 / 3).await;
    }
    go.write_all(b"x\n").unwrap();
    let ending = job.ended().await;
    assert_eq!((ending.code, ending.stopped), (Some(0), None));
    drop(release);
    assert!(busy.await.unwrap());
}

#[tokio::test]
async fn large_output_is_cut_in_the_answer_and_whole_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start(launch("seq 1 200000")).await.unwrap();
    job.ended().await;
    let text = job.text();
    assert!(text.starts_with("1\n2\n") && text.ends_with("199999\n200000\n"));
    assert!(text.chars().count() < OUTPUT_LIMIT + 300, "{}", text.len());
    let files: Vec<_> = std::fs::read_dir(folder.path().join("spilled")).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    assert!(text.contains(&files[0].path().display().to_string()));
    assert_eq!(job.whole_output(), Some(files[0].path()));
    let whole = std::fs::read_to_string(files[0].path()).unwrap();
    assert_eq!(whole.lines().count(), 200_000);
    assert!(whole.starts_with("1\n2\n3\n") && whole.ends_with("\n200000\n"));
}

#[tokio::test]
async fn output_that_fits_once_it_is_cleaned_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let command = "i=0; while [ $i -lt 5000 ]; do printf '\\033[1;31mx\\033[0m'; i=$((i+1)); done";
    let processes = processes(folder.path());
    let job = processes.start(launch(command)).await.unwrap();
    job.ended().await;
    assert_eq!(job.text(), "x".repeat(5000));
    assert_eq!(job.whole_output(), None);
    assert_eq!(std::fs::read_dir(folder.path().join("spilled")).unwrap().count(), 0);
}

#[tokio::test]
async fn binary_output_is_named_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start(launch("head -c 100000 /dev/zero")).await.unwrap();
    job.ended().await;
    let text = job.text();
    assert!(text.starts_with("[Binary output, 100000 bytes; all of it is in "), "{text}");
}

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_gigabyte_runs_in_flat_memory() {
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment::new(std::env::vars_os(), &Withheld::default());
    let spills = SpillFolder::new(folder.path()).with_file_limit(1024 * 1024);
    let processes = Processes::new(ProcessSettings::new(environment, spills, sandbox(folder.path())));
    let before = resident_kilobytes();
    let job = processes.start(launch("yes | head -c 1000000000")).await.unwrap();
    let ending = job.ended().await;
    let grown = resident_kilobytes().saturating_sub(before);
    assert_eq!(ending.code, Some(0));
    // Alone it is two or three megabytes; other tests run beside it in the same process.
    assert!(grown < 100_000, "{grown} kB more");
    assert!(job.text().contains("of 1000000000 bytes are shown; as much as a file may hold"));
}

#[tokio::test]
async fn a_storm_does_not_prevent_the_stop() {
    stop_family("echo $$; exec yes", 1).await;
}

#[tokio::test]
async fn two_hundred_commands_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let mut jobs: Vec<Arc<Job>> = Vec::new();
    for n in 0..200 {
        jobs.push(processes.start(launch(&format!("echo {n}; exit {}", n % 5))).await.unwrap());
    }
    for (n, job) in jobs.iter().enumerate() {
        assert_eq!(job.ended().await.code, Some((n % 5) as i32));
        assert_eq!(job.text(), format!("{n}\n"));
    }
}

#[tokio::test]
async fn the_background_ends_with_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let job = processes.start_background(launch("sleep 1000 & echo $!; echo $$; wait")).await.unwrap();
    let family = numbers(&lines(&job, 2).await);
    processes.shutdown().await;
    assert!(family.iter().all(|id| !is_alive(*id)));

    let dropped = self::processes(folder.path());
    let job = dropped.start_background(launch("sleep 1000 & echo $!; echo $$; wait")).await.unwrap();
    let family = numbers(&lines(&job, 2).await);
    drop(dropped);
    job.over().await;
    assert!(family.iter().all(|id| !is_alive(*id)));
}

#[tokio::test]
async fn a_background_that_is_taken_over_is_listed_goes_on_and_ends_with_its_new_session() {
    let folder = tempfile::tempdir().unwrap();
    let before = processes(folder.path());
    let job = before.start_background(launch("echo $$; exec sleep 1000")).await.unwrap();
    let family = numbers(&lines(&job, 1).await);
    let (between, after) = (processes(folder.path()), processes(folder.path()));
    between.adopt(before);
    after.adopt(between);
    assert!(after.find(job.id).is_some() && after.list().len() == 1);
    assert!(family.iter().all(|id| is_alive(*id)));
    after.shutdown().await;
    assert!(family.iter().all(|id| !is_alive(*id)));
}

#[tokio::test]
async fn the_background_may_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = processes(folder.path()).settings().clone();
    settings.keep_background = true;
    let processes = Processes::new(settings);
    let job = processes.start_background(launch("exec sleep 1000")).await.unwrap();
    processes.shutdown().await;
    drop(processes);
    assert!(is_alive(job.id));
    job.stop();
    job.over().await;
}

#[test]
fn what_runs_when_the_runtime_ends_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let family = runtime.block_on(async {
        let processes = processes(folder.path());
        let job = processes.start(launch("sleep 1000 & echo $!; echo $$; wait")).await.unwrap();
        let family = numbers(&lines(&job, 2).await);
        // The session's end would end it too; here only the runtime goes.
        std::mem::forget(processes);
        family
    });
    drop(runtime);
    let begin = Instant::now();
    while family.iter().any(|id| is_alive(*id)) {
        assert!(begin.elapsed() < TEST_TIMEOUT, "{family:?}");
        std::thread::yield_now();
    }
}

/// Runs itself in another process, which starts a command and is then killed without warning.
#[tokio::test]
async fn our_sudden_death_takes_the_commands_with_it() {
    const VICTIM: &str = "CHARLA_TEST_VICTIM";
    if let Some(folder) = std::env::var_os(VICTIM) {
        let processes = processes(Path::new(&folder));
        let job = processes.start(launch("sleep 1000 & echo $!; echo $$; wait")).await.unwrap();
        let family = numbers(&lines(&job, 2).await);
        println!("\nfamily {} {}", family[0], family[1]);
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut victim = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::tests::our_sudden_death_takes_the_commands_with_it", "--nocapture"])
        .env(VICTIM, folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(victim.stdout.take().unwrap()).lines();
    let family = loop {
        let line = said.next_line().await.unwrap().unwrap();
        if let Some(family) = line.strip_prefix("family ") {
            break numbers(family);
        }
    };
    assert!(family.iter().all(|id| is_alive(*id)));
    victim.kill().await.unwrap();
    let begin = Instant::now();
    while family.iter().any(|id| is_alive(*id)) {
        assert!(begin.elapsed() < TEST_TIMEOUT, "{family:?} outlive us");
        tokio::task::yield_now().await;
    }
}
