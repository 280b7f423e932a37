//! A conversation line by line, for screen readers.

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::journal::records;
use crate::place::{Place, server};
use crate::replies::{SLOPPY, last_request, touch};
use crate::terminal::Terminal;

#[test]
fn every_command_is_understood_or_says_what_to_use_instead() {
    let write = Reply::new().call("write_file", json!({"file_path": "a.txt", "content": "new\n"}));
    let server = server(Script::new([write, "Written.".into(), "Seen.".into()]));
    let place = Place::with_server(&server);
    let arguments = ["-m", "openai/gpt-test", "--screen-reader", "--approval-mode", "auto_edit"];
    let mut terminal = Terminal::sized(&place, &arguments, 120, 60);
    terminal.wait_for("/help lists commands");
    for (line, answer) in [
        ("/help", "!COMMAND: run a command yourself"),
        ("/theme", "this needs a screen"),
        ("/fork", "without one there is `charla --fork "),
        ("/help", "/extensions [install|update|enable|disable|uninstall NAME]: list"),
        ("/modle", "did you mean /model?"),
        ("/model", "anthropic/"),
        ("/tools", "run_shell_command"),
        ("/mode", "auto_edit holds"),
        ("/mode foo", "there is no mode foo"),
        ("/mode plan", "approval mode: plan"),
        ("/mode auto_edit", "approval mode: auto_edit"),
        ("/model anthropic/claude-test", "anthropic/claude-test answers from now on"),
        ("/model openai/gpt-test", "openai/gpt-test answers from now on"),
        ("write it", "Written."),
        ("/undo", "taken back: 1 file (a.txt) of turn 1"),
        ("!echo by $((40 + 2))", "by 42"),
        ("what did I do?", "Seen."),
        ("/export talk.md", "written to"),
    ] {
        terminal.press(&format!("{line}\r"));
        terminal.wait_for(answer);
    }
    assert_eq!(place.read("a.txt"), None);
    let sent = last_request(&server);
    assert!(sent.contains("by 42") && sent.contains("called run_shell_command themselves"), "{sent}");
    terminal.press("/quit\r");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_card_is_told_without_drawn_characters_and_the_farewell_has_a_row_of_its_own() {
    let run = Reply::new().call("run_shell_command", json!({"command": "touch made"}));
    let server = server(Script::new([run, "Made.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 120, 60);
    terminal.wait_for("/help lists commands");
    terminal.press("make it with @/etc/passwd\r");
    terminal.wait_for("question: may run_shell_command run?");
    terminal.press("y\r");
    terminal.wait_for("Made.");
    terminal.wait_until("a new prompt", |screen| screen.trim_end().ends_with('>'));
    terminal.press("\u{4}");
    let rows = terminal.finish().rows;
    assert!(rows.iter().any(|row| row.starts_with("go on with: charla --resume")), "{rows:#?}");
    let all = rows.join("\n");
    assert!(!all.contains(['│', '─', '┆']), "{all}");
    assert!(all.contains("@/etc/passwd is not attached") && !all.contains("--attach"), "{all}");
}

/// A conversation line by line that waits for a prompt.
fn begun(place: &Place) -> Terminal {
    let mut terminal = Terminal::sized(place, &["-m", "openai/gpt-test", "--screen-reader"], 120, 60);
    terminal.wait_for("/help lists commands");
    terminal.wait_until("a prompt", |screen| screen.trim_end().ends_with('>'));
    terminal
}

#[test]
fn ctrl_c_twice_leaves_as_on_a_screen_and_a_signal_is_a_signal() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = begun(&place);
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.press("\u{3}");
    let end = terminal.finish();
    let all = end.rows.join("\n");
    assert_eq!(end.code, Some(0), "{all}");
    assert!(all.contains("Agent powering down. Goodbye!"), "{all}");
    // Nothing was said: there is nothing to come back to.
    assert!(!all.contains("--resume") && place.journals().is_empty(), "{all}");

    let mut terminal = begun(&place);
    terminal.press("hello\r");
    terminal.wait_until("an answer, and a prompt", |screen| screen.matches("> ").count() > 1);
    terminal.signal("TERM");
    let end = terminal.finish();
    let all = end.rows.join("\n");
    assert_eq!(end.code, Some(130), "{all}");
    assert!(all.contains("Goodbye!") && all.contains("go on with: charla --resume"), "{all}");
}

#[test]
fn an_extension_is_agreed_to_or_not_in_words() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let folder = place.path().join("ext");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "helper", "version": "1.2"}"#).unwrap();
    let mut terminal = begun(&place);
    let install = format!("/extensions install {}\r", folder.display());
    for (answer, told) in
        [("", "nothing is changed"), ("n", "nothing is changed"), ("y", "installed successfully")]
    {
        terminal.press(&install);
        terminal
            .wait_until("the question", |screen| screen.trim_end().ends_with("install helper 1.2? y or n>"));
        terminal.press(&format!("{answer}\r"));
        terminal.wait_until(told, |screen| {
            screen.rsplit("install helper 1.2?").next().is_some_and(|rest| rest.contains(told))
        });
    }
    terminal.press("/extensions\r");
    terminal.wait_for("helper (v1.2) - active");
}

#[test]
fn a_no_is_no_error_and_a_call_is_told_by_what_it_is_about() {
    let write = Reply::new().call("write_file", json!({"content": "one\n", "file_path": "a.txt"}));
    let server = server(Script::new([write]));
    let place = Place::with_server(&server);
    let mut terminal = begun(&place);
    terminal.press("write it\r");
    terminal.wait_for("may write_file run?");
    terminal.press("n\r");
    terminal.wait_for("interrupted: it stopped here");
    let rows = terminal.rows();
    assert!(rows.iter().any(|row| row.trim_end() == "write_file a.txt"), "{rows:#?}");
    assert!(!rows.join("\n").contains("error"), "{rows:#?}");
    assert_eq!(place.read("a.txt"), None);
}

#[test]
fn what_a_command_of_ones_own_prints_stands_in_plain_rows() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-test", "--screen-reader"], 100, 40);
    terminal.wait_for("/help lists commands");
    terminal.press("!seq 11 $((12 + 1))\r");
    terminal.wait_until("the output", |screen| screen.contains("\n13") && screen.trim_end().ends_with('>'));
    let rows = terminal.rows();
    let told: Vec<&str> = rows.iter().map(|row| row.trim_end()).filter(|row| row.contains("1")).collect();
    let told: Vec<&str> = told.into_iter().skip_while(|row| !row.ends_with(" 11") && *row != "11").collect();
    let told: Vec<&str> = told.iter().map(|row| row.trim_start_matches("> ")).collect();
    assert_eq!(told, ["11", "12", "13"], "{rows:#?}");
}

