//! A program of the user's own that is asked once, such as a hook: nothing it does may hold a session up for longer than
//! its time, or fill its memory.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use charla_proto::Confinement;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::capture::{Start, TRAIL, Variables, spawn};
use super::processes::Processes;

/// A command line for bash, and what it is given.
#[derive(Clone, Debug)]
pub struct UserProgram {
    /// The command line.
    pub line: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables it gets beside the user's own, which hold no key.
    pub variables: Vec<(String, String)>,
    /// What it reads.
    pub input: Vec<u8>,
    /// How long it may take.
    pub time: Duration,
    /// How much of each of its outputs is kept; the rest is read and dropped.
    pub bytes: usize,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal,
    /// It took too long.
    Late,
}

/// What a program said.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed as errors.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub end: ProgramEnd,
}

impl Processes {
    /// Asks a program of the user's. It runs with the user's rights, or within what holds a guest in, in a group of its own;
    /// when it ends, when its time is over and when this is dropped, everything it started is ended.
    pub async fn user_program(&self, program: UserProgram) -> io::Result<ProgramOutput> {
        let start = Start {
            program: "bash".into(),
            arguments: vec!["-c".into(), program.line.into()],
            cwd: program.cwd,
            confinement: Confinement::Open,
            variables: Variables::Confined(program.variables),
        };
        let by = Instant::now() + program.time;
        let (mut child, mut ended) = spawn(self, &start).await?;
        let (stdin, pipes) = (child.stdin.take(), (child.stdout.take(), child.stderr.take()));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let talk = async {
            tokio::join!(
                async {
                    if let Some(mut stdin) = stdin {
                        // One that does not read its input is judged by what it says.
                        let _ = stdin.write_all(&program.input).await;
                    }
                },
                read(pipes.0, &mut stdout, program.bytes),
                read(pipes.1, &mut stderr, program.bytes)
            )
        };
        let status = {
            tokio::pin!(talk);
            let run = async {
                tokio::select! {
                    biased;
                    status = child.wait() => {
                        // Something else may hold the pipes: what the program itself said is there already.
                        let _ = timeout(TRAIL, talk).await;
                        status
                    }
                    _ = &mut talk => child.wait().await,
                }
            };
            timeout_at(by, run).await
        };
        ended.waited_for = status.is_ok();
        let end = match status {
            Err(_) => ProgramEnd::Late,
            Ok(status) => status?.code().map_or(ProgramEnd::Signal, ProgramEnd::Code),
        };
        Ok(ProgramOutput { stdout, stderr, end })
    }
}

/// Reads a pipe to its end and keeps the beginning; what was read so far is there when this is given up.
async fn read(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, most: usize) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = pipe.read(&mut piece).await {
        let left = most.saturating_sub(kept.len());
        kept.extend(piece.iter().take(length.min(left)));
    }
}
