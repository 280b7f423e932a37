//! A server's session at a terminal: shown as it streams, asked, answered, and found again when the server was gone.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, server};
use crate::serving::Served;
use crate::terminal::Terminal;

/// The last row of a card that takes keys.
const CHOICES: &str = "r no, with a reason";

fn write(name: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": name, "content": "Hello.\n"}))
}

/// Another machine, as far as Charla can tell: a home of its own, and no models.
fn laptop(served: &Served) -> Place {
    Place::new().variable("CHARLA_TOKEN", &served.token)
}

fn attach(laptop: &Place, served: &Served, session: &str) -> Terminal {
    let mut terminal = Terminal::start(laptop, &["attach", &format!("http://{}", served.address), session]);
    terminal.wait_for("›");
    terminal
}

#[test]
fn a_session_is_shown_in_the_middle_of_its_answer_stopped_and_asked_again() {
    let server = server(Script::new([Reply::new().text("Half of it").stall(), "All of it.".into()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let session = served.begin("a question from the browser");
    let mut events = served.events(&session, 0);
    events.until("turn_started");
    assert_eq!(events.next().unwrap().data["content"], "Half of it");
    let laptop = laptop(&served);
    let mut terminal = attach(&laptop, &served, &session);
    terminal.wait_for("Half of it");
    assert!(terminal.screen().contains("a question from the browser"), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches("Half of it").count(), 1, "{}", terminal.screen());
    terminal.press("\u{1b}");
    events.until("turn_ended");
    terminal.wait_without("Esc stops");
    terminal.say("and now all of it");
    terminal.wait_for("All of it.");
    terminal.press("\u{4}");
    let end = terminal.finish();
    assert_eq!(end.code, Some(0));
    assert!(end.is_restored);
    let rows = end.rows.concat();
    assert!(rows.contains(&format!("charla attach http://{} {session}", served.address)), "{rows}");
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "running", "it goes on there");
}

#[test]
fn whoever_is_at_a_terminal_is_told_that_a_server_wants_the_session_and_lets_go_of_it_by_leaving() {
    let server = server(Script::new(["Hello."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("hi");
    terminal.wait_for("Hello.");
    let served = Served::start(&place);
    let session = served.get("/sessions").json()["sessions"][0]["session"].as_str().unwrap().to_owned();
    let take = || served.post(&format!("/sessions/{session}/take"), &json!({}));
    let asked = take();
    assert_eq!((asked.status, &asked.json()["state"]), (200, &json!("asked")), "{}", asked.text());
    terminal.wait_for("web asks to go on with this session elsewhere");
    assert_eq!(
        served.get(&format!("/sessions/{session}")).json()["state"],
        "in_use",
        "it is theirs until they leave"
    );
    terminal.say("/quit");
    assert_eq!(terminal.finish().code, Some(0));
    assert_eq!(take().json()["state"], "running");
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "running");
}

#[test]
fn who_asks_for_a_session_hears_what_is_said_at_the_terminal_that_has_it() {
    let server = server(Script::new(["Hello."]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("/handover no");
    terminal.wait_for("nobody asks for the session");
    terminal.say("hi");
    terminal.wait_for("Hello.");
    let served = Served::start(&place);
    let session = served.get("/sessions").json()["sessions"][0]["session"].as_str().unwrap().to_owned();
    let take = || served.post(&format!("/sessions/{session}/take"), &json!({}));
    for (said, came) in [("/handover no", "kept"), ("/handover", "running")] {
        assert_eq!(take().json()["state"], "asked");
        terminal.wait_for("/handover no keeps it here");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let mut answered = take().json();
                while answered["state"] == "asked" {
                    answered = take().json();
                }
                answered
            });
            terminal.say(said);
            let answered = waits.join().unwrap();
            assert!(answered["kind"] == came || answered["state"] == came, "{said}: {answered}");
        });
    }
    assert_eq!(terminal.finish().code, Some(0));
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "running");
}

#[test]
fn a_turn_that_is_left_in_the_middle_for_who_asks_goes_on_at_the_server() {
    let server = server(Script::new([Reply::new().text("It begins").stall(), "It ends.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("›");
    terminal.say("hi");
    terminal.wait_for("It begins");
    let served = Served::start(&place);
    let session = served.get("/sessions").json()["sessions"][0]["session"].as_str().unwrap().to_owned();
    let take = || served.post(&format!("/sessions/{session}/take"), &json!({})).json()["state"].clone();
    assert_eq!(take(), "asked");
    terminal.wait_for("/handover no keeps it here");
    terminal.say("/handover");
    terminal.wait_for("left once the turn is over");
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "in_use", "the turn runs there");
    // Whoever does not want to wait for its end leaves at once.
    terminal.press("\u{3}");
    terminal.press("\u{3}");
    terminal.finish();
    while take() == "asked" {}
    let ended = served.events(&session, 0).until("turn_ended");
    assert_eq!(ended.last().unwrap().data["end"], "finished");
    let said = served.get(&format!("/sessions/{session}/snapshot")).json()["contents"].to_string();
    assert!(said.contains("It ends."), "{said}");
}

#[test]
fn leaving_stops_nothing_and_a_command_of_ones_own_runs_where_the_tools_do() {
    let server = server(Script::new([Reply::new().text("It goes on").stall()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let session = served.begin("think");
    let laptop = laptop(&served);
    let mut terminal = attach(&laptop, &served, &session);
    terminal.wait_for("It goes on");
    terminal.say("!touch here");
    terminal.wait_for("(no output)");
    terminal.say("/doctor");
    terminal.wait_for("and the session is at");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(laptop.read("here").is_none() && place.read("here").is_some());
    let phase = served.get(&format!("/sessions/{session}/snapshot")).json()["phase"].clone();
    assert_eq!(phase, "asking", "the turn goes on without us");
}

#[test]
fn a_question_is_answered_here_and_the_tool_runs_there() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let laptop = laptop(&served);
    let mut terminal = Terminal::start(&laptop, &["attach", &format!("http://{}", served.address)]);
    terminal.wait_for("›");
    terminal.say("/model openai/gpt-test");
    terminal.say("write it");
    terminal.wait_for(CHOICES);
    assert!(terminal.screen().contains("Hello."), "{}", terminal.screen());
    terminal.press("y");
    terminal.wait_for("Written.");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    assert!(laptop.read("a.txt").is_none());
    let shown = terminal.rows().join("\n");
    assert!(!shown.contains("answered by"), "it was us: {shown}");
}

#[test]
fn a_terminal_outlives_its_server_and_the_turn_goes_on_with_the_next() {
    let server = server(Script::new([write("a.txt"), "Written.".into(), "And more.".into()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    served.questions(1);
    let laptop = laptop(&served);
    let mut terminal = attach(&laptop, &served, &session);
    terminal.wait_for(CHOICES);
    let address = served.kill();
    terminal.wait_for("is lost; trying again");
    let served = Served::at(&place, &address);
    terminal.wait_for(&format!("connected to http://{address} again"));
    terminal.wait_for(CHOICES);
    terminal.press("y");
    terminal.wait_for("Written.");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    terminal.say("go on");
    terminal.wait_for("And more.");
    assert_eq!(
        served
            .events(&session, 0)
            .until("call_ended")
            .iter()
            .filter(|event| event.data["kind"] == "call_asked")
            .count(),
        1
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_turn_that_a_killed_server_left_in_the_middle_of_its_answer_goes_on() {
    let server = server(Script::new([Reply::new().text("Half").stall(), "The whole answer.".into()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let session = served.begin("think");
    let laptop = laptop(&served);
    let mut terminal = attach(&laptop, &served, &session);
    terminal.wait_for("Half");
    let address = served.kill();
    let _served = Served::at(&place, &address);
    terminal.wait_for("The whole answer.");
}

#[test]
fn of_two_terminals_and_a_browser_one_answers_and_all_see_it() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = served.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    let laptops = [laptop(&served), laptop(&served)];
    let mut terminals = [attach(&laptops[0], &served, &session), attach(&laptops[1], &served, &session)];
    terminals.iter_mut().for_each(|terminal| terminal.wait_for(CHOICES));
    terminals.iter_mut().for_each(|terminal| terminal.press("y"));
    let status = served.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"})).status;
    assert!(matches!(status, 200 | 409), "{status}");
    terminals.iter_mut().for_each(|terminal| terminal.wait_for("Written."));
    let events = served.events(&session, 0).until("turn_ended");
    let answers = events.iter().filter(|event| event.data["kind"] == "approval_answered").count();
    let runs = events.iter().filter(|event| event.data["kind"] == "call_started").count();
    assert_eq!((answers, runs), (1, 1));
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn line_by_line_an_answer_is_seen_though_another_terminal_owns_the_session() {
    let server = server(Script::new(["First answer.", "Second answer."]));
    let place = Place::with_server(&server);
    let mut owner = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    owner.wait_for("openai/gpt-test");
    owner.say("one");
    owner.wait_for("First answer.");
    let served = Served::start(&place);
    let listed = served.get("/sessions").json();
    let session = listed["sessions"][0]["session"].as_str().unwrap().to_owned();
    let laptop = laptop(&served);
    let address = format!("http://{}", served.address);
    let mut terminal = Terminal::start(&laptop, &["attach", &address, &session, "--screen-reader"]);
    terminal.wait_for("> ");
    terminal.press("two\r");
    owner.wait_for("Second answer.");
    terminal.wait_for("Second answer.");
}

#[test]
fn a_session_that_the_server_does_not_have_is_told_and_this_one_stays() {
    let server = server(Script::new(["First.", "Second.", "Third."]));
    let place = Place::with_server(&server);
    let served = Served::start(&place);
    let (first, second) = (served.begin("one"), served.begin("two"));
    for session in [&first, &second] {
        served.events(session, 0).until("turn_ended");
    }
    let laptop = laptop(&served);
    let mut terminal = attach(&laptop, &served, &first);
    terminal.wait_for("First.");
    terminal.say("/resume nowhere");
    terminal.wait_for("no session");
    terminal.say(&format!("/resume {first}"));
    terminal.wait_for("this is the session that goes on here");
    terminal.say(&format!("/resume {second}"));
    terminal.wait_for("two");
    terminal.say("and now?");
    terminal.wait_for("Third.");
    assert_eq!(served.get(&format!("/sessions/{second}/records")).text().matches("and now?").count(), 1);
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
}
