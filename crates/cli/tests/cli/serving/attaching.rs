//! A server's sessions from the command line of another machine: attached to line by line, answered, and refused.

use charla_testkit::{Failure, FailureKind, Reply, Script};

use super::client::Served;
use super::{place, write};
use crate::place::{Place, server};
use crate::terminal::Terminal;

/// Another machine, as far as Charla can tell: a home of its own, and no models.
fn laptop() -> Place {
    Place::new().variable("TERM", "dumb").variable("NO_COLOR", "1")
}

fn url(served: &Served) -> String {
    format!("http://{}", served.address)
}

#[test]
fn a_session_is_talked_with_line_by_line() {
    let server = server(Script::new([write("a.txt"), "Written.".into(), "Bye.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    served.questions(1);
    let laptop = laptop().variable("CHARLA_TOKEN", &served.token);
    let mut terminal = Terminal::start(&laptop, &["attach", &url(&served), &session]);
    terminal.wait_for("n REASON no, go on? ");
    terminal.type_in("y\n");
    terminal.wait_for("Written.");
    terminal.wait_for("> ");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    terminal.type_in("and now?\n");
    terminal.wait_for("Bye.");
    terminal.wait_for("> ");
    terminal.type_in("/quit\n");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("answered by"), "it was us: {shown}");
    assert!(shown.contains(&format!("go on with: charla attach {} {session}", url(&served))), "{shown}");
    let asked = server.requests();
    assert_eq!(asked.len(), 3);
}

#[test]
fn the_latest_session_is_one_in_which_a_model_answered() {
    let refused = Reply::from(Failure::new(FailureKind::Auth));
    let server = server(Script::new(["Hello.".into(), refused]));
    let place = place(&server);
    let served = Served::start(&place);
    let answered = served.begin("hi");
    served.events(&answered, 0).until("turn_ended");
    let failed = served.begin("fails");
    served.events(&failed, 0).until("turn_ended");
    let laptop = laptop().variable("CHARLA_TOKEN", &served.token);
    let mut terminal = Terminal::start(&laptop, &["attach", &url(&served), "latest"]);
    terminal.wait_for("> ");
    terminal.type_in("/quit\n");
    let (_, shown) = terminal.finish();
    assert!(shown.contains(&format!("charla attach {} {answered}", url(&served))), "{shown}");
}

#[test]
fn an_answer_that_the_same_person_gave_elsewhere_is_told() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = served.questions(1).remove(0);
    let laptop = laptop().variable("CHARLA_TOKEN", &served.token);
    let mut terminal = Terminal::start(&laptop, &["attach", &url(&served), &session]);
    terminal.wait_for("n REASON no, go on? ");
    let approval = question["asked"]["approval"].as_str().unwrap();
    let yes = serde_json::json!({"outcome": "proceed_once"});
    assert_eq!(served.post(&format!("/approvals/{approval}"), &yes).status, 200);
    terminal.wait_for("answered by web");
    terminal.wait_for("Written.");
}

#[test]
fn questions_of_a_server_are_listed_and_answered_and_a_late_answer_is_told_so() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    served.questions(1);
    let laptop = laptop().variable("CHARLA_TOKEN", &served.token);
    let url = url(&served);
    let listed = laptop.run(&["approvals", "--server", &url]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let id = listed.out.split_whitespace().next().unwrap().to_owned();
    assert!(id.starts_with(&session) && listed.out.contains("write_file"), "{}", listed.out);
    let (of, number) = id.split_once(':').unwrap();
    let brief = |beginning: &str| format!("{beginning}:{number}");
    let other = laptop.run(&["approvals", "answer", &brief("ffff"), "yes", "--server", &url]);
    assert_ne!(other.code, Some(0), "a question of another session: {}", other.err);
    let brief = brief(of.get(..6).unwrap());
    let answered = laptop.run(&["approvals", "answer", &brief, "yes", "--server", &url]);
    assert_eq!(answered.code, Some(0), "{}", answered.err);
    assert!(answered.err.contains("answered: write_file"), "{}", answered.err);
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    let late = laptop.run(&["approvals", "answer", &id, "no", "--server", &url]);
    assert_eq!(late.code, Some(1), "{}", late.err);
    assert!(late.err.contains("web"), "who was quicker is told: {}", late.err);
    let late = laptop.run(&["approvals", "answer", &brief, "no", "--server", &url]);
    assert!(
        late.code != Some(0) && late.err.contains("web"),
        "who won is told for a brief id, too: {}",
        late.err
    );
    assert_eq!(laptop.run(&["approvals", "--server", &url]).out, "");
}

#[test]
fn a_token_is_kept_for_its_server_alone_and_never_sent_in_clear() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let served = Served::start(&place);
    let laptop = laptop();
    let url = url(&served);
    let without = laptop.run(&["approvals", "--server", &url]);
    assert_eq!(without.code, Some(41), "{}", without.err);
    assert!(without.err.contains(&format!("charla auth set server:{url}")), "{}", without.err);
    let kept = laptop.run_with_input(&["auth", "set", &format!("server:{url}/")], served.token.clone());
    assert_eq!(kept.code, Some(0), "{}", kept.err);
    assert_eq!(laptop.run(&["approvals", "--server", &url]).code, Some(0));
    let wrong = Place::new().variable("CHARLA_TOKEN", "wrong");
    let refused = wrong.run(&["attach", &url]);
    assert_eq!(refused.code, Some(41), "{}", refused.err);
    let clear = laptop.run(&["attach", "http://charla.example.org"]);
    assert_eq!(clear.code, Some(42), "{}", clear.err);
    assert!(clear.err.contains("must be encrypted"), "{}", clear.err);
    assert_eq!(laptop.run(&["auth", "remove", &format!("server:{url}")]).code, Some(0));
    assert_eq!(laptop.run(&["approvals", "--server", &url]).code, Some(41));
    let gone = served.kill();
    let nobody = wrong.run(&["attach", &format!("http://{gone}")]);
    assert!(nobody.err.contains("cannot be reached"), "{}", nobody.err);
}
