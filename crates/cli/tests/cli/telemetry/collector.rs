//! A collector: takes requests over a real socket and keeps what they say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// How it treats who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Takes,
    Refuses(u16),
    /// It reads and never answers.
    Silent,
    /// It closes every connection at once.
    Closes,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Value,
}

pub struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || serve(stream, manner, &kept));
            }
        });
        Self { address, requests }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// All that was told, as one text.
    pub fn text(&self) -> String {
        self.requests().iter().map(|request| format!("{}\n{}\n", request.head, request.body)).collect()
    }

    pub fn spans(&self) -> Vec<Value> {
        self.told("/v1/traces", "/resourceSpans/0/scopeSpans/0/spans")
    }

    pub fn metrics(&self) -> Vec<Value> {
        self.told("/v1/metrics", "/resourceMetrics/0/scopeMetrics/0/metrics")
    }

    fn told(&self, path: &str, place: &str) -> Vec<Value> {
        let requests = self.requests();
        let meant = requests.iter().filter(|request| request.head.starts_with(&format!("POST {path} ")));
        meant.flat_map(|request| request.body.pointer(place).unwrap().as_array().unwrap().clone()).collect()
    }
}

fn serve(mut stream: TcpStream, manner: Manner, kept: &Mutex<Vec<Request>>) {
    if manner == Manner::Closes {
        return;
    }
    let mut bytes = Vec::new();
    while let Some(request) = next(&mut stream, &mut bytes) {
        kept.lock().unwrap().push(request);
        let status = match manner {
            Manner::Refuses(status) => status,
            Manner::Silent => continue,
            Manner::Takes | Manner::Closes => 200,
        };
        let head =
            format!("HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

/// The next whole request of a connection.
fn next(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Request> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
            let length = head.lines().find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:").map(|text| text.trim().parse().unwrap())
            });
            let whole = end + 4 + length.unwrap_or(0_usize);
            if bytes.len() >= whole {
                let body = serde_json::from_slice(&bytes[end + 4..whole]).unwrap();
                bytes.drain(..whole);
                return Some(Request { head, body });
            }
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    }
}

/// The attribute of a span, a point or a resource, of whatever kind it is.
pub fn attribute(of: &Value, name: &str) -> Value {
    let all = of["attributes"].as_array().into_iter().flatten();
    let found = all.filter(|attribute| attribute["key"] == name);
    let values = found.filter_map(|attribute| attribute["value"].as_object()?.values().next().cloned());
    values.last().unwrap_or_default()
}

/// The metric of this name.
pub fn named<'a>(metrics: &'a [Value], name: &str) -> &'a Value {
    metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}
