//! `charla serve` as a process, and requests to it over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{PATIENCE, Place};

/// A server that runs until it is dropped.
pub struct Served {
    child: Child,
    /// Host and port.
    pub address: String,
    /// The one-time code of the link it printed.
    pub code: String,
    pub token: String,
}

impl Served {
    /// Starts a server on a free port.
    pub fn start(place: &Place) -> Self {
        Self::at(place, "127.0.0.1:0")
    }

    /// Starts a server at this address.
    pub fn at(place: &Place, address: &str) -> Self {
        Self::with(place, &["--listen", address])
    }

    /// Starts a server with these arguments.
    pub fn with(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.process(&[&["serve"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let (address, code) = link.trim().split_once("://").unwrap().1.split_once("/sign-in#").unwrap();
        let token = std::fs::read_to_string(place.home().join("server/token")).unwrap().trim().to_owned();
        Self { child, address: address.to_owned(), code: code.to_owned(), token }
    }

    /// Kills it and starts another one in its place.
    pub fn restart(&mut self, place: &Place) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        *self = Self::at(place, &self.address.clone());
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.address.clone()
    }

    /// The most memory that it has had at once, in KiB.
    pub fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to end, and waits until it has: its exit code.
    pub fn end(mut self) -> Option<i32> {
        self.signal(rustix::process::Signal::TERM);
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// A request with nothing but what is given here.
    pub fn bare(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has said no already may have closed.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A request with these headers.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let address = &self.address;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        self.bare(&head, body)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", &format!("/api/v1{path}"), &[("authorization", &self.bearer())], b"")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", &format!("/api/v1{path}"), &[("authorization", &self.bearer())], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, body, &[])
    }

    pub fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let bearer = self.bearer();
        let mut all = vec![("authorization", bearer.as_str()), ("content-type", "application/json")];
        all.extend_from_slice(headers);
        self.request("POST", &format!("/api/v1{path}"), &all, body.to_string().as_bytes())
    }

    /// The same server as somebody else sees it who has this token.
    pub fn with_token(&self, token: &str) -> Client<'_> {
        Client { served: self, token: token.to_owned() }
    }

    /// Begins a session with a prompt; its id.
    pub fn begin(&self, prompt: &str) -> String {
        self.with_token(&self.token).begin(prompt)
    }

    /// Events of this session after a record.
    pub fn events(&self, session: &str, after: u64) -> Events {
        self.with_token(&self.token).events(session, after)
    }

    /// The overview as it changes.
    pub fn overview(&self) -> Events {
        self.with_token(&self.token).overview()
    }

    /// The questions that wait, once there are this many.
    pub fn questions(&self, count: usize) -> Vec<Value> {
        self.with_token(&self.token).questions(count)
    }
}

/// Somebody with a token.
pub struct Client<'a> {
    pub served: &'a Served,
    pub token: String,
}

impl Client<'_> {
    /// A request with a JSON body.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.served.request(method, &format!("/api/v1{path}"), &headers, body.to_string().as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &Value::Null)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &Value::Null)
    }

    /// Begins a session with a prompt; its id.
    pub fn begin(&self, prompt: &str) -> String {
        let content = json!({"role": "user", "parts": [{"text": prompt}]});
        let created = self.post("/sessions", &json!({"model": "openai/gpt-test", "prompt": content}));
        assert_eq!(created.status, 201, "{}", created.text());
        created.json()["session"].as_str().unwrap().to_owned()
    }

    /// Events of this session after a record.
    pub fn events(&self, session: &str, after: u64) -> Events {
        Events::read(self.stream(&format!("/sessions/{session}/events"), after))
    }

    /// The connection on which events come.
    pub fn stream(&self, path: &str, after: u64) -> TcpStream {
        let (address, token) = (&self.served.address, &self.token);
        let mut stream = self.served.connect();
        let head = format!(
            "GET /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             last-event-id: {after}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The overview as it changes.
    pub fn overview(&self) -> Events {
        Events::read(self.stream("/events", 0))
    }

    /// The questions that wait, once there are this many.
    pub fn questions(&self, count: usize) -> Vec<Value> {
        let begin = Instant::now();
        loop {
            let approvals = self.get("/approvals").json()["approvals"].as_array().unwrap().clone();
            if approvals.len() == count {
                return approvals;
            }
            assert!(begin.elapsed() < PATIENCE, "{} questions, not {count}: {approvals:?}", approvals.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        let mut body = Vec::new();
        // A connection that is cut leaves what came until then.
        let _ = reader.read_to_end(&mut body);
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { joined(&body) } else { body };
        Self { status, headers, body }
    }

    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }
}

/// A body that came in pieces, each behind a line with its length, as far as it came.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let piece = &rest[end + 2..];
        body.extend_from_slice(&piece[..length.min(piece.len())]);
        match piece.get(length + 2..) {
            Some(after) if length > 0 => rest = after,
            _ => break,
        }
    }
    body
}

/// The status of an answer that may never end.
pub fn status_of(stream: TcpStream) -> u16 {
    head(&mut BufReader::new(stream)).0
}

fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let status = lines.first().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
    let headers = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
    (status, headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect())
}

/// Server-sent events as they come.
pub struct Events {
    reader: BufReader<TcpStream>,
}

/// One event.
#[derive(Debug)]
pub struct Event {
    pub name: String,
    pub id: Option<u64>,
    pub data: Value,
}

impl Events {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let (status, _) = head(&mut reader);
        assert_eq!(status, 200);
        Self { reader }
    }

    /// The next event but heartbeats; nothing when the stream has ended. Each event is one chunk of the answer.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let mut size = String::new();
            self.reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).ok()?;
            let text = String::from_utf8(chunk).unwrap();
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
            let name = field("event: ").unwrap().to_owned();
            let data = serde_json::from_str(field("data: ").unwrap()).unwrap();
            let id = field("id: ").map(|id| id.parse().unwrap());
            if name != "heartbeat" {
                return Some(Event { name, id, data });
            }
        }
    }

    /// The next event of this name.
    pub fn until_named(&mut self, name: &str) -> Event {
        std::iter::from_fn(|| self.next()).find(|event| event.name == name).unwrap()
    }

    /// Events until a record of this kind, that included.
    pub fn until(&mut self, kind: &str) -> Vec<Event> {
        let mut seen = Vec::new();
        while let Some(event) = self.next() {
            let found = event.data["kind"] == kind;
            seen.push(event);
            if found {
                return seen;
            }
        }
        panic!("the stream ended before {kind}: {seen:?}");
    }
}
