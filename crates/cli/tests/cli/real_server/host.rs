//! A real llama.cpp server that is not Charla's, and a wire tap before it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Where `./test` installs the engine and the model.
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.test-env/cache/local");

/// The server's process. It ends when this is dropped, and with the tests however they end.
pub struct LlamaServer {
    child: Child,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    _line: ChildStdin,
}

impl LlamaServer {
    /// Starts a server and waits until it listens.
    pub fn start(window: u32) -> Self {
        let engine = installed(|name| name.starts_with("xllamacpp-"), Path::new(INSTALLED));
        let model = installed(|name| name.ends_with(".gguf"), &Path::new(INSTALLED).join("models"));
        let template = include_str!("template.jinja");
        let wanted = json!({"model": model, "window": window, "template": template}).to_string();
        let mut child = Command::new("python3")
            .args(["-s", "-B", "-c", include_str!("serve.py"), &wanted])
            .env("PYTHONPATH", engine)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "the server did not start: {url}");
        let _line = child.stdin.take().unwrap();
        Self { child, url: url.trim().to_owned(), _line }
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The state of its one slot.
    pub fn slot(&self) -> Value {
        let mut stream = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        stream.write_all(b"GET /slots HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str::<Value>(body).unwrap()[0].take()
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn installed(is_it: impl Fn(&str) -> bool, folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let mut found = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_it));
    let Some(found) = found.next() else {
        panic!("the engine is not installed: run ./test, which sets it up");
    };
    found.path().canonicalize().unwrap()
}

/// What a client said on one connection.
type Heard = Arc<Mutex<Vec<u8>>>;

/// Passes everything on to a server and back, unchanged, and keeps what was asked.
pub struct Tap {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Tap {
    pub fn before(server: &LlamaServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = server.url.trim_start_matches("http://").to_owned();
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let tapped = heard.clone();
        // Ends with the test's process; until then it holds nothing but a port.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&upstream) else { continue };
                let bytes = Heard::default();
                tapped.lock().unwrap().push(bytes.clone());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(from, to, |piece| bytes.lock().unwrap().extend(piece)));
                std::thread::spawn(move || pass(server, client, |_| {}));
            }
        });
        Self { url, heard }
    }

    /// The bodies of the chat requests so far that hold these words, in order.
    pub fn chats(&self, words: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let bodies = heard.iter().flat_map(|bytes| bodies(&bytes.lock().unwrap()));
        bodies.filter(|body| body["messages"].to_string().contains(words)).collect()
    }
}

/// Copies until one side ends, then ends the other.
fn pass(mut from: TcpStream, mut to: TcpStream, mut hear: impl FnMut(&[u8])) {
    let mut piece = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        hear(&piece[..count]);
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}

/// The JSON bodies of the requests in these bytes.
fn bodies(mut bytes: &[u8]) -> Vec<Value> {
    let mut bodies = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        let Some(body) = bytes.get(end + 4..end + 4 + length) else { break };
        bodies.extend(serde_json::from_slice::<Value>(body).ok());
        bytes = &bytes[end + 4 + length..];
    }
    bodies
}
