//! The page in a real browser: Chromium, driven by Playwright. `./test` installs both.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use charla_testkit::{Reply, Script};
use serde_json::json;

use super::client::Served;
use super::team::Team;
use super::{place, write};
use crate::place::{Place, server};

/// Runs a scenario of `browser.py` against a server whose model follows this script; the workspace's files are seen after.
fn browse(scenario: &str, script: Script) -> crate::place::Place {
    let server = server(script);
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let mut served = Served::start(&place);
    drive(scenario, &place, &mut served);
    place
}

fn drive(scenario: &str, place: &Place, served: &mut Served) {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let link = format!("http://{}/sign-in#{}", served.address, served.code);
    let mut child = Command::new(python)
        .args(["-c", include_str!("browser.py"), scenario, &link])
        .arg(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asking = child.stdin.take().unwrap();
    let mut problems = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = problems.read_to_string(&mut text);
        text
    });
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if line.unwrap() == "restart" {
            served.restart(place);
            writeln!(asking, "done").unwrap();
        }
    }
    let status = child.wait().unwrap();
    let problems = reading.join().unwrap();
    assert!(status.success(), "{problems}\n(./test installs what the browser needs)");
}

fn writes_once() -> Script {
    Script::new([write("a.txt"), "Written.".into()])
}

#[test]
fn a_prompt_is_answered_as_it_comes_and_is_there_after_a_reload() {
    let reply = Reply::new().thought("Let me see.").text("It **streams**.").chunk(2).delay(5);
    browse("asks_and_streams", Script::new([reply]));
}

#[test]
fn calls_are_allowed_edited_and_denied_with_a_reason() {
    let replies = [
        write("a.txt"),
        Reply::new().call("run_shell_command", json!({"command": "touch wrong"})),
        write("b.txt"),
        "All done.".into(),
    ];
    let place = browse("approves_edits_and_denies", Script::new(replies));
    let there = |name: &str| place.read(name).is_some();
    assert_eq!(["a.txt", "right", "wrong", "b.txt"].map(there), [true, true, false, false]);
}

#[test]
fn the_keyboard_is_enough() {
    browse("the_keyboard_is_enough", writes_once());
}

#[test]
fn of_two_tabs_that_answer_at_once_one_wins_and_both_show_it() {
    browse("two_tabs_agree", writes_once());
}

#[test]
fn a_question_is_told_once_to_who_wants_to_know_and_does_not_look() {
    let script = Script::new([write("a.txt"), "Written.".into(), write("b.txt"), "Again.".into()]);
    browse("a_hidden_tab_notifies_of_a_question_once", script);
}

#[test]
fn questions_of_all_sessions_are_answered_in_one_place() {
    let script = Script::new([write("a.txt"), write("b.txt"), "Done.".into(), "Done.".into()]);
    browse("the_inbox_answers_across_sessions", script);
}

#[test]
fn a_server_that_is_killed_while_a_question_waits_is_found_again() {
    let place = browse("a_restart_loses_nothing", writes_once());
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
}

#[test]
fn a_session_that_was_removed_in_one_tab_is_left_in_the_other() {
    browse("a_removed_session_is_left", Script::new(["Hello."]));
}

#[test]
fn nothing_that_a_model_or_a_tool_says_becomes_script() {
    let text = "<script>window.pwned = 1</script> <img src=x onerror=\"window.pwned = 1\"> [a](javascript:alert(1)) \
                ![b](http://evil.example/p.png) [c](data:text/html,<script>alert(1)</script>) <svg/onload=alert(1)>\n\n\
                | <b onclick=alert(1)>x</b> | y |\n|---|---|\n| <iframe src=//evil.example></iframe> | z |\n\n\
                ```html\"><script>window.pwned=1</script>\n</code></pre><script>window.pwned = 1</script>\n```\n\nthe end";
    let command = "echo '<img src=x onerror=window.pwned=1><script>window.pwned=1</script>'";
    let call = Reply::new().text(text).call("run_shell_command", json!({"command": command}));
    let name = "<img src=x onerror=window.pwned=1>.html";
    let file = Reply::new().call("write_file", json!({"file_path": name, "content": text}));
    browse("nothing_becomes_script", Script::new([call, file, text.into()]));
}