/// A conversation line by line in which a question waits.
fn asked(place: &Place) -> Terminal {
    let mut terminal = begun(place);
    terminal.press("make it\r");
    terminal.wait_for("may run_shell_command run?");
    terminal.wait_for("n REASON no, go on?");
    terminal
}

#[test]
fn whoever_leaves_at_a_question_leaves_it_open() {
    for (signal, code) in [(None, 0), (Some("TERM"), 130), (Some("HUP"), 130)] {
        let server = server(Script::new([touch("made"), "Made.".into()]));
        let place = Place::with_server(&server);
        let mut terminal = asked(&place);
        match signal {
            Some(signal) => terminal.signal(signal),
            None => terminal.press("\u{4}"),
        }
        let end = terminal.finish();
        let all = end.rows.join("\n");
        assert_eq!((end.code, end.is_restored), (Some(code), true), "{all}");
        assert!(end.rows.iter().any(|row| row.starts_with("go on with: charla --resume")), "{all}");
        assert!(
            !all.contains("interrupted") && place.run(&["approvals"]).out.contains("touch made"),
            "{all}"
        );
        let mut terminal = Terminal::sized(&place, &["--resume", "--screen-reader"], 120, 60);
        terminal.wait_for("n REASON no, go on?");
        terminal.press("y\r");
        terminal.wait_for("Made.");
        assert!(place.read("made").is_some(), "{}", terminal.screen());
    }
}

#[test]
fn whoever_leaves_while_the_model_works_stops_it() {
    let server = server(Script::new([Reply::new().text("Half of it. ").stall()]));
    let place = Place::with_server(&server);
    let mut terminal = begun(&place);
    terminal.press("tell\r");
    terminal.wait_for("Half of it.");
    terminal.signal("TERM");
    let end = terminal.finish();
    assert_eq!(end.code, Some(130), "{:?}", end.rows);
    let ended = records(&place).into_iter().rfind(|record| record["kind"] == "turn_ended").unwrap();
    assert_eq!(ended["end"], "cancelled", "{ended}");
}

#[test]
fn arguments_that_are_no_json_are_gone_on_with() {
    let server = server(Script::new([touch("wrong"), "Made.".into()]));
    let place = Place::with_server(&server).file("edit.sh", SLOPPY);
    let editor = format!("sh {}", place.work().join("edit.sh").display());
    let place = place.variable("EDITOR", &editor);
    let mut terminal = asked(&place);
    terminal.press("e\r");
    terminal.wait_for("no JSON object: ");
    terminal.wait_for("e goes on with it as you left it");
    terminal.press("e\r");
    terminal.wait_for("Made.");
    assert_eq!((place.read("right").is_some(), place.read("wrong").is_some()), (true, false));
}
