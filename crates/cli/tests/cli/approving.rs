//! Questions to the person at the terminal, on a real one.

use std::os::unix::fs::PermissionsExt;

use charla_proto::WireKind;
use charla_testkit::{Failure, Reply, Script, Server, When};
use serde_json::json;

use crate::place::{Place, Run, server};
use crate::terminal::Terminal;

fn write(text: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": "hello.txt", "content": text}))
}

fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

fn place(server: &Server) -> Place {
    Place::with_server(server).variable("TERM", "dumb").variable("NO_COLOR", "1")
}

fn ask(place: &Place, talk: &[(&str, &str)]) -> Run {
    place.run_on_terminal(&["-m", "openai/gpt-test", "-p", "go"], talk)
}

#[test]
fn yes_runs_it_once_after_the_whole_change_was_shown() {
    let server = server(Script::new([write("Hello.\n"), "Done.".into()]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "y\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(place.read("hello.txt").as_deref(), Some("Hello.\n"));
    for shown in ["write_file", "hello.txt", "+Hello.", "asked by", "isolation", "if always", "Done."] {
        assert!(run.out.contains(shown), "{shown} is missing in {}", run.out);
    }
}

#[test]
fn no_with_a_reason_lets_the_model_go_on_differently() {
    let server = server(Script::new([write("Hello."), "Then not.".into()]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "n call it world.txt\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(place.read("hello.txt"), None);
    assert!(server.requests()[1].body.to_string().contains("call it world.txt"));
}

#[test]
fn a_plain_no_ends_the_turn() {
    let server = server(Script::new([write("Hello.")]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "n\n")]);
    assert_eq!((run.code, place.read("hello.txt")), (Some(130), None), "{}", run.out);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_plain_no_ends_the_turn_without_a_further_question() {
    let both = Reply::new()
        .call("run_shell_command", json!({"command": "touch a"}))
        .call("run_shell_command", json!({"command": "touch b"}));
    let server = server(Script::new([both]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "n\n")]);
    assert_eq!(run.code, Some(130), "{}", run.out);
    assert_eq!(run.out.matches("n REASON").count(), 1, "{}", run.out);
    assert_eq!((place.read("a"), place.read("b")), (None, None));
}

#[test]
fn bytes_that_are_no_text_are_a_mistyped_answer() {
    let server = server(Script::new([write("Hello.\n"), "Done.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON");
    terminal.type_bytes(b"\xff\xfe\n");
    terminal.wait_for("n REASON");
    terminal.type_in("y\n");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(place.read("hello.txt").as_deref(), Some("Hello.\n"));
}

#[test]
fn a_running_command_is_seen_while_it_runs() {
    let server = server(Script::new([shell("echo first-$((1 + 1)); cat go"), "Done.".into()]));
    let place = place(&server);
    let fifo = place.work().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal =
        Terminal::start(&place, &["-m", "openai/gpt-test", "--approval-mode", "yolo", "-p", "go"]);
    terminal.wait_for("first-2");
    std::fs::write(&fifo, "go on\n").unwrap();
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    // What was shown meanwhile is taken away again.
    assert!(shown.contains("\u{1b}[K") && shown.contains("Done."), "{shown}");
}

#[test]
fn the_editor_decides_what_is_written() {
    let server = server(Script::new([write("Hello.\n"), "Done.".into()]));
    let place = place(&server);
    let place = place.variable("VISUAL", r#"sh -c 'printf "Mine.\n" > "$2"' editor --wait"#);
    let run = ask(&place, &[("e edit", "e\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(place.read("hello.txt").as_deref(), Some("Mine.\n"));
}

#[test]
fn always_is_not_asked_again_and_allows_nothing_else() {
    let replies = [shell("touch a"), shell("touch a"), shell("touch b"), "Done.".into()];
    let server = server(Script::new(replies));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "a\n"), ("command    │ touch b", ""), ("n REASON", "n not b\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(run.out.matches("command    │ touch a").count(), 1, "{}", run.out);
    assert_eq!((place.read("a").is_some(), place.read("b").is_some()), (true, false));
    assert!(!place.home().join("policies").exists());
}

#[test]
fn a_saved_rule_holds_at_once_and_in_the_next_session() {
    let replies = [shell("touch a"), shell("touch a"), "Done.".into(), shell("touch a"), "Done.".into()];
    let server = server(Script::new(replies));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "s\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    let file = place.home().join("policies/auto-saved.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("command = \"touch a\""));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = ask(&place, &[]);
    assert_eq!(again.code, Some(0), "{}", again.out);
    assert!(!again.out.contains("n REASON"), "{}", again.out);
}

#[test]
fn a_tool_can_be_allowed_but_its_delicate_calls_still_ask() {
    let read = Reply::new().call("write_file", json!({"file_path": ".env", "content": "x"}));
    let server = server(Script::new([write("1"), write("2"), read, "Done.".into()]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "t\n"), ("n REASON", "n not there\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!((place.read("hello.txt").as_deref(), place.read(".env")), (Some("2"), None));
}

#[test]
fn questions_of_several_calls_come_one_after_another() {
    let both = Reply::new()
        .call("run_shell_command", json!({"command": "touch a"}))
        .call("run_shell_command", json!({"command": "touch b"}));
    let server = server(Script::new([both, "Done.".into()]));
    let place = place(&server);
    let talk = [("touch a", ""), ("n REASON", "y\n"), ("touch b", ""), ("n REASON", "n not that\n")];
    let run = ask(&place, &talk);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!((place.read("a").is_some(), place.read("b").is_some()), (true, false), "{}", run.out);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let first =
        Reply::new().text("Let me think").delay(300).call("run_shell_command", json!({"command": "touch a"}));
    let server = server(Script::new([first, "Done.".into()]));
    let place = place(&server);
    let run = ask(&place, &[("Let me think", "y\n"), ("n REASON", "n not now\n")]);
    assert_eq!((run.code, place.read("a")), (Some(0), None), "{}", run.out);
}

#[test]
fn the_model_asks_and_the_person_chooses() {
    let options = json!([{"label": "red", "description": "warm"}, {"label": "blue"}]);
    let questions = json!([{"question": "Which colour?", "header": "Colour", "options": options}]);
    let server =
        server(Script::new([Reply::new().call("ask_user", json!({"questions": questions})), "Nice.".into()]));
    let place = place(&server);
    let run = ask(&place, &[("or your own words> ", "2\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    let told = server.requests()[1].body.to_string().replace('\\', "");
    assert!(told.contains(r#""Which colour?":"blue""#), "{told}");
}

#[test]
fn ctrl_c_at_a_question_cancels() {
    let server = server(Script::new([write("Hello.")]));
    let place = place(&server);
    let run = ask(&place, &[("n REASON", "\u{3}")]);
    assert_eq!((run.code, place.read("hello.txt")), (Some(130), None), "{}", run.out);
    assert!(!run.out.contains("answered by"), "{}", run.out);
}

#[test]
fn in_ci_nobody_is_asked() {
    let server = server(Script::new([write("Hello."), "I could not.".into()]));
    let place = place(&server).variable("CI", "true");
    let run = ask(&place, &[]);
    assert_eq!((run.code, place.read("hello.txt")), (Some(0), None), "{}", run.out);
    assert!(run.out.contains("--approval-mode"), "{}", run.out);
}

#[test]
fn a_model_over_its_limit_offers_the_next_one_that_is_ready() {
    for (answer, code, words) in [("y\n", 0, "From the other."), ("n\n", 1, "too many")] {
        let limited = When::wire(WireKind::OpenaiChat);
        let limit = Failure::rate_limit().message("too many");
        let server = server(Script::always("From the other.").rule(limited, limit));
        let place = place(&server).settings(r#"{"retry": {"maxAttempts": 1}}"#);
        let run = ask(&place, &[("openai/gpt-test is over its limit", ""), ("y or n", answer)]);
        assert_eq!(run.code, Some(code), "{}", run.out);
        assert!(run.out.contains("Go on with gemini/") && run.out.contains(words), "{}", run.out);
        let alone = place.run(&["-m", "openai/gpt-test", "-p", "go"]);
        assert_eq!((alone.code, alone.out.as_str()), (Some(1), ""), "{}", alone.err);
    }
}
