//! HTTP itself.

use std::io::{Read, Write};

use charla_proto::WireKind;
use charla_testkit::{Script, Server};

use crate::client::{ask, connect, exchange, path, prompt, request};

#[test]
fn a_chunked_request_body_is_read() {
    let server = Server::start(Script::echo()).unwrap();
    let body = prompt(WireKind::OpenaiChat, "in pieces", false).to_string();
    let (first, second) = body.split_at(10);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x};x=y\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    let answer = exchange(&server, request.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("You said: in pieces"));
}

#[test]
fn a_connection_is_used_again() {
    let server = Server::start(Script::echo()).unwrap();
    let mut stream = connect(&server);
    let body = prompt(WireKind::OpenaiChat, "again", false).to_string();
    let request =
        format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for _ in 0..3 {
        stream.write_all(request.as_bytes()).unwrap();
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen
            .ends_with(b"\"cached_tokens\":0},\"completion_tokens_details\":{\"reasoning_tokens\":0}}}")
        {
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
            seen.push(byte[0]);
        }
        assert!(seen.starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_client_that_waits_for_permission_gets_it() {
    let server = Server::start(Script::echo()).unwrap();
    let mut stream = connect(&server);
    let body = prompt(WireKind::Anthropic, "large", false).to_string();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nexpect: 100-continue\r\nconnection: close\r\nanthropic-version: 1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut permission = [0; 25];
    stream.read_exact(&mut permission).unwrap();
    assert_eq!(&permission, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 200"), "{rest}");
}

#[test]
fn garbage_and_unknown_paths_are_refused_and_remembered() {
    let server = Server::start(Script::echo()).unwrap();
    let table: [(&[u8], u16); 6] = [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: many\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n", 413),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        (b"POST /v2/messages HTTP/1.1\r\nconnection: close\r\n\r\n", 404),
    ];
    for (request, status) in table {
        assert_eq!(exchange(&server, request).status, status, "{}", String::from_utf8_lossy(request));
    }
    assert_eq!(server.problems().len(), table.len());
    assert!(server.requests().is_empty());
}

#[test]
fn requests_are_recorded_with_key_and_order() {
    let server = Server::start(Script::echo()).unwrap();
    let keys = [
        "x-goog-api-key: k0\r\n",
        "authorization: Bearer k1\r\n",
        "authorization: Bearer k2\r\n",
        "x-api-key: k3\r\n",
    ];
    for (wire, header) in WireKind::ALL.into_iter().zip(keys) {
        let streaming = wire != WireKind::Gemini;
        let body = prompt(wire, "who", streaming);
        exchange(&server, &request(&path(wire, streaming), header, &body));
    }
    for (order, (recorded, wire)) in server.requests().iter().zip(WireKind::ALL).enumerate() {
        assert_eq!((recorded.order, recorded.wire, recorded.status), (order, wire, 200));
        assert_eq!(recorded.key.as_deref(), Some(format!("k{order}").as_str()));
        assert_eq!(recorded.streaming, wire != WireKind::Gemini);
        assert_eq!(recorded.headers.get("host"), Some("test"));
        assert_eq!(recorded.body, prompt(wire, "who", wire != WireKind::Gemini));
    }
}

#[test]
fn a_dropped_server_is_gone() {
    let server = Server::start(Script::echo()).unwrap();
    let address = server.address();
    let mut idle = connect(&server);
    ask(&server, WireKind::Gemini, &prompt(WireKind::Gemini, "hi", false));
    drop(server);
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
    assert!(std::net::TcpStream::connect(address).is_err());
}
