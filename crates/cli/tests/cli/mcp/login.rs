//! Logging in to a server, against an authority on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::place::Place;

/// An authority and the server behind it, ended with the test.
struct Authority(Child, u16);

impl Authority {
    fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", include_str!("authority.py")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim().parse().unwrap())
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a browser does with an address of this machine: the whole answer.
fn browse(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    // In one piece: whoever has read enough may hang up.
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_person_logs_in_once_and_the_login_is_renewed() {
    let authority = Authority::start();
    let server = json!({"mcpServers": {"s": {"url": format!("http://127.0.0.1:{}/mcp", authority.1)}}});
    let place = Place::new().settings(&server.to_string());
    let refused = place.run(&["mcp", "list"]);
    assert!(refused.out.contains("status 401 (it wants a login"), "{}", refused.out);

    let mut login = place.spawn(&["mcp", "login", "s"]);
    let mut said = BufReader::new(login.stderr.take().unwrap()).lines();
    let url =
        said.find_map(|line| Some(line.unwrap()).filter(|line| line.contains("/auth/authorize?"))).unwrap();
    // A stranger without the state changes nothing.
    let back = url.split("redirect_uri=").nth(1).unwrap().split('&').next().unwrap();
    let back = back.replace("%3A", ":").replace("%2F", "/");
    assert!(browse(&format!("{back}/?code=evil&state=wrong")).contains("Nothing to see"));
    let answer = browse(url.trim());
    let location = answer.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    assert!(browse(location.trim()).contains("You are logged in"));
    assert!(login.wait().unwrap().success());

    let keys = std::fs::read_to_string(place.home().join("keys.json")).unwrap();
    assert!(keys.contains("token-"), "{keys}");
    // The first start uses the token up; the second renews it.
    for _ in 0..2 {
        let listed = place.run(&["mcp", "list"]);
        assert_eq!(listed.out, "s  ready, 1 tool\n", "{}", listed.err);
    }
    assert_ne!(std::fs::read_to_string(place.home().join("keys.json")).unwrap(), keys);
    assert_eq!(place.run(&["mcp", "logout", "s"]).code, Some(0));
    assert!(place.run(&["mcp", "list"]).out.contains("status 401"));
}

#[test]
fn only_servers_at_an_address_are_logged_in_to() {
    let place = Place::new().settings(r#"{"mcpServers": {"s": {"command": "x"}}}"#);
    for (name, why) in [("s", "it is a program"), ("t", "it is not in the settings")] {
        let run = place.run(&["mcp", "login", name]);
        assert!(run.code != Some(0) && run.err.contains(why), "{}", run.err);
    }
}
