//! Who gets in.

use charla_testkit::{Script, Server};
use serde_json::{Value, json};

use super::client::{Answer, Served};
use super::{place, write};
use crate::place::{Place, server};

fn sign_in(served: &Served, code: &str) -> Answer {
    let body = json!({ "code": code }).to_string();
    let origin = format!("http://{}", served.address);
    served.request("POST", "/api/v1/sign-in", &[("origin", &origin)], body.as_bytes())
}

/// The cookie that a browser would send.
fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

fn me(served: &Served, cookie: &str) -> u16 {
    served.request("GET", "/api/v1/me", &[("cookie", cookie)], b"").status
}

fn quiet() -> (Server, Place) {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    (server, place)
}

#[test]
fn a_link_signs_one_browser_in_once_and_it_stays_so_when_the_server_starts_again() {
    let (_server, place) = quiet();
    let served = Served::start(&place);
    let signed = sign_in(&served, &served.code);
    assert_eq!(signed.status, 200, "{}", signed.text());
    let set = signed.header("set-cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    let again = sign_in(&served, &served.code);
    assert_eq!((again.status, again.header("set-cookie")), (401, ""), "a link works once");
    let cookie = cookie(&signed);
    assert_eq!(me(&served, &cookie), 200);
    let address = served.kill();
    let served = Served::at(&place, &address);
    assert_eq!(me(&served, &cookie), 200, "after a restart");
    let origin = format!("http://{}", served.address);
    let headers = [("cookie", cookie.as_str()), ("origin", &origin)];
    assert_eq!(served.request("POST", "/api/v1/sign-out", &headers, b"").status, 204);
    assert_eq!(me(&served, &cookie), 401, "after signing out");
}

#[test]
fn the_word_before_a_token_is_written_in_any_case() {
    let (_server, place) = quiet();
    let served = Served::start(&place);
    let with = |scheme: &str| {
        let header = format!("{scheme} {}", served.token);
        served.request("GET", "/api/v1/me", &[("authorization", &header)], b"").status
    };
    assert_eq!(["Bearer", "bearer", "BEARER", "Basic"].map(with), [200, 200, 200, 401]);
}

#[test]
fn nobody_gets_in_without_a_token_on_this_machine_either() {
    let (_server, place) = quiet();
    let served = Served::start(&place);
    for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("cookie", "charla-1=x")]] {
        let answer = served.request("GET", "/api/v1/sessions", headers, b"");
        assert_eq!(answer.status, 401, "{headers:?}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.json()["kind"], "unauthorized");
    }
    assert_eq!(served.get("/sessions").status, 200);
}

#[test]
#[cfg(unix)]
fn what_is_kept_of_secrets_only_the_user_reads_and_no_sign_in_is_kept_in_clear() {
    use std::os::unix::fs::PermissionsExt;
    let (_server, place) = quiet();
    let served = Served::start(&place);
    let signed = sign_in(&served, &served.code);
    let secret = cookie(&signed).split_once('=').unwrap().1.to_owned();
    let folder = place.home().join("server");
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for name in ["token", "accounts.json"] {
        assert_eq!(folder.join(name).metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert!(!std::fs::read_to_string(folder.join("accounts.json")).unwrap().contains(&secret));
}

#[test]
fn a_server_that_others_could_reach_without_encryption_does_not_start() {
    let (_server, place) = quiet();
    let run = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("--plain-http") && run.out.is_empty(), "{}{}", run.out, run.err);
    let run = place.run(&["serve", "--listen", "127.0.0.1:0", "--origin", "charla.example.org"]);
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("is no origin"), "{}", run.err);
}

#[test]
fn what_was_decided_is_in_a_log_that_tells_when_it_was_changed() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    sign_in(&served, "guess");
    sign_in(&served, &served.code);
    let session = served.begin("a secret plan");
    let question = served.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    served.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
    served.events(&session, 0).until("turn_ended");
    let path = place.home().join("server/audit.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str)> =
        lines.iter().map(|line| (line["who"].as_str().unwrap(), line["what"].as_str().unwrap())).collect();
    let decided = ["create_session", "result", "answer", "result"].map(|what| ("web", what));
    assert_eq!(told, [[("", "sign_in"); 2].as_slice(), &decided].concat());
    assert_eq!((&lines[0]["about"]["status"], &lines[1]["about"]["status"]), (&json!(401), &json!(200)));
    let about = &lines[4]["about"];
    assert_eq!((&about["approval"], &about["outcome"]), (&json!(question), &json!("proceed_once")));
    assert_eq!(about.as_object().unwrap().len(), 4, "with the tool and a hash of what was shown: {about}");
    assert!(!log.contains("secret plan") && !log.contains(&served.code), "{log}");
    let run = place.run(&["audit", "verify"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "6 entries, the chain is whole\n"), "{}", run.err);
    std::fs::write(&path, log.replace("proceed_once", "cancel")).unwrap();
    let run = place.run(&["audit", "verify"]);
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("line 5: it was changed"), "{}", run.err);
}

#[test]
fn what_cannot_be_logged_is_not_done() {
    let (_server, place) = quiet();
    std::fs::create_dir_all(place.home().join("server/audit.jsonl")).unwrap();
    let served = Served::start(&place);
    assert_eq!(sign_in(&served, &served.code).status, 503);
    assert_eq!(served.post("/sessions", &json!({})).json()["kind"], "audit");
    assert_eq!(served.get("/sessions").json()["sessions"], json!([]), "reading goes on");
}

#[test]
fn guessing_codes_is_slow() {
    let (_server, place) = quiet();
    let served = Served::start(&place);
    let tried: Vec<u16> = (0..40).map(|_| sign_in(&served, "guess").status).collect();
    assert!(tried.contains(&429) && tried.iter().all(|status| matches!(status, 401 | 429)), "{tried:?}");
    assert_eq!(served.get("/me").status, 200, "who has a token is not slowed down");
}
