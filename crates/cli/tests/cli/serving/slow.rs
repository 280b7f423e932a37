//! Requests whose bodies come late: what holds is who may ask when they are there.

use std::io::Write;
use std::net::TcpStream;

use charla_testkit::Script;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::team::{PASSWORD, Team};

/// A request of which everything but the last byte was sent.
struct Late {
    stream: TcpStream,
    last: Vec<u8>,
}

impl Late {
    fn begin(client: &Client<'_>, path: &str, body: &Value) -> Self {
        let (address, token) = (&client.served.address, &client.token);
        let mut body = body.to_string().into_bytes();
        let head = format!(
            "POST /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let last = body.split_off(body.len() - 1);
        let mut stream = client.served.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // The body is asked for once it is known who sends it.
        let mut asked = [0; 25];
        std::io::Read::read_exact(&mut stream, &mut asked).unwrap();
        assert!(asked.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&asked));
        stream.write_all(&body).unwrap();
        Self { stream, last }
    }

    fn end(mut self) -> Answer {
        self.stream.write_all(&self.last).unwrap();
        Answer::read(self.stream)
    }
}

fn remove(team: &Team, name: &str) {
    assert_eq!(team.owner().delete(&format!("/users/{name}")).status, 204);
}

#[test]
fn who_is_removed_while_they_send_makes_nothing_for_whoever_is_called_the_same_later() {
    let team = Team::new(Script::new(["unused"]));
    let first = team.add("anna", "member", json!({}));
    let token = Late::begin(&first, "/tokens", &json!({"label": "left behind"}));
    let key = Late::begin(&first, "/keys", &json!({"provider": "openai", "key": "another"}));
    remove(&team, "anna");
    let second = team.add("anna", "member", json!({}));
    for late in [token, key] {
        let answered = late.end();
        assert_eq!(answered.status, 401, "{}", answered.text());
    }
    let tokens = second.get("/tokens").json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 1, "{tokens}");
}

#[test]
fn who_may_less_or_has_a_token_no_more_when_the_body_is_there_does_nothing() {
    let team = Team::new(Script::new(["unused"]));
    let admin = team.add("anna", "admin", json!({}));
    let folder = team.folder("anna");
    let user = json!({"name": "mallory", "role": "admin", "workspace": folder, "password": PASSWORD});
    let late = Late::begin(&admin, "/users", &user);
    assert_eq!(team.owner().post("/users/anna", &json!({"role": "member"})).status, 200);
    assert_eq!(late.end().status, 403);
    let late = Late::begin(&admin, "/tokens", &json!({"label": "more"}));
    let id = admin.get("/tokens").json()["tokens"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(admin.delete(&format!("/tokens/{id}")).status, 204);
    assert_eq!(late.end().status, 401);
    let users = team.owner().get("/users").json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");
}

#[test]
fn a_link_from_before_another_password_signs_nobody_in() {
    let team = Team::new(Script::new(["unused"]));
    let anna = team.add("anna", "member", json!({}));
    let link = || {
        let made = anna.post("/links", &Value::Null).json();
        made["path"].as_str().unwrap().split_once('#').unwrap().1.to_owned()
    };
    let sign_in = |code: &str| {
        let body = json!({ "code": code }).to_string();
        team.served.request("POST", "/api/v1/sign-in", &[], body.as_bytes()).status
    };
    let code = link();
    assert_eq!(sign_in(&code), 200);
    assert_eq!(sign_in(&code), 401, "once");
    let code = link();
    let other = json!({"old": PASSWORD, "new": "another long one"});
    assert_eq!(anna.post("/password", &other).status, 204);
    assert_eq!(sign_in(&code), 401);
}

#[test]
fn a_body_that_does_not_come_is_waited_for_no_longer_than_it_may_take() {
    let team = Team::new(Script::new(["unused"]));
    let mut stream = team.served.connect();
    let head = format!(
        "POST /api/v1/sign-in HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 20\r\n\r\n{{",
        team.served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let given_up = Answer::read(stream);
    assert_eq!((given_up.status, &given_up.json()["kind"]), (408, &json!("too_slow")), "{}", given_up.text());
}
