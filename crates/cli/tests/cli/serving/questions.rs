//! Questions answered over HTTP: in step with terminals, across a crash, by many at once.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::client::Served;
use super::{place, write};
use crate::place::server;
use crate::terminal::Terminal;

fn id(question: &Value) -> String {
    question["asked"]["approval"].as_str().unwrap().to_owned()
}

#[test]
fn the_first_answer_counts_and_a_late_one_is_told_whose_it_was() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = served.questions(1).remove(0);
    assert_eq!(question["asked"]["confirmation"]["detail"]["after"], "Hello.\n");
    let path = format!("/approvals/{}", id(&question));
    assert_eq!(served.post(&path, &json!({"outcome": "proceed_once"})).json()["reply"], "done");
    let late = served.post(&path, &json!({"outcome": "cancel"}));
    assert_eq!((late.status, &late.json()["kind"]), (409, &json!("late")));
    assert_eq!(late.json()["reply"]["by"], "web");
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    served.questions(0);
    let again = served.post_with(&path, &json!({"outcome": "cancel"}), &[("idempotency-key", "x")]);
    assert_eq!(
        again.status,
        409,
        "nothing waits any more, and who answered is still known: {}",
        again.text()
    );
}

#[test]
fn what_is_for_the_time_between_turns_is_refused_at_once_while_a_question_waits() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = served.questions(1).remove(0);
    let commands = format!("/sessions/{session}/commands");
    for command in ["undo", "redo", "compress", "restore"] {
        let refused = served.post(&commands, &json!({"command": command}));
        assert_eq!((refused.status, &refused.json()["kind"]), (409, &json!("busy")), "{command}");
    }
    let rewind = served.post(&commands, &json!({"command": "rewind", "to": 0}));
    assert_eq!((rewind.status, &rewind.json()["kind"]), (409, &json!("busy")));
    let path = format!("/approvals/{}", id(&question));
    assert_eq!(served.post(&path, &json!({"outcome": "proceed_once"})).status, 200);
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"), "nothing of it happens later");
}

#[test]
fn a_call_runs_with_the_arguments_that_a_person_gave_it() {
    let replies = [
        Reply::new().call("run_shell_command", json!({"command": "touch wrong"})),
        write("b.txt"),
        "Done.".into(),
    ];
    let server = server(Script::new(replies));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("go");
    let path = format!("/approvals/{}", id(&served.questions(1)[0]));
    let misfit = served.post(&path, &json!({"outcome": "answers", "answers": ["yes"]}));
    assert_eq!((misfit.status, &misfit.json()["kind"]), (422, &json!("does_not_fit")));
    let edited = json!({"outcome": "modify", "args": {"command": "touch right"}});
    assert_eq!(served.post(&path, &edited).status, 200);
    let mut events = served.events(&session, 0);
    events.until("call_ended");
    let path = format!("/approvals/{}", id(&served.questions(1)[0]));
    assert_eq!(served.post(&path, &json!({"outcome": "cancel", "reason": "call it c.txt"})).status, 200);
    events.until("turn_ended");
    assert_eq!((place.read("right").is_some(), place.read("wrong"), place.read("b.txt")), (true, None, None));
    assert!(server.requests().last().unwrap().body.to_string().contains("call it c.txt"));
}

#[test]
fn a_session_of_a_terminal_is_shown_as_in_use_and_its_question_is_answered_here() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON no, go on? ");
    let served = Served::start(&place);
    let question = served.questions(1).remove(0);
    assert_eq!(question["state"], "in_use");
    let session = question["session"].as_str().unwrap();
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "in_use");
    assert_eq!(served.delete(&format!("/sessions/{session}")).status, 409);
    let mut events = served.events(session, 0);
    events.until("call_asked");
    let path = format!("/approvals/{}", id(&question));
    let answered = served.post(&path, &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("answered by web"), "{shown}");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    events.until("turn_ended");
    served.questions(0);
}

#[test]
fn a_session_whose_terminal_is_gone_is_taken_and_its_turn_goes_on_here() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON no, go on? ");
    let served = Served::start(&place);
    let question = served.questions(1).remove(0);
    let session = question["session"].as_str().unwrap().to_owned();
    let take = || served.post(&format!("/sessions/{session}/take"), &json!({}));
    let asked = take();
    assert_eq!((asked.status, &asked.json()["state"]), (200, &json!("asked")), "{}", asked.text());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut answered = take();
            while answered.json()["state"] == "asked" {
                answered = take();
            }
            answered
        });
        terminal.kill();
        let taken = waits.join().unwrap();
        assert_eq!((taken.status, &taken.json()["state"]), (200, &json!("running")), "{}", taken.text());
    });
    let waiting = served.questions(1).remove(0);
    assert_eq!((id(&waiting), &waiting["state"]), (id(&question), &json!("running")));
    let mut events = served.events(&session, 0);
    let answered = served.post(&format!("/approvals/{}", id(&question)), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(events.until("turn_ended").last().unwrap().data["end"], "finished");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    let again = served.post(&format!("/sessions/{session}/commands"), &json!({"command": "hand_over"}));
    assert_eq!((again.status, &again.json()["kind"]), (409, &json!("nothing")), "{}", again.text());
}

