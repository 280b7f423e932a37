//! Questions about calls: shown, answered, left behind and found again.

use std::time::Duration;

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::journal::records;
use crate::place::{Place, server};
use crate::replies::{CHOICES, SLOPPY, last_request, touch};
use crate::terminal::Terminal;

/// What a card says while keys go to the line.
const BESIDE: &str = "Esc, or an empty line, leads back";

fn asking(place: &Place) -> Terminal {
    let mut terminal = Terminal::start(place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for(CHOICES);
    terminal
}

#[test]
fn a_card_shows_everything_and_y_runs_it_once() {
    let server = server(Script::new([touch("a"), touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    let card = terminal.screen();
    for part in ["may run_shell_command run?", "asked by", "if always", "│ touch a", "folder", "isolation"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    terminal.press("y");
    // The same again asks again.
    terminal.wait_until("another card", |screen| screen.contains("(no output)") && screen.contains(CHOICES));
    terminal.press("y");
    terminal.wait_for("Done.");
    assert!(place.read("a").is_some());
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn always_holds_for_the_session_and_saved_for_the_next() {
    let server = server(Script::new([touch("a"), touch("a"), "Done.".into(), touch("a"), "Again.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.press("s");
    terminal.wait_for("Done.");
    assert!(terminal.rows().join("\n").contains("saved in"), "{}", terminal.screen());
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("Again.");
}

#[test]
fn a_tool_or_a_server_is_allowed_for_the_session_by_a_key() {
    let server = server(Script::new([touch("a"), touch("b"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.press("t");
    terminal.wait_for("Done.");
    assert!(place.read("a").is_some() && place.read("b").is_some());
    let outcomes: Vec<String> = answers(&place);
    assert_eq!(outcomes, ["proceed_always_tool"]);

    let call = || Reply::new().call("mcp_s_echo", json!({ "text": "hi" }));
    let server = crate::place::server(Script::new([call(), call(), "Both.".into()]));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/servers/server.py");
    let entry = json!({"mcpServers": {"s": {"command": "python3", "args": [script, "plain"]}}});
    let place = Place::with_server(&server).settings(&entry.to_string());
    let mut terminal = asking(&place);
    terminal.wait_for("m always s");
    terminal.press("m");
    terminal.wait_for("Both.");
    assert_eq!(answers(&place), ["proceed_always_server"]);
}

/// The outcomes of the questions that were answered.
fn answers(place: &Place) -> Vec<String> {
    let records = records(place).into_iter().filter(|record| record["kind"] == "approval_answered");
    records.map(|record| record["outcome"]["outcome"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_card_that_nobody_can_have_seen_takes_no_key() {
    let text: String = (0..3000).map(|n| format!("- point {n} of a long list of points\n")).collect();
    let call = Reply::new().text(text).call("run_shell_command", json!({ "command": "touch a" }));
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server);
    asking(&place).kill();
    // What is said and what is asked come in one frame, of which the terminal takes the beginning.
    let mut terminal = Terminal::unread(&place, &["--resume"]);
    terminal.wait_held_up();
    terminal.press("y");
    terminal.wait_taken();
    terminal.go_on_reading();
    terminal.wait_for("› y");
    terminal.wait_for("may run_shell_command run?");
    assert!(answers(&place).is_empty() && place.read("a").is_none());
    terminal.press("\u{15}");
    terminal.wait_for(CHOICES);
    terminal.press("y");
    terminal.wait_for("Done.");
}

#[test]
fn at_a_card_the_mode_changes_and_ctrl_d_leaves() {
    let server = server(Script::new([touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.press("\u{1b}[Z");
    terminal.wait_for("auto_edit");
    terminal.wait_for(CHOICES);
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(answers(&place).is_empty());
}

#[test]
fn a_rule_that_was_never_in_sight_is_not_saved() {
    let server = server(Script::new([touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], 60, 9);
    terminal.wait_for("›");
    terminal.say("go");
    terminal.wait_for("Allow? y once");
    assert!(!terminal.screen().contains("[[rule]]"), "{}", terminal.screen());
    terminal.press("s");
    terminal.wait_for("always? PgDn first");
    assert!(answers(&place).is_empty());
    while terminal.screen().contains("PgDn first") {
        let before = terminal.screen();
        terminal.press("\u{1b}[6~");
        terminal.wait_until("another page", |screen| screen != before);
    }
    terminal.press("s");
    terminal.wait_for("Done.");
    assert_eq!(answers(&place), ["proceed_always_and_save"]);
}

#[test]
fn no_with_a_reason_lets_the_model_go_on() {
    let server = server(Script::new([touch("a"), "I see.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.press("r");
    terminal.wait_for("reason>");
    terminal.press("not in this folder\r");
    terminal.wait_for("I see.");
    assert!(last_request(&server).contains("not in this folder"));
    assert!(place.read("a").is_none());
}

#[test]
fn no_ends_the_turn_and_escape_says_no() {
    for key in ["n", "\u{1b}"] {
        let server = server(Script::new([touch("a"), "Well.".into()]));
        let place = Place::with_server(&server);
        let mut terminal = asking(&place);
        terminal.press(key);
        terminal.wait_for("stopped");
        assert!(place.read("a").is_none());
        terminal.say("go on");
        terminal.wait_for("Well.");
    }
}

#[test]
fn arguments_are_edited_in_the_persons_editor() {
    let server = server(Script::new([touch("wrong"), "Done.".into()]));
    let place = Place::with_server(&server).file("edit.sh", "sed -i s/wrong/right/ \"$1\"\n");
    let editor = format!("sh {}", place.work().join("edit.sh").display());
    let place = place.variable("EDITOR", &editor);
    let mut terminal = asking(&place);
    terminal.press("e");
    terminal.wait_for("Done.");
    assert_eq!((place.read("right").is_some(), place.read("wrong").is_some()), (true, false));
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
    // What ran is what is shown and written down afterwards.
    let mut again = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    again.wait_for("touch right");
    assert!(!again.screen().contains("touch wrong"), "{}", again.screen());
    let exported = place.run(&["sessions", "export", "latest"]).out;
    assert!(exported.contains("touch right") && !exported.contains("touch wrong"), "{exported}");
}

#[test]
fn arguments_that_are_no_json_are_gone_on_with() {
    let server = server(Script::new([touch("wrong"), "Done.".into()]));
    let place = Place::with_server(&server).file("edit.sh", SLOPPY);
    let editor = format!("sh {}", place.work().join("edit.sh").display());
    let place = place.variable("EDITOR", &editor);
    let mut terminal = asking(&place);
    terminal.press("e");
    terminal.wait_for("no JSON object: ");
    terminal.wait_for(CHOICES);
    terminal.press("e");
    terminal.wait_for("Done.");
    assert_eq!((place.read("right").is_some(), place.read("wrong").is_some()), (true, false));
}

#[test]
fn a_change_is_shown_in_colours_and_edited_as_a_file() {
    let call = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "wrong\n"}));
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server).file("edit.sh", "sed -i s/wrong/right/ \"$1\"\n");
    let editor = format!("sh {}", place.work().join("edit.sh").display());
    let place = place.variable("EDITOR", &editor);
    let mut terminal = asking(&place);
    terminal.wait_for("│ +wrong");
    terminal.press("e");
    terminal.wait_for("Done.");
    assert_eq!(place.read("a.txt").as_deref(), Some("right\n"));
}

#[test]
fn several_questions_are_walked_through_and_one_answered_elsewhere_closes() {
    let both = Reply::new()
        .call("run_shell_command", json!({"command": "touch a"}))
        .call("run_shell_command", json!({"command": "touch b"}));
    let server = server(Script::new([both, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.wait_for("1 more question waits");
    let listed = place.run(&["approvals"]).out;
    let first = listed.lines().find(|line| line.contains("touch a")).unwrap();
    let run = place.run(&["approvals", "answer", first.split_whitespace().next().unwrap(), "yes"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    terminal.wait_for("answered by command line");
    terminal.wait_until("the second card", |screen| screen.contains("│ touch b") && screen.contains(CHOICES));
    terminal.press("y");
    terminal.wait_for("Done.");
    assert_eq!((place.read("a").is_some(), place.read("b").is_some()), (true, true));
}

#[test]
fn a_question_survives_kill_9_and_is_asked_again_on_resume() {
    let server = server(Script::new([touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    asking(&place).kill();
    let mut terminal = Terminal::start(&place, &["--resume"]);
    terminal.wait_for(CHOICES);
    terminal.wait_for("│ touch a");
    terminal.press("y");
    terminal.wait_for("Done.");
    assert!(place.read("a").is_some());
}

#[test]
fn leaving_with_a_question_open_leaves_it_open() {
    let server = server(Script::new([touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let terminal = asking(&place);
    terminal.signal("HUP");
    let end = terminal.finish();
    assert!(end.is_restored);
    assert!(place.run(&["approvals"]).out.contains("touch a"));
}

#[test]
fn keys_typed_before_the_card_go_to_the_composer() {
    let late = Reply::new().delay(400).call("run_shell_command", json!({"command": "touch a"}));
    let server = server(Script::new([late, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("›");
    terminal.say("go");
    // Somebody goes on typing while the question comes up.
    while !terminal.screen().contains("may run_shell_command run?") {
        terminal.press("y");
        terminal.settle(Duration::from_millis(20));
    }
    terminal.press("yy");
    terminal.wait_for(BESIDE);
    terminal.wait_for("› yy");
    terminal.press("\u{1b}");
    terminal.wait_for(CHOICES);
    assert!(place.read("a").is_none());
    terminal.press("y");
    terminal.wait_for("Done.");
    assert!(place.read("a").is_some());
}

#[test]
fn words_typed_at_a_card_are_words() {
    let server = server(Script::new([touch("a"), "Stopped.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    // No answer, and then what begins with one.
    terminal.press("x");
    terminal.wait_for("› x");
    terminal.wait_for(BESIDE);
    terminal.press("stop it");
    terminal.wait_for("› xstop it");
    terminal.press("\u{15}");
    terminal.wait_for(CHOICES);
    // Letters that answer, all at once.
    terminal.press("/tools\r");
    terminal.wait_for("run_shell_command  ");
    terminal.wait_for(CHOICES);
    for word in ["always", "stats", "yonder"] {
        terminal.press(word);
        terminal.wait_for(&format!("› {word}"));
        terminal.press("\u{15}");
        terminal.wait_for(CHOICES);
    }
    terminal.press("n");
    terminal.wait_for("Cancelled");
    let answers: Vec<_> = records(&place)
        .into_iter()
        .filter(|record| record["kind"] == "approval_answered")
        .map(|record| record["outcome"].clone())
        .collect();
    assert_eq!(answers, [json!({"outcome": "cancel"})]);
    assert!(place.read("a").is_none());
}

#[test]
fn a_short_window_shows_what_would_run_before_it_shows_the_keys() {
    for (columns, rows) in [(60, 9), (40, 8), (20, 8)] {
        let server = server(Script::new([touch("precious"), "Done.".into()]));
        let place = Place::with_server(&server);
        let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test"], columns, rows);
        terminal.wait_for("›");
        terminal.say("go");
        terminal.wait_for("Allow? y once");
        assert!(terminal.screen().contains("│ touch precious"), "{columns}x{rows}:\n{}", terminal.screen());
        terminal.press("y");
        terminal.wait_for("Done.");
        assert!(place.read("precious").is_some());
    }
}

#[test]
fn what_was_said_at_a_card_comes_back_when_the_card_is_left() {
    for key in ["\u{1b}", "\u{3}"] {
        let server = server(Script::new([touch("a"), "Well.".into()]));
        let place = Place::with_server(&server);
        let mut terminal = asking(&place);
        terminal.press("x and this");
        terminal.wait_for("› x and this");
        terminal.press("\r");
        terminal.wait_until("the card", |screen| {
            screen.contains("joins the next request: x and this") && screen.contains(CHOICES)
        });
        terminal.press(key);
        terminal.wait_for("› x and this");
        terminal.wait_without("joins the next request");
        assert!(place.read("a").is_none());
        terminal.press("\r");
        terminal.wait_for("Well.");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_card_and_a_list_are_stopped_and_continued_like_any_program() {
    let server = server(Script::new([touch("a"), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = asking(&place);
    terminal.press("\u{1a}");
    terminal.wait_without(CHOICES);
    terminal.wait_stopped();
    terminal.signal("CONT");
    terminal.wait_for(CHOICES);
    terminal.press("y");
    terminal.wait_for("Done.");
    terminal.say("/mode ");
    terminal.wait_for("approval mode:");
    terminal.press("\u{1a}");
    terminal.wait_without("approval mode:");
    terminal.wait_stopped();
    terminal.signal("CONT");
    terminal.wait_for("approval mode:");
}
