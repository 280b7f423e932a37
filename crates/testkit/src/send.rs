//! Sends an answer, and breaks it where the script says so.

use std::io;

use crate::fault::Cut;
use crate::http::{Connection, reason};
use crate::reply::{Action, Framing, Response};

/// How sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// All of it; the connection can be used again.
    Whole,
    /// The script closed the connection, in an orderly way.
    Closed,
    /// The script reset the connection.
    Reset,
    /// The client went away before the end.
    ClientGone,
}

/// Sends `response`. Never fails: a client that went away is an outcome.
pub(crate) async fn send(connection: &mut Connection, response: &Response, keep_alive: bool) -> Sent {
    if response.hang {
        connection.gone().await;
        return Sent::ClientGone;
    }
    if !response.wait.is_zero() && !connection.pause(response.wait).await {
        return Sent::ClientGone;
    }
    if response.actions.first() == Some(&Action::Cut(Cut::NoAnswer)) {
        return Sent::Closed;
    }
    if connection.write(head(response, keep_alive).as_bytes()).await.is_err() {
        return Sent::ClientGone;
    }
    let mut sender = Sender { connection, framing: response.framing, drip: None, split: false };
    for action in &response.actions {
        if let Some(end) = sender.act(action).await {
            return end;
        }
    }
    sender.finish().await
}

fn head(response: &Response, keep_alive: bool) -> String {
    let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match response.framing {
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::Length(length) => head.push_str(&format!("content-length: {length}\r\n")),
    }
    if !keep_alive {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    head
}

struct Sender<'a> {
    connection: &'a mut Connection,
    framing: Framing,
    drip: Option<(usize, std::time::Duration)>,
    split: bool,
}

impl Sender<'_> {
    /// Does one thing; tells the outcome when it was the last.
    async fn act(&mut self, action: &Action) -> Option<Sent> {
        match action {
            Action::Send(bytes) => {
                let sent = self.bytes(bytes).await.unwrap_or(false);
                (!sent).then_some(Sent::ClientGone)
            }
            Action::Pause(wait) => (!self.connection.pause(*wait).await).then_some(Sent::ClientGone),
            Action::Drip { bytes, delay } => {
                self.drip = Some((*bytes, *delay));
                None
            }
            Action::SplitCharacters => {
                self.split = true;
                None
            }
            Action::Stall => {
                self.connection.gone().await;
                Some(Sent::ClientGone)
            }
            Action::Cut(cut) => Some(self.cut(*cut).await),
        }
    }

    async fn cut(&mut self, cut: Cut) -> Sent {
        match (cut, self.framing) {
            (Cut::Eof, Framing::Chunked) => self.finish().await,
            (Cut::Abort, Framing::Chunked) => {
                self.connection.write(b"40\r\ndata: {").await.ok();
                Sent::Closed
            }
            (Cut::Reset, _) => Sent::Reset,
            (Cut::Eof | Cut::Abort | Cut::NoAnswer, _) => Sent::Closed,
        }
    }

    async fn finish(&mut self) -> Sent {
        if self.framing == Framing::Chunked && self.connection.write(b"0\r\n\r\n").await.is_err() {
            return Sent::ClientGone;
        }
        Sent::Whole
    }

    /// Sends one piece of the body, in as many writes as the script wants. False when the client is gone.
    async fn bytes(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let Some((size, delay)) = self.drip else {
            let cut = if self.split { inside_character(bytes) } else { 0 };
            let (first, rest) = bytes.split_at(cut);
            self.write(first).await?;
            if cut > 0 {
                // The scheduler runs the reader in between, so that the halves do not arrive together.
                tokio::task::yield_now().await;
            }
            self.write(rest).await?;
            return Ok(true);
        };
        for piece in bytes.chunks(size) {
            self.write(piece).await?;
            if !delay.is_zero() && !self.connection.pause(delay).await {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.framing != Framing::Chunked {
            return self.connection.write(bytes).await;
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.connection.write(&chunk).await
    }
}

/// A place inside the first character of more than one byte; 0 when there is none.
fn inside_character(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte >= 0xc0).map_or(0, |at| at + 1)
}