#[test]
fn nobody_is_asked_to_leave_a_session_that_could_not_be_gone_on_with_here() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON no, go on? ");
    let served = Served::start(&place);
    let question = served.questions(1).remove(0);
    let session = question["session"].as_str().unwrap().to_owned();
    let take = || served.post(&format!("/sessions/{session}/take"), &json!({}));
    // Settings that cannot be read, and a folder that is gone.
    let settings = place.home().join("settings.json");
    let kept = std::fs::read(&settings).ok();
    std::fs::write(&settings, "{").unwrap();
    let refused = take();
    assert_eq!(refused.status, 422, "{}", refused.text());
    match kept {
        Some(kept) => std::fs::write(&settings, kept).unwrap(),
        None => std::fs::remove_file(&settings).unwrap(),
    }
    let (work, elsewhere) = (place.work(), place.path().join("moved"));
    std::fs::rename(&work, &elsewhere).unwrap();
    let refused = take();
    assert!(refused.status == 404 && refused.text().contains("no folder"), "{}", refused.text());
    std::fs::rename(&elsewhere, &work).unwrap();
    let seen = terminal.shown();
    assert!(!seen.contains("/handover"), "nobody was asked: {seen}");
    let asked = take();
    assert_eq!((asked.status, &asked.json()["state"]), (200, &json!("asked")), "{}", asked.text());
    terminal.wait_for("web asks to go on with this session elsewhere");
    terminal.wait_for("? ");
    terminal.type_in("y\n");
    terminal.wait_for("Written.");
}

#[test]
fn of_many_who_come_at_once_after_a_restart_one_answer_counts_and_nobody_is_sent_away() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let path = format!("/approvals/{}", id(&served.questions(1)[0]));
    let address = served.kill();
    let served = Served::at(&place, &address);
    let (yes, take) = (json!({"outcome": "proceed_once"}), format!("/sessions/{session}/take"));
    let replies: Vec<(bool, u16, Value)> = std::thread::scope(|scope| {
        let send = |is_answer: bool| {
            let (served, path, take, yes) = (&served, &path, &take, &yes);
            scope.spawn(move || {
                let reply = if is_answer { served.post(path, yes) } else { served.post(take, &json!({})) };
                (is_answer, reply.status, reply.json())
            })
        };
        let sent: Vec<_> = (0..8).map(|index| send(index % 2 == 0)).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let answers = || replies.iter().filter(|(is_answer, ..)| *is_answer);
    assert_eq!(answers().filter(|(_, status, _)| *status == 200).count(), 1, "{replies:?}");
    let late = answers().filter(|(_, status, _)| *status != 200);
    assert!(
        late.clone().count() == 3 && late.clone().all(|(.., body)| body["kind"] == "late"),
        "{replies:?}"
    );
    assert!(replies.iter().all(|(is_answer, status, _)| *is_answer || *status == 200), "{replies:?}");
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
}

#[test]
fn a_question_outlives_a_server_that_is_killed_and_its_turn_goes_on_with_the_answer() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = id(&served.questions(1)[0]);
    let address = served.kill();
    let served = Served::at(&place, &address);
    let waiting = served.questions(1).remove(0);
    assert_eq!((id(&waiting), &waiting["state"]), (question.clone(), &json!("stored")));
    assert_eq!(place.read("a.txt"), None);
    let mut events = served.events(&session, 0);
    let answered = served.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    let ended = events.until("turn_ended");
    assert_eq!(ended.last().unwrap().data["end"], "finished");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn of_three_clients_that_answer_each_of_two_hundred_questions_one_wins_each() {
    const SESSIONS: usize = 10;
    const CALLS: usize = 20;
    const ALL: usize = SESSIONS * CALLS;
    let name = |session: usize, call: usize| format!("f{session}-{call}");
    let calls = |session: usize| {
        (0..CALLS).fold(Reply::new(), |reply, call| {
            reply.call("write_file", json!({"file_path": name(session, call), "content": "x"}))
        })
    };
    let done = (0..SESSIONS).map(|_| "Done.".into());
    let server = server(Script::new((0..SESSIONS).map(calls).chain(done)));
    let place = place(&server);
    let served = Served::start(&place);
    let begin = |number: usize| {
        let session = served.begin("all of them");
        served.questions((number + 1) * CALLS);
        session
    };
    let sessions: Vec<String> = (0..SESSIONS).map(begin).collect();
    let questions: Vec<String> = served.questions(ALL).iter().map(id).collect();
    let answer = |question: &String| {
        let answered = served.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
        assert!(matches!(answered.status, 200 | 409), "{} {}", answered.status, answered.text());
        usize::from(answered.status == 200)
    };
    // Each begins elsewhere, so that they meet everywhere.
    let client = &|number: usize| questions.iter().cycle().skip(number * ALL / 7).take(ALL).map(answer).sum();
    let wins: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|number| scope.spawn(move || client(number))).collect();
        threads.into_iter().map(|thread| -> usize { thread.join().unwrap() }).sum()
    });
    assert_eq!(wins, ALL);
    for session in &sessions {
        let events = served.events(session, 0).until("turn_ended");
        let of = |kind: &str| events.iter().filter(|event| event.data["kind"] == kind).count();
        assert_eq!((of("approval_answered"), of("call_started"), of("call_ended")), (CALLS, CALLS, CALLS));
    }
    let all = (0..SESSIONS).flat_map(|session| (0..CALLS).map(move |call| name(session, call)));
    assert!(all.into_iter().all(|file| place.read(&file).is_some()));
}
