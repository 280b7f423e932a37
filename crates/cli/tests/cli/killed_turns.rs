//! Turns whose process was killed with SIGKILL: what goes on, what is asked again, and what the model is told.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use charla_proto::WireKind;
use charla_testkit::{Recorded, Reply, Script, Server};
use serde_json::{Value, json};

use crate::answers::{MODELS, with_responses};
use crate::elsewhere::{answer, place, question};
use crate::place::{PATIENCE, Place, Run, server};
use crate::terminal::Terminal;

const ASKS: &str = "n REASON no, go on? ";
const INTERRUPTED: &str = "This call was running when the program ended";
const NOBODY: &str = "nobody is there to give it";

/// A reply that runs these commands, each of which first leaves its name in `ran`.
fn commands(commands: &[(&str, &str)]) -> Reply {
    commands.iter().fold(Reply::new(), |reply, (name, rest)| {
        reply.call("run_shell_command", json!({"command": format!("echo {name} >> ran; {rest}")}))
    })
}

/// What ran, in order.
fn ran(place: &Place) -> Vec<String> {
    place.read("ran").unwrap_or_default().lines().map(str::to_owned).collect()
}

fn on_every_wire(replies: impl Fn() -> Vec<Reply>, test: impl Fn(&str, &Place, &Server)) {
    for model in MODELS {
        let server = server(Script::new(replies()));
        let place = place(&server).settings(&with_responses(&server));
        test(model, &place, &server);
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

/// The results that the last request has for the calls in it: one for each, in their order.
fn told(server: &Server) -> Vec<String> {
    let Recorded { wire, body, .. } = server.requests().pop().unwrap();
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for item in items(wire, &body) {
        let (call, result) = match wire {
            // It pairs them by their order.
            WireKind::Gemini => (item["functionCall"]["name"].clone(), item["functionResponse"].clone()),
            WireKind::OpenaiChat if item["role"] == "tool" => (Value::Null, item),
            WireKind::OpenaiResponses if item["type"] == "function_call_output" => (Value::Null, item),
            WireKind::OpenaiResponses if item["type"] == "function_call" => {
                (item["call_id"].clone(), Value::Null)
            }
            WireKind::Anthropic if item["type"] == "tool_result" => (Value::Null, item),
            WireKind::Anthropic if item["type"] == "tool_use" => (item["id"].clone(), Value::Null),
            _ => {
                let made = item["tool_calls"].as_array().cloned().unwrap_or_default();
                calls.extend(made.into_iter().map(|call| call["id"].clone()));
                continue;
            }
        };
        calls.extend((!call.is_null()).then_some(call));
        results.extend((!result.is_null()).then_some(result));
    }
    let answered = |result: &Value| {
        let names = ["tool_call_id", "call_id", "tool_use_id", "name"];
        names.iter().find_map(|name| result.get(name)).cloned().unwrap()
    };
    assert_eq!(results.iter().map(answered).collect::<Vec<_>>(), calls, "{body}");
    results.iter().map(Value::to_string).collect()
}

/// The smallest things of a request in which calls and results are found.
fn items(wire: WireKind, body: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match wire {
        WireKind::Gemini => {
            list(&body["contents"]).iter().flat_map(|content| list(&content["parts"])).collect()
        }
        WireKind::Anthropic => {
            list(&body["messages"]).iter().flat_map(|message| list(&message["content"])).collect()
        }
        WireKind::OpenaiResponses => list(&body["input"]),
        _ => list(&body["messages"]),
    }
}

fn assert_told(server: &Server, expected: &[&str], about: &str) {
    let told = told(server);
    assert_eq!(told.len(), expected.len(), "{about}: {told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{about}: {expected} is missing in {told}");
    }
}

fn ids(place: &Place) -> Vec<String> {
    let listed = place.run(&["approvals"]).out;
    listed.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Waits for something that another process does.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not after a long time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn ok(run: &Run, out: &str, about: &str) {
    assert_eq!((run.code, run.out.as_str()), (Some(0), out), "{about}: {}", run.err);
}

/// Killed with a call running, one approved that waits behind it, and one asked about.
fn killed_in_three_states(model: &str, place: &Place) {
    let mut terminal = Terminal::start(place, &["-m", model, "-p", "go"]);
    for name in ["slow", "second"] {
        terminal.wait_for(&format!("echo {name} "));
        terminal.wait_for(ASKS);
        terminal.type_in("y\n");
    }
    terminal.wait_for("echo third ");
    terminal.wait_for(ASKS);
    wait_until("the first command runs", || ran(place) == ["slow"]);
    terminal.kill();
}

fn three_states() -> Vec<Reply> {
    let calls = [("slow", "sleep 600"), ("second", "echo out-2"), ("third", "echo out-3")];
    vec![commands(&calls), "Gone on.".into()]
}

#[test]
fn what_ran_is_told_what_was_approved_runs_and_what_was_asked_is_denied_with_nobody_there() {
    on_every_wire(three_states, |model, place, server| {
        killed_in_three_states(model, place);
        assert_eq!(ids(place).len(), 1, "{model}");
        ok(&place.run(&["--resume"]), "Gone on.\n", model);
        assert_eq!(ran(place), ["slow", "second"], "{model}");
        assert_told(server, &[INTERRUPTED, "out-2", NOBODY], model);
    });
}

#[test]
fn a_question_of_a_killed_process_is_answered_before_the_session_goes_on() {
    on_every_wire(three_states, |model, place, server| {
        killed_in_three_states(model, place);
        let run = answer(place, &question(place), &["yes"]);
        assert_eq!(run.code, Some(0), "{model}: {}", run.err);
        assert_eq!(ran(place), ["slow"], "{model}: nothing runs before");
        ok(&place.run(&["--resume", "-p", "well?"]), "Gone on.\n", model);
        assert_eq!(ran(place), ["slow", "second", "third"], "{model}");
        assert_told(server, &[INTERRUPTED, "out-2", "out-3"], model);
        let last = server.requests().pop().unwrap().body.to_string();
        assert!(last.contains("well?"), "{model}: {last}");
    });
}

#[test]
fn a_no_after_the_kill_tells_apart_what_was_refused_not_begun_and_never_approved() {
    let calls = || vec![commands(&[("a", ""), ("b", ""), ("c", "")]), "I see.".into()];
    on_every_wire(calls, |model, place, server| {
        let mut terminal = Terminal::start(place, &["-m", model, "-p", "go"]);
        terminal.wait_for("echo a ");
        terminal.wait_for(ASKS);
        wait_until("all three are asked about", || ids(place).len() == 3);
        let listed = ids(place);
        let (first, second) = (&listed[0], &listed[1]);
        // It is approved, and waits for the one before it.
        assert_eq!(answer(place, second, &["yes"]).code, Some(0), "{model}");
        terminal.kill();
        assert_eq!(ids(place), [listed[0].clone(), listed[2].clone()], "{model}");
        assert_eq!(answer(place, first, &["no"]).code, Some(0), "{model}");
        let run = place.run(&["--resume"]);
        assert_eq!((run.code, server.requests().len()), (Some(130), 1), "{model}: {}", run.err);
        assert!(ids(place).is_empty(), "{model}");
        ok(&place.run(&["--resume", "-p", "and?"]), "I see.\n", model);
        assert!(ran(place).is_empty(), "{model}");
        let expected = [
            "The user did not allow this call",
            "it was approved, but the turn was cancelled before it began",
            "the turn was cancelled before anybody had approved it",
        ];
        assert_told(server, &expected, model);
    });
}

#[test]
fn a_question_is_asked_again_at_a_terminal_and_a_new_prompt_is_heard_after_it() {
    let server = server(Script::new([commands(&[("a", "echo out-a")]), "Both done.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for(ASKS);
    let id = question(&place);
    terminal.kill();
    // Nor does a second kill lose it.
    let mut terminal = Terminal::start(&place, &["--resume", "-p", "and then?"]);
    terminal.wait_for("echo a ");
    terminal.wait_for(ASKS);
    terminal.kill();
    assert_eq!(question(&place), id);
    let mut terminal = Terminal::start(&place, &["--resume"]);
    terminal.wait_for("echo a ");
    terminal.wait_for(ASKS);
    assert_eq!((question(&place), ran(&place).len()), (id, 0));
    terminal.type_in("y\n");
    let (code, shown) = terminal.finish();
    assert_eq!((code, ran(&place)), (Some(0), vec!["a".to_owned()]), "{shown}");
    assert_told(&server, &["out-a"], "terminal");
    let last = server.requests().pop().unwrap().body.to_string();
    assert_eq!((server.requests().len(), last.matches("and then?").count()), (2, 1), "{last}");
}

#[test]
fn with_nobody_there_a_new_prompt_comes_with_the_denial_of_the_old_question() {
    let server = server(Script::new([commands(&[("a", "")]), "Then so.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "anthropic/claude-test", "-p", "go"]);
    terminal.wait_for(ASKS);
    terminal.kill();
    ok(&place.run(&["--resume", "-p", "do without"]), "Then so.\n", "with a prompt");
    assert_told(&server, &[NOBODY], "with a prompt");
    assert!(server.requests()[1].body.to_string().contains("do without"));
    assert_eq!((ran(&place).len(), ids(&place).len()), (0, 0));
}

#[test]
fn a_running_command_dies_with_its_process_and_is_not_run_again() {
    let slow = commands(&[("slow", "echo $$ > pid; sleep 600 & wait")]);
    let server = server(Script::new([slow, "Checked.".into()]));
    let place = Place::with_server(&server);
    let child = place.spawn(&["--approval-mode", "yolo", "-p", "go"]);
    let pid = || place.read("pid").unwrap_or_default().trim().to_owned();
    wait_until("the command runs", || !pid().is_empty());
    kill(child);
    wait_until("the command is gone", || !is_alive(&pid()));
    // A mode that would let it run does not run it again.
    ok(&place.run(&["--resume", "--approval-mode", "yolo"]), "Checked.\n", "resumed");
    assert_told(&server, &[INTERRUPTED], "resumed");
    assert_eq!(ran(&place), ["slow"]);
}

#[test]
fn an_answer_that_was_cut_is_asked_for_again_and_its_calls_do_not_run() {
    for prompt in [None, Some("well?")] {
        let call = json!({"command": "echo cut >> ran"});
        let cut = || Reply::new().text("begun").call("run_shell_command", call.clone()).text("more").stall();
        let replies = || vec![commands(&[("first", "echo out-1")]), cut(), "Whole.".into()];
        on_every_wire(replies, |model, place, server| {
            let mut child =
                place.spawn(&["-m", model, "--approval-mode", "yolo", "-o", "stream-json", "-p", "go"]);
            // Read to the end: a run whose reader leaves is cancelled, not killed.
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert!(lines.by_ref().take_while(|line| !line.contains(r#""begun""#)).count() > 0);
            kill(child);
            let words: Vec<&str> = prompt.into_iter().flat_map(|prompt| ["-p", prompt]).collect();
            ok(
                &place.run(&[&["--resume", "--approval-mode", "yolo"], &words[..]].concat()),
                "Whole.\n",
                model,
            );
            assert_eq!(ran(place), ["first"], "{model}");
            assert_told(server, &["out-1"], model);
            let last = server.requests().pop().unwrap().body.to_string();
            assert!(!last.contains("begun"), "{model}: {last}");
            assert_eq!(last.contains("well?"), prompt.is_some(), "{model}: {last}");
        });
    }
}

/// A process that waits to be collected is gone.
pub fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    state.is_ok_and(|state| !state.rsplit(')').next().unwrap().trim().starts_with('Z'))
}

/// Asks something of the process that has the session, as somebody who may read our files.
fn post(place: &Place, request: &Value) -> String {
    let key = std::fs::read_to_string(place.home().join("sessions/mail.key")).unwrap();
    post_line(place, &format!("{key}{request}"))
}

fn post_line(place: &Place, line: &str) -> String {
    let sockets = std::fs::read_dir(place.home().join("sessions/run")).unwrap();
    let socket = sockets.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    reply
}

/// Says something to the process that has the session.
fn say(place: &Place, words: &str, delivery: &str) {
    let content = json!({"role": "user", "parts": [{"text": words}]});
    let request = json!({"by": "a test", "command": "prompt", "content": content, "delivery": delivery});
    let reply = post(place, &request);
    assert!(reply.contains("\"waits\":true"), "{reply}");
}

#[test]
fn nobody_answers_in_the_name_of_the_session_or_of_nobody() {
    let server = server(Script::new([commands(&[("a", "")]), "Done.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for(ASKS);
    let approval = question(&place);
    for by in ["charla", "nobody", "an earlier answer"] {
        let yes = json!({"by": by, "command": "answer", "approval": approval, "outcome": "proceed_once"});
        let reply = post(&place, &yes);
        assert!(reply.contains("is nobody who could ask"), "{by}: {reply}");
    }
    let of_none = json!({"by": "a test", "command": "answer", "approval": "", "outcome": "proceed_once"});
    assert!(post(&place, &of_none).contains("refused"));
    // Who cannot read our files is not heard, whatever they say.
    let yes = json!({"by": "me", "command": "answer", "approval": approval, "outcome": "proceed_once"});
    assert_eq!(post_line(&place, &yes.to_string()), "");
    assert_eq!((question(&place), ran(&place).len()), (approval, 0));
    terminal.type_in("n\n");
    terminal.finish();
}

#[test]
fn a_program_that_goes_on_is_told_of_the_calls_it_gets_results_of() {
    on_every_wire(three_states, |model, place, _| {
        killed_in_three_states(model, place);
        let run = place.run(&["--resume", "-o", "stream-json"]);
        assert_eq!(run.code, Some(0), "{model}: {}", run.err);
        let ids = |kind: &str| -> Vec<Value> {
            let of_kind = |event: &Value| event["type"] == kind;
            run.lines().iter().filter(|event| of_kind(event)).map(|event| event["tool_id"].clone()).collect()
        };
        let (told, ended) = (ids("tool_use"), ids("tool_result"));
        assert_eq!((told.len(), ended.len()), (3, 3), "{model}: {}", run.out);
        assert!(ended.iter().all(|id| told.contains(id)), "{model}: {}", run.out);
        assert_eq!(ids("tool_confirmation").len(), 1, "{model}: {}", run.out);
    });
}

#[test]
fn prompts_that_wait_survive_and_are_said_when_their_time_comes() {
    let server = server(Script::new([commands(&[("a", "echo out-a")]), "One.".into(), "Two.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for(ASKS);
    say(&place, "meanwhile", "join");
    say(&place, "afterwards", "after_turn");
    terminal.kill();
    let (_, journal) = place.journals().pop().unwrap();
    assert_eq!(journal.matches("\"prompt_queued\"").count(), 2, "{journal}");
    assert_eq!(answer(&place, &question(&place), &["yes"]).code, Some(0));
    let run = place.run(&["--resume"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let asked: Vec<String> = server.requests().iter().map(|request| request.body.to_string()).collect();
    assert_eq!(asked.len(), 3, "{}{}", run.out, run.err);
    assert!(!asked[0].contains("meanwhile") && asked[1].contains("meanwhile"), "{asked:?}");
    assert!(!asked[1].contains("afterwards") && asked[2].contains("afterwards"), "{asked:?}");
    assert_eq!(asked[2].matches("meanwhile").count(), 1, "{asked:?}");
    assert_eq!(ran(&place), ["a"]);
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}