#[test]
fn mode_and_model_are_switched_and_a_conversation_is_undone_copied_and_rewound() {
    let script = Script::new([write("a.txt"), "Written.".into(), write("b.txt")]);
    let place = browse("the_conversation_goes_back", script);
    assert_eq!((place.read("a.txt"), place.read("b.txt")), (None, None));
}

#[test]
fn a_new_session_is_as_the_settings_have_it_until_its_form_says_otherwise() {
    let server =
        server(Script::new([write("a.txt"), "Written.".into(), write("b.txt"), "Written, too.".into()]));
    let settings = r#"{"model": {"name": "openai/gpt-test"}, "tools": {"approvalMode": "auto_edit"}}"#;
    let place = place(&server).settings(settings);
    std::fs::create_dir_all(place.work().join("below")).unwrap();
    let mut served = Served::start(&place);
    drive("a_form_and_its_defaults", &place, &mut served);
    assert_eq!(["a.txt", "below/b.txt"].map(|name| place.read(name).is_some()), [true, true]);
    let models: Vec<_> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["gpt-test", "gpt-test", "gpt-4.1", "gpt-4.1"]);
}

#[test]
fn all_of_a_long_output_is_one_click_away() {
    let long = Reply::new().call("run_shell_command", json!({"command": "seq 1 60000"}));
    browse("a_long_output_is_linked", Script::new([long, "Much.".into()]));
}

#[test]
fn pictures_are_dropped_and_pasted_sessions_searched_and_running_output_is_there_after_a_reload() {
    let command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended";
    let waits = Reply::new().call("run_shell_command", json!({"command": command}));
    browse("drops_searches_and_live_output", Script::new(["Fruit.".into(), waits, "Done.".into()]));
}

#[test]
fn a_picture_goes_along_with_a_prompt() {
    browse("files_go_along", Script::new(["A dot."]));
}

#[test]
fn nothing_hides_in_a_question() {
    let command = format!("echo hi \u{202e}txt.exe\u{200b}{}; touch hidden", " ".repeat(2000));
    let call = Reply::new().call("run_shell_command", json!({"command": command}));
    browse("nothing_hides_in_a_question", Script::new([call]));
}

#[test]
fn an_answer_is_read_as_it_is_written_and_a_change_of_nothing_is_told() {
    let server = server(Script::new(["run \u{202e}exe.txt\u{202c} now".into(), write("a.txt")]));
    let place =
        place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#).file("a.txt", "Hello.\n");
    let mut served = Served::start(&place);
    drive("an_answer_is_read_as_it_is_written", &place, &mut served);
}

#[test]
fn it_fits_a_phone() {
    browse("it_fits_a_phone", writes_once());
}

#[test]
fn users_sign_in_with_passwords_and_answer_in_sessions_that_are_shared_with_them() {
    let mut team = Team::new(writes_once());
    for name in ["anna", "ben"] {
        team.add(name, "member", json!({}));
    }
    drive("passwords_and_sharing", &team.place, &mut team.served);
    assert_eq!(std::fs::read_to_string(team.folder("anna").join("a.txt")).unwrap(), "Hello.\n");
}

#[test]
fn changes_are_shown_side_by_side_and_figures_as_charts() {
    browse("diffs_and_charts", writes_once());
}

#[test]
fn a_page_of_another_origin_does_nothing_in_a_browser_that_is_signed_in() {
    let place = browse("another_origin_does_nothing", Script::new(["unused"]));
    let log = std::fs::read_to_string(place.home().join("server/audit.jsonl")).unwrap();
    assert!(!log.contains("new_link") && !log.contains("create_session"), "{log}");
}

#[test]
fn axe_finds_nothing_serious() {
    browse("axe_finds_nothing", writes_once());
}
