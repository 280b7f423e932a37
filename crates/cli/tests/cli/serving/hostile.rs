//! Requests that mean harm, or nothing.

use std::io::{Read, Write};

use charla_testkit::Script;
use serde_json::json;

use super::client::Served;
use super::place;
use crate::place::{Place, server};

fn served() -> (charla_testkit::Server, Place, Served) {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let served = Served::start(&place);
    (server, place, served)
}

/// The cookie of a browser that is signed in.
fn cookie(served: &Served) -> String {
    let origin = format!("http://{}", served.address);
    let body = json!({ "code": served.code }).to_string();
    let signed = served.request("POST", "/api/v1/sign-in", &[("origin", &origin)], body.as_bytes());
    signed.header("set-cookie").split(';').next().unwrap().to_owned()
}

#[test]
fn another_name_for_this_machine_is_not_answered_to() {
    let (_server, _place, served) = served();
    for host in ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example", ""] {
        for path in ["/", "/api/v1/health", "/page/main.js"] {
            let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
            assert_eq!(served.bare(&head, b"").status, 421, "{host} {path}");
        }
    }
}

#[test]
fn a_page_of_another_origin_changes_nothing_and_reads_nothing() {
    let (_server, _place, served) = served();
    let cookie = cookie(&served);
    let own = format!("http://{}", served.address);
    let attempt = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        served.request(method, path, &all, b"{}").status
    };
    let post = |headers: &[(&str, &str)]| attempt("POST", "/api/v1/links", headers);
    assert_eq!(post(&[("origin", &own)]), 201);
    assert_eq!(post(&[("origin", "https://evil.example")]), 403);
    assert_eq!(post(&[("origin", "null")]), 403);
    assert_eq!(post(&[("origin", &own), ("origin", "https://evil.example")]), 403);
    assert_eq!(post(&[]), 403, "a browser that does not say where it comes from");
    assert_eq!(post(&[("sec-fetch-site", "cross-site")]), 403);
    assert_eq!(post(&[("sec-fetch-site", "same-origin")]), 201);
    let get = |headers: &[(&str, &str)]| attempt("GET", "/api/v1/sessions", headers);
    assert_eq!(get(&[("origin", "https://evil.example")]), 403);
    assert_eq!(get(&[("sec-fetch-site", "cross-site")]), 403);
    assert_eq!(get(&[]), 200);
    let options = served.request("OPTIONS", "/api/v1/sessions", &[("origin", "https://evil.example")], b"");
    assert_eq!(options.status, 405);
    assert_eq!(options.header("access-control-allow-origin"), "", "other origins are allowed nothing");
}

#[test]
fn every_answer_tells_a_browser_what_it_must_not_do() {
    let (_server, _place, served) = served();
    for path in ["/", "/sign-in", "/page/main.js", "/api/v1/health", "/api/v1/sessions", "/nothing"] {
        let answer = served.request("GET", path, &[], b"");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert!(matches!(answer.header("cache-control"), "no-store" | "no-cache"), "{path}");
    }
}

