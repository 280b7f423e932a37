//! The least a streaming client can do: the reference for one-shot and stream cost.
//!
//! `minimal-client HOST:PORT PROMPT` posts one Chat Completions request over a plain socket and prints the
//! text deltas as they come. What is refused or cut is asked again after a wait. No TLS, no settings.

use std::borrow::Cow;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[derive(serde::Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(serde::Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Delta<'a>,
}

#[derive(Default, serde::Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(address), Some(prompt)) = (args.next(), args.next()) else {
        return Err("usage: minimal-client HOST:PORT PROMPT".into());
    };
    let body = serde_json::json!({
        "model": "bench",
        "stream": true,
        "messages": [{"role": "user", "content": prompt}],
    })
    .to_string();
    let mut out = std::io::stdout().lock();
    let mut refusals = 0;
    loop {
        let wait = match ask(&address, &body, &mut out)? {
            Outcome::Whole => break,
            Outcome::Cut => FIRST_WAIT,
            Outcome::Refused => {
                refusals += 1;
                FIRST_WAIT * (1 << (refusals - 1))
            }
        };
        writeln!(out)?;
        std::thread::sleep(wait);
    }
    writeln!(out)?;
    Ok(())
}

/// The wait after a failure; it doubles with every refusal.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// What came of one attempt.
enum Outcome {
    Whole,
    /// The stream ended before its end.
    Cut,
    /// A status that is no success.
    Refused,
}

/// One attempt.
fn ask(address: &str, body: &str, out: &mut impl Write) -> Result<Outcome, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer bench\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if !line.starts_with(b"HTTP/1.1 200") {
        return Ok(Outcome::Refused);
    }
    let mut chunked = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 || line.trim_ascii().is_empty() {
            break;
        }
        chunked |= line.to_ascii_lowercase().starts_with(b"transfer-encoding: chunked");
    }
    let mut body = Body { reader, chunked, left: 0 };
    let mut pending: Vec<u8> = Vec::new();
    let mut buffer = [0; 64 * 1024];
    let mut outcome = Outcome::Cut;
    loop {
        let read = body.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            return Ok(outcome);
        }
        pending.extend_from_slice(&buffer[..read]);
        let mut from = 0;
        while let Some(end) = pending[from..].iter().position(|b| *b == b'\n') {
            match pending[from..from + end].trim_ascii().strip_prefix(b"data: ") {
                None => {}
                Some(b"[DONE]") => outcome = Outcome::Whole,
                Some(data) => {
                    let chunk: Chunk = serde_json::from_slice(data)?;
                    for choice in chunk.choices {
                        out.write_all(choice.delta.content.unwrap_or_default().as_bytes())?;
                    }
                }
            }
            from += end + 1;
        }
        pending.drain(..from);
    }
}

/// A response body, chunked or until the end of the connection.
struct Body {
    reader: BufReader<TcpStream>,
    chunked: bool,
    left: usize,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.chunked {
            return self.reader.read(buffer);
        }
        if self.left == 0 {
            let mut line = String::new();
            while line.trim().is_empty() {
                line.clear();
                if self.reader.read_line(&mut line)? == 0 {
                    return Ok(0);
                }
            }
            self.left = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let want = self.left.min(buffer.len());
        let read = self.reader.read(&mut buffer[..want])?;
        self.left -= read;
        Ok(read)
    }
}
