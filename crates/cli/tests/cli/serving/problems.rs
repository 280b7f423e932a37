//! Whatever is wrong with a request, at whichever route: a problem document says so.

use charla_testkit::Script;
use serde_json::{Value, json};

use super::client::{Answer, Served};
use super::matrix::{filled, operations};
use super::place;
use crate::place::server;

fn is_problem(answer: &Answer, what: &str) {
    assert!(answer.status >= 400, "{what}: {}", answer.status);
    assert_eq!(
        answer.header("content-type"),
        "application/problem+json",
        "{what}: {} {}",
        answer.status,
        answer.text()
    );
    let problem: Value = answer.json();
    assert_eq!(problem["status"], answer.status, "{what}");
    let said = |name: &str| problem[name].as_str().is_some_and(|text| !text.is_empty());
    assert!(said("kind") && said("detail"), "{what}: {problem}");
}

/// A head without its end, and the body.
fn sent(served: &Served, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
    let (address, token) = (&served.address, &served.token);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{headers}\r\n"
    );
    served.bare(&head, body)
}

#[test]
fn every_error_of_every_route_is_a_problem_document() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let served = Served::start(&place);
    let document = served.request("GET", "/api/v1/openapi.json", &[], b"").json();
    let created = served.post("/sessions", &json!({"model": "openai/gpt-test"})).json();
    let session = created["session"].as_str().unwrap().to_owned();
    for operation in operations(&document) {
        let (name, method) = (operation.name.as_str(), operation.method.as_str());
        let path = format!("/api/v1{}", filled(&operation.path, &session));
        let try_it = |what: &str, method: &str, path: &str, headers: &str, body: &[u8]| {
            is_problem(&sent(&served, method, path, headers, body), &format!("{name}: {what}"));
        };
        is_problem(&served.request("PATCH", &path, &[], b""), name);
        try_it("an unknown method", "BREW", &path, "", b"");
        try_it("too large a body", method, &path, "content-length: 99999999999\r\n", b"");
        try_it("no length", method, &path, "content-length: many\r\n", b"");
        try_it("a large head", method, &path, &format!("x-large: {}\r\n", "x".repeat(90_000)), b"");
        try_it("many fields", method, &path, &"x-field: 1\r\n".repeat(500), b"");
        let odd = served.bare(
            &format!("{method} {path} HTTP/1.1\r\nhost: elsewhere.example\r\nconnection: close\r\n\r\n"),
            b"",
        );
        is_problem(&odd, &format!("{name}: another name"));
        let elsewhere = sent(&served, method, &format!("http://elsewhere.example{path}"), "", b"");
        is_problem(&elsewhere, &format!("{name}: another name in its target"));
        assert_eq!(elsewhere.status, 421, "{name}");
        if document_role(&document, name) {
            is_problem(&served.request(method, &path, &[], b"{}"), &format!("{name}: nobody"));
        }
        if operation.path.contains('{') {
            try_it(
                "no text in the path",
                method,
                &format!("/api/v1{}", filled(&operation.path, "%ff")),
                "",
                b"",
            );
        }
        if method == "POST" && takes_a_body(&document, name) {
            let bodies: [&[u8]; 7] =
                [b"{", b"[]", b"null", b"\xff\xfe", b"{\"a\": \xff}", b"\"text\"", b"{\"no_such_field\": 1}"];
            for body in bodies {
                try_it("a bad body", method, &path, &format!("content-length: {}\r\n", body.len()), body);
            }
            let plain = "content-type: text/plain\r\ncontent-length: 2\r\n";
            let answer = sent(&served, method, &path, plain, b"{}");
            is_problem(&answer, name);
            assert_eq!(answer.status, 415, "{name}");
        }
    }
    for query in ["/records?after=x", "/records?after=%ff", "/events?after=-1"] {
        is_problem(&served.get(&format!("/sessions/{session}{query}")), query);
    }
    let misspelt = served.delete(&format!("/sessions/{session}?sequence=1"));
    is_problem(&misspelt, "an unknown parameter");
    assert_eq!(misspelt.status, 400, "{}", misspelt.text());
    for path in ["/nothing", "/api/v1", "/api/v1/nothing", "/api/v2/sessions", "/page/%ff", "/%00"] {
        is_problem(&served.request("GET", path, &[], b""), path);
    }
    for path in ["/", "/sign-in", "/page/main.js"] {
        is_problem(&served.request("POST", path, &[], b""), path);
    }
    for nonsense in ["GET\r\n\r\n", "\u{1}\u{2}\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"] {
        is_problem(&served.bare(nonsense, b""), nonsense);
    }
    assert_eq!(served.get("/me").status, 200, "it lives on");
}

fn operation<'d>(document: &'d Value, name: &str) -> &'d Value {
    let paths = document["paths"].as_object().unwrap().values();
    let mut all = paths.flat_map(|methods| methods.as_object().unwrap().values());
    all.find(|operation| operation["operationId"] == name).unwrap()
}

fn document_role(document: &Value, name: &str) -> bool {
    operation(document, name)["x-charla-role"].is_string()
}

fn takes_a_body(document: &Value, name: &str) -> bool {
    operation(document, name)["requestBody"].is_object()
}