#[test]
fn paths_lead_to_sessions_and_to_nothing_else() {
    let (_server, place, served) = served();
    std::fs::write(place.path().join("secret.jsonl"), "secret").unwrap();
    let ids = ["..%2f..%2fsecret", "%2e%2e", "..", ".", "a%00b", "%2fetc%2fpasswd", "x%0d%0ay: z", "%ff"];
    for id in ids {
        for tail in ["", "/records", "/snapshot", "/events"] {
            let answer = served.get(&format!("/sessions/{id}{tail}"));
            assert!(matches!(answer.status, 400 | 404), "{id}{tail}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains("secret\n"), "{id}{tail}");
        }
    }
    for path in ["/page/../Cargo.toml", "/page/%2e%2e/x", "/page/", "/../../etc/passwd", "//etc/passwd"] {
        assert!(matches!(served.request("GET", path, &[], b"").status, 400 | 404), "{path}");
    }
    let answer = served.post("/approvals/..%2fx:4", &json!({"outcome": "proceed_once"}));
    assert_eq!(answer.status, 404, "{}", answer.text());
}

#[test]
fn nonsense_is_refused_and_the_server_lives_on() {
    let (_server, _place, served) = served();
    let bearer = format!("Bearer {}", served.token);
    let headers = [("authorization", bearer.as_str())];
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{\"mode\": \"king\"}",
        "{\"unknown\": 1}",
        "{\"workspace\": \"relative\"}",
        "\u{0}",
    ] {
        let answer = served.request("POST", "/api/v1/sessions", &headers, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(served.request("POST", "/api/v1/sessions", &headers, deep.as_bytes()).status, 400);
    let made = served.post("/sessions", &json!({"model": "openai/gpt-test"})).json();
    let records = format!("/sessions/{}/records?after=-1", made["session"].as_str().unwrap());
    assert_eq!(served.get(&records).status, 400);
    for text in ["GET\r\n\r\n", "\u{16}\u{3}\u{1}", "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n"] {
        assert!(matches!(served.bare(text, b"").status, 0 | 400), "{text:?}");
    }
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    assert!(matches!(served.bare(&long, b"").status, 0 | 414 | 431));
    let key = "k".repeat(300);
    let answer = served.post_with("/links", &json!({}), &[("idempotency-key", &key)]);
    assert_eq!(answer.status, 400);
    assert_eq!(served.get("/me").status, 200);
}

#[test]
fn what_is_too_large_is_not_taken() {
    let (_server, _place, served) = served();
    let (address, token) = (&served.address, &served.token);
    let head = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-length: 999999999\r\n\r\n"
    );
    let mut stream = served.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![b' '; 1024 * 1024];
    // The server answers and closes before it has taken everything.
    let sent = (0..999).take_while(|_| stream.write_all(&piece).is_ok()).count();
    assert!(sent < 100, "{sent} MiB were taken");
}

#[test]
fn a_client_that_never_finishes_its_request_is_let_go() {
    let (_server, _place, served) = served();
    let mut stream = served.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    let mut rest = Vec::new();
    // Ends, with or without words, or the test runs into its limit.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(served.get("/me").status, 200);
}

#[test]
fn nonsense_at_the_door_counts_as_an_attempt_and_fills_no_log() {
    let (_server, place, served) = served();
    let long = "x".repeat(700);
    let told = ["command", "workspace", "reason", "label", "name"];
    let body: serde_json::Map<_, _> = told.iter().map(|name| ((*name).to_owned(), json!(long))).collect();
    let body = serde_json::to_vec(&body).unwrap();
    let sign_in = |body: &[u8]| served.request("POST", "/api/v1/sign-in", &[], body).status;
    let tried: Vec<u16> = (0..30).map(|_| sign_in(&body)).collect();
    assert!(tried.iter().filter(|status| **status == 400).count() < 20, "{tried:?}");
    assert!(tried.contains(&429), "{tried:?}");
    let log = std::fs::read_to_string(place.home().join("server/audit.jsonl")).unwrap();
    assert!(log.lines().count() < 20 && log.lines().all(|line| line.len() < 600), "{log}");
}

#[test]
fn who_is_nobody_sends_little_and_a_route_without_a_body_takes_none() {
    let (_server, _place, served) = served();
    let address = &served.address;
    for (method, path) in [("POST", "sign-in"), ("GET", "health"), ("GET", "openapi.json")] {
        let head = format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 10000\r\n\r\n"
        );
        // Nothing of the body is waited for.
        assert_eq!(served.bare(&head, b"").status, 413, "{path}");
    }
}

#[test]
fn one_address_does_not_take_every_connection() {
    let (_server, _place, served) = served();
    let mut held: Vec<_> = (0..800).map(|_| served.connect()).collect();
    let last = held.last_mut().unwrap();
    // A connection that is taken stays open longer than this without a word.
    last.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let ended = match last.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert!(ended, "places are left for other addresses");
    drop(held);
}

#[test]
fn a_secret_is_told_once_and_a_repeated_request_makes_no_other() {
    let (_server, _place, served) = served();
    let key = [("idempotency-key", "k1")];
    let first = served.post_with("/tokens", &json!({"label": "one"}), &key);
    assert_eq!(first.status, 201, "{}", first.text());
    let again = served.post_with("/tokens", &json!({"label": "one"}), &key);
    assert_eq!((again.status, &again.json()["kind"]), (409, &json!("told_already")), "{}", again.text());
    assert_eq!(served.get("/tokens").json()["tokens"].as_array().unwrap().len(), 1);
    let key = [("idempotency-key", "k2")];
    assert_eq!(served.post_with("/links", &json!({}), &key).status, 201);
    assert_eq!(served.post_with("/links", &json!({}), &key).status, 409);
}
