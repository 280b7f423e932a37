//! Messages as lines through the pipes of a program.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Complaints, LONGEST, Transport, WAITING};
use crate::ports::Pipes;

/// Speaks to a program that was started.
pub(crate) fn pipe(pipes: Pipes) -> Transport {
    let (outgoing, to_send) = mpsc::channel(WAITING);
    let (heard, incoming) = mpsc::channel(WAITING);
    let mut tasks = JoinSet::new();
    tasks.spawn(write_lines(pipes.input, to_send));
    tasks.spawn(read_lines(pipes.output, heard));
    let complaints = Some(Complaints::read(pipes.errors));
    Transport { outgoing, incoming, complaints, _tasks: tasks, _holder: Some(pipes.holder) }
}

async fn write_lines(mut input: impl AsyncWrite + Unpin, mut to_send: mpsc::Receiver<Value>) {
    while let Some(message) = to_send.recv().await {
        let line = format!("{message}\n");
        // Who does not read any more has ended, or is about to: the reader tells.
        if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

/// Lines that are no JSON are skipped: many programs greet on their standard output.
async fn read_lines(output: impl AsyncRead + Unpin, heard: mpsc::Sender<Result<Value, String>>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut output).take(LONGEST as u64 + 1).read_until(b'\n', &mut line).await;
        let said = match read {
            Ok(0) => return,
            Ok(_) if line.len() > LONGEST => Err(format!("it sent a message of more than {LONGEST} bytes")),
            Ok(_) => match serde_json::from_slice(&line) {
                Ok(message) => Ok(message),
                Err(_) => continue,
            },
            Err(error) => Err(format!("it cannot be heard: {error}")),
        };
        let is_last = said.is_err();
        if heard.send(said).await.is_err() || is_last {
            return;
        }
    }
}
