//! A program that is spoken to as long as it is needed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use charla_proto::Confinement;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::capture::{Ended, Start, Variables, spawn};
use super::processes::Processes;

/// A program to speak to.
#[derive(Clone, Debug)]
pub struct CompanionCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables it gets beside those that anything gets.
    pub variables: Vec<(String, String)>,
    /// How far it reaches.
    pub confinement: Confinement,
}

/// A program that runs, and its pipes.
#[derive(Debug)]
pub struct Companion {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it says.
    pub stdout: ChildStdout,
    /// What it complains about.
    pub stderr: ChildStderr,
    /// What keeps it alive.
    pub life: CompanionLife,
}

/// Ends the program, and everything it started, when dropped.
#[derive(Debug)]
pub struct CompanionLife {
    _ended: Ended,
    _child: Child,
}

impl Processes {
    /// Starts a program to speak to. It gets no variable that looks like a secret, unless it is given that one.
    pub async fn companion(&self, command: CompanionCommand) -> io::Result<Companion> {
        let start = Start {
            program: command.program,
            arguments: command.arguments,
            cwd: command.cwd,
            confinement: command.confinement,
            variables: Variables::Bare(command.variables),
        };
        let (mut child, ended) = spawn(self, &start).await?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Companion { stdin, stdout, stderr, life: CompanionLife { _ended: ended, _child: child } })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::process::tests::{is_alive, processes};

    #[tokio::test]
    async fn it_is_spoken_to_and_ends_with_everything_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 1000 & echo $!; read line; echo \"$line $GIVEN $HOME\"; exec sleep 1000";
        let command = CompanionCommand {
            program: "sh".into(),
            arguments: ["-c", script].map(OsString::from).to_vec(),
            cwd: folder.path().to_owned(),
            variables: vec![("GIVEN".to_owned(), "token".to_owned())],
            confinement: Confinement::Asked,
        };
        let mut companion = processes(folder.path()).companion(command).await.unwrap();
        let mut lines = BufReader::new(&mut companion.stdout).lines();
        let child: i32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
        companion.stdin.write_all(b"hello\n").await.unwrap();
        let said = lines.next_line().await.unwrap().unwrap();
        assert!(said.starts_with("hello token "), "{said}");
        drop(companion);
        while is_alive(child) {
            tokio::task::yield_now().await;
        }
    }
}
