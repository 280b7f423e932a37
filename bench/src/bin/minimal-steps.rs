//! The least an agent can do: the reference for tool steps.
//!
//! `minimal-steps HOST:PORT PROMPT` asks over Chat Completions, reads the files that `read_file` calls name, sends
//! their contents back with the whole history, and goes on until an answer has no call. One connection, no
//! streaming, no journal. Prints the last answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

#[derive(serde::Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [Value],
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(address), Some(prompt)) = (args.next(), args.next()) else {
        return Err("usage: minimal-steps HOST:PORT PROMPT".into());
    };
    let mut connection = BufReader::new(TcpStream::connect(&address)?);
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    loop {
        let body = serde_json::to_string(&Request { model: "bench", messages: &messages })?;
        let answer = post(&mut connection, &address, &body)?;
        let message = answer["choices"][0]["message"].clone();
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            println!("{}", message["content"].as_str().unwrap_or_default());
            return Ok(());
        }
        messages.push(message);
        for call in calls {
            let args: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default())?;
            let text = std::fs::read_to_string(args["file_path"].as_str().unwrap_or_default())?;
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": text}));
        }
    }
}

fn post(
    connection: &mut BufReader<TcpStream>,
    address: &str,
    body: &str,
) -> Result<Value, Box<dyn std::error::Error>> {
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer bench\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 {
            return Err("the server hung up".into());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = Some(value.trim().parse::<usize>()?);
        }
    }
    let mut answer = vec![0; length.ok_or("the answer has no length")?];
    connection.read_exact(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}
